"""Whether an imported release is still what the import wrote: every file by its digest, rows and columns.

Leaves to others: importing again (`importer`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from medomni.core.errors import MedomniError
from medomni.core.hashing import sha256_file
from medomni.core.issues import Issue, error
from medomni.core.progress import Progress, silent
from medomni.core.workspace import Workspace
from medomni.studio.data.connection import literal
from medomni.studio.data.store import Store, StoredTable, open_in

if TYPE_CHECKING:
    import duckdb

_HINT = "import the release again: only what changed is read"


def verify(workspace: Workspace, release: str, *, progress: Progress = silent) -> list[Issue]:
    """Everything that is wrong with an imported release; empty for a good one.

    Raises:
        StoreError: As `open_store`, for what cannot be checked at all.
    """
    store = open_in(workspace, release)
    issues: list[Issue] = []
    present = [table for table in store.tables.values() if table.present]
    for done, table in enumerate(present, start=1):
        issues.extend(_changed(store, table))
        progress(done, len(present), "verifying tables")
    # A file that changed need not even be Parquet any more: the rest can only be asked of the others.
    if not issues:
        with contextlib.closing(store.connect()) as connection:
            for table in present:
                issues.extend(_contents(connection, table))
    return issues


def _changed(store: Store, table: StoredTable) -> Iterator[Issue]:
    recorded = store.record.tables[table.name].files
    for order, path in table.paths.items():
        if path is None:
            continue
        try:
            good = sha256_file(path) == recorded[order]["sha256"]
        except MedomniError as failure:
            yield error("data-unreadable", str(path), failure.what, _HINT)
            continue
        if not good:
            yield error("data-changed", str(path), f"{table.name} ({order}) is not what was imported", _HINT)


def _contents(connection: duckdb.DuckDBPyConnection, table: StoredTable) -> Iterator[Issue]:
    for order, path in table.paths.items():
        if path is None:
            continue
        read = f"read_parquet({literal(path)})"
        rows = connection.execute(f"SELECT count(*) FROM {read}").fetchall()[0][0]  # noqa: S608 - our own path
        if rows != table.n_rows:
            yield _differs(path, f"{table.name} ({order}) has {rows} rows, and {table.n_rows} were imported")
        described = connection.execute(f"DESCRIBE FROM {read}").fetchall()
        found = {name: kind for name, kind, *_ in described}
        if found != dict(table.columns):
            yield _differs(path, f"{table.name} ({order}) has other columns or types than declared")


def _differs(path: Path, what: str) -> Issue:
    return error("data-differs", str(path), what, _HINT)
