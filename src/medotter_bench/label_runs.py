"""A label map as the places in which its id changes: far less than its voxels, enough for most of scoring.

Reading fills it while decompressed voxels are still in the processor's cache, so that a map of hundreds of
megabytes is never written to memory. Leaves to others: filling it (`metrics.fast`), reading (`inference`),
counting pairs and measuring surfaces (`metrics.fast`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

# A change is `place << ID_BITS | id`: so many different ids fit, and maps of up to 2**47 voxels.
ID_BITS = 16
ID_MASK = (1 << ID_BITS) - 1


@dataclass(frozen=True, slots=True, eq=False)
class LabelRuns:
    """A label map whose axis 0 is the fastest one.

    Attributes:
        changes: (N,) ascending, the first at place 0. From the place in bits 16 to 62 on, counted in the
            order of the file, voxels hold the id in bits 0 to 15.
        shape: Of the map.
        dtype: Of the ids as stored.
    """

    changes: Integers
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def ids(self) -> Integers:
        """(N,) id of each run."""
        return self.changes & ID_MASK

    @property
    def lengths(self) -> Integers:
        """(N,) voxels of each run."""
        return np.diff(self.changes >> ID_BITS, append=math.prod(self.shape))

    def counts(self) -> tuple[Integers, Integers]:
        """The ids that occur, ascending, and the voxels of each."""
        counted = np.zeros(1 << ID_BITS, dtype=np.int64)
        np.add.at(counted, self.ids, self.lengths)
        ids = np.flatnonzero(counted)
        return ids, counted[ids]

    def reshape(self, shape: tuple[int, ...]) -> LabelRuns:
        """The same voxels with axes of length 1 more or less at the end."""
        return replace(self, shape=shape)

    def array(self) -> npt.NDArray[Any]:
        """The voxels, in Fortran order."""
        return np.repeat(self.ids.astype(self.dtype), self.lengths).reshape(self.shape, order="F")


class RunWriter(Protocol):
    """Lists the changes of one map, piece by piece."""

    def write(self, voxels: npt.NDArray[Any]) -> bool:
        """Take over the next voxels, with their bits as unsigned integers.

        False, with none of them taken, where the map turns out to have too many changes or other ids than
        `LabelRuns` can hold.
        """

    def expand(self, target: npt.NDArray[Any]) -> None:
        """Write out the voxels that were taken, which are as many as the flat `target` has."""

    def changes(self) -> Integers:
        """As in `LabelRuns`."""


class MakeRunWriter(Protocol):
    """What a caller passes who would rather have runs than voxels."""

    def __call__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> RunWriter | None:
        """A writer for a map of native integers; None where runs would not pay."""
