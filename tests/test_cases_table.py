"""The table of cases of records and runs is whole, and every test that it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cases_shown import CASES, NOT_HERE
from table_checks import TESTS, absent


def test_no_case_is_shown_and_missing_at_once() -> None:
    assert list(CASES) == sorted(CASES)
    assert set(CASES).isdisjoint(NOT_HERE)
    assert all(NOT_HERE.values())


@pytest.mark.parametrize("name", CASES)
def test_each_test_that_shows_a_case_exists(name: str) -> None:
    case = CASES[name]
    assert case.kind
    assert absent([*case.kind, *([case.files] if case.files else [])]) == []


def test_every_test_that_is_named_after_a_case_is_in_its_row() -> None:
    """A new test of a case cannot be left out of the table."""
    for path in sorted((TESTS / "cases").glob("test_*.py")):
        for name in re.findall(r"^def (test_(?:eh|rn)_\d\d_\w+)\(", path.read_text(), flags=re.MULTILINE):
            case = CASES[f"{name[5:7].upper()}-{name[8:10]}"]
            assert f"cases/{path.name}::{name}" in (case.files, *case.kind)


def test_the_rows_are_those_of_the_list_of_cases(shared: Path) -> None:
    text = (shared / "cases" / "CASES.md").read_text()
    listed = re.findall(r"^\| ((?:EH|RN)-\d\d) \| \w \| ([^|]+) \|", text, flags=re.MULTILINE)
    assert sorted([*CASES, *NOT_HERE]) == [name for name, _ in listed]
    kinds = dict(re.findall(r"^### ((?:EH|RN)-\d\d) \([^)]*\) (.+)$", text, flags=re.MULTILINE))
    assert {name: case.what for name, case in CASES.items()} == {name: kinds[name] for name in CASES}
