"""Lists where the id of a label map changes, from pieces of its voxels.

Leaves to others: where the pieces come from (`inference`), and what is made of two such lists (`labels`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from medotter_bench.label_runs import ID_BITS, ID_MASK, Integers
from medotter_bench.metrics.fast import label_kernels
from medotter_bench.metrics.fast.arrays import Layout, lists_runs, runs_room


class Writer:
    """A `label_runs.RunWriter` on the compiled kernels.

    Args:
        n_voxels: Of the whole map.
        limit: Ids from here on are refused.
        room: How many changes are listed at most.
    """

    def __init__(self, n_voxels: int, *, limit: int, room: int) -> None:
        self._n_voxels, self._limit = n_voxels, limit
        self._changes = np.empty(room, dtype=np.int64)
        self._used = self._at = 0

    def write(self, voxels: npt.NDArray[Any]) -> bool:
        """See `label_runs.RunWriter`."""
        used = label_kernels.changes(voxels, self._at, self._limit, self._changes, self._used)
        if used < 0:
            return False
        self._used = used
        self._at += voxels.size
        return True

    def expand(self, target: npt.NDArray[Any]) -> None:
        """See `label_runs.RunWriter`."""
        found = self._changes[: self._used]
        lengths = np.diff(found >> ID_BITS, append=self._at)
        target[:] = np.repeat((found & ID_MASK).astype(target.dtype), lengths)

    def changes(self) -> Integers:
        """See `label_runs.RunWriter`."""
        return self._changes[: self._used].copy()


def writer(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Writer | None:
    """A writer for a map of this shape whose axis 0 is the fastest one; None where it would not pay."""
    lengths = tuple(length for length in shape if length > 1) or (1,)
    layout = Layout(lengths, reversed=True)
    if dtype.kind not in "iu" or not dtype.isnative or len(lengths) > 3 or not lists_runs(layout):
        return None
    n_voxels = int(np.prod(lengths, dtype=object))
    limit = min(1 << ID_BITS, int(np.iinfo(dtype).max) + 1)
    # A run of foreground has one of background behind it, and only foreground counts for a scan.
    return Writer(n_voxels, limit=limit, room=2 * runs_room(layout) + 1)
