"""Evidence of the made-up release: no planted word gets through, and nothing but the past decides it."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import duckdb
import pytest
from gathering_builders import canaries_in, cells, shown_bytes
from studio_builders import DUMMY, dummy_workspace

from medomni.core.names import Pair
from medomni.core.workspace import Workspace
from medomni.studio.data.store import open_in
from medomni.studio.definitions.families import Families, read_families
from medomni.studio.definitions.library import Library, open_library
from medomni.studio.definitions.templates import read_template, template_names
from medomni.studio.dummy.mimic_canaries import CANARIES, Canary
from medomni.studio.evidence.gather import gather, moment_of
from medomni.studio.evidence.model import Evidence, Moment
from medomni.studio.opening import open_selection
from medomni.studio.recipe.binding import Bound
from medomni.studio.tables import StoredTables

CKD, DEATH = "mimic-iv_ckd-staging", "mimic-iv_in-hospital-mortality"
TEMPLATES = (
    "mimic-iv_aki-kdigo",
    CKD,
    "mimic-iv_icu-transfer",
    DEATH,
    "mimic-iv_length-of-stay",
    "mimic-iv_meld-na",
    "mimic-iv_one-year-mortality",
    "mimic-iv_readmission-30d",
    "mimic-iv_sepsis3",
)
# Builds look at all of them; here the others wait for `make slow`.
QUICK = (CKD, DEATH, "mimic-iv_meld-na", "mimic-iv_readmission-30d")
EACH = [each if each in QUICK else pytest.param(each, marks=pytest.mark.slow) for each in TEMPLATES]
type Answered = Sequence[tuple[Moment, Any]]


@dataclass(frozen=True)
class Place:
    """The imported release, and the evidence of each template's cohort, gathered once."""

    workspace: Workspace
    library: Library
    families: Families
    store: StoredTables
    known: dict[str, tuple[Answered, list[Evidence]]]

    def bound(self, template: str) -> Bound:
        return self.library.label(read_template(self.library, template).targets[0].label)

    def gather(self, template: str, moments: Sequence[Moment], **options: Any) -> list[Evidence]:
        store = options.pop("store", self.store)
        return list(gather(store, [self.bound(template)], moments, families=self.families, **options))

    def cohort(self, template: str) -> tuple[Answered, list[Evidence]]:
        if template not in self.known:
            drawn = open_selection(self.workspace, Pair(template, "dummy")).atoms
            answered = [(moment_of(each), each.value) for each in drawn]
            self.known[template] = answered, self.gather(template, [moment for moment, _ in answered])
        return self.known[template]

    def moments(self, template: str) -> list[Moment]:
        return [moment for moment, _ in self.cohort(template)[0]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    workspace = dummy_workspace(tmp_path_factory)
    library = open_library(workspace, "mimic-iv")
    families = read_families(workspace.recipe("mimic-iv", "families"), library.catalog)
    return Place(workspace, library, families, StoredTables(open_in(workspace, DUMMY)), {})


def test_every_template_is_looked_at(place: Place) -> None:
    assert tuple(template_names(place.library)) == TEMPLATES


# Planted words.


def stored_in(place: Place, word: str) -> list[str]:
    """The tables in which a word is stored."""
    found = []
    with contextlib.closing(place.store.connect()) as connection:
        for name, table in place.store.store.tables.items():
            if not table.present:
                continue
            query = f'SELECT count(*) FROM "{name}" AS r WHERE contains(CAST(r AS VARCHAR), ?)'
            if connection.execute(query, [word]).fetchall() != [(0,)]:
                found.append(name)
    return found


def showing(place: Place, text: str, template: str) -> list[str]:
    """The cells of a template's evidence that hold a text."""
    rows = [row for each in place.cohort(template)[1] for table in each.tables for row in table.rows]
    return [cell for row in rows for cell in row if cell and text in cell]


@pytest.mark.parametrize("canary", CANARIES, ids=lambda each: each.text)
def test_what_was_planted_is_stored_and_never_shown(place: Place, canary: Canary) -> None:
    assert stored_in(place, canary.text)
    for template in canary.templates or QUICK:
        assert not showing(place, canary.text, template), template


@pytest.mark.parametrize("template", EACH)
def test_no_template_shows_a_word_that_it_must_not(place: Place, template: str) -> None:
    for canary in CANARIES:
        if template in (canary.templates or TEMPLATES):
            assert not showing(place, canary.text, template), canary.text


def test_words_that_another_template_must_not_show_are_found_where_they_are_history(place: Place) -> None:
    # The search sees what it looks for.
    _, found = place.cohort(DEATH)
    history = {"CANARY_KIDNEY", "CANARY_MELD", "CANARY_COMMENT", "CANARY_FLUID"}
    assert canaries_in(shown_bytes(found)) == history


@pytest.mark.parametrize("template", EACH)
def test_nobodys_id_and_no_date_is_shown(place: Place, template: str) -> None:
    with contextlib.closing(place.store.connect()) as connection:
        rows = connection.execute('SELECT subject_id, hadm_id FROM "hosp.admissions"').fetchall()
        rows += connection.execute('SELECT subject_id, stay_id FROM "icu.icustays"').fetchall()
    ids: dict[int, set[str]] = {}
    for subject, number in rows:
        ids.setdefault(subject, {str(subject)}).add(str(number))
    for (moment, _), each in zip(*place.cohort(template), strict=True):
        text = shown_bytes([each]).decode()
        assert not [number for number in ids[moment.subject] if number in text]
        for year in range(moment.time.year - 8, moment.time.year + 3):
            assert f"{year}-" not in text
            assert f"/{year}" not in text


@pytest.mark.parametrize("template", EACH)
def test_no_time_lies_after_the_prediction_but_a_plan(place: Place, template: str) -> None:
    planned = ("scheduletime_h",)
    for each in place.cohort(template)[1]:
        for table in each.tables:
            for at, column in enumerate(table.columns):
                if column.name.endswith(("_h", "_d")) and column.name not in planned:
                    late = [row[at] for row in table.rows if float(row[at] or 0) > 0]
                    assert not late, f"{table.table}.{column.name}"


# Only the past decides.


@pytest.mark.parametrize("template", [CKD, "mimic-iv_readmission-30d"])
def test_permuted_answers_leave_the_bytes_of_evidence_equal(place: Place, template: str) -> None:
    answered, found = place.cohort(template)
    values = [value for _, value in answered]
    random.Random(7).shuffle(values)
    permuted = [(moment, value) for (moment, _), value in zip(answered, values, strict=True)]
    again = place.gather(template, [moment for moment, _ in permuted])
    assert shown_bytes(again) == shown_bytes(found)


def test_threads_batches_and_company_do_not_change_a_byte(place: Place) -> None:
    template = "mimic-iv_meld-na"
    found, moments = place.cohort(template)[1], place.moments(template)
    for options in ({"threads": 1}, {"threads": 2, "batch": 7}):
        assert shown_bytes(place.gather(template, moments, **options)) == shown_bytes(found)
    alone = place.gather(template, [moments[3]])
    assert shown_bytes(alone) == shown_bytes([found[3]])


@dataclass(frozen=True)
class Altered:
    """The release with every table of patients read through a query of its own."""

    store: StoredTables
    query: str

    @property
    def token(self) -> str:
        return self.store.token

    @property
    def present(self) -> frozenset[str]:
        return self.store.present

    def empty_columns(self, name: str) -> frozenset[str]:
        return self.store.empty_columns(name)

    def connect(self, **options: Any) -> duckdb.DuckDBPyConnection:
        connection = self.store.connect(**options)
        happened = ("charttime", "starttime", "intime", "ordertime", "transfertime", "admittime", "chartdate")
        for name, table in self.store.store.tables.items():
            if table.present and table.definition.patient:
                rows = f"read_parquet('{table.paths['by_patient']}')"
                time = next((column for column in happened if column in table.columns), "NULL")
                query = self.query.format(rows=rows, time=time)
                connection.execute(f'CREATE OR REPLACE VIEW "{name}@by_patient" AS {query}')
        return connection


def test_the_order_of_imported_rows_does_not_matter(place: Place) -> None:
    shuffled = Altered(place.store, "SELECT r.* FROM {rows} r ORDER BY hash(CAST(r AS VARCHAR))")
    again = place.gather(DEATH, place.moments(DEATH), store=shuffled)
    assert shown_bytes(again) == shown_bytes(place.cohort(DEATH)[1])


def test_a_release_that_ends_at_the_prediction_time_gives_the_same_evidence(place: Place) -> None:
    for number in (0, 11):
        moment, expected = place.moments(DEATH)[number], place.cohort(DEATH)[1][number]
        past = f"SELECT * FROM {{rows}} WHERE {{time}} IS NULL OR {{time}} <= TIMESTAMP '{moment.time}'"
        (again,) = place.gather(DEATH, [moment], store=Altered(place.store, past))
        assert again.as_plain() == expected.as_plain()


def test_an_earlier_moment_shows_no_more(place: Place) -> None:
    # The guards of this label stand at its prediction time alone, so that the moment can be moved.
    moments = place.moments(DEATH)
    now = place.gather(CKD, moments)
    before = place.gather(CKD, [replace(each, time=each.time - timedelta(hours=6)) for each in moments])
    fewer = 0
    for old, new in zip(before, now, strict=True):
        sizes = {table.table: len(table.rows) for table in new.tables}
        assert all(len(table.rows) <= sizes.get(table.table, 0) for table in old.tables)
        fewer += sum(sizes.values()) - sum(len(table.rows) for table in old.tables)
    assert fewer > 0


@pytest.mark.parametrize("template", EACH)
def test_each_row_is_of_a_family_of_its_table(place: Place, template: str) -> None:
    order = list(place.library.catalog.tables)
    for each in place.cohort(template)[1]:
        names = [table.table for table in each.tables]
        assert names == sorted(names, key=order.index)
        for table in each.tables:
            assert len(table.families) == len(table.rows) > 0
            assert set(table.families) <= {part.family for part in place.families.of_table(table.table)}
            assert {len(row) for row in table.rows} == {len(table.columns)}


# Guards of the labels.


@pytest.mark.parametrize(
    "template",
    [pytest.param("mimic-iv_one-year-mortality", marks=pytest.mark.slow), "mimic-iv_readmission-30d"],
)
def test_the_index_admission_hides_its_end_and_earlier_ones_show_theirs(place: Place, template: str) -> None:
    ends = 0
    for each in place.cohort(template)[1]:
        rows = cells(each, "hosp.admissions", "dischtime_h", "discharge_location")
        assert rows[-1] == (None, None)
        ends += sum(time is not None for time, _ in rows[:-1])
    assert ends > 10


def test_the_kidney_template_keeps_creatinine_of_urine_and_no_other(place: Place) -> None:
    found = place.cohort(CKD)[1]
    labels = {label for each in found for label in cells(each, "hosp.labevents", "label") if label}
    assert "Urea Nitrogen" in labels
    assert not [each for each in labels if "reatinine" in each and "Urine" not in each]


@pytest.mark.parametrize("template", EACH)
def test_billing_and_days_of_death_are_never_shown(place: Place, template: str) -> None:
    for each in place.cohort(template)[1]:
        columns = {table.table: {column.name for column in table.columns} for table in each.tables}
        assert not {"hosp.drgcodes", "hosp.hcpcsevents"} & set(columns)
        assert columns["hosp.patients"] == {"gender", "age"}
        assert not {"outtime_h", "los", "last_careunit"} & columns.get("icu.icustays", set())
