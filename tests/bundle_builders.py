"""Builds small bundles with data and predictions on disk. Arrays are stored as they are given."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import yaml

EMPTY = {
    "dice": {"gt_empty_pred_empty": 1.0, "gt_empty_pred_nonempty": 0.0, "gt_nonempty_pred_empty": 0.0},
    "hd95": {"gt_empty_pred_empty": 0.0, "gt_empty_pred_nonempty": 373.13, "gt_nonempty_pred_empty": 373.13},
}


def box(shape: tuple[int, ...] = (8, 8, 8), label: int = 1, *, at: int = 2, size: int = 4) -> np.ndarray:
    """A cube of `label` in zeros."""
    array = np.zeros(shape, dtype=np.uint8 if label < 256 else np.uint16)
    array[tuple(slice(at, at + size) for _ in shape)] = label
    return array


def write_nifti(path: Path, array: np.ndarray, *, spacing: tuple[float, ...] = (1.0, 1.0, 1.0)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    image = nib.Nifti1Image(array, np.diag([*spacing, 1.0]))
    image.set_qform(image.affine, code=1)
    image.set_sform(image.affine, code=1)
    nib.save(image, path)
    return path


def write_tiff(path: Path, array: np.ndarray) -> Path:
    import tifffile

    path.parent.mkdir(parents=True, exist_ok=True)
    tifffile.imwrite(path, array, photometric="minisblack")
    return path


@dataclass
class BundleBuilder:
    """A `seg` bundle of the name `demo_task`; every part can be changed before `write`."""

    root: Path
    task: dict[str, Any] = field(default_factory=dict)
    spec: dict[str, Any] = field(default_factory=dict)
    manifest: dict[str, Any] = field(default_factory=dict)
    suffix: str = ".nii.gz"

    def __post_init__(self) -> None:
        self.task = self.task or {
            "task": {"id": "demo_task", "name": "Demo", "modality": "CT", "anatomy": "none"},
            "canonical_labels": {"lesion": [1]},
            "main_region": "lesion",
            "label_remap": {"DS_A": {1: 1}},
        }
        self.spec = self.spec or {
            "mode": "3d_volumetric",
            "eval_regions": {"lesion": [1]},
            "partial_label": False,
            "main_region": "lesion",
            "metrics": ["dice", "hd95"],
            "hd95": {"percentile": 95, "spacing": "header", "unit": "mm"},
            "empty_structure": json.loads(json.dumps(EMPTY)),
            "aggregation": {
                "unit": "patient",
                "reduce": "mean",
                "report_by_region": True,
                "report_by_dataset": True,
                "report_by_tier": True,
                "headline": {"region": "lesion", "metric": "dice"},
            },
            "prediction_format": {
                "type": "nifti",
                "label_space": [0, 1],
                "coordinate_space": "input_volume_grid",
            },
        }
        self.manifest = self.manifest or {
            "task": "demo_task",
            "version": "0.1.0",
            "split_version": "demo_task/v1",
            "hash": "facbb5f45b72",
            "train": [],
            "test": [],
            "per_case": {},
        }

    @property
    def bundle(self) -> Path:
        return self.root / "demo_task"

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def predictions(self) -> Path:
        return self.root / "predictions"

    def case(
        self,
        name: str,
        reference: np.ndarray,
        prediction: np.ndarray | None,
        *,
        dataset: str = "DS_A",
        spacing: tuple[float, ...] = (1.0, 1.0, 1.0),
        **meta: Any,
    ) -> str:
        """Add a test case; with `prediction` None no file is written for it."""
        case_id = f"{dataset}/{name}"
        image, seg = f"{case_id}_img{self.suffix}", f"{case_id}_seg{self.suffix}"
        self._store(self.data / image, np.zeros_like(reference), spacing)
        self._store(self.data / seg, reference, spacing)
        if prediction is not None:
            self._store(self.predictions / f"{case_id}{self.suffix}", prediction, spacing)
        self.manifest["test"].append(case_id)
        self.manifest["per_case"][case_id] = {
            "dataset": dataset,
            "split": "test",
            "tier": "test",
            "patient_uid": name,
            "image": image,
            "seg": seg,
            **meta,
        }
        return case_id

    def _store(self, path: Path, array: np.ndarray, spacing: tuple[float, ...]) -> None:
        if self.suffix == ".tif":
            write_tiff(path, array)
        else:
            write_nifti(path, array, spacing=spacing)

    def write(self) -> BundleBuilder:
        self.bundle.mkdir(parents=True, exist_ok=True)
        self.predictions.mkdir(parents=True, exist_ok=True)
        (self.bundle / "manifest_test.json").write_text(json.dumps(self.manifest, indent=1))
        (self.bundle / "task.yaml").write_text(yaml.safe_dump(self.task, sort_keys=False))
        (self.bundle / "eval_spec.yaml").write_text(yaml.safe_dump(self.spec, sort_keys=False))
        return self


def instance_builder(root: Path, **changes: Any) -> BundleBuilder:
    """A builder of an `instance_seg_2d` bundle with TIFF masks."""
    spec: dict[str, Any] = {
        "task_type": "instance_seg_2d",
        "mode": "2d_image",
        "segmentation_mode": "instance",
        "eval_regions": {"nucleus": [1]},
        "partial_label": False,
        "main_region": "nucleus",
        "metrics": ["f1", "aji", "pq"],
        "iou_threshold": 0.5,
        "aggregation": {"unit": "image", "reduce": "mean", "report_by_region": True},
        "prediction_format": {"type": "instance_mask2d", "label_space": [0, 1]},
        **changes,
    }
    task = {
        "task": {"id": "demo_task", "name": "Demo", "modality": "microscopy", "anatomy": "cells"},
        "canonical_labels": {"nucleus": [1]},
        "main_region": "nucleus",
    }
    return BundleBuilder(root, task=task, spec=spec, suffix=".tif")


def value_of(document: Mapping[str, Any], case_id: str, region: str, metric: str) -> float | None:
    """One number of a results document."""
    return cell_of(document, case_id, region, metric)["value"]


def cell_of(document: Mapping[str, Any], case_id: str, region: str, metric: str) -> dict[str, Any]:
    """One value of a results document with its outcome."""
    rows = {row["case_id"]: row for row in document["cases"]}
    return dict(rows[case_id]["regions"][region][metric])
