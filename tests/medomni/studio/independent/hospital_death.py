"""Label `hospital_death`: death before leaving hospital. One candidate per ICU stay, at intime + 24 h."""

from __future__ import annotations

from .clinical import adult_at
from .mimic_tables import DAY, Candidate, MimicTables, Stay

RULES = {
    "adult": "age at admission is 18 or more",
    "alive_at_t0": "deathtime is empty or after t0",
    "comfort_measures": "no chartevents 223758 'Comfort measures only' before t0",
    "first_icu_stay": "the stay has the smallest intime of its admission",
    "in_icu_at_t0": "outtime is t0 or later",
    "stay_at_least_24h": "dischtime - admittime is 24 h or more",
}
NOT_APPLIED = ("comfort_measures",)


def candidate(tables: MimicTables, stay: Stay) -> Candidate:
    admission = tables.admissions[stay.hadm_id]
    t0 = stay.intime + DAY
    return Candidate(
        stay.subject_id,
        stay.stay_id,
        t0,
        admission.hospital_expire_flag,
        {
            "adult": adult_at(tables, stay.subject_id, admission.admittime),
            "alive_at_t0": admission.deathtime is None or admission.deathtime > t0,
            "comfort_measures": True,
            "first_icu_stay": stay.stay_id in tables.first_stays,
            "in_icu_at_t0": stay.outtime >= t0,
            "stay_at_least_24h": admission.dischtime - admission.admittime >= DAY,
        },
    )


def candidates(tables: MimicTables) -> list[Candidate]:
    return [candidate(tables, stay) for stay in tables.stays]
