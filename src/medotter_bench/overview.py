"""What a bundle is, for people: identity, cases, protocol. Reads the bundle, checks nothing.

Leaves to others: problems (`checks`) and printing (`cli`).
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from medomni.core.errors import MedomniError
from medotter_bench import checks
from medotter_bench.bundle import EVAL_SPEC, MANIFEST, Bundle
from medotter_bench.errors import BundleNotFoundError
from medotter_bench.specs import spec_view


def listing(parent: Path) -> list[dict[str, Any]]:
    """One row per bundle folder: name, version, task type, number of test cases.

    Raises:
        BundleNotFoundError: there is no such folder.
    """
    if not parent.is_dir():
        raise BundleNotFoundError("no such folder", where=str(parent), hint="name the folder with --dir")
    return [_row(path) for path in sorted(parent.iterdir()) if (path / EVAL_SPEC).is_file()]


def _row(path: Path) -> dict[str, Any]:
    from medomni.core.files import read_yaml

    row: dict[str, Any] = {
        "name": path.name,
        "version": None,
        "hash": None,
        "task_type": "unreadable",
        "test": 0,
    }
    try:
        spec = read_yaml(path / EVAL_SPEC).value
        row["task_type"] = spec.get("task_type", "seg") if isinstance(spec, dict) else "unreadable"
        if (path / MANIFEST).is_file():
            bundle = Bundle(path)
            row |= {"version": bundle.version, "hash": bundle.hash, "test": len(bundle.test)}
    except MedomniError as bad:
        row["problem"] = bad.what
    return row


def overview(path: Path) -> dict[str, Any]:
    """Identity, case counts and effective protocol of one bundle.

    Raises:
        MedomniError: the bundle has no manifest, or it cannot be read.
    """
    bundle = Bundle(path)
    task, spec, issues = checks.read_specs(bundle)
    datasets = Counter(str(bundle.manifest["per_case"].get(c, {}).get("dataset")) for c in bundle.test)
    return {
        "task": bundle.task,
        "version": bundle.version,
        "hash": bundle.hash,
        "hash_algorithm": bundle.manifest.get("hash_algorithm"),
        "name": task.name if task else None,
        "modality": task.modality if task else None,
        "anatomy": task.anatomy if task else None,
        "description": task.description if task else None,
        "train": len(bundle.train),
        "test": len(bundle.test),
        "test_by_dataset": dict(sorted(datasets.items())),
        "task_type": spec.task_type if spec else None,
        "mode": spec.mode if spec else None,
        "segmentation_mode": spec.segmentation_mode if spec else None,
        "main_region": spec.main_region if spec else None,
        "protocol": spec_view(spec) if spec else None,
        "prediction_format": {
            "type": spec.prediction_format.type,
            "label_space": list(spec.prediction_format.label_space),
            "coordinate_space": spec.prediction_format.coordinate_space,
            "note": spec.prediction_format.note,
        }
        if spec
        else None,
        "bundle_code": [code.name for code in bundle.local_code],
        "problems": len(issues),
    }


def overview_lines(found: dict[str, Any]) -> list[str]:
    """The overview as lines for a terminal."""
    lines = [f"{found['task']} {found['version']}  hash {found['hash']}"]
    if found["name"]:
        lines += [found["name"], f"{found['modality']}, {found['anatomy']}"]
    if found["description"]:
        lines.append(found["description"].strip())
    datasets = ", ".join(f"{name} {n}" for name, n in found["test_by_dataset"].items())
    lines.append(f"{found['train']} train and {found['test']} test cases ({datasets})")
    protocol, form = found["protocol"], found["prediction_format"]
    if protocol and form:
        regions = ", ".join(f"{name} {ids}" for name, ids in protocol["regions"].items())
        lines.append(f"{found['task_type']}: {', '.join(protocol['metrics'])} of {regions}")
        lines.append(f"headline: {found['main_region']}; unit {protocol['aggregation']['unit']}")
        lines.append(f"predictions: {form['type']}, ids {form['label_space']}, {form['coordinate_space']}")
        if form["note"]:
            lines.append(f"note: {form['note']}")
        if protocol["defaults_used"]:
            lines.append(f"defaults: {'; '.join(protocol['defaults_used'])}")
    if found["bundle_code"]:
        lines.append(f"brings its own code: {', '.join(found['bundle_code'])}")
    return lines
