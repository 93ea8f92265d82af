"""The static check: what may tell the future is refused wherever a label chooses its moments."""

from __future__ import annotations

from pathlib import Path

import pytest
from recipe_builders import CREATININE, bound_label, problems

STRICT = CREATININE + "index: {time: trigger, side: before}\n"
PAST = "{start: trigger - 7d, end: trigger, start_inclusive: true, end_inclusive: false"
HOLDING = "{start: trigger - 7d, end: trigger, start_inclusive: true, end_inclusive: true"
ICU = """
predicates:
  stay: {table: icu.icustays, interval: [intime, outtime]}
  creatinine: {table: hosp.labevents, code: {any: [50912]}, value: valuenum}
  admission: {table: hosp.admissions}
  died: {table: hosp.admissions, other_cols: {hospital_expire_flag: 1}}
  died_known: {table: hosp.admissions, other_cols: {hospital_expire_flag: 1}, time: dischtime}
  suspicion: {function: suspicion_of_infection@1}
trigger: stay
index: {time: trigger + 24h}
"""


def codes(folder: Path, body: str) -> set[str]:
    return {issue.code for issue in problems(folder, body)}


@pytest.mark.parametrize(
    "rule",
    [
        "trigger.value > 1",
        "trigger.comments == 'x'",
        "week_max > 1",
        "doubled > 1",
        "twice(trigger.value) > 1",
        "patient.dod > index",
        "admission.dischtime - admission.admittime >= 24h",
        "admission.hospital_expire_flag == 0",
        "if(trigger.value > 1, 1, 2) == 1",
        "coalesce(week_max, 0) > 1",
        "not (trigger.value in [1, 2])",
        "band(trigger.value, [1, 2], asc) == 1",
        "month_max > 1",
    ],
)
def test_an_outcome_in_where_is_refused(tmp_path: Path, rule: str) -> None:
    body = f"""{STRICT}
let: {{doubled: "2 * trigger.value"}}
functions: {{"twice(x)": "2 * x"}}
windows:
  week: {HOLDING}, agg: {{week_max: max(creatinine.value)}}}}
  month:
    start: trigger
    end: trigger + 30d
    start_inclusive: false
    end_inclusive: true
    role: outcome
    agg: {{month_max: max(creatinine.value)}}
where: [{{early: "{rule}"}}]
value: "1"
"""
    assert codes(tmp_path, body) == {"recipe-outcome-early"}
    assert codes(tmp_path / "later", body.replace("where:", "where_outcome:")) == set()


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path) -> None:
    (tmp_path / "later").mkdir()


@pytest.mark.parametrize(
    "rule",
    [
        "age_at(index) >= 18",
        "patient.gender == 'F'",
        "before > 1",
        "trigger.hadm_id == 1",
        "index - t_before > 1d",
        "not (admission.deathtime <= index)",
        "admission.dischtime >= index",
        "index - 5h < admission.dischtime",
        "admission.dischtime > t_before",
    ],
)
def test_what_was_known_may_stand_in_where(tmp_path: Path, rule: str) -> None:
    body = f"""{STRICT}
windows:
  week: {PAST}, agg: {{before: max(creatinine.value), t_before: last(creatinine.time)}}}}
where: [{{known: "{rule}"}}]
value: "1"
"""
    assert codes(tmp_path, body) == set()


def test_the_index_value_is_known_when_the_prediction_stands_at_it(tmp_path: Path) -> None:
    body = CREATININE + 'index: {time: trigger}\nwhere: [{known: "trigger.value > 1"}]\nvalue: "1"\n'
    assert codes(tmp_path, body) == set()


def test_a_window_past_the_prediction_time_must_say_that_it_is_an_outcome(tmp_path: Path) -> None:
    for number, end in enumerate(("trigger + 1d", "NULL", "trigger -> creatinine")):
        folder = tmp_path / str(number)
        folder.mkdir()
        body = f"""{STRICT}
windows:
  ahead:
    {{start: trigger, end: {end}, start_inclusive: true, end_inclusive: true, agg: {{n: count(creatinine)}}}}
value: "n"
"""
        assert codes(folder, body) == {"recipe-outcome-undeclared"}


def test_conditions_of_windows_go_before_or_after_the_pick_by_what_they_read(tmp_path: Path) -> None:
    body = f"""{STRICT}
windows:
  past: {PAST}, has: {{creatinine: "(1, None)"}}}}
  holding: {HOLDING}, has: {{creatinine: "(2, None)"}}}}
  later:
    start: trigger
    end: trigger + 1d
    start_inclusive: false
    end_inclusive: true
    role: outcome
    has: {{creatinine: "(1, None)"}}
value: "1"
"""
    rules = {rule.name: rule.outcome for rule in bound_label(tmp_path, body).rules}
    assert rules == {"past": False, "holding": True, "later": True}


def test_whether_an_interval_still_lasts_is_known_at_the_prediction_time_itself(tmp_path: Path) -> None:
    body = """
predicates:
  creatinine: {table: hosp.labevents, code: {any: [50912]}, value: valuenum}
  stay: {table: icu.icustays, interval: [intime, outtime]}
trigger: creatinine
index: {time: trigger, side: before}
windows:
  now: {start: trigger, end: trigger, start_inclusive: true, end_inclusive: true, during: {stay: "(None, 0)"}}
value: "trigger.value"
"""
    assert next((rule.name, rule.outcome) for rule in bound_label(tmp_path, body).rules) == ("now", False)


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("trigger.outtime >= index", None),
        ("trigger.end >= index", None),
        ("trigger.outtime >= index + 1h", "recipe-outcome-early"),
        ("trigger.outtime == index", "recipe-outcome-early"),
        ("trigger.outtime > admission.admittime", "recipe-outcome-early"),
        ("trigger.los > 1", "recipe-outcome-early"),
        ("trigger.last_careunit == 'MICU'", "recipe-outcome-early"),
        ("trigger.first_careunit == 'MICU'", None),
        ("last_outtime <= index", "recipe-outcome-early"),
        ("deaths == 0", "recipe-outcome-early"),
        ("flagged == 0", "recipe-outcome-early"),
        ("deaths_known == 0", None),
        ("suspected == 0", "recipe-outcome-early"),
    ],
)
def test_what_a_row_says_of_its_own_future_is_an_outcome(tmp_path: Path, rule: str, code: str | None) -> None:
    body = f"""{ICU}
windows:
  before:
    start: NULL
    end: index
    start_inclusive: true
    end_inclusive: true
    agg:
      last_outtime: last(stay.outtime)
      deaths: count(died)
      deaths_known: count(died_known)
      flagged: count(admission, hospital_expire_flag == 1)
      suspected: count(suspicion)
where: [{{it: "{rule}"}}]
value: "1"
"""
    assert codes(tmp_path, body) == ({code} if code else set())


@pytest.mark.parametrize(
    ("index", "code"),
    [
        ("{time: trigger - 1h}", "recipe-outcome-index"),
        ("{time: NULL}", "recipe-index-missing"),
        ("{time: start}", "recipe-index-unsupported"),
        ("{time: admission.dischtime}", "recipe-index-unsupported"),
        ("{time: trigger -> stay}", "recipe-index-unsupported"),
        ("{time: trigger.los}", "recipe-type"),
        ("{time: trigger.nothing}", "recipe-column-unknown"),
        ("{time: trigger, side: at, grid: {every: 60s}}", "label-required"),
        ("{time: first(stay.time)}", "recipe-index-unsupported"),
    ],
)
def test_prediction_times_that_the_future_would_choose_are_refused(
    tmp_path: Path, index: str, code: str
) -> None:
    body = ICU.replace("{time: trigger + 24h}", index) + 'value: "1"\n'
    assert code in codes(tmp_path, body)


def test_a_trigger_that_the_future_filters_is_refused(tmp_path: Path) -> None:
    body = ICU.replace("trigger: stay", "trigger: died") + 'value: "1"\n'
    assert "recipe-outcome-trigger" in codes(tmp_path, body)
    (tmp_path / "known").mkdir()
    good = ICU.replace("trigger: stay", "trigger: died_known") + 'value: "1"\n'
    assert codes(tmp_path / "known", good) == set()


def test_a_guard_may_not_stand_at_an_outcome(tmp_path: Path) -> None:
    for number, (moment, code) in enumerate(
        [
            ("trigger.outtime", "recipe-outcome-early"),
            ("trigger.los", "recipe-type"),
            ("trigger -> stay", "recipe-type"),
        ]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        body = f'{ICU}value: "1"\nguards: [{{table: hosp.labevents, after: "{moment}"}}]\n'
        assert codes(folder, body) == {code}


def test_a_library_function_is_an_outcome_where_it_reads_on(tmp_path: Path) -> None:
    body = f"""{ICU}
let:
  before: "kdigo_creatinine@1(1.0, index - 7d, index, true)"
  after: "kdigo_creatinine@1(1.0, index, index + 48h, false)"
  onset: "sepsis3_onset@1()"
where: [{{healthy: "before == 0"}}]
value: "after"
"""
    assert codes(tmp_path, body) == set()
    for number, name in enumerate(("after", "onset")):
        folder = tmp_path / f"f{number}"
        folder.mkdir()
        other = body.replace('"before == 0"', f'"{name} != {name}"')
        assert codes(folder, other) == {"recipe-outcome-early"}
