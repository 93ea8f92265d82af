"""From a list of paths to cases: which files belong together, whose they are, what is missing.

Works on names alone and opens nothing. Leaves to others: which split a case goes to (`split`), writing
the manifest (`freeze`), and whether the files hold what they should (`data_checks`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from medomni.core.issues import Issue, error
from medotter_bench.factory.definition import Dataset, Factory
from medotter_bench.factory.errors import FreezeError
from medotter_bench.factory.patterns import render

PREPARED = "_prepared/"
_UNSAFE = re.compile(r"[\x00-\x1f\x7f\\:*?\"<>|]")


@dataclass(frozen=True, slots=True)
class Case:
    """One case with its files, relative to the data root (or to its `_prepared/`)."""

    case_id: str
    dataset: str
    patient_uid: str | None
    series_uid: str | None
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A case that was seen and left out, and why."""

    case_id: str
    reason: str

    def as_dict(self) -> dict[str, str]:
        """As it stands in a manifest."""
        return {"case_id": self.case_id, "reason": self.reason}


@dataclass(slots=True)
class Scan:
    """Cases in the order of the datasets and then of their ids; what was left out; what is wrong."""

    cases: list[Case] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    issues: list[Issue] = field(default_factory=list)


def list_files(data_root: str | Path) -> list[str]:
    """Every file below a folder, as sorted relative paths with forward slashes; hidden ones left out.

    Links to folders are not followed: a path that leaves the root could not be read later.

    Raises:
        FreezeError: a folder cannot be listed (`freeze-unreadable`).
    """
    root, found = Path(data_root), []
    for folder, names, files in os.walk(root, onerror=_refuse):
        names[:] = [name for name in names if not name.startswith(".")]
        below = Path(folder).relative_to(root)
        found += [(below / name).as_posix() for name in files if not name.startswith(".")]
    return sorted(found)


def _refuse(fault: OSError) -> NoReturn:
    # A folder that cannot be listed would otherwise be cases that silently do not exist.
    what = f"a folder cannot be listed: {fault.strerror}"
    issue = error("freeze-unreadable", str(fault.filename), what, "check who may read it")
    raise FreezeError("the data root cannot be read", issues=[issue]) from fault


def scan(factory: Factory, paths: Iterable[str]) -> Scan:
    """The cases that a list of relative paths holds.

    A case with a missing file, or one that `skip` names, is left out with the reason. Faults are collected
    in `issues`: `freeze-id-unsafe`, `freeze-id-duplicate`, `freeze-id-casefold`,
    `freeze-patient-unmatched`, `freeze-prepared-partial`.
    """
    everything = list(paths)
    prepared = {path.removeprefix(PREPARED) for path in everything if path.startswith(PREPARED)}
    plain = {path for path in everything if not path.startswith(PREPARED)}
    result = Scan()
    for dataset in factory.datasets.values():
        _scan_dataset(factory, dataset, plain, prepared, result)
    _check_ids(result)
    return result


def _scan_dataset(
    factory: Factory, dataset: Dataset, plain: set[str], prepared: set[str], result: Scan
) -> None:
    found: dict[str, list[dict[str, str]]] = {}
    seen: set[tuple[tuple[str, str], ...]] = set()
    for path in plain | prepared:
        for pattern in dataset.roles.values():
            fields = pattern.match(path)
            if fields is None or not _wanted(dataset, fields):
                continue
            key = tuple(sorted(fields.items()))
            if key not in seen:
                seen.add(key)
                found.setdefault(f"{dataset.name}/{render(dataset.case, fields)}", []).append(fields)
    for case_id in sorted(found):
        if len(found[case_id]) > 1:
            what = f"{len(found[case_id])} sets of files give the same case id"
            result.issues.append(error("freeze-id-duplicate", case_id, what, "let `case` use more fields"))
        _scan_case(factory, dataset, case_id, found[case_id][0], plain, prepared, result)


def _wanted(dataset: Dataset, fields: Mapping[str, str]) -> bool:
    return all(regex.fullmatch(fields[name]) for name, regex in dataset.only.items())


def _scan_case(
    factory: Factory,
    dataset: Dataset,
    case_id: str,
    fields: Mapping[str, str],
    plain: set[str],
    prepared: set[str],
    result: Scan,
) -> None:
    files = {role: pattern.render(fields) for role, pattern in dataset.roles.items()}
    missing = [f"{role} ({path})" for role, path in files.items() if path not in plain | prepared]
    if case_id in factory.skip:
        result.skipped.append(Skipped(case_id, factory.skip[case_id]))
        return
    if missing:
        result.skipped.append(Skipped(case_id, f"missing: {', '.join(missing)}"))
        return
    unprepared = [path for path in files.values() if path not in prepared]
    if 0 < len(unprepared) < len(files):
        what = f"{PREPARED} holds some of the case's files and not {', '.join(unprepared)}"
        hint = "a prepared image beside a raw mask is on another grid: prepare all files of a case or none"
        result.issues.append(error("freeze-prepared-partial", case_id, what, hint))
    patient = _patient(dataset, case_id, fields, result)
    series = render(dataset.series, fields) if dataset.series is not None else None
    result.cases.append(Case(case_id, dataset.name, patient, series, files))


def _patient(dataset: Dataset, case_id: str, fields: Mapping[str, str], result: Scan) -> str | None:
    if dataset.patient is None:
        return None
    text = render(dataset.patient.template, fields)
    if dataset.patient.regex is None:
        return text
    match = dataset.patient.regex.search(text)
    if match is None or not match[1]:
        what = f"no patient id in {text!r} by the regex {dataset.patient.regex.pattern!r}"
        result.issues.append(error("freeze-patient-unmatched", case_id, what))
        return None
    return match[1]


def _check_ids(result: Scan) -> None:
    folded: dict[str, str] = {}
    for case in result.cases:
        parts = case.case_id.split("/")
        if _UNSAFE.search(case.case_id) or any(
            part in ("", ".", "..") or part != part.strip() for part in parts
        ):
            what = f"case id {case.case_id!r} cannot name a prediction file everywhere"
            result.issues.append(error("freeze-id-unsafe", case.case_id, what))
        other = folded.setdefault(case.case_id.casefold(), case.case_id)
        if other != case.case_id:
            what = f"case ids {other!r} and {case.case_id!r} differ in upper and lower case only"
            hint = "their predictions would be one file on some systems: rename one of them or skip it"
            result.issues.append(error("freeze-id-casefold", case.case_id, what, hint))
