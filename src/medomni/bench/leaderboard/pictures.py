"""Where the marks of a board's pictures go, in units of fixed boxes; the template draws them as inline SVG.

Agents are told apart by numbers that stand beside their marks; colour and dashes only help. Every picture
has a table with the same numbers.

Leaves to others: drawing (the template), the tables (`view`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from medomni.bench.leaderboard import facts, words
from medomni.bench.leaderboard.model import Interval, Ranking

STRIP_WIDTH, STRIP_HEIGHT = 320.0, 24.0
WIDTH, HEIGHT = 640.0, 360.0
LEFT, RIGHT, TOP, BOTTOM = 56.0, 24.0, 14.0, 44.0
COLOURS = 6
_MARGIN = 6.0
_LABEL_STEP = 15.0
_STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis with round ends and ticks; logarithmic where asked for."""

    low: float
    high: float
    ticks: tuple[float, ...]
    is_log: bool = False

    def share(self, value: float) -> float:
        """Where a value lies, from 0 to 1; values beyond an end are held at it."""
        low, high, at = self.low, self.high, value
        if self.is_log:
            low, high, at = math.log10(low), math.log10(high), math.log10(max(value, self.low))
        return min(max((at - low) / (high - low), 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class Strip:
    """One agent's interval: SVG path of the interval, place of the score."""

    label: str
    colour: int
    interval: str
    x: float | None
    words: str


@dataclass(frozen=True, slots=True)
class Point:
    """One agent's mark: its place, its number, and the place of the number."""

    number: int
    colour: int
    x: float
    y: float
    label_y: float


@dataclass(frozen=True, slots=True)
class Line:
    """One agent's line over the rungs: SVG paths of line and intervals, and its mark at the end."""

    path: str
    whiskers: str
    marks: str
    end: Point


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture with two axes: ticks as (place, text), and either points or lines, numbered at `label_x`."""

    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    points: tuple[Point, ...] = ()
    lines: tuple[Line, ...] = ()
    constant_y: float | None = None
    label_x: float = 0.0


def linear_axis(values: Iterable[float], *, low: float | None = None, high: float | None = None) -> Axis:
    """An axis around values, with round ends; `low` and `high` are ends that it has at least."""
    found = [*values, *(end for end in (low, high) if end is not None)]
    least, most = (min(found), max(found)) if found else (0.0, 1.0)
    if most - least <= max(1e-9 * max(abs(least), abs(most)), 1e-12):
        # Too close for ticks between them that differ.
        least, most = least - max(0.5, abs(least) / 2), most + max(0.5, abs(most) / 2)
    step = _step((most - least) / 5)
    first, last = math.floor(least / step + 1e-9), math.ceil(most / step - 1e-9)
    ticks = tuple(number * step for number in range(first, last + 1))
    return Axis(ticks[0], ticks[-1], ticks)


def log_axis(values: Iterable[float]) -> Axis:
    """A logarithmic axis over whole powers of ten around positive values."""
    found = list(values)
    first = math.floor(math.log10(min(found)))
    last = max(math.ceil(math.log10(max(found))), first + 1)
    ticks = tuple(10.0**power for power in range(first, last + 1))
    return Axis(ticks[0], ticks[-1], ticks, is_log=True)


def _step(rough: float) -> float:
    size = 10.0 ** math.floor(math.log10(rough))
    return next(step * size for step in _STEPS if step * size >= rough * (1 - 1e-9))


def axis_of(metric: str, intervals: Iterable[tuple[float | None, Interval | None]]) -> Axis:
    """The axis of a metric: auc from 0 to 1; qwk and skill up to 1; mae from 0."""
    values = [v for value, ci in intervals for v in (value, *(ci or ())) if v is not None]
    if metric == "auc":
        return Axis(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0))
    if metric == "mae":
        return linear_axis(values, low=0.0)
    return linear_axis(values, low=0.0, high=1.0)


def strip(
    label: str, number: int, value: float | None, ci: Interval | None, *, axis: Axis, metric: str
) -> Strip:
    """The drawing of one agent's interval."""
    middle = STRIP_HEIGHT / 2
    path = ""
    if ci is not None:
        start, end = strip_x(axis, ci[0]), strip_x(axis, ci[1])
        path = f"M{start:.1f} {middle - 5:g}v10M{start:.1f} {middle:g}H{end:.1f}M{end:.1f} {middle - 5:g}v10"
    told = words.number(value, metric) if value is not None else "no score"
    if ci is not None:
        told += f", interval {words.interval(ci, metric)}"
    return Strip(
        label, number % COLOURS, path, None if value is None else strip_x(axis, value), f"{label}: {told}"
    )


def strip_x(axis: Axis, value: float) -> float:
    """The place of a value in a strip."""
    return round(_MARGIN + axis.share(value) * (STRIP_WIDTH - 2 * _MARGIN), 1)


def scatter(marks: Sequence[tuple[int, float, float]], *, money: bool) -> Plot:
    """Skill over what it took: `(number of the agent, seconds or dollars, skill)`, at least one."""
    amounts = [amount for _, amount, _ in marks]
    x_axis = log_axis(amounts) if min(amounts) > 0 else linear_axis(amounts, low=0.0)
    y_axis = linear_axis([skill for *_, skill in marks], low=0.0, high=1.0)
    places = [(number, plot_x(x_axis, amount), plot_y(y_axis, skill)) for number, amount, skill in marks]
    return Plot(
        x_ticks=tuple((plot_x(x_axis, t), _amount(t, money=money)) for t in x_axis.ticks),
        y_ticks=_y_ticks(y_axis),
        points=_labelled(places),
        constant_y=plot_y(y_axis, 0.0),
    )


def _amount(value: float, *, money: bool) -> str:
    return f"${value:g}" if money else f"{value:g} s"


def _y_ticks(axis: Axis) -> tuple[tuple[float, str], ...]:
    return tuple((plot_y(axis, t), f"{t:.3g}".replace("-", "\N{MINUS SIGN}")) for t in axis.ticks)


def plot_x(axis: Axis, value: float) -> float:
    """The place of a value along a plot."""
    return round(LEFT + axis.share(value) * (WIDTH - LEFT - RIGHT), 1)


def plot_y(axis: Axis, value: float) -> float:
    """The place of a value up a plot."""
    return round(HEIGHT - BOTTOM - axis.share(value) * (HEIGHT - TOP - BOTTOM), 1)


def _labelled(places: Sequence[tuple[int, float, float]]) -> tuple[Point, ...]:
    """Points whose numbers do not lie on each other: a number moves down until it is free."""
    taken: list[tuple[float, float]] = []
    found = []
    for number, x, y in sorted(places, key=lambda each: (each[1], each[2], each[0])):
        label = y + 4
        while any(abs(x - at) < 2 * _LABEL_STEP and abs(label - there) < _LABEL_STEP for at, there in taken):
            label += _LABEL_STEP
        taken.append((x, label))
        found.append(Point(number, number % COLOURS, x, y, round(label, 1)))
    return tuple(found)


def rung_order(variant: str) -> tuple[tuple[bool, int, str], ...]:
    """What sorts rungs: r2 before r10."""
    parts = re.findall(r"\d+|\D+", variant)
    return tuple((part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts)


def ladder(rungs: Mapping[str, Ranking], numbers: Mapping[str, int]) -> Plot:
    """One target over its rungs: a line for each agent, with the interval at each rung.

    Args:
        rungs: Rung to the ranking there, in the order of the rungs.
        numbers: Key of an agent to its number.
    """
    metric = next(iter(rungs.values())).metric
    cells = [(row.value, row.ci) for ranking in rungs.values() for row in ranking.rows]
    axis = axis_of(metric, cells)
    width = (WIDTH - LEFT - RIGHT) / len(rungs)
    centres = {rung: LEFT + (place + 0.5) * width for place, rung in enumerate(rungs)}
    agents = sorted({row.agent for r in rungs.values() for row in r.rows}, key=lambda key: numbers[key])
    lines = []
    for place, agent in enumerate(agents):
        # Beside each other, so that intervals do not hide one another.
        offset = (place - (len(agents) - 1) / 2) * min(12.0, width / (len(agents) + 1))
        line = _line(rungs, agent, numbers[agent], {r: x + offset for r, x in centres.items()}, axis)
        if line is not None:
            lines.append(line)
    # All numbers stand in one column behind the last mark.
    column = max((line.end.x for line in lines), default=LEFT)
    ends = {p.number: p for p in _labelled([(line.end.number, column, line.end.y) for line in lines])}
    constant = facts.CONSTANT_ANSWER.get(metric)
    return Plot(
        x_ticks=tuple((round(x, 1), rung) for rung, x in centres.items()),
        y_ticks=_y_ticks(axis),
        lines=tuple(Line(each.path, each.whiskers, each.marks, ends[each.end.number]) for each in lines),
        constant_y=None if constant is None else plot_y(axis, constant),
        label_x=round(column + 12, 1),
    )


def _line(
    rungs: Mapping[str, Ranking], agent: str, number: int, at: Mapping[str, float], axis: Axis
) -> Line | None:
    path, whiskers, marks, end = "", "", "", None
    joined = False  # a rung without a score breaks the line
    for rung, ranking in rungs.items():
        row = next((row for row in ranking.rows if row.agent == agent), None)
        if row is None or row.value is None:
            joined = False
            continue
        x, y = at[rung], plot_y(axis, row.value)
        path += f"{'L' if joined else 'M'}{x:.1f} {y:.1f}"
        marks += f"M{x:.1f} {y:.1f}h0"
        if row.ci is not None:
            low, high = plot_y(axis, row.ci[0]), plot_y(axis, row.ci[1])
            whiskers += f"M{x - 3:.1f} {low:.1f}h6M{x:.1f} {low:.1f}V{high:.1f}M{x - 3:.1f} {high:.1f}h6"
        joined = True
        end = Point(number, number % COLOURS, x, y, y)
    return None if end is None else Line(path, whiskers, marks, end)
