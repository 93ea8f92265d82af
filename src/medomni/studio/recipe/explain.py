"""The events in each window of each candidate, for people who ask why a label says what it says.

Leaves to others: printing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from medomni.studio.recipe.aggregates import EVENT, order_by
from medomni.studio.recipe.binding import Bound
from medomni.studio.recipe.plan import sql_text
from medomni.studio.recipe.values import call, cast, column, text
from medomni.studio.recipe.windows import Reading, joined, readings

if TYPE_CHECKING:
    import duckdb

type Rows = dict[int, dict[str, list[dict[str, Any]]]]


def window_rows(connection: duckdb.DuckDBPyConnection, bound: Bound) -> Rows:
    """By candidate and `<window> <predicate>`: time, value and key of each event, in order."""
    found: Rows = {}
    for reading in _one_each(bound):
        source = bound.scope.sources[reading.predicate]
        keys = [cast(column(f"key.{key}", EVENT), "VARCHAR") for key in source.keys]
        key: exp.Expr = call("concat_ws", text(","), *keys) if keys else exp.Null()
        value: exp.Expr = column("value", EVENT) if source.value is not None else exp.Null()
        end: exp.Expr = column("end", EVENT) if source.lasting else exp.Null()
        select = exp.select(column("cand_id", "c"), column("time", EVENT), end, value, key)
        query = select.from_(joined(reading)).order_by(column("cand_id", "c"), *order_by(source.keys))
        for candidate, time, last, shown, name in connection.execute(sql_text(query)).fetchall():
            rows = found.setdefault(candidate, {}).setdefault(
                f"{reading.window.name} {reading.predicate}", []
            )
            row = {"time": time, "value": shown, "key": name}
            rows.append({**row, "end": last} if source.lasting else row)
    return found


def _one_each(bound: Bound) -> Iterator[Reading]:
    """The readings, without those that see the same events as another one: runs of a series."""
    every = list(readings(bound))
    seen = {(each.window.name, each.predicate) for each in every if not each.runs}
    for each in every:
        place = (each.window.name, each.predicate)
        if not each.runs or place not in seen:
            yield each
        seen.add(place)
