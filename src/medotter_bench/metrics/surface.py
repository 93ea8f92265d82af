"""Surfaces of masks, distances between them, and the percentile Hausdorff distance `hd95`.

Leaves to others: empty structures (`empty`), where the spacing comes from, and reading files.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from medotter_bench.errors import SpecError, VolumeError
from medotter_bench.metrics.arrays import (
    Counts,
    Distances,
    Mask,
    real_number,
    require_mask,
    require_same_shape,
    require_scipy,
    require_spacing,
)

METHODS = ("directed_max", "pooled")

_FIRST_CANDIDATES = 8
_CANDIDATES_AT_ONCE = 2_000_000


def squeeze_spacing(
    shape: Sequence[int], *, spacing: Sequence[float]
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Shape and spacing without the axes of length 1: a volume of one slice is a 2D image.

    Args:
        shape: Lengths of the array's axes.
        spacing: One number per axis of `shape`, in mm (or voxels).

    Returns:
        The lengths and spacings that remain; where every axis has length 1, those of axis 0.

    Raises:
        SpecError: `metric-spacing`.
    """
    sizes = require_spacing(spacing, ndim=len(shape))
    kept = [axis for axis, length in enumerate(shape) if length != 1] or [0]
    return tuple(shape[axis] for axis in kept), tuple(sizes[axis] for axis in kept)


def grid_diagonal(shape: Sequence[int], *, spacing: Sequence[float]) -> float:
    """Length of the grid's diagonal, sqrt(sum((length_k * spacing_k)^2)), axes of length 1 dropped.

    Args:
        shape: Lengths of the array's axes.
        spacing: One number per axis, in mm (or voxels); the result has its unit.

    Raises:
        SpecError: `metric-spacing`.
    """
    lengths, sizes = squeeze_spacing(shape, spacing=spacing)
    return math.sqrt(math.fsum((length * size) ** 2 for length, size in zip(lengths, sizes, strict=True)))


def surface(mask: Mask) -> Mask:
    """The voxels of `mask` that have a face neighbour outside it (4 neighbours in 2D, 6 in 3D).

    What lies outside the array is background, so that voxels at its edge are surface; the walls of
    inner holes are surface. Axes of length 1 are the caller's affair (`squeeze_spacing`).

    Source:
        Maier-Hein et al., Metrics reloaded, Nat Methods 21 (2024) 195: boundary of a mask; face
        neighbours as MONAI and MetricsReloaded take them.

    Args:
        mask: Boolean array, any axes order.

    Raises:
        VolumeError: `metric-dtype` or `metric-shape`.
    """
    mask = require_mask(mask, name="mask")
    inside = mask.copy()
    for axis in range(mask.ndim):
        here, there = np.moveaxis(inside, axis, 0), np.moveaxis(mask, axis, 0)
        here[1:] &= there[:-1]
        here[:-1] &= there[1:]
        here[0] = False
        here[-1] = False
    return mask & ~inside


def surface_distances(
    reference: Mask, prediction: Mask, *, spacing: Sequence[float]
) -> tuple[Distances, Distances]:
    """Distance from each surface voxel of one mask to the nearest surface voxel of the other.

    d = min over the other surface of sqrt(sum((delta_k * spacing_k)^2)) between voxel centres, in
    float64, k in axis order, delta_k whole numbers. The minimum is that of these rounded numbers, as
    a search through all pairs would find it, bit for bit.

    Source:
        Huttenlocher et al., IEEE TPAMI 15 (1993) 850: the directed distances under the maximum.

    Args:
        reference: Boolean array, any axes order; axes of length 1 are dropped with their spacing.
        prediction: Boolean array of the same shape.
        spacing: Distance between voxel centres along each axis, in mm (or 1s for voxels).

    Returns:
        Distances reference to prediction, then prediction to reference, each in C order of the
        surface voxels, in the unit of `spacing`.

    Raises:
        VolumeError: `metric-dtype`, `metric-shape`, or `metric-empty` where a mask holds no voxel.
        SpecError: `metric-spacing`.
    """
    reference, prediction, sizes = _checked(reference, prediction, spacing)
    box = _bounding_box(reference | prediction)
    if box is None or not reference.any() or not prediction.any():
        raise VolumeError(
            "an empty mask has no surface to measure a distance to",
            hint="the penalty table decides on empty structures",
            code="metric-empty",
        )
    # Everything outside the box is background in both masks, like everything outside the array.
    shells = surface(reference[box]), surface(prediction[box])
    return _directed(*shells, sizes), _directed(*shells[::-1], sizes)


def hd95(
    reference: Mask,
    prediction: Mask,
    *,
    spacing: Sequence[float],
    percentile: float = 95.0,
    method: str = "directed_max",
) -> float | None:
    """The percentile Hausdorff distance between the surfaces of two masks.

    `directed_max`: the larger of the two directed percentiles. `pooled`: one percentile over both
    lists together, for papers that report that; neither bounds the other in general.

    Source:
        Maier-Hein et al., Metrics reloaded, Nat Methods 21 (2024) 195 (`directed_max`, as MONAI and
        MetricsReloaded compute it); `pooled` as medpy and panoptica.

    Args:
        reference: Boolean array, any axes order; axes of length 1 are dropped with their spacing.
        prediction: Boolean array of the same shape.
        spacing: Distance between voxel centres along each axis, in mm (or 1s for voxels).
        percentile: From 1 to 100; 100 is the Hausdorff distance itself.
        method: One of `METHODS`.

    Returns:
        A distance in the unit of `spacing`, or None where either mask is empty.

    Raises:
        VolumeError: `metric-dtype` or `metric-shape`.
        SpecError: `metric-spacing`, `metric-percentile` or `metric-method`.
    """
    check_percentile(percentile)
    check_method(method)
    _checked(reference, prediction, spacing)
    if not reference.any() or not prediction.any():
        return None
    forth, back = surface_distances(reference, prediction, spacing=spacing)
    if method == "pooled":
        return linear_percentile(np.concatenate([forth, back]), percentile)
    return max(linear_percentile(forth, percentile), linear_percentile(back, percentile))


def linear_percentile(values: Distances, percentile: float) -> float:
    """The value at rank (n - 1) * percentile / 100 of the sorted values, linear between neighbours.

    Source:
        Hyndman and Fan, Am Stat 50 (1996) 361, definition 7.

    Raises:
        SpecError: `metric-percentile`.
        VolumeError: `metric-empty` where there are no values, `metric-values` where one is not finite.
    """
    check_percentile(percentile)
    if values.size == 0:
        raise VolumeError("no values to take a percentile of", code="metric-empty")
    if not np.isfinite(values).all():
        raise VolumeError("a percentile of values that are not all finite", code="metric-values")
    low, high, fraction = percentile_ranks(values.size, percentile=percentile)
    ordered = np.partition(values.astype(np.float64), [low, high])
    return between_ranks(float(ordered[low]), float(ordered[high]), fraction=fraction)


def percentile_ranks(count: int, *, percentile: float) -> tuple[int, int, float]:
    """Which two of `count` sorted values (from 0) a percentile lies between, and how far from the first.

    Source:
        As `linear_percentile`.

    Raises:
        SpecError: `metric-percentile`.
    """
    rank = (count - 1) * check_percentile(percentile) / 100
    low = min(math.floor(rank), count - 1)
    return low, min(low + 1, count - 1), rank - low


def between_ranks(below: float, above: float, *, fraction: float) -> float:
    """The percentile from the two values that it lies between.

    Source:
        As `linear_percentile`.
    """
    # Rounding may lift the sum past its upper neighbour by a bit; a percentile never leaves its pair.
    return min(below + (above - below) * fraction, above)


def check_percentile(percentile: float) -> float:
    """The percentile as a float.

    Raises:
        SpecError: `metric-percentile` for anything but a number from 1 to 100.
    """
    number = real_number(percentile)
    if number is None or not 1 <= number <= 100:
        raise SpecError(
            f"percentile is {percentile!r}; it must be a number from 1 to 100",
            where="percentile",
            hint="write 95, not 0.95",
            code="metric-percentile",
        )
    return number


def check_method(method: str) -> None:
    """Nothing, if `method` is one of `METHODS`.

    Raises:
        SpecError: `metric-method`.
    """
    if method not in METHODS:
        raise SpecError(
            f"hd95 method {method!r} is unknown",
            where="method",
            hint=f"one of {', '.join(METHODS)}",
            code="metric-method",
        )


def _checked(
    reference: Mask, prediction: Mask, spacing: Sequence[float]
) -> tuple[Mask, Mask, tuple[float, ...]]:
    reference = require_mask(reference, name="reference")
    prediction = require_mask(prediction, name="prediction")
    require_same_shape(reference, prediction)
    shape, sizes = squeeze_spacing(reference.shape, spacing=spacing)
    return reference.reshape(shape), prediction.reshape(shape), sizes


def _bounding_box(mask: Mask) -> tuple[slice, ...] | None:
    box = []
    for axis in range(mask.ndim):
        others = tuple(other for other in range(mask.ndim) if other != axis)
        used = np.flatnonzero(mask.any(axis=others))
        if used.size == 0:
            return None
        box.append(slice(int(used[0]), int(used[-1]) + 1))
    return tuple(box)


def _directed(from_surface: Mask, to_surface: Mask, spacing: tuple[float, ...]) -> Distances:
    points = np.argwhere(from_surface)
    apart = ~to_surface[from_surface]
    distances = np.zeros(len(points), dtype=np.float64)
    # A voxel of both surfaces is at distance 0: only the others need a search.
    if apart.any():
        distances[apart] = _nearest(points[apart], np.argwhere(to_surface), spacing)
    return distances


def _nearest(points: Counts, targets: Counts, spacing: tuple[float, ...]) -> Distances:
    """Smallest rounded length from each point to any target (voxel indices), exactly.

    Neither a distance transform nor a k-d tree may choose alone: at 0.7 mm the offsets (5, 0) and
    (3, 4) are equally long, yet their rounded lengths differ in the last bit, and these engines
    round in another way than the definition (both were seen to pick the longer one). So the tree
    only proposes candidates, lengths come from whole offsets, and a point is settled once its
    farthest candidate lies beyond the tree's possible error. Where no step rounds at all, the first
    candidate is already the answer.
    """
    require_scipy("hd95")
    from scipy.spatial import cKDTree

    extents = np.maximum(points.max(axis=0), targets.max(axis=0)) + 1
    exact = _never_rounds(extents, spacing)
    # Coordinates index * spacing carry a relative error of index * eps; the rest is margin.
    slack = 1 + 16 * np.finfo(np.float64).eps * (int(extents.max()) + 16)
    sizes = np.asarray(spacing)
    tree = cKDTree(targets * sizes)
    shortest = np.empty(len(points), dtype=np.float64)
    pending = np.arange(len(points))
    wanted = 1 if exact else min(_FIRST_CANDIDATES, len(targets))
    while pending.size:
        unsettled = []
        step = max(1, _CANDIDATES_AT_ONCE // wanted)
        for start in range(0, pending.size, step):
            chunk = pending[start : start + step]
            proposed, index = tree.query(points[chunk] * sizes, k=wanted)
            offsets = points[chunk][:, None, :] - targets[index.reshape(len(chunk), wanted)]
            shortest[chunk] = _lengths(offsets, spacing).min(axis=1)
            farthest = proposed.reshape(len(chunk), wanted)[:, -1]
            unsettled.append(chunk[farthest <= shortest[chunk] * slack])
        if exact or wanted == len(targets):
            break
        pending = np.concatenate(unsettled)
        wanted = min(4 * wanted, len(targets))
    return shortest


def _lengths(offsets: Counts, spacing: tuple[float, ...]) -> Distances:
    squares = np.zeros(offsets.shape[:-1], dtype=np.float64)
    for axis, size in enumerate(spacing):
        along = offsets[..., axis] * size
        squares += along * along
    lengths: Distances = np.sqrt(squares)
    return lengths


def _never_rounds(extents: npt.NDArray[np.int64], spacing: tuple[float, ...]) -> bool:
    """Whether every squared length on this grid is a float64 without rounding (as at 1 mm or 0.5 mm)."""
    grain = max(Fraction(size).denominator for size in spacing)
    steps = [int(Fraction(size) * grain) for size in spacing]
    longest = sum((int(extent) * step) ** 2 for extent, step in zip(extents, steps, strict=True))
    return longest <= 2**53
