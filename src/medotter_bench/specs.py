"""Typed views of `task.yaml` and `eval_spec.yaml`. Every default of a spec stands here, once.

The defaults of penalties come from `metrics.empty`, which knows what an empty structure is worth. Leaves to
others: reading the files (`bundle`), the JSON Schemas (`medomni.core.contracts`), and whether the two files,
the manifest and the data agree (`checks`, `data_checks`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from medomni.core.files import Document
from medotter_bench.errors import SpecError
from medotter_bench.label_map import LabelRemap, parse_label_remap
from medotter_bench.metrics.empty import (
    DEFAULT_INSTANCE_PENALTIES,
    DEFAULT_PENALTIES,
    GRID_DIAGONAL,
    STATES,
)

MACRO_AVG = "macro_avg"
BOTH_EMPTY_ALIAS = "both_empty"
CLASSES_SUFFIX = ".classes.json"
DEFAULT_TYPE = {"seg": "nifti", "instance_seg_2d": "instance_mask2d", "instance_seg_3d": "instance_mask3d"}

Reporting = bool | tuple[str, ...]
Penalty = float | Literal["grid_diagonal"] | None


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """What `task.yaml` says: the identity block, the canonical labels, and the remap of references."""

    id: str
    name: str
    modality: str
    anatomy: str
    description: str
    canonical_labels: Mapping[str, tuple[int, ...]]
    main_region: str | None
    label_remap: Mapping[str, LabelRemap]


@dataclass(frozen=True, slots=True)
class HausdorffSpec:
    """How hd95 is computed: percentile of each directed set, spacing, unit, and how the two are joined."""

    percentile: float = 95.0
    spacing: Literal["header"] | tuple[float, ...] = "header"
    unit: Literal["mm", "voxel"] = "mm"
    method: Literal["directed_max", "pooled"] = "directed_max"


@dataclass(frozen=True, slots=True)
class Headline:
    """The one number of the leaderboard's headline column."""

    region: str
    metric: str
    tier: str | None = None


@dataclass(frozen=True, slots=True)
class Aggregation:
    """How case values roll up. `by_*`: True for all, names for only these, False for none."""

    unit: Literal["patient", "image", "case"]
    reduce: Literal["mean", "median"]
    by_region: Reporting
    by_dataset: Reporting
    by_tier: Reporting
    headline: Headline


@dataclass(frozen=True, slots=True)
class PredictionFormat:
    """What a prediction file is. `classes` is the suffix of a side file of instance classes, if any."""

    type: str
    label_space: tuple[int, ...]
    coordinate_space: str
    note: str
    classes: str | None


@dataclass(frozen=True, slots=True)
class EvalSpec:
    """What `eval_spec.yaml` says, with every default filled in and listed in `defaults_used`."""

    task_type: str
    regions: Mapping[str, tuple[int, ...]]
    partial_label: bool
    main_region: str
    metrics: tuple[str, ...]
    hd95: HausdorffSpec | None
    iou_threshold: float
    match_rule: Literal["gt", "ge"]
    penalties: Mapping[str, Mapping[str, Penalty]]
    aggregation: Aggregation
    prediction_format: PredictionFormat
    mode: str = ""
    segmentation_mode: str = ""
    hd95_penalty_note: str = ""
    defaults_used: tuple[str, ...] = field(default=())


def parse_task(document: Document) -> TaskSpec:
    """The typed view of a `task.yaml` that the contract `bundle-task` accepts.

    Raises:
        SpecError: `label_remap` cannot be read as maps of ids; names file, line and dataset.
    """
    value = document.value
    identity = value["task"]
    return TaskSpec(
        id=identity["id"],
        name=identity["name"],
        modality=identity["modality"],
        anatomy=identity["anatomy"],
        description=identity.get("description", ""),
        canonical_labels={name: tuple(ids) for name, ids in value["canonical_labels"].items()},
        main_region=value.get("main_region"),
        label_remap=parse_label_remap(value.get("label_remap"), where=document.where(("label_remap",))),
    )


class _Defaults:
    """Reads optional keys and remembers which defaults stood in."""

    def __init__(self) -> None:
        self.used: list[str] = []

    def take(self, mapping: Mapping[str, Any], key: str, default: Any, name: str | None = None) -> Any:
        value = mapping.get(key)
        if value is not None:
            return value
        shown = "grid diagonal" if default == GRID_DIAGONAL else default
        self.used.append(f"{name or key}={shown}")
        return default


def parse_eval_spec(document: Document, *, task: TaskSpec | None = None) -> EvalSpec:
    """The typed view of an `eval_spec.yaml` that the contract `eval-spec` accepts.

    Args:
        document: The parsed file.
        task: The bundle's `task.yaml`, whose `main_region` stands in where this file names none.

    Raises:
        SpecError: a penalty stands there twice with different numbers.
    """
    value: Mapping[str, Any] = document.value
    defaults = _Defaults()
    task_type = defaults.take(value, "task_type", "seg")
    regions = {name: tuple(ids) for name, ids in value["eval_regions"].items()}
    fallback = task.main_region if task and task.main_region else _only_region(regions)
    main_region = defaults.take(value, "main_region", fallback)
    metrics = tuple(value["metrics"])
    return EvalSpec(
        task_type=task_type,
        regions=regions,
        partial_label=defaults.take(value, "partial_label", False),
        main_region=main_region,
        metrics=metrics,
        hd95=_hausdorff(value.get("hd95") or {}, defaults) if "hd95" in metrics else None,
        iou_threshold=_instance_default(value, "iou_threshold", 0.5, metrics, defaults),
        match_rule=_instance_default(value, "match_rule", "gt", metrics, defaults),
        penalties={m: _penalties(document, m, defaults) for m in metrics},
        aggregation=_aggregation(value.get("aggregation") or {}, main_region, metrics, defaults),
        prediction_format=_prediction_format(value, regions, task_type, task, defaults),
        mode=value.get("mode", ""),
        segmentation_mode=value.get("segmentation_mode", ""),
        hd95_penalty_note=value.get("hd95_penalty_note", ""),
        defaults_used=tuple(defaults.used),
    )


def _only_region(regions: Mapping[str, Any]) -> str:
    return next(iter(regions)) if len(regions) == 1 else MACRO_AVG


def is_semantic(metrics: tuple[str, ...]) -> bool:
    """Whether a list of metrics is about voxels (dice, hd95) rather than instances."""
    return any(metric in DEFAULT_PENALTIES for metric in metrics)


def _instance_default(
    value: Mapping[str, Any], key: str, default: Any, metrics: tuple[str, ...], defaults: _Defaults
) -> Any:
    if is_semantic(metrics):
        return value.get(key, default)
    return defaults.take(value, key, default)


def _hausdorff(value: Mapping[str, Any], defaults: _Defaults) -> HausdorffSpec:
    spacing = defaults.take(value, "spacing", "header", "hd95.spacing")
    return HausdorffSpec(
        percentile=float(defaults.take(value, "percentile", 95.0, "hd95.percentile")),
        spacing="header" if isinstance(spacing, str) else tuple(float(s) for s in spacing),
        unit=defaults.take(value, "unit", "mm", "hd95.unit"),
        method=defaults.take(value, "method", "directed_max", "hd95.method"),
    )


def _penalties(document: Document, metric: str, defaults: _Defaults) -> dict[str, Penalty]:
    """One metric's table. A key that stands there with null or `exclude` means: not scored."""
    tables = document.value.get("empty_structure") or {}
    table = dict(tables.get(metric) or {})
    where = document.where(("empty_structure", metric))
    if BOTH_EMPTY_ALIAS in table:
        both = table.pop(BOTH_EMPTY_ALIAS)
        if table.setdefault(STATES[0], both) != both:
            raise SpecError(
                f"{BOTH_EMPTY_ALIAS} and {STATES[0]} mean the same and differ: {both} and {table[STATES[0]]}",
                where=where,
                hint="keep one of the two",
                code="penalty-twice",
            )
    fallback = DEFAULT_PENALTIES.get(metric, DEFAULT_INSTANCE_PENALTIES)
    result: dict[str, Penalty] = {}
    for state in STATES:
        if state in table:
            result[state] = None if table[state] in (None, "exclude") else float(table[state])
        else:
            default: Any = fallback[state]
            result[state] = default
            shown = "not scored" if default is None else str(default).replace("_", " ")
            defaults.used.append(f"empty_structure.{metric}.{state}={shown}")
    return result


def _reporting(value: Any) -> Reporting:
    return tuple(value) if isinstance(value, list) else bool(value)


def _aggregation(
    value: Mapping[str, Any], main_region: str, metrics: tuple[str, ...], defaults: _Defaults
) -> Aggregation:
    headline = value.get("headline") or {}
    by_region = value.get("report_by_region", value.get("report_by_organ"))
    return Aggregation(
        unit=defaults.take(value, "unit", "case", "aggregation.unit"),
        reduce=defaults.take(value, "reduce", "mean", "aggregation.reduce"),
        by_region=_reporting(by_region),
        by_dataset=_reporting(value.get("report_by_dataset")),
        by_tier=_reporting(value.get("report_by_tier")),
        headline=Headline(
            region=defaults.take(headline, "region", main_region, "aggregation.headline.region"),
            metric=defaults.take(headline, "metric", metrics[0], "aggregation.headline.metric"),
            tier=headline.get("tier"),
        ),
    )


def _prediction_format(
    value: Mapping[str, Any],
    regions: Mapping[str, tuple[int, ...]],
    task_type: str,
    task: TaskSpec | None,
    defaults: _Defaults,
) -> PredictionFormat:
    form = value.get("prediction_format") or {}
    canonical = task.canonical_labels.values() if task else ()
    known = sorted({0, *(i for ids in [*regions.values(), *canonical] for i in ids)})
    space = defaults.take(form, "label_space", known, "prediction_format.label_space")
    kind = defaults.take(form, "type", DEFAULT_TYPE.get(task_type, "nifti"), "prediction_format.type")
    coordinates = defaults.take(
        form, "coordinate_space", "input_volume_grid", "prediction_format.coordinate_space"
    )
    classes = form.get("classes")
    suffix = CLASSES_SUFFIX if classes is True else str(classes or "").removeprefix("{case_id}") or None
    return PredictionFormat(kind, tuple(sorted({0, *space})), coordinates, form.get("note", ""), suffix)


def spec_view(spec: EvalSpec) -> dict[str, Any]:
    """The effective protocol as plain data, as it is written into every result."""
    hd95 = spec.hd95
    return {
        "regions": {name: list(ids) for name, ids in spec.regions.items()},
        "partial_label": spec.partial_label,
        "metrics": list(spec.metrics),
        "hd95": None
        if hd95 is None
        else {
            "percentile": hd95.percentile,
            "spacing": hd95.spacing if isinstance(hd95.spacing, str) else list(hd95.spacing),
            "unit": hd95.unit,
            "method": hd95.method,
        },
        "iou_threshold": None if is_semantic(spec.metrics) else spec.iou_threshold,
        "match_rule": None if is_semantic(spec.metrics) else spec.match_rule,
        "penalties": {metric: dict(table) for metric, table in spec.penalties.items()},
        "aggregation": {"unit": spec.aggregation.unit, "reduce": spec.aggregation.reduce},
        "prediction_type": spec.prediction_format.type,
        "label_space": list(spec.prediction_format.label_space),
        "defaults_used": list(spec.defaults_used),
    }
