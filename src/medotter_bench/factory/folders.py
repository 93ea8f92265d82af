"""Folders that are about to be written into.

Leaves to others: the files (`medomni.core.files`).
"""

from __future__ import annotations

from pathlib import Path

from medomni.core.errors import WriteError
from medotter_bench.factory.errors import DummyError


def make_folder(folder: Path) -> Path:
    """Makes a folder and those above it; one that exists stays as it is.

    Raises:
        WriteError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise WriteError(
            f"the folder cannot be made: {fault.strerror or fault}", where=str(folder)
        ) from fault
    return folder


def claim_folder(folder: Path) -> Path:
    """Makes a folder that must hold nothing yet.

    Raises:
        DummyError: it holds something, or is no folder (`dummy-not-empty`).
        WriteError: it cannot be made.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        hint = "name a new folder; nothing is ever overwritten"
        raise DummyError(
            f"{folder.name} is not an empty folder", where=str(folder), hint=hint, code="dummy-not-empty"
        )
    return make_folder(folder)
