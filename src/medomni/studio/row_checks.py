"""What a release holds of a label's predicates, checked before anything is computed of it.

Leaves to others: the label's own definition (`recipe.binding`), and its answers (`labels`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from medomni.studio.definitions.places import place_of
from medomni.studio.errors import LabelError
from medomni.studio.queries import run
from medomni.studio.recipe.binding import Bound
from medomni.studio.recipe.events import Data, units_query
from medomni.studio.recipe.model import FromSql, Predicate, Series
from medomni.studio.recipe.own_query import own_faults
from medomni.studio.recipe.series import texts_query
from medomni.studio.recipe.values import column

if TYPE_CHECKING:
    import duckdb

_SHOWN = 5


def check_units(connection: duckdb.DuckDBPyConnection, bound: Bound, data: Data) -> None:
    """Refuse values in other units than a predicate allows.

    Raises:
        LabelError: `label-unit`.
    """
    for name, event in bound.label.events.items():
        rows = event.base if isinstance(event, Series) else event
        used = isinstance(rows, Predicate) and name in bound.scope.used.events
        query = units_query(rows, data) if isinstance(rows, Predicate) and used else None
        found = run(connection, query) if query is not None else []
        if found:
            shown = ", ".join(f"{unit!r} ({count} rows)" for unit, count in found[:_SHOWN])
            raise LabelError(
                f"values of {name!r} have other units than allowed: {shown}",
                where=place_of(bound.label, ("predicates", name)),
                hint="list every unit that means the same under `unit:`, or limit the codes",
                code="label-unit",
            )


def check_samples(connection: duckdb.DuckDBPyConnection, bound: Bound, data: Data) -> None:
    """Refuse texts of a series that stand for no number.

    Raises:
        LabelError: `label-series-text`.
    """
    for name, event in bound.label.events.items():
        used = isinstance(event, Series) and name in bound.scope.used.events
        query = texts_query(event, data) if isinstance(event, Series) and used else None
        found = run(connection, query) if query is not None else []
        if found:
            shown = ", ".join(f"{word!r} ({count} rows)" for word, count in found[:_SHOWN])
            raise LabelError(
                f"samples of {name!r} are neither numbers nor under `map:`: {shown}",
                where=place_of(bound.label, ("series", name)),
                hint="map them to numbers, or leave them out with other_cols or where",
                code="label-series-text",
            )


def check_own_rows(connection: duckdb.DuckDBPyConnection, bound: Bound, data: Data) -> None:
    """Refuse candidates of a label's own query that can be none.

    Raises:
        LabelError: `label-sql-rows`.
    """
    event = bound.label.events.get(bound.label.trigger)
    if not isinstance(event, FromSql):
        return
    for what, query in own_faults(event, data):
        found = run(connection, query.order_by(column("subject_id"), column("time")).limit(_SHOWN))
        if found:
            shown = "; ".join(f"patient {subject} at {moment}" for subject, moment in found)
            raise LabelError(f"{what}: {shown}", where=bound.label.file, code="label-sql-rows")
