"""Expressions to SQL trees, with kinds, missing values and what may tell the future.

Comparisons with a missing value are false; arithmetic on one excludes the row (`Need`). Numbers stay exact
until a division or a function without exact results; a quotient of exact numbers is compared by multiplying
across.

Leaves to others: what a name stands for (`scope`), the functions of the language (`functions`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from medomni.studio.errors import RecipeError
from medomni.studio.recipe.catalog import EXACT, NUMBERS, Kind
from medomni.studio.recipe.comparison import compared
from medomni.studio.recipe.functions import FUNCTIONS
from medomni.studio.recipe.syntax import (
    Binary,
    Call,
    Compare,
    Duration,
    Expr,
    Items,
    Member,
    Name,
    Number,
    Text,
    Unary,
    show,
)
from medomni.studio.recipe.values import (
    Value,
    any_of,
    call,
    cast,
    demanded,
    first_outcome,
    known,
    needs_of,
    negate,
    number,
    operate,
    plus_seconds,
    seconds_between,
    text,
    wrong_kind,
)

type Resolve = Callable[[tuple[str, ...]], Value]
type Macro = Callable[[Call], Value | None]
type Keep = Callable[[Value], Value]
type Listed = Callable[[tuple[str, ...]], tuple[exp.Query, Kind]]

_ARITHMETIC: dict[str, type[exp.Binary]] = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul, "/": exp.Div}


class Compiler:
    """Compiles expressions in one scope.

    Args:
        resolve: What a name stands for; raises for an unknown one.
        macro: What a call of the label's or the library's functions stands for; None for other calls.
        keep: Gives a longer expression a column of its own, so that what repeats it computes it once.
        listed: The query and kind of `values_of(table.column)`; None where that may not stand.
    """

    def __init__(
        self, resolve: Resolve, macro: Macro, keep: Keep | None = None, listed: Listed | None = None
    ) -> None:
        self._resolve = resolve
        self._macro = macro
        self._keep = keep
        self._listed = listed

    def compile(self, expr: Expr) -> Value:
        """The value of an expression.

        Raises:
            RecipeError: An unknown name, a wrong kind, or a wrong number of arguments.
        """
        match expr:
            case Number() | Duration() | Text() | Name() | Items():
                return self._leaf(expr)
            case Unary():
                return self._unary(expr)
            case Binary():
                return self._binary(expr)
            case Compare():
                return self._compare(expr)
            case Member():
                return self._member(expr)
            case Call():
                return self._call(expr)

    def condition(self, expr: Expr) -> Value:
        """The value of an expression that must be true or false.

        Raises:
            RecipeError: As `compile`; `recipe-type` for what is neither true nor false.
        """
        value = self.compile(expr)
        if value.kind is not Kind.BOOL:
            raise wrong_kind(f"`{show(expr)}` is {value.kind}, and a condition must be true or false")
        return value

    def _leaf(self, expr: Number | Duration | Text | Name | Items) -> Value:
        match expr:
            case Number() | Duration():
                return _number(expr)
            case Text():
                return Value(text(expr.value), Kind.TEXT)
            case Name():
                return _truth(expr) or self._resolve(expr.parts)
            case Items():
                members = tuple(self.compile(item) for item in expr.items)
                return Value(exp.Null(), Kind.TEXT, items=members, outcome=first_outcome(*members))

    def _unary(self, expr: Unary) -> Value:
        if expr.op == "not":
            value = self.condition(expr.operand)
            return replace(value, sql=negate(value.sql), name="")
        value = self.compile(expr.operand)
        _must_be(value, NUMBERS, expr.operand)
        needs = demanded(value)
        return Value(exp.Paren(this=exp.Neg(this=value.sql.copy())), value.kind, value.outcome, needs=needs)

    def _binary(self, expr: Binary) -> Value:
        if expr.op in ("and", "or"):
            both = self.condition(expr.left), self.condition(expr.right)
            node = exp.And if expr.op == "and" else exp.Or
            sql = operate(node, both[0].sql, both[1].sql)
            return Value(sql, Kind.BOOL, first_outcome(*both), needs=needs_of(*both))
        left, right = self.compile(expr.left), self.compile(expr.right)
        if Kind.TIME in (left.kind, right.kind):
            return _with_time(expr, left, right)
        _must_be(left, NUMBERS, expr.left)
        _must_be(right, NUMBERS, expr.right)
        return _quotient(left, right) if expr.op == "/" else _arithmetic(expr.op, left, right)

    def _compare(self, expr: Compare) -> Value:
        values = [self.compile(each) for each in (expr.first, *(right for _, right in expr.rest))]
        parts = []
        for index, (op, _) in enumerate(expr.rest):
            parts.append(compared(op, values[index], values[index + 1], show(expr)))
        sql = parts[0].sql
        for part in parts[1:]:
            sql = operate(exp.And, sql, part.sql)
        return Value(sql, Kind.BOOL, first_outcome(*parts), needs=needs_of(*parts))

    def _member(self, expr: Member) -> Value:
        value = self.compile(expr.operand)
        if isinstance(expr.items, Call):
            return self._in_column(value, expr.items, show(expr))
        parts = [compared("==", value, self.compile(item), show(expr)) for item in expr.items.items]
        if not parts:
            raise RecipeError(f"the list of `{show(expr)}` is empty", code="recipe-type")
        return Value(
            any_of(part.sql for part in parts), Kind.BOOL, first_outcome(*parts), needs=needs_of(*parts)
        )

    def _in_column(self, value: Value, values_of: Call, shown: str) -> Value:
        """Whether a value occurs in a column of the release; false where it is missing."""
        if self._listed is None:
            raise RecipeError(
                f"`{shown}`: values_of(…) stands in a predicate's own conditions",
                hint="make a predicate with it under `where:` or `other_cols:`",
                code="recipe-function-place",
            )
        name = values_of.args[0] if len(values_of.args) == 1 and not values_of.named else None
        if not isinstance(name, Name) or len(name.parts) < 2:
            raise RecipeError(f"`{shown}` must be … in values_of(table.column)", code="recipe-type")
        query, kind = self._listed(name.parts)
        if value.items or not (value.kind is kind or (value.kind in NUMBERS and kind in NUMBERS)):
            raise wrong_kind(f"`{shown}` compares {value.kind} with {kind}")
        found = exp.In(this=value.sql.copy(), query=query.subquery())
        unnamed = demanded(value) if value.nullable and not value.name else ()
        needs = tuple(dict.fromkeys((*needs_of(value), *unnamed)))
        return Value(known(found), Kind.BOOL, value.outcome, needs=needs)

    def _call(self, expr: Call) -> Value:
        own = self._macro(expr)
        if own is not None:
            return own
        function = FUNCTIONS.get(expr.name)
        if function is None or expr.version is not None:
            raise unknown_function(expr)
        if expr.named:
            raise RecipeError(f"{expr.name} takes no named arguments", code="recipe-type")
        low, high = function.arity
        if not low <= len(expr.args) <= high:
            raise RecipeError(
                f"{expr.name} takes {low if low == high else f'{low} to {high}'} arguments,"
                f" and `{show(expr)}` has {len(expr.args)}",
                code="recipe-type",
            )
        words = {index: _word(expr.args[index]) for index in function.words if index < len(expr.args)}
        args = [
            Value(text(words[index]), Kind.TEXT) if index in words else self.compile(arg)
            for index, arg in enumerate(expr.args)
        ]
        if self._keep is None or not function.repeats:
            return function.build(args, show(expr))
        result = function.build([self._keep(arg) for arg in args], show(expr))
        # Whether it is missing is asked again.
        return self._keep(result) if result.nullable else result


def _number(expr: Number | Duration) -> Value:
    value = expr.value if isinstance(expr, Number) else expr.seconds
    sql = number(value)
    if isinstance(sql, exp.Cast):
        return Value(sql, Kind.FLOAT)
    return Value(sql, Kind.DECIMAL if "." in f"{value:f}" else Kind.INTEGER)


def _truth(expr: Name) -> Value | None:
    if expr.parts in (("true",), ("false",)):
        return Value(exp.true() if expr.parts == ("true",) else exp.false(), Kind.BOOL)
    return None


def _word(expr: Expr) -> str:
    return expr.parts[0] if isinstance(expr, Name) and len(expr.parts) == 1 else ""


def _must_be(value: Value, kinds: tuple[Kind, ...], expr: Expr) -> None:
    if value.items or value.kind not in kinds:
        found = "a list" if value.items else value.kind
        raise wrong_kind(f"`{show(expr)}` is {found}, and a number is needed there")


def unknown_function(expr: Call) -> RecipeError:
    """The error for a function that is neither of the language nor of the label."""
    version = "" if expr.version is None else f"@{expr.version}"
    return RecipeError(
        f"there is no function {expr.name}{version}",
        hint=f"functions: {', '.join(sorted(FUNCTIONS))}",
        code="recipe-function-unknown",
    )


def _arithmetic(op: str, left: Value, right: Value) -> Value:
    both_whole = left.kind is Kind.INTEGER and right.kind is Kind.INTEGER
    exact = left.exact and right.exact
    kind = Kind.INTEGER if both_whole else Kind.DECIMAL if exact else Kind.FLOAT
    parts = left.sql, right.sql
    if both_whole:
        # DuckDB's whole numbers have 32 bits where nothing says otherwise.
        parts = cast(left.sql, "BIGINT"), cast(right.sql, "BIGINT")
    sql = operate(_ARITHMETIC[op], *parts)
    return Value(sql, kind, first_outcome(left, right), needs=demanded(left, right))


def _quotient(left: Value, right: Value) -> Value:
    divisor = call("nullif", right.sql, number(0))
    ratio = (left, right) if left.exact and right.exact else None
    return Value(
        operate(exp.Div, left.sql, divisor),
        Kind.FLOAT,
        first_outcome(left, right),
        # A divisor of 0 gives no number, even where both are there.
        nullable=not isinstance(right.sql, exp.Literal) or right.sql.this.strip("0.") == "",
        needs=demanded(left, right),
        ratio=ratio,
    )


def _with_time(expr: Binary, left: Value, right: Value) -> Value:
    needs, outcome = demanded(left, right), first_outcome(left, right)
    if expr.op == "-" and left.kind is Kind.TIME and right.kind is Kind.TIME:
        return Value(seconds_between(left.sql, right.sql), Kind.DECIMAL, outcome, needs=needs)
    if left.kind is Kind.TIME and expr.op in ("+", "-") and right.kind in EXACT:
        amount = right.sql if expr.op == "+" else exp.Neg(this=exp.Paren(this=right.sql.copy()))
        earlier = expr.op == "-" and isinstance(expr.right, Duration | Number)
        return Value(
            plus_seconds(left.sql, amount),
            Kind.TIME,
            outcome,
            needs=needs,
            known_by_index=left.known_by_index and earlier,
        )
    raise wrong_kind(
        f"`{show(expr)}`: times can be subtracted, and exact seconds added to or taken from them"
    )
