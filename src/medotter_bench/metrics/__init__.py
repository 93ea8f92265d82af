"""Metrics as pure functions on arrays: the definitions that every other engine must reproduce.

Leaves to others: files, label maps, which regions and cases count, and averages. The function
`surface.surface` is not re-exported, so that `metrics.surface` stays the module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from medotter_bench.metrics.empty import (
    HIGHER_IS_BETTER,
    STATES,
    Penalties,
    default_penalties,
    resolve,
    state,
    worst,
)
from medotter_bench.metrics.instances import (
    RULES,
    Contingency,
    Matching,
    aji,
    aji_plus,
    contingency,
    disconnected_ids,
    dq,
    f1,
    match,
    pq,
    sq,
)
from medotter_bench.metrics.overlap import dice, dice_from_counts
from medotter_bench.metrics.surface import (
    METHODS,
    grid_diagonal,
    hd95,
    linear_percentile,
    squeeze_spacing,
    surface_distances,
)

__all__ = [
    "HIGHER_IS_BETTER",
    "METHODS",
    "METRICS",
    "RULES",
    "STATES",
    "Contingency",
    "Matching",
    "MetricInfo",
    "Penalties",
    "aji",
    "aji_plus",
    "contingency",
    "default_penalties",
    "dice",
    "dice_from_counts",
    "disconnected_ids",
    "dq",
    "f1",
    "grid_diagonal",
    "hd95",
    "linear_percentile",
    "match",
    "pq",
    "resolve",
    "sq",
    "squeeze_spacing",
    "state",
    "surface_distances",
    "worst",
]


@dataclass(frozen=True, slots=True)
class MetricInfo:
    """What a table or chart must know of a metric.

    Attributes:
        kind: Type of label map that it takes.
        higher_is_better: Direction in which rows rank.
        range: Smallest and largest value; None where there is no bound.
        unit: Unit of the number, empty for ratios (`mm` becomes voxels where the spec says so).
        description: One line for people.
    """

    kind: Literal["semantic", "instance"]
    higher_is_better: bool
    range: tuple[float, float | None]
    unit: str
    description: str


def _ratio(kind: Literal["semantic", "instance"], name: str, description: str) -> MetricInfo:
    return MetricInfo(kind, HIGHER_IS_BETTER[name], (0.0, 1.0), "", description)


METRICS: Mapping[str, MetricInfo] = {
    "dice": _ratio("semantic", "dice", "Overlap of two masks, 2|A and B| / (|A| + |B|)"),
    "hd95": MetricInfo(
        "semantic",
        HIGHER_IS_BETTER["hd95"],
        (0.0, None),
        "mm",
        "95th percentile of the distance between the two surfaces",
    ),
    "f1": _ratio("instance", "f1", "Share of objects found, 2TP / (2TP + FP + FN)"),
    "aji": _ratio("instance", "aji", "Aggregated Jaccard Index, a prediction may serve several references"),
    "aji_plus": _ratio("instance", "aji_plus", "Aggregated Jaccard Index with one-to-one partners"),
    "pq": _ratio("instance", "pq", "Panoptic quality, SQ times DQ"),
    "sq": _ratio("instance", "sq", "Segmentation quality, mean IoU of the matched objects"),
    "dq": _ratio("instance", "dq", "Detection quality, the F1 of the matched objects"),
}
