"""Label `aki_stage_48h`: worst KDIGO creatinine stage after the first ICU day. One candidate per ICU stay.

Source: KDIGO 2012 acute kidney injury guideline, creatinine criteria; urine output is left out.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from .clinical import adult_at, coded_before, codes, creatinines, egfr, lowest, within
from .mimic_tables import DAY, Candidate, Measured, MimicTables, Series, Stay

RULES = {
    "adult": "age at admission is 18 or more",
    "creatinine_after": "a creatinine lies in (t0, t0 + 48 h]",
    "creatinine_before": "a creatinine lies in [t0 - 365 d, t0], so that there is a baseline",
    "egfr_at_least_15": "CKD-EPI 2021 of the baseline at the age at t0 is 15 or more",
    "first_icu_stay": "the stay has the smallest intime of its admission",
    "in_icu_at_t0": "outtime is t0 or later",
    "no_esrd": "no code N18.6 or 585.6 known before t0",
    "no_injury_before": "stage 0 for every creatinine in [t0 - 7 d, t0], and no dialysis started there",
}
NOT_APPLIED: tuple[str, ...] = ()

ESRD = codes(icd10=("N186",), icd9=("5856",))
WINDOW = 2 * DAY
RISE = Decimal("0.3")


def stage_of(series: Series, row: Measured, baseline: Decimal) -> int:
    """KDIGO stage of one creatinine; a rise is counted from the lowest of the 48 h before it."""
    before = lowest(series.before(row.time - WINDOW, row.time))
    rise = before is not None and row.value - before >= RISE
    if row.value >= 3 * baseline:
        return 3
    if row.value >= 4 and (rise or row.value >= Decimal("1.5") * baseline):
        return 3
    if row.value >= 2 * baseline:
        return 2
    return int(rise or row.value >= Decimal("1.5") * baseline)


def baseline_at(series: Series, t0: datetime) -> Decimal | None:
    week = lowest(series.closed(t0 - 7 * DAY, t0))
    return week if week is not None else lowest(series.closed(t0 - 365 * DAY, t0))


def candidate(tables: MimicTables, stay: Stay) -> Candidate:
    subject_id, t0 = stay.subject_id, stay.intime + DAY
    series, patient = creatinines(tables, subject_id), tables.patients[subject_id]
    baseline = baseline_at(series, t0)
    after = series.after(t0, t0 + WINDOW)
    starts = [row.start for row in tables.dialysis(subject_id)]
    value, injured, enough = None, any(t0 - 7 * DAY <= start <= t0 for start in starts), False
    if baseline is not None:
        injured |= any(stage_of(series, row, baseline) >= 1 for row in series.closed(t0 - 7 * DAY, t0))
        enough = egfr(baseline, patient.age_at(t0), patient.gender) >= 15
        if after:
            treated = any(within(t0, start, WINDOW) for start in starts)
            value = 3 if treated else max(stage_of(series, row, baseline) for row in after)
    rules = {
        "adult": adult_at(tables, subject_id, tables.admissions[stay.hadm_id].admittime),
        "creatinine_after": bool(after),
        "creatinine_before": baseline is not None,
        "egfr_at_least_15": enough,
        "first_icu_stay": stay.stay_id in tables.first_stays,
        "in_icu_at_t0": stay.outtime >= t0,
        "no_esrd": not coded_before(tables, subject_id, t0, ESRD),
        "no_injury_before": not injured,
    }
    return Candidate(subject_id, stay.stay_id, t0, value, rules)


def candidates(tables: MimicTables) -> list[Candidate]:
    return [candidate(tables, stay) for stay in tables.stays]
