"""Scores many cases wherever they run, and takes over what an interrupted run had finished.

A case of an earlier run counts only if every byte that decides its numbers is the same: the worker that would
score it compares a digest of the files first. Leaves to others: one case (`case_scoring`), workers and their
deaths (`medomni.core.execution`), the file (`medomni.core.journal`), what the bundle decides (`engine`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from medomni.core.errors import ExecutionError, MedomniError
from medomni.core.execution import Failure, Workers, run_each
from medomni.core.hashing import canonical_digest, sha256_file
from medomni.core.journal import Journal
from medomni.core.progress import Progress
from medotter_bench import results
from medotter_bench.adapters.base import CaseScore, RegionScore, Value
from medotter_bench.case_scoring import CaseFault, CaseJob, CaseRow, reference_class_path, score_case
from medotter_bench.inference import SUFFIXES, VolumeLoader
from medotter_bench.instance_classes import class_file_of

Outcome = CaseRow | CaseFault | Failure


@dataclass(frozen=True, slots=True)
class CaseUnit:
    """What a worker gets.

    Attributes:
        software: Versions that the worker must have; others could give other numbers.
        recorded: The digest of the case in an earlier run's journal.
        digested: Whether the case will be noted, so that its digest is needed.
    """

    job: CaseJob
    software: Mapping[str, str]
    recorded: str | None
    digested: bool


@dataclass(frozen=True, slots=True)
class CaseDone:
    """What a worker gives back.

    Attributes:
        outcome: None where the recorded row still holds.
        digest: Of the files that were scored; None where it is not needed or they changed meanwhile.
    """

    outcome: CaseRow | CaseFault | None
    digest: str | None


def run_cases(
    jobs: Sequence[CaseJob],
    *,
    workers: Workers,
    journal: Journal | None = None,
    recorded: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Score every case, in any order; each outcome is noted in the journal as soon as it is there.

    Args:
        jobs: The cases.
        workers: Where they run.
        journal: A started journal.
        recorded: What `journal.start` gave.
        progress: Called with (done, total, step).

    Raises:
        ExecutionError: As `run_each`. Single cases that fail come back as a `Failure`.
        WriteError: The journal cannot be written.
    """
    known = recorded or {}
    by_id = {job.case_id: job for job in jobs}
    versions = results.software()
    units = [(job.case_id, _unit(job, versions, known, digested=journal is not None)) for job in jobs]
    outcomes: list[Outcome] = []
    for case_id, done in run_each(run_case, units, workers=workers):
        outcomes.append(_outcome(case_id, done, by_id[case_id], known, journal))
        if progress is not None:
            progress(len(outcomes), len(jobs), "scoring cases")
    return outcomes


def _outcome(
    case_id: str,
    done: CaseDone | Failure,
    job: CaseJob,
    known: Mapping[str, Any],
    journal: Journal | None,
) -> Outcome:
    if isinstance(done, Failure):
        return replace(done, where=f"case {case_id}, {done.where}" if done.where else f"case {case_id}")
    if done.outcome is None:
        return row_from(known[case_id]["row"], job)
    if journal is not None and done.digest is not None and isinstance(done.outcome, CaseRow):
        journal.append(case_id, {"digest": done.digest, "row": row_data(done.outcome)})
    return done.outcome


def _unit(job: CaseJob, versions: Mapping[str, str], known: Mapping[str, Any], *, digested: bool) -> CaseUnit:
    # Workers elsewhere have another working folder.
    path = job.prediction.path
    found = replace(job.prediction, path=None if path is None else path.absolute())
    absolute = replace(job, data_root=job.data_root.absolute(), prediction=found)
    recorded = known[job.case_id]["digest"] if job.case_id in known else None
    return CaseUnit(absolute, versions, recorded, digested)


def run_case(unit: CaseUnit) -> CaseDone:
    """Score one case in a worker, or find that its recorded row still holds.

    Raises:
        ExecutionError: `worker-software`: the worker's packages are not those of the run.
    """
    _same_software(unit.software)
    job = unit.job
    path = job.prediction.path
    if path is not None and not path.is_file():
        # Seen when the folder was listed: a worker that cannot see it must not call it missing or invalid.
        return CaseDone(
            CaseFault(
                job.case_id,
                "prediction-vanished",
                job.prediction.relative,
                "the prediction was there when the folder was listed, and is not there where it is scored",
                "leave the folder alone while it is scored; workers elsewhere need it under the same path",
            ),
            None,
        )
    if not unit.digested:
        return CaseDone(score_case(job), None)
    stamps = _stamps(job)
    digest = case_digest(job)
    if digest is not None and digest == unit.recorded:
        return CaseDone(None, digest)
    outcome = score_case(job)
    # A file that was written meanwhile may have another digest than the bytes that were scored.
    return CaseDone(outcome, digest if stamps == _stamps(job) else None)


def _same_software(expected: Mapping[str, str]) -> None:
    found = _software()
    differing = sorted(name for name in {*expected, *found} if expected.get(name) != found.get(name))
    if differing:
        listed = ", ".join(f"{name} {found.get(name)} instead of {expected.get(name)}" for name in differing)
        raise ExecutionError(
            f"a worker has other software than this process: {listed}",
            hint="install the same versions where the workers run",
            code="worker-software",
        )


@cache
def _software() -> Mapping[str, str]:
    return results.software()


def case_digest(job: CaseJob) -> str | None:
    """SHA-256 over what decides a case's row, besides the bundle: bytes of its files, the grid of its input.

    None where a file cannot be read; scoring then says what is wrong.

    Source: RFC 8785; FIPS 180-4.
    """
    loader = VolumeLoader(job.data_root)
    try:
        grid = loader.input_grid(job.meta)
        # Text of floats is exact. The voxels of the input decide nothing, and can be many.
        shown = None if grid is None else repr((grid.shape, grid.spacing_mm, grid.affine_ras))
        files = {name: sha256_file(path) if path.is_file() else None for name, path in _files(job).items()}
    except MedomniError:
        return None
    found = job.prediction
    return canonical_digest(
        {"grid": shown, "files": files, "prediction": [found.relative, found.code, found.what]}
    )


def _files(job: CaseJob) -> dict[str, Path]:
    """The files whose bytes decide the row of the case."""
    reference = VolumeLoader(job.data_root).label_path(job.meta)
    files = {"reference": reference}
    form = job.spec.prediction_format
    if form.classes is not None:
        files["reference_classes"] = reference_class_path(reference, form.classes)
    if job.prediction.path is not None:
        files["prediction"] = job.prediction.path
        if form.classes is not None:
            side = class_file_of(job.prediction.path, SUFFIXES[form.type], form.classes)
            files["prediction_classes"] = side
    return files


def _stamps(job: CaseJob) -> tuple[tuple[str, int, int, int] | None, ...]:
    """What changes when somebody writes one of the files: name, inode, size, time in ns."""
    found: list[tuple[str, int, int, int] | None] = []
    try:
        paths = list(_files(job).values())
    except MedomniError:
        return ()
    for path in paths:
        try:
            entry = path.stat()
        except OSError:
            found.append(None)
        else:
            found.append((path.name, entry.st_ino, entry.st_size, entry.st_mtime_ns))
    return tuple(found)


def row_data(row: CaseRow) -> dict[str, Any]:
    """A row as plain data for the journal; its meta data come from the manifest again."""
    regions = {
        name: {
            "metrics": {metric: [value.value, value.outcome] for metric, value in region.metrics.items()},
            "details": dict(region.details),
            "required": region.required,
        }
        for name, region in row.score.regions.items()
    }
    return {
        "status": row.status,
        "code": row.code,
        "what": row.what,
        "regions": regions,
        "unlisted_voxels": row.score.unlisted_voxels,
        "notes": {side: dict(notes) for side, notes in row.notes.items()},
        "seconds": row.seconds,
    }


def row_from(data: Mapping[str, Any], job: CaseJob) -> CaseRow:
    """The row that `row_data` was made of, equal to the bit."""
    regions = {
        name: RegionScore(
            {metric: Value(value, outcome) for metric, (value, outcome) in region["metrics"].items()},
            region["details"],
            region["required"],
        )
        for name, region in data["regions"].items()
    }
    score = CaseScore(regions, data["unlisted_voxels"])
    told = (data["status"], data["code"], data["what"])
    return CaseRow(job.case_id, job.meta, *told, score, data["notes"], data["seconds"])
