"""A label's own query: what it may do, what it must give, and what it is refused for."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from recipe_builders import RELEASE, TinyRelease, lab, patient, release, table_of, workspace

from medomni.core.issues import Issue, IssuesError
from medomni.studio.definitions.library import Library
from medomni.studio.errors import LabelError
from medomni.studio.labels import explain
from medomni.studio.recipe.binding import Bound

BODY = f"""label: it
version: 1
requires: {{releases: [{RELEASE}]}}
question: How many?
type: TYPE
sql: it.sql
guards: [{{table: hosp.drgcodes, where: all}}]
"""
COUNTED = """
-- One moment per patient: the second creatinine.
WITH ranked AS (
    SELECT subject_id, charttime, valuenum,
        row_number() OVER (PARTITION BY subject_id ORDER BY charttime, labevent_id) AS place
    FROM hosp.labevents
    WHERE itemid = 50912
)
SELECT ranked.subject_id AS subject, ranked.charttime AS index_time, ranked.valuenum AS value
FROM ranked JOIN "hosp.patients" AS p ON p.subject_id = ranked.subject_id
WHERE place = 2
"""
PLAIN = "SELECT subject_id AS subject, {time} AS index_time, {value} AS value FROM hosp.labevents"


def query(value: str = "1", time: str = "charttime") -> str:
    return PLAIN.format(value=value, time=time)


def written(folder: Path, sql: str, kind: str = "number", more: str = "") -> Library:
    library = workspace(folder)
    answer = {"number": "number\nunit: mg/dL\nrange: [-100, 100]", "ordinal": "ordinal\nclasses: [a, b]"}
    path = library.workspace.label("mimic-iv", "it")
    path.write_text(BODY.replace("TYPE", answer.get(kind, kind)) + more)
    path.with_suffix(".sql").write_text(sql)
    return library


def bound(folder: Path, sql: str, kind: str = "number", more: str = "") -> Bound:
    return written(folder, sql, kind, more).label("it")


def refused(folder: Path, sql: str, kind: str = "number", more: str = "") -> list[Issue]:
    try:
        bound(folder, sql, kind, more)
    except IssuesError as failure:
        return failure.issues
    return []


def tiny(label: Bound, rows: list[dict[str, Any]]) -> TinyRelease:
    return release(label, hosp__labevents=rows, hosp__patients=[patient(1), patient(2)])


ROWS = [
    lab(1, "2150-01-01 12:00:00", "1.1"), lab(2, "2150-01-02 12:00:00", "2.2"),
    lab(3, "2150-01-03 12:00:00", "3.3"), lab(4, "2151-01-01 12:00:00", "4", subject_id=2),
]  # fmt: skip


def test_a_query_gives_candidates_and_answers(tmp_path: Path) -> None:
    label = bound(tmp_path, COUNTED, more='where: ["age_at(index) >= 18"]\nindex: {side: before}\n')
    found = table_of(label, tiny(label, ROWS))
    assert [(row["subject"], row["time"], row["value"], row["eligible"]) for row in found] == [
        (1, datetime(2150, 1, 2, 12), Decimal("2.2"), True)
    ]
    assert label.label.strict
    assert found[0]["key"] == "2150-01-02T12:00:00"


def test_one_patient_is_explained(tmp_path: Path) -> None:
    label = bound(tmp_path, query("valuenum"))
    assert len(explain(tiny(label, ROWS), label, subject=1)) == 3


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [("binary", "valuenum > 2", [0, 1, 1, 1]), ("ordinal", "CAST(valuenum > 2 AS INTEGER)", [0, 1, 1, 1])],
)
def test_classes_are_whole_numbers(tmp_path: Path, kind: str, value: str, expected: list[int]) -> None:
    label = bound(tmp_path, query(value), kind)
    assert [row["value"] for row in table_of(label, tiny(label, ROWS))] == expected


def test_a_missing_answer_excludes_the_row_by_name(tmp_path: Path) -> None:
    label = bound(tmp_path, query("nullif(valuenum, 4)"))
    found = table_of(label, tiny(label, ROWS))
    assert [row["null:value"] for row in found] == [True, True, True, False]


def test_the_answer_is_no_fact_for_a_rule(tmp_path: Path) -> None:
    found = refused(tmp_path, query("valuenum"), more='where: ["trigger.value > 1"]\n')
    assert [issue.code for issue in found] == ["recipe-outcome-early"]


def test_windows_and_predicates_may_stand_beside_a_query(tmp_path: Path) -> None:
    more = """
predicates: {creatinine: {table: hosp.labevents, code: 50912}}
windows:
  past: {start: NULL, end: index, start_inclusive: true, end_inclusive: false, agg: {n: count(creatinine)}}
where: [{seen: "n >= 1"}]
"""
    label = bound(tmp_path, query("valuenum"), more=more)
    assert [row["seen"] for row in table_of(label, tiny(label, ROWS))] == [False, True, True, False]


def test_a_table_that_the_release_lacks_is_empty(tmp_path: Path) -> None:
    sql = (
        query("valuenum")
        + " WHERE NOT EXISTS (SELECT 1 FROM icu.icustays i WHERE i.subject_id = labevents.subject_id)"
    )
    label = bound(tmp_path, sql)
    assert len(table_of(label, tiny(label, ROWS))) == 4


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([lab(1, "2150-01-01 12:00:00", "1"), lab(2, "2150-01-01 12:00:00", "2")], "two rows"),
        ([lab(1, "2150-01-01 12:00:00", "1", subject_id=5)], "of nobody"),
        ([lab(1, None, "1")], "no patient or no prediction time"),  # type: ignore[arg-type]
    ],
)
def test_rows_that_are_no_candidates_are_refused(
    tmp_path: Path, rows: list[dict[str, Any]], what: str
) -> None:
    label = bound(tmp_path, query("valuenum"))
    with pytest.raises(LabelError, match=what) as caught:
        table_of(label, tiny(label, rows))
    assert caught.value.code == "label-sql-rows"


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("", "recipe-sql"),
        ("SELECT FROM WHERE", "recipe-sql"),
        (query() + "; " + query(), "recipe-sql"),
        ("DELETE FROM hosp.labevents", "recipe-sql"),
        ("ATTACH 'other.db' AS other", "recipe-sql"),
        ("COPY hosp.labevents TO 'out.csv'", "recipe-sql"),
        ("INSTALL httpfs", "recipe-sql"),
        ("PRAGMA version", "recipe-sql"),
        ("SET threads = 1", "recipe-sql"),
        ("CREATE TABLE x AS " + query(), "recipe-sql"),
        ("WITH x AS (INSERT INTO hosp.labevents SELECT 1) " + query(), "recipe-sql"),
        (query() + " TABLESAMPLE 10%", "recipe-sql"),
        (query("$1"), "recipe-sql"),
        (query("?"), "recipe-sql"),
        (query("nothing"), "recipe-sql"),
        (query("valuenum + charttime"), "recipe-sql"),
        ("SELECT * FROM read_csv('passwd')", "recipe-sql-function"),
        ("SELECT * FROM glob('*')", "recipe-sql-function"),
        ("SELECT * FROM query_table('hosp.labevents')", "recipe-sql-function"),
        ("SELECT * FROM duckdb_settings()", "recipe-sql-function"),
        (query("read_text('passwd')"), "recipe-sql-function"),
        (query("'passwd'.read_text()"), "recipe-sql-function"),
        (query("getenv('HOME')"), "recipe-sql-function"),
        (query("current_setting('threads')"), "recipe-sql-function"),
        (query("random()"), "recipe-sql-function"),
        (query(time="CAST(now() AS TIMESTAMP)"), "recipe-sql-function"),
        (query(time="CAST(current_timestamp AS TIMESTAMP)"), "recipe-sql-function"),
        (query("any_value(1)"), "recipe-sql-function"),
        ("SELECT * FROM 'labs.csv'", "recipe-table-unknown"),
        ('SELECT * FROM "labs.parquet"', "recipe-table-unknown"),
        ("SELECT * FROM hosp.nothing", "recipe-table-unknown"),
        ("SELECT * FROM labevents", "recipe-table-unknown"),
        ("SELECT * FROM information_schema.tables", "recipe-table-unknown"),
        ("SELECT * FROM memory.hosp.labevents", "recipe-sql"),
        # A part's name that reaches not everywhere must never be a file elsewhere.
        ('SELECT * FROM (WITH "a.csv" AS (SELECT 1) SELECT * FROM "a.csv"), "a.csv"', "recipe-sql"),
        ("SELECT * FROM hosp.labevents", "recipe-sql-columns"),
        ("SELECT subject_id AS subject, charttime AS index_time FROM hosp.labevents", "recipe-sql-columns"),
        (query("comments"), "recipe-sql-columns"),
        (query(time="CAST(charttime AS DATE)"), "recipe-sql-columns"),
        (query().replace("subject_id AS", "comments AS"), "recipe-sql-columns"),
    ],
)  # fmt: skip
def test_queries_that_do_more_than_compute_are_refused(tmp_path: Path, sql: str, code: str) -> None:
    found = refused(tmp_path, sql)
    assert [issue.code for issue in found] == [code]
    assert found[0].where.endswith("it.yaml:8, sql")


@pytest.mark.parametrize("kind", ["binary", "ordinal"])
def test_a_class_that_is_no_whole_number_is_refused(tmp_path: Path, kind: str) -> None:
    assert [issue.code for issue in refused(tmp_path, query("0.7"), kind)] == ["recipe-sql-columns"]


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ("trigger: a\n", "label-sql"),
        ("value: '1'\n", "label-sql"),
        ("index: {time: trigger}\n", "label-sql"),
        ("index: {side: at, grid: {start: trigger, end: trigger, every: 1h}, pick: hash}\n", "label-sql"),
        ("predicates: {sql: {table: hosp.labevents}}\n", "recipe-name-reserved"),
    ],
)
def test_what_the_query_gives_stands_nowhere_else(tmp_path: Path, more: str, code: str) -> None:
    assert code in {issue.code for issue in refused(tmp_path, query(), more=more)}


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    library = written(tmp_path, query())
    library.workspace.label("mimic-iv", "it").with_suffix(".sql").unlink()
    assert "label-sql" in {issue.code for issue in library.label_problems("it")}


def test_a_path_is_no_name_of_a_file_beside_the_label(tmp_path: Path) -> None:
    library = written(tmp_path, query())
    path = library.workspace.label("mimic-iv", "it")
    path.write_text(path.read_text().replace("sql: it.sql", "sql: ../it.sql"))
    assert {issue.code for issue in library.label_problems("it")} == {"label-pattern"}


def test_a_label_without_a_query_needs_trigger_index_and_value(tmp_path: Path) -> None:
    library = written(tmp_path, query())
    path = library.workspace.label("mimic-iv", "it")
    path.write_text(path.read_text().replace("sql: it.sql\n", ""))
    assert [issue.code for issue in library.label_problems("it")].count("label-required") == 3
