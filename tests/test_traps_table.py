"""The table of traps is whole, and every test that it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from table_checks import TESTS, absent
from traps_shown import TRAPS

# Where the design decides something of its own; the table must say what.
DECIDED = (5, 6, 7, 17, 18, 21, 25, 30, 48, 54, 56, 60)


def test_every_trap_is_in_the_table_once_and_in_order() -> None:
    assert list(TRAPS) == list(range(1, 63))
    assert len({trap.what for trap in TRAPS.values()}) == 62


@pytest.mark.parametrize("number", TRAPS)
def test_each_test_that_shows_a_trap_exists(number: int) -> None:
    trap = TRAPS[number]
    assert trap.tests
    assert absent(trap.tests) == []
    assert len(set(trap.tests)) == len(trap.tests)


def test_what_was_decided_otherwise_is_said() -> None:
    assert tuple(number for number, trap in TRAPS.items() if trap.decided) == DECIDED


def test_every_test_that_is_named_after_a_trap_is_in_its_row() -> None:
    """A new test of a trap cannot be left out of the table."""
    for path in sorted(TESTS.rglob("test_traps_*.py")):
        for name in re.findall(r"^def (test_traps?_\d+\w*)\(", path.read_text(), flags=re.MULTILINE):
            node_id = f"{path.relative_to(TESTS).as_posix()}::{name}"
            number = int(re.findall(r"\d+", name)[0])
            assert node_id in TRAPS[number].tests


def test_the_numbers_are_those_of_the_list_of_traps(shared: Path) -> None:
    text = (
        (shared / "reference" / "imaging-metrics.md").read_text().partition("## 3.")[2].partition("## 4.")[0]
    )
    assert [int(number) for number in re.findall(r"^\| (\d+) \|", text, flags=re.MULTILINE)] == list(TRAPS)
