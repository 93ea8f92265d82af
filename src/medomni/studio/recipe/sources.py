"""What a predicate's events look like from outside: their columns, ids and keys.

Leaves to others: the rows (`events`), and what the columns may tell (`binding`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from medomni.studio.data.definitions import Table
from medomni.studio.errors import RecipeError
from medomni.studio.recipe.catalog import (
    NUMBERS,
    Catalog,
    Kind,
    column_kind,
    final_at,
    is_date,
    unknown,
)
from medomni.studio.recipe.library import events_function
from medomni.studio.recipe.library.shape import EventsFunction
from medomni.studio.recipe.model import Combined, Event, FromLibrary, FromSql, Predicate, Series
from medomni.studio.recipe.syntax import Call, Expr, Name, children

ANY_EVENT = "_ANY_EVENT"
# The trigger with one candidate per patient.
PERSON = "person"


@dataclass(frozen=True, slots=True)
class Source:
    """The shape of a predicate's events.

    Attributes:
        table: The table behind them; None for combined ones and those of the library.
        function: The function of the library behind them.
        columns: Columns that `<predicate>.<column>` may name.
        value: Kind of `<predicate>.value`; None without a value.
        always: Whether a value is always there (it has a least or greatest one).
        time_column: Column of the moment, where there is one.
        end_column: Column of the end, for intervals.
        keys: Columns that name an event, in this order.
        filtered: Columns that decide which rows are events.
        series: The series, where they are samples of one.
    """

    name: str
    table: Table | None = None
    function: EventsFunction | None = None
    columns: Mapping[str, Kind] = field(default_factory=dict)
    value: Kind | None = None
    value_column: str | None = None
    end_column: str | None = None
    always: bool = False
    time_column: str | None = None
    keys: tuple[str, ...] = ()
    filtered: frozenset[str] = frozenset()
    series: Series | None = None

    @property
    def lasting(self) -> bool:
        """Whether the events are intervals."""
        return self.end_column is not None

    def kind(self, column: str) -> Kind:
        """The kind of `<predicate>.<column>`.

        Raises:
            RecipeError: `recipe-column-unknown`.
        """
        if column == "value":
            if self.value is None:
                raise RecipeError(
                    f"the predicate {self.name!r} names no `value:` column", code="recipe-column-unknown"
                )
            return self.value
        if column in ("time", "start") or (column == "end" and self.lasting):
            return Kind.TIME
        if column not in self.columns:
            raise unknown("column", column, self.columns, inside=self.table.name if self.table else self.name)
        return self.columns[column]

    def finals(self, column: str) -> tuple[str, ...] | None:
        """The columns with the time at which a value is final (any will do); None if from the start."""
        real = {"value": self.value_column, "end": self.end_column, "time": None, "start": None}
        known = real.get(column, column)
        if known is None:
            return None
        if self.table is None:
            return self.function.final.get(known) if self.function else None
        found = final_at(self.table, known) if known in self.table.columns else None
        return None if found is None else (found,)

    def late(self, column: str, *, at: str | None = None) -> bool:
        """Whether a column is final only after the event's own moment, and after the column `at`."""
        finals = self.finals(column)
        return finals is not None and not {self.time_column, at}.intersection(finals)

    def late_rows(self, *, at: str | None = None) -> str:
        """Why it is known only later which rows are events; empty if it is known when they happen."""
        late = next((name for name in sorted(self.filtered) if self.late(name, at=at)), "")
        if late:
            return f"which rows are {self.name!r} depends on {late}, which is only final later"
        if self.function and not {self.time_column, at}.intersection(self.function.known):
            return f"the events of {self.name!r} are only known at {' or '.join(self.function.known)}"
        return ""

    def is_end(self, column: str) -> bool:
        """Whether a column is a moment in the row's own future, to the second."""
        known = self.end_column if column == "end" else column
        if known is None or known not in (self.finals(column) or ()):
            return False
        return self.table is None or not is_date(self.table, known)


def source_of(event: Event, catalog: Catalog) -> Source:
    """The shape of a predicate.

    Raises:
        RecipeError: It names a table, column or function that does not exist.
    """
    if isinstance(event, Combined):
        return Source(event.name)
    if isinstance(event, FromSql):
        return Source(event.name, value=Kind.FLOAT if event.kind == "number" else Kind.INTEGER)
    if isinstance(event, Series):
        return _series_source(event, source_of(event.base, catalog))
    if isinstance(event, FromLibrary):
        function = events_function(event.function, event.version)
        time = event.time or "time"
        if function.columns.get(time, Kind.TIME) is not Kind.TIME:
            raise RecipeError(f"{time!r} of {event.function} is no time", code="recipe-type")
        if event.time is not None and event.time not in function.columns:
            raise unknown("column", event.time, function.columns, inside=event.function)
        return Source(
            event.name,
            function=function,
            columns=function.columns,
            value=function.value,
            keys=function.keys,
            time_column=time,
        )
    table = catalog.table(event.table)
    if table.patient is None:
        raise RecipeError(
            f"{table.name} holds no patients: its rows are no events", code="recipe-table-unsuitable"
        )
    value = column_kind(table, event.value) if event.value else None
    return Source(
        event.name,
        table=table,
        columns={column: column_kind(table, column) for column in table.columns},
        value=value,
        always=event.low is not None or event.high is not None,
        time_column=_time_column(event, table),
        value_column=event.value,
        end_column=event.interval[1] if event.interval else None,
        keys=table.key,
        filtered=_filtered(event, table),
    )


def _series_source(event: Series, base: Source) -> Source:
    """The shape of samples: those at even moments have no row, and so no columns and key, of their own."""
    if base.value not in NUMBERS and event.mapped is None:
        raise RecipeError(
            f"the samples of {event.name!r} are {base.value}, and must be numbers",
            hint="`map: {…}` says which number a text stands for",
            code="recipe-type",
        )
    if event.mapped is not None and base.value is not Kind.TEXT:
        raise RecipeError(
            f"`map:` is for texts, and the samples of {event.name!r} are {base.value}", code="recipe-type"
        )
    value = Kind.DECIMAL if event.mapped is not None else base.value
    # A row without a value, or with one that is cleaned away, is no sample.
    filtered = base.filtered | {str(base.value_column)}
    plain = replace(base, name=event.name, value=value, always=True, series=event, filtered=filtered)
    if event.resample is None:
        return plain
    kind = {"mean": Kind.FLOAT, "median": Kind.DECIMAL if value is Kind.INTEGER else value}
    return replace(plain, value=kind.get(event.resample.how, value), columns={}, keys=())


def person(catalog: Catalog) -> Source:
    """The shape of the trigger `person`: the patients, each once."""
    patients = catalog.patients
    return Source(
        PERSON,
        table=patients,
        columns={column: column_kind(patients, column) for column in patients.columns},
        keys=patients.key,
    )


def _filtered(event: Predicate, table: Table) -> frozenset[str]:
    """The columns that a predicate's conditions read.

    Raises:
        RecipeError: `recipe-column-unknown`.
    """
    found = {rule.column for rule in event.columns}
    found |= {parts[0] for expr in event.where for parts in names_in(expr)}
    if event.codes is not None:
        if table.code is None:
            raise RecipeError(f"{table.name} has no column of codes", code="recipe-column-unknown")
        found.add(table.code)
    if event.value is not None and (event.low is not None or event.high is not None):
        found.add(event.value)
    for name in found:
        column_kind(table, name)
    return frozenset(found)


def names_in(expr: Expr) -> Iterator[tuple[str, ...]]:
    """Every name in an expression, but not the words that functions take (`asc`)."""
    if isinstance(expr, Name):
        if expr.parts not in (("true",), ("false",)):
            yield expr.parts
        return
    if isinstance(expr, Call) and expr.name == "values_of":
        return
    skip = len(children(expr)) - 1 if isinstance(expr, Call) and expr.name == "band" else -1
    for index, child in enumerate(children(expr)):
        if index != skip:
            yield from names_in(child)


def _time_column(event: Predicate, table: Table) -> str | None:
    named = [event.time] if event.time else [*(event.interval or ())]
    for column in named:
        if column_kind(table, column) is not Kind.TIME:
            raise RecipeError(f"{table.name}.{column} is {column_kind(table, column)}", code="recipe-type")
    if named:
        return named[0]
    if table.time is None and not table.available:
        raise RecipeError(
            f"{table.name} has no time; the predicate {event.name!r} must name one with `time:`",
            code="recipe-time-missing",
        )
    return table.time
