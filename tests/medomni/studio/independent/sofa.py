"""Hourly 24-hour SOFA of an ICU stay, as far as the demo's fields allow (no vasopressors: no inputevents).

Source: Vincent et al., Intensive Care Med 1996;22:707, in the hourly form that mimic-code gives it. Of the
blood gases only the bedside arterial PaO2 (220224) counts: the specimen text of the laboratory's is missing.
What the label's definition leaves open is taken from mimic-code: urine output counts for the kidney,
pressures of one moment are averaged, a missing part of the coma scale is carried for 6 h, and the hours end
with the last heart rate. None of these four changes a value or a rule of the demo.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from .mimic_tables import CREATININE, HOUR, Measured, MimicTables, Stay

HEART_RATE = 220045
MEAN_PRESSURE = (220052, 220181, 225312)
PAO2, FIO2_CHART, FIO2_LAB = 220224, 223835, 50816
EYES, VERBAL, MOTOR = 220739, 223900, 223901
PLATELETS, BILIRUBIN = 51265, 50885
VENTILATED = 225792
URINE = (226559, 226560, 226561, 226584, 226563, 226564, 226565, 226567, 226557, 226558, 227489)
IRRIGANT_IN = 227488


@dataclass(frozen=True, slots=True)
class Hours:
    """Hour n ends at `zero + n` hours; `last` is the last hour that is scored."""

    zero: datetime
    last: int

    def number(self, moment: datetime) -> int:
        """The hour (end - 1 h, end] that holds the moment."""
        return -((self.zero - moment) // HOUR)

    def end(self, hour: int) -> datetime:
        return self.zero + hour * HOUR


def hour_up(moment: datetime) -> datetime:
    whole = moment.replace(minute=0, second=0, microsecond=0)
    return whole if whole == moment else whole + HOUR


def hours_of(tables: MimicTables, stay: Stay) -> Hours | None:
    """Hours of the stay, from its first charted heart rate to the hour that holds the last one."""
    beats = tables.chart(stay.stay_id, HEART_RATE).times
    if not beats:
        return None
    zero = hour_up(beats[0])
    return Hours(zero, (hour_up(beats[-1]) - zero) // HOUR)


def points_below(value: Decimal, edges: tuple[int, ...]) -> int:
    """How many of the edges the value lies below."""
    return sum(value < edge for edge in edges)


def points_from(value: Decimal, edges: tuple[str, ...]) -> int:
    """How many of the edges the value reaches."""
    return sum(value >= Decimal(edge) for edge in edges)


Scores = list[tuple[datetime, int]]


def respiration(tables: MimicTables, stay: Stay) -> Scores:
    """PaO2/FiO2; 3 and 4 points are for ventilated patients alone."""
    laboratory = {row.time: usable_lab(row.value) for row in tables.labs(stay.subject_id, FIO2_LAB).rows}
    charted = [(row.time, usable_chart(row.value)) for row in tables.chart(stay.stay_id, FIO2_CHART).rows]
    ventilated = [row for row in tables.procedures_of.get(stay.subject_id, []) if row.itemid == VENTILATED]
    found: Scores = []
    for row in tables.chart(stay.stay_id, PAO2).rows:
        oxygen = laboratory.get(row.time)
        if oxygen is None:
            near = {t: v for t, v in charted if v is not None and row.time - 4 * HOUR <= t <= row.time}
            oxygen = near[max(near)] if near else None
        if oxygen is None:
            continue
        ratio = 100 * row.value / oxygen
        points = points_below(ratio, (400, 300, 200, 100))
        if not any(span.start <= row.time <= span.end for span in ventilated):
            points = min(points, 2)
        found.append((row.time, points))
    return found


def usable_lab(value: Decimal) -> Decimal | None:
    """FiO2 in percent; fractions are scaled, values that cannot be a FiO2 are dropped."""
    if Decimal("0.2") < value <= 1:
        return 100 * value
    return value if 20 < value <= 100 else None


def usable_chart(value: Decimal) -> Decimal | None:
    return Decimal(20) if value == 20 else usable_lab(value)


def circulation(tables: MimicTables, stay: Stay) -> Scores:
    """One point for a mean pressure below 70 mmHg; several at one moment are averaged."""
    pressures: dict[datetime, list[Decimal]] = defaultdict(list)
    for item in MEAN_PRESSURE:
        for row in tables.chart(stay.stay_id, item).rows:
            if 0 < row.value < 300:
                pressures[row.time].append(row.value)
    return [(time, int(sum(values) < 70 * len(values))) for time, values in pressures.items()]


def nerves(tables: MimicTables, stay: Stay) -> Scores:
    """Glasgow coma scale; a part not charted is taken from the row before (within 6 h), else it is normal."""
    parts: dict[datetime, dict[int, Decimal]] = defaultdict(dict)
    for item in (EYES, VERBAL, MOTOR):
        for row in tables.chart(stay.stay_id, item).rows:
            parts[row.time][item] = max(row.value, parts[row.time].get(item, row.value))
    found: Scores = []
    previous: tuple[datetime, Mapping[int, Decimal]] | None = None
    for time in sorted(parts):
        carried = previous[1] if previous and previous[0] > time - 6 * HOUR else {}
        total = sum(
            parts[time].get(item, carried.get(item, normal))
            for item, normal in ((EYES, Decimal(4)), (VERBAL, Decimal(5)), (MOTOR, Decimal(6)))
        )
        found.append((time, points_below(Decimal(total), (15, 13, 10, 6))))
        previous = (time, parts[time])
    return found


def urine(tables: MimicTables, stay: Stay) -> Scores:
    """Urine of a day (mL): sums over 23 h back, where the rows span 22 to 30 h, scaled to 24 h."""
    volumes: dict[datetime, Decimal] = defaultdict(Decimal)
    for item in URINE:
        for row in tables.outputs(stay.stay_id, item).rows:
            volumes[row.time] += row.value
    for row in tables.outputs(stay.stay_id, IRRIGANT_IN).rows:
        volumes[row.time] -= abs(row.value)
    beats = tables.chart(stay.stay_id, HEART_RATE).times
    times = sorted(volumes)
    since = dict(zip(times, (b - a for a, b in zip([beats[0], *times], times, strict=False)), strict=True))
    found: Scores = []
    for time in times:
        window = [other for other in times if time - 23 * HOUR <= other <= time]
        span = sum((since[other] for other in window), timedelta(0))
        if 22 * HOUR <= span <= 30 * HOUR:
            amount = sum(volumes[other] for other in window) * 86_400 / Decimal(int(span.total_seconds()))
            found.append((time, 4 if amount < 200 else 3 if amount < 500 else 0))
    return found


def laboratory_scores(tables: MimicTables, stay: Stay) -> tuple[Scores, Scores, Scores]:
    """Coagulation, liver and kidney, by subject and time."""

    def rows(item: int) -> tuple[Measured, ...]:
        return tables.labs(stay.subject_id, item).rows

    return (
        [(row.time, points_below(row.value, (150, 100, 50, 20))) for row in rows(PLATELETS)],
        [(row.time, points_from(row.value, ("1.2", "2.0", "6.0", "12.0"))) for row in rows(BILIRUBIN)],
        [(row.time, points_from(row.value, ("1.2", "2.0", "3.5", "5.0"))) for row in rows(CREATININE)],
    )


def day_scores(tables: MimicTables, stay: Stay) -> list[tuple[datetime, int]]:
    """(hour's end, SOFA over that hour and the 23 before) for every hour from 0 on, in order."""
    hours = hours_of(tables, stay)
    if hours is None:
        return []
    coagulation, liver, kidney = laboratory_scores(tables, stay)
    organs = (
        respiration(tables, stay),
        coagulation,
        liver,
        circulation(tables, stay),
        nerves(tables, stay),
        kidney + urine(tables, stay),
    )
    totals: dict[int, int] = dict.fromkeys(range(hours.last + 1), 0)
    for organ in organs:
        worst: dict[int, int] = {}
        for time, points in organ:
            hour = hours.number(time)
            if hour >= -24:
                for reached in range(max(hour, 0), min(hour + 24, hours.last + 1)):
                    worst[reached] = max(worst.get(reached, 0), points)
        for reached, points in worst.items():
            totals[reached] += points
    return [(hours.end(hour), totals[hour]) for hour in sorted(totals)]
