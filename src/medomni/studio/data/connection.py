"""DuckDB connections: settings that keep results the same everywhere, and its errors as ours.

Leaves to others: what is asked of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from medomni.core.cores import available_memory
from medomni.core.errors import MissingExtraError, WriteError
from medomni.studio.data.errors import DataImportError, DataSpaceError

if TYPE_CHECKING:
    import duckdb

_SHARE_OF_MEMORY = 0.6
_LEAST_MEMORY = 256 << 20
_FULL = (
    "no space left",
    "disk quota",
    "could not write all bytes",
    "max_temp_directory_size",
    "file too large",
)
_NOT_WRITTEN = ("could not write", "cannot write", "async write failed", "failed to create")


def connect(
    spill: Path, *, memory_limit: str | None = None, threads: int | None = None
) -> duckdb.DuckDBPyConnection:
    """An empty database in memory.

    Args:
        spill: Folder for what does not fit into memory; made if need be.
        memory_limit: Such as `8GB`; by default, a share of what is free.
        threads: How many; all cores by default.

    Raises:
        MissingExtraError: DuckDB is not installed.
        DataSpaceError: The spill folder cannot be made.
        DataImportError: `memory-limit`: not a size.
    """
    try:
        import duckdb
    except ImportError as missing:
        raise MissingExtraError.for_extra("studio", "duckdb", "working with imported data") from missing
    try:
        spill.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        raise DataSpaceError(
            f"the spill folder cannot be made: {failure.strerror}", where=str(spill), code="spill-folder"
        ) from failure
    limit = memory_limit or f"{max(_LEAST_MEMORY, int(available_memory() * _SHARE_OF_MEMORY)) >> 20}MiB"
    settings: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": limit,
        "temp_directory": str(spill),
        # Nothing is fetched from a network on anybody's behalf.
        "autoinstall_known_extensions": False,
        "preserve_insertion_order": True,
    }
    if threads is not None:
        settings["threads"] = threads
    try:
        connection = duckdb.connect(":memory:", config=settings)
    except duckdb.Error as failure:
        raise DataImportError(
            f"DuckDB refuses its settings: {_first_line(failure)}",
            hint="give a memory limit such as 8GB, and at least one thread",
            code="memory-limit",
        ) from failure
    _plan_asof_by_merging(connection)
    return connection


def _plan_asof_by_merging(connection: duckdb.DuckDBPyConnection) -> None:
    # DuckDB 2 plans ASOF joins with few left rows as nested loops, which take many times longer.
    known = "SELECT count(*) FROM duckdb_settings() WHERE name = 'asof_loop_join_threshold'"
    if connection.execute(known).fetchall() != [(0,)]:
        connection.execute("SET asof_loop_join_threshold = 0")


@contextmanager
def as_our_errors(what: str, *, where: str | Path = "") -> Iterator[None]:
    """Turn errors of the database in the block into ours.

    Args:
        what: What was being done, such as `sorting hosp.labevents`.
        where: The folder that was written to, for the message.

    Raises:
        DataSpaceError: `disk-full`, or `memory-limit`.
        WriteError: `write-failed`: a file could not be written for another reason.
        DataImportError: `database-failed` for anything else.
    """
    import duckdb

    try:
        yield
    except duckdb.Error as failure:
        text = str(failure)
        if any(sign in text.lower() for sign in _FULL):
            raise DataSpaceError(
                f"the disk is full: {what} could not be finished",
                where=str(where),
                hint="free some space or set studio.spill_folder in medomni.toml, then run the command again",
                code="disk-full",
            ) from failure
        if isinstance(failure, duckdb.OutOfMemoryException):
            raise DataSpaceError(
                f"there is not enough memory for {what}",
                hint="give more with --memory-limit, or fewer --threads",
                code="memory-limit",
            ) from failure
        if any(sign in text.lower() for sign in _NOT_WRITTEN):
            told = f"{what} could not write a file: {_first_line(failure)}"
            raise WriteError(told, where=str(where), hint="check the disk and the folder") from failure
        told = f"{what} failed: {_first_line(failure)}"
        raise DataImportError(told, where=str(where), code="database-failed") from failure


def quoted(name: str) -> str:
    """A name as SQL writes it: `"hosp.labevents"`."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str | Path) -> str:
    """A text as SQL writes it."""
    return "'" + str(text).replace("'", "''") + "'"


def _first_line(failure: Exception) -> str:
    return str(failure).partition("\n")[0]
