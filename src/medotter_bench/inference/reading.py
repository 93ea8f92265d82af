"""Reading one file: the format by its content, the header before the voxels, label maps as whole numbers.

Leaves to others: which file belongs to which case (`loader`), and what the ids mean.
Axes are never permuted: arrays of different formats are compared index by index, as their files store them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from medotter_bench.errors import VolumeError
from medotter_bench.inference import arrays, itk, nifti, raster, tiff
from medotter_bench.inference.failures import located, opened, truncated, wrong_format
from medotter_bench.inference.formats import families_of
from medotter_bench.inference.geometry import Grid, compare_grids
from medotter_bench.inference.labels import highest_of, whole_numbers
from medotter_bench.inference.limits import DEFAULT_LIMITS, Limits
from medotter_bench.inference.volumes import Header, LabelMap, Source, Stored, Volume
from medotter_bench.label_runs import LabelRuns, MakeRunWriter

_MAGICS = (
    (raster.PNG_MAGIC, "png"),
    (raster.JPEG_MAGIC, "jpeg"),
    *((magic, "tiff") for magic in tiff.TIFF_MAGICS),
    (arrays.NPY_MAGIC, "npy"),
    (b"PK\x03\x04", "npz"),
    (itk.NRRD_MAGIC, "nrrd"),
    (nifti.GZIP_MAGIC, "nifti"),
)
_NIFTI_SIZES = tuple(size.to_bytes(4, order) for size in (348, 540) for order in ("little", "big"))
_LOSSY_MAGICS = (b"\x00\x00\x00\x0cjP  ", b"\xff\x4f\xff\x51", b"GIF8")
# The largest value of a type that writers often choose too small for their ids.
_SATURATED = {"uint8": 255, "uint16": 65535}


def read_grid(path: Path | str, *, limits: Limits = DEFAULT_LIMITS) -> Header:
    """The header of the file at `path`; no voxel is read.

    Raises:
        VolumeError: The file cannot be read, or its header is wrong or over the limits.
        MissingExtraError: The format's package is not installed.
    """
    with _open(path, limits) as source:
        limits.check(source.header.stored_shape, source.header.n_bytes)
        return source.header


def read_label_map(
    path: Path | str,
    *,
    expected: Grid | None = None,
    limits: Limits = DEFAULT_LIMITS,
    rgb24: bool = False,
    runs: MakeRunWriter | None = None,
) -> LabelMap:
    """The label map at `path`, as whole numbers on its own grid.

    Args:
        path: A file of any format that `formats.SUFFIXES` names.
        expected: The grid that the file must be on; compared with the header before a voxel is read.
        limits: What the file may ask for.
        rgb24: Ids are packed into an RGB PNG as R + 256 G + 65536 B.
        runs: Where it is given, the map may hold runs in place of voxels; ids and errors are the same.

    Raises:
        VolumeError: The file cannot be read (`volume-…`), is on another grid (`grid-shape`,
            `grid-affine`), contradicts itself (`geometry-…`), or holds no label ids (`labels-…`).
        MissingExtraError: The format's package is not installed.

    Source: the format's own definition, named in each format's module.
    """
    with _open(path, limits) as source:
        header = source.header
        if header.lossy:
            raise _lossy(f"{header.format} compression as used here changes values")
        if expected is not None:
            _check_grid(expected, header.grid)
        limits.check(header.stored_shape, header.n_bytes)
        stored = source.labels(rgb24=rgb24, runs=runs)
        ids, n_rounded = _ids(stored)
    # What reading found holds for the ids only where they are the stored values themselves.
    highest = stored.highest if ids is stored.voxels else None
    grid = header.grid
    if expected is not None:
        # Equal but for axes of length 1: one number of axes for both, so that nothing broadcasts.
        ids = _with_shape(ids, expected.shape)
        grid = expected if len(expected.shape) != len(grid.shape) else grid
    return LabelMap(ids, grid, _notes(stored, n_rounded, rgb24=rgb24), highest)


def _ids(stored: Stored) -> tuple[npt.NDArray[Any] | LabelRuns, int]:
    if isinstance(stored.voxels, LabelRuns):
        return stored.voxels, 0
    return whole_numbers(stored.voxels, slope=stored.slope, inter=stored.inter, highest=stored.highest)


def read_image(path: Path | str, *, limits: Limits = DEFAULT_LIMITS) -> Volume:
    """The image at `path`, axes (X, Y, Z) for NIfTI, NRRD and MHA, (Y, X[, C]) for PNG, JPEG and TIFF.

    Values are as stored; where a NIfTI header scales them, `stored * slope + inter` in float64.

    Raises:
        VolumeError: The file cannot be read, or its header is wrong or over the limits.
        MissingExtraError: The format's package is not installed.
    """
    with _open(path, limits) as source:
        limits.check(source.header.stored_shape, source.header.n_bytes)
        stored = source.image()
        return Volume(_scaled(stored), source.header.grid)


def _check_grid(expected: Grid, found: Grid) -> None:
    difference = compare_grids(expected, found)
    if difference is not None:
        raise VolumeError(
            difference[1],
            hint="predict on the input's own grid; nothing is resampled or reoriented here",
            code=difference[0],
        )


@contextmanager
def _open(path: Path | str, limits: Limits) -> Iterator[Source]:
    path_given, path = path, Path(path)
    with located(path_given), opened(path) as (handle, size):
        kind = _kind(handle, path.name)
        handle.seek(0)
        yield _source(kind, handle, path, size, limits)


def _source(kind: str, handle: BinaryIO, path: Path, size: int, limits: Limits) -> Source:
    match kind:
        case "nifti":
            return nifti.NiftiSource(handle, size, limits)
        case "png":
            return raster.PngSource(handle)
        case "jpeg":
            return raster.JpegSource(handle)
        case "tiff":
            return tiff.TiffSource(handle, size)
        case "npy":
            return arrays.NpySource(handle, size)
        case "npz":
            return arrays.NpzSource(handle)
        case _:
            return itk.ItkSource(handle, path, size, limits, nrrd=kind == "nrrd")


def _kind(handle: BinaryIO, name: str) -> str:
    """The format by content; the suffix may only agree."""
    start = handle.read(64)
    if not start:
        raise truncated("the file is empty")
    kind = next((kind for magic, kind in _MAGICS if start.startswith(magic)), "")
    if not kind and start[:4] in _NIFTI_SIZES:
        kind = "nifti"
    if not kind and (start.startswith(_LOSSY_MAGICS) or start[8:12] == b"WEBP"):
        raise _lossy("the file is an image of a format that may change values")
    if not kind and start.lstrip().startswith((b"ObjectType", b"NDims", b"Comment")):
        kind = "mha"
    allowed = families_of(name)
    if not kind:
        promised = f", though its name promises {allowed[0]}" if allowed else ""
        raise wrong_format(
            f"the content is no format that is read here{promised}",
            "give NIfTI, NRRD, MHA, PNG, TIFF, npy or npz",
        )
    if allowed and kind not in allowed:
        raise wrong_format(f"the name promises {allowed[0]}, the content is {kind}", "rename or convert it")
    return kind


def _with_shape(array: npt.NDArray[Any] | LabelRuns, shape: tuple[int, ...]) -> npt.NDArray[Any] | LabelRuns:
    """`array` with axes of length 1 added or dropped at its end; its layout stays."""
    if isinstance(array, LabelRuns):
        return array.reshape(shape)
    while array.ndim > len(shape):
        array = array[..., 0]
    return array.reshape(*array.shape, *[1] * (len(shape) - array.ndim))


def _scaled(stored: Stored) -> npt.NDArray[Any]:
    slope, inter = stored.slope, stored.inter
    if slope == 0 or not np.isfinite(slope) or (slope == 1 and inter == 0):
        return stored.array
    if not np.isfinite(inter):
        raise VolumeError(
            f"the header states the slope {slope} with the intercept {inter}",
            hint="correct the header",
            code="volume-header",
        )
    return stored.array.astype(np.float64) * slope + inter


def _notes(stored: Stored, n_rounded: int, *, rgb24: bool) -> dict[str, int | str]:
    notes = dict(stored.notes)
    if n_rounded:
        notes["rounded_voxels"] = n_rounded
    limit = _SATURATED.get(stored.voxels.dtype.name)
    if limit is not None and not rgb24:
        highest = highest_of(stored.array) if stored.highest is None else stored.highest
        if highest == limit:
            notes["saturated_at"] = limit
    return notes


def _lossy(what: str) -> VolumeError:
    return VolumeError(
        f"{what}, so it cannot hold label ids",
        hint="write the mask without loss: PNG, TIFF (deflate), NIfTI or npy",
        code="volume-lossy",
    )
