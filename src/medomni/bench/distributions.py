"""Quantiles of the normal and Student's t distribution, and what a perfect AUC of a few units can say.

With the standard library alone, so that the same digits come out wherever they are computed.

Leaves to others: intervals.

Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4 (Student's t with whole
degrees of freedom).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

from medomni.core.errors import StatisticsError

_NORMAL = NormalDist()
_STEPS = 400
_REACH = 9.0


def normal_quantile(p: float) -> float:
    """The `p` quantile of the standard normal distribution.

    Raises:
        StatisticsError: `p` not strictly between 0 and 1.

    Source: Wichura, Appl. Statist. 37 (1988) 477-484, as Python's `statistics` has it.
    """
    if not 0 < p < 1:
        raise StatisticsError(f"a quantile of the normal distribution needs 0 < p < 1, not {p}")
    return _NORMAL.inv_cdf(p)


def normal_cdf(x: float) -> float:
    """The share of the standard normal distribution below `x`.

    Source: its definition by the error function.
    """
    return 0.5 * math.erfc(-x / math.sqrt(2))


def t_cdf(t: float, *, freedom: int) -> float:
    """The share of Student's t distribution below `t`.

    Args:
        t: Where.
        freedom: Degrees of freedom, a whole number from 1.

    Raises:
        StatisticsError: Fewer degrees of freedom than 1.

    Source: Abramowitz and Stegun 26.7.3, 26.7.4.
    """
    if freedom < 1:
        raise StatisticsError(f"Student's t needs at least one degree of freedom, not {freedom}")
    root = math.sqrt(freedom)
    angle, squared = math.atan2(t, root), freedom / (freedom + t * t)
    sine = t / math.sqrt(freedom + t * t)
    odd = freedom % 2 == 1
    # 1 + (1/2) c^2 + (1·3)/(2·4) c^4 + … for even degrees, c + (2/3) c^3 + … for odd ones.
    term, terms = 1.0, []
    for step in range(freedom // 2):
        terms.append(term)
        term *= squared * ((2 * step + 2) / (2 * step + 3) if odd else (2 * step + 1) / (2 * step + 2))
    series = math.fsum(terms)
    inside = 2 / math.pi * (angle + sine * math.sqrt(squared) * series) if odd else sine * series
    return 0.5 + 0.5 * inside


@lru_cache(maxsize=256)
def t_quantile(p: float, *, freedom: int) -> float:
    """The `p` quantile of Student's t distribution, for `p` from one half up.

    Raises:
        StatisticsError: `p` not from 0.5 to below 1, or fewer degrees of freedom than 1.

    Source: bisection on `t_cdf`.
    """
    if not 0.5 <= p < 1:
        raise StatisticsError(f"this quantile of Student's t needs 0.5 <= p < 1, not {p}")
    high = 1.0
    while t_cdf(high, freedom=freedom) < p:
        high *= 2
    return _bisect(lambda t: t_cdf(t, freedom=freedom) >= p, 0.0, high)


@lru_cache(maxsize=256)
def least_auc_of_a_perfect_order(positives: int, negatives: int, *, chance: float = 0.025) -> float:
    """The AUC of two normal distributions whose samples are perfectly separated with probability `chance`.

    It is the lower end of the interval of an observed AUC of 1, whose variance says nothing. Rounded to six
    decimals, beyond which the integral does not count.

    Args:
        positives: Units of the upper class, from 1.
        negatives: Units of the lower class, from 1.
        chance: Probability of the perfect order.

    Raises:
        StatisticsError: A class without units.

    Source: this project's own rule: P = integral of n0 phi(x) Phi(x)^(n0 - 1) Phi(d - x)^n1, AUC =
    Phi(d / sqrt 2), both distributions of variance 1.
    """
    if positives < 1 or negatives < 1:
        raise StatisticsError("a perfect order needs units of both classes")

    def separated(shift: float) -> float:
        width = 2 * _REACH / _STEPS
        points = [-_REACH + (step + 0.5) * width for step in range(_STEPS)]
        return width * math.fsum(
            negatives * _NORMAL.pdf(x) * normal_cdf(x) ** (negatives - 1) * normal_cdf(shift - x) ** positives
            for x in points
        )

    if separated(0.0) >= chance:
        # So few units are often in perfect order by chance alone; below one half the order would be reversed.
        shift = -_bisect(lambda d: separated(-d) <= chance, 0.0, 20.0)
    else:
        shift = _bisect(lambda d: separated(d) >= chance, 0.0, 20.0)
    return round(normal_cdf(shift / math.sqrt(2)), 6)


def _bisect(reached: Callable[[float], bool], low: float, high: float) -> float:
    """The smallest float at which `reached` is true, between a place where it is not and one where it is."""
    for _ in range(100):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
