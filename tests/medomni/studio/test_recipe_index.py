"""Prediction times other than a trigger's own: of persons, and on grids."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from recipe_builders import (
    TinyRelease,
    admission,
    bound_label,
    lab,
    patient,
    problems,
    release,
    table_of,
    values,
)

PREDICATES = """
predicates:
  creatinine: {table: hosp.labevents, code: 50912, value: valuenum}
  adm: {table: hosp.admissions, interval: [admittime, dischtime]}
  flagged: {table: hosp.admissions, other_cols: {hospital_expire_flag: 1}}
"""
LABS = [lab(n, f"2150-01-{n:02} 12:00:00", value) for n, value in enumerate(("1.0", "2.0", "3.0"), start=1)]
TWO_PEOPLE = [*LABS, lab(9, "2151-05-01 08:00:00", "7", subject_id=2)]


def codes(folder: Path, body: str) -> set[str]:
    return {issue.code for issue in problems(folder, body)}


def people_of(folder: Path, body: str, rows: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
    bound = bound_label(folder, PREDICATES + body)
    people = [patient(n) for n in (1, 2, 3)]
    return table_of(bound, release(bound, hosp__labevents=rows or TWO_PEOPLE, hosp__patients=people))


# Persons.


def test_a_person_is_one_candidate_at_the_first_event(tmp_path: Path) -> None:
    body = """
trigger: person
index: {time: first(creatinine.time) + 1d}
windows:
  past: {start: NULL, end: index, start_inclusive: true, end_inclusive: true, agg: {n: count(creatinine)}}
value: n
"""
    found = people_of(tmp_path, body)
    assert [(row["subject"], row["time"], row["value"], row["key"]) for row in found] == [
        (1, datetime(2150, 1, 2, 12), 2, "1"),
        (2, datetime(2151, 5, 2, 8), 1, "2"),
    ]


def test_a_person_may_be_judged_when_the_record_is_over(tmp_path: Path) -> None:
    """As in a cross-sectional study: everything up to the last measurement, and nothing after it."""
    body = """
trigger: person
index: {time: last(creatinine.time)}
windows:
  wear:
    start: first(creatinine.time)
    end: last(creatinine.time)
    start_inclusive: true
    end_inclusive: true
    agg: {n: count(creatinine), total: sum(creatinine.value)}
where: ["trigger.gender == 'F'", "age_at(index) >= 18"]
value: "total / n"
"""
    assert [row["value"] for row in people_of(tmp_path, body)] == [2.0, 7.0]


AFTER = "{start: %s, end: %s, start_inclusive: true, end_inclusive: true, %sagg: {n: count(%s)}}"
OUTCOME = "role: outcome, "


@pytest.mark.parametrize(
    "rest",
    [
        f"windows: {{w: {AFTER % ('index', 'index + 1d', OUTCOME, 'creatinine')}}}\nvalue: n\n",
        f"windows: {{w: {AFTER % ('NULL', 'NULL', OUTCOME, 'creatinine')}}}\nvalue: n\n",
        f"windows: {{w: {AFTER % ('NULL', 'index', '', 'flagged')}}}\nvalue: n\n",
        'value: "patient.dod <= index"\n',
    ],
)
def test_nothing_may_follow_a_last_event(tmp_path: Path, rest: str) -> None:
    """That it was the last is only known afterwards: survivors and deaths would get other moments."""
    assert "recipe-outcome-index" in codes(
        tmp_path, PREDICATES + "trigger: person\nindex: {time: last(adm.time)}\n" + rest
    )


def test_a_persons_moment_may_be_a_day_of_the_patient(tmp_path: Path) -> None:
    body = 'trigger: person\nindex: {time: patient.dod + 1d}\nwhere: ["patient.dod < index"]\nvalue: "1"\n'
    bound = bound_label(tmp_path, body)
    people = [{**patient(1), "dod": "2150-03-01"}, patient(2)]
    found = table_of(bound, release(bound, hosp__patients=people))
    assert [(row["subject"], row["time"], row["eligible"]) for row in found] == [
        (1, datetime(2150, 3, 2), True)
    ]


@pytest.mark.parametrize(
    ("index", "code"),
    [
        ("{time: trigger}", "recipe-index-unsupported"),
        ("{time: admission.dischtime}", "recipe-index-unsupported"),
        ("{time: first(adm.time) -> creatinine}", "recipe-index-unsupported"),
        ("{side: at}", "recipe-index-missing"),
        ("{time: patient.gender}", "recipe-type"),
        ("{time: patient.nothing}", "recipe-column-unknown"),
        ("{time: patient.dod}", "recipe-outcome-index"),
        ("{time: first(flagged.time)}", "recipe-outcome-index"),
        ("{time: first(nothing.time)}", "recipe-predicate-unknown"),
        ("{time: first(adm.time) - 1h}", "recipe-outcome-index"),
        ("{grid: {start: trigger, end: trigger, every: 1h}, pick: hash}", "recipe-grid"),
    ],
)
def test_moments_that_no_person_has_are_refused(tmp_path: Path, index: str, code: str) -> None:
    assert code in codes(tmp_path, f'{PREDICATES}trigger: person\nindex: {index}\nvalue: "1"\n')


def test_a_window_at_another_first_event_is_an_outcome(tmp_path: Path) -> None:
    body = """
trigger: person
index: {time: first(adm.time)}
windows:
  w:
    {start: first(adm.time), end: first(creatinine.time), start_inclusive: true, end_inclusive: true,
     agg: {n: count(adm)}}
value: n
"""
    assert codes(tmp_path, PREDICATES + body) == {"recipe-outcome-undeclared"}
    (tmp_path / "told").mkdir()
    assert codes(tmp_path / "told", PREDICATES + body.replace("agg:", "role: outcome, agg:")) == set()


@pytest.mark.parametrize("name", ["person", "sql"])
def test_names_with_a_meaning_of_their_own_are_refused(tmp_path: Path, name: str) -> None:
    body = f"predicates: {{{name}: {{table: hosp.admissions}}, a: {{table: hosp.admissions}}}}\n"
    body += 'trigger: a\nindex: {time: trigger}\nvalue: "1"\n'
    assert "recipe-name-reserved" in codes(tmp_path, body)


def test_bounds_may_stand_at_a_patients_first_event_and_the_next(tmp_path: Path) -> None:
    """The first creatinine is of 1 January, the next one 25 hours after it of 3 January."""
    body = """
trigger: creatinine
index: {time: trigger}
windows:
  w:
    {start: first(creatinine.time), end: first(creatinine.time) + 25h -> creatinine, start_inclusive: true,
     end_inclusive: true, role: outcome, agg: {n: count(creatinine)}}
value: n
"""
    bound = bound_label(tmp_path, PREDICATES + body)
    assert values(bound, release(bound, hosp__labevents=LABS)) == [3, 3, 3]


# Grids.

GRID = """
trigger: adm
index: {grid: {start: trigger + 1d, end: trigger.dischtime, every: 12h}, pick: hash}
windows:
  day:
    {start: index - 1d, end: index, start_inclusive: false, end_inclusive: true, agg: {n: count(creatinine)}}
value: n
"""


def on_grid(folder: Path, body: str, admissions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    bound = bound_label(folder, PREDICATES + body)
    return table_of(bound, release(bound, hosp__labevents=LABS, hosp__admissions=admissions))


def test_a_grid_goes_from_its_start_in_even_steps_to_its_end(tmp_path: Path) -> None:
    stays = [
        admission(7, "2150-01-01 12:00:00", "2150-01-03 12:00:00"),
        admission(8, "2150-02-01 12:00:00", "2150-02-02 11:59:59"),  # ends before the first moment
        admission(9, "2150-03-01 12:00:00", None),  # no end, no moments
    ]
    found = on_grid(tmp_path, GRID, stays)
    assert [(row["time"], row["value"], row["key"]) for row in found] == [
        (datetime(2150, 1, 2, 12), 1, "7"),
        (datetime(2150, 1, 3, 0), 1, "7"),
        (datetime(2150, 1, 3, 12), 1, "7"),
    ]


def test_moments_before_the_trigger_are_none(tmp_path: Path) -> None:
    """Whoever is discharged was admitted: before it, nobody knows that there will be a discharge."""
    body = GRID.replace("trigger: adm", "trigger: left").replace(
        "{start: trigger + 1d, end: trigger.dischtime, every: 12h}",
        "{start: trigger.admittime, end: trigger + 12h, every: 12h}",
    )
    body = PREDICATES + "  left: {table: hosp.admissions, time: dischtime}\n" + body
    bound = bound_label(tmp_path, body)
    stays = [admission(7, "2150-01-01 12:00:00", "2150-01-02 13:00:00")]
    found = table_of(bound, release(bound, hosp__labevents=LABS, hosp__admissions=stays))
    assert [row["time"] for row in found] == [datetime(2150, 1, 3, 0)]


@pytest.mark.parametrize(
    ("grid", "code"),
    [
        ("start: trigger - 1s, end: trigger.dischtime, every: 1h", "recipe-outcome-index"),
        ("start: trigger, end: trigger.dischtime - 1s, every: 1h", "recipe-outcome-index"),
        ("start: trigger, end: patient.dod, every: 1h", "recipe-outcome-index"),
        ("start: trigger, end: trigger.race, every: 1h", "recipe-type"),
        ("start: trigger, end: trigger -> creatinine, every: 1h", "recipe-index-unsupported"),
        ("start: trigger, end: last(creatinine.time), every: 1h", "recipe-index-unsupported"),
        ("start: index, end: trigger + 1d, every: 1h", "recipe-index-unsupported"),
        ("start: trigger, end: nothing.dischtime, every: 1h", "recipe-name-unknown"),
        ("start: trigger, end: trigger + 1d, every: 0.5s", "recipe-grid"),
        ("start: trigger, end: trigger + 1d, every: 1y", "recipe-syntax"),
        ("start: trigger, end: trigger + 1d", "label-required"),
    ],
)
def test_grids_that_the_future_would_choose_are_refused(tmp_path: Path, grid: str, code: str) -> None:
    body = f'{PREDICATES}trigger: adm\nindex: {{grid: {{{grid}}}, pick: hash}}\nvalue: "1"\n'
    assert code in codes(tmp_path, body)


@pytest.mark.parametrize(
    "index",
    [
        "{grid: {start: trigger, end: trigger + 1d, every: 1h}}",
        "{time: trigger, pick: hash}",
        "{time: trigger, grid: {start: trigger, end: trigger + 1d, every: 1h}, pick: hash}",
    ],
)
def test_a_grid_and_its_pick_belong_together(tmp_path: Path, index: str) -> None:
    assert "recipe-grid" in codes(tmp_path, f'{PREDICATES}trigger: adm\nindex: {index}\nvalue: "1"\n')


def test_what_a_trigger_measures_may_be_the_answer_of_the_first_moment(tmp_path: Path) -> None:
    """Strictly before a moment that can be the trigger's own, its value is not known yet."""
    grid = "index: {{side: before, grid: {{start: {}, end: trigger + 1d, every: 1h}}, pick: hash}}\n"
    rest = 'where: ["trigger.value > 1"]\nvalue: "1"\n'
    body = PREDICATES + "trigger: creatinine\n"
    assert "recipe-outcome-early" in codes(tmp_path, body + grid.format("trigger") + rest)
    (tmp_path / "later").mkdir()
    assert codes(tmp_path / "later", body + grid.format("trigger + 1h") + rest) == set()


def test_a_predicate_with_a_moment_of_its_own_may_start_a_prediction(tmp_path: Path) -> None:
    bound = bound_label(
        tmp_path, PREDICATES + 'trigger: adm\nindex: {time: trigger.start + 1h}\nvalue: "1"\n'
    )
    stays = [admission(7, "2150-01-01 12:00:00", None)]
    store: TinyRelease = release(bound, hosp__admissions=stays)
    assert [row["time"] for row in table_of(bound, store)] == [datetime(2150, 1, 1, 13)]


# How late a bound can be.

BOUNDS = """
trigger: creatinine
index: {time: trigger}
windows:
  early: {start: index - 3d, end: index - 1d, start_inclusive: true, end_inclusive: true}
  w: {start: NULL, end: END, start_inclusive: true, end_inclusive: true, agg: {n: count(creatinine)}}
value: n
"""


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("early.end", None),
        ("early.start + 3d", None),
        ("early.end + 1d", None),
        ("early.end + 25h", "recipe-outcome-undeclared"),
        ("admission.dischtime", "recipe-outcome-undeclared"),
        ("patient.gender", "recipe-type"),
        ("NULL", "recipe-outcome-undeclared"),
        ("w.end", "recipe-circle"),
        ("index -> creatinine", "recipe-outcome-undeclared"),
    ],
)
def test_how_late_a_window_can_end_is_known_from_its_text(tmp_path: Path, end: str, code: str | None) -> None:
    assert codes(tmp_path, PREDICATES + BOUNDS.replace("END", end)) == ({code} if code else set())


def test_one_person_is_explained(tmp_path: Path) -> None:
    body = 'trigger: person\nindex: {time: first(creatinine.time)}\nvalue: "1"\n'
    bound = bound_label(tmp_path, PREDICATES + body)
    people = [patient(n) for n in (1, 2)]
    found = table_of(bound, release(bound, hosp__labevents=TWO_PEOPLE, hosp__patients=people), subject=2)
    assert [row["subject"] for row in found] == [2]


def test_a_person_at_a_column_knows_it_then(tmp_path: Path) -> None:
    body = 'trigger: person\nindex: {time: patient.dod + 1d}\nvalue: "1"\n'
    body += 'where: ["patient.dod == date(index) - 1d"]\n'
    bound = bound_label(tmp_path, body)
    found = table_of(bound, release(bound, hosp__patients=[{**patient(1), "dod": "2150-03-01"}]), subject=1)
    assert [row["eligible"] for row in found] == [True]
