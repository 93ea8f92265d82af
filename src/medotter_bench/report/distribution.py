"""Where the marks of a distribution go: one strip with quartiles per region, in units of a fixed box.

The drawing has no text: labels and axis are HTML, so that they keep their size on a phone. Leaves to others:
drawing (the template) and the table twin (`view`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from medomni.core import stats
from medotter_bench.metric_facts import is_share

WIDTH, LANE, HEIGHT = 320.0, 350.0, 48.0
_MARGIN = 6.0
_CENTRE, _STEP, _MOST_STEPS = 16.0, 4.0, 3
_TICKS = 5


@dataclass(frozen=True, slots=True)
class Mark:
    """One case's value, and whether a penalty stands in for it."""

    value: float
    is_penalty: bool


@dataclass(frozen=True, slots=True)
class Axis:
    """The values from the left to the right end; what lies beyond goes to a lane of its own."""

    low: float
    high: float

    @property
    def ticks(self) -> list[float]:
        """Values at equal distances."""
        return [self.low + (self.high - self.low) * step / (_TICKS - 1) for step in range(_TICKS)]

    def x(self, value: float) -> float:
        """The place of a value in the drawing."""
        if not self.low <= value <= self.high:
            return LANE - _MARGIN
        share = (value - self.low) / (self.high - self.low)
        return _MARGIN + share * (WIDTH - 2 * _MARGIN)


@dataclass(frozen=True, slots=True)
class Strip:
    """One region's drawing: SVG paths, and the box of the quartiles (x of low, q1, median, q3, high)."""

    dots: str
    penalties: str
    box: tuple[float, ...]
    mean: float


def axis_of(metric: str, marks: Sequence[Mark]) -> Axis:
    """0 to 1 for shares; else from 0 to a round number above what was scored without a penalty."""
    if is_share(metric):
        return Axis(0.0, 1.0)
    scored = [mark.value for mark in marks if not mark.is_penalty] or [mark.value for mark in marks] or [1.0]
    return Axis(min(0.0, *scored), _round_up(max(scored)))


def _round_up(value: float) -> float:
    if value <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(value))
    return next(step * size for step in (1, 2, 4, 6, 8, 10, 20) if step * size >= value)


def quartiles(values: Sequence[float]) -> tuple[float, ...]:
    """Least, lower quartile, median, upper quartile, largest."""
    ordered = sorted(values)
    return tuple(stats.quantile(ordered, q) for q in (0.0, 0.25, 0.5, 0.75, 1.0))


def strip(marks: Sequence[Mark], axis: Axis) -> Strip:
    """The drawing of one region's marks; at least one."""
    dots, penalties = [], []
    stacked: dict[tuple[int, bool], int] = {}
    for mark in sorted(marks, key=lambda m: (m.value, m.is_penalty)):
        x = axis.x(mark.value)
        place = (round(x / _STEP), mark.is_penalty)
        count = stacked[place] = stacked.get(place, -1) + 1
        y = _CENTRE + _offset(count)
        if mark.is_penalty:
            penalties.append(f"M{x - 3:.1f} {y + 2.5:.1f}h6l-3-5.5z")
        else:
            dots.append(f"M{x:.1f} {y:.1f}h0")
    values = [mark.value for mark in marks]
    box = tuple(round(axis.x(value), 1) for value in quartiles(values))
    return Strip("".join(dots), "".join(penalties), box, round(axis.x(stats.mean(values)), 1))


def _offset(count: int) -> float:
    """0, up, down, further up, …; after the last place the stack starts over."""
    step = count % (2 * _MOST_STEPS + 1)
    return _STEP * ((step + 1) // 2) * (1 if step % 2 else -1)
