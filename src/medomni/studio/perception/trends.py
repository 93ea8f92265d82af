"""The encoder `trends`: what each item of a table of measurements did over time.

It reads the tables of the record that hold one measurement a row: laboratory values, charted vital signs,
outputs, outpatient measurements. All figures come from the file's own cells; sums are exactly rounded, so
that digits depend on nothing but the file.

Leaves to others: which rows the file has (evidence and guards).
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medomni.studio.perception.errors import PerceptionError

HOURS_PER_DAY = 24.0
# The first of each that a table has; times in hours or in days from the prediction time.
TIMES = (("charttime_h", 1.0), ("starttime_h", 1.0), ("chartdate_d", HOURS_PER_DAY))
VALUES = ("valuenum", "result_value", "value")
ITEMS = ("itemid", "result_name")
NAMES = ("label", "item", "result_name")
# What an item was measured in: the same name may be one of blood and one of urine.
FLUIDS = ("fluid",)
UNITS = ("valueuom",)
# Outpatient blood pressure is written as two numbers in one cell, upper and lower: 132/59.
_PRESSURE = re.compile(r"(\d{2,3})/(\d{2,3})")
_PARTS = ("systolic", "diastolic")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?")
_LONGEST_CELL = 1024 * 1024


@dataclass(slots=True)
class _Item:
    """The measurements of one item in one unit."""

    item: str
    name: str
    unit: str
    rows: int = 0
    points: list[tuple[float, float]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Columns:
    time: int
    hours: float
    value: int
    item: int
    name: int | None
    fluid: int | None
    unit: int | None


class Trends:
    """Count, first, last, least, greatest, slope and age of every item of a table of measurements."""

    name = "trends"
    version = 1
    description = (
        "Reads a table of measurements (laboratory values, vital signs, outputs, outpatient measurements) and"
        " gives for each item and unit: how many, first, last, min, max, slope per day, hours since the last."
    )

    def encode(self, file: Path) -> Mapping[str, Any]:
        """The trends of every item of a CSV table.

        Args:
            file: A table of `data/record/`, times as hours (`_h`) or days (`_d`) from the prediction time.

        Raises:
            PerceptionError: `encoder-file`: no CSV in UTF-8, or no table of measurements.
        """
        items = [_trend(item) for item in _items(file)]
        items.sort(key=lambda each: (each["name"], each["item"], each["unit"]))
        return {"numbers": {"items": items}, "words": [_words(each) for each in items]}


def _items(file: Path) -> list[_Item]:
    found: dict[tuple[str, str], _Item] = {}
    for row, columns in _rows(file):
        item, unit = row[columns.item], _cell(row, columns.unit)
        name, fluid = _cell(row, columns.name) or item, _cell(row, columns.fluid)
        name = f"{name} ({fluid})" if fluid else name
        time = _number(row[columns.time])
        for part, text in _parts(item, row[columns.value]):
            known = found.setdefault((item + part, unit), _Item(item + part, name + part, unit))
            known.rows += 1
            value = _number(text)
            if time is not None and value is not None:
                known.points.append((time * columns.hours, value))
    return list(found.values())


def _parts(item: str, text: str) -> list[tuple[str, str]]:
    """What follows the item's name, and the text of a number: once, or twice for a blood pressure."""
    pressure = _PRESSURE.fullmatch(text.strip()) if item.startswith("Blood Pressure") else None
    if pressure is None:
        return [("", text)]
    return [(f", {part}", number) for part, number in zip(_PARTS, pressure.groups(), strict=True)]


def _cell(row: Sequence[str], place: int | None) -> str:
    return "" if place is None else row[place]


def _rows(file: Path) -> Iterator[tuple[list[str], _Columns]]:
    """Every row of the table with the places of its columns."""
    csv.field_size_limit(_LONGEST_CELL)
    try:
        with file.open(encoding="utf-8", newline="") as stream:
            reader = csv.reader(stream, strict=True)
            header = next(reader, [])
            columns = _columns(header, file.name)
            for row in reader:
                if len(row) != len(header):
                    raise _not_a_table(file.name, f"line {reader.line_num} has {len(row)} cells")
                yield row, columns
    except (UnicodeDecodeError, csv.Error) as failure:
        raise _not_a_table(file.name, f"it is no CSV in UTF-8: {failure}") from failure


def _columns(header: Sequence[str], name: str) -> _Columns:
    places = {column: at for at, column in enumerate(header)}
    time = next(((places[column], hours) for column, hours in TIMES if column in places), None)
    value, item = _first(places, VALUES), _first(places, ITEMS)
    if time is None or value is None or item is None:
        wanted = [
            " or ".join(column for column, _ in TIMES) if time is None else "",
            " or ".join(VALUES) if value is None else "",
            " or ".join(ITEMS) if item is None else "",
        ]
        raise _not_a_table(name, f"it has no column {'; no column '.join(filter(None, wanted))}")
    return _Columns(*time, value, item, _first(places, NAMES), _first(places, FLUIDS), _first(places, UNITS))


def _first(places: Mapping[str, int], names: Sequence[str]) -> int | None:
    return next((places[name] for name in names if name in places), None)


def _not_a_table(name: str, why: str) -> PerceptionError:
    return PerceptionError(
        f"{name} is no table of measurements: {why}",
        where=name,
        hint="trends reads tables such as record/hosp.labevents.csv",
        code="encoder-file",
    )


def _number(text: str) -> float | None:
    """The number that a cell holds as a whole; None for anything else."""
    if not _NUMBER.fullmatch(text.strip()):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def _trend(item: _Item) -> dict[str, Any]:
    # Of equal times, the file's order decides: it is the record's.
    points = sorted(item.points, key=lambda each: each[0])
    values = [value for _, value in points]
    slope, reason = _slope(points)
    return {
        "item": item.item,
        "name": item.name,
        "unit": item.unit,
        "rows": item.rows,
        "n": len(points),
        "first": values[0] if values else None,
        "last": values[-1] if values else None,
        "min": min(values, default=None),
        "max": max(values, default=None),
        "first_time_h": _rounded(points[0][0]) if points else None,
        "last_time_h": _rounded(points[-1][0]) if points else None,
        "hours_since_last": _rounded(-points[-1][0]) if points else None,
        "slope_per_day": slope,
        "slope_reason": reason,
    }


def _slope(points: Sequence[tuple[float, float]]) -> tuple[float | None, str]:
    """Slope of the least-squares line per day, and why there is none."""
    if len(points) < 2:
        return None, "fewer than two values"
    n = len(points)
    middle = math.fsum(time for time, _ in points) / n
    mean = math.fsum(value for _, value in points) / n
    across = math.fsum((time - middle) ** 2 for time, _ in points)
    if across <= 0:
        return None, "all values at one time"
    along = math.fsum((time - middle) * (value - mean) for time, value in points)
    slope = along / across * HOURS_PER_DAY
    return (_rounded(slope), "") if math.isfinite(slope) else (None, "values too large")


def _rounded(value: float) -> float:
    """Six digits: more would be noise of the last bit; no minus before a zero."""
    return float(f"{value:.6g}") + 0.0


def _words(trend: Mapping[str, Any]) -> str:
    unit = f" {trend['unit']}" if trend["unit"] else ""
    if not trend["n"]:
        return f"{trend['name']}: no numeric value in {trend['rows']} rows."
    text = f"{trend['name']}: last {trend['last']:g}{unit}, {trend['hours_since_last']:g} h before hour 0"
    if trend["n"] == 1:
        return f"{text}; the only value."
    text += (
        f"; {trend['n']} values since {trend['first_time_h']:g} h, from {trend['min']:g} to {trend['max']:g}"
    )
    slope = trend["slope_per_day"]
    if slope is None:
        return f"{text}; no trend ({trend['slope_reason']})."
    direction = "rising" if slope > 0 else "falling" if slope < 0 else "level"
    return f"{text}; {direction}" + (f" by {abs(slope):g} per day." if slope else ".")
