"""The record's Markdown: no cell can end its cell, its row or its table."""

from __future__ import annotations

import re

from evidence_builders import evidence, table
from hypothesis import given, settings
from hypothesis import strategies as st

from medomni.studio.record.choice import choose
from medomni.studio.record.markdown import cell_text, markdown, row_line

NASTY = st.text(st.sampled_from("ab |\\`\n\r\t\x00\x1b<>#-*[]!~\u2028\u202e\x85⏎é"), max_size=40)


def test_marks_are_escaped_and_line_ends_are_shown() -> None:
    assert cell_text("a|b") == "a\\|b"
    assert cell_text("a\\|b") == "a\\\\\\|b"
    assert cell_text("`code`") == "\\`code\\`"
    assert cell_text("<0.01") == "\\<0.01"
    assert cell_text("one\r\ntwo\rthree\nfour") == "one ⏎ two ⏎ three ⏎ four"
    assert cell_text("tab\there") == "tab here"
    assert cell_text(None) == ""


def test_invisible_characters_become_visible() -> None:
    assert cell_text("a\u202eb\x00c") == "a(U+202E)b(U+0000)c"
    assert cell_text("3 µg/dL, 37 °C") == "3 µg/dL, 37 °C"


@settings(max_examples=200)
@given(st.lists(NASTY, min_size=1, max_size=5))
def test_a_row_is_one_line_with_as_many_cells_as_it_was_given(cells: list[str]) -> None:
    line = row_line(cells)
    assert line.count("\n") == 1
    assert len(line.splitlines()) == 1
    body = line[:-1]
    unescaped = re.sub(r"\\.", "", body)
    assert unescaped.count("|") == len(cells) + 1
    assert "`" not in unescaped
    assert "<" not in unescaped


@settings(max_examples=50)
@given(NASTY)
def test_no_text_makes_a_heading_of_its_own(text: str) -> None:
    made = evidence(table("hosp.x", ("value",), [(text,)]))
    headings = [
        line for line in markdown(choose(made, families=("labs",))).splitlines() if line.startswith("#")
    ]
    assert headings == ["### labs: hosp.x"]


def test_the_whole_look_is_fixed() -> None:
    made = evidence(table("hosp.x", ("time_h", "value"), [("-2.000", "old"), ("-1.000", "new|er")]))
    record = choose(made, families=("labs",), rule="The rule.")
    assert markdown(record) == (
        "The rule.\n"
        "\n"
        "### labs: hosp.x\n"
        "\n"
        "| time_h | value |\n"
        "| --- | --- |\n"
        "| -1.000 | new\\|er |\n"
        "| -2.000 | old |\n"
        "\n"
        "2 of 2 rows shown; complete table: `/data/record/hosp.x.csv`\n"
    )


def test_a_part_without_room_for_a_row_still_tells_its_count() -> None:
    made = evidence(table("note.discharge", ("text",), [("x" * 390,)]))
    text = markdown(choose(made, families=("labs",), rule="R.", max_bytes=300))
    assert text.endswith("### labs: note.discharge\n\n0 of 1 rows shown; complete table: "
                         "`/data/record/note.discharge.csv`\n")  # fmt: skip
