"""What is wrong with the files of a data root, and with a folder of predictions, all problems at once.

Opens images and label maps; scores nothing. Leaves to others: the bundle's own files (`checks`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from medomni.core.errors import MedomniError
from medomni.core.issues import Issue, error, warning
from medomni.core.progress import Progress
from medotter_bench import predictions
from medotter_bench.adapters import registry
from medotter_bench.adapters.base import Adapter
from medotter_bench.bundle import Bundle
from medotter_bench.errors import VolumeError
from medotter_bench.inference import Grid, LabelMap, VolumeLoader, grid_difference, read_label_map
from medotter_bench.label_map import LabelRemap, case_remap
from medotter_bench.metrics import grid_diagonal
from medotter_bench.predictions import Found
from medotter_bench.specs import EvalSpec, TaskSpec

BRATS_GRID, BRATS_PENALTY = (240, 240, 155), 373.13


def check_data(
    bundle: Bundle,
    task: TaskSpec | None,
    spec: EvalSpec,
    *,
    data_root: Path,
    progress: Progress | None = None,
) -> list[Issue]:
    """Every file of every case: it exists, opens, shares the case's grid, and holds ids that the map knows.

    Args:
        bundle: The bundle.
        task: Its task.yaml, or None.
        spec: Its protocol.
        data_root: Where the manifest's paths start.
        progress: Called with (done, total, step).
    """
    if not data_root.is_dir():
        return [error("data-root-missing", str(data_root), "the data root is not there, or is no folder")]
    loader = VolumeLoader(data_root)
    remaps = dict(task.label_remap) if task else {}
    issues: list[Issue] = []
    case_ids = [c for c in dict.fromkeys([*bundle.train, *bundle.test]) if c in bundle.manifest["per_case"]]
    for done, case_id in enumerate(case_ids, start=1):
        meta = bundle.case_meta(case_id)
        try:
            remap = case_remap(remaps, meta, where=bundle.manifest_document.where(("per_case", case_id)))
            found = _case(loader, case_id, meta, spec, remap)
            # Code of the bundle's own maps its ids; which ones it knows cannot be told without running it.
            issues += [i for i in found if i.code != "ids-unlisted" or not bundle.local_code]
        except MedomniError as bad:
            issues.append(error(bad.code, f"case {case_id}, {bad.where}", bad.what, bad.hint))
        if progress is not None:
            progress(done, len(case_ids), "checking cases")
    return issues


def _case(
    loader: VolumeLoader, case_id: str, meta: Mapping[str, Any], spec: EvalSpec, remap: LabelRemap
) -> list[Issue]:
    root = loader.resolve(meta)
    where = f"case {case_id}, {meta['seg']}"
    reference = loader.load_label(str(meta["seg"]), root=root)
    loader.load_input(meta)
    grid = loader.input_grid(meta)
    issues = []
    difference = grid_difference(grid, reference.grid) if grid is not None else None
    if difference is not None:
        issues.append(error("reference-grid", where, f"not on the grid of the input: {difference}"))
    spacing, axes = spec.hd95.spacing if spec.hd95 else "header", reference.array.ndim
    if not isinstance(spacing, str) and len(spacing) != axes:
        what = f"hd95.spacing has {len(spacing)} numbers, the reference has {axes} axes"
        issues.append(error("spacing-axes", where, what, "give one number per axis"))
    if spec.task_type == "seg":
        issues += _native_ids(reference, remap, spec, where)
        issues += _penalty_sizes(reference.grid, spec, case_id)
    return issues


def _native_ids(reference: LabelMap, remap: LabelRemap, spec: EvalSpec, where: str) -> list[Issue]:
    ids, counts = np.unique(reference.array, return_counts=True)
    known = set(remap.ids) | {0}
    if remap.identity:
        known |= set(spec.prediction_format.label_space)
    unlisted = {int(i): int(n) for i, n in zip(ids, counts, strict=True) if int(i) not in known}
    if not unlisted:
        return []
    shown = ", ".join(f"{i} ({n} voxels)" for i, n in list(unlisted.items())[:10])
    what = f"native ids that no map lists become background: {shown}"
    return [warning("ids-unlisted", where, what, "list them in label_remap if they should be scored")]


def _penalty_sizes(grid: Grid, spec: EvalSpec, case_id: str) -> list[Issue]:
    """hd95 penalties against the case's grid: a miss must not cost less than a bad overlap can."""
    if spec.hd95 is None or grid.spacing_mm is None:
        return []
    spacing = (1.0,) * len(grid.shape) if spec.hd95.unit == "voxel" else grid.spacing_mm
    diagonal = grid_diagonal(grid.shape, spacing=spacing)
    issues = []
    for state, number in list(spec.penalties["hd95"].items())[1:]:
        where = f"eval_spec.yaml, empty_structure.hd95.{state}"
        if not isinstance(number, float):
            continue
        if number == BRATS_PENALTY and grid.shape != BRATS_GRID and not spec.hd95_penalty_note:
            what = f"{number} is the diagonal of a 240 x 240 x 155 grid; case {case_id} is on {grid.shape}"
            issues.append(
                warning(
                    "penalty-of-another-grid", where, what, "say where it comes from in hd95_penalty_note"
                )
            )
        if number < diagonal - 0.01:
            what = (
                f"{number} is less than the grid diagonal {diagonal:.2f} of {case_id}: a miss may cost less"
            )
            issues.append(warning("penalty-small", where, what, "leave it out to use the grid diagonal"))
    return issues


def without_repeats(issues: list[Issue]) -> list[Issue]:
    """One warning per code and place: the same spec is held against every case."""
    seen: dict[tuple[str, str], Issue] = {}
    kept = []
    for issue in issues:
        key = (issue.code, issue.where)
        if issue.code.startswith("penalty-") and key in seen:
            continue
        seen[key] = issue
        kept.append(issue)
    return kept


def check_predictions(
    bundle: Bundle,
    spec: EvalSpec,
    predictions_dir: Path,
    *,
    data_root: Path | None = None,
    progress: Progress | None = None,
) -> list[Issue]:
    """The format of every prediction, without a reference: names, readability, labels, and grid.

    The grid is compared with the input's where `data_root` holds the input.
    """
    form = spec.prediction_format
    folder = predictions.scan(
        predictions_dir, bundle.test, prediction_type=form.type, side_suffix=form.classes
    )
    adapter = registry.get(spec.task_type)
    issues = []
    for done, (case_id, found) in enumerate(folder.found.items(), start=1):
        issue = _prediction(case_id, found, bundle, spec, adapter, data_root)
        if issue is not None:
            issues.append(issue)
        if progress is not None:
            progress(done, len(folder.found), "checking predictions")
    for relative in folder.extra:
        issues.append(
            warning("prediction-extra", relative, "this file belongs to no test case and is ignored")
        )
    return issues


def _prediction(
    case_id: str, found: Found, bundle: Bundle, spec: EvalSpec, adapter: Adapter, data_root: Path | None
) -> Issue | None:
    where = f"case {case_id}, {found.relative}"
    if found.path is None:
        return error(found.code or "prediction-missing", where, found.what)
    try:
        grid = (
            VolumeLoader(data_root).input_grid(bundle.case_meta(case_id)) if data_root is not None else None
        )
        rgb24 = spec.prediction_format.type == "instance_rgb24"
        label_map = read_label_map(found.path, expected=grid, rgb24=rgb24)
        adapter.check_prediction(label_map, spec=spec)
    except VolumeError as bad:
        return error(bad.code, where, bad.what, bad.hint)
    return None
