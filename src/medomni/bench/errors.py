"""What can go wrong with running and scoring agents.

Leaves to others: errors of reading files (`medomni.core.errors`).
"""

from __future__ import annotations

from medomni.core.errors import ExecutionError, MedomniError


class BenchError(MedomniError, ValueError):
    """Something that Bench is given is not what it must be; `code` says what."""

    code = "bench-invalid"


class RunRefusedError(BenchError):
    """A run is refused before anything starts; `code` says why."""

    code = "run-refused"


class HarnessError(ExecutionError):
    """The machinery around the agents failed, and no agent did."""

    code = "harness-failed"


class ScoreError(BenchError):
    """Answers, or what they are scored against, cannot be scored; `code` says why."""

    code = "score-truth"


class CompareError(BenchError):
    """Two runs cannot be compared; `code` says why."""

    code = "compare-differs"
