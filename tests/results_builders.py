"""Builds results documents from plain numbers, through the code that builds real ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medomni.core.files import Document, json_text, parse_json
from medotter_bench import results
from medotter_bench.adapters.base import CaseScore, RegionScore, Value
from medotter_bench.case_scoring import CaseRow
from medotter_bench.results_reading import LoadedResults, checked
from medotter_bench.specs import parse_eval_spec

Number = float | None | tuple[float | None, str]

SPEC: dict[str, Any] = {
    "eval_regions": {"liver": [1], "spleen": [2]},
    "partial_label": True,
    "main_region": "liver",
    "metrics": ["dice", "hd95"],
    "aggregation": {
        "unit": "patient",
        "reduce": "mean",
        "report_by_region": True,
        "report_by_dataset": True,
        "report_by_tier": True,
        "headline": {"region": "liver", "metric": "dice"},
    },
    "prediction_format": {"type": "nifti", "label_space": [0, 1, 2]},
}
BUNDLE = {
    "task": "demo_task",
    "version": "0.1.0",
    "hash": "facbb5f45b72",
    "spec_hash": "a" * 64,
    "files": {"task.yaml": "b" * 64, "manifest_test.json": "c" * 64, "eval_spec.yaml": "d" * 64},
}


def value_of(number: Number) -> Value:
    """`0.5` is a score, `None` not scored, `(0.0, "penalty:missing")` what it says."""
    if isinstance(number, tuple):
        return Value(*number)
    return Value(number, "ok" if number is not None else "not_scored:partial_label")


def row(
    case_id: str,
    numbers: Mapping[str, Mapping[str, Number]],
    *,
    status: str = "scored",
    code: str | None = None,
    what: str = "",
    **meta: Any,
) -> CaseRow:
    """A case. `numbers`: region -> metric -> number."""
    scores = {
        region: RegionScore(
            {metric: value_of(n) for metric, n in cells.items()},
            {"n_reference": 10, "n_prediction": 9},
            required=True,
        )
        for region, cells in numbers.items()
    }
    about = {"dataset": "DS_A", "tier": "test", "patient_uid": case_id, **meta}
    return CaseRow(case_id, about, status, code, what, CaseScore(scores))


def document(rows: Sequence[CaseRow], *, spec: Mapping[str, Any] = SPEC, **bundle: Any) -> dict[str, Any]:
    """The `medotter/results/1` document of the rows."""
    built = results.build(
        bundle={**BUNDLE, **bundle},
        spec=parse_eval_spec(Document(dict(spec), "eval_spec.yaml")),
        remaps={},
        rows=rows,
        extra=(),
    )
    return built.document


def loaded(found: Mapping[str, Any], name: str = "results.json") -> LoadedResults:
    """A document after a round trip through JSON, checked."""
    return checked(parse_json(json_text(found), name=name))


def dice_rows(values: Sequence[Number], *, hd95: float = 3.0, **meta: Any) -> list[CaseRow]:
    """One case per value, the same for both regions."""
    return [
        row(f"c{place:03}", {r: {"dice": value, "hd95": hd95} for r in ("liver", "spleen")}, **meta)
        for place, value in enumerate(values)
    ]


def dice_results(values: Sequence[Number], **settings: Any) -> LoadedResults:
    """Results with one case per dice value."""
    return loaded(document(dice_rows(values, **settings)))
