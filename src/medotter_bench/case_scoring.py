"""Scores one case: reads its reference and prediction, decides its status, asks the adapter for numbers.

Runs in worker processes, so everything that comes in or goes out can be sent between them. Leaves to others:
the walk over cases (`engine`), roll-ups (`aggregation`), numbers (`adapters`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from medomni.core.errors import UnsafePathError
from medotter_bench.adapters import registry
from medotter_bench.adapters.base import CaseContext, CaseInputs, CaseScore
from medotter_bench.errors import BundleError, SpecError, VolumeError
from medotter_bench.inference import SUFFIXES, LabelMap, VolumeLoader, grid_difference, read_label_map
from medotter_bench.instance_classes import class_file_of, read_classes
from medotter_bench.label_map import LabelRemap
from medotter_bench.label_runs import MakeRunWriter
from medotter_bench.predictions import Found
from medotter_bench.specs import EvalSpec

_REFERENCE_SUFFIXES = tuple(sorted({s for group in SUFFIXES.values() for s in group}))


@dataclass(frozen=True, slots=True)
class CaseJob:
    """Everything that scoring one case needs."""

    case_id: str
    meta: Mapping[str, Any]
    spec: EvalSpec
    remap: LabelRemap
    data_root: Path
    prediction: Found


@dataclass(frozen=True, slots=True)
class CaseRow:
    """One scored case.

    Attributes:
        status: `scored`, `missing` or `invalid`.
        code: Why it is not `scored`; None where it is.
        what: The reason in words.
        notes: What loading had to say of `reference` and `prediction`: `rounded_voxels`, `saturated_at`.
        seconds: Time taken; never part of a result document.
    """

    case_id: str
    meta: Mapping[str, Any]
    status: str
    code: str | None
    what: str
    score: CaseScore
    notes: Mapping[str, Mapping[str, int | str]] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class CaseFault:
    """A case whose reference or input is wrong: the bundle's or the data's fault, never a penalty."""

    case_id: str
    code: str
    where: str
    what: str
    hint: str = ""


def score_case(job: CaseJob) -> CaseRow | CaseFault:
    """Score one case. Faults of the reference come back as `CaseFault`, those of the prediction as a row."""
    started = time.perf_counter()
    try:
        runs = _run_writer(job)
        reference, classes = _reference(job, runs)
        row = _row(job, reference, classes, runs)
    except (VolumeError, UnsafePathError, SpecError, BundleError) as bad:
        return CaseFault(job.case_id, bad.code, bad.where, bad.what, bad.hint)
    return replace(row, seconds=time.perf_counter() - started)


def _run_writer(job: CaseJob) -> MakeRunWriter | None:
    """What the adapter would rather have read than voxels; None where it wants voxels."""
    choose: Callable[[], MakeRunWriter | None] | None
    choose = getattr(registry.get(job.spec.task_type), "run_writer", None)
    return None if choose is None else choose()


def _reference(job: CaseJob, runs: MakeRunWriter | None) -> tuple[LabelMap, dict[int, int] | None]:
    """The reference in native ids, on the grid of the input where the input is there to be asked."""
    loader = VolumeLoader(job.data_root)
    root = loader.resolve(job.meta)
    reference = loader.load_label(str(job.meta["seg"]), root=root, runs=runs)
    given = loader.input_grid(job.meta)
    difference = grid_difference(given, reference.grid) if given is not None else None
    if difference is not None:
        raise VolumeError(
            f"the reference is not on the grid of the input: {difference}",
            where=str(job.meta["seg"]),
            hint="the bundle's data are wrong; no prediction can be on both grids",
            code="reference-grid",
        )
    side = job.spec.prediction_format.classes
    if side is None or job.meta.get("region") is not None:
        return reference, None
    path = reference_class_path(loader.label_path(job.meta), side)
    space = job.spec.prediction_format.label_space
    return reference, read_classes(path, reference.array, label_space=space)


def reference_class_path(reference: Path, side_suffix: str) -> Path:
    """The class file of a reference."""
    return class_file_of(reference, _REFERENCE_SUFFIXES, side_suffix)


def _row(
    job: CaseJob,
    reference: LabelMap,
    reference_classes: dict[int, int] | None,
    runs: MakeRunWriter | None,
) -> CaseRow:
    adapter = registry.get(job.spec.task_type)
    context = CaseContext(job.spec, job.remap, job.meta)
    status, code, what = "scored", job.prediction.code, job.prediction.what
    prediction, classes = None, None
    if job.prediction.path is not None:
        try:
            prediction = read_label_map(
                job.prediction.path,
                expected=reference.grid,
                rgb24=job.spec.prediction_format.type == "instance_rgb24",
                runs=runs,
            )
            adapter.check_prediction(prediction, spec=job.spec)
            if reference_classes is not None:
                classes = _prediction_classes(job, prediction)
        except VolumeError as bad:
            prediction, code, what = None, bad.code, f"{job.prediction.relative}: {bad.what}"
    if code is not None:
        status = "missing" if code == "prediction-missing" else "invalid"
    inputs = CaseInputs(reference, prediction, reference_classes, classes)
    score = adapter.score(inputs, context=context)
    return CaseRow(job.case_id, job.meta, status, code, what, score, _notes(reference, prediction))


def _notes(reference: LabelMap, prediction: LabelMap | None) -> dict[str, Mapping[str, int | str]]:
    maps = {"reference": reference, "prediction": prediction}
    return {side: dict(found.notes) for side, found in maps.items() if found is not None and found.notes}


def _prediction_classes(job: CaseJob, prediction: LabelMap) -> dict[int, int]:
    form = job.spec.prediction_format
    path = job.prediction.path
    if path is None or form.classes is None:  # pragma: no cover - called only where both exist
        raise VolumeError("no class file", code="classes-missing")
    side = class_file_of(path, SUFFIXES[form.type], form.classes)
    return read_classes(side, prediction.array, label_space=form.label_space)
