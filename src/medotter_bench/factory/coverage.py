"""The coverage report of a frozen manifest: what each dataset brings, what was left out and why.

A note for people (and the site); nothing reads it back. Leaves to others: the manifest itself (`freeze`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medomni.core.files import read_yaml
from medotter_bench.factory.definition import Factory

SCHEMA = "medotter/coverage/1"


def coverage(factory: Factory, manifest: Mapping[str, Any], bundle_dir: Path) -> dict[str, Any]:
    """The report as plain data.

    Args:
        factory: Names the datasets with licences and citations.
        manifest: The frozen manifest.
        bundle_dir: Its `eval_spec.yaml` and `task.yaml`, where they exist, say which regions a dataset
            can produce; null where bundle-local code decides that.
    """
    return {
        "schema": SCHEMA,
        "task": manifest["task"],
        "version": manifest["version"],
        "hash": manifest["hash"],
        "totals": _counts(manifest["per_case"].values()),
        "datasets": {name: _dataset(factory, name, manifest, bundle_dir) for name in factory.datasets},
        "skipped": manifest["skipped"],
        "dropped_cross_split": manifest["dropped_cross_split"],
    }


def _counts(metas: Any) -> dict[str, int]:
    metas = list(metas)
    patients = {(meta["dataset"], meta["patient_uid"]) for meta in metas if meta["patient_uid"] is not None}
    unknown = sum(meta["patient_uid"] is None for meta in metas)
    return {
        "cases": len(metas),
        "train": sum(meta["split"] == "train" for meta in metas),
        "test": sum(meta["split"] == "test" for meta in metas),
        "patients": len(patients) + unknown,
    }


def _dataset(factory: Factory, name: str, manifest: Mapping[str, Any], bundle_dir: Path) -> dict[str, Any]:
    dataset = factory.datasets[name]
    own = [meta for meta in manifest["per_case"].values() if meta["dataset"] == name]
    return {
        **_counts(own),
        "tier": factory.tiers.get(name),
        "channels": list(dataset.chan) or None,
        "regions": regions_of(name, dataset.region, bundle_dir),
        "skipped": sum(entry["case_id"].startswith(f"{name}/") for entry in manifest["skipped"]),
        "dropped": sum(entry["case_id"].startswith(f"{name}/") for entry in manifest["dropped_cross_split"]),
        "licence": dataset.licence,
        "citation": dataset.citation,
        "url": dataset.url or None,
    }


def regions_of(name: str, region: str | None, bundle_dir: Path) -> list[str] | None:
    """The regions of `eval_spec.yaml` that a dataset can produce through `label_remap`."""
    if not (bundle_dir / "task.yaml").is_file() or not (bundle_dir / "eval_spec.yaml").is_file():
        return None
    task, spec = read_yaml(bundle_dir / "task.yaml").value, read_yaml(bundle_dir / "eval_spec.yaml").value
    regions = _mapping(_mapping(spec).get("eval_regions"))
    remap = _mapping(_mapping(task).get("label_remap")).get(name)
    if region is not None:
        return [region]
    if not isinstance(remap, dict) or "native" in remap:
        return list(regions)
    produced = [value for key, value in remap.items() if key != "note"]
    return [key for key, ids in regions.items() if isinstance(ids, list) and all(i in produced for i in ids)]


def _mapping(value: Any) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}


def coverage_markdown(report: Mapping[str, Any]) -> str:
    """The report as a page of text with tables."""
    totals = report["totals"]
    head = [
        f"# Coverage of {report['task']} {report['version']}",
        "",
        f"Manifest hash `{report['hash']}`.",
        f"{totals['cases']} cases of {totals['patients']} patients.",
        f"Train: {totals['train']}. Test: {totals['test']}.",
        "",
    ]
    columns = ("dataset", "tier", "train", "test", "patients", "skipped", "dropped", "regions", "licence")
    rows = [[name, *(_cell(entry[key]) for key in columns[1:])] for name, entry in report["datasets"].items()]
    lines = [*head, *_table(columns, rows)]
    for title, key in (("Skipped", "skipped"), ("Dropped: patient on both sides", "dropped_cross_split")):
        if report[key]:
            entries = [[entry["case_id"], _cell(entry["reason"])] for entry in report[key]]
            lines += ["", f"## {title}", "", *_table(("case", "reason"), entries)]
    lines += ["", "## Sources", ""]
    lines += [f"- **{name}**: {_cell(entry['citation'])}" for name, entry in report["datasets"].items()]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    text = ", ".join(value) if isinstance(value, list) else str(value)
    return " ".join(text.replace("|", "\\|").split())


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    return lines + [f"| {' | '.join(row)} |" for row in rows]
