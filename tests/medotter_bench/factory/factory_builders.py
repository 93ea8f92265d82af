"""Builders of factory files, definitions and path lists for the tests of `medotter_bench.factory`."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import yaml

from medotter_bench.factory.definition import Factory, read_factory
from medotter_bench.factory.scan import Case

MINIMAL: dict[str, Any] = {
    "schema": "medotter/factory/1",
    "version": "0.1.0",
    "split_version": "lesion_ct/v1",
    "datasets": {
        "AA": {
            "licence": "CC0",
            "citation": "A et al.",
            "image": "aa/img/{case}.nii.gz",
            "seg": "aa/seg/{case}.nii.gz",
            "case": "{case}",
            "patient": "{case}",
        }
    },
    "split": {"policy": "by_patient", "seed": 1, "test_fraction": 0.5},
    "dummy": {"AA": {"cases": 4, "fields": {"case": "c{index:3}"}, "shape": [16, 14, 12], "labels": [1, 2]}},
}

EVAL_SPEC = {
    "eval_regions": {"lesion": [1], "other": [2]},
    "metrics": ["dice"],
    "main_region": "macro_avg",
}
TASK = {
    "task": {"id": "lesion_ct", "name": "Lesions", "modality": "CT", "anatomy": "liver"},
    "canonical_labels": {"lesion": [1], "other": [2]},
    "main_region": "macro_avg",
    "label_remap": {"AA": {1: 1, "note": "ids as published"}},
}


def factory_document(**changes: Any) -> dict[str, Any]:
    """A minimal `factory.yaml` with top-level keys replaced; None removes one."""
    document = {**copy.deepcopy(MINIMAL), **changes}
    return {key: value for key, value in document.items() if value is not None}


def dataset(**changes: Any) -> dict[str, Any]:
    """A dataset block with keys replaced; `...` removes one."""
    block = {**copy.deepcopy(MINIMAL["datasets"]["AA"]), **changes}
    return {key: value for key, value in block.items() if value is not ...}


def write_bundle(folder: Path, document: dict[str, Any] | None = None, *, specs: bool = True) -> Path:
    """A bundle folder named `lesion_ct` with a factory file and, where asked, the two specs."""
    bundle = folder / "lesion_ct"
    bundle.mkdir(parents=True)
    text = yaml.safe_dump(document or factory_document(), sort_keys=False)
    (bundle / "factory.yaml").write_text(text)
    if specs:
        (bundle / "eval_spec.yaml").write_text(yaml.safe_dump(EVAL_SPEC))
        (bundle / "task.yaml").write_text(yaml.safe_dump(TASK))
    return bundle


def factory_of(folder: Path, document: dict[str, Any] | None = None) -> Factory:
    """The typed definition of a document."""
    return read_factory(write_bundle(folder, document))


def paths_of(*names: str) -> list[str]:
    """Image and reference paths of cases of the dataset AA."""
    return [f"aa/{kind}/{name}.nii.gz" for name in names for kind in ("img", "seg")]


def write_files(root: Path, paths: list[str]) -> Path:
    """Empty files below a data root."""
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(b"")
    return root


def case(name: str, patient: str | None = "same as name", *, source: str = "AA") -> Case:
    """A case without files."""
    uid = name if patient == "same as name" else patient
    return Case(f"{source}/{name}", source, uid, None, {})
