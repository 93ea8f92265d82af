"""NumPy's `.npy` and `.npz` without pickles; the header is parsed and checked before the array.

An `.npz` holds the instances under the key `instances`; other keys are not read, and are noted.
Leaves to others: what the axes mean. An array has no physical grid.
"""

from __future__ import annotations

import zipfile
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from medotter_bench.errors import VolumeError
from medotter_bench.inference.failures import corrupt, decoding, overlong, truncated, wrong_format
from medotter_bench.inference.geometry import Grid
from medotter_bench.inference.limits import checked_shape, spatial_shape
from medotter_bench.inference.streams import Readable, read_array
from medotter_bench.inference.volumes import Header, Source, Stored, byte_count

NPY_MAGIC = b"\x93NUMPY"
KEY = "instances"


class NpySource(Source):
    """One array in a stream of `size` uncompressed bytes."""

    def __init__(self, stream: Any, size: int, *, name: str = "npy") -> None:
        self._stream = stream
        shape, self._fortran, self._dtype, n_before = _read_header(stream)
        n_bytes = byte_count(shape, self._dtype)
        promise = f"the header promises {n_before + n_bytes} bytes for the shape {shape}"
        self._mismatch: VolumeError | None = None
        if size != n_before + n_bytes:
            fault = truncated if size < n_before + n_bytes else overlong
            self._mismatch = fault(f"{promise}, the array has {size}")
        self.header = Header(
            grid=Grid(spatial_shape(shape)),
            dtype=self._dtype.newbyteorder("=").name,
            stored_shape=shape,
            n_bytes=n_bytes,
            channels=1,
            format=name,
        )

    def voxels(self) -> Stored:
        """The array, axes as stored."""
        if self._mismatch is not None:
            raise self._mismatch
        flat = read_array(self._stream, self.header.n_bytes, self._dtype)
        array = flat.array.reshape(self.header.grid.shape, order="F" if self._fortran else "C")
        return Stored(array, highest=flat.highest)


class NpzSource(Source):
    """The array `instances` of an open `.npz`."""

    def __init__(self, handle: BinaryIO) -> None:
        with decoding("the npz archive"):
            self._archive = zipfile.ZipFile(handle)
            names = [member.filename for member in self._archive.infolist()]
            wanted = f"{KEY}.npy"
            if names.count(wanted) != 1:
                raise wrong_format(
                    f"the npz needs one array under the key {KEY!r}; it has the members {sorted(names)[:8]}",
                    f"write it with numpy.savez_compressed(path, {KEY}=array)",
                )
            member = self._archive.getinfo(wanted)
            if member.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
                raise wrong_format(
                    "the npz is packed with a method that NumPy does not write", "write it with NumPy"
                )
            stream = self._archive.open(member)
            magic = self._archive.open(member).read(len(NPY_MAGIC))
        if magic != NPY_MAGIC:
            raise corrupt(f"the member {wanted!r} is not a NumPy array")
        self._others = sorted({name.removesuffix(".npy") for name in names if name != wanted})
        self._inner = NpySource(stream, member.file_size, name="npz")
        self.header = self._inner.header

    def voxels(self) -> Stored:
        """The array under `instances`, axes as stored."""
        stored = self._inner.voxels()
        return replace(stored, notes={"ignored_keys": ", ".join(self._others)} if self._others else {})


def _read_header(stream: Readable) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Shape, whether in Fortran order, type, and the number of bytes before the values."""
    counted = _Counted(stream)
    with decoding("the npy header"):
        version = npy_format.read_magic(counted)
        if version == (1, 0):
            shape, fortran, dtype = npy_format.read_array_header_1_0(counted)
        elif version == (2, 0):
            shape, fortran, dtype = npy_format.read_array_header_2_0(counted)
        else:
            raise corrupt(f"the npy format version {version} is not known")
        lengths = [length for length in shape if isinstance(length, int) and not isinstance(length, bool)]
        if len(lengths) != len(shape):
            raise corrupt(f"the npy header states the shape {shape}")
    if dtype.hasobject or dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise VolumeError(
            f"the array's type {dtype} is not a plain number of up to 64 bits",
            hint="save an unsigned integer array; objects (pickles) are never loaded",
            code="volume-datatype",
        )
    return checked_shape(lengths), bool(fortran), dtype, counted.n_read


class _Counted:
    """A stream that counts what is read from it."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self.n_read = 0

    def read(self, n_bytes: int = -1, /) -> bytes:
        piece = self._stream.read(n_bytes)
        self.n_read += len(piece)
        return piece
