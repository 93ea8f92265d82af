"""hd95 of one region: crop, surfaces, short distances, and long ones only where they count.

Every surface voxel first looks for the other surface at about 120 offsets, shortest first. The offsets are
all there are up to some length, so the first hit is the nearest. Voxels without a hit are farther than that
length; they are computed only where the percentile falls among them. Where that is the cheaper way, they
try about 1000 offsets before the complete search.

Leaves to others: which voxels belong to a region (`labels`), and the definition (`metrics.surface`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from medotter_bench.metrics.fast import distance_kernels, label_kernels, surface_kernels
from medotter_bench.metrics.fast.arrays import Flat, Layout
from medotter_bench.metrics.surface import between_ranks, check_method, percentile_ranks

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_NEAR, _WIDER = (123, 8), (1000, 20)
_MARK = 4
_WORD = 8

# Nanoseconds per step of the searches for far voxels; they decide speed, never a number.
_TRIAL, _PAIR, _LINE_VOXEL, _PLANE_POINT = 1.5, 2.0, 0.3, 1.2


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Runs of the scan in which not both ids are 0, and how many there are before each row."""

    runs: Integers
    rows: Integers


class Scratch:
    """Bytes that the regions of one scan use in turn: fresh ones would cost page faults.

    Before and behind them are as many more as kernels read at once.
    """

    def __init__(self) -> None:
        self._bytes = np.empty(0, dtype=np.uint8)

    def zeros(self, size: int) -> Flat:
        """So many, filled with 0; what was in them is lost."""
        if self._bytes.size < size + 2 * _WORD:
            self._bytes = np.zeros(size + 2 * _WORD, dtype=np.uint8)
        else:
            self._bytes[: size + 2 * _WORD].fill(0)
        return self._bytes[_WORD : _WORD + size]


@dataclass(frozen=True, slots=True, eq=False)
class Crop:
    """The voxels of one region in both maps.

    Attributes:
        maps: Gives both maps, flat.
        codes: (2, 256) bits per side and id.
        box: (3, 2) begin and end per memory axis.
        layout: Of the maps.
        runs: Of the maps, if there are few.
        scratch: Room for the crop.
    """

    maps: Callable[[], tuple[Flat, Flat]]
    codes: npt.NDArray[np.uint8]
    box: Integers
    layout: Layout
    runs: Runs | None
    scratch: Scratch


@dataclass(frozen=True, slots=True, eq=False)
class Ball:
    """All offsets up to some length, as the terms of `Layout.places`.

    Attributes:
        offsets: (N, 3) steps, ascending by squared length.
        ranks: (N,) place of each offset's squared length in `squares`.
        squares: Different squared lengths, ascending.
    """

    offsets: Integers
    ranks: Integers
    squares: Floats


def region_hd95(
    crop: Crop | None, spacing: tuple[float, ...], *, percentile: float, method: str
) -> float | None:
    """`metrics.hd95` of a crop; None for no crop, which stands for an empty side.

    Source:
        As `metrics.surface.hd95`.

    Raises:
        SpecError: `metric-percentile` or `metric-method`.
    """
    percentile_ranks(1, percentile=percentile)
    check_method(method)
    if crop is None:
        return None
    both = _Surfaces(crop, spacing)
    if method == "pooled":
        return both.percentile((0, 1), percentile)
    return max(both.percentile((0,), percentile), both.percentile((1,), percentile))


class _Surfaces:
    """The surfaces of both sides (0 reference, 1 prediction), and distances between them."""

    def __init__(self, crop: Crop, spacing: tuple[float, ...]) -> None:
        places = list(crop.layout.places)
        lengths = crop.box[:, 1] - crop.box[:, 0]
        extents = lengths[places]
        sizes = crop.layout.terms(spacing)
        self.squares = [_squares(int(n), size) for n, size in zip(extents, sizes, strict=True)]
        self.sizes, self.reach = sizes, tuple(int(n) - 1 for n in extents)
        self.ball = _ball(self.sizes, self.reach, *_NEAR)
        self.places = places
        margins = np.zeros(3, dtype=np.int64)
        margins[places] = np.abs(self.ball.offsets).max(axis=0)
        real = np.array(crop.layout.memory_shape) > 1
        real[2] = True
        margins = np.where(real, np.maximum(margins, 1), 0)
        self.shape = lengths + 2 * margins
        self.edges = _edges(crop, self.shape, margins)
        strides = np.array([self.shape[1] * self.shape[2], self.shape[2], 1])
        self.found = np.zeros((2, len(self.ball.squares) + 1), dtype=np.int64)
        steps = self.ball.offsets @ strides[places]
        surface_kernels.try_offsets(self.edges, steps, self.ball.ranks, self.found)

    def percentile(self, sides: tuple[int, ...], percentile: float) -> float:
        """The percentile of the distances from these sides' surfaces to the other one."""
        counts = self.found[list(sides)].sum(axis=0)
        low, high, fraction = percentile_ranks(int(counts.sum()), percentile=percentile)
        reached = np.cumsum(counts[:-1])
        far = self._far_values(sides, high - int(reached[-1]))
        values = []
        for rank in (low, high):
            if rank >= reached[-1]:
                values.append(math.sqrt(far[rank - reached[-1]]))
            else:
                values.append(math.sqrt(self.ball.squares[np.searchsorted(reached, rank, side="right")]))
        return between_ranks(values[0], values[1], fraction=fraction)

    def _far_values(self, sides: tuple[int, ...], rank: int) -> Floats:
        """Far squared lengths of these sides; those at `rank` and one before are as if all were sorted."""
        if rank < 0:
            return np.empty(0, dtype=np.float64)
        searches = [_Far(self, side) for side in sides if self.found[side, -1]]
        for search in searches:
            search.look_around()
        far = np.concatenate([search.nearest for search in searches])
        if np.count_nonzero(far < math.inf) <= rank:
            for search in searches:
                search.complete()
            far = np.concatenate([search.nearest for search in searches])
        far.partition([max(rank - 1, 0), rank])
        return far

    def gather(self, bits: int, count: int) -> Integers:
        """Places in the crop, along memory axes, of the `count` voxels that have these bits."""
        found = np.empty((count, 3), dtype=np.int64)
        surface_kernels.gather(self.edges, bits, self.shape, found)
        return found


class _Far:
    """The surface voxels of one side that no near offset takes to the other, and their squared lengths."""

    def __init__(self, surfaces: _Surfaces, side: int) -> None:
        self.surfaces = surfaces
        self.points = surfaces.gather(_MARK | (side + 1), int(surfaces.found[side, -1]))
        self.targets = surfaces.gather(2 - side, int(surfaces.found[1 - side].sum()))
        self.nearest = np.full(len(self.points), math.inf)

    def look_around(self) -> None:
        """Try the wider ball, where that costs less than the complete search."""
        whole = self.surfaces
        wider = _ball(whole.sizes, whole.reach, *_WIDER)
        new = wider.squares[wider.ranks] > whole.ball.squares[-1]
        if not new.any() or np.count_nonzero(new) * len(self.points) * _TRIAL > min(self._costs()):
            return
        offsets = np.empty((np.count_nonzero(new), 3), dtype=np.int64)
        offsets[:, whole.places] = wider.offsets[new]
        lengths = wider.squares[wider.ranks[new]]
        surface_kernels.search_ball(whole.edges, whole.shape, self.points, offsets, lengths, self.nearest)

    def complete(self) -> None:
        """The lengths that are still infinite, by a sweep or by comparing all pairs."""
        left = np.flatnonzero(self.nearest == math.inf)
        if left.size == 0:
            return
        self.points = self.points[left]
        places = self.surfaces.places
        points, targets = self.points[:, places], self.targets[:, places]
        origin = points.min(axis=0)
        points, targets = np.ascontiguousarray(points - origin), np.ascontiguousarray(targets - origin)
        lengths = np.empty(len(left), dtype=np.float64)
        sweep, pairs = self._costs()
        if sweep < pairs:
            distance_kernels.sweep(points, _ascending(targets), *self.surfaces.squares, lengths)
        else:
            distance_kernels.search_all(points, targets, *self.surfaces.squares, lengths)
        self.nearest[left] = lengths

    def _costs(self) -> tuple[float, float]:
        """Nanoseconds that the sweep and the comparison of all pairs are expected to take."""
        places = self.surfaces.places
        columns, rows, _ = (int(n) + 1 for n in np.ptp(self.points, axis=0)[places])
        _, tall, deep = (int(n) + 1 for n in np.ptp(self.targets, axis=0)[places])
        planes, lines = min(deep, len(self.targets)), min(tall * deep, len(self.targets))
        sweep = lines * rows * columns * _LINE_VOXEL + planes * len(self.points) * _PLANE_POINT
        return sweep, len(self.points) * len(self.targets) * _PAIR


def _edges(crop: Crop, shape: Integers, margins: Integers) -> Flat:
    # Whole words: kernels read 8 voxels at once.
    size = -(-int(np.prod(shape)) // 8) * 8
    codes = crop.scratch.zeros(size)
    origin = (margins[0] * shape[1] + margins[1]) * shape[2] + margins[2]
    layout = [*crop.layout.memory_shape[1:], *crop.box.ravel(), *shape[1:], origin]
    places = np.array(layout, dtype=np.int64)
    if crop.runs is not None and not crop.codes[:, 0].any():
        label_kernels.paint(crop.runs.runs, crop.runs.rows, crop.codes, places, codes)
    else:
        label_kernels.crop(*crop.maps(), crop.codes, places, codes)
    rows, length = shape[1] - 2 * margins[1], shape[2] - 2 * margins[2]
    surface_kernels.surfaces(codes, shape, margins, np.empty((rows + 1) * length, dtype=np.uint8))
    return codes


def _squares(length: int, size: float) -> Floats:
    along = np.arange(length) * size
    squares: Floats = along * along
    return squares


@lru_cache(maxsize=64)
def _ball(sizes: tuple[float, ...], reach: tuple[int, ...], wanted: int, longest: int) -> Ball:
    """About `wanted` shortest offsets and all their equals; at most `reach`, `longest` steps per term."""
    real = [size for size in sizes if size]
    volume = (2.0, math.pi, 4 / 3 * math.pi)[len(real) - 1]
    radius = (wanted / volume) ** (1 / len(real)) * math.prod(size ** (1 / len(real)) for size in real)
    steps = [
        min(limit, longest, math.floor(min(radius / size, longest)) + 1) if size else 0
        for size, limit in zip(sizes, reach, strict=True)
    ]
    grids = np.meshgrid(*(np.arange(-n, n + 1) for n in steps), indexing="ij")
    offsets = np.stack([grid.ravel() for grid in grids], axis=1)
    squares = np.zeros(len(offsets))
    for term, size in enumerate(sizes):
        along = offsets[:, term] * size
        squares += along * along
    # Whatever was not listed is at least this long.
    outside = [(n + 1) * size for n, size, limit in zip(steps, sizes, reach, strict=True) if n < limit]
    bounds = [along * along for along in outside]
    listed = squares < min(bounds, default=math.inf)
    last = np.sort(squares[listed])[:wanted][-1]
    kept = np.flatnonzero(listed & (squares <= last))
    order = kept[np.argsort(squares[kept], kind="stable")]
    lengths, ranks = np.unique(squares[order], return_inverse=True)
    return Ball(offsets[order], ranks.astype(np.int64), lengths)


def _ascending(targets: Integers) -> Integers:
    low = targets.min(axis=0)
    span = targets.max(axis=0) - low + 1
    x, y, z = (targets - low).T
    keys = (z * span[1] + y) * span[0] + x
    if np.all(keys[1:] > keys[:-1]):
        return targets
    return np.ascontiguousarray(targets[np.argsort(keys)])
