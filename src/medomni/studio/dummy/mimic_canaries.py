"""Canaries: made-up rows that must never be seen in built evidence, each with the word that a test looks for.

Leaves to others: looking for them in builds. Some stand where the other rows are made: in billing
(`CANARY_GUARD`), in notes (`CANARY_STORE`, `CANARY_MELD`), in a drug, a problem and a clinic's eGFR
(`CANARY_KIDNEY`), and in the last unit's name (`CANARY_END`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from medomni.studio.dummy.mimic_drugs import add_order
from medomni.studio.dummy.mimic_icu import chart
from medomni.studio.dummy.mimic_labs import CREATININE, RANGE_CANARY, UREA, Specimen, add_result
from medomni.studio.dummy.mimic_plan import DAY, HOUR, Patient
from medomni.studio.dummy.tables import Tables, tenths

_CKD = "mimic-iv_ckd-staging"
_MELD = "mimic-iv_meld-na"
CANARY_CODE = "CANARY1"
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Canary:
    """A text that evidence must not hold.

    Attributes:
        templates: Templates in which it must not be; empty: in none of them.
        why: What would have been overlooked.
    """

    text: str
    templates: tuple[str, ...]
    why: str


CANARIES = (
    Canary("CANARY_GUARD", (), "billing, which is no evidence for anybody"),
    Canary("CANARY_FUTURE", (), "rows after every prediction time"),
    Canary("CANARY_STORE", (), "rows charted before the prediction time and stored after it"),
    Canary(
        "CANARY_END", (), "a value of an interval that is only final at its end, after the prediction time"
    ),
    Canary("CANARY_CODE", (), "the title of a diagnosis of the index admission, coded after it"),
    Canary(CANARY_CODE, (), "a diagnosis of the index admission, coded after it"),
    Canary("CANARY_KIDNEY", (_CKD,), "values, drugs and words that state a kidney's class"),
    Canary("CANARY_MELD", (_MELD, _CKD), "a note that states the score; kidney class sees no notes"),
    Canary("CANARY_COMMENT", (_CKD,), "a creatinine inside the comment of another result"),
    Canary("CANARY_FLUID", (_CKD,), "a serum creatinine filed under urine"),
    Canary(RANGE_CANARY, (_CKD,), "the reference range of a guarded result"),
)


def add_canaries(tables: Tables, patient: Patient) -> None:
    """Plant the canaries of one patient."""
    first, last = patient.admission("first"), patient.last
    number = 61_000_000 + patient.number * 10
    value = tenths(patient.creatinine[0])
    early, after = first.start + 9 * HOUR, last.end + 3 * DAY
    future = Specimen(number, None, after, after + HOUR)
    late = Specimen(number + 1, first, early, last.end + 10 * DAY)
    plain = Specimen(number + 2, first, early, early + 2 * HOUR)
    told = f"Using this patient's age and creatinine value of {value}, GFR was estimated. CANARY_COMMENT"
    rows = (
        (future, UREA, "44", "CANARY_FUTURE"),
        (late, UREA, "45", "CANARY_STORE"),
        (plain, 50920, "", told),
        (plain, UREA, "46", f'creatinine {value}\nsee "GFR". CANARY_COMMENT'),
        (plain, 51081, value, "CANARY_FLUID"),
        (plain, CREATININE, value, "CANARY_KIDNEY"),
    )
    for specimen, item, text, comments in rows:
        add_result(tables, patient, specimen, item, text, comments=comments)
    _orders(tables, patient)
    _unit(tables, patient)
    tables.add(
        "hosp/diagnoses_icd",
        subject_id=patient.subject_id,
        hadm_id=last.hadm_id,
        seq_num=9,
        icd_code=CANARY_CODE,
        icd_version=10,
    )


def _orders(tables: Tables, patient: Patient) -> None:
    first, last = patient.admission("first"), patient.last
    after = last.end + 2 * HOUR
    add_order(tables, patient, last, ("CANARY_FUTURE", "", "1", "mg", "PO"), after, after + DAY)
    start = first.start + 3 * HOUR
    add_order(
        tables, patient, first, ("Aspirin", "81mg Tab", "81", "mg", "PO"), start, last.end + 30 * DAY,
        status="CANARY_END",
    )  # fmt: skip


def _unit(tables: Tables, patient: Patient) -> None:
    last, unit = patient.last, patient.last.unit
    if unit is None:
        return
    chart(tables, patient, last, 220001, "CANARY_STORE", unit.start + HOUR, last.end + 5 * DAY)
    who = {"subject_id": patient.subject_id, "hadm_id": last.hadm_id, "stay_id": unit.stay_id}
    times = {
        "starttime": unit.start + 2 * HOUR,
        "endtime": last.end + DAY,
        "storetime": last.end + DAY + 5 * _MINUTE,
    }  # fmt: skip
    order = {"orderid": 7_000_000 + patient.number, "linkorderid": 7_000_000 + patient.number}
    ends = {"statusdescription": "CANARY_END"}
    tables.add("icu/procedureevents", **who, **times, **order, **ends, itemid=224275, value=1, valueuom="min")
    tables.add("icu/inputevents", **who, **times, **order, **ends, itemid=225158, amount=1, amountuom="mL")
