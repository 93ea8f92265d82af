"""Every metric a second time: pure Python on sets and fractions, straight from the definitions.

Nothing here imports the package. Sums of floats are written out, since `sum` compensates rounding.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

Voxel = tuple[int, ...]


def voxels(mask: Any) -> list[Voxel]:
    return [index for index in itertools.product(*map(range, mask.shape)) if mask[index]]


def dice(reference: Any, prediction: Any) -> Fraction | None:
    a, b = set(voxels(reference)), set(voxels(prediction))
    return Fraction(2 * len(a & b), len(a) + len(b)) if a or b else None


def surface(mask: Any) -> list[Voxel]:
    inside = set(voxels(mask))
    steps = [
        tuple(sign if axis == k else 0 for axis in range(mask.ndim))
        for k in range(mask.ndim)
        for sign in (1, -1)
    ]
    return [
        voxel
        for voxel in voxels(mask)
        if any(tuple(v + s for v, s in zip(voxel, step, strict=True)) not in inside for step in steps)
    ]


def length(a: Voxel, b: Voxel, spacing: Sequence[float]) -> float:
    total = 0.0
    for x, y, size in zip(a, b, spacing, strict=True):
        along = (x - y) * size
        total += along * along
    return math.sqrt(total)


def directed(source: list[Voxel], target: list[Voxel], spacing: Sequence[float]) -> list[float]:
    return [min(length(a, b, spacing) for b in target) for a in source]


def percentile(values: Iterable[float], q: float) -> float:
    ordered = [Fraction(value) for value in sorted(values)]
    rank = (len(ordered) - 1) * Fraction(q) / 100
    low = math.floor(rank)
    high = min(low + 1, len(ordered) - 1)
    return float(ordered[low] + (ordered[high] - ordered[low]) * (rank - low))


def hd95(reference: Any, prediction: Any, spacing: Sequence[float], q: float, method: str) -> float | None:
    kept = [axis for axis, n in enumerate(reference.shape) if n > 1] or [0]
    sizes = [spacing[axis] for axis in kept]
    shape = [reference.shape[axis] for axis in kept]
    a, b = surface(reference.reshape(shape)), surface(prediction.reshape(shape))
    if not a or not b:
        return None
    forth, back = directed(a, b, sizes), directed(b, a, sizes)
    if method == "pooled":
        return percentile(forth + back, q)
    return max(percentile(forth, q), percentile(back, q))


def objects(labels: Any) -> dict[int, set[Voxel]]:
    found: dict[int, set[Voxel]] = {}
    for index in itertools.product(*map(range, labels.shape)):
        if labels[index]:
            found.setdefault(int(labels[index]), set()).add(index)
    return found


def iou(a: set[Voxel], b: set[Voxel]) -> Fraction:
    return Fraction(len(a & b), len(a | b))


def one_to_one(gains: dict[tuple[int, int], Any], rows: list[int], empty: Any) -> list[Any]:
    """All totals (tuples added entry by entry) that one-to-one choices of pairs can reach."""
    totals = [empty]

    def walk(k: int, used: frozenset[int], total: Any) -> None:
        if k == len(rows):
            totals.append(total)
            return
        walk(k + 1, used, total)
        for (row, column), gain in gains.items():
            if row == rows[k] and column not in used:
                walk(k + 1, used | {column}, tuple(x + y for x, y in zip(total, gain, strict=True)))

    walk(0, frozenset(), empty)
    return totals


def match(reference: Any, prediction: Any, threshold: str, rule: str) -> tuple[int, int, int, Fraction]:
    a, b = objects(reference), objects(prediction)
    limit = Fraction(threshold)
    gains = {}
    for i, j in itertools.product(a, b):
        value = iou(a[i], b[j])
        if value and (value >= limit if rule == "ge" else value > limit):
            gains[i, j] = (1, value)
    tp, total = max(one_to_one(gains, list(a), (0, Fraction(0))))
    return tp, len(b) - tp, len(a) - tp, total


def scores(tp: int, fp: int, fn: int, total: Fraction) -> dict[str, Fraction | None]:
    if tp + fp + fn == 0:
        return {"f1": None, "dq": None, "sq": None, "pq": None}
    quality = tp / (tp + Fraction(fp, 2) + Fraction(fn, 2))
    mean = total / tp if tp else Fraction(0)
    return {"f1": Fraction(2 * tp, 2 * tp + fp + fn), "dq": quality, "sq": mean, "pq": quality * mean}


def aji(reference: Any, prediction: Any) -> Fraction | None:
    a, b = objects(reference), objects(prediction)
    shared = total = 0
    used = set()
    for own in a.values():
        overlapping = [j for j in b if own & b[j]]
        if not overlapping:
            total += len(own)
            continue
        best = max(overlapping, key=lambda j: (iou(own, b[j]), len(own & b[j]), -j))
        used.add(best)
        shared += len(own & b[best])
        total += len(own | b[best])
    total += sum(len(b[j]) for j in b if j not in used)
    return Fraction(shared, total) if total else None


def aji_plus(reference: Any, prediction: Any) -> Fraction | None:
    a, b = objects(reference), objects(prediction)
    gains = {(i, j): (iou(a[i], b[j]), len(a[i] & b[j])) for i, j in itertools.product(a, b) if a[i] & b[j]}
    _, shared = max(one_to_one(gains, list(a), (Fraction(0), 0)))
    total = sum(map(len, a.values())) + sum(map(len, b.values())) - shared
    return Fraction(shared, total) if total else None


def disconnected(labels: Any) -> int:
    count = 0
    for own in objects(labels).values():
        start = next(iter(own))
        seen, todo = {start}, [start]
        while todo:
            voxel = todo.pop()
            for other in own - seen:
                if sum(abs(x - y) for x, y in zip(voxel, other, strict=True)) == 1:
                    seen.add(other)
                    todo.append(other)
        count += len(seen) < len(own)
    return count
