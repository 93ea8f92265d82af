"""The table of requirements is whole, and every test that it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from requirements_shown import NOT_HERE, SHOWN
from table_checks import TESTS, absent, functions_of

# Ids of the rows, as the requirements number them: with gaps between the groups.
GROUPS = ((1, 16), (20, 29), (30, 46), (50, 69), (70, 101), (110, 116))
ROWS = [f"MB-{number:03}" for first, last in GROUPS for number in range(first, last + 1)]
# Placeholders of the page, and a function of another package.
NO_NAMES = {"canonical_id", "canonical_label_ids", "channel_name", "native_id", "region_name", "safe_load"}


def test_every_requirement_is_shown_or_has_a_reason() -> None:
    assert list(SHOWN) == [row for row in ROWS if row not in NOT_HERE]
    assert set(NOT_HERE) < set(ROWS)
    assert all(SHOWN.values())
    assert all(NOT_HERE.values())


@pytest.mark.parametrize("row", SHOWN)
def test_each_test_that_shows_a_requirement_exists(row: str) -> None:
    assert absent(SHOWN[row]) == []
    assert len(set(SHOWN[row])) == len(SHOWN[row])


def test_a_test_that_does_not_exist_is_found() -> None:
    assert absent(["test_requirements_table.py::test_nothing", "nowhere.py::test_a"]) == [
        "test_requirements_table.py::test_nothing",
        "nowhere.py::test_a",
    ]
    assert "test_a_test_that_does_not_exist_is_found" in functions_of("test_requirements_table.py")


def test_the_rows_are_those_of_the_requirements(shared: Path) -> None:
    text = (shared / "seeds" / "requirements.md").read_text()
    assert re.findall(r"^\| (MB-\d{3}) \|", text, flags=re.MULTILINE) == ROWS


def test_every_name_on_the_page_is_in_the_test_of_fixed_names(shared: Path) -> None:
    """MB-015: no name of the page is forgotten there."""
    page = (shared / "seeds" / "medotter-bundle-schema.txt").read_text()
    names = set(re.findall(r"\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b", page)) - NO_NAMES
    text = (TESTS / "test_fixed_names.py").read_text()
    assert len(names) > 40
    assert sorted(name for name in names if name not in text) == []
