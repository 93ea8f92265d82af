"""The functions of the language: kinds of their arguments, SQL trees, missing values.

DuckDB's `least` and `greatest` skip missing values and its `ln(0)` stops the query: here the first is missing
where an argument is, and what has no real result is missing.

Leaves to others: functions that a label defines (`scope`), and those of the library (`library`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from sqlglot import exp

from medomni.studio.errors import RecipeError
from medomni.studio.recipe.catalog import NUMBERS, Kind
from medomni.studio.recipe.comparison import plain_comparison
from medomni.studio.recipe.values import (
    Value,
    any_of,
    as_double,
    call,
    case,
    cast,
    demanded,
    first_outcome,
    guarded,
    is_missing,
    known,
    needs_of,
    negate,
    number,
    operate,
    wrong_kind,
)

_MANY = 50


@dataclass(frozen=True, slots=True)
class Function:
    """A function: least and greatest number of arguments, its builder, and arguments that are plain words.

    Attributes:
        repeats: Whether its SQL holds an argument several times.
    """

    arity: tuple[int, int]
    build: Callable[[Sequence[Value], str], Value]
    words: tuple[int, ...] = ()
    repeats: bool = False


def _numbers(args: Sequence[Value], shown: str) -> None:
    for arg in args:
        if arg.items or arg.kind not in NUMBERS:
            raise wrong_kind(f"`{shown}` needs numbers, and has {'a list' if arg.items else arg.kind}")


def _common(args: Sequence[Value], shown: str) -> Kind:
    """The kind that holds all arguments."""
    kinds = {arg.kind for arg in args}
    if any(arg.items for arg in args) or (len(kinds) > 1 and not kinds <= set(NUMBERS)):
        raise wrong_kind(f"`{shown}` mixes {' and '.join(sorted(kinds))}")
    if len(kinds) == 1:
        return kinds.pop()
    return Kind.FLOAT if Kind.FLOAT in kinds else Kind.DECIMAL


def _extreme(name: str) -> Callable[[Sequence[Value], str], Value]:
    def build(args: Sequence[Value], shown: str) -> Value:
        kind = _common(args, shown)
        if kind in (Kind.BOOL, Kind.TEXT):
            raise wrong_kind(f"`{shown}` needs numbers or times")
        lacking = any_of(is_missing(arg.sql) for arg in args if not isinstance(arg.sql, exp.Literal))
        sql = case([(negate(lacking), call(name, *(arg.sql for arg in args)))])
        # The earliest is known where one is; the latest where all are.
        settled = any if name == "least" else all
        before = kind is Kind.TIME and settled(arg.known_by_index for arg in args)
        return Value(sql, kind, first_outcome(*args), needs=demanded(*args), known_by_index=before)

    return build


def _absolute(args: Sequence[Value], shown: str) -> Value:
    _numbers(args, shown)
    return Value(call("abs", args[0].sql), args[0].kind, args[0].outcome, needs=demanded(*args))


def _real(name: str, *, positive: bool = False) -> Callable[[Sequence[Value], str], Value]:
    """A function whose result is a binary fraction, and missing where it is not finite."""

    def build(args: Sequence[Value], shown: str) -> Value:
        _numbers(args, shown)
        doubles = [as_double(arg) for arg in args]
        result = call(name, *doubles)
        allowed = operate(exp.GT, doubles[0], number(0)) if positive else exp.true()
        # The inner CASE keeps a bad argument from the function; the outer one drops what is not finite.
        safe = case([(allowed, result)])
        sql = case([(call("isfinite", safe), safe)])
        return Value(sql, Kind.FLOAT, first_outcome(*args), nullable=True, needs=demanded(*args))

    return build


def _power(args: Sequence[Value], shown: str) -> Value:
    _numbers(args, shown)
    # What has no real result comes out infinite or as no number at all.
    power = call("pow", as_double(args[0]), as_double(args[1]))
    sql = case([(call("isfinite", power), power)])
    positive = isinstance(args[0].sql, exp.Literal) and args[0].sql.this.strip("0.") != ""
    fixed = isinstance(args[1].sql, exp.Literal) or positive
    return Value(
        sql, Kind.FLOAT, first_outcome(*args), nullable=not (positive and fixed), needs=demanded(*args)
    )


def _round(args: Sequence[Value], shown: str) -> Value:
    _numbers(args, shown)
    digits = 0
    if len(args) == 2:
        literal = args[1].sql
        if not isinstance(literal, exp.Literal) or args[1].kind is not Kind.INTEGER:
            raise wrong_kind(f"the digits of `{shown}` must be a whole number")
        digits = int(literal.this)
    value = args[0]
    sql = call("round", value.sql, exp.Literal.number(str(digits)))
    return replace(value, sql=sql, needs=demanded(value), nullable=False, name="", ratio=None)


def _clip(args: Sequence[Value], shown: str) -> Value:
    _numbers(args, shown)
    low = _extreme("greatest")([args[0], args[1]], shown)
    return _extreme("least")([low, args[2]], shown)


def _coalesce(args: Sequence[Value], shown: str) -> Value:
    kind = _common(args, shown)
    sql = exp.Coalesce(this=args[0].sql.copy(), expressions=[arg.sql.copy() for arg in args[1:]])
    before = kind is Kind.TIME and all(arg.known_by_index for arg in args)
    # A missing argument is what it is for: only the last one can leave it without a value.
    missing = all(arg.nullable or arg.needs for arg in args)
    return Value(
        sql,
        kind,
        first_outcome(*args),
        nullable=missing,
        name=shown if missing else "",
        known_by_index=before,
    )


def _if(args: Sequence[Value], shown: str) -> Value:
    condition, yes, no = args
    if condition.kind is not Kind.BOOL:
        raise wrong_kind(f"the condition of `{shown}` is {condition.kind}")
    kind = _common([yes, no], shown)
    needs = (
        *needs_of(condition),
        *guarded(needs_of(yes), condition.sql, condition.outcome),
        *guarded(needs_of(no), negate(condition.sql), condition.outcome),
    )
    nullable = yes.nullable or no.nullable
    # Arithmetic without a result in a branch stays anonymous, so that comparing it excludes the row.
    anonymous = any(arg.nullable and not arg.name for arg in (yes, no))
    return Value(
        case([(condition.sql, yes.sql)], no.sql),
        kind,
        first_outcome(*args),
        nullable=nullable,
        needs=tuple(dict.fromkeys(needs)),
        name=shown if nullable and not anonymous else "",
        known_by_index=yes.known_by_index and no.known_by_index,
    )


def _moment(name: str, kind: Kind) -> Callable[[Sequence[Value], str], Value]:
    def build(args: Sequence[Value], shown: str) -> Value:
        if args[0].kind is not Kind.TIME or args[0].items:
            raise wrong_kind(f"`{shown}` needs a time, and has {args[0].kind}")
        sql = call(name, args[0].sql)
        if kind is Kind.TIME:
            sql = call("date_trunc", exp.Literal.string("day"), args[0].sql)
        before = kind is Kind.TIME and args[0].known_by_index
        return Value(sql, kind, args[0].outcome, needs=demanded(*args), known_by_index=before)

    return build


def _regex(args: Sequence[Value], shown: str) -> Value:
    pattern = args[1].sql
    if args[0].kind is not Kind.TEXT or args[0].items or not isinstance(pattern, exp.Literal):
        raise wrong_kind(f"`{shown}` needs a text and a pattern in quotes")
    check_pattern(str(pattern.this))
    sql = known(call("regexp_matches", args[0].sql, pattern))
    return Value(sql, Kind.BOOL, args[0].outcome, needs=needs_of(args[0]))


def check_pattern(pattern: str) -> None:
    """Refuse what is no regular expression.

    Raises:
        RecipeError: `recipe-regex`.
    """
    try:
        re.compile(pattern)
    except re.error as error:
        raise RecipeError(f"{pattern!r} is no regular expression: {error}", code="recipe-regex") from error
    # DuckDB's engine (RE2) has neither of these, on purpose.
    if re.search(r"\(\?(?:[=!]|<[=!])|\\[1-9]", pattern):
        raise RecipeError(f"{pattern!r} looks around or back, which is not supported", code="recipe-regex")


def _band(args: Sequence[Value], shown: str) -> Value:
    value, cuts, order = args
    word = str(order.sql.this) if isinstance(order.sql, exp.Literal) else ""
    if not cuts.items or word not in ("asc", "desc"):
        raise wrong_kind(f"`{shown}` must be band(x, [cuts], asc) or band(x, [cuts], desc)")
    _numbers([value, *cuts.items], shown)
    limits = [_literal(cut, shown) for cut in cuts.items]
    rising = all(left < right for left, right in pairwise(limits))
    falling = all(left > right for left, right in pairwise(limits))
    if not (rising if word == "asc" else falling):
        raise wrong_kind(f"the cuts of `{shown}` must be {'rising' if word == 'asc' else 'falling'}")
    # Not in a CASE: DuckDB computes a repeated expression once, unless it stands in one.
    op = ">=" if word == "asc" else "<"
    parts = [cast(plain_comparison(op, value, cut), "INTEGER") for cut in cuts.items]
    total = parts[0]
    for part in parts[1:]:
        total = operate(exp.Add, total, part)
    return Value(total, Kind.INTEGER, value.outcome, needs=demanded(value))


def _literal(cut: Value, shown: str) -> float:
    inner = cut.sql
    if isinstance(inner, exp.Paren) and isinstance(inner.this, exp.Neg):
        return -float(str(inner.this.this.this))
    if not isinstance(inner, exp.Literal):
        raise wrong_kind(f"the cuts of `{shown}` must be plain numbers")
    return float(str(inner.this))


FUNCTIONS: Mapping[str, Function] = {
    "abs": Function((1, 1), _absolute),
    "band": Function((3, 3), _band, words=(2,), repeats=True),
    "clip": Function((3, 3), _clip, repeats=True),
    "coalesce": Function((2, _MANY), _coalesce),
    "date": Function((1, 1), _moment("date", Kind.TIME)),
    "exp": Function((1, 1), _real("exp"), repeats=True),
    "if": Function((3, 3), _if),
    "ln": Function((1, 1), _real("ln", positive=True), repeats=True),
    "log10": Function((1, 1), _real("log10", positive=True), repeats=True),
    "max": Function((2, _MANY), _extreme("greatest"), repeats=True),
    "min": Function((2, _MANY), _extreme("least"), repeats=True),
    "pow": Function((2, 2), _power, repeats=True),
    "regex": Function((2, 2), _regex),
    "round": Function((1, 2), _round),
    "year": Function((1, 1), _moment("year", Kind.INTEGER)),
}
