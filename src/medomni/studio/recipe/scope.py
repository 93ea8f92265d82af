"""What the names of a label stand for, and what they may tell: the static outcome check.

A name is *past* if its value was known at the prediction time, else an *outcome*, with the reason. The
columns of the trigger are outcomes where the prediction stands strictly before it; a window is one where it
reaches the prediction time or past it; a column that is final only later is one, except that its own end
may be compared with the prediction time, since a hidden end is a later one.

Leaves to others: computing the names (`plan`), and which rules may use which (`binding`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal

from sqlglot import exp

from medomni.studio.errors import RecipeError
from medomni.studio.recipe.aggregates import Aggregate, aggregate
from medomni.studio.recipe.catalog import Catalog, Kind, column_kind, final_at, is_date, unknown
from medomni.studio.recipe.expressions import Compiler, unknown_function
from medomni.studio.recipe.index import check_grid, prediction
from medomni.studio.recipe.library import value_function
from medomni.studio.recipe.library.shape import ValueFunction
from medomni.studio.recipe.model import Combined, FromSql, Label, Window
from medomni.studio.recipe.naming import named_needs
from medomni.studio.recipe.parser import parse_expression
from medomni.studio.recipe.reach import after_the_last, latest
from medomni.studio.recipe.sources import ANY_EVENT, PERSON, Source, names_in, person, source_of
from medomni.studio.recipe.syntax import Call, Expr, Name, show
from medomni.studio.recipe.values import Need, Value, column, demanded, is_present

_DEEPEST_MACRO = 20


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """A value function with its compiled arguments."""

    function: ValueFunction
    args: tuple[Value, ...]


@dataclass(slots=True)
class Used:
    """What a label's expressions read, so that nothing else is computed."""

    trigger: dict[str, Kind] = field(default_factory=dict)
    owners: dict[str, dict[str, Kind]] = field(default_factory=dict)
    events: dict[str, set[str]] = field(default_factory=dict)


class Scope:
    """The names of one label.

    Args:
        label: The label.
        catalog: The dataset's tables.

    Raises:
        RecipeError: A predicate names what does not exist, or the trigger or index cannot be used.
    """

    def __init__(self, label: Label, catalog: Catalog) -> None:
        self.label = label
        self.catalog = catalog
        self.used = Used()
        self.sources: dict[str, Source] = {}
        self.aggregates: dict[str, tuple[Window, Aggregate]] = {}
        self.definitions: dict[str, Value] = {}
        # Columns over the candidates in an order in which they can be computed.
        self.columns: dict[str, exp.Expr | LibraryCall] = {}
        self._kept: dict[str, str] = {}
        self._open: list[str] = []
        self._macros: list[str] = []
        self.compiler = Compiler(self.resolve, self._macro, self._keep)
        self.trigger = self.source(label.trigger)
        self.prediction = prediction(label, self.trigger, catalog)
        self._set_prediction()

    @property
    def offset(self) -> Decimal | None:
        """Seconds from the trigger to the prediction time; None where only the data tell."""
        return self.prediction.offset

    def source(self, name: str) -> Source:
        """The shape of a predicate of the label.

        Raises:
            RecipeError: `recipe-predicate-unknown`, or what is wrong with its table.
        """
        if name not in self.sources:
            if name == ANY_EVENT:
                self.sources[name] = Source(name)
            elif name == PERSON and name == self.label.trigger:
                self.sources[name] = person(self.catalog)
            elif name not in self.label.events:
                raise unknown("predicate", name, self.label.events)
            else:
                self.sources[name] = source_of(self.label.events[name], self.catalog)
        self.used.events.setdefault(name, set())
        return self.sources[name]

    def _set_prediction(self) -> None:
        """What the prediction time and its trigger need.

        Raises:
            RecipeError: The future would choose it, or one of its names does not exist.
        """
        label, found = self.label, self.prediction
        if self.trigger.series is not None:
            raise RecipeError(
                f"the trigger {label.trigger!r} is a series",
                hint="let a predicate be the trigger, and predict on a grid: index.grid",
                code="recipe-series",
            )
        if found.edge is not None:
            self.source(found.edge[1])
            late = self.late_predicate(found.edge[1])
            if late:
                raise RecipeError(f"the prediction time is an outcome: {late}", code="recipe-outcome-index")
        elif found.column is not None and label.trigger != PERSON:
            self.used.trigger[found.column] = Kind.TIME
        if label.grid is not None:
            check_grid(label.grid, self.resolve)
        reason = self.late_predicate(label.trigger, at=found.column)
        if reason:
            raise RecipeError(f"the trigger is an outcome: {reason}", code="recipe-outcome-trigger")

    # Names.

    def resolve(self, parts: tuple[str, ...]) -> Value:
        """What a name stands for.

        Raises:
            RecipeError: `recipe-name-unknown` or `recipe-column-unknown`.
        """
        if len(parts) > 2:
            raise unknown("name", ".".join(parts), self.known())
        if parts[0] == "index" and parts[1:] in ((), ("time",)):
            return Value(column("index"), Kind.TIME, name="index", known_by_index=True)
        if parts[0] == "trigger":
            return self._trigger(parts[1] if len(parts) == 2 else "time")
        if len(parts) == 2:
            return self._owned(*parts)
        if parts[0] in self.label.definitions:
            return self.definition(parts[0])
        for window in self.label.windows.values():
            if parts[0] in window.aggregates:
                return self.aggregated(window, parts[0])
        raise unknown("name", parts[0], self.known())

    def late_predicate(self, name: str, *, at: str | None = None) -> str:
        """Why it is only known later which events a predicate has; empty if it is known when they happen."""
        event = self.label.events.get(name)
        if isinstance(event, Combined):
            members = (self.late_predicate(parts[0]) for parts in names_in(event.expr))
            return next((reason for reason in members if reason), "")
        return self.source(name).late_rows(at=at)

    def known(self) -> list[str]:
        """Every name that an expression may use."""
        aggregates = [name for window in self.label.windows.values() for name in window.aggregates]
        owners = self.catalog.owners(self.trigger.table) if self.trigger.table else {}
        return ["index", "trigger", *owners, *self.label.definitions, *aggregates]

    def _trigger(self, name: str) -> Value:
        if self.label.trigger == PERSON and name not in ("time", "start"):
            # A person is no measurement: what is known of one does not depend on the moment.
            return self._owned("patient", name)
        kind = self.trigger.kind(name)
        self.used.trigger[name] = kind
        shown = f"trigger.{name}"
        value = Value(column(shown), kind, nullable=True, name=shown)
        if name in ("time", "start"):
            return replace(value, nullable=False, known_by_index=True)
        if self.trigger.late(name, at=self.prediction.column):
            reason = f"{shown} is only final later"
            return replace(value, outcome=reason, ends_later=self.trigger.is_end(name))
        if name == self.prediction.column:
            return replace(value, known_by_index=True)
        if isinstance(self.label.events.get(self.label.trigger), FromSql):
            return replace(value, outcome=f"{shown} is the answer")
        table = self.trigger.table
        ids = {*self.trigger.keys, *((table.patient, table.admission, table.stay) if table else ())}
        if self.label.strict and self.prediction.measured and name not in ids:
            return replace(
                value,
                outcome=f"{shown} is measured at the prediction time itself",
                nullable=not (name == "value" and self.trigger.always),
            )
        return replace(value, nullable=not (name == "value" and self.trigger.always))

    def _owned(self, owner: str, name: str) -> Value:
        shown = f"{owner}.{name}"
        if owner in self.label.windows and name in ("start", "end"):
            window = self.label.windows[owner]
            outcome = self.window_outcome(window)
            return Value(column(shown), Kind.TIME, outcome, nullable=True, name=shown)
        owners = self.catalog.owners(self.trigger.table) if self.trigger.table else {}
        if owner == "patient" and owner not in owners:
            owners[owner] = (self.catalog.patients, str(self.catalog.patients.patient))
        if owner not in owners:
            raise unknown("name", owner, [*owners, "trigger", *self.label.windows], inside=shown)
        table, key = owners[owner]
        if key != table.patient:
            # What leads to the owner is read with the trigger.
            self.used.trigger[key] = self.trigger.kind(key)
        kind = column_kind(table, name)
        self.used.owners.setdefault(owner, {})[name] = kind
        value = Value(column(shown), kind, nullable=True, name=shown)
        if self.label.trigger == PERSON and owner == "patient" and name == self.prediction.column:
            return replace(value, known_by_index=True)
        final = final_at(table, name)
        if final is None:
            return value
        if self.prediction.closing:
            raise after_the_last(shown)
        exact = final == name and not is_date(table, name)
        return replace(value, outcome=f"{shown} is only final later", ends_later=exact)

    def aggregated(self, window: Window, name: str) -> Value:
        """What a window computes under a name.

        Raises:
            RecipeError: What is wrong with the computation.
        """
        if name not in self.aggregates:
            self.aggregates[name] = (window, aggregate(window.aggregates[name], self.source))
        found = self.aggregates[name][1]
        outcome = self.window_outcome(window)
        source = self.source(found.predicate)
        late = next((each for each in sorted(found.reads) if source.late(each)), "")
        if not outcome and late:
            outcome = f"{found.predicate}.{late} is only final later"
        outcome = outcome or self.late_predicate(found.predicate)
        if outcome and self.prediction.closing and not window.outcome:
            raise after_the_last(name)
        return Value(
            column(name),
            found.kind,
            outcome,
            nullable=found.nullable,
            name=name,
            known_by_index=found.kind is Kind.TIME and not outcome,
        )

    # Definitions and functions.

    def _keep(self, value: Value) -> Value:
        """A value under a column of its own, the same for the same expression; short ones stay."""
        if value.items or isinstance(value.sql, exp.Column | exp.Literal):
            return value
        text = value.sql.sql(dialect="duckdb")
        if text not in self._kept:
            self._kept[text] = f"#{len(self._kept) + 1}"
            self.columns[self._kept[text]] = value.sql
        return replace(value, sql=column(self._kept[text]))

    def definition(self, name: str) -> Value:
        """What a name under `let` stands for.

        Raises:
            RecipeError: `recipe-circle`: it is defined by itself; or what is wrong with its expression.
        """
        if name in self.definitions:
            return self.definitions[name]
        if name in self._open:
            raise RecipeError(f"{' -> '.join((*self._open, name))} is a circle", code="recipe-circle")
        self._open.append(name)
        try:
            value = self._defined(name, self.label.definitions[name])
        finally:
            self._open.pop()
        self.definitions[name] = value
        return value

    def _defined(self, name: str, expr: Expr) -> Value:
        own = column(name)
        if isinstance(expr, Call) and expr.version is not None:
            call = self._library_call(expr)
            self.columns[name] = call
            outcome = call.function.outcome(call.args, strict=self.label.strict)
            return Value(
                own,
                call.function.kind,
                outcome,
                nullable=call.function.nullable,
                name=name,
                needs=demanded(*call.args),
            )
        inner = self.compiler.compile(expr)
        if inner.items:
            raise RecipeError(f"{name!r} is a list, and a value is needed", code="recipe-type")
        self.columns[name] = inner.sql
        needs = named_needs(inner.needs, name)
        if inner.nullable and not inner.name:
            needs = (*needs, Need(name, is_present(own), inner.outcome))
        return replace(
            inner,
            sql=own,
            name=name,
            needs=needs,
            nullable=inner.nullable and bool(inner.name),
        )

    def _library_call(self, expr: Call) -> LibraryCall:
        function = value_function(expr.name, expr.version or 0)
        args = tuple(self.compiler.compile(arg) for arg in expr.args)
        wanted = [kind for _, kind in function.parameters]
        fits = len(args) == len(wanted) and all(
            arg.kind is kind or (kind is Kind.DECIMAL and arg.exact)
            for arg, kind in zip(args, wanted, strict=False)
        )
        if not fits or expr.named:
            signature = ", ".join(f"{name}: {kind}" for name, kind in function.parameters)
            raise RecipeError(
                f"`{show(expr)}` does not fit {expr.name}@{expr.version}({signature})", code="recipe-type"
            )
        for column_name in function.ids:
            self.used.trigger[column_name] = self.trigger.kind(column_name)
        return LibraryCall(function, args)

    def _macro(self, expr: Call) -> Value | None:
        if expr.version is not None:
            value_function(expr.name, expr.version)
            raise RecipeError(
                f"{expr.name}@{expr.version} must stand alone under `let`, with a name of its own",
                code="recipe-function-place",
            )
        if expr.name == "age_at" and expr.name not in self.label.macros:
            return self._age_at(expr)
        macro = self.label.macros.get(expr.name)
        if macro is None:
            return None
        if len(expr.args) != len(macro.parameters) or expr.named:
            raise RecipeError(
                f"{expr.name} takes {len(macro.parameters)} arguments: {', '.join(macro.parameters)}",
                code="recipe-type",
            )
        if expr.name in self._macros or len(self._macros) > _DEEPEST_MACRO:
            raise RecipeError(f"the function {expr.name!r} calls itself", code="recipe-circle")
        return self._expanded(expr.name, dict(zip(macro.parameters, expr.args, strict=True)), macro.body)

    def _expanded(self, name: str, args: Mapping[str, Expr], body: Expr) -> Value:
        # Arguments belong to the place of the call, and so do their names.
        outer = self.compiler
        bound = {parameter: outer.compile(arg) for parameter, arg in args.items()}

        def inner(parts: tuple[str, ...]) -> Value:
            return bound[parts[0]] if len(parts) == 1 and parts[0] in bound else self.resolve(parts)

        self._macros.append(name)
        self.compiler = Compiler(inner, self._macro, self._keep)
        try:
            return self.compiler.compile(body)
        finally:
            self.compiler = outer
            self._macros.pop()

    def _age_at(self, expr: Call) -> Value:
        """Age at a moment, from the anchor pair: no birth dates exist where it is used."""
        patients = self.catalog.patients
        if "anchor_age" not in patients.columns or len(expr.args) != 1:
            raise unknown_function(expr)
        moment = Name(("moment",))
        body = parse_expression("patient.anchor_age + year(moment) - patient.anchor_year")
        return self._expanded("age_at", {moment.parts[0]: expr.args[0]}, body)

    # Windows.

    def window_outcome(self, window: Window) -> str:
        """Why what is in a window may tell the future; empty if it lies before the prediction time."""
        if window.outcome:
            return f"the window {window.name!r} is an outcome"
        last = self.last(window)
        if last is None:
            return f"the window {window.name!r} has no end before the prediction time"
        if last > 0:
            return f"the window {window.name!r} ends after the prediction time"
        if last == 0 and window.end_inclusive and self.label.strict:
            return f"the window {window.name!r} holds the prediction time itself"
        return ""

    def last(self, window: Window) -> Decimal | None:
        """The latest that a window reads, in seconds from the prediction time; None if nobody knows."""
        end = latest(window, window.end, self)
        return None if end is None else end + window.lookahead
