"""Which rows the record shows: the newest, within its limits, and the same for every rung."""

from __future__ import annotations

import csv
import io

import pytest
from evidence_builders import evidence, labs, table
from hypothesis import given, settings
from hypothesis import strategies as st

from medomni.studio.errors import BuildError
from medomni.studio.record.choice import MAX_BYTES, MAX_CELL, MAX_ROWS, RULE, choose
from medomni.studio.record.markdown import markdown
from medomni.studio.record.tables import csv_bytes, record_files

FAMILIES = ("admissions", "labs", "notes")

CELLS = st.none() | st.text(max_size=600)
ROWS = st.lists(st.tuples(CELLS, CELLS, st.sampled_from(FAMILIES)), min_size=1, max_size=120)
TABLES = st.lists(ROWS, max_size=4).map(
    lambda many: evidence(
        *(
            table(f"hosp.t{at}", ("a", "b"), [row[:2] for row in rows], [row[2] for row in rows])
            for at, rows in enumerate(many)
        )
    )
)


def read_rows(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode("utf-8"), newline="")))


def test_the_newest_rows_come_first() -> None:
    part = choose(evidence(labs(3)), families=FAMILIES).parts[0]
    assert [row[2] for row in part.rows] == ["2", "1", "0"]


def test_a_part_shows_at_most_so_many_rows_and_counts_the_others() -> None:
    part = choose(evidence(labs(100)), families=FAMILIES).parts[0]
    assert (len(part.rows), part.hidden, part.total) == (MAX_ROWS, 60, 100)
    assert part.rows[0][2] == "99"


def test_parts_come_in_the_order_of_families_then_of_tables() -> None:
    record = choose(
        evidence(labs(1, family="notes"), labs(1, name="hosp.zzz"), labs(1, family="labs", name="icu.x")),
        families=FAMILIES,
    )
    assert [(part.family, part.table) for part in record.parts] == [
        ("labs", "hosp.zzz"),
        ("labs", "icu.x"),
        ("notes", "hosp.labevents"),
    ]


def test_columns_without_any_value_are_left_out_unless_all_are() -> None:
    assert choose(evidence(labs(2)), families=FAMILIES).parts[0].columns == (
        "charttime_h",
        "itemid",
        "valuenum",
    )
    empty = choose(evidence(table("hosp.x", ("a", "b"), [(None, "")])), families=FAMILIES)
    assert empty.parts[0].columns == ("a", "b")


def test_a_long_cell_is_cut_and_says_how_much_is_missing() -> None:
    long = table("note.discharge", ("text",), [("x" * (MAX_CELL + 7),), ("y" * MAX_CELL,)], "notes")
    rows = choose(evidence(long), families=FAMILIES).parts[0].rows
    assert rows[0] == ("y" * MAX_CELL,)
    assert rows[1] == ("x" * MAX_CELL + " … (7 more characters)",)


def test_room_is_given_in_turns_so_that_no_long_table_crowds_out_another() -> None:
    wide = table("hosp.wide", ("a",), [("w" * 300,)] * 40, "admissions")
    narrow = table("hosp.narrow", ("a",), [("n",)] * 40, "notes")
    record = choose(evidence(wide, narrow), families=FAMILIES, max_bytes=4000)
    shown = {part.table: len(part.rows) for part in record.parts}
    assert 5 < shown["hosp.wide"] <= shown["hosp.narrow"] < 40


def test_a_budget_without_room_for_the_headings_is_refused() -> None:
    with pytest.raises(BuildError, match="headings alone") as caught:
        choose(evidence(labs(3)), families=FAMILIES, max_bytes=100)
    assert caught.value.code == "record-budget"


def test_a_row_of_an_unknown_family_is_refused() -> None:
    with pytest.raises(BuildError, match="family") as caught:
        choose(evidence(labs(3, family="other")), families=FAMILIES)
    assert caught.value.code == "record-family"


def test_nobody_with_a_record_gets_a_record_that_says_so() -> None:
    record = choose(evidence(), families=FAMILIES)
    assert record.parts == ()
    assert "Nothing is on record." in markdown(record)


def test_the_rule_names_its_own_limits_and_the_folder() -> None:
    for word in (str(MAX_ROWS), "64 KiB", str(MAX_CELL), "/data/record"):
        assert word in RULE


@settings(max_examples=60)
@given(TABLES, st.integers(4000, 20_000))
def test_shown_and_not_shown_make_the_complete_file_and_bytes_stay_in_the_budget(made, budget) -> None:
    record = choose(made, families=FAMILIES, max_bytes=budget)
    assert len(markdown(record).encode("utf-8", "surrogatepass")) <= budget
    files = record_files(made)
    for name, data in files.items():
        parts = [part for part in record.parts if part.file == name]
        assert sum(part.total for part in parts) == len(read_rows(data)) - 1
        for part in parts:
            assert len(part.rows) + part.hidden == part.total
    assert {part.file for part in record.parts} == set(files)


@settings(max_examples=40)
@given(TABLES)
def test_an_agent_that_reads_the_files_loses_nothing(made) -> None:
    for each in made.tables:
        rows = read_rows(csv_bytes(each))
        assert rows[0] == ["a", "b"]
        assert rows[1:] == [[cell or "" for cell in row] for row in each.rows]


@settings(max_examples=40)
@given(TABLES, st.integers(4000, 30_000))
def test_one_more_rung_adds_parts_and_takes_no_row_away(made, budget) -> None:
    record = choose(made, families=FAMILIES, max_bytes=budget)
    before: set = set()
    for rung in range(len(FAMILIES) + 1):
        shown = record.only(FAMILIES[:rung])
        parts = {(part.family, part.table, part.rows) for part in shown.parts}
        assert before <= parts <= {(part.family, part.table, part.rows) for part in record.parts}
        assert all(part.family in FAMILIES[:rung] for part in shown.parts)
        before = parts
    assert record.only(None) is record


def test_a_rung_has_only_rows_of_its_families_in_its_files() -> None:
    mixed = table("hosp.labevents", ("a",), [("1",), ("2",), ("3",)], ["labs", "notes", "labs"])
    assert record_files(evidence(mixed), ("notes",)) == {"data/record/hosp.labevents.csv": b"a\n2\n"}
    assert record_files(evidence(mixed), ("admissions",)) == {}


def test_a_record_as_plain_data_says_exactly_what_is_shown() -> None:
    plain = choose(evidence(labs(50)), families=FAMILIES).as_plain()
    part = plain["parts"][0]
    assert plain["schema"] == "medomni/record/1"
    assert (part["shown"], part["not_shown"], len(part["rows"])) == (40, 10, 40)
    assert part["file"] == "data/record/hosp.labevents.csv"


def test_the_default_budget_holds_a_large_record() -> None:
    many = [labs(300, name=f"hosp.t{at}") for at in range(60)]
    record = choose(evidence(*many), families=FAMILIES)
    assert MAX_BYTES - 4096 < len(markdown(record).encode()) <= MAX_BYTES
    assert min(len(part.rows) for part in record.parts) > 10
