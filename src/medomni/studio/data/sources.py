"""The files of a release: found below the folders that a user names, their headers held against the tables.

Everything that is wrong is found at once, before any row is read. Leaves to others: the rows (`inspection`,
`conversion`).
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from medomni.core.issues import Issue, IssuesError, Severity, error
from medomni.studio.data.definitions import Dataset, Release, Table
from medomni.studio.data.errors import DataImportError

_LONGEST_HEADER = 1 << 20
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Source:
    """The file of a table.

    Attributes:
        table: The table's definition.
        path: The file.
        name: Its path below the folder that the user named, such as `hosp/labevents.csv.gz`.
        header: Names of its columns as they stand there.
        line_end: `\\n` or `\\r\\n`.
    """

    table: Table
    path: Path
    name: str
    header: tuple[str, ...] = ()
    line_end: str = "\n"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of its columns in lower case, as tables are declared."""
        return tuple(name.lower() for name in self.header)

    @property
    def undeclared(self) -> list[str]:
        """Columns that the table does not declare, and that are never read."""
        return sorted(set(self.columns) - set(self.table.columns))

    def open(self) -> BinaryIO:
        """The bytes of the file, decompressed."""
        return open_plain(self.path)


@dataclass(frozen=True, slots=True)
class Located:
    """What lies below the folders: a file for each table that is there, and what is not."""

    sources: Mapping[str, Source]
    absent: tuple[str, ...] = ()
    undeclared: tuple[str, ...] = field(default=())


def open_plain(path: Path) -> BinaryIO:
    """The bytes of a file, decompressed where its name ends in `.gz`.

    Raises:
        DataImportError: `source-unreadable`.
    """
    try:
        if path.name.endswith(".gz"):
            return gzip.open(path, "rb")  # type: ignore[return-value]
        return path.open("rb")
    except OSError as failure:
        raise unreadable(path, failure) from failure


def unreadable(path: Path, failure: Exception) -> DataImportError:
    """The error for a file that the system does not let us read."""
    reason = getattr(failure, "strerror", None) or str(failure) or type(failure).__name__
    return DataImportError(f"{path.name} cannot be read: {reason}", where=str(path), code="source-unreadable")


def as_issue(failure: DataImportError) -> Issue:
    """The issue of one file among several that are looked at."""
    return Issue(failure.code, Severity.ERROR, failure.where, failure.what, failure.hint)


def locate(dataset: Dataset, release: Release, folders: Sequence[Path]) -> Located:
    """Find and check the file of every table that the release may have.

    Args:
        dataset: The dataset.
        release: One of its releases.
        folders: Where the files lie, as the user named them.

    Raises:
        IssuesError: All that is wrong: folders (`source-folder`), tables (`table-missing`, `table-twice`,
            `module-missing`), headers (`header-unreadable`, `column-missing`, `column-twice`).
    """
    issues = [_no_folder(folder) for folder in folders if not folder.is_dir()]
    _refuse(issues, release)
    sources: dict[str, Source] = {}
    absent: list[str] = []
    for table in dataset.tables.values():
        if table.module not in release.modules:
            continue
        found = list(_candidates(dataset, table, folders))
        if len(found) > 1:
            listed = ", ".join(str(each.path) for each in found)
            issues.append(
                error("table-twice", listed, f"{table.name} lies in {len(found)} files", "leave only one")
            )
        elif found:
            sources[table.name] = found[0]
        else:
            absent.append(table.name)
    issues.extend(_missing(dataset, release, sources, absent, folders))
    checked: dict[str, Source] = {}
    for name, source in sources.items():
        try:
            checked[name] = with_header(source)
        except DataImportError as failure:
            issues.append(as_issue(failure))
        else:
            issues.extend(_header_problems(checked[name]))
    _refuse(issues, release)
    return Located(checked, tuple(absent), tuple(_undeclared(dataset, checked, folders)))


def find_table(dataset: Dataset, table: Table, folders: Iterable[Path]) -> Path | None:
    """The first file of a table below the folders; None if there is none."""
    return next((each.path for each in _candidates(dataset, table, folders)), None)


def _candidates(dataset: Dataset, table: Table, folders: Iterable[Path]) -> Iterator[Source]:
    for folder in folders:
        for pattern in dataset.patterns[table.module]:
            name = pattern.format(file=table.file)
            if (folder / name).is_file():
                yield Source(table, folder / name, name)


def _missing(
    dataset: Dataset,
    release: Release,
    sources: Mapping[str, Source],
    absent: Iterable[str],
    folders: Iterable[Path],
) -> Iterator[Issue]:
    where = ", ".join(map(str, folders))
    there = {source.table.module for source in sources.values()}
    for module, required in release.modules.items():
        if required and module not in there:
            patterns = " or ".join(dataset.patterns[module]).replace("{file}", "<table>")
            what = f"{release.token} needs the module {module}, and no file of it is there"
            yield error("module-missing", where, what, f"name the folder that holds {patterns}")
    for name in absent:
        table = dataset.tables[name]
        if table.module in there and release.release_class in table.required:
            hint = " or ".join(pattern.format(file=table.file) for pattern in dataset.patterns[table.module])
            yield error(
                "table-missing", where, f"{release.token} needs the table {name}", f"looked for {hint}"
            )


def with_header(source: Source) -> Source:
    """The source with the columns of its first line.

    Raises:
        DataImportError: `header-unreadable`, or `source-unreadable`.
    """
    try:
        with source.open() as stream:
            line = stream.readline(_LONGEST_HEADER)
    except (OSError, EOFError, zlib.error) as failure:
        raise unreadable(source.path, failure) from failure
    line_end = "\r\n" if line.endswith(b"\r\n") else "\n"
    try:
        text = line.removeprefix(_BOM).decode("utf-8")
    except UnicodeDecodeError as failure:
        raise _header_error(source, "its first line is not UTF-8", "save it as UTF-8") from failure
    if "\r" in text.removesuffix(line_end) or "\x00" in text:
        raise _header_error(
            source, "its lines end with CR alone, or it is not UTF-8", "use LF or CRLF, and UTF-8"
        )
    header = next(csv.reader([text.removesuffix(line_end)], strict=True), [])
    if not any(header):
        raise _header_error(source, "its first line is empty", "the first line names the columns")
    return Source(source.table, source.path, source.name, tuple(header), line_end)


def _header_error(source: Source, why: str, hint: str) -> DataImportError:
    return DataImportError(
        f"{source.table.name}: {why}", where=f"{source.path}:1", hint=hint, code="header-unreadable"
    )


def _header_problems(source: Source) -> Iterator[Issue]:
    where = f"{source.path}:1"
    for name in sorted({name for name in source.columns if source.columns.count(name) > 1}):
        yield error("column-twice", where, f"{source.table.name} has the column {name!r} more than once")
    for name in source.table.columns:
        if name not in source.columns:
            what = f"{source.table.name} has no column {name!r}"
            yield error("column-missing", where, what, f"its columns: {', '.join(source.header)}"[:300])


def _undeclared(dataset: Dataset, sources: Mapping[str, Source], folders: Iterable[Path]) -> list[str]:
    """Tables beside the ones that are read, which nothing declares: named, never opened."""
    used = {source.path for source in sources.values()}
    found = set()
    for folder in folders:
        for patterns in dataset.patterns.values():
            for pattern in patterns:
                before, _, after = pattern.partition("{file}")
                for path in (folder / before).glob(f"*{after}"):
                    if path not in used and path.is_file():
                        found.add(f"{before}{path.name}")
    return sorted(found)


def _no_folder(folder: Path) -> Issue:
    return error("source-folder", str(folder), "there is no such folder", "name the folder with --from")


def _refuse(issues: list[Issue], release: Release) -> None:
    if issues:
        raise IssuesError(
            f"these files cannot be imported as {release.token}: {len(issues)} problems", issues=issues
        )
