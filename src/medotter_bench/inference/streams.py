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
from medotter_bench.label_runs import Integers, RunWriter

_PIECE = 1 << 20  # fits into a processor's cache; a multiple of every type's size
_LISTED_PIECE = 1 << 18  # fits into the cache of one core, beside what decompressing needs


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


@dataclass(frozen=True, slots=True)
class Listed:
    """Voxels in the order of the file, as `label_runs.LabelRuns` has them."""

    changes: Integers


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


def read_gzip_runs(
    handle: BinaryIO, *, n_before: int, n_bytes: int, dtype: np.dtype[Any], writer: RunWriter
) -> Listed | Flat | None:
    """As `read_gzip_array` from byte 0, but never with all voxels in memory, as long as `writer` takes them.

    Args:
        handle: A whole file.
        n_before: Bytes of content before the voxels.
        n_bytes: Of the voxels.
        dtype: Native integers.
        writer: New, and for this map; used up afterwards.

    Returns:
        The changes; the voxels where `writer` gave up on the way; None where no fast decoder finds the
        stream right in every way, and `read_gzip_array` has to tell.
    """
    decoder = fast_decoder()
    if decoder is None:
        return None
    try:
        handle.seek(0)
        stream = decoder.stream(handle)
        if skip(stream, n_before) < n_before:
            return None
        found = _listed(stream, n_bytes, dtype, writer)
        return None if found is None or stream.read(1) else found
    except decoder.errors:
        return None


def _listed(
    stream: ReadableInto, n_bytes: int, dtype: np.dtype[Any], writer: RunWriter
) -> Listed | Flat | None:
    piece = np.empty(min(_LISTED_PIECE, n_bytes), dtype=np.uint8)
    bits, view = piece.view(f"u{dtype.itemsize}"), memoryview(piece)
    done = 0
    while done < n_bytes:
        size = min(piece.size, n_bytes - done)
        if _filled(stream, view[:size]) < size:
            return None
        if not writer.write(bits[: size // dtype.itemsize]):
            return _rest(stream, n_bytes, dtype, writer, done, piece[:size])
        done += size
    return Listed(writer.changes())


def _rest(
    stream: ReadableInto,
    n_bytes: int,
    dtype: np.dtype[Any],
    writer: RunWriter,
    done: int,
    piece: npt.NDArray[np.uint8],
) -> Flat | None:
    """All voxels: `done` bytes from `writer`, the `piece` that it did not take, the rest of `stream`."""
    buffer = np.empty(n_bytes, dtype=np.uint8)
    writer.expand(buffer[:done].view(dtype))
    start = done + piece.size
    buffer[done:start] = piece
    n_read, _ = _fill(stream, buffer[start:], dtype)
    return _flat(buffer, dtype, None) if start + n_read == n_bytes else None


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
        n_read += _filled(stream, view[first:end])
        if n_read < end:
            break
        if bits is not None:
            highest = max(highest, int(bits[first // dtype.itemsize : end // dtype.itemsize].max()))
    return n_read, highest


def _filled(stream: ReadableInto, view: memoryview) -> int:
    """Fill `view` from `stream`; fewer bytes than it has only at the stream's end."""
    n_read = 0
    while n_read < len(view) and (n_new := stream.readinto(view[n_read:])):
        n_read += n_new
    return n_read


def _is_surveyed(dtype: np.dtype[Any]) -> bool:
    # Unsigned types of 32 and 64 bits hold nothing that has to be looked for.
    return dtype.isnative and (dtype.kind == "i" or (dtype.kind == "u" and dtype.itemsize <= 2))


def _flat(buffer: npt.NDArray[np.uint8], dtype: np.dtype[Any], highest: int | None) -> Flat:
    array: npt.NDArray[Any] = buffer.view(dtype)
    if not dtype.isnative:
        array = array.byteswap(inplace=True).view(dtype.newbyteorder("="))
    # With its bits taken as unsigned, a negative value is larger than any value of its type.
    is_known = highest is not None and _is_surveyed(dtype) and highest <= np.iinfo(dtype).max
    return Flat(array, highest if is_known else None)
