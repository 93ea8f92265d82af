"""Turns one CSV file into typed Parquet, in each of its table's sort orders.

The rows are first read as text and typed, every one of them, into a file of no particular order; from that,
each order is written. An order is total (`Table.order`), so neither threads nor the order of the input show.

Leaves to others: whether the file is whole (`inspection`), and where the result goes (`importer`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from medomni.studio.data.bad_rows import first_bad_row
from medomni.studio.data.connection import as_our_errors, literal, quoted
from medomni.studio.data.definitions import AvailableFrom, Table
from medomni.studio.data.errors import DataImportError
from medomni.studio.data.sources import Source

if TYPE_CHECKING:
    import duckdb

_LONGEST_LINE = 16 << 20
_ROW_GROUP = 122_880
NEVER = "none of them"


@dataclass(frozen=True, slots=True)
class Converted:
    """What a conversion found.

    Attributes:
        rows: How many.
        empty_columns: Declared columns without a single value.
        availability: How many rows are known by each of the table's rules, by its text; `none of them`
            counts rows without a value in any. Rules that look into other tables count as the last own one.
    """

    rows: int
    empty_columns: tuple[str, ...]
    availability: tuple[tuple[str, int], ...]


def convert(
    connection: duckdb.DuckDBPyConnection,
    source: Source,
    folder: Path,
    *,
    rows: int,
    told: Callable[[], None] = lambda: None,
) -> Converted:
    """Write `<order>.parquet` for each sort order of the source's table.

    Args:
        connection: A database to work in.
        source: The file.
        folder: Where to; it is there and empty.
        rows: Rows that the file has, from its inspection.
        told: Called after each step: reading, and each order.

    Raises:
        DataImportError: A row does not fit (codes of `bad_rows`), `rows-differ`, `key-twice`, or
            `table-unreadable`.
        DataSpaceError: Disk or memory do not suffice.
        WriteError: A file cannot be written for another reason.
    """
    table, stage = source.table, folder / "stage.parquet"
    _read_typed(connection, source, stage)
    read = f"read_parquet({literal(stage)})"
    with as_our_errors(f"checking {table.name}", where=folder):
        found = _facts(connection, table, read)
        if found.rows != rows:
            raise _rows_differ(source, rows, found.rows)
        _refuse_same_keys(connection, source, read)
    told()
    for order in table.sort:
        keys = ", ".join(f"{quoted(column)} ASC NULLS LAST" for column in table.order(order))
        with as_our_errors(f"sorting {table.name}", where=folder):
            query = f"SELECT * FROM {read} ORDER BY {keys}"  # noqa: S608 - only declared names
            _copy(connection, query, folder / f"{order}.parquet", "zstd")
        told()
    stage.unlink()
    return found


def typed_columns(table: Table) -> str:
    """The select list that types the columns of a table read as text."""
    return ", ".join(
        f"{kind.sql(quoted(name), required=name in table.never_empty)} AS {quoted(name)}"
        for name, kind in table.columns.items()
    )


def _read_typed(connection: duckdb.DuckDBPyConnection, source: Source, stage: Path) -> None:
    import duckdb

    # All as text: a code such as 0042 must never meet a guess at its type.
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in source.columns)
    line_end = "\\r\\n" if source.line_end == "\r\n" else "\\n"
    reader = (
        f"read_csv({literal(source.path)}, auto_detect=false, header=true, columns={{{columns}}}, delim=',', "
        f"quote='\"', escape='\"', nullstr='', new_line='{line_end}', max_line_size={_LONGEST_LINE}, "
        f"compression='{'gzip' if source.path.name.endswith('.gz') else 'none'}')"
    )
    try:
        with as_our_errors(f"reading {source.table.name}", where=stage.parent):
            query = f"SELECT {typed_columns(source.table)} FROM {reader}"  # noqa: S608 - only declared names
            _copy(connection, query, stage, "snappy")
    except DataImportError as failure:
        # What the database says of a row depends on threads; its first bad row does not.
        found = first_bad_row(source)
        if found is not None:
            raise found from failure
        cause = failure.__cause__
        told = str(cause).partition("\n")[0] if isinstance(cause, duckdb.Error) else failure.what
        raise DataImportError(
            f"{source.table.name}: the file cannot be read as CSV: {told}",
            where=str(source.path),
            hint="get the file again, unchanged",
            code="table-unreadable",
        ) from failure


def _copy(connection: duckdb.DuckDBPyConnection, query: str, path: Path, compression: str) -> None:
    options = f"FORMAT parquet, COMPRESSION {compression}, ROW_GROUP_SIZE {_ROW_GROUP}"
    connection.execute(f"COPY ({query}) TO {literal(path)} ({options})")


def _facts(connection: duckdb.DuckDBPyConnection, table: Table, read: str) -> Converted:
    own = [each for each in table.available if each.table is None]
    counts = [f"count({quoted(column)})" for column in table.columns]
    for place, each in enumerate(own):
        earlier = [f"{quoted(before.column)} IS NULL" for before in own[:place]]
        rule = " AND ".join([*earlier, f"{quoted(each.column)} IS NOT NULL"])
        counts.append(f"count(*) FILTER (WHERE {rule})")
    query = f"SELECT count(*), {', '.join(counts)} FROM {read}"  # noqa: S608 - only declared names
    total, *found = connection.execute(query).fetchall()[0]
    values: list[int] = found[: len(table.columns)]
    known: list[int] = found[len(table.columns) :]
    empty = [name for name, count in zip(table.columns, values, strict=True) if count == 0]
    return Converted(total, tuple(empty) if total else (), _availability(table, own, known, total))


def _availability(
    table: Table, own: list[AvailableFrom], known: list[int], total: int
) -> tuple[tuple[str, int], ...]:
    if not table.available:
        return ()
    rest = total - sum(known)
    others = " or ".join(str(each) for each in table.available if each.table is not None)
    return (*((str(each), count) for each, count in zip(own, known, strict=True)), (others or NEVER, rest))


def _refuse_same_keys(connection: duckdb.DuckDBPyConnection, source: Source, read: str) -> None:
    if not source.table.key:
        return
    keys = ", ".join(quoted(column) for column in source.table.key)
    twice = "GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL LIMIT 1"
    query = f"SELECT {keys}, count(*) FROM {read} {twice}"  # noqa: S608 - only declared names
    found = connection.execute(query).fetchone()
    if found is not None:
        named = ", ".join(f"{name} {value}" for name, value in zip(source.table.key, found, strict=False))
        raise DataImportError(
            f"{source.table.name}: {found[-1]} rows have the same key: {named}",
            where=str(source.path),
            hint="the file was probably put together from parts; get it again, unchanged",
            code="key-twice",
        )


def _rows_differ(source: Source, lines: int, read: int) -> DataImportError:
    found = first_bad_row(source)
    if found is not None:
        return found
    return DataImportError(
        f"{source.table.name}: the file has {lines} rows by its line ends, and {read} by its fields",
        where=str(source.path),
        hint="quote fields that hold quotes or line ends, as RFC 4180 says",
        code="rows-differ",
    )
