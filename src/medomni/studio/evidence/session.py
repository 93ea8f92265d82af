"""Steps on one DuckDB connection: temporary relations, macros, and its errors as ours.

Leaves to others: the queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from medomni.studio.evidence.errors import EvidenceError
from medomni.studio.recipe.events import table
from medomni.studio.recipe.plan import Step, sql_text

if TYPE_CHECKING:
    import duckdb


@dataclass(slots=True)
class Session:
    """A connection and the temporary relations that were made on it."""

    connection: duckdb.DuckDBPyConnection
    _made: dict[str, str] = field(default_factory=dict)

    def define(self, macros: Iterable[str]) -> None:
        """Make the macros, whose text is our own."""
        with _explained("macros"):
            for text in macros:
                self.connection.execute(text)

    def make(self, name: str, query: exp.Query) -> None:
        """Fill a temporary relation; it hides a table or view of the same name.

        Raises:
            EvidenceError: `evidence-memory`, `evidence-query`.
        """
        self.take(Step(name, query))

    def take(self, step: Step) -> None:
        """Take a step of a plan.

        Raises:
            EvidenceError: As `make`.
        """
        self.execute(step.name, step.sql(), kind="TABLE" if step.stored else "VIEW")

    def execute(self, name: str, statement: str, *, kind: str = "TABLE") -> None:
        """Run a step's statement, which makes the relation `name`.

        Raises:
            EvidenceError: As `make`.
        """
        with _explained(name):
            self._drop(name)
            self.connection.execute(statement)
        self._made[name] = kind

    def drop_all(self) -> None:
        """Take away every relation that was made, so that what they hid is seen again."""
        with _explained("temporary relations"):
            for name in sorted(self._made):
                self._drop(name)

    def rows(self, query: exp.Query | str, *, what: str) -> list[tuple[Any, ...]]:
        """The rows of a query, or of its text.

        Raises:
            EvidenceError: As `make`.
        """
        statement = query if isinstance(query, str) else sql_text(query)
        with _explained(what):
            found: list[tuple[Any, ...]] = self.connection.execute(statement).fetchall()
            return found

    def _drop(self, name: str) -> None:
        # Never a table that was there before: only what was made here.
        if name in self._made:
            self.connection.execute(sql_text(exp.Drop(tables=[table(name)], kind=self._made.pop(name))))


@contextmanager
def _explained(what: str) -> Iterator[None]:
    import duckdb

    try:
        yield
    except duckdb.OutOfMemoryException as failure:
        raise EvidenceError(
            f"gathering evidence ({what}) needs more memory than it may use",
            hint="raise studio.memory_limit in medomni.toml, or free room in its spill_folder",
            code="evidence-memory",
        ) from failure
    except duckdb.Error as failure:
        first = str(failure).splitlines()[0]
        raise EvidenceError(
            f"gathering evidence ({what}) failed: {first}", code="evidence-query"
        ) from failure
