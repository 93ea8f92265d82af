"""What a reader must know of a metric to read its number: which way is better, its range, its unit.

Leaves to others: the formulas (`metrics`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

Direction = Literal["higher", "lower"]

_DIRECTIONS: Mapping[str, Direction] = {
    "dice": "higher",
    "hd95": "lower",
    "f1": "higher",
    "aji": "higher",
    "aji_plus": "higher",
    "pq": "higher",
    "sq": "higher",
    "dq": "higher",
}


def direction(metric: str) -> Direction | None:
    """Which values are better; None for a metric of somebody else's adapter."""
    return _DIRECTIONS.get(metric)


def is_share(metric: str) -> bool:
    """Whether the values lie from 0 to 1, so that 0.01 is a point."""
    return _DIRECTIONS.get(metric) == "higher"


def unit(metric: str, effective: Mapping[str, Any]) -> str:
    """The unit of a metric under a protocol: `mm` or `voxel` for hd95, empty for shares."""
    settings = effective.get("hd95")
    if metric != "hd95" or not isinstance(settings, Mapping):
        return ""
    return str(settings.get("unit", "mm"))
