"""What an import leaves beside the Parquet files: a record per table, and one of the whole release.

Neither holds a time or a path of this machine, so that two imports of the same files are equal. Leaves to
others: making the files (`importer`) and opening them (`store`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medomni.core.errors import DocumentError
from medomni.core.files import read_json, write_json
from medomni.studio.data.errors import StoreError

SCHEMA = "medomni/data-import/1"
TABLES = "tables"
RELEASE_RECORD = "import.json"
TABLE_RECORD = "table.json"
_MANY = 64 << 20


@dataclass(frozen=True, slots=True)
class TableRecord:
    """One imported table.

    Attributes:
        name: `<module>.<table>`.
        storage: Digest of the part of its definition that decided the files (`Table.storage_digest`).
        source: `file`, `size` and `sha256` of the CSV.
        files: By sort order: `size` and `sha256` of the Parquet file.
        availability: Each rule of `available` and the number of rows that are known by it.
    """

    name: str
    storage: str
    rows: int
    source: Mapping[str, Any]
    files: Mapping[str, Mapping[str, Any]]
    empty_columns: tuple[str, ...]
    undeclared_columns: tuple[str, ...]
    availability: tuple[tuple[str, int], ...]

    def as_dict(self) -> dict[str, Any]:
        """The record as plain data."""
        return {
            "name": self.name,
            "storage": self.storage,
            "rows": self.rows,
            "source": dict(self.source),
            "files": {order: dict(each) for order, each in self.files.items()},
            "empty_columns": list(self.empty_columns),
            "undeclared_columns": list(self.undeclared_columns),
            "availability": [{"known_by": rule, "rows": rows} for rule, rows in self.availability],
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> TableRecord:
        """The record of plain data."""
        return cls(
            name=value["name"],
            storage=value["storage"],
            rows=value["rows"],
            source=value["source"],
            files=value["files"],
            empty_columns=tuple(value["empty_columns"]),
            undeclared_columns=tuple(value["undeclared_columns"]),
            availability=tuple((each["known_by"], each["rows"]) for each in value["availability"]),
        )


@dataclass(frozen=True, slots=True)
class ImportRecord:
    """A whole imported release.

    Attributes:
        release: `<dataset>/<release>`.
        tables: By name, those that are there.
        absent: Tables that the release may have and that were not there.
        undeclared: Files beside them that no definition names, and that were not read.
        uncounted: Tables whose number of rows nothing vouches for.
        duckdb: Version of the database that wrote the files.
    """

    release: str
    release_class: str
    tables: Mapping[str, TableRecord]
    absent: tuple[str, ...]
    undeclared: tuple[str, ...]
    uncounted: tuple[str, ...]
    duckdb: str

    def as_dict(self) -> dict[str, Any]:
        """The record as plain data."""
        return {
            "schema": SCHEMA,
            "release": self.release,
            "release_class": self.release_class,
            "duckdb": self.duckdb,
            "tables": [record.as_dict() for record in self.tables.values()],
            "absent_tables": list(self.absent),
            "undeclared_files": list(self.undeclared),
            "uncounted_tables": list(self.uncounted),
        }


def table_folder(release_folder: Path, table: str) -> Path:
    """Where a table's files lie."""
    return release_folder / TABLES / table


def write_table_record(folder: Path, record: TableRecord) -> None:
    """Write a table's record into its folder.

    Raises:
        WriteError: It cannot be written.
    """
    write_json(folder / TABLE_RECORD, record.as_dict())


def read_table_record(folder: Path) -> TableRecord | None:
    """The record of a table's folder; None if there is none that can be used."""
    path = folder / TABLE_RECORD
    if not path.is_file():
        return None
    try:
        return TableRecord.from_dict(read_json(path).value)
    except (DocumentError, KeyError, TypeError, AttributeError):
        return None


def write_import_record(release_folder: Path, record: ImportRecord) -> None:
    """Write the record that makes an import complete.

    Raises:
        WriteError: It cannot be written.
    """
    write_json(release_folder / RELEASE_RECORD, record.as_dict())


def read_import_record(release_folder: Path, *, release: str) -> ImportRecord:
    """The record of an imported release.

    Raises:
        StoreError: `data-not-imported`, `import-unfinished`, or `import-record-invalid`.
    """
    path = release_folder / RELEASE_RECORD
    hint = f"run `medomni studio data import {release.partition('/')[0]} --from DIR`"
    if not path.is_file():
        where = str(release_folder)
        if (release_folder / TABLES).is_dir():
            what = f"{release} is not imported whole"
            raise StoreError(what, where=where, hint=hint, code="import-unfinished")
        raise StoreError(f"{release} is not imported", where=where, hint=hint, code="data-not-imported")
    try:
        value = read_json(path, max_bytes=_MANY).value
        if value["schema"] != SCHEMA:
            raise KeyError("schema")
        tables = [TableRecord.from_dict(each) for each in value["tables"]]
        return ImportRecord(
            release=value["release"],
            release_class=value["release_class"],
            tables={record.name: record for record in tables},
            absent=tuple(value["absent_tables"]),
            undeclared=tuple(value["undeclared_files"]),
            uncounted=tuple(value["uncounted_tables"]),
            duckdb=value["duckdb"],
        )
    except (DocumentError, KeyError, TypeError, AttributeError) as failure:
        raise StoreError(
            f"the record of the import of {release} cannot be used",
            where=str(path),
            hint=hint,
            code="import-record-invalid",
        ) from failure
