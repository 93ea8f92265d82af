"""Kernels on the crop of one region: its two surfaces, and the nearest voxels of the other one.

A crop is flat, padded with background, one byte per voxel: bit 1 for the reference, bit 2 for the
prediction, bit 4 for a surface voxel whose nearest partner lies beyond the offsets that were tried. Leaves
to others: which offsets are tried, and lengths.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from medotter_bench.metrics.fast.compiling import inlined, kernel
from medotter_bench.metrics.fast.words import load_word, set_bits, trailing_zeros

# The bit of each side in all 8 voxels of a word.
_FIRST, _SECOND = np.uint64(0x0101010101010101), np.uint64(0x0202020202020202)


def _row_surface(
    codes: Any, at: int, across: int, deep: int, line: Any
) -> None:  # pragma: no cover - compiled
    length = line.size
    here = codes[at : at + length]
    left, right = codes[at - 1 : at + length - 1], codes[at + 1 : at + length + 1]
    up, down = codes[at - across : at + length - across], codes[at + across : at + length + across]
    front, back = codes[at - deep : at + length - deep], codes[at + deep : at + length + deep]
    for k in range(length):
        line[k] = here[k] & ~(left[k] & right[k] & up[k] & down[k] & front[k] & back[k])


row_surface: Any = inlined(_row_surface)


def _copy_row(
    source: Any, first: int, target: Any, at: int, length: int
) -> None:  # pragma: no cover - compiled
    # A loop over views becomes wide copies; assigning a slice would look for overlaps first.
    read, written = source[first : first + length], target[at : at + length]
    for k in range(length):
        written[k] = read[k]


copy_row: Any = inlined(_copy_row)


def _surfaces(codes: Any, shape: Any, margins: Any, waiting: Any) -> None:  # pragma: no cover - compiled
    """Keep, in place, the bits of voxels that have a face neighbour without that bit. No margin: no axis.

    A row is overwritten once the row in the next plane has looked at it. Until then its surface is in
    `waiting`, which holds all rows of a plane and one more.
    """
    across = shape[2] if margins[1] else 0
    deep = shape[1] * shape[2] if margins[0] else 0
    length = shape[2] - 2 * margins[2]
    line = waiting[:length]
    for i in range(margins[0], shape[0] - margins[0]):
        for j in range(margins[1], shape[1] - margins[1]):
            at = (i * shape[1] + j) * shape[2] + margins[2]
            row_surface(codes, at, across, deep, line)
            first = (j - margins[1] + 1) * length
            if i > margins[0]:
                copy_row(waiting, first, codes, at - deep, length)
            copy_row(waiting, 0, waiting, first, length)
    for j in range(margins[1], shape[1] - margins[1]):
        at = ((shape[0] - margins[0] - 1) * shape[1] + j) * shape[2] + margins[2]
        first = (j - margins[1] + 1) * length
        copy_row(waiting, first, codes, at, length)


def _try_offsets(edges: Any, offsets: Any, ranks: Any, found: Any) -> None:  # pragma: no cover - compiled
    """Count in `found[side, rank]` at which offset each surface voxel meets the other surface.

    Offsets ascend by length, equal lengths share a rank. Voxels that meet nothing are marked with bit 4
    and counted in the last column. Eight voxels are tried at once, so up to 7 bytes before and behind
    `edges` are read, and what is in them does not matter.
    """
    none = found.shape[1] - 1
    for block in range(0, edges.size, 8):
        left = load_word(edges, block)
        if left == np.uint64(0):
            continue
        for trial in range(offsets.size):
            there = load_word(edges, block + offsets[trial])
            met = left & (((there >> np.uint64(1)) & _FIRST) | ((there & _FIRST) << np.uint64(1)))
            if met != np.uint64(0):
                found[0, ranks[trial]] += set_bits(met & _FIRST)
                found[1, ranks[trial]] += set_bits(met & _SECOND)
                left &= ~met
                if left == np.uint64(0):
                    break
        found[0, none] += set_bits(left & _FIRST)
        found[1, none] += set_bits(left & _SECOND)
        while left != np.uint64(0):
            lane = trailing_zeros(left) >> 3
            left &= ~(np.uint64(255) << np.uint64(8 * lane))
            edges[block + lane] |= 4


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

surfaces: Any = kernel(_surfaces, (_U8, _I64, _I64, _U8))
try_offsets: Any = kernel(_try_offsets, (_U8, _I64, _I64, types.int64[:, ::1]))
search_ball: Any = kernel(
    _search_ball,
    (_U8, _I64, types.int64[:, ::1], types.int64[:, ::1], types.float64[::1], types.float64[::1]),
)
gather: Any = kernel(_gather, (_U8, types.int64, _I64, types.int64[:, ::1]))
