"""The three scores of a target: `auc`, `qwk` and `mae`, on answers of which none is missing any more.

Counts stay whole numbers until the last division, so that `auc` and `qwk` are the nearest floats to the exact
score. What is missing takes the worst case here too (`worst_*`).

Leaves to others: which answers are missing or invalid (`joining`), intervals (`intervals`), files.

Source: auc: Mann and Whitney, Ann. Math. Statist. 18 (1947) 50-60, ties count half. qwk: Cohen, Psychol.
Bull. 70 (1968) 213-220, weights (k - l)^2. mae: its definition.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from fractions import Fraction

from medomni.core.errors import StatisticsError

# Probabilities lie from 0 to 1: below and above every answer.
BELOW_ALL, ABOVE_ALL = -1.0, 2.0


def auc(truth: Sequence[int], answers: Sequence[float]) -> float | None:
    """The share of positive-negative pairs that the answers order rightly; a tie counts half.

    Args:
        truth: `(N,)`, 0 or 1.
        answers: `(N,)`, in the same order; compared as they are, without rounding.

    Returns:
        From 0 to 1; None where one of the classes is empty.

    Raises:
        StatisticsError: Lists of different lengths, a truth that is not 0 or 1, or an answer that is not
            finite.

    Source: Mann and Whitney 1947.
    """
    _check(truth, answers)
    if not set(truth) <= {0, 1}:
        raise StatisticsError("the truth of an auc is 0 or 1")
    negatives = sorted(a for a, y in zip(answers, truth, strict=True) if y == 0)
    positives = [a for a, y in zip(answers, truth, strict=True) if y == 1]
    if not negatives or not positives:
        return None
    doubled = sum(bisect_left(negatives, a) + bisect_right(negatives, a) for a in positives)
    return doubled / (2 * len(positives) * len(negatives))


def qwk(truth: Sequence[int], answers: Sequence[int], *, classes: int) -> float | None:
    """Cohen's kappa with quadratic weights, over a fixed number of classes.

    Args:
        truth: `(N,)`, classes from 0.
        answers: `(N,)`, in the same order, classes from 0.
        classes: K. Classes that do not occur keep their places, so that distances stay what they are.

    Returns:
        At most 1; None where it is 0/0: no atoms, or truth and answers are one and the same class.

    Raises:
        StatisticsError: Lists of different lengths, fewer than two classes, or a value that is no class.

    Source: Cohen 1968.
    """
    matrix = confusion(truth, answers, classes=classes)
    rows = [sum(row) for row in matrix]
    columns = [sum(column) for column in zip(*matrix, strict=True)]
    n = len(truth)
    places = range(classes)
    observed = sum((y - a) ** 2 * matrix[y][a] for y in places for a in places)
    by_chance = sum((y - a) ** 2 * rows[y] * columns[a] for y in places for a in places)
    # The weights' common divisor (K - 1)^2 is on both sides of the quotient.
    return None if by_chance == 0 else (by_chance - n * observed) / by_chance


def confusion(truth: Sequence[int], answers: Sequence[int], *, classes: int) -> list[list[int]]:
    """How often each class was answered where each was true: `(K, K)`, truth along the rows.

    Raises:
        StatisticsError: As `qwk`.

    Source: its definition.
    """
    if classes < 2:
        raise StatisticsError(f"kappa needs at least two classes, not {classes}")
    if len(truth) != len(answers):
        raise StatisticsError(f"{len(truth)} truths and {len(answers)} answers make no pairs")
    matrix = [[0] * classes for _ in range(classes)]
    for y, a in zip(truth, answers, strict=True):
        if not (_is_class(y, classes) and _is_class(a, classes)):
            raise StatisticsError(f"{y!r} and {a!r} must be classes from 0 to {classes - 1}")
        matrix[y][a] += 1
    return matrix


def mae(truth: Sequence[float], answers: Sequence[float]) -> float | None:
    """The mean absolute difference between answers and truth, in the target's unit.

    Args:
        truth: `(N,)`.
        answers: `(N,)`, in the same order and unit.

    Returns:
        From 0; None without atoms.

    Raises:
        StatisticsError: Lists of different lengths, or a number that is not finite.

    Source: its definition; the sum is exact, so that the order does not matter.
    """
    _check(truth, answers)
    return math.fsum(absolute_errors(truth, answers)) / len(truth) if truth else None


def absolute_errors(truth: Sequence[float], answers: Sequence[float]) -> list[float]:
    """`|answer - truth|`, each the nearest float to the difference of the two decimals that were written.

    9.1 - 9.0 is 0.1 here, and not the 0.09999999999999964 that subtracting the nearest binary numbers gives.

    Source: its definition.
    """
    return [
        float(abs(Fraction(repr(float(a))) - Fraction(repr(float(y)))))
        for y, a in zip(truth, answers, strict=True)
    ]


def worst_probability(truth: int) -> float:
    """What a missing answer counts as for `auc`: below every answer where 1 is true, else above every answer.

    Source: this project's own rule: nobody gains by leaving an answer out.
    """
    return BELOW_ALL if truth == 1 else ABOVE_ALL


def worst_class(truth: int, *, classes: int) -> int:
    """What a missing answer counts as for `qwk`: the class farthest from the truth; of two, the lower.

    Source: this project's own rule.
    """
    return 0 if truth >= classes - 1 - truth else classes - 1


def worst_number(truth: float, *, low: float, high: float) -> float:
    """What a missing answer counts as for `mae`: the end of the range that is farther from the truth.

    Source: this project's own rule: nobody gains by leaving an answer out.
    """
    return low if truth - low >= high - truth else high


def skill(metric: str, value: float, *, mae_ref: float | None) -> float | None:
    """A score on the common scale on which 1 is perfect and 0 is chance or the cohort's median.

    Args:
        metric: `auc`, `qwk` or `mae`.
        value: The score.
        mae_ref: The mean absolute error of always answering the median; for `mae`.

    Returns:
        `2 auc - 1`; `qwk`; `1 - mae / mae_ref`, at least -1; None where `mae_ref` is unknown or 0.

    Source: this project's own definition.
    """
    if metric == "auc":
        return 2 * value - 1
    if metric == "qwk":
        return value
    return None if not mae_ref else max(-1.0, 1 - value / mae_ref)


def _is_class(value: object, classes: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < classes


def _check(truth: Sequence[float], answers: Sequence[float]) -> None:
    if len(truth) != len(answers):
        raise StatisticsError(f"{len(truth)} truths and {len(answers)} answers make no pairs")
    if not all(map(math.isfinite, (*truth, *answers))):
        raise StatisticsError("a truth or an answer is not a finite number")
