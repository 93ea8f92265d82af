"""Paired comparison of two lists of values: interval of the difference, signed-rank test, Holm's correction.

Pure and seeded. The interval of `second - first` is exactly the mirrored one of `first - second`.
Leaves to others: what a unit is, which units make a pair (the callers), and the draws (`stats`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from medomni.core.errors import StatisticsError
from medomni.core.stats import Reduce, bootstrap_interval, bootstrap_interval_of_regions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PAIRED_METHOD = "percentile bootstrap over paired units, 10000 resamples, PCG64 seed 0, 95%"
SIGNED_RANK_METHOD = (
    "two-sided Wilcoxon signed-rank test; zero differences are dropped; exact, ties included, up to 50 "
    "differences, above that the normal approximation with tie correction"
)
FEWEST_DIFFERENCES = 6
_LARGEST_EXACT = 50
# Differences of values such as 0.91 - 0.90 carry rounding in the last bits, which must break no tie.
_DECIMALS = 12


def differences(first: Sequence[float], second: Sequence[float]) -> list[float]:
    """`second - first`, pair by pair, rounded to 12 decimals.

    Raises:
        StatisticsError: Lists of different lengths, or a value that is not finite.
    """
    if len(first) != len(second):
        raise StatisticsError(f"pairs need two lists of one length, not {len(first)} and {len(second)}")
    found = [round(float(b) - float(a), _DECIMALS) + 0.0 for a, b in zip(first, second, strict=True)]
    if not all(map(math.isfinite, found)):
        raise StatisticsError("a difference is not a finite number")
    return found


def paired_interval(values: Sequence[float], *, reduce: Reduce) -> tuple[float, float] | None:
    """The bootstrap interval of the mean or median of paired differences.

    Args:
        values: One difference per unit; their order does not matter.
        reduce: What is taken over the units.

    Returns:
        Lower and upper end; None with fewer than two units.

    Raises:
        StatisticsError: A value that is not finite.
    """
    ours = sorted(float(value) + 0.0 for value in values)
    sign, both = _sign(ours, [0.0 - value for value in reversed(ours)])
    return _mirror(bootstrap_interval([sign * v for v in ours], reduce=reduce), sign, both)


def paired_interval_of_regions(
    matrix: NDArray[np.float64], *, present: NDArray[np.bool_], reduce: Reduce
) -> tuple[float, float] | None:
    """The bootstrap interval of a macro-averaged difference; units are drawn with all their regions.

    Args:
        matrix: `(U, R)` differences, one row per unit and one column per region.
        present: `(U, R)`, which entries exist.
        reduce: What is taken over the units of one region.

    Returns:
        Lower and upper end; None where `stats.bootstrap_interval_of_regions` gives none.

    Raises:
        StatisticsError: Shapes that differ, or a present value that is not finite.
    """
    sign, both = _sign(_rows(matrix, present, 1.0), _rows(matrix, present, -1.0))
    return _mirror(bootstrap_interval_of_regions(sign * matrix, present=present, reduce=reduce), sign, both)


def _rows(matrix: Any, present: Any, sign: float) -> list[list[tuple[float, bool]]]:
    pairs = zip(matrix.tolist(), present.tolist(), strict=True)
    return sorted(
        [(sign * v + 0.0 if there else 0.0, there) for v, there in zip(*row, strict=True)] for row in pairs
    )


def _sign(ours: list[Any], mirrored: list[Any]) -> tuple[int, bool]:
    """The side to draw on, so that swapping the two lists draws the same; and whether both are one."""
    return (1 if ours >= mirrored else -1), ours == mirrored


def _mirror(interval: tuple[float, float] | None, sign: int, both: bool) -> tuple[float, float] | None:
    if interval is None:
        return None
    low, high = interval
    if both:  # differences that equal their mirror image have an interval that does too
        half = (high - low) / 2
        return -half + 0.0, half
    return (low, high) if sign > 0 else (-high + 0.0, -low + 0.0)


def signed_rank_p(values: Sequence[float]) -> float | None:
    """The two-sided p of the Wilcoxon signed-rank test on paired differences.

    Zero differences are dropped, equal sizes share their mean rank. Up to 50 differences the distribution
    over all signs is counted out, ties included; above, the normal approximation with tie correction.

    Returns:
        The p value; None with fewer than 6 differences that are not zero, where no p below 0.05 exists.

    Raises:
        StatisticsError: A value that is not finite.

    Source: Wilcoxon, Individual comparisons by ranking methods, Biometrics Bulletin 1 (1945) 80-83.
    """
    if not all(map(math.isfinite, values)):
        raise StatisticsError("a difference is not a finite number")
    rounded = [round(float(value), _DECIMALS) for value in values]
    kept = sorted((value for value in rounded if value), key=abs)
    if len(kept) < FEWEST_DIFFERENCES:
        return None
    ranks, ties = _doubled_ranks([abs(value) for value in kept])
    positive = sum(rank for rank, value in zip(ranks, kept, strict=True) if value > 0)
    p = _exact_p(ranks, positive) if len(kept) <= _LARGEST_EXACT else _normal_p(len(kept), positive, ties)
    return float(f"{min(p, 1.0):.12g}")


def _doubled_ranks(sizes: Sequence[float]) -> tuple[list[int], list[int]]:
    """Twice the mean rank of each of the sorted sizes, whole numbers; and how many share each rank."""
    ranks: list[int] = []
    ties = []
    for _, group in itertools.groupby(sizes):
        count = len(list(group))
        ranks += [2 * len(ranks) + count + 1] * count
        ties.append(count)
    return ranks, ties


def _exact_p(ranks: Sequence[int], positive: int) -> float:
    import numpy as np

    # Ways to reach each sum; at most 2^50 in all, which a float holds exactly.
    ways = np.zeros(sum(ranks) + 1)
    ways[0] = 1.0
    for rank in ranks:
        ways[rank:] = ways[rank:] + ways[:-rank]
    tail = min(positive, sum(ranks) - positive)
    return float(2 * ways[: tail + 1].sum() / 2.0 ** len(ranks))


def _normal_p(n: int, positive: int, ties: Sequence[int]) -> float:
    variance = n * (n + 1) * (2 * n + 1) / 24 - sum(t**3 - t for t in ties) / 48
    z = (positive / 2 - n * (n + 1) / 4) / math.sqrt(variance)
    return math.erfc(abs(z) / math.sqrt(2))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's adjusted p values, in the order given; a None is no test and stays None.

    Raises:
        StatisticsError: A value outside 0 to 1.

    Source: Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6 (1979) 65-70.
    """
    tests = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    if not all(0 <= p <= 1 for p, _ in tests):
        raise StatisticsError("a p value must be between 0 and 1")
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for done, (p, place) in enumerate(tests):
        largest = max(largest, min(1.0, (len(tests) - done) * p))
        adjusted[place] = largest
    return adjusted
