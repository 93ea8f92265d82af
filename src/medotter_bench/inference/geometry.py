"""Voxel grids: shape, spacing and orientation, and whether two of them are the same grid.

Affines map voxel indices (i, j, k) to millimetres in RAS (right, anterior, superior).
Leaves to others: reading them from files. Nothing here resamples, flips or reorders anything.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from medotter_bench.errors import VolumeError

Affine = tuple[tuple[float, ...], ...]
SPACING_DECIMALS = 6
SPACING_TOLERANCE = 1e-3
# Below this share of the volume of a box with the same edges, three axes lie in one plane.
_FLAT = 1e-6


@dataclass(frozen=True, slots=True)
class Grid:
    """Where the voxels of one file lie.

    Attributes:
        shape: Voxels per axis, in the file's axis order; trailing axes of length 1 beyond three are gone.
        spacing_mm: Distance of neighbouring voxels per axis of `shape`, mm, rounded to 1e-6; `None` for
            formats without a physical grid.
        affine_ras: 4x4, voxel index to mm in RAS; `None` where the file states no orientation.
        slack_voxels: How far a corner may be off by the way in which the file stores its orientation.
    """

    shape: tuple[int, ...]
    spacing_mm: tuple[float, ...] | None = None
    affine_ras: Affine | None = None
    slack_voxels: float = field(default=0.0, compare=False)

    def __str__(self) -> str:
        spacing = "no physical spacing" if self.spacing_mm is None else f"spacing {self.spacing_mm} mm"
        if self.affine_ras is None:
            return f"shape {self.shape}, {spacing}, no orientation"
        rows = ", ".join("[" + " ".join(f"{value:.6g}" for value in row) + "]" for row in self.affine_ras[:3])
        return f"shape {self.shape}, {spacing}, affine {rows}"


def grid_difference(expected: Grid, found: Grid, *, tolerance_voxels: float = 1e-3) -> str | None:
    """`None` where both are the same grid, else one sentence with both of them.

    Shapes are compared without trailing axes of length 1. Orientations are compared by how far the
    volume's corners lie apart, in voxels of `expected`; where one grid has no orientation, the spacings
    (relative 1e-3); where one has no physical grid at all, shapes alone.
    """
    found_out = compare_grids(expected, found, tolerance_voxels=tolerance_voxels)
    return None if found_out is None else found_out[1]


def compare_grids(
    expected: Grid, found: Grid, *, tolerance_voxels: float = 1e-3
) -> tuple[Literal["grid-shape", "grid-affine"], str] | None:
    """As `grid_difference`, with the code of the difference before the sentence."""
    both = f"expected {expected}; found {found}"
    if _bare(expected.shape) != _bare(found.shape):
        return "grid-shape", f"the shape {found.shape} is not the expected shape {expected.shape}: {both}"
    if expected.affine_ras is not None and found.affine_ras is not None:
        apart = corner_distance_voxels(expected.affine_ras, found.affine_ras, expected.shape)
        if not apart <= max(tolerance_voxels, expected.slack_voxels, found.slack_voxels):
            return "grid-affine", f"the affines put a corner of the volume {apart:.4g} voxels apart: {both}"
        return None
    if expected.spacing_mm is not None and found.spacing_mm is not None:
        # One axis of length 1 may be stated by one side only; its spacing measures nothing.
        for ours, theirs in zip(expected.spacing_mm, found.spacing_mm, strict=False):
            if not abs(ours - theirs) <= SPACING_TOLERANCE * ours:
                return "grid-affine", f"the spacings differ: {both}"
    return None


def corner_distance_voxels(expected: Affine, found: Affine, shape: Sequence[int]) -> float:
    """The largest distance, in voxels of `expected`, of a corner of the volume between two affines."""
    lengths = [*_bare(shape), 1, 1, 1][:3]
    corners = np.array([(*corner, 1.0) for corner in itertools.product(*((0, n - 1) for n in lengths))])
    ours, theirs = np.array(expected, dtype=np.float64), np.array(found, dtype=np.float64)
    apart_mm = (theirs - ours)[:3] @ corners.T
    in_voxels = np.linalg.solve(ours[:3, :3], apart_mm)
    return float(np.sqrt((in_voxels**2).sum(axis=0)).max())


def grid_from_affine(
    shape: tuple[int, ...],
    affine: npt.NDArray[np.float64],
    *,
    form: str,
    unit_mm: float = 1.0,
    slack_voxels: float = 0.0,
) -> Grid:
    """The grid of `shape` with the 4x4 `affine` (mm, RAS) that the header's `form` states in its unit.

    Raises:
        VolumeError: `geometry-spacing` for an axis of length 0 or NaN, `geometry-affine` for axes that lie
            in one plane.
    """
    spacing = column_lengths_mm(affine)
    checked_spacing(spacing, form=form, unit_mm=unit_mm)
    if not np.isfinite(affine).all():
        raise _geometry_error("geometry-affine", f"the {form} holds a value that is not finite")
    if abs(np.linalg.det(affine[:3, :3])) < _FLAT * np.prod(spacing):
        raise _geometry_error("geometry-affine", f"the axes of the {form} lie in one plane")
    rows = tuple(tuple(float(value) for value in row) for row in affine)
    return Grid(shape, rounded_spacing(spacing[: len(shape)], unit_mm=unit_mm), rows, slack_voxels)


def column_lengths_mm(affine: npt.NDArray[np.float64]) -> tuple[float, ...]:
    """The length of each of the three axes of a 4x4 affine."""
    return tuple(float(length) for length in np.sqrt((affine[:3, :3] ** 2).sum(axis=0)))


def checked_spacing(spacing: Sequence[float], *, form: str, unit_mm: float = 1.0) -> None:
    """Refuse a spacing that is no positive finite number.

    Raises:
        VolumeError: `geometry-spacing`.
    """
    for length in spacing:
        if not (np.isfinite(length) and round(float(length) / unit_mm, SPACING_DECIMALS) > 0):
            raise _geometry_error(
                "geometry-spacing",
                f"the {form} states the voxel spacing {tuple(float(value) for value in spacing)} mm, "
                "which is not positive and finite on every axis",
            )


def rounded_spacing(spacing: Sequence[float], *, unit_mm: float = 1.0) -> tuple[float, ...]:
    """Spacing to 1e-6 of the file's own unit: headers store 0.8 as the 32-bit 0.800000011920929.

    To 1e-6 mm a voxel of 0.1625 micrometres would be off by 0.3 %.
    """
    return tuple(round(float(length) / unit_mm, SPACING_DECIMALS) * unit_mm for length in spacing)


def _bare(shape: Sequence[int]) -> tuple[int, ...]:
    bare = tuple(shape)
    while bare and bare[-1] == 1:
        bare = bare[:-1]
    return bare


def _geometry_error(code: str, what: str) -> VolumeError:
    return VolumeError(what, hint="correct the header's geometry and write the file again", code=code)
