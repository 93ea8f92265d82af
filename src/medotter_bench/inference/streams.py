"""Reading an exact number of bytes from a plain or compressed stream, in bounded pieces, into one array.

Leaves to others: how many bytes there must be (the headers), and what they mean.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

import numpy as np
import numpy.typing as npt

from medotter_bench.inference.failures import decoding, overlong, truncated
from medotter_bench.inference.gunzip import Decoder, fast_decoder
from medotter_bench.inference.limits import MAX_DEFLATE_RATIO

_PIECE = 1 << 20  # fits into a processor's cache; a multiple of every type's size


class Readable(Protocol):
    """What is asked of a stream: up to so many bytes, and none at its end."""

    def read(self, size: int = -1, /) -> bytes:
        """Up to `size` bytes."""


class ReadableInto(Readable, Protocol):
    """A stream that can fill memory that is already there."""

    def readinto(self, buffer: Any, /) -> int:
        """Fill `buffer`; the number of bytes written, 0 at the end."""


def read_some(stream: Readable, n_bytes: int) -> bytes:
    """Up to `n_bytes` from `stream`; fewer only at its end."""
    pieces = []
    while n_bytes > 0 and (piece := stream.read(min(n_bytes, _PIECE))):
        pieces.append(piece)
        n_bytes -= len(piece)
    return b"".join(pieces)


def skip(stream: Readable, n_bytes: int) -> int:
    """Read past `n_bytes` of `stream`; returns how many there were."""
    left = n_bytes
    while left > 0 and (piece := stream.read(min(left, _PIECE))):
        left -= len(piece)
    return n_bytes - left


def check_size(needed: int, available: int, *, shape: tuple[int, ...], compressed: bool) -> None:
    """Refuse by size alone where that is certain, before memory for the voxels is asked for.

    Args:
        needed: Uncompressed bytes that the header promises.
        available: Bytes that the file has for them.
        shape: As stored, for the message.
        compressed: Deflate was used.

    Raises:
        VolumeError: `volume-truncated` or `volume-overlong`.
    """
    promise = f"the header promises {needed} bytes for the shape {shape}"
    if compressed:
        if needed > (available + 1) * MAX_DEFLATE_RATIO:
            raise truncated(f"{promise}, more than {available} compressed bytes can hold")
    elif available < needed:
        raise truncated(f"{promise}, the file has {available}")
    elif available > needed:
        raise overlong(f"{promise}, the file has {available}")


@dataclass(frozen=True, slots=True)
class Flat:
    """Voxels in the order of the file.

    Attributes:
        array: One axis, native byte order.
        highest: The largest value, where reading found it and found that none is negative; else `None`.
    """

    array: npt.NDArray[Any]
    highest: int | None


def read_array(stream: ReadableInto, n_bytes: int, dtype: np.dtype[Any]) -> Flat:
    """Exactly `n_bytes` of `stream` as a flat array in native byte order, and nothing after them.

    The stream is read to its end, so that a compressed one has its checksum verified.

    Raises:
        VolumeError: `volume-truncated`, `volume-overlong`, `volume-corrupt`, `volume-too-large`.
    """
    with decoding("the voxel data"):
        buffer = np.empty(n_bytes, dtype=np.uint8)
        n_read, highest = _fill(stream, buffer, dtype)
        if n_read < n_bytes:
            raise truncated(f"the header promises {n_bytes} bytes of voxels, the file holds {n_read}")
        if stream.read(1):
            raise overlong(f"the header promises {n_bytes} bytes of voxels, the file holds more")
    return _flat(buffer, dtype, highest)


def read_gzip_array(
    handle: BinaryIO, start: int, *, n_before: int, n_bytes: int, dtype: np.dtype[Any]
) -> Flat:
    """As `read_array`, for the gzip stream at byte `start` of `handle`, past its first `n_before` bytes.

    Raises:
        VolumeError: As `read_array`; `volume-truncated` too where there are fewer than `n_before` bytes.

    Source: RFC 1952 for members; zeros after the last one are padding.
    """
    decoder = fast_decoder()
    flat = None if decoder is None else _whole(decoder, handle, start, n_before, n_bytes, dtype)
    if flat is not None:
        return flat
    handle.seek(start)
    stream: Any = gzip.GzipFile(fileobj=handle, mode="rb")
    with decoding("the part before the voxels"):
        if skip(stream, n_before) < n_before:
            raise truncated(f"the header puts the voxels at byte {n_before}, past the file's end")
    return read_array(stream, n_bytes, dtype)


def _whole(
    decoder: Decoder, handle: BinaryIO, start: int, n_before: int, n_bytes: int, dtype: np.dtype[Any]
) -> Flat | None:
    """The voxels, if `decoder` finds the stream right in every way; else `None`, and nobody asks it why."""
    try:
        handle.seek(start)
        stream = decoder.stream(handle)
        buffer = np.empty(n_bytes, dtype=np.uint8)
        if skip(stream, n_before) < n_before:
            return None
        n_read, highest = _fill(stream, buffer, dtype)
        if n_read < n_bytes or stream.read(1):
            return None
    except decoder.errors:
        return None
    return _flat(buffer, dtype, highest)


def _fill(stream: ReadableInto, buffer: npt.NDArray[np.uint8], dtype: np.dtype[Any]) -> tuple[int, int]:
    """Fill `buffer` from `stream`: how many bytes there were, and the largest value taken as unsigned.

    Each piece is looked at while it is still in the processor's cache, which spares a pass over the array.
    """
    bits = buffer.view(f"u{dtype.itemsize}") if _is_surveyed(dtype) else None
    view = memoryview(buffer)
    n_read = highest = 0
    while n_read < buffer.size:
        first, end = n_read, min(n_read + _PIECE, buffer.size)
        while n_read < end and (n_new := stream.readinto(view[n_read:end])):
            n_read += n_new
        if n_read < end:
            break
        if bits is not None:
            highest = max(highest, int(bits[first // dtype.itemsize : end // dtype.itemsize].max()))
    return n_read, highest


def _is_surveyed(dtype: np.dtype[Any]) -> bool:
    # Unsigned types of 32 and 64 bits hold nothing that has to be looked for.
    return dtype.isnative and (dtype.kind == "i" or (dtype.kind == "u" and dtype.itemsize <= 2))


def _flat(buffer: npt.NDArray[np.uint8], dtype: np.dtype[Any], highest: int) -> Flat:
    array: npt.NDArray[Any] = buffer.view(dtype)
    if not dtype.isnative:
        array = array.byteswap(inplace=True).view(dtype.newbyteorder("="))
    # With its bits taken as unsigned, a negative value is larger than any value of its type.
    is_known = _is_surveyed(dtype) and highest <= np.iinfo(dtype).max
    return Flat(array, highest if is_known else None)
