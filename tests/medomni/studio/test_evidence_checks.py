"""Definitions of tables that leave open what may be shown are refused, each problem by its code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from gathering_builders import at, families, guarded, tiny
from recipe_builders import dataset

from medomni.core.issues import IssuesError
from medomni.studio.data.column_types import ColumnType
from medomni.studio.data.definitions import Table, load_tables
from medomni.studio.data.showing import Explained, Show
from medomni.studio.evidence.checking import evidence_problems
from medomni.studio.evidence.gather import gather
from medomni.studio.recipe.catalog import Catalog

LABS, OMR, DETAIL = "hosp.labevents", "hosp.omr", "hosp.emar_detail"


def problems(**changed: Table) -> list[tuple[str, str]]:
    tables: Mapping[str, Table] = dataset().tables
    altered = {**tables, **{name.replace("__", "."): table for name, table in changed.items()}}
    return [(each.code, each.where) for each in evidence_problems(Catalog(altered), families())]


def test_the_tables_of_mimic_iv_can_be_shown() -> None:
    assert problems() == []


def test_a_table_without_any_time_must_say_that_it_is_known_always() -> None:
    plain = dataset().tables[OMR]
    untimed = replace(plain, time=None, available=())
    assert problems(hosp__omr=untimed) == [("evidence-time-missing", OMR)]
    assert problems(hosp__omr=replace(untimed, timeless=True)) == []


@pytest.mark.parametrize(("name", "kind"), [("note_id", "text"), ("row_seq", "integer"), ("thing", "bigint")])
def test_a_column_that_looks_like_an_id_must_be_hidden_or_a_link(name: str, kind: str) -> None:
    plain = dataset().tables[OMR]
    wider = replace(plain, columns={**plain.columns, name: ColumnType(kind)})
    assert problems(hosp__omr=wider) == [("evidence-column-unsafe", OMR)]
    hidden = replace(wider, show=replace(plain.show, hide=(*plain.show.hide, name)))
    assert problems(hosp__omr=hidden) == []
    linked = replace(wider, show=replace(plain.show, links={name: "thing"}))
    assert problems(hosp__omr=linked) == []


@pytest.mark.parametrize(
    "explained",
    [
        Explained("hosp.nothing", ("itemid",), ("label",)),
        Explained("hosp.d_labitems", ("itemid",), ("colour",)),
        Explained("hosp.d_icd_diagnoses", ("icd_code",), ("long_title",)),
        Explained("hosp.emar", ("emar_id",), ("medication",)),
    ],
)
def test_a_dictionary_must_explain_shown_columns(explained: Explained) -> None:
    plain = dataset().tables[LABS]
    wrong = replace(plain, show=replace(plain.show, explain=(explained,)))
    assert problems(hosp__labevents=wrong) == [("evidence-dictionary-unknown", LABS)]


def test_a_table_can_only_follow_the_key_of_another() -> None:
    plain = dataset().tables[DETAIL]
    wrong = replace(plain, show=replace(plain.show, follows="administration_type"))
    assert problems(hosp__emar_detail=wrong) == [("evidence-follows", DETAIL)]


def test_nothing_is_gathered_from_tables_that_leave_it_open(tmp_path: Path) -> None:
    bound = guarded(tmp_path)
    tables = bound.scope.catalog.tables
    untimed = replace(tables[OMR], time=None, available=())
    object.__setattr__(bound.scope, "catalog", Catalog({**tables, OMR: untimed}))
    with pytest.raises(IssuesError) as failure:
        gather(tiny(), [bound], [at()], families=families())
    assert [each.code for each in failure.value.issues] == ["evidence-time-missing"]


SMALL = """\
recipe: tables
version: 1
tables:
  hosp.people:
    file: people
    required: []
    patient: subject_id
    timeless: true
    show: {show}
    columns: {{subject_id: bigint, years: integer, year: integer, day: date, words: text, order_id: text}}
    sort: {{by_patient: [subject_id]}}
"""


def loaded(folder: Path, show: str) -> Table:
    path = folder / "tables.yaml"
    path.write_text(SMALL.format(show=show), encoding="utf-8")
    return load_tables(path)["hosp.people"]


def test_what_stands_under_show_is_read(tmp_path: Path) -> None:
    show = "{hide: [year], links: {order_id: order}, days: [day], age: {column: years, year: year}}"
    found = loaded(tmp_path, show)
    assert found.timeless
    links, age = {"order_id": "order"}, ("years", "year")
    assert found.show == Show(hide=("year",), links=links, days=("day",), age=age)


@pytest.mark.parametrize(
    ("show", "code"),
    [
        ("{hide: [nothing]}", "tables-column-unknown"),
        ("{links: {nothing: order}}", "tables-column-unknown"),
        ("{links: {day: order}}", "tables-column-type"),
        ("{days: [words]}", "tables-column-type"),
        ("{follows: nothing}", "tables-column-unknown"),
        ("{age: {column: words, year: year}}", "tables-column-type"),
        ("{explain: [{from: hosp.d, by: [nothing], columns: [label]}]}", "tables-column-unknown"),
    ],
)
def test_columns_that_do_not_fit_are_told_with_their_line(tmp_path: Path, show: str, code: str) -> None:
    with pytest.raises(IssuesError) as failure:
        loaded(tmp_path, show)
    assert [each.code for each in failure.value.issues] == [code]
    assert "tables.yaml:9" in failure.value.issues[0].where
