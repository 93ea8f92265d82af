"""The three scores: laws, exact values, and other people's implementations."""

from __future__ import annotations

import math
import statistics
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medomni.bench import metrics as m
from medomni.core.errors import StatisticsError

BINARY = st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1)), min_size=2, max_size=12)
GRADED = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=12)
NUMBERS = st.lists(st.tuples(st.floats(0, 30), st.floats(0, 30)), min_size=1, max_size=12)


def split(pairs):
    return [y for y, _ in pairs], [a for _, a in pairs]


def test_ties_count_half():
    assert m.auc([1, 0, 1, 0, 1, 0], [0.5, 0.5, 0.9, 0.5, 0.5, 0.1]) == 7 / 9
    assert m.auc([1, 0, 1], [0.3, 0.3, 0.3]) == 0.5


def test_floats_are_compared_as_they_are():
    assert m.auc([1, 0], [0.1 + 0.2, 0.3]) == 1.0
    assert m.auc([1, 0], [0.3, 0.1 + 0.2]) == 0.0


def test_one_class_has_no_auc():
    assert m.auc([1, 1], [0.1, 0.9]) is None
    assert m.auc([], []) is None


def test_classes_that_do_not_occur_keep_their_places():
    truth, answers = [1, 2, 4, 4, 1, 2], [1, 4, 4, 2, 1, 2]
    assert m.qwk(truth, answers, classes=5) == 4 / 7
    assert m.qwk(truth, answers, classes=9) == 4 / 7


def test_agreement_on_one_class_is_no_kappa_and_no_atoms_are_none():
    assert m.qwk([2, 2], [2, 2], classes=4) is None
    assert m.qwk([], [], classes=4) is None


def test_a_constant_answer_has_a_kappa_of_exactly_zero():
    for constant in range(4):
        assert m.qwk([0, 1, 2, 3, 3], [constant] * 5, classes=4) == 0.0


def test_a_difference_is_that_of_the_decimals_that_were_written():
    assert m.absolute_errors([9.0], [9.1]) == [0.1]
    assert m.mae([0.3, 5.0], [0.1, 5.0]) == 0.1
    assert m.mae([], []) is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: m.auc([0, 1], [0.5]),
        lambda: m.auc([0, 2], [0.5, 0.5]),
        lambda: m.auc([0, 1], [0.5, math.nan]),
        lambda: m.qwk([0], [0], classes=1),
        lambda: m.qwk([0], [0, 1], classes=2),
        lambda: m.qwk([0], [2], classes=2),
        lambda: m.qwk([0], [True], classes=2),
        lambda: m.mae([0.0], [math.inf]),
    ],
)
def test_what_is_not_defined_is_refused(call):
    with pytest.raises(StatisticsError) as caught:
        call()
    assert caught.value.code == "statistics-invalid"


@given(BINARY)
@settings(max_examples=60)
def test_auc_is_the_count_over_all_pairs(pairs):
    truth, answers = split(pairs)
    positives = [a for y, a in pairs if y == 1]
    negatives = [a for y, a in pairs if y == 0]
    if positives and negatives:
        won = sum((p > q) + 0.5 * (p == q) for p, q in product(positives, negatives))
        assert m.auc(truth, answers) == pytest.approx(won / (len(positives) * len(negatives)), abs=1e-12)
    else:
        assert m.auc(truth, answers) is None


@given(BINARY, st.randoms())
@settings(max_examples=40)
def test_order_of_atoms_does_not_move_a_score(pairs, random):
    shuffled = random.sample(pairs, len(pairs))
    assert m.auc(*split(pairs)) == m.auc(*split(shuffled))
    assert m.mae(*split(pairs)) == m.mae(*split(shuffled))


@given(GRADED)
@settings(max_examples=60)
def test_kappa_is_symmetric_and_at_most_one(pairs):
    truth, answers = split(pairs)
    value = m.qwk(truth, answers, classes=4)
    assert value == m.qwk(answers, truth, classes=4)
    assert value is None or value <= 1


def test_scores_equal_scikit_learn():
    sk = pytest.importorskip("sklearn.metrics")
    random = np.random.default_rng(7)
    for _ in range(150):
        n = int(random.integers(4, 60))
        truth = random.integers(0, 2, n)
        truth[:2] = 0, 1
        answers = np.round(random.random(n), int(random.integers(1, 17)))
        assert m.auc(truth.tolist(), answers.tolist()) == pytest.approx(
            sk.roc_auc_score(truth, answers), abs=1e-12
        )
        y, a = random.integers(0, 5, n), random.integers(0, 5, n)
        theirs = sk.cohen_kappa_score(y, a, weights="quadratic", labels=range(5))
        assert m.qwk(y.tolist(), a.tolist(), classes=5) == pytest.approx(theirs, abs=1e-12)
        x, z = random.normal(size=n), random.normal(size=n)
        assert m.mae(x.tolist(), z.tolist()) == pytest.approx(sk.mean_absolute_error(x, z), abs=1e-12)


@given(BINARY, st.data())
@settings(max_examples=80)
def test_nobody_gains_by_leaving_out_an_answer_of_an_auc(pairs, data):
    truth, answers = split(pairs)
    if len(set(truth)) < 2:
        return
    left_out = data.draw(st.sets(st.sampled_from(range(len(pairs)))))
    worst = [m.worst_probability(y) if k in left_out else a for k, (y, a) in enumerate(pairs)]
    assert m.auc(truth, worst) <= m.auc(truth, answers)


@given(NUMBERS, st.data())
@settings(max_examples=80)
def test_nobody_gains_by_leaving_out_an_answer_of_an_mae(pairs, data):
    truth, answers = split(pairs)
    left_out = data.draw(st.sets(st.sampled_from(range(len(pairs)))))
    worst = [m.worst_number(y, low=0, high=30) if k in left_out else a for k, (y, a) in enumerate(pairs)]
    assert m.mae(truth, worst) >= m.mae(truth, answers)


def test_the_worst_class_beats_another_one_seldom_and_by_little():
    """The margins of a kappa move with the answers: the stated exception, measured."""
    random = np.random.default_rng(1)
    gains, draws = [], 3000
    for _ in range(draws):
        truth = [0, 1, 2, 3] * 5
        answers = [int(np.clip(round(y + random.normal() * random.uniform(0.3, 3)), 0, 3)) for y in truth]
        at = int(random.integers(20))
        worst = list(answers)
        worst[at] = m.worst_class(truth[at], classes=4)
        filled = m.qwk(truth, worst, classes=4)
        others = [m.qwk(truth, [*answers[:at], other, *answers[at + 1 :]], classes=4) for other in range(4)]
        gain = filled - min(others)
        if gain > 1e-12:
            gains.append(gain)
            assert filled < 0
    assert len(gains) / draws <= 0.01
    assert max(gains, default=0) <= 0.016


def test_missing_answers_take_the_worst_of_their_kind():
    assert m.worst_probability(1) < 0
    assert m.worst_probability(0) > 1
    assert [m.worst_class(y, classes=4) for y in range(4)] == [3, 3, 0, 0]
    assert m.worst_class(2, classes=5) == 0
    assert m.worst_number(4, low=0, high=10) == 10
    assert m.worst_number(6, low=0, high=10) == 0
    assert m.auc([1, 0], [m.worst_probability(1), m.worst_probability(0)]) == 0.0


def test_skill_is_one_for_the_best_and_zero_for_chance():
    assert m.skill("auc", 1.0, mae_ref=None) == 1
    assert m.skill("auc", 0.5, mae_ref=None) == 0
    assert m.skill("qwk", 0.25, mae_ref=None) == 0.25
    assert m.skill("mae", 2.0, mae_ref=4.0) == 0.5
    assert m.skill("mae", 40.0, mae_ref=4.0) == -1
    assert m.skill("mae", 1.0, mae_ref=None) is None
    assert m.skill("mae", 1.0, mae_ref=0.0) is None


def test_the_mean_of_errors_is_exact():
    errors = [0.1] * 10
    assert m.mae([0.0] * 10, errors) == statistics.fmean(errors) == 0.1
