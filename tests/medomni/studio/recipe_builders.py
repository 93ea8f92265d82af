"""Small releases from inline rows and labels from inline YAML, against the repository's table definitions.

A release is a DuckDB connection with a table per name; no file is read but the definitions.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from medomni.core.issues import Issue, IssuesError
from medomni.core.workspace import load_workspace
from medomni.studio.data.definitions import Dataset, Table, load_dataset
from medomni.studio.definitions.library import Library
from medomni.studio.labels import LabelTable, label_table
from medomni.studio.recipe.binding import Bound

REPOSITORY = Path(__file__).resolve().parents[3]
DATASET = REPOSITORY / "studio" / "datasets" / "mimic-iv"
RELEASE = "mimic-iv/demo-2.2"
T0 = "2150-01-10 00:00:00"


@cache
def dataset() -> Dataset:
    """The dataset's definitions, read once."""
    return load_dataset(load_workspace(REPOSITORY), "mimic-iv")


def workspace(folder: Path) -> Library:
    """A workspace with the dataset's definitions and none of its labels."""
    (folder / "medomni.toml").write_text('release = "0.3.0"\n')
    home = folder / "studio" / "datasets" / "mimic-iv"
    (home / "recipes").mkdir(parents=True)
    (home / "labels").mkdir()
    shutil.copy(DATASET / "dataset.yaml", home)
    for name in ("tables", "families"):
        shutil.copy(DATASET / "recipes" / f"{name}.yaml", home / "recipes")
    return Library(load_workspace(folder), dataset())


def write_label(library: Library, body: str, *, name: str = "it", head: str | None = None) -> Path:
    """A label file; `body` begins with the trigger."""
    start = head or (
        f"label: {name}\nversion: 1\nrequires: {{releases: [{RELEASE}]}}\nquestion: How much?\n"
        "type: number\nunit: units\nrange: [-1000000000, 1000000000]\n"
    )
    path = library.workspace.label("mimic-iv", name)
    guards = "" if "guards:" in body else "\nguards: [{table: hosp.drgcodes, where: all}]\n"
    path.write_text(start + body + guards)
    return path


def bound_label(folder: Path, body: str, *, head: str | None = None) -> Bound:
    """The checked label of a body, in a workspace of its own."""
    library = workspace(folder)
    write_label(library, body, head=head)
    return library.label("it")


def problems(folder: Path, body: str, *, head: str | None = None) -> list[Issue]:
    """The problems of a label that must not be right."""
    library = workspace(folder)
    write_label(library, body, head=head)
    try:
        library.label("it")
    except IssuesError as failure:
        return failure.issues
    return []


@dataclass(frozen=True)
class TinyRelease:
    """A release of inline rows: each a mapping of column to text, empty columns left out."""

    rows: Mapping[str, Sequence[Mapping[str, Any]]]
    definitions: Mapping[str, Table]
    token: str = RELEASE
    release_class: str = "demo"
    shuffled: bool = False
    lacking: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def present(self) -> frozenset[str]:
        return frozenset(self.rows)

    def empty_columns(self, name: str) -> frozenset[str]:
        return self.lacking.get(name, frozenset())

    def connect(
        self, *, memory_limit: str | None = None, threads: int | None = None
    ) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect()
        connection.execute("SET asof_loop_join_threshold = 0")
        if threads is not None:
            connection.execute(f"SET threads = {threads}")
        for name, rows in self.rows.items():
            columns = self.definitions[name].columns
            types = ", ".join(f'"{column}" {kind.duckdb}' for column, kind in columns.items())
            connection.execute(f'CREATE TABLE "{name}" ({types})')
            listed = list(reversed(rows)) if self.shuffled else list(rows)
            values = [[row.get(column) for column in columns] for row in listed]
            if values:
                marks = ", ".join("?" for _ in columns)
                connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', values)
            connection.execute(f'CREATE VIEW "{name}@by_patient" AS SELECT * FROM "{name}"')
        return connection


def patient(subject_id: int = 1, *, gender: str = "F", age: int = 60, year: int = 2150) -> dict[str, Any]:
    return {"subject_id": subject_id, "gender": gender, "anchor_age": age, "anchor_year": year}


def lab(
    number: int,
    time: str,
    value: str | None,
    *,
    subject_id: int = 1,
    itemid: int = 50912,
    unit: str | None = "mg/dL",
    **more: Any,
) -> dict[str, Any]:
    return {
        "labevent_id": number,
        "subject_id": subject_id,
        "specimen_id": number,
        "itemid": itemid,
        "charttime": time,
        "valuenum": value,
        "valueuom": unit,
        **more,
    }


def admission(
    hadm_id: int, start: str, end: str | None, *, subject_id: int = 1, **more: Any
) -> dict[str, Any]:
    return {
        "subject_id": subject_id,
        "hadm_id": hadm_id,
        "admittime": start,
        "dischtime": end,
        "admission_type": "URGENT",
        "hospital_expire_flag": 0,
        **more,
    }


def release(bound: Bound, **tables: Sequence[Mapping[str, Any]]) -> TinyRelease:
    """A release with patient 1, admissions and creatinine rows unless given; `hosp__labevents=[…]`."""
    rows: dict[str, Sequence[Mapping[str, Any]]] = {
        "hosp.patients": [patient()],
        "hosp.admissions": [],
        "hosp.labevents": [],
    }
    rows |= {name.replace("__", "."): given for name, given in tables.items()}
    return TinyRelease(rows, bound.scope.catalog.tables)


def table_of(bound: Bound, store: TinyRelease, **options: Any) -> list[dict[str, Any]]:
    """The rows of a label as mappings: value, eligible, time, key, and each rule by its name."""
    with label_table(store, bound, **options) as found:
        return as_mappings(found)


def as_mappings(found: LabelTable) -> list[dict[str, Any]]:
    names = ["subject", "time", "value", "eligible", *(rule.name for rule in found.rules), "key"]
    return [dict(zip(names, row, strict=True)) for row in found.rows()]


CREATININE = """
predicates:
  creatinine: {table: hosp.labevents, code: {any: [50912]}, value: valuenum}
trigger: creatinine
"""


def values(bound: Bound, store: TinyRelease, **options: Any) -> list[Any]:
    """The answers, in the order of the rows."""
    return [row["value"] for row in table_of(bound, store, **options)]
