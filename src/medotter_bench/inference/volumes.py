"""What reading gives: headers, label maps, images, and the contract of a format's reader.

Leaves to others: reading (the format modules) and choosing a reader (`reading`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from medotter_bench.errors import VolumeError
from medotter_bench.inference.geometry import Affine, Grid
from medotter_bench.label_runs import LabelRuns, MakeRunWriter


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says about itself before its first voxel.

    Attributes:
        grid: Spatial axes only.
        dtype: NumPy's name of the stored type, in native byte order.
        stored_shape: All axes as stored.
        n_bytes: Bytes of all voxels, uncompressed.
        channels: 1, or the number of colour samples per pixel, a transparency channel included.
        format: `nifti`, `png`, `jpeg`, `tiff`, `npy`, `npz`, `nrrd` or `mha`.
        lossy: The compression may change values, so it cannot hold label ids.
    """

    grid: Grid
    dtype: str
    stored_shape: tuple[int, ...]
    n_bytes: int
    channels: int
    format: str
    lossy: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """Voxels as stored, in native byte order, with the scaling that the header states.

    Attributes:
        voxels: All of them, or their runs.
        highest: The largest stored value, where reading found it and found that none is negative.
    """

    voxels: npt.NDArray[Any] | LabelRuns
    slope: float = 1.0
    inter: float = 0.0
    notes: Mapping[str, int | str] = field(default_factory=dict)
    highest: int | None = None

    @property
    def array(self) -> npt.NDArray[Any]:
        """All voxels."""
        return self.voxels.array() if isinstance(self.voxels, LabelRuns) else self.voxels


class Source(ABC):
    """One open file: its header is read, its voxels are not."""

    header: Header

    @abstractmethod
    def voxels(self) -> Stored:
        """All voxels, checked against the header.

        Raises:
            VolumeError: They are not what the header promises.
        """

    def labels(self, *, rgb24: bool, runs: MakeRunWriter | None = None) -> Stored:
        """The voxels as one channel of label values.

        Args:
            rgb24: Ids are packed into red, green and blue.
            runs: Where it is given, a format may give runs in place of voxels.

        Raises:
            VolumeError: The file holds colours, or `rgb24` ids are asked of a format without them.
        """
        if rgb24:
            raise VolumeError(
                f"ids packed into red, green and blue are read from PNG only, not from {self.header.format}",
                hint="write an 8-bit RGB PNG",
                code="volume-format",
            )
        if self.header.channels != 1:
            raise VolumeError(
                f"a label map needs one value per voxel; the file holds {self.header.channels}, "
                f"stored shape {self.header.stored_shape}",
                hint="write a single-channel label map",
                code="volume-channels",
            )
        return self.voxels()

    def image(self) -> Stored:
        """The voxels as a model should see them."""
        return self.voxels()


@dataclass(frozen=True, slots=True, eq=False)
class LabelMap:
    """A map of whole-number ids, exactly as stored.

    Attributes:
        voxels: `array`, or its runs where reading was asked for them.
        grid: Its grid. Where a grid was expected, `array` and `grid` have that grid's number of axes.
        notes: What a reader of results should know: `rounded_voxels`, `saturated_at`, ….
        highest: The largest id, where reading found it and found that none is negative.
    """

    voxels: npt.NDArray[Any] | LabelRuns
    grid: Grid
    notes: Mapping[str, int | str] = MappingProxyType({})
    highest: int | None = None
    _made: list[npt.NDArray[Any]] = field(default_factory=list, init=False, repr=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes of `array`."""
        return self.voxels.shape

    @property
    def array(self) -> npt.NDArray[Any]:
        """Integers, spatial axes only, in the file's axis order; made of the runs when first asked for.

        (X, Y, Z) for NIfTI, NRRD and MHA, (Y, X) for PNG and single-page TIFF, (Z, Y, X) for TIFF stacks, as
        stored for npy and npz.
        """
        if not isinstance(self.voxels, LabelRuns):
            return self.voxels
        if not self._made:
            self._made.append(self.voxels.array())
        return self._made[0]


@dataclass(frozen=True, slots=True, eq=False)
class Volume:
    """One input of a model.

    Attributes:
        array: (X, Y, Z), (Y, X) or (Y, X, 3); with named channels (C, X, Y, Z), in the manifest's order.
        grid: The grid of the spatial axes.
        channels: Names of the channels, in order; empty for a single image.
    """

    array: npt.NDArray[Any]
    grid: Grid
    channels: tuple[str, ...] = ()

    @property
    def spacing_mm(self) -> tuple[float, ...] | None:
        """Distance of neighbouring voxels per spatial axis, mm; `None` without a physical grid."""
        return self.grid.spacing_mm

    @property
    def affine_ras(self) -> Affine | None:
        """4x4, voxel index to mm in RAS; `None` where the file states no orientation."""
        return self.grid.affine_ras


def byte_count(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """Bytes of an array, in Python's integers: NumPy's products wrap."""
    total = dtype.itemsize
    for length in shape:
        total *= length
    return total
