"""A picture of when the kept rows lie: one lane a table, from years before the prediction time up to it.

Hours are drawn on a scale that gives the last day as much room as the last years, since that is how records
are dense. The same numbers stand in a table below it.

Leaves to others: which rows there are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from medomni.studio.preview.model import Track

_WIDTH, _LEFT, _RIGHT, _LANE, _TOP = 900, 190, 850, 26, 34
_DAY, _YEAR = 24.0, 24 * 365.25
_FARTHEST = 100 * _YEAR
_TICKS = (
    (30 * _YEAR, "30 y"),
    (5 * _YEAR, "5 y"),
    (_YEAR, "1 y"),
    (30 * _DAY, "30 d"),
    (7 * _DAY, "7 d"),
    (_DAY, "1 d"),
    (6.0, "6 h"),
    (1.0, "1 h"),
    (0.0, "hour 0"),
)


def words(hours: float) -> str:
    """A distance from the prediction time in words: `3.5 d before`."""
    size = abs(hours)
    for unit, name in ((_YEAR, "y"), (_DAY, "d"), (1.0, "h")):
        if size >= unit:
            text = f"{size / unit:.1f} {name}"
            break
    else:
        text = f"{size * 60:.0f} min"
    return "at hour 0" if size == 0 else f"{text} {'before' if hours < 0 else 'after'}"


def place(hours: float, farthest: float) -> float:
    """Where a moment stands across the picture; what lies after hour 0 stands right of it."""
    if hours > 0:
        return _RIGHT + 14
    share = math.log1p(min(-hours, farthest)) / math.log1p(farthest)
    return _RIGHT - share * (_RIGHT - _LEFT)


def timeline(tracks: Sequence[Track]) -> str:
    """The picture as SVG, with a title and a description for screen readers; empty without a timed row."""
    timed = [each for each in tracks if each.hours]
    if not timed:
        return ""
    earliest = min(each.hours[0] for each in timed)
    farthest = min(max(-earliest, _DAY), _FARTHEST)
    height = _TOP + _LANE * len(timed) + 10
    told = "; ".join(
        f"{each.table}: {len(each.hours)} rows, {words(each.hours[0])} to {words(each.hours[-1])}"
        for each in timed
    )
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-labelledby="timeline-t timeline-d">',
        '<title id="timeline-t">When the rows that the agent sees lie</title>',
        f'<desc id="timeline-d">{escape(told)}</desc>',
        *_axis(farthest, height),
    ]
    for lane, each in enumerate(timed):
        parts += _lane(each, _TOP + lane * _LANE, farthest)
    return "\n".join([*parts, "</svg>"])


def _axis(farthest: float, height: int) -> list[str]:
    parts = []
    last = -math.inf
    for hours, name in _TICKS:
        if hours > farthest:
            continue
        x = place(-hours, farthest)
        parts.append(
            f'<path class="grid{" zero" if hours == 0 else ""}" d="M{x:.1f} {_TOP - 8}V{height - 6}"/>'
        )
        # Names that would run into each other are left out; the lines stay.
        if x - last >= 42 or hours == 0:
            parts.append(f'<text class="tick" x="{x:.1f}" y="{_TOP - 14}" text-anchor="middle">{name}</text>')
            last = x
    return parts


def _lane(track: Track, y: float, farthest: float) -> list[str]:
    places = sorted({round(place(hours, farthest), 1) for hours in track.hours})
    marks = "".join(f"M{x:g} {y + 5:g}v{_LANE - 10}" for x in places)
    base, name = y + _LANE / 2 + 4, escape(track.table)
    return [
        f'<text class="lane" x="{_LEFT - 12}" y="{base:g}" text-anchor="end">{name}</text>',
        f'<path class="mark" d="{marks}"/>',
    ]
