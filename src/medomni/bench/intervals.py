"""How sure a score of a few atoms is: one kind of interval for each metric, and a test against chance.

`auc`: DeLong's variance on the logit scale. `qwk`: stratified bootstrap, bias-corrected and accelerated,
which covers less than it says at small N. `mae`: Student's t on the log scale. All digits follow from the
answers and a seed, whatever the version of NumPy: counts are whole numbers, and sums are exact.

Leaves to others: which answers count (`joining`), comparing two agents (`paired_agents`).

Source: DeLong, DeLong and Clarke-Pearson, Biometrics 44 (1988) 837-845; Efron, J. Am. Statist. Assoc. 82
(1987) 171-185; Davison and Hinkley, Bootstrap Methods and their Application (1997) 5.3 (strata).
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from medomni.bench import draws
from medomni.bench.distributions import (
    least_auc_of_a_perfect_order,
    normal_cdf,
    normal_quantile,
    t_quantile,
)
from medomni.bench.metrics import absolute_errors, auc, qwk
from medomni.core.stats import quantile

CONFIDENCE = 0.95
TAIL = (1 - CONFIDENCE) / 2
LOGIT_DELONG = "DeLong's variance on the logit scale, 95%"
PERFECT_ORDER = (
    "no variance: to the AUC at which normal scores are in perfect order with probability 0.025, 95%"
)
STRATIFIED_BCA = "stratified BCa bootstrap, 10000 resamples, 95%; under-covers (77 to 91% at 20 atoms)"
LOG_T = "Student's t on the log scale, 95%; covers 91 to 94% at 20 atoms with skewed errors"

type Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Interval:
    """Both ends, how they were made, and how many resamples were 0/0 and left out."""

    low: float
    high: float
    method: str
    discarded: int = 0


def shown(number: float) -> float:
    """A figure without its last digits, which are no more than rounding: 12 that count."""
    return float(f"{number:.12g}") + 0.0


def auc_interval(truth: Sequence[int], answers: Sequence[float]) -> Interval | None:
    """The interval of an AUC.

    Args:
        truth: `(N,)`, 0 or 1.
        answers: `(N,)`, in the same order.

    Returns:
        None where a class has fewer than two units, and no variance of its own, unless the order is perfect.

    Source: DeLong et al. 1988; the logit scale by the delta method; `least_auc_of_a_perfect_order`.
    """
    value = auc(truth, answers)
    if value is None:
        return None
    positives = [a for a, y in zip(answers, truth, strict=True) if y == 1]
    negatives = [a for a, y in zip(answers, truth, strict=True) if y == 0]
    if value in (0.0, 1.0):
        bound = least_auc_of_a_perfect_order(len(positives), len(negatives))
        ends = (bound, 1.0) if value == 1.0 else (0.0, shown(1 - bound))
        return Interval(*ends, PERFECT_ORDER)
    if min(len(positives), len(negatives)) < 2:
        return None
    variance = _delong_variance(positives, negatives)
    centre = math.log(value / (1 - value))
    reach = normal_quantile(1 - TAIL) * math.sqrt(variance) / (value * (1 - value))
    return Interval(shown(_expit(centre - reach)), shown(_expit(centre + reach)), LOGIT_DELONG)


def _expit(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _delong_variance(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """The sum of both classes' variances of placements, each over its size; exact until the end."""
    total = Fraction(0)
    for ours, others in ((positives, negatives), (negatives, positives)):
        ranked = sorted(others)
        placed = [bisect_left(ranked, each) + bisect_right(ranked, each) for each in ours]
        n = len(ours)
        squares = n * sum(p * p for p in placed) - sum(placed) ** 2
        total += Fraction(squares, n * (n - 1) * (2 * len(others)) ** 2) / n
    return float(total)


def mae_interval(truth: Sequence[float], answers: Sequence[float]) -> Interval | None:
    """The interval of a mean absolute error.

    Returns:
        None with fewer than two units, or where no answer is wrong at all.

    Source: Student's t, carried to the log scale by the delta method.
    """
    errors = absolute_errors(truth, answers)
    n = len(errors)
    centre = math.fsum(errors) / n if n else 0.0
    if n < 2 or centre == 0:
        return None
    deviation = math.sqrt(math.fsum((e - centre) ** 2 for e in errors) / (n - 1))
    reach = t_quantile(1 - TAIL, freedom=n - 1) * deviation / (centre * math.sqrt(n))
    return Interval(shown(centre * math.exp(-reach)), shown(centre * math.exp(reach)), LOG_T)


def qwk_interval(
    truth: Sequence[int],
    answers: Sequence[int],
    *,
    classes: int,
    strata: Sequence[str],
    seed: int,
    resamples: int = draws.RESAMPLES,
) -> Interval | None:
    """The interval of a kappa with quadratic weights.

    Args:
        truth: `(N,)`, classes from 0.
        answers: `(N,)`, in the same order.
        classes: K.
        strata: `(N,)`, within which units are drawn.
        seed: Of the draws.
        resamples: How many.

    Returns:
        None where there is no kappa, or where agreement is perfect, so that no resample could differ.

    Source: Efron 1987; Davison and Hinkley 1997, 5.3.2 for the acceleration with strata.
    """
    value = qwk(truth, answers, classes=classes)
    if value is None or value == 1.0:
        return None
    found = np.concatenate(
        [
            _kappas(block, truth, answers, classes)
            for block in draws.weights(strata, resamples=resamples, seed=seed)
        ]
    )
    # At most e^-1 of the resamples lacks the atoms without which there is nothing but agreement on one class.
    kept = np.sort(found[np.isfinite(found)])
    acceleration = _acceleration(truth, answers, classes, strata)
    low, high = bca_ends(kept.tolist(), value=value, acceleration=acceleration)
    return Interval(shown(low), shown(high), STRATIFIED_BCA, resamples - len(kept))


def bca_ends(ordered: Sequence[float], *, value: float, acceleration: float) -> tuple[float, float]:
    """Both ends of the bias-corrected and accelerated bootstrap interval.

    Args:
        ordered: The statistic of every resample, ascending.
        value: The statistic itself.
        acceleration: Of the statistic.

    Source: Efron 1987; resamples that equal the statistic count half.
    """
    below = (bisect_left(ordered, value) + bisect_right(ordered, value)) / (2 * len(ordered))
    edge = 0.5 / len(ordered)
    bias = normal_quantile(min(max(below, edge), 1 - edge))
    ends = []
    for tail in (TAIL, 1 - TAIL):
        moved = bias + normal_quantile(tail)
        bend = 1 - acceleration * moved
        # Beyond the pole of the transformation there is nothing but the outermost resample.
        share = normal_cdf(bias + moved / bend) if bend > 0 else float(moved > 0)
        ends.append(quantile(ordered, min(max(share, 0.0), 1.0)))
    return ends[0], ends[1]


def _kappas(
    weights: Integers, truth: Sequence[int], answers: Sequence[int], classes: int
) -> NDArray[np.float64]:
    """The kappa of every resample; NaN, which never leaves this module, where it is 0/0."""
    y, a = np.array(truth, dtype=np.int64), np.array(answers, dtype=np.int64)
    n = len(y)
    observed = weights @ (y - a) ** 2
    by_truth = weights @ (y[:, None] == np.arange(classes)).astype(np.int64)
    by_answer = weights @ (a[:, None] == np.arange(classes)).astype(np.int64)
    squared = (np.arange(classes)[:, None] - np.arange(classes)) ** 2
    by_chance = ((by_truth @ squared) * by_answer).sum(axis=1)
    found = np.full(len(weights), np.nan)
    sound = by_chance > 0
    found[sound] = (by_chance[sound] - n * observed[sound]) / by_chance[sound]
    return found


def _acceleration(truth: Sequence[int], answers: Sequence[int], classes: int, strata: Sequence[str]) -> float:
    """A sixth of the skewness of the jackknife's influence values, within strata; 0 where all are alike."""
    everyone = np.ones(len(truth), dtype=np.int64)
    without = everyone - np.eye(len(truth), dtype=np.int64)
    cubes, squares = [], []
    order, sizes = draws.strata_first(strata)
    start = 0
    for size in sizes:
        members = order[start : start + size]
        start += size
        left_out = _kappas_without(without[members], truth, answers, classes)
        if size < 2 or left_out is None:
            continue
        centre = math.fsum(left_out) / size
        influence = [(size - 1) * (centre - each) / size for each in left_out]
        cubes += [each**3 for each in influence]
        squares += [each**2 for each in influence]
    spread = math.fsum(squares) ** 1.5
    return math.fsum(cubes) / (6 * spread) if spread > 0 else 0.0


def _kappas_without(
    weights: Integers, truth: Sequence[int], answers: Sequence[int], classes: int
) -> list[float] | None:
    y, a = np.array(truth), np.array(answers)
    found: list[float] = []
    for row in weights:
        kept = row > 0
        value = qwk(y[kept].tolist(), a[kept].tolist(), classes=classes)
        if value is None:
            return None
        found.append(value)
    return found


def chance_p_of_qwk(
    truth: Sequence[int], answers: Sequence[int], *, seed: int, shuffles: int = draws.RESAMPLES
) -> float:
    """How often answers that are dealt out at random are as far from a kappa of 0, on either side.

    The margins stay, so that only the observed disagreement moves: everything is counted in whole numbers.

    Source: permutation test; (1 + count) / (1 + shuffles).
    """
    y, a = np.array(truth, dtype=np.int64), np.array(answers, dtype=np.int64)
    n = len(y)
    by_chance = int(((y[:, None] - a) ** 2).sum())
    ours = abs(by_chance - n * int(((y - a) ** 2).sum()))
    count = 0
    for order in draws.shuffles(n, draws=shuffles, seed=seed):
        observed = ((y - a[order]) ** 2).sum(axis=1)
        count += int((np.abs(by_chance - n * observed) >= ours).sum())
    return (1 + count) / (1 + shuffles)


def chance_p_of_auc(
    truth: Sequence[int], answers: Sequence[float], *, seed: int, shuffles: int = draws.RESAMPLES
) -> float:
    """How often answers that are dealt out at random are as far from an AUC of one half, on either side.

    Source: permutation test on the sum of midranks; (1 + count) / (1 + shuffles).
    """
    y = np.array(truth, dtype=np.bool_)
    ranks = doubled_midranks(answers)
    positives, n = int(y.sum()), len(y)
    centre = positives * (n + 1)
    ours = abs(int(ranks[y].sum()) - centre)
    count = 0
    for order in draws.shuffles(n, draws=shuffles, seed=seed):
        count += int((np.abs(ranks[order][:, y].sum(axis=1) - centre) >= ours).sum())
    return (1 + count) / (1 + shuffles)


def doubled_midranks(values: Sequence[float]) -> Integers:
    """Twice the rank of each value, from 2; equal values share the mean of their ranks. Whole numbers.

    Source: midranks.
    """
    ordered = sorted(values)
    return np.array([bisect_left(ordered, v) + bisect_right(ordered, v) + 1 for v in values], dtype=np.int64)
