"""The numbers and names on the page about scoring are those of the golden vectors and of the code."""

from __future__ import annotations

import json
import re

import pytest
from markdown_pages import REPOSITORY

from medomni.core import stats
from medotter_bench.metrics.assignment import EXACT_WORK
from medotter_bench.results import SCORING_VERSION
from medotter_bench.specs import DEFAULT_INSTANCE_PENALTIES, DEFAULT_PENALTIES

PAGE = (REPOSITORY / "docs/explanation/scoring.md").read_text(encoding="utf-8")
COLUMNS = (
    "hd95", "hd95_pooled", "hd95_mean_directed", "hd95_max_higher", "hd95_max_lower", "hd95_26conn", "hd100",
)  # fmt: skip
ROWS = re.findall(r"^\| `(\w+)` \| ([-\d. |]+) \|$", PAGE, re.M)


@pytest.mark.parametrize(("name", "cells"), ROWS)
def test_the_table_of_conventions_holds_the_golden_numbers(name, cells):
    vectors = json.loads((REPOSITORY / "tests/golden/imaging/semantic.json").read_text(encoding="utf-8"))
    (case,) = [case for case in vectors["cases"] if case["name"] == name]
    expected = case["expected"]["fg"]
    shown = [float(cell) for cell in cells.split("|")]
    assert shown == [pytest.approx(expected[column], abs=5e-5) for column in COLUMNS]


def test_the_table_of_conventions_has_rows():
    assert len(ROWS) >= 7


def test_the_table_of_penalties_holds_the_defaults():
    shown = {None: "not scored", "grid_diagonal": "grid diagonal", 0.0: "0", 1.0: "1"}
    for state, dice in DEFAULT_PENALTIES["dice"].items():
        cells = [dice, DEFAULT_PENALTIES["hd95"][state], DEFAULT_INSTANCE_PENALTIES[state]]
        row = " | ".join(shown[cell] for cell in cells)
        assert re.search(rf"^\| `{state}`.*\| {row} \|$", PAGE, re.M), state


def test_the_page_states_the_version_and_the_settings_in_force():
    assert f"under scoring version {SCORING_VERSION}." in PAGE
    assert stats.RESAMPLES == 10_000
    assert "10 000 resamples" in PAGE
    assert EXACT_WORK == 20_000_000
    assert "20 million" in PAGE
