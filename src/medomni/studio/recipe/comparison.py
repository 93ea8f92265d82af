"""Comparisons: false where a side is missing, exact for exact numbers, blind to a future end.

Leaves to others: everything else that an expression may hold (`expressions`, `functions`).
"""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from medomni.studio.recipe.catalog import NUMBERS, Kind
from medomni.studio.recipe.values import (
    Value,
    case,
    demanded,
    first_outcome,
    known,
    needs_of,
    number,
    operate,
    wrong_kind,
)

_COMPARE: dict[str, type[exp.Binary]] = {
    "==": exp.EQ,
    "!=": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
}
_MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def compared(op: str, left: Value, right: Value, shown: str) -> Value:
    """A comparison of two values, false where one is missing.

    Raises:
        RecipeError: `recipe-type`: kinds that cannot be compared, such as text with a number.
    """
    same = left.kind is right.kind or (left.kind in NUMBERS and right.kind in NUMBERS)
    if left.items or right.items or not same:
        raise wrong_kind(f"`{shown}` compares {left.kind} with {right.kind}")
    if left.kind is Kind.BOOL and op not in ("==", "!="):
        raise wrong_kind(f"`{shown}`: true and false have no order")
    # The future end of a row is hidden by the prediction time, and so tells no more than that it is later.
    censored = (left.ends_later and right.known_by_index) or (right.ends_later and left.known_by_index)
    outcome = "" if censored and op not in ("==", "!=") else first_outcome(left, right)
    needs = [*needs_of(left, right)]
    for value in (left, right):
        if value.nullable and not value.name:
            needs.extend(demanded(value))
    return Value(
        known(plain_comparison(op, left, right)), Kind.BOOL, outcome, needs=tuple(dict.fromkeys(needs))
    )


def plain_comparison(op: str, left: Value, right: Value) -> exp.Expr:
    """The comparison of two numbers, exact where they are, and missing where one is."""
    if left.ratio is not None and right.exact:
        return _across(op, left.ratio, right)
    if right.ratio is not None and left.exact:
        return _across(_MIRROR[op], right.ratio, left)
    return operate(_COMPARE[op], left.sql, right.sql)


def _across(op: str, ratio: tuple[Value, Value], other: Value) -> exp.Expr:
    """`a / b op c` without dividing: `a op c * b` for b above 0, mirrored below, missing for 0."""
    top, bottom = ratio
    product = operate(exp.Mul, other.sql, bottom.sql)
    zero = number(Decimal(0))
    return case(
        [
            (operate(exp.GT, bottom.sql, zero), operate(_COMPARE[op], top.sql, product)),
            (operate(exp.LT, bottom.sql, zero), operate(_COMPARE[_MIRROR[op]], top.sql, product)),
        ]
    )
