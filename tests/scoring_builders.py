"""Builds specs, label maps, adapter examples and rows in memory, for tests that need no file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from medomni.core.files import Document
from medotter_bench.adapters.base import CaseContext, CaseScore, RegionScore, Value
from medotter_bench.adapters.testing import Example
from medotter_bench.case_scoring import CaseRow
from medotter_bench.inference import Grid, LabelMap
from medotter_bench.label_map import IDENTITY, LabelRemap
from medotter_bench.specs import EvalSpec, parse_eval_spec

Regions = Mapping[str, Mapping[str, float | None]]


def eval_spec(**keys: Any) -> EvalSpec:
    """The typed view of a spec: two regions scored by dice and hd95, unless `keys` say otherwise."""
    raw = {"eval_regions": {"WT": [1, 2], "ET": [2]}, "metrics": ["dice", "hd95"], **keys}
    return parse_eval_spec(Document(raw, "eval_spec.yaml"))


def label_map(array: Any, spacing_mm: tuple[float, ...] | None = None) -> LabelMap:
    array = np.asarray(array)
    spacing = spacing_mm if spacing_mm is not None else (1.0,) * array.ndim
    return LabelMap(array, Grid(array.shape, spacing))


def seg_example() -> Example:
    """Two nested regions in native ids 1 and 4, on an anisotropic grid."""
    native = np.zeros((8, 8, 8), np.uint8)
    native[1:6, 1:6, 1:6], native[2:4, 2:4, 2:4] = 1, 4
    perfect = np.select([native == 4, native == 1], [2, 1]).astype(np.uint8)
    worse = np.roll(perfect, 1, axis=0)
    refused = np.where(perfect == 2, 9, perfect).astype(np.uint8)
    spacing = (0.8, 0.8, 2.5)
    context = CaseContext(eval_spec(), LabelRemap({1: 1, 4: 2}), {"dataset": "DS_A"})
    reference, *predictions = (label_map(a, spacing) for a in (native, perfect, worse, refused))
    return Example(context, reference, *predictions)


def instance_example(task_type: str, *, regions: Mapping[str, list[int]] | None = None) -> Example:
    """Three objects with scattered ids, in 2D or 3D; the worse prediction loses one and moves another."""
    ndim = 2 if task_type == "instance_seg_2d" else 3
    reference = np.zeros((14,) * ndim, np.uint16)
    for at, name in ((1, 7), (5, 900), (10, 65535)):
        reference[(slice(at, at + 3),) * ndim] = name
    worse = np.roll(np.where(reference == 7, 0, reference), 1, axis=0)
    spec = eval_spec(
        task_type=task_type,
        eval_regions=dict(regions or {"nucleus": [1]}),
        metrics=["f1", "aji", "pq", "aji_plus", "sq", "dq"],
    )
    context = CaseContext(spec, IDENTITY, {"dataset": "DS_A"})
    perfect = np.where(reference > 0, np.uint16(65535) - reference + 1, 0).astype(np.uint16)
    return Example(context, label_map(reference), label_map(perfect), label_map(worse))


def row(case_id: str, regions: Regions, **meta: Any) -> CaseRow:
    """A scored case; None stands for a value that does not count."""
    scores = {}
    for name, metrics in regions.items():
        values = {m: Value(v, "ok" if v is not None else "not_scored:test") for m, v in metrics.items()}
        required = any(value is not None for value in metrics.values())
        scores[name] = RegionScore(values, {}, required=required)
    return CaseRow(case_id, {"dataset": "DS_A", **meta}, "scored", None, "", CaseScore(scores))
