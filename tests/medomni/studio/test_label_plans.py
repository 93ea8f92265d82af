"""What a label costs, by the statements that it becomes: passes over big tables, columns, what is stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recipe_builders import (
    REPOSITORY,
    TinyRelease,
    admission,
    bound_label,
    lab,
    patient,
    release,
    table_of,
    values,
)
from sqlglot import exp
from studio_builders import DUMMY, dummy_workspace

from medomni.core.workspace import Workspace, load_workspace
from medomni.studio.data.connection import connect
from medomni.studio.data.store import open_in
from medomni.studio.definitions.library import open_library
from medomni.studio.labels import begin, explain, label_table
from medomni.studio.recipe.binding import Bound
from medomni.studio.recipe.events import Data
from medomni.studio.recipe.plan import EARLY, Plan, Step, candidate_steps, steps
from medomni.studio.recipe.values import column
from medomni.studio.tables import StoredTables

LIBRARY = open_library(load_workspace(REPOSITORY), "mimic-iv")
LABELS = LIBRARY.labels()
# Tables that are also kept in the order of their items.
BIG = {name for name, table in LIBRARY.catalog.tables.items() if "by_item" in table.sort}
CHARTED = """
predicates:
  stay: {table: icu.icustays}
  charted: {table: icu.chartevents}
trigger: stay
index: {time: trigger + 1d}
windows:
  w:
    start: NULL
    end: index
    start_inclusive: true
    end_inclusive: true
    same: [hadm_id]
    has:
      charted: (None, 0)
value: "1"
"""


def everything(bound: Bound) -> Data:
    return Data(bound.scope.catalog, frozenset(bound.scope.catalog.tables))


def cohort_steps(bound: Bound) -> list[Step]:
    plan = Plan(bound, everything(bound))
    picked = exp.select(column("cand_id")).from_(exp.to_table(f'"{EARLY}"', dialect="duckdb"))
    return [*plan.start(), *plan.early(), *plan.late(picked, {})]


def scans(step: Step, tables: set[str]) -> list[exp.Select]:
    """The SELECTs of a step that read one of the tables, one for each time that it is read."""
    found = [each for each in step.query.find_all(exp.Table) if each.name in tables]
    return [select for each in found if (select := each.find_ancestor(exp.Select)) is not None]


def takes_items(select: exp.Select) -> bool:
    """Whether rows are taken by their item: such a read touches only those items' part of the file."""
    where = select.args.get("where")
    return where is not None and any(each.name == "itemid" for each in where.find_all(exp.Column))


def test_big_tables_are_there_to_be_counted() -> None:
    assert {"hosp.labevents", "icu.chartevents"} == BIG


@pytest.mark.parametrize("name", LABELS)
def test_no_label_reads_a_whole_big_table_twice(name: str) -> None:
    bound = LIBRARY.label(name)
    for found in (steps(bound, everything(bound)), cohort_steps(bound)):
        whole = [select for step in found for select in scans(step, BIG) if not takes_items(select)]
        assert len(whole) == (1 if name == "icu_transfer_24_96h" else 0)


@pytest.mark.parametrize("name", LABELS)
def test_no_label_of_ours_writes_rows_as_text(name: str) -> None:
    bound = LIBRARY.label(name)
    assert not any("ROW(" in step.sql().upper().replace("ROW_NUMBER(", "") for step in cohort_steps(bound))


@pytest.mark.parametrize("name", LABELS)
def test_a_cohort_computes_each_thing_once(name: str) -> None:
    names = [step.name for step in cohort_steps(LIBRARY.label(name)) if step.stored]
    assert sorted(set(names)) == sorted(names) or {each for each in names if names.count(each) > 1} == {
        each for each in names if each.startswith("stage ") and names.count(each) == 2
    }


def test_sofa_is_computed_once_for_the_onset_and_for_its_own_events() -> None:
    found = cohort_steps(LIBRARY.label("sepsis3_onset_12_60h"))
    assert [step.name for step in found if scans(step, {"icu.chartevents"})] == ["sofa24@1"]
    assert [step.name for step in found if scans(step, {"hosp.prescriptions"})] == [
        "suspicion_of_infection@1"
    ]


def test_a_count_over_all_of_chartevents_reads_three_columns_and_stores_nothing(tmp_path: Path) -> None:
    bound = bound_label(tmp_path, CHARTED)
    found = {step.name: step for step in steps(bound, everything(bound))}
    events = found["events charted"]
    assert not events.stored
    assert set(events.query.named_selects) == {"subject_id", "time", "col.hadm_id"}
    plan = explained(bound, found["has w charted"], found["events charted"])
    assert plan.count("icu.chartevents") == 1
    assert all(name not in plan for name in ("storetime", "valuenum", "warning", "caregiver_id"))


def explained(bound: Bound, step: Step, view: Step) -> str:
    """The plan of the step, as DuckDB tells it."""
    store = release(bound, icu__icustays=[], icu__chartevents=[{"subject_id": 1, "hadm_id": 2}])
    with store.connect() as connection:
        connection.execute(view.sql())
        # Small tables would be planned by what they hold.
        connection.execute("SET disabled_optimizers = 'statistics_propagation'")
        statement = step.sql().partition(" AS ")[2]
        return str(connection.execute(f"EXPLAIN {statement}").fetchall()[0][1])


def test_what_stands_at_events_is_all_that_candidates_need(tmp_path: Path) -> None:
    bound = bound_label(tmp_path, CHARTED)
    names = [step.name for step in candidate_steps(bound, everything(bound))]
    assert names == ["events stay", "candidates base", "candidates"]


def test_an_unread_definition_of_the_library_is_not_computed(tmp_path: Path) -> None:
    body = CHARTED.replace("windows:", 'let: {onset: "sepsis3_onset@1()"}\nwindows:')
    bound = bound_label(tmp_path, body)
    assert not [step for step in steps(bound, everything(bound)) if "onset" in step.name]


def test_asof_joins_are_never_planned_as_loops(tmp_path: Path) -> None:
    query = "SELECT current_setting('asof_loop_join_threshold')"
    with connect(tmp_path / "spill", memory_limit="1GB") as connection:
        assert connection.execute(query).fetchall() == [(0,)]


# The two halves of a cohort against the whole table.


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return dummy_workspace(tmp_path_factory)


# The others of the nine are as much a part of this, and slow.
QUICK = ("ckd_g_stage", "aki_stage_48h", "icu_transfer_24_96h")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in LABELS]
)
def test_a_candidate_computed_late_has_the_row_of_the_whole_table(place: Workspace, name: str) -> None:
    bound = open_library(place, "mimic-iv").label(name)
    store = StoredTables(open_in(place, DUMMY))
    with label_table(store, bound) as whole:
        rows = {(row[0], row[1], row[-1]): row for row in whole.rows()}
    picked = exp.select(column("cand_id")).from_(exp.to_table(f'"{EARLY}"', dialect="duckdb"))
    with begin(store, bound) as begun:
        begun.early()
        reached = begun.connection.execute(
            f'SELECT subject_id, prediction_time, "key", fulfilled FROM "{EARLY}"'
        ).fetchall()
        some = picked.where(exp.EQ(this=column("cand_id") % 3, expression=exp.Literal.number("0")))
        late = begun.late(some, {})
    with late:
        found = late.rows()
    past = [index for index, rule in enumerate(late.rules, start=4) if not rule.outcome]
    assert len(reached) == len(rows)
    for subject, time, key, fulfilled in reached:
        truths = [rows[subject, time, key][index] for index in past]
        assert fulfilled == (truths.index(False) if False in truths else len(truths))
    assert 0 < len(found) < len(rows)
    assert all(rows[row[0], row[1], row[-1]] == row for row in found)


def test_a_connection_is_closed_where_no_table_was_made(place: Workspace) -> None:
    bound = open_library(place, "mimic-iv").label(LABELS[0])
    with begin(StoredTables(open_in(place, DUMMY)), bound) as begun:
        connection = begun.connection
    with pytest.raises(duckdb.ConnectionException):
        connection.execute("SELECT 1")


# Windows that are answered by a patient's first event, against counting.


FIRST = """
predicates:
  admission: {table: hosp.admissions}
  creatinine: {table: hosp.labevents, code: {any: [50912]}, value: valuenum}
trigger: admission
index: {time: trigger + 1d}
windows:
  w:
    start: NULL
    end: index
    start_inclusive: true
    end_inclusive: INCLUSIVE
    same: [hadm_id]
    has:
      creatinine: COUNTS
value: "1"
"""


@pytest.fixture(scope="module")
def same_windows(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, list[Bound]]:
    """By whether the end belongs to it: the window that asks for one or more, and one that must count."""
    found: dict[bool, list[Bound]] = {}
    for inclusive in (False, True):
        body = FIRST.replace("INCLUSIVE", str(inclusive).lower())
        found[inclusive] = [
            bound_label(tmp_path_factory.mktemp("first"), body.replace("COUNTS", counts))
            for counts in ("(1, None)", "(1, 99)")
        ]
    return found


@settings(max_examples=20, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.sampled_from([1, 2]), st.sampled_from([10, 11, None]), st.integers(8, 13)), max_size=8
    ),
    inclusive=st.booleans(),
)
def test_the_first_event_tells_what_counting_tells(
    same_windows: dict[bool, list[Bound]], rows: list[tuple[int, int | None, int]], inclusive: bool
) -> None:
    labs = [
        lab(number, f"2150-01-{day:02} 00:00:00", "1.0", subject_id=subject, hadm_id=hadm)
        for number, (subject, hadm, day) in enumerate(rows)
    ]
    stays = [
        admission(10, "2150-01-10 00:00:00", None, subject_id=1),
        admission(11, "2150-01-09 00:00:00", None, subject_id=2),
    ]
    told = []
    for bound in same_windows[inclusive]:
        people = [patient(1), patient(2)]
        store = release(bound, hosp__labevents=labs, hosp__admissions=stays, hosp__patients=people)
        told.append([row["w"] for row in table_of(bound, store)])
    expected = [
        any(
            (who, which) == (subject, hadm) and (day < moment or (inclusive and day == moment))
            for who, which, day in rows
        )
        for subject, hadm, moment in ((1, 10, 11), (2, 11, 10))
    ]
    assert told == [expected, expected]


# Ties where a table promises no key.


KEYLESS = """
predicates:
  stay: {table: icu.icustays}
  charted: {table: icu.chartevents, value: valuenum}
trigger: stay
index: {time: trigger + 1d}
windows:
  w:
    start: NULL
    end: index
    start_inclusive: true
    end_inclusive: true
    agg: {COMPUTED}
value: "x"
"""


def charted(**more: Any) -> dict[str, Any]:
    return {"subject_id": 1, "hadm_id": 2, "stay_id": 3, "charttime": "2150-01-10 01:00:00", **more}


@pytest.mark.parametrize(
    "computed", ["{x: last(charted.value)}", "{x: first(charted.value), n: count(charted)}"]
)
def test_ties_of_rows_without_a_key_go_by_what_is_read(tmp_path: Path, computed: str) -> None:
    bound = bound_label(tmp_path, KEYLESS.replace("{COMPUTED}", computed))
    rows = [
        charted(itemid=1, valuenum=value, warning=place) for place, value in enumerate(["2", "1", "3", "2"])
    ]
    expected = 3 if "last" in computed else 1
    for shuffled in (False, True):
        store = TinyRelease(
            {"icu.icustays": [STAY], "icu.chartevents": rows, "hosp.patients": [patient()]},
            bound.scope.catalog.tables,
            shuffled=shuffled,
        )
        assert values(bound, store) == [expected]


STAY = {"subject_id": 1, "hadm_id": 2, "stay_id": 3, "intime": "2150-01-10 00:00:00", "outtime": None}


def test_an_explanation_shows_events_of_a_table_without_a_key_in_order(tmp_path: Path) -> None:
    bound = bound_label(tmp_path, KEYLESS.replace("{COMPUTED}", "{x: max(charted.value)}"))
    rows = [charted(itemid=1, valuenum=value) for value in ("2", "3", "1")]
    store = TinyRelease(
        {"icu.icustays": [STAY], "icu.chartevents": rows, "hosp.patients": [patient()]},
        bound.scope.catalog.tables,
    )
    (told,) = explain(store, bound, subject=1)
    assert [row["value"] for row in told["windows"]["w charted"]] == [1, 2, 3]
