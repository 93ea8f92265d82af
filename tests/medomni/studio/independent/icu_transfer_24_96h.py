"""Label `icu_transfer_24_96h`: move from the ward to intensive care in 72 h. One candidate per admission."""

from __future__ import annotations

from datetime import datetime

from .clinical import adult_at, within
from .mimic_tables import DAY, HOUR, Admission, Candidate, MimicTables, Transfer

RULES = {
    "adult": "age at admission is 18 or more",
    "chart_before": "the admission has no chartevents row at or before t0",
    "comfort_measures": "no chartevents 223758 'Comfort measures only' before t0",
    "icu_before": "the admission has no transfers row in an ICU unit with intime at or before t0",
    "no_obstetrics": "the unit at t0 is not an obstetric one",
    "not_planned": "not (label 1 and a PACU or operating-room row in the 12 h before the ICU)",
    "on_ward_at_t0": "an admit or transfer row with intime <= t0 < outtime is in an inpatient ward",
}
NOT_APPLIED = ("comfort_measures",)

NOT_A_WARD = frozenset(
    {
        "Emergency Department",
        "Emergency Department Observation",
        "PACU",
        "Discharge Lounge",
        "Observation",
        "Psychiatry",
        "Unknown",
    }
)
OBSTETRIC = ("obstetric", "labor", "postpartum", "antepartum")
THEATRE = ("pacu", "operating room")


def at(rows: list[Transfer], t0: datetime) -> list[Transfer]:
    return [
        row
        for row in rows
        if row.eventtype in ("admit", "transfer")
        and row.outtime is not None
        and row.intime <= t0 < row.outtime
    ]


def planned(rows: list[Transfer], icu_time: datetime) -> bool:
    return any(
        icu_time - 12 * HOUR <= row.intime < icu_time
        and any(word in row.careunit.lower() for word in THEATRE)
        for row in rows
    )


def candidate(tables: MimicTables, admission: Admission, icu_units: frozenset[str]) -> Candidate:
    t0 = admission.admittime + DAY
    rows = tables.transfers_of.get(admission.hadm_id, [])
    here = at(rows, t0)
    icu_times = [row.intime for row in rows if row.careunit in icu_units]
    coming = [moment for moment in icu_times if within(t0, moment, 3 * DAY)]
    charted = tables.first_chart_time.get(admission.hadm_id)
    return Candidate(
        admission.subject_id,
        admission.hadm_id,
        t0,
        int(bool(coming)),
        {
            "adult": adult_at(tables, admission.subject_id, admission.admittime),
            "chart_before": charted is None or charted > t0,
            "comfort_measures": True,
            "icu_before": all(moment > t0 for moment in icu_times),
            "no_obstetrics": not any(word in row.careunit.lower() for row in here for word in OBSTETRIC),
            "not_planned": not (coming and planned(rows, min(coming))),
            "on_ward_at_t0": any(row.careunit not in icu_units | NOT_A_WARD for row in here),
        },
    )


def candidates(tables: MimicTables) -> list[Candidate]:
    icu_units = frozenset(stay.first_careunit for stay in tables.stays)
    return [candidate(tables, admission, icu_units) for admission in tables.admissions.values()]
