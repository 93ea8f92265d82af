"""An imported release, opened for reading: its tables as views of a DuckDB connection.

Leaves to others: importing (`importer`), whether the files are still unchanged (`verification`), queries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from medomni.core.workspace import Workspace, load_workspace
from medomni.studio.data.connection import as_our_errors, connect, literal, quoted
from medomni.studio.data.definitions import Dataset, Release, Table, load_dataset
from medomni.studio.data.errors import StoreError
from medomni.studio.data.records import ImportRecord, read_import_record, table_folder

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table of a release, imported or not.

    Attributes:
        name: `<module>.<table>`.
        n_rows: 0 for a table that is not there.
        columns: Name and DuckDB type of each column.
        paths: Parquet files by sort order: `by_patient`, and `by_item` or None.
        present: Whether the import found it.
        empty_columns: Columns without a single value in this release.
        availability: Rules that say when a row was known, and the number of rows that each decided.
    """

    name: str
    n_rows: int
    columns: Mapping[str, str]
    paths: Mapping[str, Path | None]
    present: bool
    definition: Table
    empty_columns: frozenset[str] = frozenset()
    availability: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Store:
    """An imported release.

    Attributes:
        dataset: Its dataset.
        release: The release; `release.token` is what hashes and manifests write.
        record: What the import left.
        tables: By name, all that the release may have.
        spill: Folder for what does not fit into memory.
        memory_limit: What connections may use, where they are not told.
    """

    dataset: Dataset
    release: Release
    record: ImportRecord
    tables: Mapping[str, StoredTable]
    spill: Path
    memory_limit: str | None = None

    def table(self, name: str) -> StoredTable:
        """A table that is there.

        Raises:
            StoreError: `table-unknown`, or `table-absent`.
        """
        if name not in self.tables:
            known = ", ".join(self.tables)
            raise StoreError(f"{self.release.token} has no table {name!r}", hint=known, code="table-unknown")
        if not self.tables[name].present:
            raise StoreError(
                f"the table {name} was not there when {self.release.token} was imported",
                hint="import again with a folder that holds it",
                code="table-absent",
            )
        return self.tables[name]

    def connect(
        self, *, memory_limit: str | None = None, threads: int | None = None
    ) -> duckdb.DuckDBPyConnection:
        """A connection with a view of every present table: `"hosp.labevents"`, in the order of items where it
        is kept in that, else of patients; and `"hosp.labevents@by_patient"`, `"hosp.labevents@by_item"`.

        Args:
            memory_limit: Such as `8GB`; the workspace's, or a share of what is free, by default.
            threads: How many; all cores by default.

        Raises:
            MissingExtraError: DuckDB is not installed.
            DataImportError: The settings are refused (`memory-limit`), or a file cannot be read.
            DataSpaceError: The spill folder cannot be made.
        """
        connection = connect(self.spill, memory_limit=memory_limit or self.memory_limit, threads=threads)
        try:
            with as_our_errors(f"opening {self.release.token}"):
                for table in self.tables.values():
                    for name, path in _views(table):
                        query = f"SELECT * FROM read_parquet({literal(path)})"  # noqa: S608 - our own path
                        connection.execute(f"CREATE VIEW {quoted(name)} AS {query}")
        except BaseException:
            connection.close()
            raise
        return connection


def open_store(workspace_root: Path, release: str) -> Store:
    """The imported release of a workspace.

    Args:
        workspace_root: The folder of `medomni.toml`.
        release: Such as `mimic-iv/demo-2.2`.

    Raises:
        StoreError: `dataset-unknown`, `release-unknown`, `data-not-imported`, `import-unfinished`,
            `import-record-invalid`, or `data-stale`: a table is declared otherwise now than when it was
            imported, or its file is gone.
        InvalidNameError: `release` is no name of one.
        IssuesError: The dataset's definition is not right.
    """
    return open_in(load_workspace(workspace_root), release)


def open_in(workspace: Workspace, release: str) -> Store:
    """`open_store` for a workspace that is loaded.

    Raises:
        StoreError: As `open_store`.
    """
    folder = workspace.imported(release)
    dataset_name, _, name = release.partition("/")
    dataset = load_dataset(workspace, dataset_name)
    found = dataset.release(name)
    record = read_import_record(folder, release=release)
    tables = {
        table.name: _stored(folder, table, record)
        for table in dataset.tables.values()
        if table.module in found.modules
    }
    _refuse_stale(tables, record)
    return Store(dataset, found, record, tables, workspace.spill_folder, workspace.memory_limit)


def _stored(folder: Path, table: Table, record: ImportRecord) -> StoredTable:
    columns = {name: kind.duckdb for name, kind in table.columns.items()}
    imported = record.tables.get(table.name)
    if imported is None:
        nothing: dict[str, Path | None] = {"by_patient": None, "by_item": None}
        return StoredTable(table.name, 0, columns, nothing, present=False, definition=table)
    place = table_folder(folder, table.name)
    paths = {
        order: place / f"{order}.parquet" if order in imported.files else None
        for order in ("by_patient", "by_item")
    }
    return StoredTable(
        table.name,
        imported.rows,
        columns,
        paths,
        present=True,
        definition=table,
        empty_columns=frozenset(imported.empty_columns),
        availability=imported.availability,
    )


def _refuse_stale(tables: Mapping[str, StoredTable], record: ImportRecord) -> None:
    stale = [
        name
        for name, table in tables.items()
        if table.present and record.tables[name].storage != table.definition.storage_digest()
    ]
    gone = [
        name
        for name, table in tables.items()
        if any(path is not None and not path.is_file() for path in table.paths.values())
    ]
    unknown = [name for name in record.tables if name not in tables]
    reasons = {"declared otherwise now": stale, "not there any more": gone, "not declared any more": unknown}
    for reason, names in reasons.items():
        if names:
            raise StoreError(
                f"{record.release} must be imported again: {reason}: {', '.join(names)}",
                hint=f"run `medomni studio data import {record.release.partition('/')[0]} --from DIR`",
                code="data-stale",
            )


def _views(table: StoredTable) -> list[tuple[str, Path]]:
    kept = [(order, path) for order, path in table.paths.items() if path is not None]
    views = [(f"{table.name}@{order}", path) for order, path in kept]
    return [(table.name, kept[-1][1]), *views] if kept else []
