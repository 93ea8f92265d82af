"""What is wrong with an `eval_spec.yaml`, alone and beside `task.yaml`. Sees typed specs, no manifest.

Leaves to others: shape and types (`medomni.core.contracts`), manifests (`checks`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from medomni.core.files import Document
from medomni.core.issues import Issue, error, warning
from medotter_bench.adapters import registry
from medotter_bench.adapters.base import Adapter
from medotter_bench.errors import UnknownTaskTypeError
from medotter_bench.inference import SUFFIXES
from medotter_bench.specs import MACRO_AVG, EvalSpec, TaskSpec

MODES = ("3d_volumetric", "2d_image")
SEGMENTATION_MODES = ("multi_class", "instance", "binary")


def eval_issues(spec: EvalSpec, task: TaskSpec | None, document: Document) -> list[Issue]:
    """Every problem of the protocol; errors are those that decide a number."""
    try:
        adapter = registry.get(spec.task_type)
    except UnknownTaskTypeError as unknown:
        return [error(unknown.code, document.where(("task_type",)), unknown.what, unknown.hint)]
    return [
        *_metrics(spec, adapter, document),
        *_regions(spec, task, document),
        *_main_region(spec, task, document),
        *_headline(spec, document),
        *_penalties(spec, document),
        *_reporting(spec, document),
        *_documentary(spec, document),
    ]


def _metrics(spec: EvalSpec, adapter: Adapter, document: Document) -> Iterator[Issue]:
    raw: Mapping[str, Any] = document.value
    for index, metric in enumerate(spec.metrics):
        if metric not in adapter.metrics:
            where = document.where(("metrics", index))
            what = f"metric {metric!r} is not one of {spec.task_type}: {', '.join(adapter.metrics)}"
            yield error(
                "metric-unknown", where, what, "instance tasks never use dice or hd95, nor seg f1, aji, pq"
            )
    kind = spec.prediction_format.type
    if adapter.prediction_types and kind not in adapter.prediction_types:
        where = document.where(("prediction_format", "type"))
        what = (
            f"prediction type {kind!r} is not one of {spec.task_type}: {', '.join(adapter.prediction_types)}"
        )
        yield error("prediction-type", where, what)
    if kind not in SUFFIXES:
        where = document.where(("prediction_format", "type"))
        what = f"prediction type {kind!r} is none that can be read: {', '.join(SUFFIXES)}"
        yield error("prediction-type", where, what)
    if "iou_threshold" in raw and spec.iou_threshold >= 1 and spec.match_rule == "gt":
        where = document.where(("iou_threshold",))
        what = f"no IoU lies above the iou_threshold {spec.iou_threshold}"
        yield error("iou-threshold-unreachable", where, what, "lower it, or set match_rule: ge")
    if "hd95" in raw and "hd95" not in spec.metrics:
        yield warning("hd95-unused", document.where(("hd95",)), "an hd95 block, and hd95 is not in metrics")
    for key in ("iou_threshold", "match_rule"):
        if key in raw and spec.task_type == "seg":
            yield warning("key-unused", document.where((key,)), f"{key} means nothing for task_type seg")


def _regions(spec: EvalSpec, task: TaskSpec | None, document: Document) -> Iterator[Issue]:
    space = set(spec.prediction_format.label_space)
    semantic = spec.task_type == "seg" or spec.prediction_format.classes is not None
    for region, ids in spec.regions.items():
        where = document.where(("eval_regions", region))
        outside = sorted(set(ids) - space)
        if outside and semantic:
            what = f"region {region!r} uses ids {outside} outside the label_space {sorted(space)}"
            yield error(
                "region-outside-label-space", where, what, "add them to prediction_format.label_space"
            )
        if region == MACRO_AVG:
            yield error(
                "region-reserved", where, f"{MACRO_AVG!r} is the average of regions, not a region's name"
            )
    if task is None:
        return
    for region in sorted({*spec.regions, *task.canonical_labels}):
        ours, theirs = spec.regions.get(region), task.canonical_labels.get(region)
        where = document.where(("eval_regions", region))
        if ours is not None and theirs is not None and set(ours) != set(theirs):
            what = f"region {region!r} is {list(ours)} here and {list(theirs)} in task.yaml"
            yield warning("region-differs", where, what, "eval_spec.yaml decides; make both say the same")
        elif ours is None or theirs is None:
            lacking = "task.yaml" if theirs is None else "eval_spec.yaml"
            yield warning("region-differs", where, f"region {region!r} is missing in {lacking}")
    if not semantic:
        return
    for dataset, remap in task.label_remap.items():
        outside = sorted(set(remap.ids.values()) - space)
        if outside:
            what = f"label_remap of {dataset!r} maps to ids {outside} outside the label_space {sorted(space)}"
            yield error("remap-outside-label-space", f"task.yaml, label_remap.{dataset}", what)


def _main_region(spec: EvalSpec, task: TaskSpec | None, document: Document) -> Iterator[Issue]:
    where = document.where(("main_region",))
    if spec.main_region != MACRO_AVG and spec.main_region not in spec.regions:
        what = f"main_region {spec.main_region!r} is no region and not {MACRO_AVG}"
        yield error("main-region-unknown", where, what)
    if task is not None and task.main_region not in (None, spec.main_region):
        what = f"main_region is {spec.main_region!r} here and {task.main_region!r} in task.yaml"
        yield warning("main-region-differs", where, what, "eval_spec.yaml decides; make both say the same")


def _headline(spec: EvalSpec, document: Document) -> Iterator[Issue]:
    want = spec.aggregation.headline
    where = document.where(("aggregation", "headline"))
    if want.region != MACRO_AVG and want.region not in spec.regions:
        yield error(
            "headline-region", where, f"headline region {want.region!r} is no region and not {MACRO_AVG}"
        )
    if want.metric not in spec.metrics:
        yield error(
            "headline-metric",
            where,
            f"headline metric {want.metric!r} is not in metrics {list(spec.metrics)}",
        )


def _penalties(spec: EvalSpec, document: Document) -> Iterator[Issue]:
    raw = document.value.get("empty_structure") or {}
    for metric, table in spec.penalties.items():
        where = document.where(("empty_structure", metric))
        for state, number in table.items():
            aliases = (state, "both_empty") if state == "gt_empty_pred_empty" else (state,)
            if not any(alias in (raw.get(metric) or {}) for alias in aliases):
                shown = "not scored" if number is None else str(number).replace("_", " ")
                yield warning("penalty-default", where, f"no {state} for {metric}: the default is {shown}")
            if (
                isinstance(number, float)
                and number > 0
                and metric != "hd95"
                and state != "gt_empty_pred_empty"
            ):
                what = (
                    f"{metric}.{state} is {number}: an empty or missing prediction earns more than a bad one"
                )
                yield warning("penalty-generous", where, what, "0 is what such a prediction deserves")
            if isinstance(number, float) and (number < 0 or (metric != "hd95" and number > 1)):
                what = f"{metric}.{state} is {number}, outside the range of {metric}"
                yield error("penalty-range", where, what)
    for metric in sorted(set(raw) - {*spec.metrics, "note"}):
        where = document.where(("empty_structure", metric))
        yield warning("penalty-unused", where, f"penalties for {metric!r}, which is not in metrics")


def _reporting(spec: EvalSpec, document: Document) -> Iterator[Issue]:
    raw = document.value.get("aggregation") or {}
    region, organ = raw.get("report_by_region"), raw.get("report_by_organ")
    where = document.where(("aggregation",))
    if region is not None and organ is not None and region != organ:
        what = "report_by_region and report_by_organ mean the same and differ"
        yield error("reporting-twice", where, what, "keep one of the two")
    if isinstance(spec.aggregation.by_region, tuple):
        unknown = [name for name in spec.aggregation.by_region if name not in spec.regions]
        if unknown:
            yield error(
                "reporting-region-unknown", where, f"report_by_region names unknown regions {unknown}"
            )


def _documentary(spec: EvalSpec, document: Document) -> Iterator[Issue]:
    for key, value, known in (
        ("mode", spec.mode, MODES),
        ("segmentation_mode", spec.segmentation_mode, SEGMENTATION_MODES),
    ):
        if value and value not in known:
            what = f"{key} {value!r} is none of {', '.join(known)}; it is shown and changes no number"
            yield warning(f"{key.replace('_', '-')}-unknown", document.where((key,)), what)
