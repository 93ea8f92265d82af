"""Label `death_365d`: death within a year of discharge. One candidate per admission, at dischtime."""

from __future__ import annotations

from .clinical import adult_at, coded_before, codes
from .mimic_tables import Admission, Candidate, MimicTables

RULES = {
    "adult": "age at admission is 18 or more",
    "age_below_90": "age at t0 is below 90",
    "history_palliative": "no code Z51.5 or V66.7 of an earlier admission known before t0",
    "not_hospice": "discharge_location is not HOSPICE (empty passes)",
    "survived": "hospital_expire_flag is 0",
}
NOT_APPLIED: tuple[str, ...] = ()

PALLIATIVE = codes(icd10=("Z515",), icd9=("V667",))


def candidate(tables: MimicTables, admission: Admission) -> Candidate:
    subject_id, t0 = admission.subject_id, admission.dischtime
    patient = tables.patients[subject_id]
    died = patient.dod is not None and (patient.dod - t0.date()).days <= 365
    return Candidate(
        subject_id,
        admission.hadm_id,
        t0,
        int(died),
        {
            "adult": adult_at(tables, subject_id, admission.admittime),
            "age_below_90": patient.age_at(t0) < 90,
            "history_palliative": not coded_before(tables, subject_id, t0, PALLIATIVE),
            "not_hospice": admission.discharge_location != "HOSPICE",
            "survived": admission.hospital_expire_flag == 0,
        },
    )


def candidates(tables: MimicTables) -> list[Candidate]:
    return [candidate(tables, admission) for admission in tables.admissions.values()]
