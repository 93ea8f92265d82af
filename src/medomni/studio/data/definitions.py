"""`dataset.yaml` and `recipes/tables.yaml` as typed objects: which releases there are, what a table holds.

All problems of a file are found at once, each with its line. Leaves to others: families, labels and recipes,
and whether files of a release hold what stands here (`sources`, `importer`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from medomni.core import contracts
from medomni.core.errors import DocumentNotFoundError
from medomni.core.files import Document, JsonPath, canonical_json, read_yaml
from medomni.core.hashing import sha256_bytes
from medomni.core.issues import Issue, IssuesError, error
from medomni.core.workspace import Workspace
from medomni.studio.config_files import crlf_issues
from medomni.studio.data.column_types import ColumnType, parse_type
from medomni.studio.data.errors import StoreError
from medomni.studio.data.showing import Show, read_show

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_TIMES = ("timestamp", "date")


@dataclass(frozen=True, slots=True)
class AvailableFrom:
    """One way to know when a row became known.

    Attributes:
        column: A time column of the row, or of the row of `table` that `by` leads to.
        day_end: Whether `column` is a day, which must be over.
        table: Another table; None for the row itself.
        by: Columns that both tables have.
        plus_seconds: How much later.
    """

    column: str
    day_end: bool = False
    table: str | None = None
    by: tuple[str, ...] = ()
    plus_seconds: int = 0

    def __str__(self) -> str:
        place = f"{self.table}.{self.column}" if self.table else self.column
        day = f"end of the day of {place}" if self.day_end else place
        days, rest = divmod(self.plus_seconds, _SECONDS["d"])
        later = f"{self.plus_seconds} s" if rest else f"{days} d"
        return f"{day} + {later}" if self.plus_seconds else day


@dataclass(frozen=True, slots=True)
class End:
    """A time within a row that comes after its start, and the columns that are only final then."""

    column: str
    hides: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a dataset: `<module>.<table>`.

    Attributes:
        columns: Name and type of every column that is read, in the order of the definition.
        patient: Column of the patient; None for a dictionary.
        key: Columns that name a row; empty where the dataset promises none.
        available: The first of these that has a value says when a row was known; empty: always.
        sort: First columns of each order (`by_patient`, `by_item`) in which the table is kept.
        stored: Times of storing: where a release has them, a row without any was never seen to be stored.
        timeless: Whether rows without any time are meant so: they are known always.
        show: How evidence shows the columns.
    """

    name: str
    file: str
    required: frozenset[str]
    columns: Mapping[str, ColumnType]
    sort: Mapping[str, tuple[str, ...]]
    patient: str | None = None
    admission: str | None = None
    stay: str | None = None
    key: tuple[str, ...] = ()
    code: str | None = None
    dictionary: str | None = None
    time: str | None = None
    available: tuple[AvailableFrom, ...] = ()
    ends: tuple[End, ...] = ()
    undated: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    stored: tuple[str, ...] = ()
    timeless: bool = False
    show: Show = field(default_factory=Show)

    @property
    def module(self) -> str:
        """The module that it belongs to, such as `hosp`."""
        return self.name.partition(".")[0]

    @property
    def never_empty(self) -> frozenset[str]:
        """Columns in which every row must have a value."""
        return frozenset((*self.key, self.patient)) - {None}  # type: ignore[return-value]

    def order(self, name: str) -> tuple[str, ...]:
        """All columns of a sort order: a total order of the rows, whatever order the file has."""
        first = self.sort[name]
        rest = self.key or tuple(self.columns)
        return (*first, *(column for column in rest if column not in first))

    def storage_digest(self) -> str:
        """SHA-256 of what decides the imported files: a change here asks for a new import."""
        columns = {name: [kind.text, kind.rounds] for name, kind in self.columns.items()}
        orders = {name: list(self.order(name)) for name in sorted(self.sort)}
        needed = sorted(self.never_empty)
        return sha256_bytes(canonical_json([self.name, list(columns.items()), orders, needed]))


@dataclass(frozen=True, slots=True)
class Release:
    """A release of a dataset: `<dataset>/<name>`.

    Attributes:
        release_class: `real`, `demo` or `dummy`; only the first is for scores.
        counts: Rows that a table must have, any of the numbers.
        modules: Name of each module and whether it is required.
    """

    dataset: str
    name: str
    release_class: str
    access: str
    licence: str
    terms: tuple[str, ...]
    modules: Mapping[str, bool]
    counts: Mapping[str, tuple[int, ...]]
    citation: str = ""

    @property
    def token(self) -> str:
        """The release as hashes, cohorts and manifests write it: `mimic-iv/3.1`."""
        return f"{self.dataset}/{self.name}"


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset: its releases, its modules with the patterns of their files, its tables."""

    name: str
    title: str
    releases: Mapping[str, Release]
    patterns: Mapping[str, tuple[str, ...]]
    tables: Mapping[str, Table]

    def release(self, name: str) -> Release:
        """The release of that name.

        Raises:
            StoreError: `release-unknown`.
        """
        if name not in self.releases:
            raise StoreError(
                f"{self.name} has no release {name!r}",
                hint=f"known releases: {', '.join(self.releases)}",
                code="release-unknown",
            )
        return self.releases[name]


def load_dataset(workspace: Workspace, name: str) -> Dataset:
    """The dataset of a workspace, checked whole.

    Raises:
        StoreError: `dataset-unknown`.
        DocumentError: A file is no readable YAML.
        IssuesError: A file does not hold what it must.
    """
    path = workspace.dataset(name) / "dataset.yaml"
    if not path.is_file():
        known = sorted(each.parent.name for each in workspace.datasets.glob(f"*/{path.name}"))
        raise StoreError(
            f"this workspace has no dataset {name!r}",
            where=str(path),
            hint=f"known datasets: {', '.join(known) or 'none'}",
            code="dataset-unknown",
        )
    tables = load_tables(workspace.recipe(name, "tables"))
    document = _read("dataset", path)
    issues = list(_dataset_problems(document, name, tables))
    _refuse(document, issues)
    value = document.value
    return Dataset(
        name=name,
        title=value["title"],
        releases={key: _release(name, key, each) for key, each in value["releases"].items()},
        patterns={key: tuple(each["files"]) for key, each in value["modules"].items()},
        tables=tables,
    )


def load_tables(path: Path) -> dict[str, Table]:
    """The tables of a `recipes/tables.yaml`, in its order.

    Raises:
        DocumentNotFoundError: There is no such file.
        DocumentError: It is no readable YAML.
        IssuesError: It does not hold what it must.
    """
    document = _read("tables", path)
    issues: list[Issue] = []
    tables: dict[str, Table] = {}
    for name, value in document.value["tables"].items():
        columns = {}
        for column, spec in value["columns"].items():
            kind = _column_type(spec)
            if kind is None:
                where = document.where(("tables", name, "columns", column))
                issues.append(error("tables-type-unknown", where, f"{spec!r} is no type", _TYPE_HINT))
            else:
                columns[column] = kind
        tables[name] = _table(name, value, columns)
    _refuse(document, issues)
    for table in tables.values():
        issues.extend(_table_problems(document, table, tables))
    _refuse(document, issues)
    return tables


_TYPE_HINT = "text, integer, bigint, timestamp, date or decimal(<digits>,<decimals>); only decimals can round"


def _read(kind: str, path: Path) -> Document:
    if not path.is_file():
        raise DocumentNotFoundError(f"there is no file {path.name}", where=str(path))
    document = read_yaml(path)
    _refuse(document, crlf_issues(str(path), path.read_bytes()))
    schema = resources.files("medomni.studio") / "schemas" / f"{kind}.schema.json"
    _refuse(document, contracts.check(kind, schema.read_text(encoding="utf-8"), document))
    return document


def _refuse(document: Document, issues: list[Issue]) -> None:
    if issues:
        what = f"{document.name} cannot be used: {len(issues)} problems"
        raise IssuesError(what, issues=issues, where=document.name)


def _column_type(spec: Any) -> ColumnType | None:
    if isinstance(spec, str):
        return parse_type(spec)
    return parse_type(spec["type"], rounds=spec.get("round", False))


def _table(name: str, value: Mapping[str, Any], columns: Mapping[str, ColumnType]) -> Table:
    return Table(
        name=name,
        file=value["file"],
        required=frozenset(value["required"]),
        columns=columns,
        sort={order: tuple(names) for order, names in value["sort"].items()},
        patient=value.get("patient"),
        admission=value.get("admission"),
        stay=value.get("stay"),
        key=tuple(value.get("key", ())),
        code=value.get("code"),
        dictionary=value.get("dictionary"),
        time=value.get("time"),
        available=tuple(_available(each) for each in value.get("available", ())),
        ends=tuple(End(each["column"], tuple(each.get("hides", ()))) for each in value.get("ends", ())),
        undated=tuple(value.get("undated", ())),
        text=tuple(value.get("text", ())),
        stored=tuple(value.get("stored", ())),
        timeless=value.get("timeless", False),
        show=read_show(value.get("show", {})),
    )


def _available(value: Any) -> AvailableFrom:
    if isinstance(value, str):
        return AvailableFrom(value)
    if "day_end" in value:
        return AvailableFrom(value["day_end"], day_end=True)
    plus = value.get("plus", "0s")
    return AvailableFrom(
        value.get("column", ""),
        table=value.get("from", ""),
        by=tuple(value.get("by", ())),
        plus_seconds=int(plus[:-1]) * _SECONDS[plus[-1]],
    )


def _release(dataset: str, name: str, value: Mapping[str, Any]) -> Release:
    counts = {table: (n,) if isinstance(n, int) else tuple(n) for table, n in value["counts"].items()}
    return Release(
        dataset=dataset,
        name=name,
        release_class=value["class"],
        access=value["access"],
        licence=value["licence"],
        terms=tuple(value["terms"]),
        modules={module: need == "required" for module, need in value["modules"].items()},
        counts=counts,
        citation=value.get("citation", ""),
    )


def _table_problems(document: Document, table: Table, tables: Mapping[str, Table]) -> Iterator[Issue]:
    base: JsonPath = ("tables", table.name)
    for path, column, types in _mentions(table):
        where = document.where((*base, *path))
        if column not in table.columns:
            yield error("tables-column-unknown", where, f"{table.name} declares no column {column!r}")
        elif types and table.columns[column].text not in types:
            what = f"{table.name}.{column} is {table.columns[column].text}, and must be {' or '.join(types)}"
            yield error("tables-column-type", where, what)
    for index, each in enumerate(table.available):
        if each.table is not None:
            yield from _link_problems(document, (*base, "available", index), table, each, tables)
    if table.dictionary is not None:
        other = tables.get(table.dictionary)
        if other is None or table.code is None or table.code not in other.columns:
            what = f"{table.dictionary} is no table with the column of {table.name}'s codes"
            yield error("tables-table-unknown", document.where((*base, "dictionary")), what)


def _mentions(table: Table) -> Iterator[tuple[JsonPath, str, tuple[str, ...]]]:
    """Every column that a table's definition names, where, and the types that it may have."""
    for role in ("patient", "admission", "stay", "code", "time"):
        column = getattr(table, role)
        if column is not None:
            yield (role,), column, _TIMES if role == "time" else ()
    for role in ("key", "undated", "text", "stored"):
        for index, column in enumerate(getattr(table, role)):
            yield (role, index), column, ()
    for order, columns in table.sort.items():
        for index, column in enumerate(columns):
            yield ("sort", order, index), column, ()
    for index, end in enumerate(table.ends):
        yield ("ends", index, "column"), end.column, _TIMES
        for place, column in enumerate(end.hides):
            yield ("ends", index, "hides", place), column, ()
    yield from table.show.mentions()
    for index, each in enumerate(table.available):
        if each.table is None:
            yield ("available", index), each.column, _TIMES if each.day_end else ("timestamp",)


def _link_problems(
    document: Document, path: JsonPath, table: Table, each: AvailableFrom, tables: Mapping[str, Table]
) -> Iterator[Issue]:
    where, other = document.where(path), tables.get(each.table or "")
    if other is None or not each.by or not each.column:
        what = f"{each.table or 'nothing'} is no declared table"
        yield error("tables-table-unknown", where, what, _LINK_HINT)
        return
    for column in each.by:
        if column not in table.columns or column not in other.columns:
            yield error("tables-column-unknown", where, f"not both tables declare a column {column!r}")
    kind = other.columns.get(each.column)
    if kind is None or kind.text != "timestamp":
        yield error("tables-column-type", where, f"{each.table}.{each.column} is no declared timestamp")


_LINK_HINT = "write {from: <table>, by: [<column>], column: <time column>, plus: 7d}"


def _dataset_problems(document: Document, name: str, tables: Mapping[str, Table]) -> Iterator[Issue]:
    value = document.value
    if value["dataset"] != name:
        what = f"{value['dataset']!r} is not the folder's name {name!r}"
        yield error("dataset-name", document.where(("dataset",)), what)
    where = document.where(("modules",))
    for module in sorted({table.module for table in tables.values()} - set(value["modules"])):
        yield error("dataset-module-unknown", where, f"the module {module!r} is missing")
    for key, release in value["releases"].items():
        for module in release["modules"]:
            if module not in value["modules"]:
                where = document.where(("releases", key, "modules", module))
                yield error("dataset-module-unknown", where, f"there is no module {module!r}")
        for table in release["counts"]:
            if table not in tables:
                where = document.where(("releases", key, "counts", table))
                yield error("dataset-table-unknown", where, f"tables.yaml declares no table {table!r}")
