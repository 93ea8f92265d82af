"""Removes what a killed run left: containers and images by their label, sandboxes by their name, nothing
else.

Leaves to others: containers of a run that goes on (Harbor stops its own).
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

from medomni.bench.environments import DOCKER, LOCAL, PODMAN, UNSAFE_HOST
from medomni.bench.harbor_program import ask_host

LABEL = "medomni.job"
_SECONDS = 120


def remove_left(kind: str, label: str) -> list[str]:
    """Remove leftovers of a run; gives what was removed.

    Args:
        kind: The kind of environment.
        label: Of the run (`Job.label`).
    """
    if kind in (LOCAL, UNSAFE_HOST):
        return [str(name) for name in ask_host("clean", label)]
    if kind in (DOCKER, PODMAN) and shutil.which(kind):
        containers = _ask([kind, "ps", "-aq", "--filter", f"label={LABEL}={label}"])
        if containers:
            _ask([kind, "rm", "-f", "-v", *containers])
        images = _ask([kind, "images", "-q", "--filter", f"label={LABEL}={label}"])
        if images:
            _ask([kind, "rmi", "-f", *dict.fromkeys(images)])
        return [*containers, *images]
    return []


def _ask(command: Sequence[str]) -> list[str]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.split() if done.returncode == 0 else []
