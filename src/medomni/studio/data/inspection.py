"""One plain pass over a file before the database reads it: its digest, whether it is whole, how many rows.

The rows are counted here by line ends outside quotes, so that what the database read is checked by something
that shares no code with it. Leaves to others: what the rows hold.

Source: RFC 4180 (CSV), RFC 1952 (gzip), FIPS 180-4 (SHA-256).
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from medomni.studio.data.errors import DataImportError
from medomni.studio.data.sources import Source, unreadable

_CHUNK = 1 << 20
_GZIP = 31  # zlib's window bits for a gzip header and trailer


@dataclass(frozen=True, slots=True)
class Inspected:
    """What one pass over a file tells.

    Attributes:
        sha256: Digest of the file as it lies there.
        size: Bytes of the file as it lies there.
        plain_size: Bytes of the CSV.
        rows: Rows below the header.
    """

    sha256: str
    size: int
    plain_size: int
    rows: int


def inspect(source: Source, *, told: Callable[[int], None] = lambda size: None) -> Inspected:
    """Read a file once.

    Args:
        source: The file.
        told: Called with the number of bytes that were just read.

    Raises:
        DataImportError: `source-truncated`, `source-corrupt`, `source-unreadable`, `line-ends-mixed` or
            `quote-open`.
    """
    digest, counter = hashlib.sha256(), RecordCounter()
    size = plain_size = 0
    try:
        with source.path.open("rb") as stream:
            for raw, plain in _pieces(stream, compressed=source.path.name.endswith(".gz")):
                digest.update(raw)
                size += len(raw)
                plain_size += len(plain)
                counter.add(plain)
                told(len(raw))
    except EOFError as failure:
        raise _broken(source, "ends in the middle of its compressed data", "source-truncated") from failure
    except zlib.error as failure:
        raise _broken(source, f"is damaged: {failure}", "source-corrupt") from failure
    except OSError as failure:
        raise unreadable(source.path, failure) from failure
    if counter.open_quote:
        raise DataImportError(
            f"{source.table.name}: a quoted field is never closed",
            where=str(source.path),
            hint="the file may be cut off; get it again",
            code="quote-open",
        )
    if counter.returns not in (0, counter.line_ends) or (counter.returns > 0) != (source.line_end == "\r\n"):
        raise DataImportError(
            f"{source.table.name}: some lines end with LF and some with CRLF or CR",
            where=str(source.path),
            hint="get the file again, unchanged",
            code="line-ends-mixed",
        )
    return Inspected(digest.hexdigest(), size, plain_size, max(0, counter.records - 1))


def _pieces(stream: BinaryIO, *, compressed: bool) -> Iterator[tuple[bytes, bytes]]:
    """The file in pieces, as they lie there and decompressed.

    Raises:
        EOFError: Compressed data end before they should.
        zlib.error: Compressed data are damaged, or something else follows them.
    """
    inflate = zlib.decompressobj(_GZIP)
    while raw := stream.read(_CHUNK):
        plain, rest = b"", raw
        if not compressed:
            plain, rest = raw, b""
        while rest:
            if inflate.eof:  # a gzip file may have several members
                inflate = zlib.decompressobj(_GZIP)
            plain += inflate.decompress(rest)
            rest = inflate.unused_data
        yield raw, plain
    if compressed and not inflate.eof:
        raise EOFError


class RecordCounter:
    """Counts the records of a CSV that comes in pieces: line ends that stand outside quotes.

    Attributes:
        records: Records so far, the last one also without a line end.
        open_quote: Whether the text so far ends inside quotes.
        line_ends: Line feeds outside quotes.
        returns: Carriage returns outside quotes.
    """

    def __init__(self) -> None:
        self.open_quote = False
        self.line_ends = 0
        self.returns = 0
        self._unfinished = False

    @property
    def records(self) -> int:
        """Records so far."""
        return self.line_ends + self._unfinished

    def add(self, piece: bytes) -> None:
        """Count what comes next."""
        if not piece:
            return
        parts = piece.split(b'"')
        # Quotes stand between the parts; a doubled quote opens and closes again and so changes nothing.
        for part in parts[self.open_quote :: 2]:
            self.line_ends += part.count(b"\n")
            self.returns += part.count(b"\r")
        self.open_quote ^= len(parts) % 2 == 0
        self._unfinished = self.open_quote or not piece.endswith(b"\n")


def _broken(source: Source, why: str, code: str) -> DataImportError:
    return DataImportError(
        f"{source.table.name}: {source.name} {why}",
        where=str(source.path),
        hint="the download was probably interrupted; get the file again",
        code=code,
    )
