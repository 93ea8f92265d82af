"""The tree of an expression or reference, and its text again.

Leaves to others: reading text (`parser`), meaning (`outcome`, `expressions`).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

COMPARISONS = ("==", "!=", "<=", ">=", "<", ">")
# How tightly an operator binds; more is tighter.
_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _SIGN, _ATOM = range(8)


@dataclass(frozen=True, slots=True)
class Number:
    """An exact decimal number."""

    value: Decimal


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time in exact seconds; `text` is how it was written."""

    seconds: Decimal
    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text in quotes."""

    value: str


@dataclass(frozen=True, slots=True)
class Name:
    """A name, with its owner before the dot where there is one: `age`, `patient.gender`."""

    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Items:
    """A list in brackets, as `band` and `in` take it."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the language (`min`), of the label (`egfr`), or of the library (`kdigo_creatinine@1`)."""

    name: str
    args: tuple[Expr, ...]
    named: tuple[tuple[str, Expr], ...] = ()
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Unary:
    """`-x` or `not x`."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary:
    """`+ - * /`, or `and` and `or`."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Compare:
    """A chain of comparisons: `70 <= value < 180`."""

    first: Expr
    rest: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True)
class Member:
    """`x in ['a', 'b']`, or `x in values_of(table.column)`."""

    operand: Expr
    items: Items | Call


type Expr = Number | Duration | Text | Name | Items | Call | Unary | Binary | Compare | Member


@dataclass(frozen=True, slots=True)
class Ref:
    """A moment: an anchor, a distance in seconds, and the next (`->`) or last (`<-`) event from there.

    `anchor` is `("null",)`, `("trigger",)`, `("index",)`, `("start",)` or `("end",)` for the window's own
    other bound, `(owner, name)`: a window's bound or a column, or `("first", predicate, "time")` and
    `("last", …)`: a patient's first or last event.
    """

    anchor: tuple[str, ...]
    seconds: Decimal = Decimal(0)
    arrow: str | None = None
    predicate: str | None = None

    @property
    def edge(self) -> str | None:
        """The predicate whose first or last event it stands at; None for other moments."""
        return self.anchor[1] if len(self.anchor) == 3 else None


def show(expr: Expr) -> str:
    """The text of an expression; parsing it gives the same tree."""
    return _show(expr)[0]


def show_ref(ref: Ref) -> str:
    """The text of a reference."""
    text = "NULL" if ref.anchor == ("null",) else ".".join(ref.anchor)
    if ref.edge is not None:
        text = f"{ref.anchor[0]}({ref.edge}.time)"
    if ref.seconds:
        text += f" {'+' if ref.seconds > 0 else '-'} {abs(ref.seconds):f}s"
    return f"{text} {ref.arrow} {ref.predicate}" if ref.arrow else text


def _show(expr: Expr) -> tuple[str, int]:
    match expr:
        case Number() | Duration() | Text() | Name() | Items() | Call():
            return _show_atom(expr), _ATOM
        case Unary():
            return _show_unary(expr)
        case Binary():
            return _show_binary(expr)
        case Compare():
            chain = "".join(f" {op} {_inside(right, _SUM)}" for op, right in expr.rest)
            return f"{_inside(expr.first, _SUM)}{chain}", _COMPARE
        case Member():
            return f"{_inside(expr.operand, _SUM)} in {_show(expr.items)[0]}", _COMPARE


def _show_atom(expr: Number | Duration | Text | Name | Items | Call) -> str:
    match expr:
        case Number():
            return f"{expr.value:f}"
        case Duration():
            return f"{expr.seconds:f}s"
        case Text():
            return "'" + expr.value.replace("'", "''") + "'"
        case Name():
            return ".".join(expr.parts)
        case Items():
            return f"[{_commas(expr.items)}]"
        case Call():
            return _show_call(expr)


def _show_call(call: Call) -> str:
    version = "" if call.version is None else f"@{call.version}"
    parts = [_show(arg)[0] for arg in call.args]
    parts += [f"{name}: {_show(value)[0]}" for name, value in call.named]
    return f"{call.name}{version}({', '.join(parts)})"


def _show_unary(expr: Unary) -> tuple[str, int]:
    if expr.op == "not":
        return f"not {_inside(expr.operand, _NOT)}", _NOT
    return f"-{_inside(expr.operand, _SIGN)}", _SIGN


def _show_binary(expr: Binary) -> tuple[str, int]:
    level = {"or": _OR, "and": _AND, "+": _SUM, "-": _SUM}.get(expr.op, _PRODUCT)
    # The right side of an operator of the same kind keeps its brackets: a - (b - c).
    return f"{_inside(expr.left, level)} {expr.op} {_inside(expr.right, level + 1)}", level


def _inside(expr: Expr, least: int) -> str:
    text, level = _show(expr)
    return text if level >= least else f"({text})"


def _commas(items: tuple[Expr, ...]) -> str:
    return ", ".join(_show(item)[0] for item in items)


def children(expr: Expr) -> tuple[Expr, ...]:
    """The expressions directly inside one."""
    match expr:
        case Items():
            return expr.items
        case Call():
            return (*expr.args, *(value for _, value in expr.named))
        case Unary():
            return (expr.operand,)
        case Binary():
            return (expr.left, expr.right)
        case Compare():
            return (expr.first, *(right for _, right in expr.rest))
        case Member():
            return (expr.operand, expr.items)
        case _:
            return ()
