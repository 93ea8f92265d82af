"""TIFF masks and images: one 2D page or one 3D stack, with every strip checked to be there.

Only this one file is read: formats that name further files (OME, MicroManager) are taken as plain pages.
Leaves to others: turning values into ids (`labels`). Pixels have no physical grid here.

Source: the TIFF 6.0 specification, and its registered compression codes.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from medotter_bench.errors import VolumeError
from medotter_bench.inference.failures import corrupt, decoding, imported, truncated
from medotter_bench.inference.geometry import Grid
from medotter_bench.inference.limits import checked_shape, spatial_shape
from medotter_bench.inference.volumes import Header, Source, Stored, byte_count

TIFF_MAGICS = (b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+")
# None, CCITT, LZW, deflate (two codes), PackBits, LZMA, Zstandard (two codes).
_LOSSLESS = frozenset({1, 2, 3, 4, 5, 8, 32773, 32946, 34925, 34926, 50000})


class TiffSource(Source):
    """One open TIFF file."""

    def __init__(self, handle: BinaryIO, size: int) -> None:
        self._size = size
        tifffile = imported("tifffile", "reading TIFF files")
        self._errors = (tifffile.TiffFileError, AssertionError)
        with _listening("the TIFF header", self._errors):
            self._file = tifffile.TiffFile(handle, is_ome=False, is_mmstack=False, is_ndtiff=False)
            series = self._file.series
            n_series = len(series)
        if n_series != 1:
            raise VolumeError(
                f"the TIFF holds {n_series} separate images",
                hint="write one 2D image or one 3D stack of equal pages per file",
                code="volume-frames",
            )
        with _listening("the TIFF header", self._errors):
            self._series = series[0]
            self._pages = [page for page in self._series.pages if page is not None]
            stored = tuple(int(length) for length in self._series.shape)
            axes, dtype = str(self._series.axes), np.dtype(self._series.dtype)
            self._key = self._series.keyframe
            lossy = int(self._key.compression) not in _LOSSLESS
        self.header = _header(stored, axes, dtype, lossy=lossy)

    def voxels(self) -> Stored:
        """The samples as stored: (Y, X), (Z, Y, X) or (Y, X, C)."""
        with _listening("the TIFF's pixels", self._errors):
            offset = self._series.dataoffset
            if offset is not None:
                if offset + self.header.n_bytes > self._size:
                    raise truncated(
                        f"the TIFF promises {self.header.n_bytes} bytes of pixels at byte {offset}, "
                        f"the file has {self._size}"
                    )
                array = np.asarray(self._series.asarray())
            else:
                array = self._by_page()
        if array.size * array.dtype.itemsize != self.header.n_bytes:
            raise corrupt(f"the TIFF decodes to {array.shape}, its header says {self.header.stored_shape}")
        shape = self.header.stored_shape if self.header.channels > 1 else self.header.grid.shape
        return Stored(array.reshape(shape))

    def _by_page(self) -> npt.NDArray[Any]:
        # Every page is checked before the array is asked for: pages are claims, strips are evidence.
        for page in self._pages:
            _check_strips(page, self._size)
        page_bytes = byte_count(tuple(self._key.shape), np.dtype(self._key.dtype))
        if page_bytes * len(self._pages) != self.header.n_bytes:
            raise corrupt(
                f"the TIFF states the shape {self.header.stored_shape} and has {len(self._pages)} pages"
            )
        array = np.empty((len(self._pages), *self._key.shaped), dtype=self._key.dtype)
        for target, page in zip(array, self._pages, strict=True):
            target[...] = page.asarray(squeeze=False)
        return array


@contextmanager
def _listening(what: str, errors: tuple[type[Exception], ...]) -> Iterator[None]:
    """As `decoding`, and an error that the decoder only logs is one too: it went on without a tag."""
    log, own_thread, heard = logging.getLogger("tifffile"), threading.get_ident(), list[str]()

    def hear(record: logging.LogRecord) -> bool:
        if record.thread != own_thread:
            return True
        if record.levelno >= logging.ERROR:
            heard.append(record.getMessage())
        return False

    log.addFilter(hear)
    try:
        with decoding(what, also=errors):
            yield
    finally:
        log.removeFilter(hear)
    if heard:
        raise corrupt(f"{what} is damaged: {heard[0][:200]}")


def _header(stored: tuple[int, ...], axes: str, dtype: np.dtype[Any], *, lossy: bool) -> Header:
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise VolumeError(
            f"the TIFF's samples are of the type {dtype}",
            hint="write integers of up to 64 bits, or 32- or 64-bit floats",
            code="volume-datatype",
        )
    channels = 1
    shape = checked_shape(stored)
    if "S" in axes:
        if axes != "YXS":
            raise VolumeError(
                f"the TIFF has the axes {axes}, shape {stored}; colours are read as (Y, X, samples) only",
                hint="write interleaved samples, or one channel",
                code="volume-axes",
            )
        channels, spatial = shape[2], shape[:2]
    else:
        spatial = spatial_shape(shape)
    return Header(
        grid=Grid(spatial),
        dtype=dtype.newbyteorder("=").name,
        stored_shape=shape,
        n_bytes=byte_count(shape, dtype),
        channels=channels,
        format="tiff",
        lossy=lossy,
    )


def _check_strips(page: Any, size: int) -> None:
    """Every strip or tile must be there and lie within the file: missing ones would be read as 0."""
    offsets, counts = page.dataoffsets, page.databytecounts
    n_expected = int(np.prod(page.chunked))
    if len(offsets) != n_expected or len(counts) != n_expected:
        raise corrupt(f"the TIFF lists {len(offsets)} strips where its shape needs {n_expected}")
    for offset, count in zip(offsets, counts, strict=True):
        if offset <= 0 or count <= 0:
            raise corrupt("the TIFF lacks the data of a strip")
        if offset + count > size:
            raise truncated(f"the TIFF promises a strip up to byte {offset + count}, the file has {size}")
