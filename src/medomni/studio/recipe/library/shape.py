"""What a function of the library must say of itself, and how its SQL is read.

SQL of the library is constant text, parsed into a tree once; tables that a release lacks are replaced by
empty ones there. Nothing that a user writes enters it.

Leaves to others: the functions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp

from medomni.studio.recipe.catalog import Catalog, Kind
from medomni.studio.recipe.values import Value, cast, column, first_outcome, number, operate

# The relation of a value function's candidates, one row each: `cand_id`, `subject_id`, `t0`, the ids that the
# function asks for, and its arguments as `a1`, `a2`, …
CANDIDATES = "candidates"


@dataclass(frozen=True, slots=True)
class ValueFunction:
    """A function that gives one value per candidate.

    Attributes:
        parameters: Name and kind of each argument.
        kind: Kind of the result.
        ids: Id columns that the trigger must have.
        tables: Tables that it reads.
        sql: A query over `candidates` and the tables that gives `cand_id` and `value`.
        until: Number of the argument after which it reads nothing; None if it reads the future.
        uses: Event functions whose events it reads, from relations of their names.
    """

    name: str
    version: int
    parameters: tuple[tuple[str, Kind], ...]
    kind: Kind
    sql: str
    tables: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    until: int | None = None
    nullable: bool = False
    uses: tuple[EventsFunction, ...] = ()

    def outcome(self, args: Sequence[Value], *, strict: bool) -> str:
        """Why its result may tell the future; empty if it cannot."""
        told = first_outcome(*args)
        if told:
            return told
        if self.until is None:
            return f"{self.name}@{self.version} reads what comes after the prediction time"
        if strict or not args[self.until].known_by_index:
            return f"{self.name}@{self.version} reads up to a moment that is not before the prediction time"
        return ""


@dataclass(frozen=True, slots=True)
class EventsFunction:
    """A function that gives events: `subject_id`, `time`, its keys and columns, `value` if it has one.

    Attributes:
        known: Times at which a row is known; at any other it tells the future.
        final: Columns that are only final at one of the named times.
    """

    name: str
    version: int
    columns: Mapping[str, Kind]
    keys: tuple[str, ...]
    sql: str
    tables: tuple[str, ...]
    value: Kind | None = None
    known: tuple[str, ...] = ("time",)
    final: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def relation(self) -> str:
        """The relation that holds its events, computed once for all who read them."""
        return f"{self.name}@{self.version}"


def query(sql: str, catalog: Catalog, present: Collection[str], *, subject: int | None = None) -> exp.Query:
    """The tree of a library query.

    Args:
        sql: Its text.
        catalog: The declared tables.
        present: Those that the release has; empty ones stand for the others.
        subject: One patient only.
    """
    tree = sqlglot.parse_one(sql, dialect="duckdb")
    if not isinstance(tree, exp.Query):  # pragma: no cover - the library's own text
        raise TypeError(sql[:40])
    for table in list(tree.find_all(exp.Table)):
        name = table.name
        if name not in catalog.tables:
            continue
        if name not in present:
            table.replace(empty_table(name, catalog).subquery(table.alias_or_name or None))
        elif subject is not None:
            table.replace(_of_patient(name, catalog, subject).subquery(table.alias_or_name or None))
    return tree


def _of_patient(name: str, catalog: Catalog, subject: int) -> exp.Select:
    """A patient's rows of a table, from where they lie together."""
    rows = exp.select(exp.Star()).from_(exp.Table(this=exp.to_identifier(f"{name}@by_patient", quoted=True)))
    patient = catalog.tables[name].patient
    return rows if patient is None else rows.where(operate(exp.EQ, column(patient), number(subject)))


def empty_table(name: str, catalog: Catalog) -> exp.Select:
    """A query with a table's columns and no row."""
    columns = [
        exp.alias_(cast(exp.Null(), kind.duckdb), column, quoted=True)
        for column, kind in catalog.tables[name].columns.items()
    ]
    return exp.select(*columns).where(exp.false())
