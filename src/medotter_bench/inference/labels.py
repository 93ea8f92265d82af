"""From stored values to whole numbers: label ids are never truncated, wrapped or guessed.

Leaves to others: reading the stored values, and what an id means (`label_map`).

Source: for `scl_slope` and `scl_inter`, the NIfTI-1 standard (slope 0 means "not scaled").
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from medotter_bench.errors import VolumeError

TOLERANCE = 1e-3
MAX_SLOPE_TOLERANCE = 0.25
_INT64_MAX = 2**63 - 1
_EXACT_DOUBLE = 2**53
_PIECE = 1 << 20
_CACHED = 1 << 16
_NARROW = (np.uint8, np.uint16, np.uint32, np.int64)


def highest_of(stored: npt.NDArray[Any]) -> int | None:
    """The largest of `stored` values in one pass; `None` if one is negative or they are no integers."""
    if stored.dtype.kind not in "iu" or stored.size == 0 or not stored.dtype.isnative:
        return None
    # With its bits taken as unsigned, a negative value is larger than any value of its type.
    highest = int(stored.view(f"u{stored.dtype.itemsize}").max())
    return highest if highest <= np.iinfo(stored.dtype).max else None


def whole_numbers(
    stored: npt.NDArray[Any], *, slope: float = 1.0, inter: float = 0.0, highest: int | None = None
) -> tuple[npt.NDArray[Any], int]:
    """Label ids from `stored` values, with `value = stored * slope + inter`.

    A slope of 0, NaN or infinity means that nothing is scaled. Values must lie within 1e-3 of a whole
    number; where the stored type is an integer and a slope other than 1 is set, within
    `min(|slope| / 2, 0.25)` where that is more, as far as the writer's own quantisation moves them.
    An integer array that needs no scaling is returned as it is, without a copy.

    Args:
        stored: Any axes; boolean, integer or float of up to 64 bits.
        slope: As in the header.
        inter: As in the header.
        highest: What `highest_of` gives for `stored`, where that is known already.

    Returns:
        An integer array of the same shape, and how many of its values were not exactly whole before.

    Raises:
        VolumeError: `labels-not-finite`, `labels-not-integer`, `labels-negative`, `labels-range`,
            `labels-scaling`, `volume-datatype`.

    Source: the NIfTI-1 standard for the scaling; the tolerances are this project's own.
    """
    stored = _plain(stored)
    if stored.size == 0:
        return stored.astype(np.uint8), 0
    if slope == 0 or not math.isfinite(slope):
        slope, inter = 1.0, 0.0
    if not math.isfinite(inter):
        raise VolumeError(
            f"the header states the slope {slope} with the intercept {inter}",
            hint="write the label map without scaling",
            code="labels-scaling",
        )
    if stored.dtype.kind in "iu" and slope == 1 and float(inter).is_integer():
        return _shifted(stored, int(inter), highest), 0
    return _rounded(stored, slope, inter)


def _plain(stored: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """`stored` in native byte order, booleans as 0 and 1; types that hold no ids are refused."""
    if stored.dtype.kind not in "biuf" or stored.dtype.itemsize > 8:
        raise VolumeError(
            f"the values are of the type {stored.dtype}, which cannot hold label ids",
            hint="write an unsigned integer type",
            code="volume-datatype",
        )
    if stored.dtype.kind == "b":
        return stored.astype(np.uint8)
    return stored if stored.dtype.isnative else stored.astype(stored.dtype.newbyteorder("="))


def _shifted(stored: npt.NDArray[Any], shift: int, highest: int | None) -> npt.NDArray[Any]:
    """`stored + shift` in Python's integers where it counts, so that nothing wraps."""
    if shift == 0 and (stored.dtype.kind == "u" or highest is not None or highest_of(stored) is not None):
        return stored
    _check_range(int(stored.min()) + shift, int(stored.max()) + shift)
    if stored.dtype == np.uint64 and shift < 0:
        return (stored - np.uint64(-shift)).astype(np.int64)
    return stored.astype(np.int64) + np.int64(shift)


@dataclass(slots=True)
class _Seen:
    """What one pass over the scaled values found."""

    lowest: float = math.inf
    highest: float = -math.inf
    n_rounded: int = 0
    n_off: int = 0
    first_off: float = 0.0
    n_not_finite: int = 0


def _rounded(stored: npt.NDArray[Any], slope: float, inter: float) -> tuple[npt.NDArray[Any], int]:
    tolerance = TOLERANCE
    if stored.dtype.kind != "f" and slope != 1:
        tolerance = max(TOLERANCE, min(abs(slope) / 2, MAX_SLOPE_TOLERANCE))
    if not (stored.flags.c_contiguous or stored.flags.f_contiguous):
        stored = np.ascontiguousarray(stored)
    flat = stored.ravel(order="K")
    if stored.dtype.kind == "f" and slope == 1 and inter == 0:
        labels = np.empty_like(stored, dtype=np.uint8)
        if _copied_exactly(flat, labels.ravel(order="K")):
            return labels, 0
    seen = _survey(flat, slope, inter, tolerance)
    scaled = stored.dtype.kind != "f" or slope != 1
    _check_seen(seen, tolerance, stored.size)
    _check_range(seen.lowest, seen.highest)
    largest = max(abs(int(flat.max())), abs(int(flat.min())), int(seen.highest))
    if scaled and largest > _EXACT_DOUBLE:
        raise _out_of_range(f"scaling label ids as large as {largest} is not exact")
    narrow = next(dtype for dtype in _NARROW if seen.highest <= np.iinfo(dtype).max)
    labels = np.empty_like(stored, dtype=narrow)
    target = labels.ravel(order="K")
    for start, values in _scaled_pieces(flat, slope, inter):
        target[start : start + values.size] = np.rint(values).astype(narrow)
    return labels, seen.n_rounded


def _copied_exactly(flat: npt.NDArray[Any], target: npt.NDArray[np.uint8]) -> bool:
    """Copy the values into bytes, if every one is a whole number from 0 to 255: one pass for most maps."""
    for start in range(0, flat.size, _CACHED):
        values, ids = flat[start : start + _CACHED], target[start : start + _CACHED]
        with np.errstate(over="ignore", invalid="ignore"):
            ids[...] = values.astype(np.uint8)
        if not (ids == values).all():
            return False
    return True


def _scaled_pieces(
    flat: npt.NDArray[Any], slope: float, inter: float
) -> Iterator[tuple[int, npt.NDArray[np.float64]]]:
    """Pieces of the scaled values: a whole float64 copy of a label map would be eight times its size."""
    for start in range(0, flat.size, _PIECE):
        with np.errstate(over="ignore", invalid="ignore"):
            yield start, flat[start : start + _PIECE].astype(np.float64) * slope + inter


def _survey(flat: npt.NDArray[Any], slope: float, inter: float, tolerance: float) -> _Seen:
    seen = _Seen()
    for _, values in _scaled_pieces(flat, slope, inter):
        finite = np.isfinite(values)
        n_finite = int(np.count_nonzero(finite))
        if n_finite < values.size:
            seen.n_not_finite += values.size - n_finite
            continue
        nearest = np.rint(values)
        seen.n_rounded += int(np.count_nonzero(values != nearest))
        off = np.abs(values - nearest) > tolerance
        n_off = int(np.count_nonzero(off))
        if n_off and not seen.n_off:
            seen.first_off = float(values[np.argmax(off)])
        seen.n_off += n_off
        seen.lowest = min(seen.lowest, float(nearest.min()))
        seen.highest = max(seen.highest, float(nearest.max()))
    return seen


def _check_seen(seen: _Seen, tolerance: float, n_values: int) -> None:
    if seen.n_not_finite:
        raise VolumeError(
            f"{seen.n_not_finite} of {n_values} values are NaN or infinite; label ids are integers",
            hint="write the label map in an integer type",
            code="labels-not-finite",
        )
    if seen.n_off:
        raise VolumeError(
            f"the value {seen.first_off:.6g} is no integer within {tolerance:.4g}, and {seen.n_off} of "
            f"{n_values} values are none; label ids are integers",
            hint="write label ids, not probabilities, and resample label maps with nearest neighbour only",
            code="labels-not-integer",
        )


def _check_range(lowest: float, highest: float) -> None:
    if lowest < 0:
        raise VolumeError(
            f"the label map holds the negative value {int(lowest)}",
            hint="label ids are 0 (background) or larger; was an image given in place of a label map?",
            code="labels-negative",
        )
    if highest > _INT64_MAX:
        raise _out_of_range(f"the value {int(highest)} does not fit into 64 bits")


def _out_of_range(what: str) -> VolumeError:
    return VolumeError(what, hint="use smaller label ids in an unsigned integer type", code="labels-range")
