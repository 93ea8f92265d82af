"""What evidence keeps and hides, by rows written here: availability, ends, guards, ids, the text of cells."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from gathering_builders import (
    T0,
    at,
    cells,
    evidence,
    families,
    guarded,
    headers,
    shown_bytes,
    stored_lab,
    table_of,
    tiny,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from recipe_builders import admission, patient

from medomni.studio.evidence.cells import MACROS
from medomni.studio.evidence.errors import EvidenceError
from medomni.studio.evidence.gather import gather
from medomni.studio.evidence.model import Removal
from medomni.studio.evidence.placing import guard_words
from medomni.studio.evidence.session import Session

BEFORE, AFTER = "2150-01-10 11:00:00", "2150-01-10 13:00:00"


def removals(found: Any, table: str, why: str) -> list[Removal]:
    return [each for each in found.removed if each.table == table and each.why == why]


# What was known.


def test_a_result_counts_from_when_it_was_stored(tmp_path: Path) -> None:
    rows = [
        stored_lab(1, "2150-01-10 09:00:00", "2150-01-10 09:40:00", "1.1"),
        stored_lab(2, "2150-01-10 11:30:00", "2150-01-10 12:40:00", "6.5"),
    ]
    (found,) = evidence(guarded(tmp_path), tiny(hosp__labevents=rows))
    assert cells(found, "hosp.labevents", "valuenum", "charttime_h", "storetime_h") == [
        ("1.1", "-3.000", "-2.333")
    ]
    assert removals(found, "hosp.labevents", "later")[0].rows == 1


def test_a_row_that_nobody_stored_is_hidden_where_the_release_has_times_of_storing(tmp_path: Path) -> None:
    rows = [
        stored_lab(1, "2150-01-10 09:00:00", "2150-01-10 09:40:00", "1.1"),
        stored_lab(2, "2150-01-10 10:00:00", None, "0.3"),
    ]
    (found,) = evidence(guarded(tmp_path), tiny(hosp__labevents=rows))
    assert cells(found, "hosp.labevents", "valuenum") == ["1.1"]


def test_without_any_time_of_storing_the_time_of_charting_counts(tmp_path: Path) -> None:
    rows = [stored_lab(1, BEFORE, None, "1.1"), stored_lab(2, AFTER, None, "2.2")]
    (found,) = evidence(guarded(tmp_path), tiny(hosp__labevents=rows))
    assert cells(found, "hosp.labevents", "valuenum") == ["1.1"]


@pytest.mark.parametrize(
    ("index", "kept"), [("{time: trigger}", ["1.1", "2.2"]), ("{time: trigger, side: before}", ["1.1"])]
)
def test_the_very_prediction_time_counts_unless_it_stands_before(
    tmp_path: Path, index: str, kept: list[str]
) -> None:
    rows = [stored_lab(1, BEFORE, None, "1.1"), stored_lab(2, str(T0), None, "2.2")]
    (found,) = evidence(guarded(tmp_path, index=index, value="1"), tiny(hosp__labevents=rows))
    assert cells(found, "hosp.labevents", "valuenum") == kept


def test_what_has_not_happened_is_hidden_whatever_its_time_of_storing(tmp_path: Path) -> None:
    rows = [stored_lab(1, AFTER, BEFORE, "1.1")]
    (found,) = evidence(guarded(tmp_path), tiny(hosp__labevents=rows))
    assert table_of(found, "hosp.labevents") is None


def test_a_day_counts_as_its_end(tmp_path: Path) -> None:
    def culture(number: int, day: str, time: str | None) -> dict[str, Any]:
        return {
            "microevent_id": number,
            "subject_id": 1,
            "micro_specimen_id": number,
            "chartdate": f"{day} 00:00:00",
            "charttime": time,
            "test_name": f"culture {number}",
        }

    rows = [
        culture(1, "2150-01-10", "2150-01-10 08:00:00"),
        culture(2, "2150-01-10", None),
        culture(3, "2150-01-09", None),
    ]
    (found,) = evidence(guarded(tmp_path), tiny(hosp__microbiologyevents=rows))
    assert cells(found, "hosp.microbiologyevents", "test_name", "chartdate_d", "charttime_h") == [
        ("culture 3", "-1", None),
        ("culture 1", "0", "-4.000"),
    ]


def test_a_note_that_knows_the_day_alone_is_hidden_until_the_day_is_over(tmp_path: Path) -> None:
    note = {"note_id": "n1", "subject_id": 1, "charttime": "2150-01-10 00:00:00", "text": "went home"}
    bound, store = guarded(tmp_path), tiny(note__discharge=[note])
    assert table_of(evidence(bound, store)[0], "note.discharge") is None
    (found,) = evidence(bound, store, at("2150-01-11 00:00:00"))
    assert cells(found, "note.discharge", "charttime_d", "text") == [("-1", "went home")]


def test_codes_are_known_a_week_after_the_discharge(tmp_path: Path) -> None:
    stays = [admission(7, "2150-01-01 00:00:00", "2150-01-03 12:00:00")]
    codes = [{"subject_id": 1, "hadm_id": 7, "seq_num": 1, "icd_code": "I10", "icd_version": 10}]
    titles = [{"icd_code": "I10", "icd_version": 10, "long_title": "Hypertension"}]
    store = tiny(hosp__admissions=stays, hosp__diagnoses_icd=codes, hosp__d_icd_diagnoses=titles)
    bound = guarded(tmp_path)
    known = cells(evidence(bound, store)[0], "hosp.diagnoses_icd", "hadm_n", "icd_code", "long_title")
    assert known == [("1", "I10", "Hypertension")]
    earlier = evidence(bound, store, at(T0 - timedelta(seconds=1)))[0]
    assert table_of(earlier, "hosp.diagnoses_icd") is None


def test_a_dictionary_that_the_release_lacks_leaves_its_columns_empty(tmp_path: Path) -> None:
    stays = [admission(7, "2150-01-01 00:00:00", "2150-01-02 12:00:00")]
    codes = [{"subject_id": 1, "hadm_id": 7, "seq_num": 1, "icd_code": "I10", "icd_version": 10}]
    store = tiny(hosp__admissions=stays, hosp__diagnoses_icd=codes)
    (found,) = evidence(guarded(tmp_path), store)
    assert cells(found, "hosp.diagnoses_icd", "icd_code", "long_title") == [("I10", None)]


def test_what_is_final_at_an_end_is_empty_until_then(tmp_path: Path) -> None:
    def stay(number: int, start: str, end: str | None) -> dict[str, Any]:
        more = {"discharge_location": "HOME", "edouttime": start, "hospital_expire_flag": 0}
        return admission(number, start, end, **more)

    stays = [
        stay(7, "2150-01-01 00:00:00", "2150-01-02 00:00:00"),
        stay(8, "2150-01-09 12:00:00", "2150-01-10 12:00:01"),
        stay(9, "2150-01-10 00:00:00", None),
    ]
    (found,) = evidence(guarded(tmp_path), tiny(hosp__admissions=stays))
    columns = ("hadm_n", "admittime_h", "dischtime_h", "discharge_location", "hospital_expire_flag")
    assert cells(found, "hosp.admissions", *columns) == [
        ("1", "-228.000", "-204.000", "HOME", "0"),
        ("2", "-24.000", None, None, None),
        ("3", "-12.000", None, None, None),
    ]
    (hidden,) = removals(found, "hosp.admissions", "end")
    assert hidden.rows == 2
    assert set(hidden.columns) == {"dischtime", "discharge_location", "hospital_expire_flag"}


def test_an_interval_that_has_not_begun_is_hidden_even_if_it_was_entered(tmp_path: Path) -> None:
    order = {
        "subject_id": 1,
        "hadm_id": 7,
        "pharmacy_id": 5,
        "medication": "Aspirin",
        "entertime": BEFORE,
        "status": "Active",
    }
    rows = [
        {**order, "starttime": AFTER, "stoptime": None},
        {**order, "pharmacy_id": 6, "starttime": BEFORE, "stoptime": AFTER},
    ]
    (found,) = evidence(guarded(tmp_path), tiny(hosp__pharmacy=rows))
    assert cells(found, "hosp.pharmacy", "starttime_h", "stoptime_h", "status") == [("-1.000", None, None)]


def test_columns_that_nobody_dated_are_left_out(tmp_path: Path) -> None:
    order = {
        "poe_id": "1-1",
        "poe_seq": 1,
        "subject_id": 1,
        "ordertime": BEFORE,
        "order_type": "Lab",
        "order_status": "Inactive",
        "discontinued_by_poe_id": "1-2",
    }
    (found,) = evidence(guarded(tmp_path), tiny(hosp__poe=[order]))
    assert headers(found, "hosp.poe") == [
        "poe_n",
        "hadm_n",
        "ordertime_h",
        "order_type",
        "order_subtype",
        "transaction_type",
        "discontinue_of_poe_n",
    ]
    assert b"Inactive" not in shown_bytes([found])


def test_details_come_and_go_with_their_parent(tmp_path: Path) -> None:
    def given(number: str, time: str, drug: str) -> tuple[dict[str, Any], dict[str, Any]]:
        event = {"subject_id": 1, "emar_id": number, "charttime": time, "medication": drug}
        return event, {"subject_id": 1, "emar_id": number, "product_code": f"code of {drug}"}

    events, details = zip(
        given("1-1", BEFORE, "Aspirin"),
        given("1-2", BEFORE, "Sevelamer"),
        given("1-3", AFTER, "Heparin"),
        strict=True,
    )
    guard = "{table: hosp.emar, where: {column: medication, regex: Sevelamer}}"
    store = tiny(hosp__emar=events, hosp__emar_detail=details)
    (found,) = evidence(guarded(tmp_path, guard), store)
    assert cells(found, "hosp.emar_detail", "emar_n", "product_code") == [("1", "code of Aspirin")]
    assert removals(found, "hosp.emar_detail", "guard")[0].rule == "its row in hosp.emar is not shown"
    lonely = evidence(guarded(tmp_path / "b", guard), tiny(hosp__emar_detail=details))[0]
    assert table_of(lonely, "hosp.emar_detail") is None


# Guards.

RESULTS = [
    stored_lab(1, "2150-01-01 12:00:00", None, "1", itemid=50912),
    stored_lab(2, "2150-01-05 12:00:00", None, "2", itemid=50912, comments="creatinine 2, GFR 40"),
    stored_lab(3, "2150-01-09 12:00:00", None, "3", itemid=51082),
    stored_lab(4, "2150-01-09 12:00:00", None, "4", comments="seen with creatinine 3"),
    stored_lab(5, "2150-01-10 12:00:00", None, "5", itemid=50813, comments="Creatinine"),
]


@pytest.mark.parametrize(
    ("guard", "kept"),
    [
        ("{table: hosp.labevents, where: all}", []),
        ("{table: hosp.labevents, where: {code: {any: [50912, 50813]}}}", ["3", "4"]),
        ("{table: hosp.labevents, where: {code: [51006]}}", ["1", "2", "3", "5"]),
        (
            "{table: hosp.labevents, where: {dict: hosp.d_labitems, label_regex: '(?i)creatinine'}}",
            ["4", "5"],
        ),
        (
            "{table: hosp.labevents, where: {dict: hosp.d_labitems, label_regex: Creat, fluid: [Blood]}}",
            ["3", "4", "5"],
        ),
        ("{table: hosp.labevents, where: {column: comments, regex: creatinine}}", ["1", "3", "5"]),
        (
            "{table: hosp.labevents, where: {code: [50912], column: comments, regex: creatinine}}",
            ["1", "3", "4", "5"],
        ),
        ("{table: hosp.labevents, after: index - 5d}", ["1", "2"]),
        ("{table: hosp.labevents, before: index - 5d}", ["2", "3", "4", "5"]),
        ("{table: hosp.labevents, within: [index - 5d, index - 1d]}", ["1", "5"]),
        ("{table: hosp.labevents, within: [NULL, index - 5d]}", ["3", "4", "5"]),
        ("{table: hosp.labevents, within: [index, NULL]}", ["1", "2", "3", "4"]),
        ("{table: hosp.labevents, after: trigger}", ["1", "2", "3", "4", "5"]),
        ("{table: hosp.labevents, where: {code: [50912]}, after: index - 6d}", ["1", "3", "4", "5"]),
        ("{family: labs_blood_gas}", ["1", "2", "3", "4"]),
        ("{family: labs_urine_other}", ["1", "2", "4", "5"]),
        ("{family: labs_chemistry, before: index - 5d}", ["2", "3", "4", "5"]),
        ("{table: [hosp.drgcodes, hosp.hcpcsevents], where: all}", ["1", "2", "3", "4", "5"]),
    ],
)
def test_guards_remove_the_rows_that_they_name(tmp_path: Path, guard: str, kept: list[str]) -> None:
    bound, store = guarded(tmp_path, guard), tiny(hosp__labevents=RESULTS)
    (found,) = evidence(bound, store)
    assert cells(found, "hosp.labevents", "valuenum") == kept
    counts = {each.rows for each in removals(found, "hosp.labevents", "guard")}
    assert counts == ({5 - len(kept)} if len(kept) < 5 else set())


def test_a_guard_on_columns_empties_cells_where_it_says(tmp_path: Path) -> None:
    guard = "{table: hosp.labevents, columns: [comments], where: {column: comments, regex: GFR}}"
    (found,) = evidence(guarded(tmp_path, guard), tiny(hosp__labevents=RESULTS))
    assert cells(found, "hosp.labevents", "valuenum", "comments") == [
        ("1", None),
        ("2", None),
        ("3", None),
        ("4", "seen with creatinine 3"),
        ("5", "Creatinine"),
    ]
    (removed,) = removals(found, "hosp.labevents", "guard")
    assert (removed.columns, removed.rows) == (("comments",), 1)


def test_a_guard_on_columns_of_all_rows_leaves_the_columns_out(tmp_path: Path) -> None:
    guard = "{table: hosp.labevents, columns: [comments, valuenum]}"
    (found,) = evidence(guarded(tmp_path, guard), tiny(hosp__labevents=RESULTS))
    assert not {"comments", "valuenum"} & set(headers(found, "hosp.labevents"))
    assert len(table_of(found, "hosp.labevents").rows) == 5  # type: ignore[union-attr]
    assert removals(found, "hosp.labevents", "guard")[0].rows == 5


def test_the_guards_of_all_labels_hold_together(tmp_path: Path) -> None:
    first = guarded(tmp_path / "a", "{table: hosp.labevents, where: {code: [50912]}}", name="it")
    second = guarded(tmp_path / "b", "{table: hosp.labevents, where: {code: [50813]}}", name="it")
    (found,) = evidence([first, second], tiny(hosp__labevents=RESULTS))
    assert cells(found, "hosp.labevents", "valuenum") == ["3", "4"]


def test_codes_match_without_dots_by_version_and_beginning(tmp_path: Path) -> None:
    stays = [admission(7, "2150-01-01 00:00:00", "2150-01-02 00:00:00")]
    codes = [
        {"subject_id": 1, "hadm_id": 7, "seq_num": place, "icd_code": code, "icd_version": version}
        for place, (code, version) in enumerate(
            [("N186", 10), ("N25", 10), ("N2581", 10), ("40391", 9), ("40391", 10), ("I10", 10)]
        )
    ]
    guard = "{table: hosp.diagnoses_icd, where: {icd10: [N18, N25.81], icd9: ['403'], match: prefix}}"
    store = tiny(hosp__admissions=stays, hosp__diagnoses_icd=codes)
    (found,) = evidence(guarded(tmp_path, guard), store)
    assert cells(found, "hosp.diagnoses_icd", "icd_code", "icd_version") == [
        ("N25", "10"),
        ("40391", "10"),
        ("I10", "10"),
    ]


def test_each_table_of_a_guard_is_asked_for_the_columns_that_it_has(tmp_path: Path) -> None:
    where = "{column_any: [drug, medication], regex: '(?i)sevel'}"
    guard = f"{{table: [hosp.prescriptions, hosp.emar], where: {where}}}"
    store = tiny(
        hosp__prescriptions=[
            {"subject_id": 1, "starttime": BEFORE, "drug": each} for each in ("SEVELAMER", "Aspirin")
        ],
        hosp__emar=[
            {"subject_id": 1, "emar_id": each, "charttime": BEFORE, "medication": each}
            for each in ("sevelamer", "Heparin")
        ],
    )
    (found,) = evidence(guarded(tmp_path, guard), store)
    assert cells(found, "hosp.prescriptions", "drug") == ["Aspirin"]
    assert cells(found, "hosp.emar", "medication") == ["Heparin"]


def test_a_row_that_knows_its_day_alone_counts_as_any_moment_of_it(tmp_path: Path) -> None:
    clinic = [
        {"subject_id": 1, "chartdate": day, "seq_num": 1, "result_name": day, "result_value": "1"}
        for day in ("2150-01-07", "2150-01-08", "2150-01-09")
    ]
    guard = "{table: hosp.omr, within: [index - 48h, index - 36h]}"
    (found,) = evidence(guarded(tmp_path, guard), tiny(hosp__omr=clinic))
    # From noon of the 8th to midnight before the 9th: both days could hold it.
    assert cells(found, "hosp.omr", "chartdate_d") == ["-3"]


ADMISSION = """
predicates:
  stay: {table: hosp.admissions}
trigger: stay
"""


def test_a_guard_stands_at_the_columns_of_its_own_event(tmp_path: Path) -> None:
    stays = [
        admission(7, "2150-01-01 00:00:00", "2150-01-02 00:00:00", discharge_location="HOME"),
        admission(8, "2150-01-09 12:00:00", "2150-01-10 00:00:00", discharge_location="HOSPICE"),
    ]
    guard = (
        "{table: hosp.admissions, columns: [dischtime, discharge_location],"
        " within: [trigger.admittime, trigger.admittime]}"
    )
    bound = guarded(tmp_path, guard, trigger=ADMISSION, index="{time: trigger + 24h}", value="1")
    (found,) = evidence(bound, tiny(hosp__admissions=stays), at(key="8"))
    assert cells(found, "hosp.admissions", "dischtime_h", "discharge_location") == [
        ("-204.000", "HOME"),
        (None, None),
    ]


def test_a_moment_that_is_no_event_of_the_label_is_refused(tmp_path: Path) -> None:
    guard = "{table: hosp.labevents, after: trigger.admittime}"
    bound = guarded(tmp_path, guard, trigger=ADMISSION, index="{time: trigger + 24h}", value="1")
    store = tiny(hosp__admissions=[admission(8, "2150-01-09 12:00:00", None)])
    with pytest.raises(EvidenceError, match="no candidate") as failure:
        evidence(bound, store, at(key="9"))
    assert failure.value.code == "evidence-moment-unknown"


def test_a_guard_at_a_time_that_the_event_lacks_is_refused(tmp_path: Path) -> None:
    guard = "{table: hosp.labevents, after: trigger.edregtime}"
    bound = guarded(tmp_path, guard, trigger=ADMISSION, index="{time: trigger + 24h}", value="1")
    store = tiny(hosp__admissions=[admission(8, "2150-01-09 12:00:00", None)])
    with pytest.raises(EvidenceError, match="lacks a time") as failure:
        evidence(bound, store, at(key="8"))
    assert failure.value.code == "evidence-guard-moment"


def test_a_guard_whose_dictionary_is_missing_is_refused(tmp_path: Path) -> None:
    guard = "{table: icu.procedureevents, where: {dict: icu.d_items, label_regex: dialys}}"
    store = tiny(icu__procedureevents=[])
    del store.rows["icu.d_items"]  # type: ignore[attr-defined]
    with pytest.raises(EvidenceError) as failure:
        evidence(guarded(tmp_path, guard), store)
    assert failure.value.code == "evidence-dictionary"


def test_a_family_whose_dictionary_is_missing_is_refused(tmp_path: Path) -> None:
    store = tiny(hosp__labevents=RESULTS)
    del store.rows["hosp.d_labitems"]  # type: ignore[attr-defined]
    with pytest.raises(EvidenceError, match="labs_chemistry") as failure:
        evidence(guarded(tmp_path), store)
    assert failure.value.code == "evidence-dictionary"


def test_somebody_whom_the_release_lacks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError) as failure:
        evidence(guarded(tmp_path), tiny(), at(subject=2))
    assert failure.value.code == "evidence-patient-unknown"


def test_without_a_label_nobody_knows_the_guards() -> None:
    with pytest.raises(EvidenceError) as failure:
        evidence([], tiny())
    assert failure.value.code == "evidence-labels"


# Ids.


def test_ids_become_numbers_in_the_order_in_which_they_are_seen(tmp_path: Path) -> None:
    stays = [
        admission(900, "2150-01-01 00:00:00", "2150-01-02 00:00:00"),
        admission(100, "2150-01-09 00:00:00", None),
        admission(50, "2150-02-01 00:00:00", None),
    ]
    rows = [
        stored_lab(1, "2150-01-01 01:00:00", None, "1", hadm_id=900),
        stored_lab(2, "2150-01-09 01:00:00", None, "2", hadm_id=100),
        # Its admission is still to come.
        stored_lab(3, "2150-01-10 01:00:00", None, "3", hadm_id=50),
    ]
    store = tiny(hosp__admissions=stays, hosp__labevents=rows)
    (found,) = evidence(guarded(tmp_path), store)
    assert cells(found, "hosp.admissions", "hadm_n") == ["1", "2"]
    assert cells(found, "hosp.labevents", "valuenum", "hadm_n", "specimen_n") == [
        ("1", "1", "1"),
        ("2", "2", "2"),
        ("3", None, "3"),
    ]


def test_numbers_do_not_tell_what_is_still_to_come(tmp_path: Path) -> None:
    past = [stored_lab(number, BEFORE, None, "1", hadm_id=None) for number in (5, 6)]
    later = [stored_lab(number, AFTER, None, "9", hadm_id=None) for number in (1, 2, 9)]
    bound = guarded(tmp_path)
    alone = evidence(bound, tiny(hosp__labevents=past))
    with_more = evidence(bound, tiny(hosp__labevents=[*later, *past]))
    assert shown_bytes(alone) == shown_bytes(with_more)


def test_no_id_of_the_study_is_shown(tmp_path: Path) -> None:
    stay = admission(28_000_001, "2150-01-09 00:00:00", None, admit_provider_id="P1234X")
    row = stored_lab(7_700_001, BEFORE, None, "1", hadm_id=28_000_001, order_provider_id="P5678Y")
    row["specimen_id"] = 88_123_456
    store = tiny(hosp__admissions=[stay], hosp__labevents=[row])
    data = shown_bytes(evidence(guarded(tmp_path), store))
    for word in (b"28000001", b"7700001", b"88123456", b"P1234X", b"P5678Y", b"subject_id", b"2150"):
        assert word not in data


# Cells.


def test_age_is_that_of_the_prediction_time(tmp_path: Path) -> None:
    people = [
        patient(1, age=60, year=2140),
        patient(2, gender="M", age=80, year=2141),
        patient(3, age=91, year=2155),
    ]
    found = evidence(
        guarded(tmp_path), tiny(hosp__patients=people), *(at(subject=each) for each in (1, 2, 3))
    )
    assert [each.as_plain()["hosp.patients"]["rows"] for each in found] == [
        [["F", "70"]],
        [["M", "89"]],
        [["F", "91"]],
    ]
    oldest = evidence(guarded(tmp_path / "b"), tiny(hosp__patients=people), at("2151-01-01", subject=2))
    assert cells(oldest[0], "hosp.patients", "age") == ["91"]
    assert headers(oldest[0], "hosp.patients") == ["gender", "age"]


def test_numbers_lose_the_padding_of_their_type(tmp_path: Path) -> None:
    rows = [
        stored_lab(number, BEFORE, None, value)
        for number, value in enumerate(["1.20000000", "100", "0", "-0.5", "0.00000001"])
    ]
    (found,) = evidence(guarded(tmp_path), tiny(hosp__labevents=rows))
    assert cells(found, "hosp.labevents", "valuenum") == ["1.2", "100", "0", "-0.5", "0.00000001"]


def test_dates_and_the_patients_id_inside_text_are_replaced_and_counted(tmp_path: Path) -> None:
    texts = [
        "seen 2150-01-05 10:30, again on 1/6/2150",
        "patient 10000032: value 2150 mL, BP 120/80",
        None,
    ]
    rows = [
        stored_lab(number, BEFORE, None, "1", comments=text, subject_id=10000032)
        for number, text in enumerate(texts)
    ]
    store = tiny(hosp__patients=[patient(10000032)], hosp__labevents=rows)
    (found,) = evidence(guarded(tmp_path), store, at(subject=10000032))
    assert cells(found, "hosp.labevents", "comments") == [
        "seen [date], again on [date]",
        "patient patient: value 2150 mL, BP 120/80",
        None,
    ]
    (told,) = [each for each in removals(found, "hosp.labevents", "always") if "inside" in each.rule]
    assert (told.columns, told.rows) == (("comments",), 2)


@pytest.fixture(scope="module")
def macros() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for text in MACROS:
        connection.execute(text)
    return connection


def written(connection: duckdb.DuckDBPyConnection, text: str) -> str:
    found = connection.execute("SELECT evidence_texts([?], 7)[1]", [text]).fetchone()
    assert found is not None
    return str(found[0])


@pytest.mark.parametrize(
    "text",
    [
        "2150-01-05",
        "2150/1/5",
        "2150-01-05T10:00:00",
        "05.01.2150",
        "1/5/2150",
        "5/6/50",
        "Jan 5, 2150",
        "5th January 2150",
        "sept 2149",
        "since 2148",
        "x2150-01-05",
    ],
)
def test_every_way_of_writing_a_date_is_found(macros: duckdb.DuckDBPyConnection, text: str) -> None:
    result = written(macros, f"a {text}, b")
    assert "[date]" in result
    assert not {"2150", "2149", "2148"} & set(result.replace(",", " ").split())
    assert result.startswith("a ")
    assert result.endswith(", b")


@pytest.mark.parametrize(
    "text",
    ["120/80", "2150 mL", "5/6", "1.2.3", "98.6", "10-12 mg", "may improve", "ratio 1/2", "17/5", "77"],
)
def test_numbers_that_are_no_dates_stay(macros: duckdb.DuckDBPyConnection, text: str) -> None:
    assert written(macros, text) == text


@given(
    st.integers(-(10**9), 10**9),
    st.datetimes(min_value=datetime(2100, 1, 1), max_value=datetime(2200, 1, 1)).map(
        lambda each: each.replace(microsecond=0)
    ),
)
@settings(max_examples=60)
def test_hours_give_back_whole_minutes(
    macros: duckdb.DuckDBPyConnection, seconds: int, moment: datetime
) -> None:
    other = moment + timedelta(seconds=seconds)
    found = macros.execute("SELECT evidence_hours(?, ?)", [other, moment]).fetchone()
    assert found is not None
    text = str(found[0])
    assert abs(float(text) * 3600 - seconds) <= 1.8 + 1e-6
    assert text == f"{float(text):.3f}"
    assert text != "-0.000"
    if seconds % 60 == 0:
        assert round(float(text) * 60) == seconds // 60


# The order.


def test_rows_are_oldest_first_and_ties_in_the_order_of_the_key(tmp_path: Path) -> None:
    rows = [
        stored_lab(30, BEFORE, None, "30"),
        stored_lab(4, BEFORE, None, "4"),
        stored_lab(9, "2150-01-09 00:00:00", None, "9"),
    ]
    (found,) = evidence(guarded(tmp_path), tiny(hosp__labevents=rows))
    assert cells(found, "hosp.labevents", "valuenum") == ["9", "4", "30"]


def test_what_is_hidden_does_not_decide_the_order(tmp_path: Path) -> None:
    def order(drug: str, stop: str) -> dict[str, Any]:
        return {"subject_id": 1, "starttime": BEFORE, "stoptime": stop, "drug": drug}

    early, late = "2150-01-11 00:00:00", "2150-01-12 00:00:00"
    bound = guarded(tmp_path)
    one = evidence(bound, tiny(hosp__prescriptions=[order("A", early), order("B", late)]))
    other = evidence(bound, tiny(hosp__prescriptions=[order("A", late), order("B", early)]))
    assert shown_bytes(one) == shown_bytes(other)
    assert cells(one[0], "hosp.prescriptions", "drug") == ["A", "B"]


def test_evidence_is_in_the_order_of_the_moments(tmp_path: Path) -> None:
    people = [patient(each) for each in (1, 2, 3)]
    rows = [stored_lab(each, BEFORE, None, str(each), subject_id=each) for each in (1, 2, 3)]
    store = tiny(hosp__patients=people, hosp__labevents=rows)
    moments = [at(subject=each) for each in (3, 1, 2, 1)]
    for batch in (1, 2, 64):
        found = evidence(guarded(tmp_path / str(batch)), store, *moments, batch=batch)
        assert [each.moment for each in found] == moments
        assert [cells(each, "hosp.labevents", "valuenum") for each in found] == [["3"], ["1"], ["2"], ["1"]]


def test_evidence_of_nobody_is_nothing(tmp_path: Path) -> None:
    assert list(gather(tiny(), [guarded(tmp_path)], [], families=families())) == []


def test_what_the_database_refuses_is_told_plainly() -> None:
    with contextlib.closing(duckdb.connect()) as connection:
        session = Session(connection)
        with pytest.raises(EvidenceError, match="a table") as failure:
            session.rows("SELECT nothing FROM nowhere", what="a table")
        assert failure.value.code == "evidence-query"
        connection.execute("SET memory_limit = '4MB'; SET temp_directory = ''")
        with pytest.raises(EvidenceError, match="more memory") as failure:
            session.execute("big", "CREATE TEMP TABLE big AS SELECT list(range::VARCHAR) FROM range(2000000)")
        assert failure.value.code == "evidence-memory"


def test_a_guard_on_an_id_leaves_its_numbers_out(tmp_path: Path) -> None:
    rows = [stored_lab(1, BEFORE, None, "1", hadm_id=7)]
    store = tiny(hosp__admissions=[admission(7, "2150-01-09 00:00:00", None)], hosp__labevents=rows)
    (found,) = evidence(guarded(tmp_path, "{table: hosp.labevents, columns: [hadm_id]}"), store)
    assert "hadm_n" not in headers(found, "hosp.labevents")
    assert cells(found, "hosp.admissions", "hadm_n") == ["1"]


def test_a_table_of_patients_that_is_no_evidence_is_not_shown(tmp_path: Path) -> None:
    without = replace(families(), not_evidence=(*families().not_evidence, "hosp.labevents"))
    store = tiny(hosp__labevents=RESULTS)
    (found,) = gather(store, [guarded(tmp_path)], [at()], families=without)
    assert [each.table for each in found.tables] == ["hosp.patients"]


@pytest.mark.parametrize(
    ("guard", "words"),
    [
        ("{family: billing}", "family billing; at any time"),
        (
            "{table: [hosp.poe, hosp.poe_detail], after: index + 1d}",
            "hosp.poe, hosp.poe_detail; after index + 86400s",
        ),
        (
            "{table: hosp.omr, columns: [seq_num], where: {column: result_name, regex: gfr}, before: index}",
            "hosp.omr; columns seq_num; result_name like gfr; before index",
        ),
        (
            "{table: hosp.diagnoses_icd, where: {code: {prefix: [N18], regex: '^N'}}}",
            "hosp.diagnoses_icd; code beginning with N18 or like ^N; at any time",
        ),
        (
            "{table: hosp.diagnoses_icd, where: {icd10: [N18.6], match: exact}, within: [NULL, index]}",
            "hosp.diagnoses_icd; code icd10 N186; from NULL to index",
        ),
        (
            "{table: hosp.labevents, where: {dict: hosp.d_labitems, label_regex: gfr, fluid: [Blood, CSF]}}",
            "hosp.labevents; code whose label is like gfr and whose fluid is Blood or CSF; at any time",
        ),
    ],
)
def test_guards_are_told_in_words(tmp_path: Path, guard: str, words: str) -> None:
    assert guard_words(guarded(tmp_path, guard).label.guards[0]) == words


def test_a_stay_in_the_emergency_department_does_not_tell_that_an_admission_follows(tmp_path: Path) -> None:
    def stay(number: int, start: str, end: str, hadm_id: int) -> dict[str, Any]:
        visit = {"subject_id": 1, "stay_id": number, "hadm_id": hadm_id, "disposition": "ADMITTED"}
        return {**visit, "intime": start, "outtime": end}

    store = tiny(
        hosp__admissions=[
            admission(7, "2150-01-01 06:00:00", "2150-01-02 00:00:00"),
            admission(8, "2150-01-10 13:00:00", None),
        ],
        ed__edstays=[
            stay(30, "2150-01-01 00:00:00", "2150-01-01 06:00:00", 7),
            stay(31, "2150-01-10 10:00:00", "2150-01-10 13:00:00", 8),
        ],
        ed__triage=[
            {"subject_id": 1, "stay_id": number, "chiefcomplaint": text}
            for number, text in ((30, "Fall"), (31, "Fever"))
        ],
        ed__diagnosis=[
            {"subject_id": 1, "stay_id": number, "seq_num": 1, "icd_code": "I10", "icd_version": 10}
            for number in (30, 31)
        ],
    )
    (found,) = evidence(guarded(tmp_path), store)
    assert cells(found, "ed.edstays", "stay_n", "hadm_n", "outtime_h", "disposition") == [
        ("1", "1", "-222.000", "ADMITTED"),
        ("2", None, None, None),
    ]
    assert cells(found, "ed.triage", "stay_n", "chiefcomplaint") == [("1", "Fall"), ("2", "Fever")]
    assert cells(found, "ed.diagnosis", "stay_n") == ["1"]
