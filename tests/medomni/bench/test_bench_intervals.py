"""Intervals and draws: known values, other people's implementations, and digits that stay what they are."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from medomni.bench import distributions as dist
from medomni.bench import draws
from medomni.bench import intervals as iv
from medomni.core.errors import StatisticsError

TEN = [0] * 10 + [1] * 10
FOUR = [0, 1, 2, 3] * 5
NEAR = [0, 1, 2, 3, 1, 1, 2, 2, 0, 2, 2, 3, 0, 1, 3, 3, 0, 0, 2, 1]


# Distributions.


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 10, 19, 20, 59, 600, 601])
def test_student_equals_scipy(freedom):
    for p in (0.5, 0.6, 0.9, 0.975, 0.999):
        theirs = scipy_stats.t.ppf(p, freedom)
        assert dist.t_quantile(p, freedom=freedom) == pytest.approx(theirs, rel=1e-10, abs=1e-12)
    for t in (-3.0, -0.2, 0.0, 1.5, 40.0):
        assert dist.t_cdf(t, freedom=freedom) == pytest.approx(scipy_stats.t.cdf(t, freedom), abs=1e-12)


def test_normal_quantiles_equal_scipy():
    for p in (0.001, 0.025, 0.5, 0.9):
        assert dist.normal_quantile(p) == pytest.approx(scipy_stats.norm.ppf(p), abs=1e-12)
        assert dist.normal_cdf(dist.normal_quantile(p)) == pytest.approx(p, abs=1e-12)


@pytest.mark.parametrize(
    "call",
    [
        lambda: dist.normal_quantile(0.0),
        lambda: dist.t_cdf(1.0, freedom=0),
        lambda: dist.t_quantile(0.4, freedom=3),
        lambda: dist.least_auc_of_a_perfect_order(0, 3),
        lambda: draws.seed_of("t", "c", 1, "auc") and list(draws.shuffles(0, draws=1, seed=0)),
    ],
)
def test_what_is_not_defined_is_refused(call):
    with pytest.raises(StatisticsError):
        call()


def test_a_perfect_order_of_ten_and_ten_says_no_more_than_0_866():
    assert dist.least_auc_of_a_perfect_order(10, 10) == pytest.approx(0.866, abs=5e-4)
    assert dist.least_auc_of_a_perfect_order(1, 1) == pytest.approx(0.025, abs=1e-6)
    assert dist.least_auc_of_a_perfect_order(100, 100) > 0.99


def test_the_bound_of_a_perfect_order_is_what_simulation_gives():
    bound = dist.least_auc_of_a_perfect_order(5, 5)
    shift = math.sqrt(2) * dist.normal_quantile(bound)
    random = np.random.default_rng(0)
    low = random.normal(size=(200_000, 5)).max(axis=1)
    high = random.normal(shift, size=(200_000, 5)).min(axis=1)
    assert (high > low).mean() == pytest.approx(0.025, abs=0.002)


# Draws.


def test_seeds_are_the_first_bytes_of_the_digest():
    digest = hashlib.sha256(b"t|c|1|auc").digest()
    assert draws.seed_of("t", "c", 1, "auc") == int.from_bytes(digest[:8], "big") == 1451214758601889689
    assert draws.seed_of("t", "c", 1, "auc") != draws.seed_of("t", "c", 2, "auc")


def test_resamples_keep_the_size_of_every_stratum():
    strata = ["b", "a", "b", "c", "a", "b"]
    found = np.concatenate(list(draws.weights(strata, resamples=500, seed=3)))
    assert found.shape == (500, 6)
    for name in "abc":
        members = [s == name for s in strata]
        assert (found[:, members].sum(axis=1) == sum(members)).all()


def test_every_unit_of_a_stratum_is_drawn_equally_often():
    found = np.concatenate(list(draws.weights(["a"] * 7 + ["b"] * 3, resamples=20_000, seed=1)))
    assert np.abs(found.mean(axis=0) - 1).max() < 0.03


def test_draws_are_these_digits_whatever_the_version_of_numpy():
    """The raw stream of PCG64 is fixed by its seed, and the mapping to indexes is ours."""
    (found,) = draws.indices(["a", "a", "b", "b", "b"], resamples=4, seed=42)
    assert found.tolist() == INDEXES
    (order,) = draws.shuffles(5, draws=3, seed=42)
    assert order.tolist() == ORDERS
    (bits,) = draws.tosses(8, draws=1, seed=42)
    assert "".join(str(int(bit)) for bit in bits[0]) == BITS


INDEXES = [[1, 0, 4, 4, 2], [1, 1, 4, 2, 3], [0, 1, 3, 4, 3], [0, 1, 2, 4, 3]]
ORDERS = [[4, 1, 3, 0, 2], [3, 4, 1, 2, 0], [0, 4, 2, 3, 1]]
BITS = "10110111"


def test_blocks_do_not_change_what_is_drawn(monkeypatch):
    whole = np.concatenate(list(draws.weights(["a"] * 6, resamples=50, seed=9)))
    monkeypatch.setattr(draws, "_BLOCK", 40)
    assert (np.concatenate(list(draws.weights(["a"] * 6, resamples=50, seed=9))) == whole).all()


def test_shuffles_are_orders_and_coins_are_fair():
    orders = np.concatenate(list(draws.shuffles(6, draws=2000, seed=5)))
    assert (np.sort(orders, axis=1) == np.arange(6)).all()
    assert np.abs((orders == 0).mean(axis=0) - 1 / 6).max() < 0.04
    coins = np.concatenate(list(draws.tosses(5, draws=4000, seed=5)))
    assert abs(coins.mean() - 0.5) < 0.02


# auc.


def by_hand_logit_delong(truth, answers):
    """Straight from the definition, in floats."""
    p = np.array([a for a, y in zip(answers, truth, strict=True) if y])
    q = np.array([a for a, y in zip(answers, truth, strict=True) if not y])
    psi = (p[:, None] > q) + 0.5 * (p[:, None] == q)
    value = psi.mean()
    variance = psi.mean(axis=1).var(ddof=1) / len(p) + psi.mean(axis=0).var(ddof=1) / len(q)
    centre, reach = np.log(value / (1 - value)), 1.959963984540054 * np.sqrt(variance) / (value * (1 - value))
    return 1 / (1 + np.exp(reach - centre)), 1 / (1 + np.exp(-reach - centre))


def test_logit_delong_is_its_definition():
    random = np.random.default_rng(3)
    for _ in range(50):
        truth = [0, 0, 1, 1, *random.integers(0, 2, 16).tolist()]
        answers = np.round(random.random(20), 1).tolist()
        found = iv.auc_interval(truth, answers)
        assert (found.low, found.high) == pytest.approx(by_hand_logit_delong(truth, answers), abs=1e-9)
        assert 0 <= found.low <= found.high <= 1


def test_a_perfect_order_has_a_lower_end_and_its_mirror_an_upper_one():
    answers = list(range(20))
    best, worst = iv.auc_interval(TEN, answers), iv.auc_interval(TEN, answers[::-1])
    assert (best.low, best.high) == (0.865676, 1.0)
    assert (worst.low, worst.high) == (0.0, pytest.approx(1 - 0.865676))
    assert "perfect order" in best.method


def test_an_auc_without_variance_or_without_a_class_has_no_interval():
    assert iv.auc_interval([1, 1], [0.1, 0.2]) is None
    assert iv.auc_interval([1, 0, 0], [0.5, 0.2, 0.7]) is None


def test_a_constant_answer_is_one_half_for_sure():
    found = iv.auc_interval(TEN, [0.3] * 20)
    assert (found.low, found.high) == (0.5, 0.5)


# mae.


def test_log_t_is_its_definition():
    errors = np.random.default_rng(2).lognormal(size=20)
    found = iv.mae_interval([0.0] * 20, errors.tolist())
    centre = errors.mean()
    reach = scipy_stats.t.ppf(0.975, 19) * errors.std(ddof=1) / np.sqrt(20) / centre
    assert found.low == pytest.approx(centre * np.exp(-reach), rel=1e-9)
    assert found.high == pytest.approx(centre * np.exp(reach), rel=1e-9)


def test_no_error_and_a_single_one_have_no_interval():
    assert iv.mae_interval([1.0, 2.0], [1.0, 2.0]) is None
    assert iv.mae_interval([1.0], [2.0]) is None
    assert iv.mae_interval([], []) is None


# qwk.


def test_bca_is_close_to_scipys_without_strata():
    def kappa(y, a):
        return iv.qwk(list(map(int, y)), list(map(int, a)), classes=4)

    theirs = scipy_stats.bootstrap(
        (np.array(FOUR), np.array(NEAR)), kappa, paired=True, vectorized=False, n_resamples=2000,
        method="BCa", rng=np.random.default_rng(0),
    ).confidence_interval  # fmt: skip
    found = iv.qwk_interval(FOUR, NEAR, classes=4, strata=["all"] * 20, seed=1)
    assert found.low == pytest.approx(theirs.low, abs=0.03)
    assert found.high == pytest.approx(theirs.high, abs=0.03)


def test_bca_with_no_bias_and_no_acceleration_is_the_percentile_interval():
    ordered = np.linspace(-1, 1, 10_001).tolist()
    low, high = iv.bca_ends(ordered, value=0.0, acceleration=0.0)
    assert (low, high) == (pytest.approx(-0.95, abs=1e-9), pytest.approx(0.95, abs=1e-9))


def test_bca_stays_inside_the_resamples_however_skewed():
    ordered = [0.0] * 10 + [1.0] * 90
    for value in (-5.0, 0.0, 0.5, 1.0, 5.0):
        for acceleration in (-2.0, 0.0, 2.0):
            low, high = iv.bca_ends(ordered, value=value, acceleration=acceleration)
            assert 0 <= low <= 1
            assert 0 <= high <= 1


def test_kappas_that_cannot_move_have_no_interval():
    assert iv.qwk_interval([0, 1], [0, 1], classes=2, strata=["a"] * 2, seed=0) is None
    assert iv.qwk_interval([1, 1], [1, 1], classes=2, strata=["a"] * 2, seed=0) is None


def test_resamples_of_one_class_are_left_out_and_counted():
    truth, answers = [0, 0, 0, 0, 1], [0, 0, 0, 0, 0]
    found = iv.qwk_interval(truth, answers, classes=2, strata=["all"] * 5, seed=0)
    assert 0 < found.discarded < 5000
    assert (found.low, found.high) == (0.0, 0.0)


def test_too_many_empty_resamples_leave_no_interval():
    truth, answers = [0] * 19 + [1], [0] * 20
    found = iv.qwk_interval(truth, answers, classes=2, strata=["all"] * 20, seed=0)
    assert found.discarded < 5000  # a twentieth of the atoms is in two thirds of the resamples
    assert iv.qwk_interval([0, 1], [0, 0], classes=2, strata=["a", "b"], seed=0, resamples=100).discarded == 0


def test_an_atom_without_which_there_is_no_kappa_gives_no_acceleration():
    found = iv.qwk_interval([0, 0, 1], [0, 0, 0], classes=2, strata=["all"] * 3, seed=0)
    assert (found.low, found.high) == (0.0, 0.0)


def test_the_interval_is_these_digits():
    found = iv.qwk_interval(FOUR, NEAR, classes=4, strata=[str(y) for y in FOUR], seed=2024)
    assert (found.low, found.high) == QWK_ENDS


QWK_ENDS = (0.545454545455, 0.928571428571)


# Chance.


def test_the_chance_of_an_auc_is_near_that_of_mann_and_whitney():
    answers = np.random.default_rng(5).normal(size=20)
    answers[10:] += 0.8
    theirs = scipy_stats.mannwhitneyu(answers[10:], answers[:10], method="exact").pvalue
    assert iv.chance_p_of_auc(TEN, answers.tolist(), seed=1) == pytest.approx(theirs, abs=0.01)


def test_agreement_by_chance_is_likely_and_real_agreement_is_not():
    assert iv.chance_p_of_qwk(FOUR, NEAR, seed=1) < 0.001
    assert iv.chance_p_of_qwk(FOUR, [0] * 20, seed=1) == 1.0
    assert iv.chance_p_of_auc(TEN, [0.5] * 20, seed=1) == 1.0


def test_midranks_are_scipys():
    values = [0.5, 0.1, 0.5, 2.0, 0.5]
    assert (iv.doubled_midranks(values) == 2 * scipy_stats.rankdata(values)).all()


# How often intervals hold what is true, against what was measured when they were chosen (2 points of room).


@pytest.mark.slow
@pytest.mark.parametrize(("true", "expected"), [(0.6, 0.97), (0.75, 0.97), (0.9, 0.98)])
def test_logit_delong_covers_as_measured(true, expected):
    random = np.random.default_rng(11)
    shift = math.sqrt(2) * dist.normal_quantile(true)
    held, times = 0, 4000
    for _ in range(times):
        answers = np.concatenate([random.normal(size=10), random.normal(shift, size=10)]).tolist()
        found = iv.auc_interval(TEN, answers)
        held += found.low <= true <= found.high
    assert held / times == pytest.approx(expected, abs=0.02)


@pytest.mark.slow
def test_log_t_covers_as_measured():
    random = np.random.default_rng(12)
    true, held, times = math.exp(0.75**2 / 2), 0, 6000
    for _ in range(times):
        found = iv.mae_interval([0.0] * 20, random.lognormal(0, 0.75, 20).tolist())
        held += found.low <= true <= found.high
    assert held / times == pytest.approx(0.925, abs=0.02)


@pytest.mark.slow
def test_bca_covers_as_measured_and_less_than_it_says():
    random = np.random.default_rng(13)
    truth = np.array(FOUR)

    def answered(n):
        return np.clip(np.rint(np.tile(truth, n) + random.normal(0, 1.3, 20 * n)), 0, 3).astype(int)

    many = 20_000
    true = iv.qwk(np.tile(truth, many).tolist(), answered(many).tolist(), classes=4)
    held, times = 0, 1500
    for _ in range(times):
        found = iv.qwk_interval(
            FOUR, answered(1).tolist(), classes=4, strata=[str(y) for y in FOUR], seed=1, resamples=2000
        )
        held += found is not None and found.low <= true <= found.high
    assert held / times == pytest.approx(0.88, abs=0.02)


@pytest.mark.slow
def test_bca_can_cover_as_little_as_its_label_says():
    """Answers that are right or one off, and now and then anything: far errors are rare and count most."""
    random = np.random.default_rng(14)
    truth = np.array(FOUR)

    def answered(n):
        every = np.tile(truth, n)
        near = np.clip(every + random.choice([-1, 1], len(every)), 0, 3)
        kind = random.random(len(every))
        return np.where(kind < 0.6, every, np.where(kind < 0.9, near, random.integers(0, 4, len(every))))

    true = iv.qwk(np.tile(truth, 20_000).tolist(), answered(20_000).tolist(), classes=4)
    held, times = 0, 1500
    for _ in range(times):
        found = iv.qwk_interval(
            FOUR, answered(1).tolist(), classes=4, strata=[str(y) for y in FOUR], seed=1, resamples=1500
        )
        held += found is not None and found.low <= true <= found.high
    assert 0.74 <= held / times <= 0.8
