"""Made-up rows of intensive care: stays, charted values, drips, fluids out, procedures.

Leaves to others: laboratory results (`mimic_labs`), canaries (`mimic_canaries`).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from fractions import Fraction

from medomni.studio.dummy.draws import Draws
from medomni.studio.dummy.mimic_infection import suspicion
from medomni.studio.dummy.mimic_plan import HOUR, Admission, Patient, Unit
from medomni.studio.dummy.tables import Tables, Value, tenths

_MINUTE = timedelta(minutes=1)
# Item -> label, abbreviation, linksto, category, unit.
ITEMS: dict[int, tuple[str, str, str, str, str]] = {
    220045: ("Heart Rate", "HR", "chartevents", "Routine Vital Signs", "bpm"),
    220052: ("Arterial Blood Pressure mean", "ABPm", "chartevents", "Routine Vital Signs", "mmHg"),
    220210: ("Respiratory Rate", "RR", "chartevents", "Respiratory", "insp/min"),
    220277: ("O2 saturation pulseoxymetry", "SpO2", "chartevents", "Respiratory", "%"),
    223761: ("Temperature Fahrenheit", "Temperature F", "chartevents", "Routine Vital Signs", "°F"),
    220739: ("GCS - Eye Opening", "Eye Opening", "chartevents", "Neurological", ""),
    223900: ("GCS - Verbal Response", "Verbal Response", "chartevents", "Neurological", ""),
    223901: ("GCS - Motor Response", "Motor Response", "chartevents", "Neurological", ""),
    223758: ("Code Status", "Code Status", "chartevents", "ADT", ""),
    220001: ("Problem List", "Problem List", "chartevents", "General", ""),
    220615: ("Creatinine (serum)", "Creatinine (serum)", "chartevents", "Labs", ""),
    226559: ("Foley", "Foley", "outputevents", "Output", "mL"),
    225158: ("NaCl 0.9%", "NaCl 0.9%", "inputevents", "Fluids/Intake", "mL"),
    221906: ("Norepinephrine", "Norepinephrine", "inputevents", "Medications", "mg"),
    220490: ("Water", "Water", "ingredientevents", "Ingredients - general", "mL"),
    225792: ("Invasive Ventilation", "Invasive Ventilation", "procedureevents", "Ventilation", "None"),
    225441: ("Hemodialysis", "HD", "procedureevents", "4-Procedures", "None"),
    224275: ("20 Gauge", "20 Gauge", "procedureevents", "Access Lines - Peripheral", "None"),
    224183: ("20 Gauge Insertion Date", "20 Gauge Ins Date", "datetimeevents", "Access Lines", "Date"),
}
_EYES = ("None", "To Pain", "To Speech", "Spontaneously")
_VERBAL = ("No Response", "Incomprehensible sounds", "Inappropriate Words", "Confused", "Oriented")
_MOTOR = (
    "No response",
    "Abnormal extension",
    "Abnormal Flexion",
    "Flex-withdraws",
    "Localizes Pain",
    "Obeys Commands",
)


def add_unit(tables: Tables, patient: Patient, admission: Admission) -> None:
    """A stay in a unit, and everything that was charted in it."""
    unit = admission.unit
    if unit is None:
        return
    last = admission is patient.last
    tables.add(
        "icu/icustays",
        subject_id=patient.subject_id,
        hadm_id=admission.hadm_id,
        stay_id=unit.stay_id,
        first_careunit=unit.name,
        last_careunit="CANARY_END" if last else unit.name,
        intime=unit.start,
        outtime=unit.end,
        los=_days(unit.end - unit.start),
    )
    draws = patient.draws.about("unit", admission.role)
    _chart_all(tables, patient, admission, unit, draws)
    if last:
        _words(tables, patient, admission, unit)
        _fluids(tables, patient, admission, unit, draws.about("fluids"))
        _procedures(tables, patient, admission, unit, draws.about("procedures"))
        _dates(tables, patient, admission, unit)


def chart(
    tables: Tables,
    patient: Patient,
    admission: Admission,
    item: int,
    value: str,
    time: datetime,
    store: datetime,
    *,
    number: str | None = None,
) -> None:
    """One row of `chartevents`."""
    unit = admission.unit
    tables.add(
        "icu/chartevents",
        subject_id=patient.subject_id,
        hadm_id=admission.hadm_id,
        stay_id=unit.stay_id if unit is not None else None,
        caregiver_id=90_000 + patient.number,
        charttime=time,
        storetime=store,
        itemid=item,
        value=value,
        valuenum=number,
        valueuom=ITEMS[item][4] or None,
        warning=0,
    )


def _chart_all(tables: Tables, patient: Patient, admission: Admission, unit: Unit, draws: Draws) -> None:
    time, failing = unit.start + draws.integer(5, 40) * _MINUTE, _failing(patient)
    while time < unit.end:
        fails = failing is not None and failing[0] <= time <= failing[1]
        store = time + draws.integer(3, 70) * _MINUTE
        for item, value in _vitals(patient, admission, fails, draws):
            chart(tables, patient, admission, item, tenths(value), time, store, number=tenths(value))
        for item, words, score in _coma(patient, admission, fails, draws):
            chart(tables, patient, admission, item, words[score - 1], time, store, number=str(score))
        time += 4 * HOUR


def _vitals(patient: Patient, admission: Admission, fails: bool, draws: Draws) -> Iterator[tuple[int, int]]:
    """Items and values in tenths."""
    last = admission is patient.last
    late = last and patient.infection == "late"
    yield 220045, 10 * (84 + 9 * late + 6 * (last and patient.dies) + draws.noise(11))
    yield (
        220052,
        10 * (62 if fails else max(45, 80 - 3 * patient.injury * last + draws.noise(7))),
    )
    yield 220210, 10 * max(8, 18 + draws.noise(4))
    yield 220277, 10 * min(100, 97 + draws.noise(2))
    yield 223761, 984 + 9 * late + draws.noise(8)


def _coma(
    patient: Patient, admission: Admission, fails: bool, draws: Draws
) -> Iterator[tuple[int, tuple[str, ...], int]]:
    down = int(admission is patient.last and patient.dies and draws.chance(45))
    yield 220739, _EYES, 4 - down - draws.chance(12)
    slurred = draws.chance(15)
    yield 223900, _VERBAL, 5 - down - fails - slurred
    # Not in all who die: no single item may tell who does.
    yield 223901, _MOTOR, 6 - (down and slurred)


def _failing(patient: Patient) -> tuple[datetime, datetime] | None:
    """When pressure and mind are low enough for two points: around a true infection's culture."""
    found = suspicion(patient)
    if patient.infection == "none" or found.culture is None:
        return None
    return found.culture - HOUR, found.culture + 12 * HOUR


def _words(tables: Tables, patient: Patient, admission: Admission, unit: Unit) -> None:
    chart(tables, patient, admission, 223758, "Full code", unit.start + HOUR, unit.start + 2 * HOUR)
    hours = {"comfort before": 10, "comfort after": 40}.get(patient.oddity)
    if hours is not None:
        time = unit.start + hours * HOUR
        chart(tables, patient, admission, 223758, "Comfort measures only", time, time + HOUR)
    if patient.kidney:
        words = "Chronic kidney disease CANARY_KIDNEY"
        chart(tables, patient, admission, 220001, words, unit.start + HOUR, unit.start + 2 * HOUR)


def _fluids(tables: Tables, patient: Patient, admission: Admission, unit: Unit, draws: Draws) -> None:
    who = {"subject_id": patient.subject_id, "hadm_id": admission.hadm_id, "stay_id": unit.stay_id}
    time = unit.start + 2 * HOUR
    while time < unit.end - HOUR:
        # Less urine, the worse the injury will be.
        amount = max(0, 330 - 45 * patient.injury + draws.noise(110))
        tables.add(
            "icu/outputevents", **who, charttime=time, storetime=time + 20 * _MINUTE, itemid=226559,
            value=amount, valueuom="mL",
        )  # fmt: skip
        time += 4 * HOUR
    drips = [(225158, unit.start + 3 * HOUR, unit.start + 9 * HOUR, "mL", "mL/hour")]
    if draws.chance(25):
        begin = unit.start + draws.integer(26, 50) * HOUR
        drips.append((221906, begin, begin + 8 * HOUR, "mg", "mcg/kg/min"))
    for number, (item, start, end, unit_name, rate_name) in enumerate(drips):
        order = 5_000_000 + patient.number * 10 + number
        rate = "0.07000000029802322" if item == 221906 else "83.333335876464844"
        shared: dict[str, Value] = {
            **who, "starttime": start, "endtime": end, "storetime": end + 5 * _MINUTE, "amountuom": unit_name,
            "rate": rate, "rateuom": rate_name, "orderid": order, "linkorderid": order,
            "statusdescription": "FinishedRunning",
        }  # fmt: skip
        tables.add(
            "icu/inputevents", **shared, itemid=item, amount="499.999998807907104", patientweight="81.5",
            ordercategoryname="02-Fluids (Crystalloids)", isopenbag=0, continueinnextdept=0,
            originalamount="500", originalrate=rate,
        )  # fmt: skip
        tables.add("icu/ingredientevents", **shared, itemid=220490, amount="499.999998807907104")


def _procedures(tables: Tables, patient: Patient, admission: Admission, unit: Unit, draws: Draws) -> None:
    found = [(224275, unit.start + HOUR, unit.start + 50 * HOUR)]
    if draws.chance(35):
        found.append((225792, unit.start + 2 * HOUR, unit.start + draws.integer(8, 60) * HOUR))
    if patient.oddity == "dialysed":
        found.extend(
            (225441, unit.start + hours * HOUR, unit.start + (hours + 4) * HOUR) for hours in (6, 30)
        )
    for number, (item, start, end) in enumerate(found):
        minutes = (end - start) // _MINUTE
        tables.add(
            "icu/procedureevents",
            subject_id=patient.subject_id,
            hadm_id=admission.hadm_id,
            stay_id=unit.stay_id,
            starttime=start,
            endtime=end,
            storetime=f"{end:%Y-%m-%d %H:%M:%S}.090",
            itemid=item,
            value=minutes,
            valueuom="min",
            orderid=6_000_000 + patient.number * 10 + number,
            linkorderid=6_000_000 + patient.number * 10 + number,
            patientweight="81.5",
            isopenbag=1,
            continueinnextdept=0,
            statusdescription="FinishedRunning",
            originalamount=minutes,
            originalrate=1,
        )


def _dates(tables: Tables, patient: Patient, admission: Admission, unit: Unit) -> None:
    tables.add(
        "icu/datetimeevents",
        subject_id=patient.subject_id,
        hadm_id=admission.hadm_id,
        stay_id=unit.stay_id,
        charttime=unit.start + HOUR,
        storetime=unit.start + 2 * HOUR,
        itemid=224183,
        value=unit.start.replace(hour=0, minute=0, second=0),
        valueuom="Date",
        warning=0,
    )


def _days(length: timedelta) -> str:
    """A length in days with sixteen decimals, as the real files have it."""
    whole = Fraction(length // timedelta(seconds=1), 86_400) * 10**16
    digits = f"{round(whole):017d}"
    return f"{digits[:-16]}.{digits[-16:]}"
