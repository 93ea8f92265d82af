"""A label computed on a release: one row per candidate, with the answer and every rule's truth.

Rows are in the order of patient, prediction time and key, whatever the threads and the order of the
imported rows.

Leaves to others: the SQL (`recipe.plan`), and which candidates a cohort takes (`select`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sqlglot import exp

from medomni.core.errors import WriteError
from medomni.studio.errors import LabelError
from medomni.studio.recipe.binding import Bound
from medomni.studio.recipe.events import Data, relation, table, units_query
from medomni.studio.recipe.explain import window_rows
from medomni.studio.recipe.model import Predicate
from medomni.studio.recipe.plan import RESULT, iso, row_order, sql_text, steps
from medomni.studio.recipe.values import (
    Value,
    all_of,
    any_of,
    case,
    column,
    is_missing,
    number,
    operate,
    text,
)

if TYPE_CHECKING:
    import duckdb

_SHOWN = 5


class Tables(Protocol):
    """What a label needs of an imported release (`data.store.Store` is one)."""

    @property
    def token(self) -> str:
        """The release, `mimic-iv/demo-2.2`."""

    @property
    def present(self) -> frozenset[str]:
        """The tables that are there."""

    def empty_columns(self, name: str) -> frozenset[str]:
        """The columns of a table without a single value."""

    def connect(
        self, *, memory_limit: str | None = None, threads: int | None = None
    ) -> duckdb.DuckDBPyConnection:
        """A connection with a view per table, by its quoted name."""


@dataclass(frozen=True, slots=True)
class RuleColumn:
    """A rule of the table: `outcome` ones come after the pick."""

    name: str
    outcome: bool


@dataclass(slots=True)
class LabelTable:
    """Every candidate of a label on a release, in an open connection.

    Attributes:
        rules: In the order in which they are counted.
        notes: Rules that could not be applied, because the release lacks what they read.
        connection: Holds the rows as the relation `RESULT`.
    """

    bound: Bound
    release: str
    rules: tuple[RuleColumn, ...]
    notes: tuple[str, ...]
    connection: duckdb.DuckDBPyConnection = field(repr=False)

    @property
    def header(self) -> tuple[str, ...]:
        """The columns of the CSV."""
        return ("subject_id", "prediction_time", "value", "eligible", *(rule.name for rule in self.rules))

    def rows(self) -> list[tuple[Any, ...]]:
        """`subject_id`, `prediction_time`, `value`, `eligible`, each rule's truth; then the trigger's key."""
        names = ["subject_id", "prediction_time", "value", "eligible", *self._rule_columns(), "key"]
        return self.fetch(
            exp.select(*(column(name) for name in names)).from_(table(RESULT)).order_by(*row_order())
        )

    def fetch(self, query: exp.Query) -> list[tuple[Any, ...]]:
        """The rows of a query over the result."""
        return run(self.connection, query)

    def _rule_columns(self) -> list[str]:
        return [f"rule {rule.name}" for rule in self.rules]

    def write_csv(self, path: Path) -> int:
        """Write the table as CSV, whole or not at all, and return its number of rows.

        Raises:
            WriteError: `write-failed`.
        """
        temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
        statement = f"COPY ({sql_text(self._csv_query())}) TO {_quoted(temporary)} (HEADER, DELIMITER ',')"
        try:
            written = self.connection.execute(statement).fetchone()
            temporary.replace(path)
        except Exception as failure:
            temporary.unlink(missing_ok=True)
            raise WriteError(
                "the table could not be written", where=str(path), hint=str(failure)
            ) from failure
        return int(written[0]) if written else 0

    def _csv_query(self) -> exp.Query:
        truth = {rule.name: _truth(column(f"rule {rule.name}")) for rule in self.rules}
        outputs: dict[str, exp.Expr] = {
            "subject_id": column("subject_id"),
            "prediction_time": iso(column("prediction_time")),
            "value": column("value"),
            "eligible": _truth(column("eligible")),
            **truth,
        }
        select = exp.select(*(exp.alias_(sql, name, quoted=True) for name, sql in outputs.items()))
        return select.from_(table(RESULT)).order_by(*row_order())

    def close(self) -> None:
        """Give the connection back."""
        self.connection.close()

    def __enter__(self) -> LabelTable:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def label_table(
    store: Tables,
    bound: Bound,
    *,
    subject: int | None = None,
    extra: Mapping[str, Value] | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> LabelTable:
    """Compute a label: one row per candidate event of every patient.

    Args:
        store: The imported release.
        bound: The label, checked.
        subject: One patient only.
        extra: Further values to keep, by name.
        memory_limit: What DuckDB may use.
        threads: How many.

    Raises:
        LabelError: The label is not for this release, a table that it needs is absent, a unit is another one,
            or an answer is impossible.
    """
    _check_release(store, bound)
    data = Data(bound.scope.catalog, store.present, subject)
    connection = store.connect(memory_limit=memory_limit, threads=threads)
    try:
        _check_units(connection, bound, data)
        for step in steps(bound, data, extra=extra):
            with _explained(f"the label {bound.label.name!r}, step {step.name!r}"):
                connection.execute(step.sql())
        _check_answers(connection, bound)
        notes = tuple(_notes(store, bound, connection)) if subject is None else ()
    except BaseException:
        connection.close()
        raise
    rules = tuple(RuleColumn(rule.name, rule.outcome) for rule in bound.rules)
    return LabelTable(bound, store.token, rules, notes, connection)


def run(connection: duckdb.DuckDBPyConnection, query: exp.Query) -> list[tuple[Any, ...]]:
    """The rows of a query.

    Raises:
        LabelError: `label-query`.
    """
    with _explained("a query over the label"):
        rows: list[tuple[Any, ...]] = connection.execute(sql_text(query)).fetchall()
        return rows


@contextmanager
def _explained(what: str) -> Iterator[None]:
    import duckdb

    try:
        yield
    except duckdb.OutOfMemoryException as failure:
        raise LabelError(
            f"{what} needs more memory than it may use",
            hint="raise studio.memory_limit in medomni.toml, or free room in its spill_folder",
            code="label-memory",
        ) from failure
    except duckdb.Error as failure:
        first = str(failure).splitlines()[0]
        raise LabelError(f"{what} cannot be computed: {first}", code="label-query") from failure


def _check_release(store: Tables, bound: Bound) -> None:
    label = bound.label
    if store.token not in label.releases:
        raise LabelError(
            f"the label {label.name!r} is not defined for {store.token}",
            where=label.file,
            hint=f"its releases: {', '.join(label.releases)}",
            code="label-release",
        )


def _check_units(connection: duckdb.DuckDBPyConnection, bound: Bound, data: Data) -> None:
    for event in bound.label.events.values():
        used = isinstance(event, Predicate) and event.name in bound.scope.used.events
        query = units_query(event, data) if isinstance(event, Predicate) and used else None
        found = run(connection, query) if query is not None else []
        if found:
            shown = ", ".join(f"{unit!r} ({count} rows)" for unit, count in found[:_SHOWN])
            raise LabelError(
                f"values of {event.name!r} have other units than allowed: {shown}",
                where=bound.label.file,
                hint="list every unit that means the same under `unit:`, or limit the codes",
                code="label-unit",
            )


def _check_answers(connection: duckdb.DuckDBPyConnection, bound: Bound) -> None:
    """Refuse answers that cannot be: outside the classes or the range.

    Raises:
        LabelError: `label-value-range`.
    """
    label = bound.label
    low, high = label.range or (0, {"binary": 1}.get(label.kind, len(label.classes) - 1))
    value = column("value")
    # Rules see to it that an eligible answer is there; one that is not would be their fault.
    outside = [is_missing(value), operate(exp.LT, value, number(low)), operate(exp.GT, value, number(high))]
    wrong = all_of([column("eligible"), any_of(outside)])
    query = exp.select(column("subject_id"), iso(column("prediction_time")), value).from_(table(RESULT))
    found = run(connection, query.where(wrong).order_by(*row_order()).limit(_SHOWN))
    if found:
        shown = "; ".join(f"patient {subject} at {moment}: {value}" for subject, moment, value in found)
        raise LabelError(
            f"{label.name!r} gives answers outside {low} to {high}: {shown}",
            where=label.file,
            code="label-value-range",
        )


def _notes(store: Tables, bound: Bound, connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """Predicates that the release cannot answer: no table, an empty column, or no such event at all."""
    for name, event in bound.label.events.items():
        if not isinstance(event, Predicate) or name not in bound.scope.used.events:
            continue
        if event.table not in store.present:
            yield f"{name}: {store.token} has no table {event.table}; no such events"
            continue
        empty = sorted(bound.scope.sources[name].filtered & store.empty_columns(event.table))
        if empty:
            yield f"{name}: {event.table}.{empty[0]} is empty in {store.token}; no such events"
        elif not run(connection, exp.select(exp.Literal.number("1")).from_(table(relation(name))).limit(1)):
            yield f"{name}: {store.token} has no such event"


def _truth(sql: exp.Expr) -> exp.Expr:
    return case([(sql, text("true"))], text("false"))


def _quoted(path: Path) -> str:
    return sql_text(text(str(path)))


def explain(store: Tables, bound: Bound, *, subject: int, threads: int | None = None) -> list[dict[str, Any]]:
    """Every candidate of a patient with its rules, and the events in each of its windows.

    Raises:
        LabelError: As `label_table`; `label-patient-unknown`: the patient has no candidate.
    """
    with label_table(store, bound, subject=subject, threads=threads) as found:
        rows = found.rows()
        if not rows:
            raise LabelError(
                f"patient {subject} has no event of the trigger {bound.label.trigger!r} in {store.token}",
                code="label-patient-unknown",
            )
        handles = found.fetch(exp.select(column("cand_id")).from_(table(RESULT)).order_by(*row_order()))
        windows = window_rows(found.connection, bound)
        return [
            {
                "prediction_time": row[1],
                "key": row[-1],
                "value": row[2],
                "eligible": row[3],
                "rules": {rule.name: row[4 + index] for index, rule in enumerate(found.rules)},
                "windows": windows.get(handle, {}),
            }
            for (handle,), row in zip(handles, rows, strict=True)
        ]
