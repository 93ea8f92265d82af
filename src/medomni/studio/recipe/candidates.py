"""The candidates of a label: the events of its trigger, with what is read of them and of their owners.

Leaves to others: the windows' bounds (`windows`), and everything that is computed of candidates (`plan`).
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from medomni.studio.recipe.aggregates import event_column
from medomni.studio.recipe.binding import Bound
from medomni.studio.recipe.catalog import Kind
from medomni.studio.recipe.events import Data, relation, table
from medomni.studio.recipe.model import Grid
from medomni.studio.recipe.values import call, case, cast, column, operate, shifted, text

_E = "e"


def candidates_query(bound: Bound, data: Data) -> exp.Query:
    """The query of a label's candidates: patient, prediction time, key, what is read of trigger and owner."""
    scope, label = bound.scope, bound.label
    plain = column("time", _E)
    index = shifted(plain, label.index.seconds)
    if label.grid is not None:
        index = _grid_moments(label.grid)
    elif scope.prediction.offset is None:
        index = shifted(_own(label.index.anchor[1]), label.index.seconds)
    outputs = {
        "subject_id": column("subject_id", _E),
        "index": index,
        "key": _key_text(scope.trigger.keys),
        "trigger.time": plain,
    }
    for name in scope.used.trigger:
        outputs.setdefault(f"trigger.{name}", _own(name))
    select = exp.select(*(exp.alias_(sql, name, quoted=True) for name, sql in outputs.items()))
    select = select.from_(table(relation(label.trigger), _E))
    for owner, columns in scope.used.owners.items():
        select = _join_owner(select, bound, data, owner, columns)
    if label.grid is not None:
        # What happens before the trigger does not know yet that there will be one.
        later = operate(exp.GTE, column("index", _E), column("trigger.time", _E))
        return exp.select(exp.Star()).from_(select.subquery(_E)).where(later)
    return select.where(exp.Not(this=exp.Is(this=index.copy(), expression=exp.Null())))


def _own(name: str) -> exp.Expr:
    """A column of the trigger."""
    return column("time" if name == "start" else event_column(name), _E)


def _grid_moments(grid: Grid) -> exp.Expr:
    """The moments of a grid, one row for each; none where its start or end is missing."""
    ends = [shifted(_grid_anchor(ref.anchor), ref.seconds) for ref in (grid.start, grid.end)]
    step = call("to_microseconds", exp.Literal.number(str(int(grid.every * 1_000_000))))
    return call("unnest", call("generate_series", *ends, step))


def _grid_anchor(anchor: tuple[str, ...]) -> exp.Expr:
    if anchor == ("trigger",):
        return column("time", _E)
    owner, name = anchor
    plain = _own(name) if owner == "trigger" else column(name, owner)
    return cast(plain, "TIMESTAMP")


def _key_text(keys: tuple[str, ...]) -> exp.Expr:
    """The primary key of the trigger's row as text; its time where there is none."""
    if not keys:
        return exp.Coalesce(this=column("tie", _E), expressions=[iso(column("time", _E))])
    parts = [cast(column(f"key.{key}", _E), "VARCHAR") for key in keys]
    return parts[0] if len(parts) == 1 else call("concat_ws", text(","), *parts)


def iso(moment: exp.Expr) -> exp.Expr:
    """A time as ISO text, `2180-05-07T00:19:00`, with microseconds only where there are some."""
    whole = call("strftime", moment, text("%Y-%m-%dT%H:%M:%S"))
    fraction = call("strftime", moment, text("%Y-%m-%dT%H:%M:%S.%f"))
    exact = operate(exp.EQ, moment, call("date_trunc", text("second"), moment))
    return case([(exact, whole)], fraction)


def _join_owner(
    select: exp.Select, bound: Bound, data: Data, owner: str, columns: Mapping[str, Kind]
) -> exp.Select:
    scope = bound.scope
    owners = scope.catalog.owners(scope.trigger.table) if scope.trigger.table else {}
    found, key = owners.get(owner, (scope.catalog.patients, str(scope.catalog.patients.patient)))
    mine = column("subject_id", _E) if key == found.patient else column(event_column(key), _E)
    on = operate(exp.EQ, mine, column(key, owner))
    select = select.join(data.rows(found.name, owner), on=on, join_type="left", copy=False)
    for name in columns:
        plain: exp.Expr = column(name, owner)
        if found.columns[name].text == "date":
            plain = cast(plain, "TIMESTAMP")
        select = select.select(exp.alias_(plain, f"{owner}.{name}", quoted=True), copy=False)
    return select
