"""NIfTI-1 and NIfTI-2 single files, plain or gzip: header first, then exactly the voxels it promises.

The compression is told by the content, never by the name. Geometry: the form (sform, qform) whose code is
set decides; where both are set they must state one spacing and put every corner of the volume within
`FORM_TOLERANCE_VOXELS` of each other (the 32-bit quaternion of a large oblique volume alone can cost a tenth
of a voxel), and the sform is used. With
neither set there is a spacing (`pixdim`) and no orientation. Nothing is reoriented.
Leaves to others: comparing grids (`geometry`) and turning values into ids (`labels`).

Source: the NIfTI-1.1 header definition (`nifti1.h`) for codes, units, the quaternion and `vox_offset`.
"""

from __future__ import annotations

import gzip
import math
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from medotter_bench.errors import VolumeError
from medotter_bench.inference.failures import corrupt, decoding, imported, truncated, wrong_format
from medotter_bench.inference.geometry import (
    SPACING_TOLERANCE,
    Grid,
    checked_spacing,
    column_lengths_mm,
    corner_distance_voxels,
    grid_from_affine,
    rounded_spacing,
)
from medotter_bench.inference.limits import Limits, checked_shape, spatial_shape
from medotter_bench.inference.streams import (
    Flat,
    Listed,
    Readable,
    check_size,
    read_array,
    read_gzip_array,
    read_gzip_runs,
    read_some,
)
from medotter_bench.inference.volumes import Header, Source, Stored, byte_count
from medotter_bench.label_runs import LabelRuns, MakeRunWriter

GZIP_MAGIC = b"\x1f\x8b"
FORM_TOLERANCE_VOXELS = 0.5
# What the 32-bit quaternion may cost a corner of a large oblique volume.
QUATERNION_SLACK_VOXELS = 0.25
_DTYPES = {
    2: "u1",
    4: "i2",
    8: "i4",
    16: "f4",
    64: "f8",
    256: "i1",
    512: "u2",
    768: "u4",
    1024: "i8",
    1280: "u8",
}
_MM_PER_UNIT = {0: 1.0, 1: 1000.0, 2: 1.0, 3: 0.001}
_SIZES = {348: (1, b"n+1\x00"), 540: (2, b"n+2\x00")}


class NiftiSource(Source):
    """One open NIfTI file."""

    def __init__(self, handle: BinaryIO, size: int, limits: Limits) -> None:
        self._handle, self._size = handle, size
        self._compressed = read_some(handle, 2) == GZIP_MAGIC
        handle.seek(0)
        stream: Any = gzip.GzipFile(fileobj=handle, mode="rb") if self._compressed else handle
        fields, order, n_read = _read_header(stream)
        shape = _stored_shape(fields)
        self._dtype = _dtype(fields, order)
        self._n_before = _voxel_offset(fields, n_read, limits)
        self._slope, self._inter = float(fields["scl_slope"]), float(fields["scl_inter"])
        self.header = Header(
            grid=_grid(fields, spatial_shape(shape)),
            dtype=self._dtype.newbyteorder("=").name,
            stored_shape=shape,
            n_bytes=byte_count(shape, self._dtype),
            channels=1,
            format="nifti",
        )

    def voxels(self) -> Stored:
        """The voxels, (X, Y, Z) in Fortran order, with the header's slope and intercept."""
        self._check_size()
        n_bytes = self.header.n_bytes
        if self._compressed:
            flat = read_gzip_array(
                self._handle, 0, n_before=self._n_before, n_bytes=n_bytes, dtype=self._dtype
            )
        else:
            stream: Any = self._handle
            stream.seek(self._n_before)
            flat = read_array(stream, n_bytes, self._dtype)
        return self._stored(flat)

    def labels(self, *, rgb24: bool, runs: MakeRunWriter | None = None) -> Stored:
        """As `Source.labels`; runs of compressed integers that are not scaled."""
        listable = self._compressed and not rgb24 and self._dtype.kind in "iu" and self._dtype.isnative
        writer = None
        if runs is not None and listable and _keeps_values(self._slope, self._inter):
            writer = runs(self.header.grid.shape, self._dtype)
        if writer is None:
            return super().labels(rgb24=rgb24)
        self._check_size()
        found = read_gzip_runs(
            self._handle,
            n_before=self._n_before,
            n_bytes=self.header.n_bytes,
            dtype=self._dtype,
            writer=writer,
        )
        if isinstance(found, Listed):
            listed = LabelRuns(found.changes, self.header.grid.shape, self._dtype)
            return Stored(listed, highest=int(listed.ids.max()))
        if found is None:
            return super().labels(rgb24=rgb24)
        return self._stored(found)

    def _check_size(self) -> None:
        needed = self._n_before + self.header.n_bytes
        check_size(needed, self._size, shape=self.header.stored_shape, compressed=self._compressed)

    def _stored(self, flat: Flat) -> Stored:
        array = flat.array.reshape(self.header.grid.shape, order="F")
        return Stored(array, self._slope, self._inter, highest=flat.highest)


def _keeps_values(slope: float, inter: float) -> bool:
    """Whether this scaling is none; a slope of 0, NaN or infinity stands for that too."""
    return slope == 0 or not math.isfinite(slope) or (slope == 1 and inter == 0)


def _read_header(stream: Readable) -> tuple[Any, str, int]:
    """The raw fields by name, the byte order (`<` or `>`), and how many bytes were read."""
    with decoding("the header"):
        block = read_some(stream, 348)
        if len(block) < 4:
            raise truncated(f"the file holds {len(block)} bytes, too few for a NIfTI header")
        order = next((o for o in "<>" if int(np.frombuffer(block[:4], f"{o}i4")[0]) in _SIZES), None)
        if order is None:
            raise wrong_format("the content is not NIfTI", "write a NIfTI-1 or NIfTI-2 single file")
        size = int(np.frombuffer(block[:4], f"{order}i4")[0])
        version, magic = _SIZES[size]
        block += read_some(stream, size - len(block))
    if len(block) < size:
        raise truncated(f"the file holds {len(block)} bytes of a header of {size}")
    found = block[344:348] if version == 1 else block[4:8]
    if found != magic:
        raise wrong_format(
            f"the header's magic is {found!r}, not {magic!r} of a single NIfTI file",
            "write one .nii or .nii.gz file; Analyze files and .hdr/.img pairs are not read",
        )
    kind = "Nifti1Header" if version == 1 else "Nifti2Header"
    header_class = getattr(imported(f"nibabel.nifti{version}", "reading NIfTI files"), kind)
    with decoding("the header"):
        return header_class(binaryblock=block, endianness=order, check=False), order, size


def _stored_shape(fields: Any) -> tuple[int, ...]:
    dim = [int(value) for value in fields["dim"]]
    if not 1 <= dim[0] <= 7:
        raise _header_error(f"the header states {dim[0]} axes (dim = {dim}); 1 to 7 are possible")
    return checked_shape(dim[1 : dim[0] + 1])


def _dtype(fields: Any, order: str) -> np.dtype[Any]:
    code = int(fields["datatype"])
    if code not in _DTYPES:
        raise VolumeError(
            f"the NIfTI data type {code} (complex, colour, 128-bit or unknown) cannot be read",
            hint="write integers of up to 64 bits, or 32- or 64-bit floats",
            code="volume-datatype",
        )
    return np.dtype(order + _DTYPES[code])


def _voxel_offset(fields: Any, header_size: int, limits: Limits) -> int:
    offset = float(fields["vox_offset"])
    # Four bytes after the header say whether extensions follow.
    if not (math.isfinite(offset) and offset.is_integer() and offset >= header_size + 4):
        raise _header_error(f"the header puts the voxels at byte {offset:g}, inside or before itself")
    if offset > limits.max_header_bytes:
        raise _header_error(
            f"the header puts the voxels at byte {offset:.0f}, unreasonably far into the file"
        )
    return int(offset)


def _grid(fields: Any, shape: tuple[int, ...]) -> Grid:
    unit = int(fields["xyzt_units"]) & 7
    if unit not in _MM_PER_UNIT:
        raise VolumeError(
            f"the header states the unknown spatial unit {unit}",
            hint="state metres, millimetres or micrometres",
            code="geometry-units",
        )
    scale = _MM_PER_UNIT[unit]
    pixdim = np.array([float(value) for value in fields["pixdim"]], dtype=np.float64)
    pixdim[1 + len(shape) : 4] = 1 / scale  # axes that the file does not have
    pixdim[1:4] *= scale
    checked_spacing(pixdim[1 : 1 + len(shape)].tolist(), form="header (pixdim)", unit_mm=scale)
    sform = _sform(fields, scale) if int(fields["sform_code"]) > 0 else None
    qform = _qform(fields, pixdim, scale) if int(fields["qform_code"]) > 0 else None
    if sform is None and qform is None:
        return Grid(shape, rounded_spacing(pixdim[1 : 1 + len(shape)].tolist(), unit_mm=scale))
    grids = [
        grid_from_affine(
            shape,
            affine,
            form=form,
            unit_mm=scale,
            slack_voxels=QUATERNION_SLACK_VOXELS if form == "qform" else 0.0,
        )
        for form, affine in (("sform", sform), ("qform", qform))
        if affine is not None
    ]
    if sform is not None and qform is not None:
        _check_forms(grids[0], grids[1])
    return grids[0]


def _check_forms(by_sform: Grid, by_qform: Grid) -> None:
    if by_sform.affine_ras is None or by_qform.affine_ras is None:
        return
    apart = corner_distance_voxels(by_sform.affine_ras, by_qform.affine_ras, by_sform.shape)
    lengths = [column_lengths_mm(np.array(grid.affine_ras)) for grid in (by_sform, by_qform)]
    # An axis of length 1 has a spacing that measures nothing.
    used = [axis for axis, n in enumerate(by_sform.shape[:3]) if n > 1]
    same_spacing = all(
        abs(lengths[0][axis] - lengths[1][axis]) <= SPACING_TOLERANCE * lengths[0][axis] for axis in used
    )
    if not (apart <= FORM_TOLERANCE_VOXELS and same_spacing):
        raise VolumeError(
            "sform and qform of the header contradict each other: they put a corner of the volume "
            f"{apart:.4g} voxels apart; by the sform {by_sform}; by the qform {by_qform}",
            hint="find out which form is right and set the other one's code to 0",
            code="geometry-contradiction",
        )


def _sform(fields: Any, scale: float) -> npt.NDArray[np.float64]:
    rows = [[float(value) for value in fields[name]] for name in ("srow_x", "srow_y", "srow_z")]
    affine = np.vstack([np.array(rows, dtype=np.float64) * scale, [0.0, 0.0, 0.0, 1.0]])
    checked_spacing(column_lengths_mm(affine), form="sform", unit_mm=scale)
    return affine


def _qform(fields: Any, pixdim: npt.NDArray[np.float64], scale: float) -> npt.NDArray[np.float64]:
    """The affine of the header's quaternion; `pixdim` in mm."""
    b, c, d = (float(fields[name]) for name in ("quatern_b", "quatern_c", "quatern_d"))
    squares = b * b + c * c + d * d
    if not squares <= 1 + 1e-5:
        raise VolumeError(
            f"the qform's quaternion (b {b:.6g}, c {c:.6g}, d {d:.6g}) is longer than 1",
            hint="correct the qform and write the file again",
            code="geometry-affine",
        )
    a = math.sqrt(max(0.0, 1 - squares))
    rotation = np.array(
        [
            [a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
            [2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)],
            [2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - b * b - c * c],
        ]
    )
    handedness = -1.0 if pixdim[0] < 0 else 1.0
    affine = np.eye(4)
    affine[:3, :3] = rotation * (pixdim[1:4] * [1.0, 1.0, handedness])
    affine[:3, 3] = [float(fields[name]) * scale for name in ("qoffset_x", "qoffset_y", "qoffset_z")]
    return affine


def _header_error(what: str) -> VolumeError:
    error = corrupt(what)
    error.code = "volume-header"
    return error
