"""A label computed on a release: one row per candidate, with the answer and every rule's truth.

Rows are in the order of patient, prediction time and key, whatever the threads and the order of the
imported rows.

Leaves to others: the SQL (`recipe.plan`), and which candidates a cohort takes (`select`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sqlglot import exp

from medomni.core.errors import WriteError
from medomni.studio.definitions.places import place_of
from medomni.studio.errors import LabelError
from medomni.studio.queries import explained, run
from medomni.studio.recipe.binding import Bound
from medomni.studio.recipe.candidates import iso
from medomni.studio.recipe.events import Data, relation, table
from medomni.studio.recipe.explain import window_rows
from medomni.studio.recipe.model import Predicate, Series
from medomni.studio.recipe.plan import RESULT, Plan, Step, row_order, sql_text
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
from medomni.studio.row_checks import check_own_rows, check_samples, check_units

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
    with begin(store, bound, subject=subject, memory_limit=memory_limit, threads=threads) as begun:
        return begun.whole(extra or {})


@dataclass(slots=True)
class Begun:
    """A label whose candidates are there, in an open connection, and whose rules are not computed yet.

    Used with `with`: the connection stays open if, and only if, a table was made of it.
    """

    connection: duckdb.DuckDBPyConnection = field(repr=False)
    _store: Tables
    _bound: Bound
    _plan: Plan
    _all: bool
    _given_away: bool = False

    def early(self) -> None:
        """Compute the rules before the pick, as the relation `recipe.plan.EARLY`.

        Raises:
            LabelError: `label-query`, `label-memory`.
        """
        self._run(self._plan.early())

    def late(self, picked: exp.Query, extra: Mapping[str, Value]) -> LabelTable:
        """Compute everything of the candidates whose `cand_id` a query gives.

        Raises:
            LabelError: As `label_table`.
        """
        return self._finished(self._plan.late(picked, extra))

    def whole(self, extra: Mapping[str, Value]) -> LabelTable:
        """Compute everything of every candidate.

        Raises:
            LabelError: As `label_table`.
        """
        return self._finished(self._plan.whole(extra))

    def _run(self, steps: Iterable[Step]) -> None:
        for step in steps:
            with explained(f"the label {self._bound.label.name!r}, step {step.name!r}"):
                self.connection.execute(step.sql())

    def _finished(self, steps: Iterable[Step]) -> LabelTable:
        self._run(steps)
        _check_answers(self.connection, self._bound)
        notes = tuple(_notes(self._store, self._bound, self.connection)) if self._all else ()
        rules = tuple(RuleColumn(rule.name, rule.outcome) for rule in self._bound.rules)
        self._given_away = True
        return LabelTable(self._bound, self._store.token, rules, notes, self.connection)

    def __enter__(self) -> Begun:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._given_away:
            self.connection.close()


def begin(
    store: Tables,
    bound: Bound,
    *,
    subject: int | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> Begun:
    """Find the candidates of a label, with their windows.

    Args:
        store: The imported release.
        bound: The label, checked.
        subject: One patient only.
        memory_limit: What DuckDB may use.
        threads: How many.

    Raises:
        LabelError: The label is not for this release, or a unit is another one than allowed.
    """
    _check_release(store, bound)
    data = Data(bound.scope.catalog, store.present, subject)
    connection = store.connect(memory_limit=memory_limit, threads=threads)
    begun = Begun(connection, store, bound, Plan(bound, data), _all=subject is None)
    try:
        check_units(connection, bound, data)
        check_samples(connection, bound, data)
        begun._run(begun._plan.start())
        check_own_rows(connection, bound, data)
    except BaseException:
        connection.close()
        raise
    return begun


def _check_release(store: Tables, bound: Bound) -> None:
    label = bound.label
    if store.token not in label.releases:
        raise LabelError(
            f"the label {label.name!r} is not defined for {store.token}",
            where=label.file,
            hint=f"its releases: {', '.join(label.releases)}",
            code="label-release",
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
            where=place_of(label, ("value",)),
            code="label-value-range",
        )


def _notes(store: Tables, bound: Bound, connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """Predicates that the release cannot answer: no table, an empty column, or no such event at all."""
    for name, event in bound.label.events.items():
        rows = event.base if isinstance(event, Series) else event
        if not isinstance(rows, Predicate) or name not in bound.scope.used.events:
            continue
        if rows.table not in store.present:
            yield f"{name}: {store.token} has no table {rows.table}; no such events"
            continue
        empty = sorted(bound.scope.sources[name].filtered & store.empty_columns(rows.table))
        if empty:
            yield f"{name}: {rows.table}.{empty[0]} is empty in {store.token}; no such events"
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
