"""Generated label maps and images as arrays: ellipsoids with a bump, on a plausible background.

Only +, -, *, / and comparisons are used, so that the same seed gives the same numbers on every machine.
Leaves to others: files and layouts (`dummy_files`, `dummy`), and what is to be painted (`dummy_spec`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from medotter_bench.factory.dummy_spec import DummySpec
from medotter_bench.factory.errors import DummyError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Labels = NDArray[np.int64]

_LEAST_CELL = 3  # A cell below 3 voxels could not hold a structure apart from its neighbours.
_FEWEST_CELLS = {2: 9, 3: 8}  # One lesion shall not fill the whole grid.


class Draws:
    """Reproducible draws from raw PCG64 integers, whose stream NumPy never changes.

    Source: PCG64 (O'Neill 2014) as `numpy.random.PCG64`, seeded with SHA-256 of the key.
    """

    def __init__(self, *key: object) -> None:
        text = "|".join(str(part) for part in key)
        self._bits = np.random.PCG64(int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big"))

    def below(self, bound: int) -> int:
        """A whole number in [0, bound)."""
        return int(self._bits.random_raw()) % bound

    def between(self, low: float, high: float) -> float:
        """A number in [low, high)."""
        return low + (high - low) * ((int(self._bits.random_raw()) >> 11) / (1 << 53))

    def order(self, count: int) -> list[int]:
        """The numbers 0 to count - 1, shuffled."""
        places = list(range(count))
        for last in range(count - 1, 0, -1):
            other = self.below(last + 1)
            places[last], places[other] = places[other], places[last]
        return places

    def noise(self, shape: tuple[int, ...], amplitude: int) -> Labels:
        """Whole numbers in [-amplitude, amplitude], one per element."""
        raw = np.asarray(self._bits.random_raw(prod(shape))) % np.uint64(2 * amplitude + 1)
        return raw.astype(np.int64).reshape(shape) - amplitude


def label_map(spec: DummySpec, position: int, draws: Draws) -> Labels:
    """A label map of native ids, axes as `spec.shape`.

    Args:
        spec: Which ids, or how many objects.
        position: The case's place in its dataset, from 0; decides which structures are absent.
        draws: Source of places and sizes.

    Raises:
        DummyError: the shape is too small for what is to be painted (`dummy-shape`).
    """
    if spec.instances:
        ids = [spec.first_id + spec.id_step * k for k in range(spec.instances)]
        painted = [] if position in spec.empty_cases else ids
    else:
        ids = list(spec.labels)
        painted = [label for label in ids if not _is_absent(spec, label, position)]
    if spec.nested:
        return _nested(spec.shape, ids, painted, draws)
    return _side_by_side(spec.shape, ids, painted, draws)


def _is_absent(spec: DummySpec, label: int, position: int) -> bool:
    if label not in spec.absent:
        return False
    positions = spec.absent[label]
    return positions is None or position in positions


def _side_by_side(shape: tuple[int, ...], ids: list[int], painted: Iterable[int], draws: Draws) -> Labels:
    boxes = _cells(shape, max(len(ids), _FEWEST_CELLS[len(shape)]))
    places = dict(zip(ids, draws.order(len(boxes)), strict=False))
    labels = np.zeros(shape, np.int64)
    for label in painted:
        cell = labels[boxes[places[label]]]
        cell[_blob(cell.shape, draws)] = label
    return labels


def _nested(shape: tuple[int, ...], ids: list[int], painted: Iterable[int], draws: Draws) -> Labels:
    labels = np.zeros(shape, np.int64)
    centre = [side * draws.between(0.45, 0.55) for side in shape]
    shown = set(painted)
    for depth, label in enumerate(ids):
        share = 0.40 * (len(ids) - depth) / len(ids) * draws.between(0.9, 1.0)
        if label in shown:
            labels[_ellipsoid(shape, centre, [side * share for side in shape])] = label
    return labels


def _cells(shape: tuple[int, ...], count: int) -> list[tuple[slice, ...]]:
    parts = [1] * len(shape)
    while prod(parts) < count:
        longest = max(range(len(shape)), key=lambda axis: shape[axis] / parts[axis])
        parts[longest] += 1
    if any(side // part < _LEAST_CELL for side, part in zip(shape, parts, strict=True)):
        what = f"a grid of {shape} is too small for {count} structures side by side"
        raise DummyError(what, hint="give the dummy block a larger shape", code="dummy-shape")
    edges = [[side * k // part for k in range(part + 1)] for side, part in zip(shape, parts, strict=True)]
    return [
        tuple(slice(edges[axis][k], edges[axis][k + 1]) for axis, k in enumerate(index))
        for index in np.ndindex(*parts)
    ]


def _blob(shape: tuple[int, ...], draws: Draws) -> NDArray[np.bool_]:
    """A lumpy body around the middle voxel of a box."""
    centre = [float(side // 2) for side in shape]
    radii = [max(0.5, side * draws.between(0.28, 0.42)) for side in shape]
    body = _ellipsoid(shape, centre, radii)
    bump = [place + side * draws.between(-0.15, 0.15) for place, side in zip(centre, shape, strict=True)]
    lump: NDArray[np.bool_] = body | _ellipsoid(shape, bump, [max(0.5, side * 0.25) for side in shape])
    return lump


def _ellipsoid(shape: tuple[int, ...], centre: list[float], radii: list[float]) -> NDArray[np.bool_]:
    total = np.zeros(shape)
    for axis, (place, radius) in enumerate(zip(centre, radii, strict=True)):
        steps = (np.arange(shape[axis]) - place) / radius
        total = total + (steps * steps).reshape([-1 if a == axis else 1 for a in range(len(shape))])
    return np.asarray(total <= 1.0)


def image(spec: DummySpec, labels: Labels, channel: int, draws: Draws) -> NDArray[Any]:
    """An image to the label map; (y, x, 3) for histology, else the label map's shape.

    Args:
        spec: Modality and data type.
        labels: The label map, axes as `spec.shape`.
        channel: Number of the channel; each sees the structures in another brightness.
        draws: Source of the noise.
    """
    rank = np.searchsorted(np.unique(labels), labels)
    if spec.modality == "histology":
        noise = draws.noise((*labels.shape, 3), 12)
        colours = np.where(labels[..., None] > 0, np.array([96, 64, 140]), np.array([226, 190, 214]))
        return np.clip(colours + noise, 0, 255).astype(np.uint8)
    if spec.modality == "fluorescence":
        top = 255 if spec.image_dtype == "uint8" else 4000
        values = np.where(labels > 0, top * 3 // 4, top // 20) + draws.noise(labels.shape, top // 40)
        return np.clip(values, 0, top).astype(spec.image_dtype)
    inside = _ellipsoid(labels.shape, [(s - 1) / 2 for s in labels.shape], [s * 0.55 for s in labels.shape])
    outside, tissue = (-1000, 30) if spec.modality == "ct" else (0, 300 + 60 * channel)
    values = np.where(inside | (labels > 0), tissue, outside) + rank * (25 + 35 * (channel % 3))
    values = values + draws.noise(labels.shape, 15)
    return (values if spec.modality == "ct" else np.maximum(values, 0)).astype(spec.image_dtype)
