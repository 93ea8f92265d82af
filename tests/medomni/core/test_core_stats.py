"""Quantiles, means and bootstrap intervals: exact values, laws, and digits that never change."""

from __future__ import annotations

import itertools
import math
import statistics
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medomni.core import stats
from medomni.core.errors import StatisticsError
from medomni.core.stats import (
    BOOTSTRAP_METHOD,
    bootstrap_interval,
    bootstrap_interval_of_regions,
    mean,
    median,
    quantile,
    resample_indices,
)

NUMBERS = st.floats(-1e6, 1e6)
SAMPLES = st.lists(NUMBERS, min_size=1, max_size=30)
REDUCES = pytest.mark.parametrize("reduce", ["mean", "median"])
VALUES = [0.91, 0.13, 0.55, 0.0, 1.0, 0.72, 0.72, 0.38, 0.64, 0.29]

GOLDEN_DRAWS = [
    [6, 2, 0, 0, 8, 9, 6, 7, 5, 9],
    [8, 0, 8, 0, 7, 1, 8, 5, 2, 4],
    [0, 1, 6, 6, 6, 3, 9, 9, 6, 6],
]
GOLDEN_DRAWS_OF_SEED_7 = [625, 897, 775, 225, 300, 873, 5, 821]
GOLDEN_MEAN = "(0.337, 0.722)"
GOLDEN_MEDIAN = "(0.255, 0.815)"
GOLDEN_REGIONS = "(0.37899999999999995, 0.719)"


def regions(matrix, present=None, **settings):
    array = np.asarray(matrix, dtype=np.float64)
    mask = np.ones(array.shape, dtype=bool) if present is None else np.asarray(present, dtype=bool)
    return bootstrap_interval_of_regions(array, present=mask, **settings)


def test_quantiles_interpolate_between_ranks():
    assert quantile([1.0, 2.0, 4.0], 0.5) == 2.0
    assert quantile([1.0, 2.0, 4.0], 0.75) == 3.0
    assert quantile([3.0], 0.95) == 3.0
    assert quantile([0.1, 0.1], 0.3) == 0.1
    assert quantile([-1.7e308, 1.7e308], 0.5) == 0.0


@settings(max_examples=60, deadline=None)
@given(SAMPLES, st.floats(0, 1))
def test_quantiles_agree_with_the_usual_definition(values, q):
    values = sorted(values)
    assert quantile(values, q) == pytest.approx(np.quantile(values, q), rel=1e-9, abs=1e-9)
    assert values[0] <= quantile(values, q) <= values[-1]


@settings(max_examples=60, deadline=None)
@given(SAMPLES)
def test_means_and_medians_agree_with_the_standard_library_in_any_order(values):
    assert mean(values) == pytest.approx(statistics.fmean(values), abs=1e-12)
    assert median(values) == pytest.approx(statistics.median(values), rel=1e-12)
    assert mean(values) == mean(values[::-1])
    assert median(values) == median(values[::-1])


def test_a_mean_is_exact_where_a_running_sum_is_not():
    assert mean([1e16, 1.0, -1e16, 1.0]) == 0.5


@pytest.mark.parametrize("function", [mean, median, lambda values: quantile(values, 0.5)])
@pytest.mark.parametrize("values", [[], [1.0, math.nan], [math.inf]])
def test_no_values_and_values_that_are_not_finite_are_refused(function, values):
    with pytest.raises(StatisticsError):
        function(values)


def test_settings_out_of_range_are_refused():
    for call in (
        lambda: quantile([1.0], 1.5),
        lambda: quantile([1.0], math.nan),
        lambda: quantile([2.0, 1.0], 0.5),
        lambda: mean([1.7e308, 1.7e308]),
        lambda: resample_indices(0, resamples=1, seed=0),
        lambda: resample_indices(2**32, resamples=1, seed=0),
        lambda: resample_indices(2, resamples=0, seed=0),
        lambda: resample_indices(2, resamples=1, seed=-1),
        lambda: bootstrap_interval([1.0, 2.0], reduce="mode"),
        lambda: bootstrap_interval([1.0, 2.0], reduce="mean", confidence=1.0),
        lambda: bootstrap_interval([1.0, math.nan], reduce="mean"),
        lambda: bootstrap_interval([math.inf, 1.0], reduce="median"),
        lambda: bootstrap_interval([1e300, 1.0], reduce="mean"),
        lambda: bootstrap_interval([[1.0], [2.0]], reduce="mean"),
        lambda: regions([[1.0], [math.nan]], reduce="mean"),
        lambda: regions([1.0, 2.0], reduce="mean"),
        lambda: regions([[], []], reduce="mean"),
        lambda: regions([[1.0], [2.0]], [[True]], reduce="mean"),
        lambda: bootstrap_interval_of_regions(np.ones((2, 1)), present=np.ones((2, 1)), reduce="mean"),
    ):
        with pytest.raises(StatisticsError) as caught:
            call()
        assert caught.value.code == "statistics-invalid"


def test_draws_have_the_digits_that_they_always_had():
    assert resample_indices(10, resamples=3, seed=0).tolist() == GOLDEN_DRAWS
    assert resample_indices(1000, resamples=1, seed=7)[0, :8].tolist() == GOLDEN_DRAWS_OF_SEED_7


def test_draws_are_the_upper_half_of_raw_integers_scaled_down():
    raw = [int(number) for number in np.random.PCG64(3).random_raw(21)]
    expected = [(number >> 32) * 7 >> 32 for number in raw]
    assert resample_indices(7, resamples=3, seed=3).ravel().tolist() == expected


def test_draws_cover_all_indexes_evenly():
    draws = resample_indices(7, resamples=10_000, seed=1)
    assert draws.shape == (10_000, 7)
    counts = np.bincount(draws.ravel(), minlength=7)
    assert counts.sum() == 70_000
    assert all(abs(count - 10_000) < 500 for count in counts)


@REDUCES
def test_pieces_of_draws_change_no_digit(monkeypatch, reduce):
    whole = bootstrap_interval(VALUES, reduce=reduce, resamples=500)
    draws = resample_indices(10, resamples=50, seed=4)
    monkeypatch.setattr(stats, "_CHUNK_DRAWS", 33)
    assert bootstrap_interval(VALUES, reduce=reduce, resamples=500) == whole
    assert np.array_equal(resample_indices(10, resamples=50, seed=4), draws)


def test_intervals_have_the_digits_that_they_always_had():
    assert repr(bootstrap_interval(VALUES, reduce="mean")) == GOLDEN_MEAN
    assert repr(bootstrap_interval(VALUES, reduce="median")) == GOLDEN_MEDIAN
    matrix = np.array(VALUES).reshape(5, 2)
    assert repr(regions(matrix, reduce="mean")) == GOLDEN_REGIONS
    assert BOOTSTRAP_METHOD == "percentile bootstrap over units, 10000 resamples, PCG64 seed 0, 95%"


def test_means_of_resamples_are_summed_one_value_after_the_other():
    values = np.sort(np.random.default_rng(0).random(300))
    draws = resample_indices(300, resamples=40, seed=0)
    sums = np.zeros(40)
    for column in range(300):
        sums += values[draws[:, column]]
    assert np.array_equal(stats._row_means(values, draws), sums / 300)


@REDUCES
def test_an_interval_equals_a_slow_twin(reduce):
    draws = resample_indices(10, resamples=200, seed=5)
    ordered = sorted(VALUES)
    function = mean if reduce == "mean" else median
    twin = sorted(function([ordered[index] for index in row]) for row in draws.tolist())
    found = bootstrap_interval(VALUES, reduce=reduce, resamples=200, seed=5, confidence=0.8)
    assert found == pytest.approx((quantile(twin, 0.1), quantile(twin, 0.9)), abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.lists(NUMBERS, min_size=2, max_size=12), st.randoms(), st.sampled_from(["mean", "median"]))
def test_the_order_of_units_changes_no_digit(values, random, reduce):
    shuffled = list(values)
    random.shuffle(shuffled)
    assert bootstrap_interval(values, reduce=reduce, resamples=200) == bootstrap_interval(
        shuffled, reduce=reduce, resamples=200
    )


@REDUCES
def test_intervals_follow_shift_and_scale(reduce):
    low, high = bootstrap_interval(VALUES, reduce=reduce, resamples=1000)
    moved = bootstrap_interval([4 * value + 3 for value in VALUES], reduce=reduce, resamples=1000)
    assert moved == pytest.approx((4 * low + 3, 4 * high + 3), abs=1e-12)


@REDUCES
def test_an_interval_holds_the_estimate_and_narrows_with_confidence(reduce):
    low, high = bootstrap_interval(VALUES, reduce=reduce, resamples=1000)
    narrow_low, narrow_high = bootstrap_interval(VALUES, reduce=reduce, resamples=1000, confidence=0.5)
    assert min(VALUES) <= low <= narrow_low <= narrow_high <= high <= max(VALUES)
    assert low <= (mean if reduce == "mean" else median)(VALUES) <= high


@REDUCES
def test_equal_values_have_an_interval_of_no_width(reduce):
    assert bootstrap_interval([0.5] * 4, reduce=reduce, resamples=50) == (0.5, 0.5)
    assert repr(bootstrap_interval([-0.0, 0.0], reduce=reduce, resamples=50)) == "(0.0, 0.0)"


@pytest.mark.parametrize("values", [[], [0.5]])
def test_fewer_than_two_units_have_no_interval(values):
    assert bootstrap_interval(values, reduce="mean") is None
    assert regions(np.array(values).reshape(-1, 1), reduce="mean") is None


def test_about_95_of_100_intervals_hold_the_true_mean():
    random = np.random.default_rng(11)
    inside = 0
    for _ in range(300):
        low, high = bootstrap_interval(random.normal(2.0, 1.0, 40), reduce="mean", resamples=400)
        inside += low <= 2.0 <= high
    assert 0.90 <= inside / 300 <= 0.98


def test_many_units_need_little_memory():
    values = np.linspace(0.0, 1.0, 100_000)
    tracemalloc.start()
    try:
        bootstrap_interval(values, reduce="mean", resamples=12)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 50_000_000


@REDUCES
def test_one_region_that_all_units_have_is_the_plain_interval(reduce):
    matrix = [[value] for value in VALUES]
    plain = bootstrap_interval(VALUES, reduce=reduce, resamples=500)
    assert regions(matrix, reduce=reduce, resamples=500) == plain


@REDUCES
def test_units_without_any_region_do_not_count(reduce):
    matrix = [[value, 0.2] for value in VALUES]
    padded = [*matrix, [math.nan, math.nan]]
    mask = [[True, True]] * 10 + [[False, False]]
    expected = regions(matrix, reduce=reduce, resamples=300)
    assert regions(padded, mask, reduce=reduce, resamples=300) == expected


@REDUCES
def test_a_macro_interval_equals_a_slow_twin(reduce):
    random = np.random.default_rng(2)
    matrix = random.random((8, 3))
    mask = np.ones((8, 3), dtype=bool)
    mask[2:, 1] = False  # one resample in ten has no unit of this region
    mask[::3, 2] = False
    units = sorted(
        zip(mask.tolist(), np.where(mask, matrix, 0.0).tolist(), strict=True),
        key=lambda unit: (unit[0], unit[1]),
    )
    function = mean if reduce == "mean" else median
    twin = []
    for row in resample_indices(8, resamples=300, seed=0).tolist():
        columns = [[units[u][1][r] for u in row if units[u][0][r]] for r in range(3)]
        if all(columns):
            twin.append(mean([function(column) for column in columns]))
    twin.sort()
    assert 150 <= len(twin) < 300
    found = regions(matrix, mask, reduce=reduce, resamples=300)
    assert found == pytest.approx((quantile(twin, 0.025), quantile(twin, 0.975)), abs=1e-12)


def test_a_region_that_most_resamples_miss_has_no_interval():
    mask = np.ones((3, 2), dtype=bool)
    mask[1:, 1] = False
    assert regions(np.ones((3, 2)), mask, reduce="mean") is not None
    mask[0, 1] = False
    assert regions(np.ones((3, 2)), mask, reduce="mean") is None
    never = np.array([[True, False], [False, True]])
    assert regions(np.ones((2, 2)), never, reduce="median") == (1.0, 1.0)
    rare = np.eye(6, dtype=bool)
    assert regions(np.ones((6, 6)), rare, reduce="median") is None


@REDUCES
def test_the_order_of_units_changes_no_digit_of_a_macro_interval(reduce):
    random = np.random.default_rng(3)
    matrix, mask = random.random((7, 2)), random.random((7, 2)) > 0.2
    expected = regions(matrix, mask, reduce=reduce, resamples=200)
    for order in itertools.islice(itertools.permutations(range(7)), 0, 5040, 700):
        assert regions(matrix[list(order)], mask[list(order)], reduce=reduce, resamples=200) == expected
