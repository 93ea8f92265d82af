"""Imports a release of a dataset into the workspace: checked, typed, in its sort orders, whole or not at all.

Each table is built beside its place and moved there when it is done, with a record of what it was made from;
the record of the release comes last. So a killed import leaves whole tables, and the next one goes on.

Leaves to others: every single check and step (its siblings), opening what was imported (`store`).
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from medomni.core.errors import MedomniError, WriteError
from medomni.core.hashing import sha256_file
from medomni.core.progress import Progress, silent
from medomni.core.workspace import Workspace
from medomni.studio.data.connection import connect
from medomni.studio.data.conversion import convert
from medomni.studio.data.definitions import Release, load_dataset
from medomni.studio.data.errors import DataImportError
from medomni.studio.data.inspection import Inspected
from medomni.studio.data.preparation import (
    check_counts,
    inspect_all,
    refuse_full_disk,
    room_needed,
    settle_release,
)
from medomni.studio.data.records import (
    RELEASE_RECORD,
    TABLES,
    ImportRecord,
    TableRecord,
    read_table_record,
    table_folder,
    write_import_record,
    write_table_record,
)
from medomni.studio.data.sources import Located, Source, locate

if TYPE_CHECKING:
    import duckdb

_STEP = "importing tables (MiB)"
_BUILDING, _MEMORY, _LOCK = "building", "inspections.json", "lock"


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did.

    Attributes:
        record: Of the whole release.
        converted: Tables that were read now.
        kept: Tables that an earlier import had finished, from the same files.
    """

    record: ImportRecord
    converted: tuple[str, ...]
    kept: tuple[str, ...]


def import_release(
    workspace: Workspace,
    dataset_name: str,
    folders: Sequence[Path],
    *,
    release: str | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> Imported:
    """Import files of a dataset.

    Args:
        workspace: Where to.
        dataset_name: Such as `mimic-iv`.
        folders: Where the files lie.
        release: Such as `3.1`; told from the files by default.
        memory_limit: What DuckDB may use, such as `8GB`; the workspace's by default.
        threads: How many threads; all cores by default. The result does not depend on it.
        progress: Told how far it is, in MiB of input.

    Raises:
        StoreError: `dataset-unknown` or `release-unknown`.
        IssuesError: Missing tables, wrong headers, broken files, wrong counts: all of a kind at once.
        DataImportError: A row that does not fit, and the other codes of `conversion`.
        DataSpaceError: Disk or memory do not suffice.
        WriteError: The workspace cannot be written.
    """
    dataset = load_dataset(workspace, dataset_name)
    settled = settle_release(dataset, release, folders)
    located = locate(dataset, settled, folders)
    folder = workspace.imported(settled.token)
    spill = workspace.spill_folder / f"import-{dataset.name}-{settled.name}"
    _make(folder)
    _make(spill)
    with _as_write_error(folder), _locked(folder / _LOCK), _cleaned(folder / _BUILDING, spill):
        _remove_unfinished_writes(folder)
        inspected = inspect_all(located.sources, folder / _MEMORY, progress)
        uncounted = check_counts(settled, located.sources, inspected)
        kept = _finished(folder, located.sources, inspected)
        todo = {name: source for name, source in located.sources.items() if name not in kept}
        lasting, passing = room_needed((source.table, inspected[name]) for name, source in todo.items())
        refuse_full_disk({folder: lasting, spill: passing})
        if todo:
            (folder / RELEASE_RECORD).unlink(missing_ok=True)
        limit = memory_limit or workspace.memory_limit
        with contextlib.closing(connect(spill, memory_limit=limit, threads=threads)) as connection:
            made = _convert_all(connection, folder, todo, inspected, progress)
            version = str(connection.execute("SELECT version()").fetchall()[0][0])
        record = _record(settled, located, kept | made, uncounted, version)
        _remove_others(folder, record)
        write_import_record(folder, record)
    return Imported(record, tuple(made), tuple(kept))


def _finished(
    folder: Path, sources: Mapping[str, Source], inspected: Mapping[str, Inspected]
) -> dict[str, TableRecord]:
    """Tables that need nothing: imported from the same bytes, by the same definition, and still there."""
    finished = {}
    for name, source in sources.items():
        place = table_folder(folder, name)
        record = read_table_record(place)
        if (
            record is not None
            and record.storage == source.table.storage_digest()
            and record.source.get("sha256") == inspected[name].sha256
            and all(_size(place / f"{order}.parquet") == each["size"] for order, each in record.files.items())
        ):
            finished[name] = record
    return finished


def _convert_all(
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    sources: Mapping[str, Source],
    inspected: Mapping[str, Inspected],
    progress: Progress,
) -> dict[str, TableRecord]:
    steps = {name: 1 + len(source.table.sort) for name, source in sources.items()}
    total = max(1, sum(inspected[name].size * count for name, count in steps.items()) >> 20)
    done, made = 0, {}
    for name, source in sources.items():

        def told(size: int = inspected[name].size) -> None:
            nonlocal done
            done += size
            progress(min(total, done >> 20), total, _STEP)

        building = folder / _BUILDING / name
        _make(building)
        found = convert(connection, source, building, rows=inspected[name].rows, told=told)
        made[name] = TableRecord(
            name=name,
            storage=source.table.storage_digest(),
            rows=found.rows,
            source={"file": source.name, "size": inspected[name].size, "sha256": inspected[name].sha256},
            files={order: _sealed(building / f"{order}.parquet") for order in source.table.sort},
            empty_columns=found.empty_columns,
            undeclared_columns=tuple(source.undeclared),
            availability=found.availability,
        )
        write_table_record(building, made[name])
        _move(building, table_folder(folder, name))
    progress(total, total, _STEP)
    return made


def _record(
    release: Release,
    located: Located,
    tables: Mapping[str, TableRecord],
    uncounted: Sequence[str],
    version: str,
) -> ImportRecord:
    return ImportRecord(
        release=release.token,
        release_class=release.release_class,
        tables={name: tables[name] for name in located.sources},
        absent=located.absent,
        undeclared=located.undeclared,
        uncounted=tuple(uncounted),
        duckdb=version,
    )


def _sealed(path: Path) -> dict[str, int | str]:
    """Size and digest of a finished file, which is on the disk afterwards."""
    with path.open("rb") as stream:
        os.fsync(stream.fileno())
    return {"size": path.stat().st_size, "sha256": sha256_file(path)}


def _move(building: Path, place: Path) -> None:
    """Put a finished table's folder in its place, at once; what was there is removed after it."""
    place.parent.mkdir(exist_ok=True)
    if place.exists():
        place.replace(building.with_name(f"old-{building.name}"))
    building.replace(place)


def _remove_others(folder: Path, record: ImportRecord) -> None:
    """Remove tables of an earlier import that this one does not have: a store is exactly its record."""
    for place in (folder / TABLES).iterdir():
        if place.name not in record.tables:
            shutil.rmtree(place)


def _remove_unfinished_writes(folder: Path) -> None:
    """Remove what a process leaves that is killed while it writes a record."""
    for path in folder.glob(".*.tmp"):
        path.unlink()


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        raise WriteError(f"the folder cannot be made: {failure.strerror}", where=str(folder)) from failure


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None


@contextlib.contextmanager
def _as_write_error(folder: Path) -> Iterator[None]:
    """What the system refuses while files are moved and sealed, as our error."""
    try:
        yield
    except MedomniError:
        raise
    except OSError as failure:
        where = str(failure.filename or folder)
        what = f"the import could not be written: {failure.strerror or failure}"
        hint = "free some space or check who may write there, then run the command again"
        raise WriteError(what, where=where, hint=hint) from failure


@contextlib.contextmanager
def _cleaned(*folders: Path) -> Iterator[None]:
    """Folders without what a killed import left in them, and gone afterwards."""
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
        _make(folder)
    try:
        yield
    finally:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other imports of the same release out. The lock ends with the process."""
    with path.open("ab") as stream:
        with contextlib.suppress(ImportError):
            import fcntl

            try:
                fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as failure:
                raise DataImportError(
                    "another running import writes this release",
                    where=str(path.parent),
                    hint="wait for it to end",
                    code="import-in-use",
                ) from failure
        yield
