"""What a window may compute of its events: `min(creatinine.value)`.

Sums are exact and means come from exact sums, so that digits never depend on threads; first and last break
ties by time, availability and key.

Leaves to others: which events are in the window (`windows`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from medomni.studio.errors import RecipeError
from medomni.studio.recipe.catalog import NUMBERS, Kind, unknown
from medomni.studio.recipe.expressions import Compiler
from medomni.studio.recipe.sources import Source
from medomni.studio.recipe.syntax import Call, Name, show
from medomni.studio.recipe.values import Value, call, cast, column, is_present, operate, seconds_between

EVENT = "e"
_KINDS: dict[str, tuple[Kind, ...]] = {
    "min": (*NUMBERS, Kind.TIME),
    "max": (*NUMBERS, Kind.TIME),
    "mean": NUMBERS,
    "median": NUMBERS,
    "sum": NUMBERS,
    "slope": NUMBERS,
    "first": (*NUMBERS, Kind.TIME, Kind.TEXT),
    "last": (*NUMBERS, Kind.TIME, Kind.TEXT),
    "ndays": (Kind.TIME,),
}
_OF_SERIES = ("runs", "valid_fraction")


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A computation over a window's events.

    Attributes:
        column: Column of the predicate; empty for a plain count.
        condition: Which of the events count, over the columns of the predicate; None for all.
        reads: Columns of the predicate that it needs.
    """

    function: str
    predicate: str
    column: str
    kind: Kind
    condition: exp.Expr | None = None
    reads: frozenset[str] = frozenset()

    @property
    def nullable(self) -> bool:
        """Whether it is missing where the window is empty."""
        return self.function not in ("count", "ndays")

    @property
    def nearest(self) -> bool:
        """Whether the last event before the window's end alone decides it."""
        return self.function == "last" and self.condition is None


def event_column(name: str) -> str:
    """The name of a predicate's column in its relation."""
    return name if name in ("value", "time", "end", "available") else f"col.{name}"


def aggregate(expr: Call, source: Callable[[str], Source]) -> Aggregate:
    """The computation that a call under `agg` asks for.

    Raises:
        RecipeError: An unknown function, predicate or column, or a kind that does not suit.
    """
    shown = show(expr)
    if expr.name in _OF_SERIES:
        raise RecipeError(
            f"`{shown}` works on series, and this dataset has tables only", code="recipe-unsupported"
        )
    if expr.name not in ("count", *_KINDS):
        raise unknown("aggregate", expr.name, [*_KINDS, "count"])
    if not 1 <= len(expr.args) <= 2 or expr.named or not isinstance(expr.args[0], Name):
        raise RecipeError(f"`{shown}` must be {expr.name}(predicate.column)", code="recipe-type")
    parts = expr.args[0].parts
    found = source(parts[0])
    name = "" if len(parts) == 1 and expr.name == "count" else parts[1] if len(parts) == 2 else "value"
    name = "time" if name == "start" else name
    kind = found.kind(name) if name else Kind.INTEGER
    if expr.name in _KINDS and kind not in _KINDS[expr.name]:
        raise RecipeError(f"`{shown}`: {parts[0]}.{name} is {kind}", code="recipe-type")
    reads = {name} if name else set()
    condition = _condition(expr, found, reads)
    return Aggregate(expr.name, parts[0], name, _result(expr.name, kind), condition, frozenset(reads))


def _result(function: str, kind: Kind) -> Kind:
    if function in ("count", "ndays"):
        return Kind.INTEGER
    if function in ("mean", "slope"):
        return Kind.FLOAT
    return Kind.DECIMAL if function == "median" and kind is Kind.INTEGER else kind


def _condition(expr: Call, source: Source, reads: set[str]) -> exp.Expr | None:
    if len(expr.args) == 1:
        return None

    def resolve(parts: tuple[str, ...]) -> Value:
        if len(parts) != 1:
            raise unknown("column", ".".join(parts), source.columns)
        kind = source.kind(parts[0])
        reads.add(parts[0])
        return Value(column(event_column(parts[0]), EVENT), kind, name=parts[0], nullable=True)

    return Compiler(resolve, lambda _: None).condition(expr.args[1]).sql


def aggregate_sql(found: Aggregate, keys: tuple[str, ...], start: exp.Expr) -> exp.Expr:
    """The tree of a computation over joined events; `start` is what slopes count their time from."""
    value = column(event_column(found.column), EVENT) if found.column else exp.Star()
    sql = _plain(found, value, keys, start)
    if found.condition is None or found.function == "slope":
        return sql
    return exp.Filter(this=sql, expression=exp.Where(this=found.condition.copy()))


def _plain(found: Aggregate, value: exp.Expr, keys: tuple[str, ...], start: exp.Expr) -> exp.Expr:
    if found.function in ("first", "last"):
        ordered = exp.Order(this=value.copy(), expressions=order_by(keys))
        return exp.Anonymous(this=found.function, expressions=[ordered])
    if found.function == "count":
        return exp.Count(this=value.copy())
    if found.function == "ndays":
        return exp.Count(this=exp.Distinct(expressions=[cast(value, "DATE")]))
    if found.function == "slope":
        return _slope(found, value, start)
    if found.function == "median" and found.kind is Kind.DECIMAL:
        return call("median", cast(value, "DECIMAL(38, 10)"))
    return call({"mean": "avg"}.get(found.function, found.function), value)


def order_by(keys: tuple[str, ...], *, falling: bool = False) -> list[exp.Expr]:
    """Time, availability, key: the order of events, and the last word on ties."""
    names = ["time", "available", *(f"key.{key}" for key in keys), "tie"]
    return [exp.Ordered(this=column(name, EVENT), desc=falling, nulls_first=not falling) for name in names]


def _slope(found: Aggregate, value: exp.Expr, start: exp.Expr) -> exp.Expr:
    """Least squares per second, from exact sums; missing for fewer than two different moments."""
    moment = seconds_between(column("time", EVENT), start)
    there = is_present(value)
    if found.condition is not None:
        there = exp.And(this=there, expression=found.condition.copy())

    def total(sql: exp.Expr) -> exp.Expr:
        summed = exp.Filter(this=call("sum", sql), expression=exp.Where(this=there.copy()))
        return cast(summed, "DOUBLE")

    count = cast(
        exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=there.copy())), "DOUBLE"
    )
    x, y = total(moment), total(value)
    top = operate(
        exp.Sub, operate(exp.Mul, count, total(operate(exp.Mul, moment, value))), operate(exp.Mul, x, y)
    )
    bottom = operate(
        exp.Sub, operate(exp.Mul, count, total(operate(exp.Mul, moment, moment))), operate(exp.Mul, x, x)
    )
    return operate(exp.Div, top, call("nullif", bottom, exp.Literal.number("0")))
