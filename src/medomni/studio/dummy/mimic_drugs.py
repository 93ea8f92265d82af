"""Made-up orders: prescriptions, the pharmacy's rows, what was given, and the order entry behind them.

Leaves to others: canaries (`mimic_canaries`).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from medomni.studio.dummy.mimic_infection import suspicion
from medomni.studio.dummy.mimic_plan import HOUR, Admission, Patient
from medomni.studio.dummy.tables import Tables

_MINUTE = timedelta(minutes=1)
# Drug, strength, dose, unit, route.
_HOME = (
    ("Metoprolol Tartrate", "25mg Tab", "25", "mg", "PO"),
    ("Atorvastatin", "40mg Tab", "40", "mg", "PO"),
    ("Heparin", "5000 Units / mL", "5000", "UNIT", "SC"),
    ("Insulin", "100 Units / mL", "0", "UNIT", "SC"),
    ("Acetaminophen", "325mg Tab", "650", "mg", "PO"),
    ("Furosemide", "20mg Tab", "20", "mg", "PO"),
    ("Pantoprazole", "40mg Tab", "40", "mg", "PO"),
)
_BY_CLASS = ("Sevelamer Carbonate CANARY_KIDNEY", "800mg Tab", "800", "mg", "PO")
_ANTIBIOTIC = ("Vancomycin", "1g Vial", "1000", "mg", "IV")
_BEFORE_SURGERY = ("CefazoLIN", "1g Vial", "1", "g", "IV")
_EYE_DROPS = ("Ciprofloxacin 0.3% Ophth Soln", "5mL", "1", "DROP", "BOTH EYES")


def add_drugs(tables: Tables, patient: Patient, admission: Admission) -> None:
    """Every drug of an admission."""
    if admission.role == "observation":
        return
    draws = patient.draws.about("drugs", admission.role)
    begin = admission.start + 2 * HOUR
    for number, drug in enumerate(draws.shuffled(_HOME)[: draws.integer(3, 5)]):
        add_order(tables, patient, admission, drug, begin + number * 7 * _MINUTE, admission.end - HOUR)
    if patient.kidney >= 3 and admission.role == "first":
        add_order(tables, patient, admission, _BY_CLASS, begin, admission.end - HOUR)
    if admission is not patient.last:
        return
    add_order(tables, patient, admission, _EYE_DROPS, begin, admission.end - HOUR)
    given = suspicion(patient).antibiotic
    if given is not None:
        drug = _BEFORE_SURGERY if patient.infection == "none" else _ANTIBIOTIC
        add_order(tables, patient, admission, drug, given, given + 48 * HOUR)


def add_order(
    tables: Tables,
    patient: Patient,
    admission: Admission,
    drug: tuple[str, str, str, str, str],
    start: datetime,
    stop: datetime,
    *,
    status: str = "Discontinued via patient discharge",
) -> None:
    """One drug: order, pharmacy, prescription, and its first dose."""
    name, strength, dose, unit, route = drug
    number = len(tables.rows["hosp/pharmacy"]) + 1
    pharmacy, poe = 10_000_000 + number * 17 % 1_000_000, f"{patient.subject_id}-{number}"
    who = {"subject_id": patient.subject_id, "hadm_id": admission.hadm_id}
    entered = start - 25 * _MINUTE
    tables.add(
        "hosp/poe", poe_id=poe, poe_seq=number, **who, ordertime=entered, order_type="Medications",
        transaction_type="New", order_status="Inactive",
    )  # fmt: skip
    tables.add(
        "hosp/poe_detail", poe_id=poe, poe_seq=number, subject_id=patient.subject_id,
        field_name="Indication", field_value="as charted",
    )  # fmt: skip
    tables.add(
        "hosp/pharmacy", **who, pharmacy_id=pharmacy, poe_id=poe, starttime=start, stoptime=stop,
        medication=name, proc_type="Unit Dose", status=status, entertime=entered,
        verifiedtime=entered + 6 * _MINUTE, route=route, frequency="DAILY", doses_per_24_hrs=1,
        expirationdate=stop,
    )  # fmt: skip
    tables.add(
        "hosp/prescriptions", **who, pharmacy_id=pharmacy, poe_id=poe, poe_seq=number, starttime=start,
        stoptime=stop, drug_type="MAIN", drug=name, gsn="004489", ndc=f"{63323026201 + number:011d}",
        prod_strength=strength, dose_val_rx=dose, dose_unit_rx=unit, form_val_disp="1",
        form_unit_disp="TAB", doses_per_24_hrs=1, route=route,
    )  # fmt: skip
    _first_dose(tables, who, drug, poe, pharmacy, start)


def _first_dose(
    tables: Tables,
    who: dict[str, int],
    drug: tuple[str, str, str, str, str],
    poe: str,
    pharmacy: int,
    start: datetime,
) -> None:
    name, _, dose, unit, route = drug
    number, given = len(tables.rows["hosp/emar"]) + 1, start + 15 * _MINUTE
    emar = f"{who['subject_id']}-{number}-1"
    tables.add(
        "hosp/emar", **who, emar_id=emar, emar_seq=number, poe_id=poe, pharmacy_id=pharmacy, charttime=given,
        medication=name, event_txt="Administered", scheduletime=start, storetime=given + 2 * _MINUTE,
    )  # fmt: skip
    tables.add(
        "hosp/emar_detail", subject_id=who["subject_id"], emar_id=emar, emar_seq=number,
        parent_field_ordinal="1.1", administration_type="Standard Maintenance Medication",
        pharmacy_id=pharmacy, dose_given=dose, dose_given_unit=unit, product_description=name, route=route,
    )  # fmt: skip
