"""The record of one atom as plain data: the rows shown of each family and table, and the number of others.

Leaves to others: which rows are shown (`choice`), their look (`markdown`), the complete tables (`tables`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

# Where a table's complete rows lie: in the atom task, and for the agent.
FOLDER = "data/record"
MOUNTED = "/data/record"


@dataclass(frozen=True, slots=True)
class RecordPart:
    """What is shown of one family in one table.

    Attributes:
        columns: Names of the columns, as the complete table has them.
        rows: Newest first; None where nothing is known.
        total: How many rows the family has in the complete table.
    """

    family: str
    table: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    total: int

    @property
    def hidden(self) -> int:
        """How many rows are not shown."""
        return self.total - len(self.rows)

    @property
    def file(self) -> str:
        """The complete table's place in the atom task, such as `data/record/hosp.labevents.csv`."""
        return f"{FOLDER}/{self.table}.csv"

    @property
    def mounted(self) -> str:
        """Where the agent finds the complete table: `/data/record/hosp.labevents.csv`."""
        return f"{MOUNTED}/{self.table}.csv"


@dataclass(frozen=True, slots=True)
class Record:
    """What an instruction shows of the evidence.

    Attributes:
        rule: The rule by which rows are shown, in words for the agent.
        parts: In the order of families, then of tables; those without a row are left out.
    """

    rule: str
    parts: tuple[RecordPart, ...]

    def only(self, families: Collection[str] | None) -> Record:
        """The record of a rung: the parts of its families, each exactly as in the whole record."""
        if families is None:
            return self
        return replace(self, parts=tuple(part for part in self.parts if part.family in families))

    def as_plain(self) -> dict[str, Any]:
        """As `record.json` has it."""
        return {
            "schema": "medomni/record/1",
            "rule": self.rule,
            "parts": [
                {
                    "family": part.family,
                    "table": part.table,
                    "file": part.file,
                    "columns": list(part.columns),
                    "rows": [list(row) for row in part.rows],
                    "shown": len(part.rows),
                    "not_shown": part.hidden,
                }
                for part in self.parts
            ],
        }
