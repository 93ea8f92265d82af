"""Strict CSV: every cell is text, every row as long as the header, every fault has its line."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medomni.core.errors import DocumentError, DocumentNotFoundError
from medomni.core.files import parse_csv, read_csv

cells = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5)


@given(st.lists(cells, min_size=1, max_size=4, unique=True), st.data())
def test_what_the_standard_library_writes_is_read_as_the_same_text(header: list[str], data) -> None:
    rows = data.draw(st.lists(st.lists(cells, min_size=len(header), max_size=len(header)), max_size=4))
    stream = io.StringIO(newline="")
    csv.writer(stream, quoting=csv.QUOTE_ALL).writerows([header, *rows])
    if not stream.getvalue().startswith("\ufeff"):
        document = parse_csv(stream.getvalue().encode(), name="t.csv")
        assert document.value == {
            "header": header,
            "rows": [dict(zip(header, row, strict=True)) for row in rows],
        }


def test_cells_stay_text_and_know_their_lines() -> None:
    document = parse_csv('atom,patient\na,007\nb,"7\n8"\nc,NaN\n', name="t.csv")
    assert [row["patient"] for row in document.value["rows"]] == ["007", "7\n8", "NaN"]
    assert document.where(("rows", 1, "patient")) == "t.csv:3, rows[1].patient"
    assert document.where(("rows", 2, "patient")) == "t.csv:5, rows[2].patient"
    assert document.where(("header", 0)) == "t.csv:1, header[0]"


@pytest.mark.parametrize(
    ("data", "code", "where"),
    [
        (b"", "document-syntax", "t.csv"),
        (b"a,a\n1,2\n", "document-duplicate-key", "t.csv:1"),
        (b"a,b\n1,2\n1\n", "document-syntax", "t.csv:3"),
        (b"a,b\n1,2,3\n", "document-syntax", "t.csv:2"),
        (b"a,b\n\n1,2\n", "document-syntax", "t.csv:2"),
        (b'a,b\n1,"2\n', "document-syntax", "t.csv:2"),
        (b'a,b\n1,"2"x\n', "document-syntax", "t.csv:2"),
        (b"\xef\xbb\xbfa,b\n", "document-syntax", "t.csv:1"),
        (b"a\n\xff\n", "document-not-utf8", "t.csv:2"),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused_with_its_line(data: bytes, code: str, where: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_csv(data, name="t.csv")
    assert (caught.value.code, caught.value.where) == (code, where)


def test_files_are_read_up_to_a_limit(tmp_path) -> None:
    (tmp_path / "t.csv").write_text("a\nx\n")
    assert read_csv(tmp_path / "t.csv").value == {"header": ["a"], "rows": [{"a": "x"}]}
    with pytest.raises(DocumentError) as caught:
        read_csv(tmp_path / "t.csv", max_bytes=2)
    assert caught.value.code == "document-too-large"
    with pytest.raises(DocumentNotFoundError):
        read_csv(tmp_path / "gone.csv")
