"""NRRD and MHA: the header's geometry and type through SimpleITK (extra `nrrd`), the voxels read here.

The decoder would fill up voxel data that is too short, ignore what follows, open other files, and misread a
compressed MetaImage whose size field is missing; so the bytes are read here and must be exactly the promised
ones. Refused: voxels in another file, several values per voxel, encodings other than raw, gzip and zlib.
Leaves to others: comparing grids (`geometry`) and turning values into ids (`labels`).

Source: the NRRD format definition (teem) and the MetaIO documentation for the header fields.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np

from medotter_bench.errors import VolumeError
from medotter_bench.inference.failures import decoding, imported, truncated, wrong_format
from medotter_bench.inference.geometry import Grid, checked_spacing, grid_from_affine, rounded_spacing
from medotter_bench.inference.limits import Limits, checked_shape, spatial_shape
from medotter_bench.inference.streams import check_size, read_array, read_gzip_array
from medotter_bench.inference.volumes import Header, Source, Stored, byte_count

NRRD_MAGIC = b"NRRD000"
_MAX_LINE = 1 << 16
# The spaces that ITK turns into its own; in any other one the directions mean nothing to it.
_SPACES = frozenset(
    {
        "left-posterior-superior",
        "lps",
        "right-anterior-superior",
        "ras",
        "left-anterior-superior",
        "las",
    }
)
_LPS_TO_RAS = np.diag([-1.0, -1.0, 1.0, 1.0])
_DTYPES = (
    *(f"{sign}Int{bits}" for sign in ("U", "") for bits in (8, 16, 32, 64)),
    "Float32",
    "Float64",
)


class ItkSource(Source):
    """One open NRRD or MHA file."""

    def __init__(self, handle: BinaryIO, path: Path, size: int, limits: Limits, *, nrrd: bool) -> None:
        self._handle, self._size = handle, size
        kind = "nrrd" if nrrd else "mha"
        sitk = imported("SimpleITK", f"reading {kind.upper()} files", extra="nrrd")
        sitk.ProcessObject.SetGlobalWarningDisplay(False)
        handle.seek(0)
        with decoding("the header"):
            fields = (_read_nrrd_fields if nrrd else _read_mha_fields)(handle, limits.max_header_bytes)
        self._offset = handle.tell()
        self._encoding = _nrrd_encoding(fields) if nrrd else _mha_encoding(fields)
        stored = checked_shape([_whole(n) for n in fields["sizes" if nrrd else "dimsize"].split()])
        with decoding("the header"):
            reader = sitk.ImageFileReader()
            reader.SetImageIO("NrrdImageIO" if nrrd else "MetaImageIO")
            reader.SetFileName(str(path))
            reader.ReadImageInformation()
        dtype = _dtype(sitk, reader, stored)
        self._dtype = dtype.newbyteorder(_byte_order(fields, dtype.itemsize, nrrd=nrrd))
        self.header = Header(
            grid=_grid(reader, fields, spatial_shape(stored)),
            dtype=dtype.name,
            stored_shape=stored,
            n_bytes=byte_count(stored, dtype),
            channels=1,
            format=kind,
        )

    def voxels(self) -> Stored:
        """The voxels, (X, Y, Z)."""
        compressed = self._encoding != "raw"
        available = self._size - self._offset
        check_size(self.header.n_bytes, available, shape=self.header.stored_shape, compressed=compressed)
        n_bytes = self.header.n_bytes
        if self._encoding == "gzip":
            flat = read_gzip_array(self._handle, self._offset, n_before=0, n_bytes=n_bytes, dtype=self._dtype)
        else:
            self._handle.seek(self._offset)
            stream: Any = _Inflated(self._handle) if compressed else self._handle
            flat = read_array(stream, n_bytes, self._dtype)
        return Stored(flat.array.reshape(self.header.grid.shape, order="F"), highest=flat.highest)


def _dtype(sitk: Any, reader: Any, stored: tuple[int, ...]) -> np.dtype[Any]:
    """The type of one voxel, where the decoder too sees one scalar per voxel of the `stored` shape."""
    n_components = reader.GetNumberOfComponents()
    if n_components != 1 or tuple(int(length) for length in reader.GetSize()) != stored:
        raise VolumeError(
            f"the file holds {n_components} values per voxel, shape {stored}; one is expected",
            hint="write one scalar label map per file",
            code="volume-axes",
        )
    names = {getattr(sitk, f"sitk{name}"): name.lower() for name in _DTYPES}
    pixel = reader.GetPixelID()
    if pixel not in names:
        raise VolumeError(
            f"the voxels are of the type {sitk.GetPixelIDValueAsString(pixel)!r}",
            hint="write integers of up to 64 bits, or 32- or 64-bit floats",
            code="volume-datatype",
        )
    return np.dtype(names[pixel])


class _Inflated(io.RawIOBase):
    """The zlib stream that the rest of `handle` holds."""

    def __init__(self, handle: BinaryIO) -> None:
        self._handle = handle
        self._inflate = zlib.decompressobj()

    def readinto(self, buffer: Any, /) -> int:
        """Fill `buffer` with what comes next; 0 at the stream's own end."""
        while not self._inflate.eof:
            source = self._inflate.unconsumed_tail or self._handle.read(1 << 16)
            piece = self._inflate.decompress(source, len(buffer))
            if piece:
                buffer[: len(piece)] = piece
                return len(piece)
            if not source:
                raise EOFError("compressed data ends too early")
        if self._inflate.unused_data or self._handle.read(1):
            raise zlib.error("other bytes follow the compressed ones")
        return 0


def _lines(handle: BinaryIO, limit: int) -> Any:
    while handle.tell() < limit and (line := handle.readline(_MAX_LINE)):
        yield line.decode("utf-8", errors="replace").strip()
    raise truncated("the file ends within its header")


def _read_nrrd_fields(handle: BinaryIO, limit: int) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in _lines(handle, limit):
        if not line:
            break
        name, colon, value = line.partition(":")
        if colon and not line.startswith("#") and not value.startswith("="):
            fields[name.strip().lower()] = value.strip()
    return _required(fields, ("sizes", "encoding", "type"))


def _read_mha_fields(handle: BinaryIO, limit: int) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in _lines(handle, limit):
        name, _, value = line.partition("=")
        fields[name.strip().lower()] = value.strip()
        if name.strip().lower() == "elementdatafile":
            break
    return _required(fields, ("dimsize", "elementtype", "elementdatafile"))


def _required(fields: dict[str, str], names: tuple[str, ...]) -> dict[str, str]:
    absent = [name for name in names if name not in fields]
    if absent:
        raise _header_error(f"the header lacks the fields {absent}")
    return fields


def _nrrd_encoding(fields: Mapping[str, str]) -> str:
    if "data file" in fields or "datafile" in fields:
        raise wrong_format("the NRRD keeps its voxels in another file", "write one attached .nrrd file")
    for name in ("line skip", "lineskip", "byte skip", "byteskip"):
        if _whole(fields.get(name, "0")) != 0:
            raise wrong_format(f"the NRRD states a {name}", "write the voxels right after the header")
    for unit in fields.get("space units", "").replace('"', " ").split():
        if unit.lower() != "mm":
            raise VolumeError(
                f"the NRRD states the space unit {unit!r}", hint="write spacings in mm", code="geometry-units"
            )
    encoding = fields["encoding"].lower()
    if encoding not in {"raw", "gzip", "gz"}:
        raise wrong_format(f"the NRRD has the encoding {encoding!r}", "write it with encoding raw or gzip")
    return "raw" if encoding == "raw" else "gzip"


def _mha_encoding(fields: Mapping[str, str]) -> str:
    if fields["elementdatafile"].upper() != "LOCAL":
        raise wrong_format("the MetaImage keeps its voxels in another file", "write one .mha file")
    if "headersize" in fields:
        raise wrong_format("the MetaImage states a HeaderSize", "write the voxels right after the header")
    if not _flag(fields, "binarydata", default="True"):
        raise wrong_format("the MetaImage holds its voxels as text", "write binary data")
    return "zlib" if _flag(fields, "compresseddata") else "raw"


def _byte_order(fields: Mapping[str, str], itemsize: int, *, nrrd: bool) -> Literal["<", ">"]:
    if not nrrd:
        names = ("binarydatabyteordermsb", "elementbyteordermsb")
        return ">" if any(_flag(fields, name) for name in names) else "<"
    stated = fields.get("endian", "" if itemsize > 1 else "little").lower()
    if stated not in {"little", "big"}:
        raise _header_error(f"the NRRD states the byte order {stated!r}; little or big is needed")
    return "<" if stated == "little" else ">"


def _flag(fields: Mapping[str, str], name: str, *, default: str = "False") -> bool:
    stated = fields.get(name, default)
    if stated.lower() not in {"true", "false"}:
        raise _header_error(f"the header states {stated!r} for {name}, which is neither True nor False")
    return stated.lower() == "true"


def _grid(reader: Any, fields: Mapping[str, str], shape: tuple[int, ...]) -> Grid:
    """The grid in RAS; ITK speaks LPS. What the file does not state is not made up."""
    n_axes = min(3, len(reader.GetSize()))
    spacing = [float(length) for length in reader.GetSpacing()][:n_axes]
    stated = [fields.get(name, "") for name in ("spacings", "elementspacing", "elementsize")]
    for text in stated:
        checked_spacing([_number(value) for value in text.split()][:n_axes], form="header")
    oriented = fields.get("space", "").lower() in _SPACES or any(
        name in fields for name in ("transformmatrix", "rotation", "orientation")
    )
    if not oriented:
        has_spacing = any(stated) or "space directions" in fields
        return Grid(shape, rounded_spacing(spacing[: len(shape)]) if has_spacing else None)
    n_all = len(reader.GetSize())
    direction = np.array(reader.GetDirection(), dtype=np.float64).reshape(n_all, n_all)
    affine = np.eye(4)
    affine[:n_axes, :n_axes] = direction[:n_axes, :n_axes] * spacing
    affine[:n_axes, 3] = reader.GetOrigin()[:n_axes]
    return grid_from_affine(shape, _LPS_TO_RAS @ affine, form="header")


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise _header_error(f"the header states {text!r} where a whole number must be") from error


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise _header_error(f"the header states {text!r} where a number must be") from error


def _header_error(what: str) -> VolumeError:
    return VolumeError(what, hint="write the file again with a current tool", code="volume-header")
