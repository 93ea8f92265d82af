"""Guards and probes of the shipped labels: what restates an answer goes, and what is only related stays."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from gathering_builders import at, evidence, table_of, tiny
from recipe_builders import REPOSITORY, admission, lab

from medomni.core.workspace import load_workspace
from medomni.studio.definitions.library import Library, open_library
from medomni.studio.evidence.model import Evidence
from medomni.studio.probes.forbidden import restated
from medomni.studio.recipe.binding import Bound

CKD, MELD, SEPSIS = "ckd_g_stage", "meld_na", "sepsis3_onset_12_60h"
BEFORE = "2150-01-10 11:00:00"
ADMISSION = admission(7, "2149-12-01 00:00:00", "2149-12-05 00:00:00")
INDEX = admission(8, "2150-01-09 12:00:00", "2150-02-01 00:00:00", discharge_location="DIED")
STAY = {
    "subject_id": 1,
    "hadm_id": 8,
    "stay_id": 80,
    "first_careunit": "MICU",
    "last_careunit": "CCU",
    "intime": "2150-01-09 12:00:00",
    "outtime": "2150-01-12 00:00:00",
    "los": "2.5",
}


@cache
def library() -> Library:
    return open_library(load_workspace(REPOSITORY), "mimic-iv")


def label(name: str) -> Bound:
    return library().label(name)


def seen(name: str, table: str, row: dict[str, Any], *, key: str = "", index: bool = False) -> Evidence:
    """The evidence of a label where one row is added to a patient with an earlier admission."""
    stays = [ADMISSION, INDEX] if index else [ADMISSION]
    tables = {"hosp__admissions": stays, table.replace(".", "__"): [{"subject_id": 1, **row}]}
    if index:
        tables["icu__icustays"] = [STAY]
    return evidence(label(name), tiny(**tables), at(key=key))[0]


def code(value: str, version: int) -> dict[str, Any]:
    return {"hadm_id": 7, "seq_num": 1, "icd_code": value, "icd_version": version}


def result(itemid: int, **more: Any) -> dict[str, Any]:
    return lab(1, more.pop("time", BEFORE), "1", itemid=itemid, **more)


def words(text: str) -> dict[str, Any]:
    return {"stay_id": 80, "charttime": BEFORE, "itemid": 220045, "value": text}


KIDNEY = [
    *[
        ("hosp.diagnoses_icd", code(each, 10))
        for each in ("N186", "Z992", "I120", "E1122", "T8241XA", "Y841")
    ],
    *[("hosp.diagnoses_icd", code(each, 9)) for each in ("5856", "V4511", "40391", "99673", "E8791")],
    *[("hosp.labevents", result(each)) for each in (50912, 52546, 52101, 50920, 51081, 51080)],
    ("icu.chartevents", words("Dialysis catheter")),
    ("icu.chartevents", words("CKD stage 3")),
    ("icu.procedureevents", {"stay_id": 80, "starttime": BEFORE, "itemid": 225441}),
    ("hosp.omr", {"chartdate": "2150-01-01", "result_name": "eGFR", "result_value": "40"}),
    ("hosp.poe", {"poe_id": "1-1", "ordertime": BEFORE, "order_type": "Hemodialysis"}),
    ("hosp.prescriptions", {"starttime": BEFORE, "drug": "Sevelamer Carbonate"}),
    ("hosp.pharmacy", {"pharmacy_id": 3, "starttime": BEFORE, "medication": "Heparin (Hemodialysis)"}),
    (
        "hosp.microbiologyevents",
        {
            "microevent_id": 1,
            "chartdate": "2150-01-01",
            "charttime": BEFORE,
            "spec_type_desc": "DIALYSIS FLUID",
        },
    ),
    ("note.radiology", {"note_id": "n", "charttime": BEFORE, "text": "kidneys normal"}),
    ("hosp.drgcodes", {"hadm_id": 7, "drg_code": "1"}),
]
RELATED = [
    *[("hosp.diagnoses_icd", code(each, 10)) for each in ("I10", "N390", "E119", "H3304")],
    *[("hosp.labevents", result(each)) for each in (51006, 51082, 50813)],
    ("icu.chartevents", words("Regular")),
    ("hosp.omr", {"chartdate": "2150-01-01", "result_name": "Weight (Lbs)", "result_value": "140"}),
    ("hosp.poe", {"poe_id": "1-1", "ordertime": BEFORE, "order_type": "Medications"}),
    ("hosp.prescriptions", {"starttime": BEFORE, "drug": "Furosemide"}),
]


@pytest.mark.parametrize(("table", "row"), KIDNEY)
def test_what_states_a_kidneys_class_is_removed(table: str, row: dict[str, Any]) -> None:
    assert table_of(seen(CKD, table, row), table) is None


@pytest.mark.parametrize(("table", "row"), RELATED)
def test_what_is_only_related_to_a_kidney_stays(table: str, row: dict[str, Any]) -> None:
    assert table_of(seen(CKD, table, row), table) is not None


@pytest.mark.parametrize(
    ("row", "kept"),
    [
        (result(50885), False),
        (result(51675), False),
        (result(51274), False),
        (result(51081), False),
        (result(50885, time="2150-01-03 12:00:00"), False),
        (result(50885, time="2150-01-03 11:59:59"), True),
        (result(50862), True),
    ],
)
def test_ingredients_of_the_liver_score_are_removed_for_a_week(row: dict[str, Any], kept: bool) -> None:
    assert (table_of(seen(MELD, "hosp.labevents", row), "hosp.labevents") is not None) is kept


def test_a_comment_that_repeats_an_ingredient_is_emptied_for_a_week() -> None:
    for time, kept in (("2150-01-05 00:00:00", None), ("2149-12-05 00:00:00", "INR 2.1")):
        found = table_of(
            seen(MELD, "hosp.labevents", result(51275, time=time, comments="INR 2.1")), "hosp.labevents"
        )
        assert found is not None
        assert found.rows[0][-1] == kept


@pytest.mark.parametrize("value", ["A419", "R6521", "A403"])
def test_codes_of_sepsis_are_removed(value: str) -> None:
    row = code(value, 10)
    found = evidence(
        label(SEPSIS),
        tiny(
            hosp__admissions=[ADMISSION, INDEX],
            icu__icustays=[{**STAY, "intime": "2150-01-10 00:00:00"}],
            hosp__diagnoses_icd=[{"subject_id": 1, **row}],
        ),
        at(key="80"),
    )[0]
    assert table_of(found, "hosp.diagnoses_icd") is None


def test_the_end_of_the_index_admission_and_of_every_unit_stay_is_hidden() -> None:
    found = seen("hospital_death", "hosp.omr", {"chartdate": "2150-01-01"}, key="80", index=True)
    stays = table_of(found, "hosp.admissions")
    assert stays is not None
    names = [column.name for column in stays.columns]
    locations = [row[names.index("discharge_location")] for row in stays.rows]
    assert locations == [None, None]
    assert stays.rows[0][names.index("dischtime_h")] is not None
    units = table_of(found, "icu.icustays")
    assert units is not None
    assert [column.name for column in units.columns] == ["hadm_n", "stay_n", "first_careunit", "intime_h"]


@pytest.mark.parametrize("name", ["death_365d", "unplanned_readmit_30d", "hospital_death", CKD, MELD, SEPSIS])
def test_every_label_hides_the_day_of_death_billing_and_the_ends_of_unit_stays(name: str) -> None:
    guards = label(name).label.guards
    hidden = {(table, column) for guard in guards for table in guard.tables for column in guard.columns}
    whole = {table for guard in guards if guard.everything and not guard.columns for table in guard.tables}
    assert {("hosp.patients", "dod"), ("hosp.patients", "anchor_year_group")} <= hidden
    assert {("icu.icustays", each) for each in ("outtime", "los", "last_careunit")} <= hidden
    assert {"hosp.drgcodes", "hosp.hcpcsevents"} <= whole


# Probes.


def hit(name: str, text: str) -> bool:
    probes = label(name).label.probes
    return restated(name, probes["forbid_regex"], probes.get("allow", ())).first(text) is not None


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        (CKD, "Creatinine", True),
        (CKD, "Creatinine, Serum", True),
        (CKD, "| Creatinine, Urine | 70 | Creatinine |", True),
        (CKD, "| Creatinine, Urine | 70 |", False),
        (CKD, "Albumin/Creatinine, Urine", False),
        (CKD, "ESRD on dialysis", True),
        (CKD, "backdated", False),
        (CKD, "VEGFR inhibitor", False),
        (CKD, "egfr 40", True),
        (CKD, "Retinal detachment with retinal dialysis", False),
        (CKD, "acute renal failure", True),
        ("hospital_death", "expired air", False),
        ("hospital_death", "deceased donor graft", False),
        ("hospital_death", "The patient expired at noon", True),
        ("hospital_death", "pt has died", True),
        ("hospital_death", "Time of death 12:40", True),
        (MELD, "MELD 22", True),
        (MELD, "smelding", False),
    ],
)
def test_probes_find_what_restates_and_not_what_sounds_alike(name: str, text: str, told: bool) -> None:
    assert hit(name, text) is told
