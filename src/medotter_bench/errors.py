"""Errors of imaging bundles and their scoring. One root, and the built-in that a stranger would catch.

Leaves to others: what every error shares (`medomni.core.errors`).
"""

from __future__ import annotations

from medomni.core.errors import MedomniError
from medomni.core.issues import IssuesError


class MedotterError(MedomniError):
    """Base of every error of `medotter_bench`."""

    code = "medotter"


class BundleNotFoundError(MedotterError, FileNotFoundError):
    """A bundle, or a file that a bundle should hold, is not there."""

    code = "bundle-not-found"


class BundleError(MedotterError, ValueError):
    """A bundle's files are malformed or contradict each other."""

    code = "bundle-invalid"


class CaseNotFoundError(MedotterError, KeyError):
    """A case id is not in the bundle."""

    code = "case-unknown"


class SpecError(MedotterError, ValueError):
    """`task.yaml` or `eval_spec.yaml` asks for something that cannot be scored."""

    code = "spec-invalid"


class VolumeError(MedotterError, ValueError):
    """An image or label map cannot be read, or is not what it must be. `code` says which."""

    code = "volume-invalid"


class UnknownTaskTypeError(MedotterError, LookupError):
    """No adapter is registered for a bundle's `task_type`."""

    code = "task-type-unknown"


class AdapterNotImplementedError(MedotterError, NotImplementedError):
    """The bundle's `task_type` is known and nobody has written its adapter yet."""

    code = "adapter-stub"


class BundleCodeError(MedotterError, PermissionError):
    """A bundle brings code of its own that would have to run, and may not."""

    code = "bundle-code"


class ScoringError(MedotterError, ValueError):
    """A folder of predictions cannot be scored at all; `code` says why."""

    code = "scoring-refused"


class CasesFailedError(IssuesError, MedotterError):
    """Cases that could not be scored by no fault of theirs; `issues` lists them. The others are done."""

    code = "cases-failed"
