"""Kernels over instance maps: pixels per pair of ids, and the connected parts of ids.

Leaves to others: order of ids and pairs, and all metrics.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from medotter_bench.metrics.fast.compiling import inlined, kernel, read_only
from medotter_bench.metrics.fast.words import run_end

_MANY_PAIRS = 10_000
_MIX_1 = np.uint64(0x9E3779B97F4A7C15)
_MIX_2 = np.uint64(0xBF58476D1CE4E5B9)


def _slot(slots: Any, pairs: Any, left: int, right: int) -> Any:  # pragma: no cover - compiled
    """Where the number of a pair stands in an open hash table of 2^k slots, or the free slot (-1) for it."""
    mixed = (np.uint64(left) * _MIX_1 + np.uint64(right)) * _MIX_2
    mixed ^= mixed >> np.uint64(32)
    place = np.int64(mixed & np.uint64(slots.size - 1))
    while slots[place] >= 0 and (pairs[slots[place], 0] != left or pairs[slots[place], 1] != right):
        place = (place + 1) & (slots.size - 1)
    return place


slot: Any = inlined(_slot)


def _grown(pairs: Any, counts: Any) -> Any:  # pragma: no cover - compiled
    size = counts.size
    wider, totals = np.empty((4 * size, 2), dtype=np.uint64), np.zeros(4 * size, dtype=np.int64)
    wider[:size] = pairs
    totals[:size] = counts
    slots = np.full(8 * size, -1, dtype=np.int64)
    for number in range(size):
        slots[slot(slots, pairs, pairs[number, 0], pairs[number, 1])] = number
    return slots, wider, totals


grown: Any = inlined(_grown)


def _count_pairs(left: Any, right: Any) -> Any:  # pragma: no cover - compiled
    """(N, 2) different pairs of ids and the pixels of each, as they first occur; 0 pixels: not used.

    Nothing at all where most runs bring a new pair: then a table of pairs is no gain over sorting the runs.
    """
    slots = np.full(8192, -1, dtype=np.int64)
    pairs = np.empty((4096, 2), dtype=np.uint64)
    counts = np.zeros(4096, dtype=np.int64)
    start, used, runs = 0, 0, 0
    while start < left.size:
        end = run_end(left, right, start, left.size)
        runs += 1
        first, second = np.uint64(left[start]), np.uint64(right[start])
        place = slot(slots, pairs, first, second)
        if slots[place] < 0:
            if used == counts.size:
                if used > _MANY_PAIRS and 2 * used > runs:
                    return pairs[:0], counts[:0]
                slots, pairs, counts = grown(pairs, counts)
                place = slot(slots, pairs, first, second)
            slots[place] = used
            pairs[used, 0], pairs[used, 1] = first, second
            used += 1
        counts[slots[place]] += end - start
        start = end
    return pairs, counts


def _count_runs(labels: Any, length: int, firsts: Any) -> int:  # pragma: no cover - compiled
    total = 0
    for row in range(firsts.size - 1):
        firsts[row] = total
        start, stop = row * length, (row + 1) * length
        while start < stop:
            total += labels[start] != 0
            start = run_end(labels, labels, start, stop)
    firsts[-1] = total
    return total


def _list_runs(labels: Any, length: int, runs: Any) -> None:  # pragma: no cover - compiled
    at = 0
    for row in range(labels.size // length):
        start, stop = row * length, (row + 1) * length
        while start < stop:
            end = run_end(labels, labels, start, stop)
            if labels[start] != 0:
                runs[at, 0], runs[at, 1] = start - row * length, end - row * length
                at += 1
            start = end


def _root(parents: Any, run: int) -> int:  # pragma: no cover - compiled
    while parents[run] != run:
        parents[run] = parents[parents[run]]
        run = parents[run]
    return run


count_runs: Any = inlined(_count_runs)
list_runs: Any = inlined(_list_runs)
root: Any = inlined(_root)


def _join_rows(
    names: Any, runs: Any, parents: Any, firsts: Any, one: int, other: int
) -> None:  # pragma: no cover - compiled
    """Unite the runs of two neighbouring rows that overlap and have one id."""
    a, b = firsts[one], firsts[other]
    while a < firsts[one + 1] and b < firsts[other + 1]:
        if names[a] == names[b] and runs[a, 0] < runs[b, 1] and runs[b, 0] < runs[a, 1]:
            parents[root(parents, a)] = root(parents, b)
        if runs[a, 1] <= runs[b, 1]:
            a += 1
        else:
            b += 1


join_rows: Any = inlined(_join_rows)


def _parts(labels: Any, shape: Any) -> Any:  # pragma: no cover - compiled
    """The id of every run along axis 2, and a tree that unites the runs of one face-connected part.

    Background has no runs. A run that is its own parent stands for its part.
    """
    length = shape[2]
    firsts = np.empty(shape[0] * shape[1] + 1, dtype=np.int64)
    total = count_runs(labels, length, firsts)
    runs = np.empty((total, 2), dtype=np.int64)
    list_runs(labels, length, runs)
    names = np.empty(total, dtype=np.uint64)
    for row in range(firsts.size - 1):
        for run in range(firsts[row], firsts[row + 1]):
            names[run] = labels[row * length + runs[run, 0]]
    parents = np.arange(total)
    for row in range(firsts.size - 1):
        if row % shape[1]:
            join_rows(names, runs, parents, firsts, row, row - 1)
        if row >= shape[1]:
            join_rows(names, runs, parents, firsts, row, row - shape[1])
    return names, parents


_WIDE = tuple(read_only(t) for t in (types.uint16, types.uint32, types.uint64))

count_pairs: Any = kernel(_count_pairs, *((labels, labels) for labels in _WIDE))
parts: Any = kernel(_parts, *((labels, types.int64[::1]) for labels in _WIDE))
