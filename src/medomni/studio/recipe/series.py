"""Samples of a series as a query, and the stretches in which a condition holds of them.

In this order: texts become numbers, values outside `clean` are dropped, one sample of each moment is kept,
jumps are dropped, and what is left is put at even moments. A sample at an even moment stands for the stretch
that ends with it, so that none is known before its time; the moments are multiples of `every` from a Monday's
midnight, the same for everybody.

Leaves to others: the rows (`events`), windows and the counting of runs (`windows`).
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from sqlglot import exp

from medomni.studio.recipe.aggregates import EVENT, Aggregate, order_by
from medomni.studio.recipe.events import Data, Reads, events_query, relation, table
from medomni.studio.recipe.model import Resample, Series
from medomni.studio.recipe.sources import source_of
from medomni.studio.recipe.values import (
    all_of,
    any_of,
    call,
    case,
    cast,
    column,
    is_missing,
    is_present,
    known,
    negate,
    number,
    operate,
    seconds_between,
    shifted,
    text,
)

NUMBER = "DECIMAL(20, 8)"
_MICROSECOND = Decimal("0.000001")
_GROUP = ("subject_id",)


def series_query(event: Series, data: Data, reads: Reads) -> exp.Query:
    """The query of a series' samples.

    Args:
        event: The series.
        data: The tables.
        reads: What is read of the samples.

    Raises:
        RecipeError: What is wrong with the predicate behind it.
    """
    keys = source_of(event.base, data.catalog).keys
    stage = _numbers(event, events_query(event.base, data, replace(reads, ordered=True)))
    if event.dedup:
        rank = _over("row_number", keys, falling=True, groups=("subject_id", "time"))
        stage = _all(stage)
        stage.set("qualify", exp.Qualify(this=operate(exp.EQ, rank, exp.Literal.number("1"))))
    if event.max_step is not None:
        before = _over("lag", keys, column("value", EVENT))
        step = call("abs", operate(exp.Sub, column("value", EVENT), before))
        small = any_of([is_missing(before), operate(exp.LTE, step, number(event.max_step))])
        stage = _all(stage)
        stage.set("qualify", exp.Qualify(this=small))
    return stage if event.resample is None else _even(event.resample, stage, keys)


def texts_query(event: Series, data: Data) -> exp.Select | None:
    """Texts that are neither mapped nor numbers among a series' rows, with how often; None if none can be."""
    if event.mapped is None or event.base.table not in data.present:
        return None
    rows = events_query(event.base, data, Reads())
    value = column("value", EVENT)
    odd = all_of([is_present(value), is_missing(_mapped(event, value))])
    select = exp.select(value, exp.Count(this=exp.Star())).from_(rows.subquery(EVENT)).where(odd)
    return select.group_by(value.copy()).order_by(value.copy())


def _numbers(event: Series, rows: exp.Query) -> exp.Query:
    """The rows that have a value, as a number within the limits."""
    if event.mapped is not None:
        star = exp.Star(replace=[exp.alias_(_mapped(event, column("value", EVENT)), "value", quoted=True)])
        whole = exp.Column(this=star, table=exp.to_identifier(EVENT, quoted=True))
        rows = exp.select(whole).from_(rows.subquery(EVENT))
    value = column("value", EVENT)
    conditions = [is_present(value)]
    if event.low is not None:
        conditions.append(operate(exp.GTE, value, number(event.low)))
    if event.high is not None:
        conditions.append(operate(exp.LTE, value, number(event.high)))
    return _all(rows).where(all_of(conditions))


def _mapped(event: Series, value: exp.Expr) -> exp.Expr:
    """The number of a text: the one that it is mapped to, else its own; missing for any other text."""
    whens = [
        (operate(exp.EQ, value, text(word)), cast(number(found), NUMBER))
        for word, found in event.mapped or ()
    ]
    own: exp.Expr = exp.TryCast(this=value.copy(), to=exp.DataType.build(NUMBER, dialect="duckdb"))
    return case(whens, own) if whens else own


def _all(stage: exp.Query) -> exp.Select:
    return exp.select(exp.Column(this=exp.Star(), table=exp.to_identifier(EVENT, quoted=True))).from_(
        stage.subquery(EVENT)
    )


def _over(
    function: str,
    keys: tuple[str, ...],
    *args: exp.Expr,
    falling: bool = False,
    groups: tuple[str, ...] = _GROUP,
) -> exp.Window:
    return exp.Window(
        this=call(function, *args),
        partition_by=[column(name, EVENT) for name in groups],
        order=exp.Order(expressions=order_by(keys, falling=falling)),
    )


# Even moments.


def _even(resample: Resample, stage: exp.Query, keys: tuple[str, ...]) -> exp.Query:
    """One sample for each stretch with samples, and for those after it through which it is held."""
    every, time = resample.every, column("time", EVENT)
    moment = shifted(floor_moment(shifted(time, -_MICROSECOND), every), every)
    outputs = {
        "subject_id": column("subject_id", EVENT),
        "moment": moment,
        "value": _summary(resample.how, keys),
        "seen": call("max", time),
        "available": call("max", column("available", EVENT)),
    }
    summed = exp.select(*(exp.alias_(sql, name, quoted=True) for name, sql in outputs.items()))
    summed = summed.from_(stage.subquery(EVENT)).group_by(column("subject_id", EVENT), moment.copy())
    following = exp.Window(
        this=call("lead", column("moment", "b")),
        partition_by=[column("subject_id", "b")],
        order=exp.Order(expressions=[exp.Ordered(this=column("moment", "b"))]),
    )
    last: exp.Expr = column("moment", "b")
    if resample.max_hold is not None:
        # Of a moment that is not there, `least` takes no notice.
        held = shifted(column("seen", "b"), resample.max_hold)
        last = call("least", shifted(following, -every), held)
    steps = call("generate_series", column("moment", "b"), last, _interval(every))
    names = [column(name, "b") for name in ("subject_id", "value", "available")]
    select = exp.select(
        *names,
        exp.alias_(call("unnest", steps), "time", quoted=True),
        exp.alias_(exp.Null(), "tie", quoted=True),
    )
    return select.from_(summed.subquery("b"))


def _summary(how: str, keys: tuple[str, ...]) -> exp.Expr:
    value = column("value", EVENT)
    if how in ("first", "last"):
        ordered = exp.Order(this=value, expressions=order_by(keys))
        return exp.Anonymous(this=how, expressions=[ordered])
    if how == "median":
        # As an exact decimal: the middle of two numbers needs one more digit.
        return call("median", cast(value, "DECIMAL(38, 10)"))
    return call({"mean": "avg"}.get(how, how), value)


def _interval(seconds: Decimal) -> exp.Expr:
    return call("to_microseconds", exp.Literal.number(str(int(seconds * 1_000_000))))


def floor_moment(moment: exp.Expr, every: Decimal) -> exp.Expr:
    """The last even moment that is not after a time."""
    return call("time_bucket", _interval(every), moment)


def even_moments(
    start: exp.Expr, end: exp.Expr, every: Decimal, *, start_inclusive: bool, end_inclusive: bool
) -> exp.Expr:
    """How many even moments there are from one time to another."""
    low = floor_moment(shifted(start, -_MICROSECOND) if start_inclusive else start, every)
    high = floor_moment(end if end_inclusive else shifted(end, -_MICROSECOND), every)
    micros = operate(exp.Sub, call("epoch_us", high), call("epoch_us", low))
    whole = operate(exp.IntDiv, micros, exp.Literal.number(str(int(every * 1_000_000))))
    return call("greatest", whole, exp.Literal.number("0"))


# Runs.


def islands_query(found: Aggregate, keys: tuple[str, ...]) -> exp.Query:
    """The samples for which a condition holds, with the number of their run and its first moment.

    A run begins where the condition did not hold of the sample before, or that is too long ago; what comes
    later never decides to which run a sample belongs.
    """
    hit = known(found.condition or exp.true())
    gap = seconds_between(column("time", EVENT), _over("lag", keys, column("time", EVENT)))
    goes_on = all_of([_over("lag", keys, hit), operate(exp.LTE, gap, number(found.max_gap))])
    begins = case([(all_of([hit, negate(known(goes_on))]), exp.Literal.number("1"))], exp.Literal.number("0"))
    names = ["time", "available", *([f"key.{key}" for key in keys] or ["tie"])]
    marked = exp.select(
        *(column(name, EVENT) for name in ("subject_id", *names)),
        exp.alias_(hit, "hit", quoted=True),
        exp.alias_(begins, "begins", quoted=True),
    ).from_(table(relation(found.predicate), EVENT))
    counted = exp.Window(
        this=call("sum", column("begins", EVENT)),
        partition_by=[column("subject_id", EVENT)],
        order=exp.Order(expressions=order_by(keys)),
        spec=exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW"),
    )
    numbered = exp.select(
        column("subject_id", EVENT),
        column("time", EVENT),
        column("hit", EVENT),
        exp.alias_(counted, "run", quoted=True),
    ).from_(marked.subquery(EVENT))
    first = exp.Window(
        this=call("min", column("time", EVENT)),
        partition_by=[column("subject_id", EVENT), column("run", EVENT)],
    )
    select = exp.select(
        column("subject_id", EVENT),
        column("time", EVENT),
        column("run", EVENT),
        exp.alias_(first, "begin", quoted=True),
    )
    # Before the window is formed: samples between two runs carry the number of the first.
    return select.from_(numbered.subquery(EVENT)).where(column("hit", EVENT))
