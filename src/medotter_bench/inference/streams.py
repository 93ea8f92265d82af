"""Reading an exact number of bytes from a plain or compressed stream, in bounded pieces.

Leaves to others: how many bytes there must be (the headers), and what they mean.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from medotter_bench.inference.failures import decoding, overlong, truncated
from medotter_bench.inference.limits import MAX_DEFLATE_RATIO

_PIECE = 1 << 22


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


def read_array(stream: ReadableInto, n_bytes: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Exactly `n_bytes` of `stream` as a flat array in native byte order, and nothing after them.

    The stream is read to its end, so that a compressed one has its checksum verified.

    Raises:
        VolumeError: `volume-truncated`, `volume-overlong`, `volume-corrupt`, `volume-too-large`.
    """
    with decoding("the voxel data"):
        buffer = np.empty(n_bytes, dtype=np.uint8)
        view = memoryview(buffer)
        position = 0
        while position < n_bytes:
            n_read = stream.readinto(view[position : position + _PIECE])
            if not n_read:
                raise truncated(f"the header promises {n_bytes} bytes of voxels, the file holds {position}")
            position += n_read
        if stream.read(1):
            raise overlong(f"the header promises {n_bytes} bytes of voxels, the file holds more")
    array: npt.NDArray[Any] = buffer.view(dtype)
    if not dtype.isnative:
        array = array.byteswap(inplace=True).view(dtype.newbyteorder("="))
    return array
