"""Strict CSV reading: a header of unlike names, and rows that are as long as it; every cell stays text.

Leaves to others: what the columns must be (`contracts`), and turning cells into numbers.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

from medomni.core._document import Document, Lines, decode, place, read_limited
from medomni.core.errors import DocumentError

MAX_CSV_BYTES = 64 * 1024 * 1024


def read_csv(path: str | Path, *, max_bytes: int = MAX_CSV_BYTES) -> Document:
    """Read a CSV file.

    Raises:
        DocumentNotFoundError: There is no such file.
        DocumentError: It cannot be read, or `parse_csv` refuses it.
    """
    return parse_csv(read_limited(path, max_bytes), name=str(path), max_bytes=max_bytes)


def parse_csv(data: str | bytes, *, name: str, max_bytes: int = MAX_CSV_BYTES) -> Document:
    """Parse comma-separated text as the document `{"header": [...], "rows": [{column: text}]}`.

    Args:
        data: The text, or its bytes in UTF-8 without a byte order mark.
        name: What messages call the document; the file's path as a rule.
        max_bytes: Refuse anything longer.

    Raises:
        DocumentError: Not UTF-8, too large, without a header, a column twice, a quote that nothing closes, or
            a row of another length than the header's.
    """
    text = decode(data, name, max_bytes)
    if text.startswith("\ufeff"):
        raise _fault("document-syntax", "begins with a byte order mark", place(name, 1), "save it without")
    numbered = _records(text, name)
    if not numbered:
        raise _fault("document-syntax", "is empty: a table begins with its header", name)
    first_line, header = numbered[0]
    for column in header:
        if header.count(column) > 1:
            raise _fault(
                "document-duplicate-key", f"holds the column {column!r} twice", place(name, first_line)
            )
    rows = []
    row_lines: Lines = {}
    for index, (line, cells) in enumerate(numbered[1:]):
        if len(cells) != len(header):
            what = f"holds {len(cells)} cells where the header has {len(header)}"
            raise _fault(
                "document-syntax", what, place(name, line), "one cell for each column, and no empty line"
            )
        rows.append(dict(zip(header, cells, strict=True)))
        row_lines[index] = (line, dict.fromkeys(header, (line, None)))
    header_lines: Lines = dict.fromkeys(range(len(header)), (first_line, None))
    lines: Lines = {"header": (first_line, header_lines), "rows": (first_line, row_lines)}
    return Document({"header": header, "rows": rows}, name, lambda: lines)


def _records(text: str, name: str) -> list[tuple[int, list[str]]]:
    """Every record with the line that it begins on, from 1."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    records = []
    line = 1
    try:
        for cells in reader:
            records.append((line, cells))
            line = reader.line_num + 1
    except csv.Error as fault:
        raise _fault("document-syntax", f"not valid CSV: {fault}", place(name, line)) from fault
    return records


def _fault(code: str, what: str, where: str, hint: str = "") -> DocumentError:
    return DocumentError(
        f"the table {what}" if not what.startswith("not") else what, where=where, hint=hint, code=code
    )
