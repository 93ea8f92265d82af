"""Label `remaining_los_days`: days left in hospital at admittime + 24 h, at most 30; one row an admission."""

from __future__ import annotations

from fractions import Fraction

from .clinical import adult_at
from .mimic_tables import DAY, Admission, Candidate, MimicTables

RULES = {
    "adult": "age at admission is 18 or more",
    "not_observation_only": "the admission is not a pure observation stay",
    "not_transferred_out": "discharge_location is not ACUTE HOSPITAL (empty passes)",
    "stay_at_least_24h": "dischtime is t0 or later",
    "survived": "hospital_expire_flag is 0",
}
NOT_APPLIED: tuple[str, ...] = ()

OBSERVATION = ("EU OBSERVATION", "AMBULATORY OBSERVATION", "DIRECT OBSERVATION")
MOST_DAYS = Fraction(30)


def candidate(tables: MimicTables, admission: Admission) -> Candidate:
    t0 = admission.admittime + DAY
    left = admission.dischtime - t0
    seconds = left.days * 86_400 + left.seconds
    return Candidate(
        admission.subject_id,
        admission.hadm_id,
        t0,
        min(Fraction(seconds, 86_400), MOST_DAYS),
        {
            "adult": adult_at(tables, admission.subject_id, admission.admittime),
            "not_observation_only": admission.admission_type not in OBSERVATION,
            "not_transferred_out": admission.discharge_location != "ACUTE HOSPITAL",
            "stay_at_least_24h": admission.dischtime >= t0,
            "survived": admission.hospital_expire_flag == 0,
        },
    )


def candidates(tables: MimicTables) -> list[Candidate]:
    return [candidate(tables, admission) for admission in tables.admissions.values()]
