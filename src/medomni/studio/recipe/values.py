"""A value of the language while it is compiled: SQL tree, kind, what it may tell, when it is missing.

Every SQL tree is built here or beside it with SQLGlot; text is never pasted together.

Leaves to others: which names there are (`scope`), and the operations (`expressions`, `functions`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from sqlglot import exp

from medomni.studio.errors import RecipeError
from medomni.studio.recipe.catalog import EXACT, Kind

_MOST_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Need:
    """Something that arithmetic needs: a row where it is missing is excluded by the rule `null:<name>`."""

    name: str
    present: exp.Expr
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class Value:
    """A compiled expression.

    Attributes:
        sql: Its tree; shared, so copy before changing.
        outcome: Why it may tell the future; empty for what was known at the prediction time.
        nullable: Whether it can be missing where all of `needs` are fulfilled.
        name: How the rule `null:<name>` calls it; empty for the result of arithmetic, which takes the name of
            the rule or definition that it stands in.
        ratio: Numerator and denominator of an exact quotient, which comparisons use instead of `sql`.
        known_by_index: A moment that is never after the prediction time.
        ends_later: A moment in a row's own future: how it compares with the prediction time is known then.
        items: The members of a list.
    """

    sql: exp.Expr
    kind: Kind
    outcome: str = ""
    nullable: bool = False
    needs: tuple[Need, ...] = ()
    name: str = ""
    ratio: tuple[Value, Value] | None = None
    known_by_index: bool = False
    ends_later: bool = False
    items: tuple[Value, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether it is a number without binary fractions."""
        return self.kind in EXACT


def column(name: str, table: str = "") -> exp.Column:
    """A quoted column."""
    owner = exp.to_identifier(table, quoted=True) if table else None
    return exp.Column(this=exp.to_identifier(name, quoted=True), table=owner)


def call(name: str, *args: exp.Expr) -> exp.Expr:
    """A function of DuckDB, by its own name."""
    return exp.Anonymous(this=name, expressions=[arg.copy() for arg in args])


def number(value: Decimal | int) -> exp.Expr:
    """An exact number; one with more digits than DuckDB's literals keep becomes a cast of its text."""
    value = Decimal(value)
    text = f"{abs(value):f}"
    literal: exp.Expr = exp.Literal.number(text)
    if len(text) > _MOST_DIGITS:
        literal = exp.cast(exp.Literal.string(text), "DOUBLE")
    return exp.Paren(this=exp.Neg(this=literal)) if value < 0 else literal


def text(value: str) -> exp.Expr:
    """A text, quoted by SQLGlot."""
    return exp.Literal.string(value)


def cast(sql: exp.Expr, kind: str) -> exp.Expr:
    """A cast to a type of DuckDB."""
    return exp.Cast(this=sql.copy(), to=exp.DataType.build(kind, dialect="duckdb"))


def operate(node: type[exp.Binary], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """`(left op right)`, always in brackets."""
    return exp.Paren(this=node(this=left.copy(), expression=right.copy()))


def all_of(conditions: Iterable[exp.Expr]) -> exp.Expr:
    """The conditions joined by AND; true for none."""
    return _joined(exp.And, conditions, exp.true())


def any_of(conditions: Iterable[exp.Expr]) -> exp.Expr:
    """The conditions joined by OR; false for none."""
    return _joined(exp.Or, conditions, exp.false())


def _joined(node: type[exp.Connector], conditions: Iterable[exp.Expr], empty: exp.Expr) -> exp.Expr:
    found: exp.Expr | None = None
    for condition in conditions:
        found = condition.copy() if found is None else node(this=found, expression=condition.copy())
    return exp.Paren(this=found) if found is not None else empty


def negate(condition: exp.Expr) -> exp.Expr:
    """NOT of a condition that is never missing."""
    return exp.Not(this=exp.Paren(this=condition.copy()))


def is_missing(sql: exp.Expr) -> exp.Expr:
    """`sql IS NULL`."""
    return exp.Paren(this=exp.Is(this=sql.copy(), expression=exp.Null()))


def is_present(sql: exp.Expr) -> exp.Expr:
    """`sql IS NOT NULL`."""
    return exp.Not(this=is_missing(sql))


def known(condition: exp.Expr) -> exp.Expr:
    """A condition with false for missing: comparisons with NULL are false."""
    return exp.Coalesce(this=condition.copy(), expressions=[exp.false()])


def case(whens: Sequence[tuple[exp.Expr, exp.Expr]], otherwise: exp.Expr | None = None) -> exp.Expr:
    """CASE WHEN … THEN … ELSE … END."""
    branches = [exp.If(this=when.copy(), true=then.copy()) for when, then in whens]
    return exp.Case(ifs=branches, default=otherwise.copy() if otherwise is not None else None)


def seconds_between(later: exp.Expr, earlier: exp.Expr) -> exp.Expr:
    """Exact seconds from one time to another, as a decimal."""
    micros = operate(exp.Sub, call("epoch_us", later), call("epoch_us", earlier))
    # As a decimal factor, since a division would become a binary fraction.
    return operate(exp.Mul, cast(micros, "DECIMAL(19, 0)"), number(Decimal("0.000001")))


def plus_seconds(moment: exp.Expr, seconds: exp.Expr) -> exp.Expr:
    """A time some exact seconds later."""
    # DuckDB's whole numbers have 32 bits where nothing says otherwise.
    micros = cast(operate(exp.Mul, cast(seconds, "DECIMAL(25, 6)"), number(1_000_000)), "BIGINT")
    return operate(exp.Add, moment, call("to_microseconds", micros))


def shifted(moment: exp.Expr, seconds: Decimal) -> exp.Expr:
    """A time some fixed seconds later (or, below 0, earlier)."""
    if not seconds:
        return moment.copy()
    micros = exp.Literal.number(str(abs(int(seconds * 1_000_000))))
    return operate(exp.Add if seconds > 0 else exp.Sub, moment, call("to_microseconds", micros))


def as_double(value: Value) -> exp.Expr:
    """A number as a binary fraction, for functions that have no exact result."""
    return value.sql.copy() if value.kind is Kind.FLOAT else cast(value.sql, "DOUBLE")


def wrong_kind(what: str) -> RecipeError:
    """The error for a value of a kind that does not fit."""
    return RecipeError(what, code="recipe-type")


def first_outcome(*values: Value) -> str:
    """Why one of the values may tell the future; empty if none does."""
    return next((value.outcome for value in values if value.outcome), "")


def needs_of(*values: Value) -> tuple[Need, ...]:
    """All needs of the values, each once."""
    return tuple(dict.fromkeys(need for value in values for need in value.needs))


def demanded(*values: Value) -> tuple[Need, ...]:
    """What arithmetic on the values needs: their own needs, and that each is there."""
    needs = list(needs_of(*values))
    for value in values:
        if value.nullable:
            needs.append(Need(value.name, is_present(value.sql), value.outcome))
    return tuple(dict.fromkeys(needs))


def guarded(needs: Iterable[Need], condition: exp.Expr, outcome: str) -> tuple[Need, ...]:
    """The needs, asked only where a condition holds."""
    return tuple(
        replace(need, present=any_of([negate(condition), need.present]), outcome=need.outcome or outcome)
        for need in needs
    )
