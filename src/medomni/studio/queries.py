"""Queries over an open release, with DuckDB's failures as the project's own errors.

Leaves to others: what is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from medomni.studio.errors import LabelError
from medomni.studio.recipe.plan import sql_text

if TYPE_CHECKING:
    import duckdb


def run(connection: duckdb.DuckDBPyConnection, query: exp.Query) -> list[tuple[Any, ...]]:
    """The rows of a query.

    Raises:
        LabelError: `label-query`.
    """
    with explained("a query over the label"):
        rows: list[tuple[Any, ...]] = connection.execute(sql_text(query)).fetchall()
        return rows


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Say of a failure what could not be computed.

    Raises:
        LabelError: `label-memory`, `label-query`.
    """
    import duckdb

    try:
        yield
    except duckdb.OutOfMemoryException as failure:
        raise LabelError(
            f"{what} needs more memory than it may use",
            hint="raise studio.memory_limit in medomni.toml, or free room in its spill_folder",
            code="label-memory",
        ) from failure
    except duckdb.Error as failure:
        first = str(failure).splitlines()[0]
        raise LabelError(f"{what} cannot be computed: {first}", code="label-query") from failure
