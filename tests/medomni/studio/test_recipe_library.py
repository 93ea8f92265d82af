"""Golden cases of the library's functions: small records whose answers are worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from recipe_builders import (
    CREATININE,
    TinyRelease,
    admission,
    bound_label,
    lab,
    patient,
    release,
    table_of,
    values,
)

from medomni.studio.errors import RecipeError
from medomni.studio.recipe import library

KDIGO = (
    CREATININE
    + """
index: {time: trigger}
windows:
  week:
    start: index - 7d
    end: index
    start_inclusive: true
    end_inclusive: true
    agg: {base: min(creatinine.value)}
let: {stage: "kdigo_creatinine@1(base, index, index + 48h, false)"}
value: "stage"
"""
)


def kdigo(tmp_path: Path, rows: list[dict[str, Any]], **more: Any) -> Any:
    bound = bound_label(tmp_path, KDIGO)
    return values(bound, release(bound, hosp__labevents=rows, **more))[0]


@pytest.mark.parametrize(
    ("first", "second", "stage"),
    [
        # Case EH-12: a rise of 0.3 is a rise of 0.3 at any value, and 4.0 alone is none.
        ("3.9", "5.0", 3), ("4.2", "4.3", 0), ("1.0", "3.0", 3), ("1.0", "1.3", 1),
        ("1.1", "1.4", 1), ("0.4", "0.6", 1), ("1.0", "2.0", 2), ("1.0", "1.2", 0), ("1.0", "2.9", 2),
        ("3.8", "4.1", 3), ("3.71", "4.0", 0),
    ],
)  # fmt: skip
def test_kdigo_stages_two_values_a_day_apart(tmp_path: Path, first: str, second: str, stage: int) -> None:
    assert (
        kdigo(tmp_path, [lab(1, "2150-01-01 00:00:00", first), lab(2, "2150-01-02 00:00:00", second)])
        == stage
    )


def test_kdigo_takes_the_worst_of_the_window_and_leaves_its_start_out(tmp_path: Path) -> None:
    rows = [
        lab(1, "2150-01-01 00:00:00", "1.0"),
        lab(2, "2150-01-02 00:00:00", "2.5"),
        lab(3, "2150-01-02 12:00:00", "1.6"),
        lab(4, "2150-01-03 00:00:01", "9.0"),
    ]
    assert kdigo(tmp_path, rows) == 2


def test_kdigo_counts_the_start_of_dialysis_as_stage_three(tmp_path: Path) -> None:
    rows = [lab(1, "2150-01-01 00:00:00", "1.0"), lab(2, "2150-01-02 00:00:00", "1.0")]
    for number, (start, item, stage) in enumerate(
        [
            ("2150-01-02 00:00:00", 225802, 3),
            ("2150-01-01 00:00:00", 225802, 0),
            ("2150-01-03 00:00:00", 225802, 3),
            ("2150-01-03 00:00:01", 225802, 0),
            ("2150-01-02 00:00:00", 224270, 0),
        ]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        treated = [
            {"subject_id": 1, "hadm_id": 1, "stay_id": 1, "starttime": start, "itemid": item, "orderid": 1}
        ]
        assert kdigo(folder, rows, icu__procedureevents=treated) == stage


def test_kdigo_without_a_table_of_procedures_uses_creatinine_alone(tmp_path: Path) -> None:
    assert kdigo(tmp_path, [lab(1, "2150-01-01 00:00:00", "1.0"), lab(2, "2150-01-02 00:00:00", "2.0")]) == 2


MELD = """
predicates:
  creatinine: {table: hosp.labevents, code: {any: [50912]}, value: valuenum}
  bilirubin: {table: hosp.labevents, code: {any: [50885]}, value: valuenum}
  inr: {table: hosp.labevents, code: {any: [51237]}, value: valuenum}
  sodium: {table: hosp.labevents, code: {any: [50983]}, value: valuenum}
trigger: creatinine
index: {time: trigger, side: before}
windows:
  day:
    start: index
    end: index + 24h
    start_inclusive: true
    end_inclusive: true
    role: outcome
    agg:
      cr: first(creatinine.value)
      bili: first(bilirubin.value)
      i: first(inr.value)
      na: first(sodium.value)
let: {score: "meld_na@1(cr, bili, i, na)"}
value: "score"
"""


def meld(tmp_path: Path, ingredients: tuple[str, str, str, str], treated: list[dict[str, Any]]) -> Any:
    bound = bound_label(tmp_path, MELD)
    items = (50912, 50885, 51237, 50983)
    rows = [
        lab(n, "2150-01-10 00:00:00", value, itemid=item, unit=None)
        for n, (item, value) in enumerate(zip(items, ingredients, strict=True))
    ]
    return values(bound, release(bound, hosp__labevents=rows, icu__procedureevents=treated))[0]


@pytest.mark.parametrize(
    ("ingredients", "score"),
    [
        (("1.0", "1.0", "1.0", "140"), 6),  # 0.643 -> 6.4 -> 6
        (("0.5", "0.3", "0.9", "120"), 6),  # all floored; at most 11, so sodium does not count
        (
            ("2.0", "3.0", "1.5", "137"),
            22,
        ),  # 0.663 + 0.415 + 0.454 + 0.643 = 2.176 -> 22; sodium 137 adds nothing
        (("2.0", "3.0", "1.5", "130"), 26),  # 22 + 9.24 - 5.082 = 26.158
        (("9.0", "40.0", "9.0", "120"), 40),  # capped
        (("4.0", "1.0", "1.0", "137"), 20),  # 1.327 + 0.643 = 1.970 -> 20
    ],
)
def test_meld_na_of_worked_examples(
    tmp_path: Path, ingredients: tuple[str, str, str, str], score: int
) -> None:
    assert meld(tmp_path, ingredients, []) == score


def session(start: str, end: str, itemid: int) -> dict[str, Any]:
    return {"subject_id": 1, "hadm_id": 1, "stay_id": 1, "starttime": start, "endtime": end, "itemid": itemid}


@pytest.mark.parametrize(
    ("treated", "score"),
    [
        ([("2150-01-05 00:00:00", "2150-01-05 04:00:00", 225441)], 6),
        ([("2150-01-05 00:00:00", "2150-01-05 04:00:00", 225441)] * 2, 20),
        ([("2150-01-02 23:59:59", "2150-01-03 01:00:00", 225441)] * 2, 6),
        ([("2150-01-10 00:00:00", "2150-01-10 01:00:00", 225441)] * 2, 6),
        ([("2150-01-05 00:00:00", "2150-01-06 00:00:00", 225802)], 20),
        ([("2150-01-05 00:00:00", "2150-01-05 23:59:59", 225802)], 6),
        ([("2150-01-01 00:00:00", "2150-01-03 23:00:00", 225802)], 6),
        ([("2150-01-01 00:00:00", "2150-01-04 00:00:00", 225802)], 20),
        ([("2150-01-05 00:00:00", "2150-01-05 23:00:00", 225441)], 6),
    ],
)
def test_meld_na_counts_dialysis_of_the_week_before(
    tmp_path: Path, treated: list[tuple[str, str, int]], score: int
) -> None:
    assert meld(tmp_path, ("1.0", "1.0", "1.0", "140"), [session(*each) for each in treated]) == score


def test_overlapping_continuous_dialysis_is_not_counted_twice(tmp_path: Path) -> None:
    rows = [session("2150-01-01 00:00:00", "2150-01-03 20:00:00", 225802),
            session("2150-01-01 06:00:00", "2150-01-03 22:00:00", 225809)]  # fmt: skip
    assert meld(tmp_path, ("1.0", "1.0", "1.0", "140"), rows) == 6


EPISODES = """
predicates: {episode: {function: merged_admissions@1}}
trigger: episode
index: {time: trigger.episode_end}
windows:
  month:
    start: index
    end: index + 30d
    start_inclusive: false
    end_inclusive: true
    role: outcome
    agg: {returns: "count(episode, is_first == 1)"}
where: [{last: "trigger.is_last == 1"}]
value: "returns"
"""


def test_readmission_counts_from_the_discharge_and_by_time(tmp_path: Path) -> None:
    """Case EH-09: a stay of 50 days, readmitted 18 days after its discharge, ids in reverse order."""
    bound = bound_label(tmp_path, EPISODES)
    store = release(
        bound,
        hosp__patients=[patient(9701), patient(9702)],
        hosp__admissions=[
            admission(30, "2150-01-01 00:00:00", "2150-02-20 00:00:00", subject_id=9701),
            admission(20, "2150-03-10 00:00:00", "2150-03-12 00:00:00", subject_id=9701),
            admission(40, "2150-01-01 00:00:00", "2150-01-05 00:00:00", subject_id=9702),
            admission(10, "2150-04-01 00:00:00", "2150-04-03 00:00:00", subject_id=9702),
        ],
    )
    assert [(row["key"], row["value"]) for row in table_of(bound, store)] == [
        ("30", 1),
        ("20", 0),
        ("40", 0),
        ("10", 0),
    ]


def test_admissions_less_than_a_day_apart_are_one_episode(tmp_path: Path) -> None:
    bound = bound_label(tmp_path, EPISODES)
    store = release(
        bound,
        hosp__admissions=[
            admission(1, "2150-01-01 00:00:00", "2150-01-09 00:00:00"),
            admission(2, "2150-01-02 00:00:00", "2150-01-03 00:00:00"),
            admission(3, "2150-01-09 23:59:59", "2150-01-11 00:00:00"),
            admission(4, "2150-01-12 00:00:00", "2150-01-13 00:00:00"),
        ],
    )
    found = [(row["key"], row["last"], str(row["time"]), row["value"]) for row in table_of(bound, store)]
    end, after = "2150-01-11 00:00:00", "2150-01-13 00:00:00"
    assert found == [("1", False, end, 1), ("2", False, end, 1), ("3", True, end, 1), ("4", True, after, 0)]


SUSPECTED = """
predicates: {suspicion: {function: suspicion_of_infection@1}}
trigger: suspicion
index: {time: trigger.known_time}
value: "trigger.time - trigger.order_time"
"""


def order(
    start: str, *, drug: str = "Vancomycin", route: str | None = "IV", drug_type: str = "MAIN"
) -> dict[str, Any]:
    return {
        "subject_id": 1, "hadm_id": 1, "pharmacy_id": 1, "starttime": start, "drug": drug, "route": route,
        "drug_type": drug_type,
    }  # fmt: skip


def culture(day: str, time: str | None) -> dict[str, Any]:
    return {
        "microevent_id": 1,
        "subject_id": 1,
        "micro_specimen_id": 1,
        "chartdate": f"{day} 00:00:00",
        "charttime": time,
    }


@pytest.mark.parametrize(
    ("cultured", "hours"),
    [
        (("2150-01-10", "2150-01-10 12:00:00"), 0),
        (("2150-01-07", "2150-01-07 12:00:00"), -72),
        (("2150-01-07", "2150-01-07 11:59:59"), None),
        (("2150-01-10", "2150-01-10 12:00:01"), 0),
        (("2150-01-11", "2150-01-11 12:00:00"), 0),
        (("2150-01-11", "2150-01-11 12:00:01"), None),
        (("2150-01-10", None), -12),
        (("2150-01-07", None), -84),
        (("2150-01-06", None), None),
        (("2150-01-11", None), 0),
        (("2150-01-12", None), None),
    ],
)
def test_a_suspicion_is_the_first_of_an_antibiotic_and_a_culture(
    tmp_path: Path, cultured: tuple[str, str | None], hours: int | None
) -> None:
    bound = bound_label(tmp_path, SUSPECTED)
    store = release(
        bound,
        hosp__prescriptions=[order("2150-01-10 12:00:00")],
        hosp__microbiologyevents=[culture(*cultured)],
    )
    assert values(bound, store) == ([] if hours is None else [hours * 3600])


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        ({}, 1), ({"drug": "aspirin"}, 0), ({"drug": "PIPERACILLIN-Tazobactam"}, 1), ({"route": None}, 0),
        ({"route": "TP"}, 0), ({"route": "LEFT EYE"}, 0), ({"route": "both ears"}, 0),
        ({"drug_type": "BASE"}, 0),
        ({"drug": "Vancomycin Oral Gel"}, 0), ({"drug": "Erythromycin 0.5% Ophth Oint"}, 0),
        ({"drug": "Penicillin Desensitization"}, 0),
    ],
)  # fmt: skip
def test_only_systemic_antibiotics_count(tmp_path: Path, change: dict[str, Any], counts: int) -> None:
    bound = bound_label(tmp_path, SUSPECTED)
    store = release(
        bound,
        hosp__prescriptions=[order("2150-01-10 12:00:00", **change)],
        hosp__microbiologyevents=[culture("2150-01-10", "2150-01-10 11:00:00")],
    )
    assert len(values(bound, store)) == counts


SOFA = """
predicates: {score: {function: sofa24@1}}
trigger: score
index: {time: trigger}
value: "trigger.value"
"""


def chart(time: str, itemid: int, value: str, words: str | None = None) -> dict[str, Any]:
    return {
        "subject_id": 1, "hadm_id": 1, "stay_id": 1, "charttime": time, "itemid": itemid, "valuenum": value,
        "value": words or value,
    }  # fmt: skip


def scores(tmp_path: Path, rows: list[dict[str, Any]], **more: Any) -> list[int]:
    """The score of hours 0 to 3 of a stay that begins at 10:30."""
    bound = bound_label(tmp_path, SOFA)
    beats = [chart("2150-01-10 10:30:00", 220045, "80"), chart("2150-01-10 13:10:00", 220045, "80")]
    stay = {"subject_id": 1, "hadm_id": 1, "stay_id": 1, "intime": "2150-01-10 10:00:00"}
    store = release(bound, icu__icustays=[stay], icu__chartevents=[*beats, *rows], **more)
    found = table_of(bound, store)
    assert [str(row["time"])[11:13] for row in found] == ["11", "12", "13", "14"]
    return [int(row["value"]) for row in found]


def drawn(time: str, itemid: int, value: str, number: int = 1, **more: Any) -> dict[str, Any]:
    return lab(number, time, value, itemid=itemid, unit=None, **more)


@pytest.mark.parametrize(
    ("itemid", "value", "points"),
    [
        (51265, "150", 0), (51265, "149", 1), (51265, "99", 2), (51265, "49", 3), (51265, "19", 4),
        (50885, "1.1", 0), (50885, "1.2", 1), (50885, "2.0", 2), (50885, "6.0", 3), (50885, "12.0", 4),
        (50912, "1.2", 1), (50912, "2.0", 2), (50912, "3.5", 3), (50912, "5.0", 4),
    ],
)  # fmt: skip
def test_sofa_scores_laboratory_values_from_their_hour_on(
    tmp_path: Path, itemid: int, value: str, points: int
) -> None:
    rows = [drawn("2150-01-10 11:30:00", itemid, value)]
    assert scores(tmp_path, [], hosp__labevents=rows) == [0, points, points, points]


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("2150-01-09 11:00:01", [2, 0, 0, 0]),
        ("2150-01-09 12:00:00", [2, 0, 0, 0]),
        ("2150-01-09 12:00:01", [2, 2, 0, 0]),
        ("2150-01-09 11:00:00", [0, 0, 0, 0]),
        ("2150-01-09 10:00:00", [0, 0, 0, 0]),
        ("2150-01-10 11:00:00", [2, 2, 2, 2]),
        ("2150-01-10 11:00:01", [0, 2, 2, 2]),
        ("2150-01-10 14:00:01", [0, 0, 0, 0]),
    ],
)
def test_sofa_keeps_a_score_for_its_hour_and_the_23_after(
    tmp_path: Path, time: str, expected: list[int]
) -> None:
    assert scores(tmp_path, [], hosp__labevents=[drawn(time, 50912, "2.0")]) == expected


def test_sofa_adds_organs_and_takes_the_worst_of_each(tmp_path: Path) -> None:
    labs = [drawn("2150-01-10 10:40:00", 50912, "2.0", 1), drawn("2150-01-10 10:41:00", 50912, "1.3", 2),
            drawn("2150-01-10 10:42:00", 51265, "90", 3)]  # fmt: skip
    pressure = [chart("2150-01-10 12:30:00", 220052, "60"), chart("2150-01-10 12:31:00", 220181, "0")]
    assert scores(tmp_path, pressure, hosp__labevents=labs) == [4, 4, 5, 5]


def test_sofa_averages_pressures_of_one_moment(tmp_path: Path) -> None:
    at = "2150-01-10 10:40:00"
    assert scores(tmp_path, [chart(at, 220052, "60"), chart(at, 220181, "80")])[0] == 0
    (tmp_path / "low").mkdir()
    assert scores(tmp_path / "low", [chart(at, 220052, "60"), chart(at, 220181, "79")])[0] == 1


@pytest.mark.parametrize(
    ("parts", "points"),
    [
        ([(220739, "4"), (223900, "5"), (223901, "6")], 0),
        ([(220739, "3"), (223900, "5"), (223901, "6")], 1),
        ([(220739, "1"), (223900, "1"), (223901, "6")], 3),
        ([(220739, "1"), (223900, "1"), (223901, "1")], 4),
        ([(220739, "3")], 1),
    ],
)
def test_sofa_scores_the_coma_scale(tmp_path: Path, parts: list[tuple[int, str]], points: int) -> None:
    rows = [chart("2150-01-10 10:40:00", item, value) for item, value in parts]
    assert scores(tmp_path, rows)[0] == points


def test_sofa_takes_a_tube_for_a_normal_coma_scale_and_carries_parts_for_six_hours(tmp_path: Path) -> None:
    tube = [
        chart("2150-01-10 10:40:00", 223900, "1", "No Response-ETT"),
        chart("2150-01-10 10:40:00", 220739, "1"),
    ]
    assert scores(tmp_path, tube)[0] == 0
    (tmp_path / "carried").mkdir()
    rows = [chart("2150-01-10 10:40:00", 223901, "1"), chart("2150-01-10 11:40:00", 220739, "4")]
    assert scores(tmp_path / "carried", rows) == [2, 2, 2, 2]


@pytest.mark.parametrize(
    ("oxygen", "inspired", "ventilated", "points"),
    [
        ("90", "0.21", False, 0), ("80", "0.21", False, 1), ("60", "21", False, 2), ("60", "100", False, 2),
        ("60", "100", True, 4), ("60", "0.4", True, 3), ("60", "15", True, 0),
    ],
)  # fmt: skip
def test_sofa_scores_oxygen_over_its_inspired_fraction(
    tmp_path: Path, oxygen: str, inspired: str, ventilated: bool, points: int
) -> None:
    rows = [chart("2150-01-10 10:50:00", 220224, oxygen), chart("2150-01-10 10:00:00", 223835, inspired)]
    span = session("2150-01-10 10:00:00", "2150-01-10 20:00:00", 225792)
    assert scores(tmp_path, rows, icu__procedureevents=[span] if ventilated else [])[0] == points


def test_sofa_takes_arterial_samples_of_the_laboratory_and_no_untyped_ones(tmp_path: Path) -> None:
    at = "2150-01-10 10:50:00"
    gases = [drawn(at, 50821, "60", 1, specimen_id=7), drawn(at, 50816, "100", 2, specimen_id=7)]
    bedside = [chart(at, 220224, "500")]
    assert scores(tmp_path, bedside, hosp__labevents=gases)[0] == 0
    (tmp_path / "typed").mkdir()
    typed = [*gases, lab(3, at, None, itemid=52033, unit=None, specimen_id=7) | {"value": "ART."}]
    assert scores(tmp_path / "typed", bedside, hosp__labevents=typed)[0] == 2


@pytest.mark.parametrize(
    ("itemid", "rate", "unit", "points"),
    [
        (221906, "0.1", "mcg/kg/min", 3), (221906, "0.11", "mcg/kg/min", 4),
        (221289, "0.05", "mcg/kg/min", 3),
        (221662, "5", "mcg/kg/min", 2), (221662, "6", "mcg/kg/min", 3), (221662, "16", "mcg/kg/min", 4),
        (221653, "3", "mcg/kg/min", 2), (221906, "0.001", "mg/kg/min", 4), (221906, "1", "units/hour", 0),
    ],
)  # fmt: skip
def test_sofa_scores_vasopressors_while_they_run(
    tmp_path: Path, itemid: int, rate: str, unit: str, points: int
) -> None:
    row = {
        "subject_id": 1, "hadm_id": 1, "stay_id": 1, "starttime": "2150-01-10 11:30:00",
        "endtime": "2150-01-10 11:40:00",
        "itemid": itemid, "rate": rate, "rateuom": unit, "orderid": 1, "patientweight": "80",
    }  # fmt: skip
    assert scores(tmp_path, [], icu__inputevents=[row]) == [0, points, points, points]


def test_sofa_scores_the_urine_of_a_day(tmp_path: Path) -> None:
    bound = bound_label(tmp_path, SOFA)
    stay = {"subject_id": 1, "hadm_id": 1, "stay_id": 1, "intime": "2150-01-10 00:00:00"}
    beats = [chart("2150-01-10 00:00:00", 220045, "80"), chart("2150-01-11 02:00:00", 220045, "80")]
    rows = [
        {"subject_id": 1, "hadm_id": 1, "stay_id": 1, "charttime": f"2150-01-{day} {hour:02}:00:00",
         "itemid": 226559,
         "value": "15"}
        for day, hour in [("10", hour) for hour in range(1, 24)] + [("11", 0), ("11", 1)]
    ]  # fmt: skip
    found = table_of(
        bound, release(bound, icu__icustays=[stay], icu__chartevents=beats, icu__outputevents=rows)
    )
    assert [int(row["value"]) for row in found][20:] == [0, 0, 3, 3, 3, 3, 3]


def test_onset_is_the_later_of_suspicion_and_organ_failure(tmp_path: Path) -> None:
    body = """
predicates: {stay: {table: icu.icustays, interval: [intime, outtime]}}
trigger: stay
index: {time: trigger + 1h}
let: {onset: "sepsis3_onset@1()"}
value: "onset - trigger.time"
"""
    bound = bound_label(tmp_path, body)
    stay = {
        "subject_id": 1,
        "hadm_id": 1,
        "stay_id": 1,
        "intime": "2150-01-10 10:00:00",
        "outtime": "2150-01-12 00:00:00",
    }
    store = release(
        bound,
        icu__icustays=[stay],
        icu__chartevents=[
            chart("2150-01-10 10:30:00", 220045, "80"),
            chart("2150-01-10 20:00:00", 220045, "80"),
        ],
        hosp__labevents=[drawn("2150-01-10 14:30:00", 50912, "2.0")],
        hosp__prescriptions=[order("2150-01-10 12:00:00")],
        hosp__microbiologyevents=[culture("2150-01-10", "2150-01-10 11:00:00")],
    )
    found = table_of(bound, store)[0]
    assert (found["value"], found["eligible"]) == (5 * 3600, True)
    nobody = TinyRelease({**store.rows, "hosp.prescriptions": []}, store.definitions)
    assert table_of(bound, nobody)[0]["eligible"] is False


def test_functions_are_named_with_their_version() -> None:
    assert library.names() == [
        "kdigo_creatinine@1", "meld_na@1", "merged_admissions@1", "sepsis3_onset@1", "sofa24@1",
        "suspicion_of_infection@1",
    ]  # fmt: skip
    with pytest.raises(RecipeError, match="kdigo_creatinine@2") as caught:
        library.value_function("kdigo_creatinine", 2)
    assert caught.value.hint == "versions of kdigo_creatinine: 1"
    with pytest.raises(RecipeError) as other:
        library.events_function("meld_na", 1)
    assert "let" in other.value.hint
    with pytest.raises(RecipeError) as none:
        library.events_function("apache", 2)
    assert "sofa24@1" in none.value.hint
