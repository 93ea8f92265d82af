"""Label `ckd_g_stage`: the class of a stable creatinine's eGFR. One candidate per creatinine row (50912)."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from .clinical import ADULT_AGE, coded_before, codes, creatinines, egfr
from .mimic_tables import DAY, Candidate, Measured, MimicTables, Patient, Series

RULES = {
    "adult": "age at t0 is 18 or more",
    "earlier_value": "a creatinine lies in [t0 - 730 d, t0 - 90 d]",
    "history_dialysis": "no dialysis code known before t0, no dialysis procedure started before t0",
    "history_kidney_transplant": "no kidney transplant code known before t0",
    "icu_now": "t0 lies in no ICU stay [intime, outtime]",
    "no_acute_injury": "value < 1.5 x the lowest creatinine in [t0 - 7 d, t0], itself included",
    "same_class": "the latest creatinine of the earlier window gives the same class, at its own age",
}
NOT_APPLIED: tuple[str, ...] = ()

DIALYSIS = codes(icd10=("Z992",), icd9=("V451", "V56"))
TRANSPLANT = codes(icd10=("Z940", "T861"), icd9=("V420",))
EDGES = (60, 45, 30, 15)


def stage(patient: Patient, row: Measured) -> int:
    """0 for 60 or more, 1 from 45, 2 from 30, 3 from 15, 4 below."""
    rate = egfr(row.value, patient.age_at(row.time), patient.gender)
    return sum(rate < edge for edge in EDGES)


def candidate(tables: MimicTables, patient: Patient, series: Series, row: Measured) -> Candidate:
    subject_id, t0 = patient.subject_id, row.time
    earlier = series.closed(t0 - 730 * DAY, t0 - 90 * DAY)
    weekly_low = min(other.value for other in series.closed(t0 - 7 * DAY, t0))
    value = stage(patient, row)
    return Candidate(
        subject_id,
        row.row,
        t0,
        value,
        {
            "adult": patient.age_at(t0) >= ADULT_AGE,
            "earlier_value": bool(earlier),
            "history_dialysis": not dialysed_before(tables, subject_id, t0),
            "history_kidney_transplant": not coded_before(tables, subject_id, t0, TRANSPLANT),
            "icu_now": not any(
                stay.intime <= t0 <= stay.outtime for stay in tables.stays_of.get(subject_id, [])
            ),
            "no_acute_injury": row.value < Decimal("1.5") * weekly_low,
            "same_class": bool(earlier) and stage(patient, earlier[-1]) == value,
        },
    )


def dialysed_before(tables: MimicTables, subject_id: int, t0: datetime) -> bool:
    return any(row.start < t0 for row in tables.dialysis(subject_id)) or coded_before(
        tables, subject_id, t0, DIALYSIS
    )


def candidates(tables: MimicTables) -> list[Candidate]:
    found = []
    for subject_id, patient in tables.patients.items():
        series = creatinines(tables, subject_id)
        found += [candidate(tables, patient, series, row) for row in series.rows]
    return found
