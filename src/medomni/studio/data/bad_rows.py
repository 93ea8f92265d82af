"""Finds the first row of a file that does not fit its table, with its line: slow, used only if there is one.

The database reports some bad row, not always the same; a message must always name the first one.

Leaves to others: reading all rows (`conversion`), whether the file is whole (`inspection`).
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from typing import BinaryIO

from medomni.core.files import canonical_json
from medomni.studio.data.errors import DataImportError
from medomni.studio.data.sources import Source

_BOM = b"\xef\xbb\xbf"
_LONGEST_SHOWN = 60


def first_bad_row(source: Source) -> DataImportError | None:
    """The error of the first row, by its line, that does not fit the table; None if all do.

    Its code is `table-encoding`, `row-fields`, `row-blank`, `row-quotes`, `value-missing` or `value-invalid`.
    """
    limit = csv.field_size_limit(sys.maxsize)
    try:
        with source.open() as stream:
            return _search(source, stream)
    finally:
        csv.field_size_limit(limit)


class _NotUtf8Error(Exception):
    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def _search(source: Source, stream: BinaryIO) -> DataImportError | None:
    reader = csv.reader(_lines(stream), strict=True)
    line = 1
    try:
        for number, row in enumerate(reader):
            found = _problem(source, row, line) if number else None
            if found is not None:
                return found
            line = reader.line_num + 1
    except _NotUtf8Error as fault:
        return _error(source, fault.line, "the text is not UTF-8", "save it as UTF-8", "table-encoding")
    except csv.Error as fault:
        hint = "quote fields as RFC 4180 says"
        return _error(source, line, f"the quotes of the row cannot be read: {fault}", hint, "row-quotes")
    return None


def _lines(stream: BinaryIO) -> Iterator[str]:
    for number, line in enumerate(stream, start=1):
        try:
            yield (line.removeprefix(_BOM) if number == 1 else line).decode("utf-8")
        except UnicodeDecodeError:
            raise _NotUtf8Error(number) from None


def _problem(source: Source, row: list[str], line: int) -> DataImportError | None:
    if not row:
        return _error(source, line, "the line is empty", "remove it", "row-blank")
    if len(row) != len(source.header):
        what = f"the row has {len(row)} fields, and the header {len(source.header)}"
        return _error(source, line, what, "get the file again, unchanged", "row-fields")
    values = dict(zip(source.columns, row, strict=True))
    for column, kind in source.table.columns.items():
        text = values[column]
        if not text and column in source.table.never_empty:
            return _error(source, line, f"{column} is empty", "every row must have one", "value-missing")
        if text and not kind.accepts(text):
            hint = f"it must be {kind.meaning}"
            return _error(source, line, f"{column} is {_shown(text)}", hint, "value-invalid")
    return None


def _error(source: Source, line: int, what: str, hint: str, code: str) -> DataImportError:
    where = f"{source.path}:{line}"
    return DataImportError(f"{source.table.name}, line {line}: {what}", where=where, hint=hint, code=code)


def _shown(text: str) -> str:
    cut = text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
    return canonical_json(cut).decode("utf-8")
