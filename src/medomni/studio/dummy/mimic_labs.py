"""Made-up laboratory results: panels at visits, on wards and in units, in which the hidden rule shows.

Leaves to others: bedside charting (`mimic_icu`), cultures (`mimic_infection`), canaries (`mimic_canaries`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from medomni.studio.dummy.draws import Draws
from medomni.studio.dummy.mimic_kidney import injured_value
from medomni.studio.dummy.mimic_plan import DAY, HOUR, Admission, Patient
from medomni.studio.dummy.tables import Tables, tenths

_MINUTE = timedelta(minutes=1)
CREATININE, UREA = 50912, 51006
RANGE_CANARY = "765.43"
# Item -> label, fluid, category, unit, reference range in tenths.
ITEMS: dict[int, tuple[str, str, str, str, int, int]] = {
    50912: ("Creatinine", "Blood", "Chemistry", "mg/dL", 4, 12),
    51006: ("Urea Nitrogen", "Blood", "Chemistry", "mg/dL", 60, 200),
    50971: ("Potassium", "Blood", "Chemistry", "mEq/L", 33, 51),
    50983: ("Sodium", "Blood", "Chemistry", "mEq/L", 1330, 1450),
    50882: ("Bicarbonate", "Blood", "Chemistry", "mEq/L", 220, 320),
    50970: ("Phosphate", "Blood", "Chemistry", "mg/dL", 27, 45),
    50931: ("Glucose", "Blood", "Chemistry", "mg/dL", 700, 1000),
    50862: ("Albumin", "Blood", "Chemistry", "g/dL", 35, 52),
    50889: ("C-Reactive Protein", "Blood", "Chemistry", "mg/L", 0, 50),
    50885: ("Bilirubin, Total", "Blood", "Chemistry", "mg/dL", 0, 15),
    50813: ("Lactate", "Blood", "Blood Gas", "mmol/L", 5, 20),
    51237: ("INR(PT)", "Blood", "Hematology", "", 9, 11),
    51222: ("Hemoglobin", "Blood", "Hematology", "g/dL", 120, 160),
    51265: ("Platelet Count", "Blood", "Hematology", "K/uL", 1500, 4400),
    51277: ("RDW", "Blood", "Hematology", "%", 105, 155),
    51301: ("White Blood Cells", "Blood", "Hematology", "K/uL", 40, 110),
    50920: ("Estimated GFR (MDRD equation)", "Blood", "Chemistry", "", 0, 0),
    51081: ("Creatinine, Serum", "Urine", "Chemistry", "mg/dL", 4, 12),
    50821: ("pO2", "Blood", "Blood Gas", "mm Hg", 850, 1050),
    50816: ("Oxygen", "Blood", "Blood Gas", "%", 0, 0),
    52033: ("Specimen Type", "Blood", "Blood Gas", "", 0, 0),
}
_BILIRUBIN = (6, 13, 26, 60, 120, 210)
_INR = (10, 12, 14, 17, 22, 30)


@dataclass(frozen=True, slots=True)
class Draw:
    """One blood draw: when, in which admission, and which groups of items."""

    time: datetime
    admission: Admission | None
    creatinine: int | None
    liver: bool = False
    gas: bool = False


@dataclass(frozen=True, slots=True)
class Specimen:
    """What was drawn at one time: number, admission, when it was drawn, and when its results were stored."""

    number: int
    admission: Admission | None
    time: datetime
    store: datetime


def add_labs(tables: Tables, patient: Patient) -> None:
    """All results of a patient, in the order of their draws."""
    for number, each in enumerate(draws_of(patient)):
        draws = patient.draws.about("panel", number)
        store = each.time + draws.integer(35, 170) * _MINUTE
        first = 60_000_000 + patient.number * 1_000 + number
        blood = Specimen(first, each.admission, each.time, store)
        for item, value in _panel(patient, each, draws):
            add_result(tables, patient, blood, item, tenths(value))
        if each.gas:
            gas = Specimen(first + 500, each.admission, each.time, store)
            for item, text in ((52033, "ART."), (50821, str(draws.integer(70, 140))), (50816, "40")):
                add_result(tables, patient, gas, item, text)


def draws_of(patient: Patient) -> list[Draw]:
    """When blood was drawn: three visits, then each admission."""
    first = patient.admission("first").start
    found = [
        Draw(_at(patient, first, days), None, _steady(patient, days))
        for days in (-150, 200, 430)
        if first + days * DAY < patient.admission("ward").start
    ]
    for admission in patient.admissions:
        found.extend(
            _unit_draws(patient, admission) if admission is patient.last else _ward_draws(patient, admission)
        )
    return sorted(found, key=lambda each: each.time)


def add_result(
    tables: Tables,
    patient: Patient,
    specimen: Specimen,
    item: int,
    value: str,
    *,
    comments: str | None = None,
) -> None:
    """One row of `labevents`."""
    _, _, _, unit, low, high = ITEMS[item]
    number = value if value.replace(".", "", 1).isdigit() else None
    outside = number is not None and high and not low <= round(float(number) * 10) <= high
    tables.add(
        "hosp/labevents",
        labevent_id=70_000_000 + len(tables.rows["hosp/labevents"]),
        subject_id=patient.subject_id,
        hadm_id=specimen.admission.hadm_id if specimen.admission is not None else None,
        specimen_id=specimen.number,
        itemid=item,
        charttime=specimen.time,
        storetime=specimen.store,
        value=value,
        valuenum=number,
        valueuom=unit or None,
        ref_range_lower=tenths(low) if high else None,
        # Creatinine is hidden from the template whose answer it is, and so is its range.
        ref_range_upper=RANGE_CANARY if item == CREATININE else tenths(high) if high else None,
        flag="abnormal" if outside else None,
        priority="ROUTINE",
        comments=comments,
    )


def _ward_draws(patient: Patient, admission: Admission) -> Iterator[Draw]:
    if admission.role == "observation":
        yield Draw(admission.start + 2 * HOUR, admission, None)
        return
    step = 36 * HOUR if admission.role == "first" else 24 * HOUR
    time = admission.start + 90 * _MINUTE
    for number in range(8):
        if time > admission.end - 3 * HOUR:
            return
        yield Draw(time, admission, _steady(patient, admission.role, number), liver=admission.role == "ward")
        time += step


def _unit_draws(patient: Patient, admission: Admission) -> Iterator[Draw]:
    """One draw before the unit, two a day in it, one after it; the injury shows from the second day on."""
    unit = admission.unit
    if unit is None:
        return
    base = patient.creatinine[0]
    yield Draw(admission.start + 20 * _MINUTE, admission, base, liver=True)
    time, onset = unit.start + HOUR, unit.start + 38 * HOUR
    while time < unit.end - HOUR:
        value = injured_value(base, patient.injury) if time >= onset else base
        yield Draw(time, admission, value, liver=True, gas=True)
        time += 12 * HOUR
    if unit.end + 6 * HOUR < admission.end - 2 * HOUR:
        yield Draw(unit.end + 6 * HOUR, admission, None)


def _panel(patient: Patient, draw: Draw, draws: Draws) -> Iterator[tuple[int, int]]:
    """Items and values in tenths."""
    role = draw.admission.role if draw.admission is not None else "visit"
    severity = draw.admission.severity if draw.admission is not None else 0
    kidney, liver = patient.kidney, patient.liver
    near_death = role in ("ward", "intensive") and (patient.dies or patient.dies_later)
    ill = role == "intensive"
    if draw.creatinine is not None:
        yield CREATININE, draw.creatinine
    yield UREA, 10 * max(4, 12 + 11 * kidney + draws.noise(11))
    yield 50971, 41 + 2 * kidney + draws.noise(4)
    yield 50983, 10 * (139 - 2 * (liver > 2) + draws.noise(3))
    yield 50882, 10 * (26 - kidney + draws.noise(2))
    yield 50970, max(15, 34 + 3 * kidney + draws.noise(6))
    yield 50931, 10 * max(55, 118 + 45 * (role == "ward" and patient.returns) + draws.noise(32))
    yield 51222, 134 - 8 * kidney + draws.noise(10)
    yield 51265, 10 * max(20, 250 - 26 * liver + draws.noise(45))
    yield 51277, 138 + 16 * near_death + draws.noise(13)
    yield 51301, max(20, 85 + 32 * (ill and patient.infection == "late") + draws.noise(26))
    yield 50862, max(15, 42 - 3 * liver + draws.noise(4))
    if draw.admission is not None:
        yield 50889, 10 * max(1, 10 + 14 * severity + draws.noise(26))
        sick = (ill and patient.dies) or (role == "ward" and patient.moves)
        yield 50813, max(5, 14 + 9 * sick + draws.noise(8))
    if draw.liver:
        yield 50885, max(2, _BILIRUBIN[liver] * draws.integer(80, 125) // 100)
        yield 51237, max(9, _INR[liver] + draws.noise(1))


def _steady(patient: Patient, *place: str | int) -> int:
    return patient.draws.about("creatinine", *place).choice(patient.creatinine)


def _at(patient: Patient, start: datetime, days: int) -> datetime:
    day = (start + days * DAY).replace(hour=9, minute=0, second=0)
    return day + patient.draws.about("visit", days).integer(0, 170) * _MINUTE
