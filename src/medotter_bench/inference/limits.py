"""How large a volume may be, decided from its header in Python integers, before anything is allocated.

Leaves to others: reading headers (the format modules) and comparing grids (`geometry`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from medotter_bench.errors import VolumeError

MAX_AXES = 7
# Deflate cannot expand by more than 1032:1; anything beyond is a header that promises too much.
MAX_DEFLATE_RATIO = 1032


@dataclass(frozen=True, slots=True)
class Limits:
    """What one file may ask for: voxels, bytes of voxels, and bytes before the first voxel."""

    max_voxels: int = 2**32
    max_bytes: int = 2**35
    max_header_bytes: int = 2**26

    def check(self, shape: Sequence[int], n_bytes: int) -> None:
        """Refuse a volume of stored `shape` and `n_bytes` of voxels that is over a limit.

        Raises:
            VolumeError: `volume-too-large`, with the shape.
        """
        n_voxels = math.prod(shape)
        if n_voxels > self.max_voxels or n_bytes > self.max_bytes:
            raise VolumeError(
                f"the header states the shape {tuple(shape)}, {n_voxels} voxels in {n_bytes} bytes, "
                f"over the limit of {self.max_voxels} voxels or {self.max_bytes} bytes",
                hint="check that the file is what it should be; a larger limit can be passed as `limits`",
                code="volume-too-large",
            )


DEFAULT_LIMITS = Limits()


def checked_shape(dimensions: Sequence[int]) -> tuple[int, ...]:
    """The dimensions as Python integers, each at least 1, on 2 to 7 axes.

    Raises:
        VolumeError: `volume-header` for a length below 1, `volume-axes` for too few or too many axes.
    """
    shape = tuple(int(length) for length in dimensions)
    if not 2 <= len(shape) <= MAX_AXES:
        raise VolumeError(
            f"the header states {len(shape)} axes, shape {shape}; 2 to {MAX_AXES} are possible",
            hint="write a 2D or 3D array",
            code="volume-axes",
        )
    if min(shape) < 1:
        raise VolumeError(
            f"the header states the shape {shape}; every axis needs at least one voxel",
            hint="the file is damaged or was written by a faulty tool; write it again",
            code="volume-header",
        )
    return shape


def spatial_shape(stored_shape: Sequence[int]) -> tuple[int, ...]:
    """`stored_shape` without trailing axes of length 1 beyond the third.

    Raises:
        VolumeError: `volume-axes` if more than three axes are left.
    """
    shape = tuple(stored_shape)
    while len(shape) > 3 and shape[-1] == 1:
        shape = shape[:-1]
    if len(shape) > 3:
        raise VolumeError(
            f"the volume has the shape {tuple(stored_shape)}; only axes of length 1 may follow the third",
            hint="store one 3D volume per file",
            code="volume-axes",
        )
    return shape
