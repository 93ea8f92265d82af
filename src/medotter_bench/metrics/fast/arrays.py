"""Lays two label maps side by side in memory order, as the kernels read them.

Leaves to others: what the maps mean. Array axes are those of the caller; memory axes are three, slowest
first, axes of length 1 in front.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Flat = npt.NDArray[Any]

# Runs are listed while there is less than one per so many voxels, in rows at least as long.
_SPARSE = 32
_LONGEST_ROW = 1 << 23


@dataclass(frozen=True, slots=True)
class Layout:
    """Where array axes lie in memory.

    Attributes:
        shape: Lengths of the array's axes of more than one voxel; (1,) where there is none.
        reversed: Whether axis 0 is the fastest one in memory.
    """

    shape: tuple[int, ...]
    reversed: bool

    @property
    def memory_shape(self) -> tuple[int, int, int]:
        """Lengths of the three memory axes."""
        lengths = (1,) * (3 - len(self.shape)) + (self.shape[::-1] if self.reversed else self.shape)
        return lengths[0], lengths[1], lengths[2]

    @property
    def places(self) -> tuple[int, int, int]:
        """The memory axis of each of three terms of a squared length, in the order of their sum.

        The terms follow the array's axes. Two axes take the first and the last term, so that the middle
        one, which needs most work, is nothing.
        """
        spare = 3 - len(self.shape)
        ours = [2 - k if self.reversed else spare + k for k in range(len(self.shape))]
        if spare == 2:
            return ours[0], 0, 1
        return (ours[0], 0, ours[1]) if spare == 1 else (ours[0], ours[1], ours[2])

    def terms(self, spacing: Sequence[float]) -> tuple[float, float, float]:
        """Spacing of each of the three terms; 0 for a term without an axis."""
        numbers = [float(size) for size in spacing]
        if len(numbers) == 1:
            return numbers[0], 0.0, 0.0
        return (numbers[0], 0.0, numbers[1]) if len(numbers) == 2 else (numbers[0], numbers[1], numbers[2])


def takes(array: npt.NDArray[Any]) -> bool:
    """Whether kernels can read this map at all: integers in this machine's byte order, 1 to 3 axes."""
    return array.dtype.kind in "iu" and array.dtype.isnative and array.size > 0 and 1 <= array.ndim <= 3


def lists_runs(layout: Layout) -> bool:
    """Whether listing the runs of a map may pay: its rows are neither short nor longer than a run can be."""
    return _SPARSE <= layout.memory_shape[2] <= _LONGEST_ROW


def runs_room(layout: Layout) -> int:
    """How many runs of a map are listed at most."""
    deep, tall, length = layout.memory_shape
    return deep * tall * length // _SPARSE


def flat(array: npt.NDArray[Any]) -> tuple[Flat, Layout]:
    """The voxels in memory order without a copy, where they lie without gaps; else of a copy in C order.

    Signed types are seen as unsigned ones, so that a negative id is a very large one.
    """
    squeezed = array.squeeze() if max(array.shape) > 1 else array.reshape(1)
    if not (squeezed.flags.c_contiguous or squeezed.flags.f_contiguous) or not squeezed.flags.aligned:
        squeezed = np.array(squeezed, order="C")
    turned = not squeezed.flags.c_contiguous
    voxels = squeezed.reshape(-1, order="F" if turned else "C")
    return voxels.view(np.dtype(f"u{array.dtype.itemsize}")), Layout(squeezed.shape, turned)


def reordered(voxels: Flat, layout: Layout, wanted: Layout) -> Flat:
    """The voxels of one layout in the order of another one of the same shape; a copy where they differ."""
    if layout.reversed == wanted.reversed:
        return voxels
    shaped = voxels.reshape(layout.shape, order="F" if layout.reversed else "C")
    return np.ravel(shaped, order="F" if wanted.reversed else "C")
