"""Kernels for exact squared distances from far voxels to a list of targets.

Squares of lengths are `squares[0][d0] + squares[1][d1] + squares[2][d2]`, added from left to right in
float64: tables hold what one axis adds for an offset, so nothing is multiplied here. Leaves to others:
which voxels are far, and roots.

Both searches give the smallest of the rounded sums. For the sweep this holds because rounded addition
never decreases when an operand grows: the minimum may be taken axis by axis, in the order of the sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from medotter_bench.metrics.fast.compiling import inlined, kernel


def _search_all(
    points: Any, targets: Any, along_0: Any, along_1: Any, along_2: Any, nearest: Any
) -> None:  # pragma: no cover - compiled
    """Compare every point (N, 3) with every target (M, 3)."""
    for point in range(points.shape[0]):
        x, y, z = points[point, 0], points[point, 1], points[point, 2]
        best = np.inf
        for target in range(targets.shape[0]):
            square = along_0[abs(targets[target, 0] - x)] + along_1[abs(targets[target, 1] - y)]
            square += along_2[abs(targets[target, 2] - z)]
            best = min(best, square)
        nearest[point] = best


def _fill_line(
    targets: Any, first: int, last: int, along: Any, line: Any
) -> None:  # pragma: no cover - compiled
    """What axis 0 adds between each place of a line and the nearest of the targets first:last on it."""
    target = first
    for x in range(line.size):
        while target + 1 < last and abs(targets[target + 1, 0] - x) <= abs(targets[target, 0] - x):
            target += 1
        line[x] = along[abs(targets[target, 0] - x)]


def _lower(row: Any, line: Any, step: float) -> None:  # pragma: no cover - compiled
    for x in range(row.size):
        square = line[x] + step
        row[x] = square if square < row[x] else row[x]


def _largest(row: Any) -> float:  # pragma: no cover - compiled
    largest = 0.0
    for x in range(row.size):
        largest = row[x] if row[x] > largest else largest
    return largest


fill_line: Any = inlined(_fill_line)
lower: Any = inlined(_lower)
largest: Any = inlined(_largest)


def _fill_row(
    row: Any, y: int, lines: Any, at: Any, n_lines: int, along: Any
) -> None:  # pragma: no cover - compiled
    """The smallest sum over axes 0 and 1 for each place of row `y`; lines lie at `at`, ascending."""
    row[:] = np.inf
    above = np.searchsorted(at[:n_lines], y)
    below = above - 1
    tried, bound = 0, np.inf
    while above < n_lines or below >= 0:
        upward = below < 0 or (above < n_lines and at[above] - y <= y - at[below])
        nearest = above if upward else below
        step = along[abs(at[nearest] - y)]
        if step >= bound:
            return
        lower(row, lines[nearest], step)
        tried += 1
        if tried & 7 == 4:
            bound = largest(row)
        if upward:
            above += 1
        else:
            below -= 1


fill_row: Any = inlined(_fill_row)


def _sweep_plane(
    points: Any, plane: Any, z: int, along: Any, nearest: Any
) -> None:  # pragma: no cover - compiled
    for point in range(points.shape[0]):
        step = along[abs(points[point, 2] - z)]
        if step < nearest[point]:
            square = plane[points[point, 1], points[point, 0]] + step
            nearest[point] = min(nearest[point], square)


sweep_plane: Any = inlined(_sweep_plane)


def _sweep(
    points: Any, targets: Any, along_0: Any, along_1: Any, along_2: Any, nearest: Any
) -> None:  # pragma: no cover - compiled
    """Go through the planes of axis 2 that hold targets; each lowers the distance of every point.

    Targets (M, 3) ascend by axis 2, then 1, then 0. One plane at a time is in memory.
    """
    n_x, n_y = points[:, 0].max() + 1, points[:, 1].max() + 1
    wanted = np.zeros(n_y, dtype=np.bool_)
    for point in range(points.shape[0]):
        wanted[points[point, 1]] = True
    plane = np.empty((n_y, n_x), dtype=np.float64)
    n_lines = min(targets[:, 1].max() - targets[:, 1].min() + 1, targets.shape[0])
    lines = np.empty((n_lines, n_x), dtype=np.float64)
    at = np.empty(n_lines, dtype=np.int64)
    nearest[:] = np.inf
    start, count = 0, targets.shape[0]
    while start < count:
        z, used = targets[start, 2], 0
        while start < count and targets[start, 2] == z:
            end = start + 1
            while end < count and targets[end, 2] == z and targets[end, 1] == targets[start, 1]:
                end += 1
            at[used] = targets[start, 1]
            fill_line(targets, start, end, along_0, lines[used])
            used += 1
            start = end
        for y in range(n_y):
            if wanted[y]:
                fill_row(plane[y], y, lines, at, used, along_1)
        sweep_plane(points, plane, z, along_2, nearest)


_F64 = types.float64[::1]
_PLACES = types.int64[:, ::1]

search_all: Any = kernel(_search_all, (_PLACES, _PLACES, _F64, _F64, _F64, _F64))
sweep: Any = kernel(_sweep, (_PLACES, _PLACES, _F64, _F64, _F64, _F64))
