"""An imported release as the recipe language sees it.

Leaves to others: importing and opening (`data`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from medomni.studio.data.store import Store

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, slots=True)
class StoredTables:
    """The tables of an open store."""

    store: Store

    @property
    def token(self) -> str:
        """The release, `mimic-iv/demo-2.2`."""
        return self.store.release.token

    @property
    def release_class(self) -> str:
        """`real`, `demo` or `dummy`."""
        return self.store.release.release_class

    @property
    def present(self) -> frozenset[str]:
        """The tables that are there."""
        return frozenset(name for name, table in self.store.tables.items() if table.present)

    def empty_columns(self, name: str) -> frozenset[str]:
        """The columns of a table without a single value."""
        return self.store.tables[name].empty_columns

    def connect(
        self, *, memory_limit: str | None = None, threads: int | None = None
    ) -> duckdb.DuckDBPyConnection:
        """A connection with a view per table, set up for the joins that labels make."""
        connection = self.store.connect(memory_limit=memory_limit, threads=threads)
        # DuckDB plans small ASOF joins as nested loops, which is slow for many rows of few patients.
        connection.execute("SET asof_loop_join_threshold = 0")
        return connection
