"""Finds the prediction of every case in a folder, by name; the cases decide, never the folder.

Leaves to others: opening the files (`inference`) and judging their content (`case_scoring`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from medomni.core.errors import UnsafePathError
from medomni.core.files import resolve_under
from medotter_bench.errors import ScoringError
from medotter_bench.inference import SUFFIXES


@dataclass(frozen=True, slots=True)
class Found:
    """What the folder holds for one case: a file, or the reason why there is none to use.

    Attributes:
        path: The one usable file; None if there is none.
        relative: Its path inside the folder, or the expected one, for messages.
        code: `prediction-missing`, `prediction-twice`, `prediction-path`; None with a file.
        what: The reason in words; empty with a file.
    """

    path: Path | None
    relative: str
    code: str | None = None
    what: str = ""


@dataclass(frozen=True, slots=True)
class PredictionFolder:
    """The predictions of a list of cases, and the files that belong to none of them."""

    root: Path
    found: dict[str, Found]
    extra: list[str]

    @property
    def is_empty(self) -> bool:
        """Whether not one expected file is there."""
        return all(entry.code == "prediction-missing" for entry in self.found.values())


def scan(
    root: Path, case_ids: Iterable[str], *, prediction_type: str, side_suffix: str | None
) -> PredictionFolder:
    """Look for `<root>/<case_id><suffix>` for every case.

    Args:
        root: The predictions folder.
        case_ids: The cases of the bundle's test split.
        prediction_type: Decides the suffixes.
        side_suffix: Suffix of a class file beside each prediction, where the spec asks for one.

    Raises:
        ScoringError: `predictions-missing` or `predictions-unreadable`: the folder itself.
    """
    listed = _files_below(root)
    suffixes = SUFFIXES[prediction_type]
    found, used = {}, set()
    for case_id in case_ids:
        here = [f"{case_id}{suffix}" for suffix in suffixes if _exists(root, f"{case_id}{suffix}", listed)]
        used.update(here)
        if side_suffix:
            used.add(f"{case_id}{side_suffix}")
        found[case_id] = _choose(root, case_id, here, suffixes)
    return PredictionFolder(root, found, sorted(_as_text(name) for name in listed - used))


def _as_text(name: str) -> str:
    """A file name that is no UTF-8 with its odd bytes spelt out: results are text."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _exists(root: Path, relative: str, listed: set[str]) -> bool:
    # A dangling link is not listed as a file and still stands where the prediction should be.
    return relative in listed or (root / relative).is_symlink()


def _choose(root: Path, case_id: str, here: list[str], suffixes: tuple[str, ...]) -> Found:
    if not here:
        expected = " or ".join(f"{case_id}{suffix}" for suffix in suffixes)
        return Found(None, expected, "prediction-missing", f"missing: no file {expected}")
    if len(here) > 1:
        return Found(None, here[0], "prediction-twice", f"two files for one case: {' and '.join(here)}")
    try:
        path = resolve_under(root, here[0], plain_file=True)
    except UnsafePathError as unsafe:
        return Found(None, here[0], "prediction-path", f"{here[0]}: {unsafe.what}")
    return Found(path, here[0])


def _files_below(root: Path) -> set[str]:
    """Every file below the folder as a POSIX path; folders behind links are not entered."""
    if not root.is_dir():
        raise ScoringError(
            "the predictions folder is not there, or is no folder",
            where=str(root),
            hint="name the folder that holds <case_id><suffix> files",
            code="predictions-missing",
        )

    def refuse(failure: OSError) -> None:
        raise ScoringError(
            f"cannot read the predictions folder: {failure.strerror}",
            where=str(failure.filename or root),
            hint="check its permissions",
            code="predictions-unreadable",
        ) from failure

    files: set[str] = set()
    for folder, _, names in os.walk(root, onerror=refuse):
        base = Path(folder).relative_to(root)
        files.update((base / name).as_posix() for name in names)
    return files
