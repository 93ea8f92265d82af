"""The evidence of one patient at one prediction time, as plain data.

Leaves to others: finding it (`gather`), showing it (`record`), and writing it (`content`, `render`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Moment:
    """Who, and when: one atom of a cohort, without its answer.

    Attributes:
        patient: The patient's id, as the text that the dataset has.
        subject: The same, as the tables have it.
        time: The prediction time, in the release's own dates.
        key: The primary key of the trigger's row, as `select` gives it.
    """

    patient: str
    subject: int
    time: datetime
    key: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column as the agent sees it.

    Attributes:
        name: Such as `charttime_h`: hours from the prediction time; `chartdate_d`: days from its date.
        source: The table's column.
    """

    name: str
    source: str


@dataclass(frozen=True, slots=True)
class EvidenceTable:
    """What is left of one table.

    Attributes:
        table: Such as `hosp.labevents`.
        columns: In the order of the table's definition.
        rows: Cells as text, None where nothing is known; oldest first, ties by the table's own key. The text
            is final: the record and the files show these very cells.
        families: The family of each row.
    """

    table: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str | None, ...], ...]
    families: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Removal:
    """What a filter removed from a table, counted.

    Attributes:
        table: The table.
        why: `later` (not known yet), `end` (a cell known only later), `guard`, `always` (ids, dates).
        rule: The guard in words, or the filter's; shown in the preview, never to the agent.
        columns: The columns whose cells were emptied or left out; none where whole rows went.
        rows: How many rows were touched.
    """

    table: str
    why: str
    rule: str
    columns: tuple[str, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of one moment: tables in the order of `tables.yaml`, those without a row left out."""

    moment: Moment
    tables: tuple[EvidenceTable, ...]
    removed: tuple[Removal, ...]

    def as_plain(self) -> dict[str, Any]:
        """For comparing two builds byte by byte: everything an agent could see, nothing else."""
        return {
            each.table: {
                "columns": [column.name for column in each.columns],
                "rows": [list(row) for row in each.rows],
                "families": list(each.families),
            }
            for each in self.tables
        }
