"""Moments at which several predicates have events, or any table has a row: one event per patient and moment.

Leaves to others: the predicates themselves (`events`).
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from medomni.studio.errors import RecipeError
from medomni.studio.recipe.catalog import unknown
from medomni.studio.recipe.events import Data, moment, relation, table
from medomni.studio.recipe.model import Combined, Event
from medomni.studio.recipe.sources import ANY_EVENT
from medomni.studio.recipe.syntax import Binary, Expr, Name, Unary, show
from medomni.studio.recipe.values import all_of, column, is_present, number, operate

_T = "t"


def moments_query(event: Combined) -> exp.Query:
    """The query of a combination's events: patient and moment, each once."""
    found = _set(event.expr)
    select = exp.select(
        column("subject_id", _T),
        column("time", _T),
        exp.alias_(column("time", _T), "available", quoted=True),
        exp.alias_(exp.Null(), "tie", quoted=True),
    )
    return select.from_(found.subquery(_T))


def _set(expr: Expr) -> exp.Query:
    """The patient and moment pairs of a combination."""
    if isinstance(expr, Name):
        plain = exp.select(column("subject_id"), column("time")).from_(table(relation(expr.parts[0])))
        return plain.distinct()
    if isinstance(expr, Unary):
        return _minus(Name((ANY_EVENT,)), expr.operand)
    if not isinstance(expr, Binary):
        raise RecipeError(f"`{show(expr)}` is no combination of predicates", code="recipe-syntax")
    if expr.op == "or":
        return exp.union(_part(expr.left), _part(expr.right), distinct=True)
    if isinstance(expr.right, Unary):
        return _minus(expr.left, expr.right.operand)
    return exp.intersect(_part(expr.left), _part(expr.right), distinct=True)


def _minus(left: Expr, right: Expr) -> exp.Query:
    return exp.except_(_part(left), _part(right), distinct=True)


def _part(expr: Expr) -> exp.Query:
    """A member as a plain SELECT: set operations side by side would be read from the left."""
    plain = exp.select(column("subject_id", _T), column("time", _T))
    return plain.from_(_set(expr).subquery(_T))


def any_event(data: Data) -> exp.Query:
    """Every moment at which any table has a row of a patient."""
    parts: list[exp.Query] = []
    for found in data.catalog.tables.values():
        if found.patient is None or found.time is None or found.name not in data.present:
            continue
        time = moment(found, found.time)
        select = exp.select(
            exp.alias_(column(found.patient, _T), "subject_id", quoted=True),
            exp.alias_(time, "time", quoted=True),
        ).from_(data.rows(found.name, _T))
        conditions = [is_present(time)]
        if data.subject is not None:
            conditions.append(operate(exp.EQ, column(found.patient, _T), number(data.subject)))
        parts.append(select.where(all_of(conditions)))
    if not parts:
        raise RecipeError("no table has events", code="recipe-table-unknown")
    union: exp.Query = parts[0]
    for part in parts[1:]:
        union = exp.union(union, part, distinct=True)
    outer = exp.select(
        exp.Star(),
        exp.alias_(column("time"), "available", quoted=True),
        exp.alias_(exp.Null(), "tie", quoted=True),
    )
    return outer.from_(union.subquery(_T)).distinct()


def views(label_events: Mapping[str, Event]) -> list[str]:
    """The names of a label's predicates, those first that others are made of."""
    done: list[str] = []

    def visit(name: str, open_names: tuple[str, ...]) -> None:
        if name in done or name == ANY_EVENT:
            return
        if name in open_names:
            raise RecipeError(f"{' -> '.join((*open_names, name))} is a circle", code="recipe-circle")
        event = label_events.get(name)
        if isinstance(event, Combined):
            for member in members(event.expr):
                visit(member, (*open_names, name))
        done.append(name)

    for name in label_events:
        visit(name, ())
    return done


def members(expr: Expr) -> list[str]:
    """The predicates that a combination is made of; `_ANY_EVENT` where it takes from all moments."""
    if isinstance(expr, Name):
        return [expr.parts[0]]
    if isinstance(expr, Unary):
        return [ANY_EVENT, *members(expr.operand)]
    if not isinstance(expr, Binary):
        return []
    right = expr.right
    taken = expr.op == "and" and isinstance(right, Unary)
    return [*members(expr.left), *members(right.operand if taken and isinstance(right, Unary) else right)]


def combination_problem(event: Combined, label_events: Mapping[str, Event]) -> None:
    """Refuse a combination of predicates that do not exist.

    Raises:
        RecipeError: `recipe-predicate-unknown`.
    """
    for name in members(event.expr):
        if name != ANY_EVENT and name not in label_events:
            raise unknown("predicate", name, label_events)
