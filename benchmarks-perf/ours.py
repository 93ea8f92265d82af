"""What is timed of this project: the adapters on arrays, and whole cases from files.

Arrays go through the same adapter that scoring uses, with the prediction's check and the choice between
kernels and reference implementation. Leaves to others: clocks (`timing`) and inputs (`workloads`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from timing import Values

from medomni.core.files import Document
from medotter_bench.adapters import registry
from medotter_bench.adapters.base import CaseContext, CaseInputs, CaseScore
from medotter_bench.case_scoring import CaseFault, CaseJob, score_case
from medotter_bench.inference import Grid, LabelMap, read_label_map
from medotter_bench.label_map import IDENTITY
from medotter_bench.metrics.backend import VARIABLE
from medotter_bench.predictions import Found
from medotter_bench.specs import EvalSpec, parse_eval_spec

Labels = NDArray[Any]
REFERENCE, PREDICTION = "reference.nii.gz", "prediction.nii.gz"


def semantic_spec(
    regions: Mapping[str, Sequence[int]], *, of: Mapping[str, Sequence[int]] | None = None
) -> EvalSpec:
    """A spec of dice and hd95 in mm for these regions; the ids of all regions in `of` are allowed."""
    raw: dict[str, Any] = {
        "eval_regions": {n: list(ids) for n, ids in regions.items()},
        "metrics": ["dice", "hd95"],
    }
    ids = {i for group in (of or regions).values() for i in group}
    raw["prediction_format"] = {"type": "nifti", "label_space": sorted({0, *ids})}
    return parse_eval_spec(Document(raw, "eval_spec.yaml"))


def instance_spec() -> EvalSpec:
    """A spec of f1, aji and pq, for one class of objects."""
    raw = {
        "task_type": "instance_seg_2d",
        "eval_regions": {"nucleus": [1]},
        "metrics": ["f1", "aji", "pq"],
    }
    return parse_eval_spec(Document(raw, "eval_spec.yaml"))


def values_of(score: CaseScore) -> Values:
    """Per metric, the numbers of all regions in order; None where a penalty stands in."""
    found: dict[str, list[float | None]] = {}
    for region in score.regions.values():
        for name, value in region.metrics.items():
            found.setdefault(name, []).append(value.value if value.outcome == "ok" else None)
    return found


def on_arrays(
    reference: Labels, prediction: Labels, spacing: Sequence[float], *, spec: EvalSpec
) -> Callable[[], Values]:
    """Check and score two label maps in memory."""
    adapter = registry.get(spec.task_type)
    context = CaseContext(spec, IDENTITY, {"dataset": "synthetic"})
    grid = Grid(reference.shape, tuple(float(size) for size in spacing))
    inputs = CaseInputs(LabelMap(reference, grid), LabelMap(prediction, grid))

    def run() -> Values:
        adapter.check_prediction(inputs.prediction, spec=spec)  # type: ignore[arg-type]
        return values_of(adapter.score(inputs, context=context))

    return run


def on_files(folder: Path, *, spec: EvalSpec) -> Callable[[], Values]:
    """Score a case from its two files, as a worker process does.

    Raises:
        SystemExit: the case cannot be scored, so that its time means nothing.
    """
    meta = {"dataset": "synthetic", "image": "no-such-image.nii.gz", "seg": REFERENCE}
    found = Found(folder / PREDICTION, PREDICTION)
    job = CaseJob("synthetic/case", meta, spec, IDENTITY, folder, found)

    def run() -> Values:
        row = score_case(job)
        if isinstance(row, CaseFault) or row.status != "scored":
            raise SystemExit(f"the case was not scored: {row.what}")
        return values_of(row.score)

    return run


def reading(paths: Sequence[Path]) -> Callable[[], Values]:
    """Read two label maps and hold both, as scoring does."""
    adapter = registry.get("seg")
    run_writer: Callable[[], Any] = getattr(adapter, "run_writer", lambda: None)

    def run() -> Values:
        held = [read_label_map(path, runs=run_writer()) for path in paths]
        return {"voxels": [float(np.prod(labels.shape)) for labels in held]}

    return run


def by_nibabel(paths: Sequence[Path]) -> Callable[[], Values]:
    """The same by the usual package."""
    import nibabel as nib

    def run() -> Values:
        held = [np.asanyarray(nib.load(path).dataobj) for path in paths]
        return {"voxels": [float(labels.size) for labels in held]}

    return run


def by_reference(action: Callable[[], Values]) -> Callable[[], Values]:
    """The same, computed by the reference implementation."""

    def run() -> Values:
        before = os.environ.get(VARIABLE, "auto")
        os.environ[VARIABLE] = "reference"
        try:
            return action()
        finally:
            os.environ[VARIABLE] = before

    return run


def boxes_of(reference: Labels, prediction: Labels, ids: Sequence[int]) -> tuple[NDArray[np.bool_], ...]:
    """The masks of one region in both maps, cropped to their common box and padded by one voxel."""
    masks = np.isin(reference, ids), np.isin(prediction, ids)
    either = masks[0] | masks[1]
    box = []
    for axis in range(either.ndim):
        others = tuple(k for k in range(either.ndim) if k != axis)
        filled = np.flatnonzero(either.any(axis=others))
        box.append(slice(filled[0], filled[-1] + 1))
    return tuple(np.pad(mask[tuple(box)], 1) for mask in masks)
