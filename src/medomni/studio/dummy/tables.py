"""Rows of made-up tables, and the compressed CSV files that they become.

Leaves to others: the rows.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path

from medomni.core.errors import WriteError
from medomni.core.files import write_atomic

type Value = str | int | date | datetime | None


class Tables:
    """Rows by table.

    Args:
        headers: Columns of each table, as its file names them, by `<folder>/<table>`.
    """

    def __init__(self, headers: Mapping[str, Sequence[str]]) -> None:
        self._headers = headers
        self._places = {
            table: {name.lower(): place for place, name in enumerate(header)}
            for table, header in headers.items()
        }
        self.rows: dict[str, list[list[str]]] = {table: [] for table in headers}

    def add(self, table: str, **values: Value) -> None:
        """Add a row; columns that are not named stay empty."""
        places = self._places[table]
        row = [""] * len(places)
        for name, value in values.items():
            row[places[name]] = _text(value)
        self.rows[table].append(row)

    def column(self, table: str, name: str) -> list[str]:
        """The texts of a column."""
        place = self._places[table][name]
        return [row[place] for row in self.rows[table]]

    def csv_bytes(self, table: str) -> bytes:
        """The CSV of a table."""
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self._headers[table])
        writer.writerows(self.rows[table])
        return text.getvalue().encode()

    def write(self, folder: Path) -> dict[str, int]:
        """Write all tables below a folder; rows by file.

        Raises:
            WriteError: It cannot be written.
        """
        written = {}
        for table in self.rows:
            path = folder / f"{table}.csv.gz"
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as failure:
                raise WriteError(
                    f"the folder cannot be made: {failure.strerror}", where=str(folder)
                ) from failure
            # No name and no time in the header, so that the bytes are the same every time.
            write_atomic(path, gzip.compress(self.csv_bytes(table), compresslevel=6, mtime=0))
            written[f"{table}.csv.gz"] = len(self.rows[table])
        return written


def tenths(value: int) -> str:
    """A number of tenths as a laboratory writes it: 14 is `1.4`, 20 is `2`."""
    sign, rest = ("-" if value < 0 else ""), abs(value)
    return f"{sign}{rest // 10}.{rest % 10}" if rest % 10 else f"{sign}{rest // 10}"


def _text(value: Value) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)
