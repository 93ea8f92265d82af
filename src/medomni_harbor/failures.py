"""What environments raise where they fail, and not the agent in them; Bench knows them by name.

Leaves to others: what becomes of it (`medomni.bench.trials`).
"""

from __future__ import annotations


class EnvironmentFailedError(Exception):
    """The environment failed, and not the agent in it."""
