"""What an environment has to say of a trial, as a file in the trial's folder that no agent can reach.

Leaves to others: reading it (`medomni.bench`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

NAME = "environment.json"


def write(folder: Path, note: Mapping[str, Any]) -> None:
    """Write a trial's note, whole or not at all."""
    partial = folder / f".{NAME}.part"
    partial.write_text(json.dumps(note, sort_keys=True) + "\n", encoding="utf-8")
    partial.replace(folder / NAME)


def is_verifier(session: str) -> bool:
    """Whether Harbor made this environment to check an answer's form, after the agent's is gone."""
    return "__verifier__" in session
