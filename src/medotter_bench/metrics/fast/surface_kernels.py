"""Kernels on the crop of one region: its two surfaces, and the nearest voxels of the other one.

A crop is flat, padded with background, one byte per voxel: bit 1 for the reference, bit 2 for the
prediction, bit 4 for a surface voxel whose nearest partner lies beyond the offsets that were tried. Leaves
to others: which offsets are tried, and lengths.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from medotter_bench.metrics.fast.compiling import inlined, kernel, read_only
from medotter_bench.metrics.fast.words import load_word, trailing_zeros


def _surfaces(codes: Any, shape: Any, margins: Any, edges: Any) -> None:  # pragma: no cover - compiled
    """Keep the bits of voxels that have a face neighbour without that bit. A margin of 0 is no axis."""
    across = shape[2] if margins[1] else 0
    deep = shape[1] * shape[2] if margins[0] else 0
    length = shape[2] - 2 * margins[2]
    for i in range(margins[0], shape[0] - margins[0]):
        for j in range(margins[1], shape[1] - margins[1]):
            at = (i * shape[1] + j) * shape[2] + margins[2]
            here, out = codes[at : at + length], edges[at : at + length]
            left, right = codes[at - 1 : at + length - 1], codes[at + 1 : at + length + 1]
            up, down = codes[at - across : at + length - across], codes[at + across : at + length + across]
            front, back = codes[at - deep : at + length - deep], codes[at + deep : at + length + deep]
            for k in range(length):
                around = left[k] & right[k] & up[k] & down[k] & front[k] & back[k]
                out[k] = here[k] & ~around


def _first_hit(edges: Any, place: int, side: int, offsets: Any) -> int:  # pragma: no cover - compiled
    for trial in range(offsets.size):
        if edges[place + offsets[trial]] & side:
            return trial
    return -1


first_hit: Any = inlined(_first_hit)


def _try_offsets(edges: Any, offsets: Any, ranks: Any, found: Any) -> None:  # pragma: no cover - compiled
    """Count in `found[side, rank]` at which offset each surface voxel meets the other surface.

    Offsets ascend by length, equal lengths share a rank. Voxels that meet nothing are marked with bit 4
    and counted in the last column.
    """
    none = found.shape[1] - 1
    for block in range(0, edges.size, 8):
        word = load_word(edges, block)
        while word != np.uint64(0):
            lane = trailing_zeros(word) >> 3
            word &= ~(np.uint64(255) << np.uint64(8 * lane))
            place = block + lane
            own = edges[place]
            if own == 3:
                found[0, 0] += 1
                found[1, 0] += 1
                continue
            trial = first_hit(edges, place, 3 - own, offsets)
            if trial < 0:
                edges[place] = own | 4
                found[own - 1, none] += 1
            else:
                found[own - 1, ranks[trial]] += 1


def _gather(edges: Any, bits: int, shape: Any, places: Any) -> None:  # pragma: no cover - compiled
    """List the voxels in which all `bits` are set, as (N, 3) places in the crop."""
    row = 0
    for block in range(0, edges.size, 8):
        word = load_word(edges, block)
        while word != np.uint64(0):
            lane = trailing_zeros(word) >> 3
            word &= ~(np.uint64(255) << np.uint64(8 * lane))
            if (edges[block + lane] & bits) == bits:
                rest, places[row, 2] = divmod(block + lane, shape[2])
                places[row, 0], places[row, 1] = divmod(rest, shape[1])
                row += 1


def _search_ball(
    edges: Any, shape: Any, points: Any, offsets: Any, squares: Any, nearest: Any
) -> None:  # pragma: no cover - compiled
    """The squared length of the first offset that takes each point to the other surface, or infinity.

    Points and offsets (N, 3) count along the crop's axes; offsets may lead out of the crop.
    """
    for point in range(points.shape[0]):
        i, j, k = points[point]
        side = 3 & ~edges[(i * shape[1] + j) * shape[2] + k]
        nearest[point] = np.inf
        for trial in range(offsets.shape[0]):
            a, b, c = i + offsets[trial, 0], j + offsets[trial, 1], k + offsets[trial, 2]
            inside = 0 <= a < shape[0] and 0 <= b < shape[1] and 0 <= c < shape[2]
            if inside and edges[(a * shape[1] + b) * shape[2] + c] & side:
                nearest[point] = squares[trial]
                break


_U8 = types.uint8[::1]
_I64 = types.int64[::1]

surfaces: Any = kernel(_surfaces, (read_only(types.uint8), _I64, _I64, _U8))
try_offsets: Any = kernel(_try_offsets, (_U8, _I64, _I64, types.int64[:, ::1]))
search_ball: Any = kernel(
    _search_ball,
    (_U8, _I64, types.int64[:, ::1], types.int64[:, ::1], types.float64[::1], types.float64[::1]),
)
gather: Any = kernel(_gather, (_U8, types.int64, _I64, types.int64[:, ::1]))
