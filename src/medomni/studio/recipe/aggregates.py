"""What a window may compute of its events: `min(creatinine.value)`.

Sums are exact and means come from exact sums, so that digits never depend on threads; first and last break
ties by time, availability and key.

Leaves to others: which events are in the window (`windows`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp

from medomni.studio.errors import RecipeError
from medomni.studio.recipe.catalog import NUMBERS, Kind, unknown
from medomni.studio.recipe.expressions import Compiler
from medomni.studio.recipe.model import Window
from medomni.studio.recipe.sources import Source
from medomni.studio.recipe.syntax import Call, Duration, Name, show
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
_RUN_WORDS = ("min_duration", "max_gap")


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A computation over a window's events.

    Attributes:
        column: Column of the predicate; empty for a plain count.
        condition: Which of the events count, over the columns of the predicate; None for all.
        reads: Columns of the predicate that it needs.
        every: Seconds that each sample of a series stands for; 0 where it is a moment.
        min_duration: Seconds that a run must last.
        max_gap: Seconds from one sample to the next that do not end a run.
    """

    function: str
    predicate: str
    column: str
    kind: Kind
    condition: exp.Expr | None = None
    reads: frozenset[str] = frozenset()
    every: Decimal = Decimal(0)
    min_duration: Decimal = Decimal(0)
    max_gap: Decimal = Decimal(0)

    @property
    def nullable(self) -> bool:
        """Whether it is missing where the window is empty."""
        return self.function not in ("count", "ndays", "runs")

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
        return _of_series(expr, source, shown)
    if expr.name not in ("count", *_KINDS):
        raise unknown("aggregate", expr.name, [*_KINDS, "count", *_OF_SERIES])
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


def _of_series(expr: Call, source: Callable[[str], Source], shown: str) -> Aggregate:
    if not expr.args or not isinstance(expr.args[0], Name) or len(expr.args[0].parts) != 1:
        raise RecipeError(f"`{shown}` takes the name of a series first", code="recipe-type")
    name = expr.args[0].parts[0]
    found = source(name)
    if found.series is None:
        raise RecipeError(f"`{shown}` works on a series, and {name!r} is none", code="recipe-series")
    resample = found.series.resample
    every = resample.every if resample is not None else Decimal(0)
    if expr.name == "valid_fraction":
        if len(expr.args) != 1 or expr.named:
            raise RecipeError(f"`{shown}` must be valid_fraction(series)", code="recipe-type")
        if resample is None:
            raise RecipeError(
                f"`{shown}`: nobody knows for how long a sample of {name!r} stands",
                hint="give the series `resample: {every: …, how: last}`",
                code="recipe-series",
            )
        return Aggregate(expr.name, name, "", Kind.FLOAT, every=every)
    return _runs(expr, found, every, shown)


def _runs(expr: Call, found: Source, every: Decimal, shown: str) -> Aggregate:
    named = dict(expr.named)
    lengths = [named.get(word) for word in _RUN_WORDS]
    fits = len(expr.args) == 2 and len(expr.named) == len(named) == len(_RUN_WORDS)
    if not fits or not all(isinstance(each, Duration) for each in lengths):
        raise RecipeError(
            f"`{shown}` must be runs(series, condition, min_duration: 60s, max_gap: 10s)", code="recipe-type"
        )
    least, gap = (each.seconds for each in lengths if isinstance(each, Duration))
    if gap < every or not gap:
        raise RecipeError(
            f"`{shown}`: a gap of {gap:f} s ends every run, since samples are {every:f} s apart"
            if every
            else f"`{shown}`: max_gap must be more than 0",
            code="recipe-series",
        )
    reads: set[str] = {"value"}
    condition = _condition(expr, found, reads)
    return Aggregate(
        expr.name,
        found.name,
        "",
        Kind.INTEGER,
        condition,
        frozenset(reads),
        every=every,
        min_duration=least,
        max_gap=gap,
    )


def check_series_use(window: Window, aggregates: list[Aggregate]) -> None:
    """Refuse a window that does not suit what it computes of series.

    Raises:
        RecipeError: `recipe-series`.
    """
    used = {each.function for each in aggregates}
    if window.lookahead and "runs" not in used:
        raise RecipeError(
            f"the window {window.name!r} looks ahead, and computes no runs(…)", code="recipe-series"
        )
    if "runs" in used and window.same:
        raise RecipeError(
            f"`same` of the window {window.name!r} does not suit runs(…), which belong to a patient",
            code="recipe-series",
        )
    if "valid_fraction" in used and ("null",) in (window.start.anchor, window.end.anchor):
        raise RecipeError(
            f"the window {window.name!r} has an open side, and so no fraction of it is valid",
            code="recipe-series",
        )


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
    if found.function in ("count", "valid_fraction"):
        return exp.Count(this=value.copy())
    if found.function == "ndays":
        return exp.Count(this=exp.Distinct(expressions=[cast(value, "DATE")]))
    if found.function == "slope":
        return _slope(found, value, start)
    if found.function == "median" and found.kind is Kind.DECIMAL:
        return call("median", cast(value, "DECIMAL(38, 10)"))
    return call({"mean": "avg"}.get(found.function, found.function), value)


def order_by(keys: tuple[str, ...], *, falling: bool = False) -> list[exp.Expr]:
    """Time, availability, key: the order of events; without a key, all that is read of them."""
    names = ["time", "available", *([f"key.{key}" for key in keys] or ["tie"])]
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
