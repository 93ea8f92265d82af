"""Generated predictions: the references in canonical ids, moved by a voxel, some structures left out.

For demonstrations and tests. Leaves to others: real inference (`infer`), and applying `label_remap` in
scoring (`label_map`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from medomni.core.files import read_yaml, resolve_under
from medotter_bench.bundle import Bundle
from medotter_bench.errors import BundleNotFoundError
from medotter_bench.factory.definition import read_factory
from medotter_bench.factory.dummy_files import NIFTI, read_labels, write_array
from medotter_bench.factory.dummy_shapes import Draws
from medotter_bench.factory.errors import DummyError
from medotter_bench.factory.folders import claim_folder

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DROP_EVERY = 4  # Every fourth case lacks a structure that the reference has.


@dataclass(frozen=True, slots=True)
class PredictionsReport:
    """The folder of predictions that was written, and its files as relative paths."""

    root: Path
    files: list[str]


def dummy_predictions(
    bundle_dir: str | Path, data_root: str | Path, out_dir: str | Path, *, seed: int = 0
) -> PredictionsReport:
    """Writes one prediction per test case, as `<case_id><suffix>` on the reference's grid.

    Args:
        bundle_dir: Holds a frozen manifest and `eval_spec.yaml`.
        data_root: The data that the manifest was frozen from.
        out_dir: Folder to write; must not exist, or be empty.
        seed: Other seeds move the structures elsewhere.

    Raises:
        BundleNotFoundError: a file of the bundle is missing.
        DummyError: `out_dir` is not empty, or the prediction type cannot be generated (`dummy-format`).
        MissingExtraError: the extra `imaging` is not installed.
    """
    bundle, root = Bundle(bundle_dir), Path(out_dir)
    claim_folder(root)
    kind, instances = _prediction_type(bundle)
    files = []
    for number, case_id in enumerate(bundle.test):
        meta = bundle.case_meta(case_id)
        labels, affine = read_labels(resolve_under(Path(data_root), meta["seg"]))
        if not instances:
            labels = _canonical(labels, _remap(bundle, meta["dataset"]))
        moved = _perturb(labels, Draws(seed, case_id), drop=number % _DROP_EVERY == _DROP_EVERY - 1)
        if instances:
            moved = np.where(moved > 0, moved.max(initial=0) + 1 - moved, 0)
        name = case_id + _suffix(kind, meta["seg"])
        stored = moved.astype(np.uint16 if instances else np.uint8)
        write_array(resolve_under(root, name), stored, affine=affine)
        files.append(name)
    return PredictionsReport(root, files)


def _prediction_type(bundle: Bundle) -> tuple[str, bool]:
    spec = bundle.eval_spec()
    task_type = spec.get("task_type", "seg")
    default = {"instance_seg_2d": "instance_mask2d", "instance_seg_3d": "instance_mask3d"}.get(
        task_type, "nifti"
    )
    return (spec.get("prediction_format") or {}).get("type", default), task_type != "seg"


def _suffix(kind: str, reference: str) -> str:
    if kind == "nifti":
        return ".nii.gz"
    if kind == "instance_mask2d":
        return ".png"
    if kind == "instance_mask3d":
        return ".nii.gz" if reference.endswith(NIFTI) else ".tif"
    raise DummyError(f"predictions of type {kind!r} cannot be generated", code="dummy-format")


def _remap(bundle: Bundle, dataset: str) -> Mapping[int, int] | None:
    """Native -> canonical ids of a dataset, or None where its ids are canonical already."""
    if bundle.has_task_spec:
        entry = (read_yaml(bundle.path / "task.yaml").value.get("label_remap") or {}).get(dataset)
        if not isinstance(entry, dict) or "native" in entry:
            return None
        return {int(key): int(value) for key, value in entry.items() if key != "note"}
    try:
        spec = read_factory(bundle.path).dummy.get(dataset)
    except BundleNotFoundError:
        return None
    return spec.canonical if spec else None


def _canonical(labels: NDArray[np.int64], remap: Mapping[int, int] | None) -> NDArray[np.int64]:
    if remap is None:
        return labels
    mapped = np.zeros_like(labels)
    for native, canonical in remap.items():
        mapped[labels == native] = canonical
    return mapped


def _perturb(labels: NDArray[np.int64], draws: Draws, *, drop: bool) -> NDArray[np.int64]:
    axis, back = draws.below(labels.ndim), draws.below(2) == 1
    moved = np.zeros_like(labels)
    here: list[Any] = [slice(None)] * labels.ndim
    there = list(here)
    here[axis], there[axis] = (slice(1, None), slice(None, -1)) if back else (slice(None, -1), slice(1, None))
    moved[tuple(there)] = labels[tuple(here)]
    present = [int(label) for label in np.unique(moved) if label]
    if drop and present:
        moved[moved == present[draws.below(len(present))]] = 0
    return moved
