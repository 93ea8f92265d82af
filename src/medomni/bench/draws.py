"""Seeded draws whose digits depend on no version of NumPy: resamples within strata, shuffles, coin tosses.

All come from raw 64-bit integers of one PCG64 stream and a mapping of our own. Rows come in blocks, so that
memory stays small however many units there are.

Leaves to others: what is computed on the draws.

Source: PCG64 as NumPy's bit generator gives it, whose stream is fixed by its seed; SHA-256 (FIPS 180-4).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medomni.core.errors import StatisticsError

RESAMPLES = 10_000
_BLOCK = 1_000_000

type Integers = NDArray[np.int64]


def seed_of(template: str, cohort: str, version: int, metric: str) -> int:
    """The seed of everything that is drawn for a score: the first 8 bytes of a digest of what is scored.

    Source: SHA-256 over `<template>|<cohort>|<N>|<metric>`, big-endian; this project's own rule.
    """
    text = f"{template}|{cohort}|{version}|{metric}"
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:8], "big")


def strata_first(strata: Sequence[str]) -> tuple[list[int], list[int]]:
    """Units in the order of their strata, and how many each stratum has.

    Returns:
        Indexes into `strata`, stable within a stratum; the sizes, in the order of the strata's names.
    """
    order = sorted(range(len(strata)), key=lambda index: strata[index])
    sizes = [sum(each == name for each in strata) for name in sorted(set(strata))]
    return order, sizes


def weights(strata: Sequence[str], *, resamples: int, seed: int) -> Iterator[Integers]:
    """Bootstrap resamples within strata: how often each unit was drawn.

    Args:
        strata: `(N,)`, the stratum of each unit.
        resamples: How many.
        seed: Of the stream.

    Yields:
        `(B, N)` counts in the order of `strata`; the blocks' B sum to `resamples`.

    Raises:
        StatisticsError: No units.
    """
    for drawn in indices(strata, resamples=resamples, seed=seed):
        block, n = drawn.shape
        flat = (drawn + n * np.arange(block, dtype=np.int64)[:, None]).ravel()
        yield np.bincount(flat, minlength=block * n).reshape(block, n)


def indices(strata: Sequence[str], *, resamples: int, seed: int) -> Iterator[Integers]:
    """Bootstrap resamples within strata: which units were drawn, `(B, N)` indexes into `strata`.

    Raises:
        StatisticsError: No units.
    """
    order, sizes = strata_first(strata)
    size = np.repeat(np.array(sizes, dtype=np.uint64), sizes)
    start = np.repeat(np.cumsum([0, *sizes[:-1]]), sizes).astype(np.int64)
    places = np.array(order, dtype=np.int64)
    for raw in _raw(len(strata), resamples, seed):
        within = ((raw >> np.uint64(32)) * size) >> np.uint64(32)
        yield places[start + within.astype(np.int64)]


def shuffles(n: int, *, draws: int, seed: int) -> Iterator[Integers]:
    """Random orders of n units, `(B, n)` indexes.

    Raises:
        StatisticsError: No units.
    """
    for raw in _raw(n, draws, seed):
        yield np.argsort(raw, axis=1, kind="stable").astype(np.int64)


def tosses(n: int, *, draws: int, seed: int) -> Iterator[NDArray[np.bool_]]:
    """Fair coins, `(B, n)`: the top bit of each raw integer.

    Raises:
        StatisticsError: No units.
    """
    for raw in _raw(n, draws, seed):
        yield (raw >> np.uint64(63)).astype(np.bool_)


def _raw(n: int, rows: int, seed: int) -> Iterator[NDArray[np.uint64]]:
    if not 1 <= n < 2**32:
        raise StatisticsError(f"draws need between 1 and 2^32 - 1 units, not {n}")
    bits: Any = np.random.PCG64(seed)
    block = max(1, _BLOCK // n)
    for start in range(0, rows, block):
        count = min(block, rows - start)
        yield bits.random_raw(count * n).reshape(count, n)
