"""Windows as queries over the candidates: their bounds, and what is counted and computed inside.

One query per window and predicate. Where the last event before the end decides everything, an ASOF join
finds it without looking at the others; ties in time are settled before, by availability and key.

Leaves to others: the candidates (`plan`), the events (`events`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from medomni.studio.recipe.aggregates import EVENT, Aggregate, aggregate_sql, event_column, order_by
from medomni.studio.recipe.binding import Bound, count_column
from medomni.studio.recipe.events import relation, table
from medomni.studio.recipe.model import Window
from medomni.studio.recipe.syntax import Ref
from medomni.studio.recipe.values import all_of, any_of, call, case, column, is_missing, operate, shifted

CANDIDATES = "candidates"
_C = "c"
_EXISTS = ((1, None), (None, 0))


@dataclass(frozen=True, slots=True)
class Reading:
    """What a label wants of one predicate in one window; `part` is `has` or `during`."""

    window: Window
    predicate: str
    part: str
    counted: bool
    aggregates: tuple[tuple[str, Aggregate], ...]

    @property
    def name(self) -> str:
        """The name of the relation with the results."""
        return count_column(self.window.name, self.predicate, self.part)

    @property
    def nearest(self) -> bool:
        """Whether the last event before the end decides everything."""
        counts = self.window.has.get(self.predicate)
        simple = counts is None or counts in _EXISTS
        ends = self.window.end.anchor != ("null",)
        return self.part == "has" and ends and simple and all(each.nearest for _, each in self.aggregates)


def readings(bound: Bound) -> Iterator[Reading]:
    """Every reading of a label, in the order of its windows."""
    used = bound.scope.aggregates
    for window in bound.label.windows.values():
        wanted: dict[str, list[tuple[str, Aggregate]]] = {name: [] for name in window.has}
        for name in window.aggregates:
            wanted.setdefault(used[name][1].predicate, []).append((name, used[name][1]))
        for predicate, aggregates in wanted.items():
            yield Reading(window, predicate, "has", predicate in window.has, tuple(aggregates))
        for predicate in window.during:
            yield Reading(window, predicate, "during", True, ())


def with_bounds(candidates: exp.Query, bound: Bound) -> exp.Query:
    """The candidates with the start and end of every window."""
    stage = candidates
    for name, side, ref in _ordered(bound):
        select = exp.select(exp.Column(this=exp.Star(), table=exp.to_identifier(_C, quoted=True)))
        select = select.from_(stage.subquery(_C))
        owner = bound.label.windows[name]
        moment = shifted(_anchor(ref, owner), ref.seconds) if ref.anchor != ("null",) else _unbounded()
        if ref.arrow is not None:
            joined = exp.select(column("subject_id"), column("time")).from_(
                table(relation(str(ref.predicate)))
            )
            later = exp.LT if ref.arrow == "->" else exp.GT
            on = all_of(
                [
                    operate(exp.EQ, column("subject_id", _C), column("subject_id", "n")),
                    operate(later, moment, column("time", "n")),
                ]
            )
            select = select.join(_asof(joined.distinct().subquery("n"), on, "LEFT"), copy=False)
            moment = column("time", "n")
        stage = select.select(exp.alias_(moment, f"{name}.{side}", quoted=True), copy=False)
    return stage


def _unbounded() -> exp.Expr:
    return exp.Cast(this=exp.Null(), to=exp.DataType.build("TIMESTAMP"))


def _asof(joined: exp.Expr, on: exp.Expr, side: str) -> exp.Join:
    """An ASOF join; DuckDB wants its conditions side by side, without brackets around them."""
    inner = on.this if isinstance(on, exp.Paren) else on
    return exp.Join(this=joined, method="ASOF", side=side or None, on=inner)


def _ordered(bound: Bound) -> list[tuple[str, str, Ref]]:
    """Every bound, those first that others start from."""
    waiting = [
        (name, side, ref)
        for name, window in bound.label.windows.items()
        for side, ref in (("start", window.start), ("end", window.end))
    ]
    done: list[tuple[str, str, Ref]] = []
    while waiting:
        ready = [each for each in waiting if _depends(each, bound) not in {(n, s) for n, s, _ in waiting}]
        done += ready
        waiting = [each for each in waiting if each not in ready]
    return done


def _depends(each: tuple[str, str, Ref], bound: Bound) -> tuple[str, str] | None:
    name, _, ref = each
    if ref.anchor in (("start",), ("end",)):
        return name, ref.anchor[0]
    if len(ref.anchor) == 2 and ref.anchor[0] in bound.label.windows:
        return ref.anchor[0], ref.anchor[1]
    return None


def _anchor(ref: Ref, window: Window) -> exp.Expr:
    if ref.anchor == ("trigger",):
        return column("trigger.time", _C)
    if ref.anchor in (("start",), ("end",)):
        return column(f"{window.name}.{ref.anchor[0]}", _C)
    return column(".".join(ref.anchor), _C)


def reading_query(reading: Reading, bound: Bound) -> exp.Query:
    """The query of one reading: `cand_id`, a count, the aggregates; no row for a candidate without events."""
    keys = bound.scope.sources[reading.predicate].keys
    if reading.nearest:
        return _nearest_query(reading, keys)
    outputs: list[exp.Expr] = [
        column("cand_id", _C),
        exp.alias_(exp.Count(this=exp.Star()), "n", quoted=True),
    ]
    for name, found in reading.aggregates:
        outputs.append(exp.alias_(aggregate_sql(found, keys, column("index", _C)), name, quoted=True))
    return exp.select(*outputs).from_(joined(reading)).group_by(column("cand_id", _C))


def joined(reading: Reading) -> exp.Expr:
    """The candidates joined with the events that are in their windows."""
    inside = all_of([*_same(reading), *_inside(reading)])
    source = table(CANDIDATES, _C)
    source.append("joins", exp.Join(this=table(relation(reading.predicate), EVENT), on=inside))
    return source


def _same(reading: Reading) -> list[exp.Expr]:
    conditions = [operate(exp.EQ, column("subject_id", _C), column("subject_id", EVENT))]
    for name in reading.window.same:
        conditions.append(operate(exp.EQ, column(f"trigger.{name}", _C), column(event_column(name), EVENT)))
    return conditions


def _inside(reading: Reading) -> list[exp.Expr]:
    window, time = reading.window, column("time", EVENT)
    first = column("end", EVENT) if reading.part == "during" else time
    conditions = []
    if window.start.anchor != ("null",):
        low = operate(
            exp.GTE if window.start_inclusive else exp.GT, first, column(f"{window.name}.start", _C)
        )
        # An interval without an end has not ended.
        conditions.append(any_of([low, is_missing(first)]) if reading.part == "during" else low)
    if window.end.anchor != ("null",):
        node = exp.LTE if window.end_inclusive else exp.LT
        conditions.append(operate(node, time, column(f"{window.name}.end", _C)))
    return conditions


def _nearest_query(reading: Reading, keys: tuple[str, ...]) -> exp.Query:
    window = reading.window
    ids = [event_column(name) for name in window.same]
    rank = exp.Window(
        this=call("row_number"),
        partition_by=[column(name, EVENT) for name in ("subject_id", *ids, "time")],
        order=exp.Order(expressions=order_by(keys, falling=True)),
    )
    last = exp.select(exp.Star()).from_(table(relation(reading.predicate), EVENT))
    last.set("qualify", exp.Qualify(this=operate(exp.EQ, rank, exp.Literal.number("1"))))
    node = exp.GTE if window.end_inclusive else exp.GT
    before = operate(node, column(f"{window.name}.end", _C), column("time", EVENT))
    outputs = [column("cand_id", _C), exp.alias_(exp.Literal.number("1"), "n", quoted=True)]
    for name, found in reading.aggregates:
        outputs.append(exp.alias_(column(event_column(found.column), EVENT), name, quoted=True))
    select = exp.select(*outputs).from_(table(CANDIDATES, _C))
    select = select.join(_asof(last.subquery(EVENT), all_of([*_same(reading), before]), ""), copy=False)
    low = [] if window.start.anchor == ("null",) else [_inside(reading)[0]]
    return select.where(all_of(low)) if low else select


def count_value(reading: Reading) -> exp.Expr:
    """How many events a candidate has, 0 where the reading has no row for it."""
    return exp.Coalesce(this=column("n", reading.name), expressions=[exp.Literal.number("0")])


def aggregate_value(reading: Reading, name: str, found: Aggregate) -> exp.Expr:
    """The aggregate of a candidate; counts are 0 where there is nothing."""
    plain = column(name, reading.name)
    return plain if found.nullable else case([(is_missing(plain), exp.Literal.number("0"))], plain)
