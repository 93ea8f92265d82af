"""The table of requirements on templates, hash, benchmarks and sets is whole, and every test in it exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from table_checks import absent
from task_requirements_shown import NOT_HERE, SHOWN

GROUPS = ((10, 20), (30, 49), (100, 123), (130, 158))
ROWS = [f"MO-{number:03}" for first, last in GROUPS for number in range(first, last + 1)]


def test_every_requirement_is_shown_or_has_a_reason() -> None:
    assert list(SHOWN) == [row for row in ROWS if row not in NOT_HERE]
    assert set(NOT_HERE) < set(ROWS)
    assert all(SHOWN.values())
    assert all(NOT_HERE.values())


@pytest.mark.parametrize("row", SHOWN)
def test_each_test_that_shows_a_requirement_exists(row: str) -> None:
    assert absent(SHOWN[row]) == []
    assert len(set(SHOWN[row])) == len(SHOWN[row])


def test_the_rows_are_those_of_the_requirements(shared: Path) -> None:
    text = (shared / "seeds" / "requirements.md").read_text()
    listed = re.findall(r"^\| (MO-\d{3}) \|", text, flags=re.MULTILINE)
    assert set(ROWS) <= set(listed)
    for first, last in GROUPS:
        inside = [row for row in listed if first <= int(row[3:]) <= last]
        assert inside == [row for row in ROWS if first <= int(row[3:]) <= last]
