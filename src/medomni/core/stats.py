"""Means, quantiles and seeded bootstrap intervals whose digits do not depend on machine or NumPy.

Sums run one value after the other, never in NumPy's pairwise blocks, whose shape follows the CPU; draws
come from raw PCG64 integers and our own mapping to indexes.

Leaves to others: what a unit is, and which values count.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from medomni.core.errors import StatisticsError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    type Floats = NDArray[np.float64]
    type Integers = NDArray[np.int64]
    type Booleans = NDArray[np.bool_]

type Reduce = Literal["mean", "median"]

RESAMPLES = 10_000
CONFIDENCE = 0.95
BOOTSTRAP_METHOD = "percentile bootstrap over units, 10000 resamples, PCG64 seed 0, 95%"
# Draws that are held at once; about six arrays of eight bytes each.
_CHUNK_DRAWS = 500_000
_LARGEST_VALUE = 1e290


def quantile(sorted_values: Sequence[float], q: float) -> float:
    """The `q` quantile by linear interpolation at rank `(n - 1) * q`.

    Args:
        sorted_values: Finite values in ascending order, at least one.
        q: From 0 to 1.

    Raises:
        StatisticsError: No value, values out of order or not finite, or `q` outside 0 to 1.
    """
    if not 0 <= q <= 1:
        raise StatisticsError(f"a quantile must be between 0 and 1, not {q}")
    values = _finite(sorted_values)
    if any(low > high for low, high in itertools.pairwise(values)):
        raise StatisticsError("the values of a quantile must be sorted")
    return _interpolate(values, q)


def mean(values: Sequence[float]) -> float:
    """The mean of finite values, from an exact sum: their order does not matter.

    Raises:
        StatisticsError: No value, one that is not finite, or a sum beyond the range of floats.
    """
    finite = _finite(values)
    try:
        return math.fsum(finite) / len(finite)
    except OverflowError as error:
        raise StatisticsError("the sum of the values is beyond the range of floats") from error


def median(values: Sequence[float]) -> float:
    """The median of finite values; of an even number, the middle of the two middle ones.

    Raises:
        StatisticsError: No value, or one that is not finite.
    """
    return _interpolate(sorted(_finite(values)), 0.5)


def resample_indices(n: int, *, resamples: int, seed: int) -> Integers:
    """Bootstrap draws: `(resamples, n)` indexes from 0 to n - 1.

    Each index is the upper half of one raw 64-bit PCG64 integer times n, divided by 2^32.

    Raises:
        StatisticsError: `n` not in 1 to 2^32 - 1, `resamples` below 1 or a negative `seed`.
    """
    import numpy as np

    return np.concatenate(list(_draws(n, resamples, seed)))


def bootstrap_interval(
    values: Sequence[float],
    *,
    reduce: Reduce,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> tuple[float, float] | None:
    """The percentile bootstrap interval of a mean or median over units.

    Args:
        values: One finite value per unit; their order does not matter.
        reduce: What is taken of each resample.
        resamples: How many resamples are drawn.
        confidence: Share of the resamples inside the interval, between 0 and 1.
        seed: Seed of the draws.

    Returns:
        Lower and upper end; None with fewer than two units.

    Raises:
        StatisticsError: A value that is not finite, or a setting out of range.
    """
    import numpy as np

    _check_settings(reduce, confidence)
    units = np.sort(np.asarray(values, dtype=np.float64)) + 0.0  # -0.0 becomes 0.0, which sorts as equal
    if units.ndim != 1:
        raise StatisticsError("a bootstrap needs one value per unit")
    _check_range(units)
    if len(units) < 2:
        return None
    statistic = _row_means if reduce == "mean" else _row_medians
    found = [statistic(units, draws) for draws in _draws(len(units), resamples, seed)]
    return _percentiles(np.concatenate(found), confidence)


def bootstrap_interval_of_regions(
    matrix: Floats,
    *,
    present: Booleans,
    reduce: Reduce,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> tuple[float, float] | None:
    """The percentile bootstrap interval of a macro average: the mean over regions of each one's reduction.

    Units are drawn with all their regions together. A resample in which some region has no unit has no
    macro average and is left out. Units without any region do not count.

    Args:
        matrix: `(U, R)`, one row per unit and one column per region.
        present: `(U, R)`, which entries exist; the others may hold anything.
        reduce: What is taken over the units of one region.
        resamples: How many resamples are drawn.
        confidence: Share of the resamples inside the interval, between 0 and 1.
        seed: Seed of the draws.

    Returns:
        Lower and upper end; None with fewer than two units, or with fewer than half of the resamples.

    Raises:
        StatisticsError: Shapes that differ, no region, a present value that is not finite, or a setting
            out of range.
    """
    import numpy as np

    _check_settings(reduce, confidence)
    values, mask = _sorted_units(np.asarray(matrix, dtype=np.float64), np.asarray(present))
    if len(values) < 2:
        return None
    found = [_macro_averages(values, mask, draws, reduce) for draws in _draws(len(values), resamples, seed)]
    kept = np.concatenate(found)
    return None if 2 * len(kept) < resamples else _percentiles(kept, confidence)


def _finite(values: Sequence[float]) -> list[float]:
    numbers = [float(value) for value in values]
    if not numbers:
        raise StatisticsError("there are no values")
    if not all(map(math.isfinite, numbers)):
        raise StatisticsError("a value is not a finite number")
    return numbers


def _interpolate(values: Sequence[float], q: float) -> float:
    rank = (len(values) - 1) * q
    lower = math.floor(rank)
    low, high = values[lower], values[min(lower + 1, len(values) - 1)]
    share = rank - lower
    # The weighted form cannot overflow; held between its ends, as rounding may leave them.
    return min(max(low * (1 - share) + high * share, low), high)


def _check_range(values: Floats) -> None:
    """Refuse values that are not finite, or so large that a sum of them could overflow."""
    import numpy as np

    if not (np.abs(values) <= _LARGEST_VALUE).all():
        raise StatisticsError(f"a value is not a finite number of at most {_LARGEST_VALUE:g}")


def _check_settings(reduce: str, confidence: float) -> None:
    if reduce not in ("mean", "median"):
        raise StatisticsError(f"a bootstrap reduces by mean or median, not {reduce!r}")
    if not 0 < confidence < 1:
        raise StatisticsError(f"a confidence must lie between 0 and 1, not {confidence}")


def _draws(n: int, resamples: int, seed: int) -> Iterator[Integers]:
    import numpy as np

    if not 1 <= n < 2**32:
        raise StatisticsError(f"draws need between 1 and 2^32 - 1 units, not {n}")
    if resamples < 1 or seed < 0:
        raise StatisticsError(f"draws need a resample and a seed from 0, not {resamples} and {seed}")
    bits: Any = np.random.PCG64(seed)
    rows = max(1, _CHUNK_DRAWS // n)
    for start in range(0, resamples, rows):
        count = min(rows, resamples - start)
        raw = bits.random_raw(count * n)
        raw >>= np.uint64(32)
        raw *= np.uint64(n)
        raw >>= np.uint64(32)
        yield raw.astype(np.int64).reshape(count, n)


def _row_means(units: Floats, draws: Integers) -> Floats:
    import numpy as np

    return np.asarray(_row_sums(units[draws]) / draws.shape[1])


def _row_sums(rows: Floats) -> Floats:
    """Sums along each row, from left to right: a running sum, unlike `np.sum`, has only one order."""
    import numpy as np

    return np.asarray(np.add.accumulate(rows, axis=1)[:, -1])


def _row_medians(units: Floats, draws: Integers) -> Floats:
    import numpy as np

    # The units are sorted, so that the middle index gives the middle value.
    low, high = (draws.shape[1] - 1) // 2, draws.shape[1] // 2
    middle = np.partition(draws, [low, high], axis=1)
    return np.asarray(0.5 * units[middle[:, low]] + 0.5 * units[middle[:, high]])


def _macro_averages(values: Floats, mask: Booleans, draws: Integers, reduce: Reduce) -> Floats:
    """The macro average of each resample in which every region has a unit."""
    import numpy as np

    statistic = _masked_means if reduce == "mean" else _masked_medians
    total = np.zeros(len(draws))
    complete = np.ones(len(draws), dtype=np.bool_)
    for region in range(values.shape[1]):
        counts = np.count_nonzero(mask[:, region][draws], axis=1)
        complete &= counts > 0
        total += statistic(values[:, region], mask[:, region], draws, np.maximum(counts, 1))
    return np.asarray(total[complete] / values.shape[1])


def _masked_means(column: Floats, mask: Booleans, draws: Integers, counts: Integers) -> Floats:
    import numpy as np

    return np.asarray(_row_sums(np.where(mask, column, 0.0)[draws]) / counts)


def _masked_medians(column: Floats, mask: Booleans, draws: Integers, counts: Integers) -> Floats:
    import numpy as np

    # What is absent sorts behind everything that counts.
    rows = np.sort(np.where(mask, column, _LARGEST_VALUE)[draws], axis=1)
    each = np.arange(len(rows))
    return np.asarray(0.5 * rows[each, (counts - 1) // 2] + 0.5 * rows[each, counts // 2])


def _sorted_units(values: Floats, mask: Booleans) -> tuple[Floats, Booleans]:
    """Units in an order of their own, so that the order in which they came changes no digit."""
    import numpy as np

    if values.ndim != 2 or values.shape != mask.shape or mask.dtype != np.bool_ or not values.shape[1]:
        raise StatisticsError("a macro average needs a (units, regions) matrix and a mask of its shape")
    _check_range(values[mask])
    counted = mask.any(axis=1)
    mask = mask[counted]
    values = np.where(mask, values[counted], 0.0) + 0.0
    order = np.lexsort((*values.T[::-1], *mask.T[::-1]))
    return values[order], mask[order]


def _percentiles(statistics: Floats, confidence: float) -> tuple[float, float]:
    ordered = sorted(statistics.tolist())
    tail = (1 - confidence) / 2
    return _interpolate(ordered, tail), _interpolate(ordered, 1 - tail)
