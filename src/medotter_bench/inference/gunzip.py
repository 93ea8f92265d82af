"""The fastest gzip decoder that is installed, for streams that are whole; every other one is left alone.

A decoder is trusted only with a stream that it finds right to the last checksum and that holds exactly the
promised bytes. Whatever else it says, the caller reads the stream again with Python's own `gzip`, whose
verdict is the one that counts: so results and error codes do not depend on what is installed.
Leaves to others: reading any other stream and telling what is wrong with one (`streams`).
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO

from medotter_bench.inference.failures import DAMAGE

MODULES = ("zlib_ng.zlib_ng", "isal.isal_zlib")
_READ_SIZE = 1 << 17


@dataclass(frozen=True, slots=True)
class Decoder:
    """Opens a gzip stream for `readinto`, and the errors that this may raise."""

    open: Callable[[BinaryIO, int], Any]
    errors: tuple[type[Exception], ...]

    def stream(self, handle: BinaryIO) -> Any:
        """All members of the gzip stream from where `handle` stands."""
        return self.open(handle, _READ_SIZE)


@functools.cache
def fast_decoder() -> Decoder | None:
    """The first of `MODULES` that is installed; `None` where only Python's own decoder is."""
    return next((decoder for name in MODULES if (decoder := decoder_of(name)) is not None), None)


def decoder_of(module: str) -> Decoder | None:
    """The decoder in `module`, or `None`.

    The reader class is the one inside the packages' own gzip files. Those pass every byte through a buffer of
    their own on its way into an array; the reader writes into the array itself. Its name is private: a
    release that drops or changes it costs speed alone, which a test would tell.
    """
    try:
        package = importlib.import_module(module)
        return Decoder(package._GzipReader, (*DAMAGE, package.error, EOFError, MemoryError))
    except (ImportError, AttributeError):
        return None
