"""The rank interval: laws, exact values, and what may never be ranked."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medomni.core.errors import StatisticsError
from medomni.core.ranking import Decision, PairedTest, decide, rank_intervals


def test_without_any_test_nobody_is_separated() -> None:
    assert rank_intervals(["a", "b", "c"], separated=[]) == {"a": (1, 3), "b": (1, 3), "c": (1, 3)}


def test_rank_counts_those_who_are_significantly_better_and_worse() -> None:
    found = rank_intervals(["a", "b", "c", "d"], separated=[("a", "c"), ("a", "d"), ("b", "d")])
    assert found == {"a": (1, 2), "b": (1, 3), "c": (2, 4), "d": (3, 4)}


def test_test_against_somebody_who_is_not_ranked_ranks_nobody() -> None:
    assert rank_intervals(["a", "b"], separated=[("z", "a"), ("b", "z")]) == {"a": (1, 2), "b": (1, 2)}


def test_same_separation_told_twice_counts_once() -> None:
    assert rank_intervals(["a", "b"], separated=[("a", "b"), ("a", "b")]) == {"a": (1, 1), "b": (2, 2)}


@pytest.mark.parametrize(("names", "separated"), [(["a", "a"], []), (["a", "b"], [("a", "b"), ("b", "a")])])
def test_contradictions_are_refused(names: list[str], separated: list[tuple[str, str]]) -> None:
    with pytest.raises(StatisticsError) as caught:
        rank_intervals(names, separated=separated)
    assert caught.value.code == "statistics-invalid"


def test_holm_over_the_board_takes_back_what_one_test_alone_would_say() -> None:
    alone = decide([PairedTest("a", "b", 0.2, 0.03)])
    assert alone == [Decision(0.03, "a", "b")]
    both = decide([PairedTest("a", "b", 0.2, 0.03), PairedTest("a", "c", -0.1, 0.04)])
    assert both == [Decision(0.06, None, None), Decision(0.06, None, None)]


def test_negative_difference_puts_the_second_ahead() -> None:
    assert decide([PairedTest("a", "b", -0.2, 0.001)]) == [Decision(0.001, "b", "a")]


def test_p_at_the_level_separates_nobody() -> None:
    assert decide([PairedTest("a", "b", 0.2, 0.05)])[0].better is None


@pytest.mark.parametrize(
    "test",
    [PairedTest("a", "b", None, 0.001), PairedTest("a", "b", 0.0, 0.001), PairedTest("a", "b", 1.0, None)],
)
def test_no_number_or_no_difference_separates_nobody(test: PairedTest) -> None:
    assert decide([test])[0].better is None


@pytest.mark.parametrize(
    "test",
    [PairedTest("a", "a", 0.1, 0.1), PairedTest("a", "b", float("nan"), 0.1), PairedTest("a", "b", 0.1, 1.5)],
)
def test_malformed_tests_are_refused(test: PairedTest) -> None:
    with pytest.raises(StatisticsError):
        decide([test])


def test_level_outside_0_to_1_is_refused() -> None:
    with pytest.raises(StatisticsError):
        decide([], level=1.0)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_rank_intervals_hold_the_rank_of_every_order_that_the_tests_allow(data: st.DataObject) -> None:
    names = [f"a{i}" for i in range(data.draw(st.integers(1, 5)))]
    pairs = list(itertools.combinations(names, 2))  # pointing one way, so that an order exists
    separated = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    found = rank_intervals(names, separated=separated)
    for order in itertools.permutations(names):
        place = {name: index + 1 for index, name in enumerate(order)}
        if all(place[better] < place[worse] for better, worse in separated):
            assert all(low <= place[name] <= high for name, (low, high) in found.items())
