"""The `medotter/results/1` document: rows, aggregates, headline, and what they were computed from.

Leaves to others: scoring (`case_scoring`) and roll-ups (`aggregation`). The same bytes in give the same bytes
out: rows are sorted by case id and timings go to a file of their own.

Source: docs/reference/results.md.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import medomni
from medomni.core.files import json_text, write_atomic
from medotter_bench.aggregation import aggregates, headline
from medotter_bench.case_scoring import CaseRow
from medotter_bench.label_map import LabelRemap
from medotter_bench.specs import EvalSpec, spec_view

SCHEMA = "medotter/results/1"
# Rises with any change of a number, an outcome or a default.
SCORING_VERSION = 1
_SOFTWARE = ("numpy", "scipy", "nibabel", "pillow", "tifffile")


@dataclass(frozen=True, slots=True)
class Results:
    """The outcome of scoring a folder.

    Attributes:
        document: The `medotter/results/1` document as plain data.
        timings: Seconds per case, measured; never part of the document.
    """

    document: dict[str, Any]
    timings: Mapping[str, float] = field(default_factory=dict)

    @property
    def headline(self) -> dict[str, Any]:
        """The headline block: region, metric, value, n, interval."""
        block: dict[str, Any] = self.document["headline"]
        return block

    @property
    def cases(self) -> list[dict[str, Any]]:
        """One row per case of the test split, sorted by case id."""
        rows: list[dict[str, Any]] = self.document["cases"]
        return rows

    @property
    def is_complete(self) -> bool:
        """Whether every case had a usable prediction."""
        return not self.document["missing"] and not self.document["invalid"]

    def to_json(self) -> str:
        """The document as JSON text, the same bytes for the same input."""
        return json_text(self.document)

    def write(self, path: str | Path) -> None:
        """Write the document, and the timings beside it as `<stem>.timings.json`; both atomically."""
        target = Path(path)
        write_atomic(target, self.to_json())
        seconds = {case: round(value, 6) for case, value in sorted(self.timings.items())}
        timings = {"schema": "medotter/timings/1", "unit": "s", "cases": seconds}
        write_atomic(timings_path(target), json_text(timings))


def timings_path(results: Path) -> Path:
    """`results.json` -> `results.timings.json`."""
    return results.with_name(results.name.removesuffix(".json") + ".timings.json")


def build(
    *,
    bundle: Mapping[str, Any],
    spec: EvalSpec,
    remaps: Mapping[str, LabelRemap],
    rows: Sequence[CaseRow],
    extra: Sequence[str],
) -> Results:
    """The results of a set of rows.

    Args:
        bundle: The `bundle` block: task, version, hash, spec_hash, files.
        spec: The effective protocol.
        remaps: Dataset -> effective map, for the datasets of the test split.
        rows: One row per case of the test split, in any order.
        extra: Files of the predictions folder that belong to no case.
    """
    ordered = sorted(rows, key=lambda row: row.case_id)
    view = spec_view(spec)
    defaults = [*view.pop("defaults_used"), *_identity_defaults(remaps)]
    document = {
        "schema": SCHEMA,
        "scoring_version": SCORING_VERSION,
        "task_type": spec.task_type,
        "bundle": dict(bundle),
        "effective": {
            "label_remap": _remap_view(remaps),
            "case_remap": _case_remaps(ordered),
            **view,
            "defaults_used": defaults,
        },
        "cases": [_row(row) for row in ordered],
        "aggregates": aggregates(ordered, spec),
        "headline": headline(ordered, spec),
        "missing": [row.case_id for row in ordered if row.status == "missing"],
        "invalid": [
            {"case_id": row.case_id, "code": row.code, "what": row.what}
            for row in ordered
            if row.status == "invalid"
        ],
        "extra": sorted(extra),
        "software": software(),
        "sandbox": None,
    }
    return Results(document, {row.case_id: row.seconds for row in ordered})


def _row(row: CaseRow) -> dict[str, Any]:
    regions: dict[str, Any] = {}
    for name, region in row.score.regions.items():
        values = {m: {"value": v.value, "outcome": v.outcome} for m, v in region.metrics.items()}
        # A metric of the spec may bear the name of a detail (sq, dq): the metric's form wins.
        regions[name] = {**region.details, **values}
    return {
        "case_id": row.case_id,
        "dataset": row.meta.get("dataset"),
        "tier": row.meta.get("tier"),
        "patient_uid": row.meta.get("patient_uid"),
        "status": row.status,
        "reason": None if row.code is None else {"code": row.code, "what": row.what},
        "regions": regions,
        "unlisted_voxels": row.score.unlisted_voxels,
        "notes": {side: dict(notes) for side, notes in row.notes.items()},
    }


def _remap_view(remaps: Mapping[str, LabelRemap]) -> dict[str, dict[str, int]]:
    return {
        name: {str(native): canonical for native, canonical in sorted(remap.ids.items())}
        for name, remap in sorted(remaps.items())
        if not remap.identity
    }


def _case_remaps(rows: Sequence[CaseRow]) -> dict[str, dict[str, int]]:
    """The `remap` slots of single cases, which refine their dataset's map."""
    slots = {row.case_id: row.meta.get("remap") for row in rows}
    return {
        case_id: {str(native): target for native, target in slot.items()}
        for case_id, slot in slots.items()
        if slot
    }


def _identity_defaults(remaps: Mapping[str, LabelRemap]) -> list[str]:
    return [f"label_remap.{name}=identity" for name, remap in sorted(remaps.items()) if remap.identity]


def software() -> dict[str, str]:
    """Versions of what computes the numbers."""
    found = {"medomni": medomni.__version__, "python": platform.python_version()}
    for name in _SOFTWARE:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # pragma: no cover - all are in the extra that scoring needs
            continue
    return found
