"""Kernels over whole label maps: ids and their counts, pairs of ids, runs, bounding boxes, crops of regions.

Arrays are flat, in memory order; shapes are three axes, slowest first. Leaves to others: everything that a
label id means.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from medotter_bench.metrics.fast.compiling import inlined, kernel, read_only
from medotter_bench.metrics.fast.words import run_end


def _count_ids(labels: Any, counts: Any) -> bool:  # pragma: no cover - compiled
    """Add the voxels of each id to `counts`; False where an id is beyond that table."""
    start = 0
    while start < labels.size:
        end = run_end(labels, labels, start, labels.size)
        if labels[start] >= counts.size:
            return False
        counts[labels[start]] += end - start
        start = end
    return True


def _rename(labels: Any, names: Any, renamed: Any) -> None:  # pragma: no cover - compiled
    """Write `names[id]` for every voxel."""
    start = 0
    while start < labels.size:
        end = run_end(labels, labels, start, labels.size)
        renamed[start:end] = names[labels[start]]
        start = end


def _changes(voxels: Any, at: int, limit: int, changes: Any, used: int) -> int:  # pragma: no cover - compiled
    """Append to `changes[:used]` where ids change in `voxels`, the first of which is at place `at`.

    An entry is `place << 16 | id`. Returns how many there are now, or -1 where there is no room for all or
    an id reaches `limit`; what lies behind `used` is then lost.
    """
    start = 0
    if used > 0 and np.int64(voxels[0]) == changes[used - 1] & 0xFFFF:
        start = run_end(voxels, voxels, 0, voxels.size)
    while start < voxels.size:
        if used == changes.size or voxels[start] >= limit:
            return -1
        changes[used] = ((at + start) << 16) | np.int64(voxels[start])
        used += 1
        start = run_end(voxels, voxels, start, voxels.size)
    return used


def _widen(box: Any, i: int, j: int, start: int, end: int) -> None:  # pragma: no cover - compiled
    box[0] = min(box[0], i)
    box[1] = max(box[1], i + 1)
    box[2] = min(box[2], j)
    box[3] = max(box[3], j + 1)
    box[4] = min(box[4], start)
    box[5] = max(box[5], end)


widen: Any = inlined(_widen)


def _scan(
    reference: Any, prediction: Any, shape: Any, table: Any, boxes: Any, runs: Any, rows: Any
) -> int:  # pragma: no cover - compiled
    """Add up `table[reference id, prediction id]`, and widen `boxes[side, id]` to hold the id's voxels.

    Runs in which not both ids are 0 are listed in `runs`, as far as it has room: where they begin in their
    row (bits 40 to 63), their length (16 to 39), both ids. `rows[row]` is how many there are before a row,
    if it has room for all rows. What is both 0 may reach over rows, so it widens nothing. Returns the
    number of runs.
    """
    row, start, used = 0, 0, 0
    counts_rows = rows.size > shape[0] * shape[1]
    for i in range(shape[0]):
        for j in range(shape[1]):
            if counts_rows:
                rows[i * shape[1] + j] = used
            stop = row + shape[2]
            while start < stop:
                first, second = reference[start], prediction[start]
                if (first | second) == 0:
                    end = run_end(reference, prediction, start, reference.size)
                    table[0, 0] += end - start
                    start = end
                    continue
                end = run_end(reference, prediction, start, stop)
                table[first, second] += end - start
                widen(boxes[0, first], i, j, start - row, end - row)
                widen(boxes[1, second], i, j, start - row, end - row)
                if used < runs.size:
                    ids = (np.int64(first) << 8) | np.int64(second)
                    runs[used] = ((start - row) << 40) | ((end - start) << 16) | ids
                used += 1
                start = end
            row = stop
    if counts_rows:
        rows[shape[0] * shape[1]] = used
    return used


def _join(
    left: Any, right: Any, shape: Any, table: Any, boxes: Any, runs: Any, rows: Any
) -> int:  # pragma: no cover - compiled
    """As `scan`, from the changes of both maps (`place << 16 | id`), with ids below 256."""
    length = shape[2]
    total = shape[0] * shape[1] * length
    i, j, row, row_end, used = 0, 0, 0, length, 0
    rows[0] = 0
    place, at_left, at_right = 0, 0, 0
    while place < total:
        first, second = left[at_left] & 0xFFFF, right[at_right] & 0xFFFF
        left_end = left[at_left + 1] >> 16 if at_left + 1 < left.size else total
        right_end = right[at_right + 1] >> 16 if at_right + 1 < right.size else total
        end = min(left_end, right_end)
        table[first, second] += end - place
        if (first | second) == 0:
            place = end
        while place < end:
            while row_end <= place:
                row += 1
                row_end += length
                rows[row] = used
                j += 1
                if j == shape[1]:
                    i, j = i + 1, 0
            stop = min(end, row_end)
            start = place - (row_end - length)
            widen(boxes[0, first], i, j, start, start + stop - place)
            widen(boxes[1, second], i, j, start, start + stop - place)
            if used < runs.size:
                runs[used] = (start << 40) | ((stop - place) << 16) | (first << 8) | second
            used += 1
            place = stop
        at_left += left_end == end
        at_right += right_end == end
    rows[row + 1 :] = used
    return used


def _crop(
    reference: Any, prediction: Any, codes: Any, layout: Any, cropped: Any
) -> None:  # pragma: no cover - compiled
    """Copy a box, as the codes `codes[0, reference id] | codes[1, prediction id]`.

    `layout`: axes 1 and 2 of the maps' shape; the box (begin and end per axis); axes 1 and 2 of the crop's
    shape; where the box's first voxel goes.
    """
    for i in range(layout[2], layout[3]):
        for j in range(layout[4], layout[5]):
            row = (i * layout[0] + j) * layout[1]
            start, stop = row + layout[6], row + layout[7]
            there = ((i - layout[2]) * layout[8] + (j - layout[4])) * layout[9] + layout[10] - start
            while start < stop:
                end = run_end(reference, prediction, start, stop)
                code = codes[0, reference[start]] | codes[1, prediction[start]]
                if code != 0:
                    cropped[there + start : there + end] = code
                start = end


def _paint(
    runs: Any, rows: Any, codes: Any, layout: Any, cropped: Any
) -> None:  # pragma: no cover - compiled
    """As `crop`, from the runs that `scan` listed; ids of 0 must have no code."""
    for i in range(layout[2], layout[3]):
        for j in range(layout[4], layout[5]):
            row = i * layout[0] + j
            there = ((i - layout[2]) * layout[8] + (j - layout[4])) * layout[9] + layout[10] - layout[6]
            for number in range(rows[row], rows[row + 1]):
                run = runs[number]
                code = codes[0, (run >> 8) & 255] | codes[1, run & 255]
                if code != 0:
                    start = there + (run >> 40)
                    cropped[start : start + ((run >> 16) & 0xFFFFFF)] = code


_U8 = read_only(types.uint8)
_I64 = types.int64[::1]
_WIDE = tuple(read_only(t) for t in (types.uint16, types.uint32, types.uint64))

count_ids: Any = kernel(_count_ids, *((labels, _I64) for labels in (_U8, *_WIDE)))
rename: Any = kernel(_rename, *((labels, types.uint8[::1], types.uint8[::1]) for labels in _WIDE))
changes: Any = kernel(
    _changes, *((labels, types.int64, types.int64, _I64, types.int64) for labels in (_U8, *_WIDE))
)
join: Any = kernel(_join, (_I64, _I64, _I64, types.int64[:, ::1], types.int64[:, :, ::1], _I64, _I64))
scan: Any = kernel(_scan, (_U8, _U8, _I64, types.int64[:, ::1], types.int64[:, :, ::1], _I64, _I64))
crop: Any = kernel(_crop, (_U8, _U8, types.uint8[:, ::1], _I64, types.uint8[::1]))
paint: Any = kernel(_paint, (_I64, _I64, types.uint8[:, ::1], _I64, types.uint8[::1]))
