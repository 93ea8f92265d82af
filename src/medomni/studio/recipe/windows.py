"""Windows as queries over the candidates: their bounds, and what is counted and computed inside.

One query per window and predicate. Where the window is open to the past and only asks whether there is an
event, each patient's first one tells. Where the last event before the end decides everything, an ASOF join
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
from medomni.studio.recipe.series import even_moments, islands_query
from medomni.studio.recipe.syntax import Ref
from medomni.studio.recipe.values import (
    all_of,
    any_of,
    call,
    case,
    cast,
    column,
    is_missing,
    number,
    operate,
    seconds_between,
    shifted,
)

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

    @property
    def first(self) -> bool:
        """Whether the patient's first event of all tells if there is one."""
        return self.nearest and not self.aggregates and self.window.start.anchor == ("null",)

    @property
    def runs(self) -> bool:
        """Whether it counts the runs of a series that begin in the window."""
        return self.part.startswith("runs ")

    @property
    def ordered(self) -> bool:
        """Whether it takes the first or last of several events, so that ties must be settled."""
        return any(each.function in ("first", "last") for _, each in self.aggregates)


def readings(bound: Bound) -> Iterator[Reading]:
    """Every reading of a label, in the order of its windows."""
    used = bound.scope.aggregates
    for window in bound.label.windows.values():
        wanted: dict[str, list[tuple[str, Aggregate]]] = {name: [] for name in window.has}
        for name in window.aggregates:
            found = used[name][1]
            if found.function != "runs":
                wanted.setdefault(found.predicate, []).append((name, found))
                continue
            yield Reading(window, found.predicate, f"runs {name}", False, ((name, found),))
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
        plain = ref.anchor != ("null",) and ref.edge is None
        moment = shifted(_anchor(ref, owner), ref.seconds) if plain else _unbounded()
        if ref.edge is not None:
            on = operate(exp.EQ, column("subject_id", _C), column("subject_id", "f"))
            select = select.join(edges(ref).subquery("f"), on=on, join_type="left", copy=False)
            moment = shifted(column("time", "f"), ref.seconds)
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


def edges(ref: Ref) -> exp.Select:
    """Each patient's first or last event."""
    function = "min" if ref.anchor[0] == "first" else "max"
    time = exp.alias_(call(function, column("time")), "time", quoted=True)
    source = table(relation(str(ref.edge)))
    return exp.select(column("subject_id"), time).from_(source).group_by(column("subject_id"))


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
    if reading.first:
        return _first_query(reading)
    if reading.runs:
        return _runs_query(reading, keys)
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


def _first_query(reading: Reading) -> exp.Query:
    """The moment of each patient's first event (of each admission, or stay)."""
    groups = _groups(reading)
    first = exp.alias_(call("min", column("time", EVENT)), "first", quoted=True)
    source = table(relation(reading.predicate), EVENT)
    return exp.select(*groups, first).from_(source).group_by(*(each.copy() for each in groups))


def _groups(reading: Reading) -> list[exp.Expr]:
    ids = [event_column(name) for name in reading.window.same]
    return [column(name, EVENT) for name in ("subject_id", *ids)]


def _one_a_moment(reading: Reading, keys: tuple[str, ...]) -> exp.Select:
    """The events, at each moment only the one that counts as the last."""
    groups, time = _groups(reading), column("time", EVENT)
    source = table(relation(reading.predicate), EVENT)
    if not reading.aggregates:
        return exp.select(*groups, time).distinct().from_(source)
    rank = exp.Window(
        this=call("row_number"),
        partition_by=[*groups, time],
        order=exp.Order(expressions=order_by(keys, falling=True)[1:]),
    )
    last = exp.select(exp.Star()).from_(source)
    last.set("qualify", exp.Qualify(this=operate(exp.EQ, rank, exp.Literal.number("1"))))
    return last


def _nearest_query(reading: Reading, keys: tuple[str, ...]) -> exp.Query:
    window = reading.window
    last = _one_a_moment(reading, keys)
    node = exp.GTE if window.end_inclusive else exp.GT
    before = operate(node, column(f"{window.name}.end", _C), column("time", EVENT))
    outputs = [column("cand_id", _C), exp.alias_(exp.Literal.number("1"), "n", quoted=True)]
    for name, found in reading.aggregates:
        outputs.append(exp.alias_(column(event_column(found.column), EVENT), name, quoted=True))
    select = exp.select(*outputs).from_(table(CANDIDATES, _C))
    select = select.join(_asof(last.subquery(EVENT), all_of([*_same(reading), before]), ""), copy=False)
    low = [] if window.start.anchor == ("null",) else [_inside(reading)[0]]
    return select.where(all_of(low)) if low else select


def _runs_query(reading: Reading, keys: tuple[str, ...]) -> exp.Query:
    """How many runs begin in the window and last long enough, as far as it (and its lookahead) sees."""
    window, (name, found) = reading.window, reading.aggregates[0]
    begin, time = column("begin", EVENT), column("time", EVENT)
    conditions = [operate(exp.EQ, column("subject_id", _C), column("subject_id", EVENT))]
    if window.start.anchor != ("null",):
        node = exp.GTE if window.start_inclusive else exp.GT
        conditions.append(operate(node, begin, column(f"{window.name}.start", _C)))
    if window.end.anchor != ("null",):
        limit = column(f"{window.name}.end", _C)
        last = exp.LTE if window.end_inclusive else exp.LT
        conditions.append(operate(last, begin, limit))
        conditions.append(operate(last, time, shifted(limit, window.lookahead)))
    source = table(CANDIDATES, _C)
    islands = islands_query(found, keys).subquery(EVENT)
    source.append("joins", exp.Join(this=islands, on=all_of(conditions)))
    lasts = operate(exp.Add, seconds_between(call("max", time), begin), number(found.every))
    groups = [column("cand_id", _C), column("run", EVENT), begin]
    each = exp.select(column("cand_id", _C)).from_(source).group_by(*groups)
    each = each.having(operate(exp.GTE, lasts, number(found.min_duration)))
    count = exp.alias_(exp.Count(this=exp.Star()), name, quoted=True)
    return (
        exp.select(column("cand_id", "l"), count).from_(each.subquery("l")).group_by(column("cand_id", "l"))
    )


def on_reading(reading: Reading) -> exp.Expr:
    """What joins the candidates to the rows of a reading."""
    if not reading.first:
        return operate(exp.EQ, column("cand_id", _C), column("cand_id", reading.name))
    pairs = [("subject_id", "subject_id")]
    pairs += [(f"trigger.{name}", event_column(name)) for name in reading.window.same]
    return all_of(operate(exp.EQ, column(mine, _C), column(its, reading.name)) for mine, its in pairs)


def count_value(reading: Reading) -> exp.Expr:
    """How many events a candidate has (at most 1 where that is enough); 0 where the reading has no row."""
    if reading.first:
        node = exp.LTE if reading.window.end_inclusive else exp.LT
        there = operate(node, column("first", reading.name), column(f"{reading.window.name}.end", _C))
        return case([(there, exp.Literal.number("1"))], exp.Literal.number("0"))
    return exp.Coalesce(this=column("n", reading.name), expressions=[exp.Literal.number("0")])


def aggregate_value(reading: Reading, name: str, found: Aggregate) -> exp.Expr:
    """The aggregate of a candidate; counts are 0 where there is nothing."""
    plain = column(name, reading.name)
    if found.function == "valid_fraction":
        return _fraction(reading.window, plain, found)
    return plain if found.nullable else case([(is_missing(plain), exp.Literal.number("0"))], plain)


def _fraction(window: Window, count: exp.Expr, found: Aggregate) -> exp.Expr:
    """Samples for each even moment of the window; missing where it has no such moment."""
    whole = even_moments(
        column(f"{window.name}.start", _C),
        column(f"{window.name}.end", _C),
        found.every,
        start_inclusive=window.start_inclusive,
        end_inclusive=window.end_inclusive,
    )
    there = exp.Coalesce(this=count.copy(), expressions=[exp.Literal.number("0")])
    return operate(exp.Div, cast(there, "DOUBLE"), call("nullif", whole, exp.Literal.number("0")))
