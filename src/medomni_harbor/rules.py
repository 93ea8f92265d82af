"""The agent `rule`: how ill somebody looks from what stands in the record, as a share from 0 to 1.

It is a baseline that anybody can check by hand, and no medicine: the mean of four parts. Age (40 to 90
years), how many of the laboratory rows of the last 30 days are flagged abnormal, how far the last value of
a few measurements lies outside a usual range, and how much is recorded of the last two days.

Source: usual ranges of adults as laboratories print them. Leaves to others: reading files (`agents`).
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping

Row = Mapping[str, str]
TABLES = ("hosp.patients", "hosp.labevents", "icu.chartevents")
_AGE_LOW, _AGE_HIGH = 40.0, 90.0
_MONTH_H, _TWO_DAYS_H = 30 * 24.0, 48.0
_MANY_ROWS = 200.0
# Label in the record -> usual range, and the distance outside it that counts in full.
_RANGES: dict[str, tuple[float, float, float]] = {
    "Urea Nitrogen": (6.0, 20.0, 60.0),
    "Hemoglobin": (12.0, 17.5, 5.0),
    "Platelet Count": (150.0, 450.0, 150.0),
    "Bilirubin, Total": (0.0, 1.2, 8.0),
    "Lactate": (0.5, 2.0, 6.0),
    "Sodium": (135.0, 145.0, 15.0),
    "Potassium": (3.5, 5.0, 2.0),
    "White Blood Cells": (4.0, 11.0, 15.0),
    "Albumin": (3.5, 5.2, 1.5),
    "Heart Rate": (60.0, 100.0, 50.0),
    "Respiratory Rate": (10.0, 20.0, 15.0),
    "Arterial Blood Pressure mean": (65.0, 105.0, 30.0),
    "Non Invasive Blood Pressure mean": (65.0, 105.0, 30.0),
    "O2 saturation pulseoxymetry": (93.0, 100.0, 10.0),
}
_SAYS_NOTHING = 0.5


def severity(tables: Mapping[str, str]) -> float:
    """How ill somebody looks.

    Args:
        tables: Text of the record's CSV files by table; one that is not there is empty.
    """
    rows = {name: _rows(tables.get(name, "")) for name in TABLES}
    measured = [*rows["hosp.labevents"], *rows["icu.chartevents"]]
    parts = [
        _age(rows["hosp.patients"]),
        _flagged(rows["hosp.labevents"]),
        _outside(measured),
        _recorded(measured),
    ]
    known = [part for part in parts if part is not None]
    return sum(known) / len(known) if known else _SAYS_NOTHING


def _rows(text: str) -> list[Row]:
    """The rows of a CSV file, up to one that is none."""
    found: list[Row] = []
    try:
        found.extend(csv.DictReader(io.StringIO(text, newline="")))
    except csv.Error:
        return found
    return found


def _age(patients: Iterable[Row]) -> float | None:
    for row in patients:
        for name in ("age", "anchor_age"):
            age = _number(row.get(name))
            if age is not None:
                return _within((age - _AGE_LOW) / (_AGE_HIGH - _AGE_LOW))
    return None


def _flagged(labs: Iterable[Row]) -> float | None:
    recent = [row for row in labs if (_hour(row) or -math.inf) >= -_MONTH_H]
    if not recent:
        return None
    return sum(row.get("flag") == "abnormal" for row in recent) / len(recent)


def _outside(measured: Iterable[Row]) -> float | None:
    last: dict[str, tuple[float, float]] = {}
    for row in measured:
        label, value, hour = row.get("label") or "", _number(row.get("valuenum")), _hour(row)
        if (
            label in _RANGES
            and value is not None
            and hour is not None
            and hour >= last.get(label, (-math.inf, 0))[0]
        ):
            last[label] = (hour, value)
    distances = []
    for label, (_, value) in last.items():
        low, high, full = _RANGES[label]
        distances.append(_within(max(low - value, value - high, 0.0) / full))
    return sum(distances) / len(distances) if distances else None


def _recorded(measured: Iterable[Row]) -> float | None:
    rows = list(measured)
    if not rows:
        return None
    count = sum((_hour(row) or -math.inf) >= -_TWO_DAYS_H for row in rows)
    return _within(count / _MANY_ROWS)


def _hour(row: Row) -> float | None:
    return _number(row.get("charttime_h"))


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _within(share: float) -> float:
    return min(1.0, max(0.0, share))
