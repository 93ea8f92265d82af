"""Made-up rows of who was where, and what was coded: admissions, transfers, codes, billing, clinic, notes.

Leaves to others: measurements (`mimic_labs`, `mimic_icu`), drugs and orders (`mimic_drugs`).
"""

from __future__ import annotations

from datetime import datetime, time, timedelta

from medomni.studio.dummy.draws import Draws
from medomni.studio.dummy.mimic_plan import DAY, HOUR, Admission, Patient
from medomni.studio.dummy.tables import Tables

_MINUTE = timedelta(minutes=1)
_EMERGENCY = ("EW EMER.", "EU OBSERVATION")
_KIDNEY_CODES = {1: "N1831", 2: "N1832", 3: "N184", 4: "N185"}
_LIVER_CODES = ("K7030", "K7460", "K766", "K743")
_COMMON_CODES = ("I10", "E785", "Z87891", "F329", "K219", "J449", "E119", "I2510")
_RACES = ("WHITE", "BLACK/AFRICAN AMERICAN", "ASIAN - CHINESE", "HISPANIC/LATINO - PUERTO RICAN", "UNKNOWN")


def add_person(tables: Tables, patient: Patient) -> None:
    """Who the patient is."""
    tables.add(
        "hosp/patients",
        subject_id=patient.subject_id,
        gender="F" if patient.female else "M",
        anchor_age=patient.age,
        anchor_year=patient.anchor_year,
        anchor_year_group=patient.draws.about("group").choice(("2011 - 2013", "2014 - 2016", "2017 - 2019")),
        dod=patient.death,
    )


def add_admission(tables: Tables, patient: Patient, admission: Admission) -> None:
    """One admission with its transfers, services, codes and billing."""
    draws = patient.draws.about("admission", admission.role)
    by_emergency = admission.kind in _EMERGENCY
    registered = admission.start - draws.integer(90, 400) * _MINUTE if by_emergency else None
    left = admission.start + draws.integer(20, 110) * _MINUTE if by_emergency else None
    tables.add(
        "hosp/admissions",
        subject_id=patient.subject_id,
        hadm_id=admission.hadm_id,
        admittime=admission.start,
        dischtime=admission.end,
        deathtime=admission.end if admission.died else None,
        admission_type=admission.kind,
        admission_location="EMERGENCY ROOM" if by_emergency else "PHYSICIAN REFERRAL",
        discharge_location=admission.leaves_to,
        insurance=draws.choice(("Medicare", "Medicaid", "Private")),
        language="English",
        marital_status=draws.choice(("MARRIED", "SINGLE", "WIDOWED")),
        race=patient.draws.about("race").choice(_RACES),
        edregtime=registered,
        edouttime=left,
        hospital_expire_flag=int(admission.died),
    )
    _transfers(tables, patient, admission, registered)
    service = "CMED" if "Cardiology" in admission.ward else "MED"
    tables.add(
        "hosp/services",
        subject_id=patient.subject_id,
        hadm_id=admission.hadm_id,
        transfertime=admission.start + 2 * _MINUTE,
        curr_service=service,
    )
    _codes(tables, patient, admission, draws)
    _billing(tables, patient, admission, draws)


def _transfers(tables: Tables, patient: Patient, admission: Admission, registered: datetime | None) -> None:
    """Emergency department, ward, unit, ward, discharge: each ends where the next begins."""
    unit = admission.unit
    steps: list[tuple[str, str, datetime]] = []
    if registered is not None:
        steps.append(("ED", "Emergency Department", registered))
    steps.append(("admit", admission.ward, admission.start))
    if unit is not None:
        if patient.oddity == "planned unit" and admission.role == "ward":
            steps.append(("transfer", "PACU", unit.start - 3 * HOUR))
        steps.append(("transfer", unit.name, unit.start))
        if unit.end < admission.end:
            steps.append(("transfer", admission.ward, unit.end))
    steps.append(("discharge", "", admission.end))
    for place, (kind, unit_name, start) in enumerate(steps):
        tables.add(
            "hosp/transfers",
            subject_id=patient.subject_id,
            hadm_id=admission.hadm_id,
            transfer_id=40_000_000 + len(tables.rows["hosp/transfers"]),
            eventtype=kind,
            careunit=unit_name or None,
            intime=start,
            outtime=steps[place + 1][2] if place + 1 < len(steps) else None,
        )


def _codes(tables: Tables, patient: Patient, admission: Admission, draws: Draws) -> None:
    codes = draws.shuffled(_COMMON_CODES)[:3]
    if patient.kidney and draws.chance(80):
        codes.append("N186" if patient.oddity == "dialysed" else _KIDNEY_CODES[patient.kidney])
    if patient.oddity == "dialysed":
        codes.append("Z992")
    if patient.liver:
        codes.append(draws.choice(_LIVER_CODES))
    if patient.oddity == "palliative" and admission.role == "first":
        codes.append("Z515")
    for number, code in enumerate(codes, start=1):
        tables.add(
            "hosp/diagnoses_icd",
            subject_id=patient.subject_id,
            hadm_id=admission.hadm_id,
            seq_num=number,
            icd_code=code,
            icd_version=10,
        )
    if admission.unit is not None:
        tables.add(
            "hosp/procedures_icd",
            subject_id=patient.subject_id,
            hadm_id=admission.hadm_id,
            seq_num=1,
            chartdate=admission.unit.start.date(),
            icd_code="02HV33Z",
            icd_version=10,
        )


def _billing(tables: Tables, patient: Patient, admission: Admission, draws: Draws) -> None:
    # Billing is never evidence: the canary in it must not be seen by any template.
    tables.add(
        "hosp/drgcodes",
        subject_id=patient.subject_id,
        hadm_id=admission.hadm_id,
        drg_type="APR",
        drg_code=f"{draws.integer(100, 799):03d}",
        description="CANARY_GUARD",
        drg_severity=draws.integer(1, 4),
        drg_mortality=draws.integer(1, 4),
    )
    tables.add(
        "hosp/hcpcsevents",
        subject_id=patient.subject_id,
        hadm_id=admission.hadm_id,
        chartdate=admission.start.date(),
        hcpcs_cd="G0378",
        seq_num=1,
        short_description="CANARY_GUARD",
    )


def add_clinic(tables: Tables, patient: Patient) -> None:
    """Weight, height and blood pressure at visits between the admissions."""
    draws = patient.draws.about("clinic")
    first = patient.admission("first").start
    weight, height = draws.integer(110, 240), draws.integer(58, 75)
    for days in (-140, 180, 420):
        day = (first + days * DAY).date()
        pressure = f"{draws.integer(100, 160)}/{draws.integer(55, 95)}"
        rows = [("Weight (Lbs)", str(weight)), ("Height (Inches)", str(height)), ("Blood Pressure", pressure)]
        if days == 180:
            rows.append(("eGFR", f"{draws.integer(10, 90)} CANARY_KIDNEY"))
        for name, value in rows:
            tables.add(
                "hosp/omr",
                subject_id=patient.subject_id,
                chartdate=day,
                seq_num=1,
                result_name=name,
                result_value=value,
            )


def add_notes(tables: Tables, patient: Patient, admission: Admission) -> None:
    """A discharge summary and a radiology report."""
    number = len(tables.rows["note/discharge"]) + 1
    last = admission is patient.last
    summary = [
        "Name: ___",
        "",
        f'Discharge summary. The patient said: "better", and left to {admission.leaves_to or "home"}.',
        "CANARY_STORE: written after the discharge." if last else "Follow up with the clinic.",
    ]
    tables.add(
        "note/discharge",
        note_id=f"{patient.subject_id}-DS-{number}",
        subject_id=patient.subject_id,
        hadm_id=admission.hadm_id,
        note_type="DS",
        note_seq=number,
        charttime=datetime.combine(admission.end.date(), time()),
        storetime=admission.end + 26 * HOUR,
        text="\n".join(summary) + "\n",
    )
    taken = admission.start + 5 * HOUR
    liver = "Known cirrhosis, MELD discussed. CANARY_MELD" if patient.liver else "Liver unremarkable."
    number = len(tables.rows["note/radiology"]) + 1
    tables.add(
        "note/radiology",
        note_id=f"{patient.subject_id}-RR-{number}",
        subject_id=patient.subject_id,
        hadm_id=admission.hadm_id,
        note_type="RR",
        note_seq=number,
        charttime=taken,
        storetime=taken + 3 * HOUR,
        text=f"EXAMINATION: CHEST AND UPPER ABDOMEN\n\nFINDINGS: Lungs clear. {liver}\n",
    )
