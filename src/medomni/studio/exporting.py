"""A cohort's answers as a MEDS label file, for tools of the MEDS family.

MEDS labels are one row for each subject and prediction time, with the answer in the column of its type. They
say nothing of guards: whoever trains on them must take the evidence from a built pair.

Leaves to others: drawing the cohort (`select`), and the data itself in MEDS's form.

Source: the LabelSchema of the package meds 0.4.1 for names and types of the columns.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medomni.core.errors import WriteError
from medomni.core.workspace import Workspace
from medomni.studio.data.connection import as_our_errors, connect, literal
from medomni.studio.definitions.templates import Target, Template
from medomni.studio.errors import UnknownDefinitionError
from medomni.studio.recipe.model import Label
from medomni.studio.select import Selection

if TYPE_CHECKING:
    import duckdb

# By the type of a label: the columns that hold its answer, as MEDS names them, with DuckDB's types.
_VALUES = {
    "binary": (("boolean_value", "BOOLEAN"),),
    "ordinal": (("integer_value", "BIGINT"), ("categorical_value", "VARCHAR")),
    "number": (("float_value", "FLOAT"),),
}


def target_of(template: Template, name: str | None) -> Target:
    """The target of that name; the only one, where none is named.

    Raises:
        UnknownDefinitionError: `target-needed`: there are several; `target-unknown`.
    """
    known = ", ".join(target.name for target in template.targets)
    if name is None:
        if len(template.targets) == 1:
            return template.targets[0]
        raise UnknownDefinitionError(
            f"{template.name} has {len(template.targets)} targets, and a label file holds one",
            hint=f"name one with --target: {known}",
            code="target-needed",
        )
    for target in template.targets:
        if target.name == name:
            return target
    raise UnknownDefinitionError(
        f"{template.name} has no target {name!r}", hint=f"there are: {known}", code="target-unknown"
    )


@dataclass(frozen=True, slots=True)
class Exported:
    """A label file that was written."""

    path: Path
    target: str
    rows: int
    columns: tuple[str, ...]


def write_meds_labels(
    workspace: Workspace, selection: Selection, label: Label, target: str, out: Path
) -> Exported:
    """Write the answers of a cohort as MEDS labels: Parquet, one row a patient, in the order of subjects.

    A binary answer is a `boolean_value`, a class its number from 0 in `integer_value` and its name in
    `categorical_value`, a number a `float_value` of 32 bits, as MEDS has it.

    Args:
        workspace: For the spill folder.
        selection: The drawn cohort.
        label: The target's.
        target: The target's name.
        out: A new file.

    Raises:
        WriteError: `out` is there already (`export-exists`), or cannot be written.
        MissingExtraError: DuckDB is not installed.
    """
    if out.exists():
        raise WriteError(
            f"{out} is there already", where=str(out), hint="name a new file", code="export-exists"
        )
    if not out.absolute().parent.is_dir():
        raise WriteError(f"the folder of {out} is not there", where=str(out), hint="make the folder first")
    values = _VALUES[label.kind]
    columns = (("subject_id", "BIGINT"), ("prediction_time", "TIMESTAMP"), *values)
    rows = list(_rows(selection, label, target))
    temporary = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    connection = connect(workspace.spill_folder, threads=1)
    try:
        with as_our_errors(f"writing {out}"):
            _fill(connection, columns, rows)
            connection.execute(f"COPY labels TO {literal(temporary)} (FORMAT parquet)")
        temporary.replace(out)
    except OSError as failure:
        raise WriteError(f"{out} could not be written: {failure.strerror}", where=str(out)) from failure
    finally:
        connection.close()
        temporary.unlink(missing_ok=True)
    return Exported(out, target, len(rows), tuple(name for name, _ in columns))


def _fill(
    connection: duckdb.DuckDBPyConnection, columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[Any]]
) -> None:
    declared = ", ".join(f"{name} {kind} NOT NULL" for name, kind in columns)
    connection.execute(f"CREATE TABLE labels ({declared})")
    marks = ", ".join("?" for _ in columns)
    connection.executemany(f"INSERT INTO labels VALUES ({marks})", [list(row) for row in rows])  # noqa: S608 - our own names


def _rows(selection: Selection, label: Label, target: str) -> Iterator[tuple[Any, ...]]:
    for atom in sorted(selection.atoms, key=lambda each: each.subject):
        when = datetime.fromisoformat(atom.prediction_time)
        yield (atom.subject, when, *_value(atom.answer(target), label))


def _value(value: Any, label: Label) -> tuple[Any, ...]:
    if label.kind == "binary":
        return (bool(value),)
    if label.kind == "ordinal":
        return (int(value), label.classes[int(value)])
    return (float(value),)
