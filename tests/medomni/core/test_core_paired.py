"""Paired statistics: exact values, agreement with scipy, and laws of swapping the two sides."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wilcoxon

from medomni.core.errors import StatisticsError
from medomni.core.paired import (
    differences,
    holm,
    paired_interval,
    paired_interval_of_regions,
    signed_rank_p,
)
from medomni.core.stats import bootstrap_interval

SAMPLES = st.lists(st.integers(-30, 30).map(lambda n: n / 10), min_size=2, max_size=25)
REDUCES = pytest.mark.parametrize("reduce", ["mean", "median"])


def test_differences_are_second_minus_first_and_carry_no_rounding():
    assert differences([0.90, 0.5], [0.91, 0.51]) == [0.01, 0.01]
    assert math.copysign(1, differences([0.3], [0.3])[0]) == 1
    with pytest.raises(StatisticsError, match="one length"):
        differences([1.0], [])
    with pytest.raises(StatisticsError, match="finite"):
        differences([math.inf], [1.0])


@REDUCES
@settings(max_examples=25, deadline=None)
@given(SAMPLES)
def test_swapping_the_sides_mirrors_the_interval_exactly(reduce, values):
    low, high = paired_interval(values, reduce=reduce)
    assert paired_interval([-v for v in values], reduce=reduce) == (-high + 0.0, -low + 0.0)
    assert low <= high


@REDUCES
def test_swapping_the_sides_mirrors_the_interval_of_a_macro_average(reduce):
    matrix = np.array([[0.1, 0.2], [0.3, 0.0], [-0.2, 0.4], [0.05, 0.1], [0.3, 0.3]])
    present = np.array([[1, 1], [1, 0], [1, 1], [1, 1], [1, 1]], dtype=bool)
    low, high = paired_interval_of_regions(matrix, present=present, reduce=reduce)
    assert paired_interval_of_regions(-matrix, present=present, reduce=reduce) == (-high, -low)
    one = paired_interval_of_regions(matrix[:1], present=present[:1], reduce=reduce)
    assert one is None


def test_the_interval_is_the_bootstrap_of_the_differences_or_its_mirror():
    values = [0.1, 0.2, -0.05, 0.3]
    assert paired_interval(values, reduce="mean") == bootstrap_interval(values, reduce="mean")
    assert paired_interval([0.0, 0.0], reduce="mean") == (0.0, 0.0)
    low, high = paired_interval([-1.0, 1.0, -2.0, 2.0], reduce="mean")
    assert low == -high
    assert paired_interval([0.5], reduce="mean") is None


def test_the_signed_rank_test_gives_known_values():
    # Six differences of one sign: 2 of the 64 sign patterns are as extreme.
    assert signed_rank_p([1, 2, 3, 4, 5, 6]) == 0.03125
    assert signed_rank_p([1, 1, 1, 1, 1, 1]) == 0.03125
    assert signed_rank_p([1, -1, 1, -1, 1, -1]) == 1.0
    assert signed_rank_p([1, 2, 3, 4, 5]) is None
    assert signed_rank_p([1, 2, 3, 4, 5, 0.0, 0.0]) is None
    with pytest.raises(StatisticsError):
        signed_rank_p([math.nan] * 6)


@pytest.mark.parametrize(("n", "method"), [(6, "exact"), (20, "exact"), (50, "exact"), (51, "asymptotic")])
def test_the_signed_rank_test_agrees_with_scipy(n, method):
    values = np.random.default_rng(n).normal(0.3, 1, n)
    name = method if method == "exact" or "asymptotic" in wilcoxon.__doc__ else "approx"
    assert signed_rank_p(values) == pytest.approx(wilcoxon(values, method=name).pvalue, rel=1e-9)


def test_ties_and_zeros_agree_with_scipy_above_the_exact_range():
    values = np.round(np.random.default_rng(1).normal(0.2, 1, 120), 1)
    method = "asymptotic" if "asymptotic" in wilcoxon.__doc__ else "approx"
    expected = wilcoxon(values, zero_method="wilcox", method=method).pvalue
    assert signed_rank_p(values) == pytest.approx(expected, rel=1e-9)


def test_ties_below_the_exact_range_count_out_all_signs():
    values = [0.1, 0.1, 0.2, -0.2, 0.3, 0.3, -0.1, 0.4]
    sizes = np.abs(values)
    ranks = np.array([np.mean(np.flatnonzero(np.sort(sizes) == s)) + 1 for s in sizes])
    patterns = np.array([[(p >> bit) & 1 for bit in range(8)] for p in range(256)])
    sums = patterns @ ranks
    found = ranks[np.array(values) > 0].sum()
    tail = min((sums <= found).sum(), (sums >= found).sum())
    assert signed_rank_p(values) == min(1.0, 2 * tail / 256)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-30, 30), min_size=6, max_size=60))
def test_the_test_does_not_care_for_order_sign_or_scale(values):
    p = signed_rank_p(values)
    assert p == signed_rank_p([-v for v in reversed(values)]) == signed_rank_p([4 * v for v in values])
    assert p is None or 0 < p <= 1


def test_holm_adjusts_in_place_and_passes_over_what_was_not_tested():
    assert holm([0.01, None, 0.04, 0.03]) == [0.03, None, 0.06, 0.06]
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []
    with pytest.raises(StatisticsError):
        holm([1.5])
