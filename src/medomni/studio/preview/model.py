"""What the page shows, as plain data.

Leaves to others: finding it (`making`), and its look (`page`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from medomni.studio.content.model import BuiltPair
from medomni.studio.evidence.model import EvidenceTable, Removal
from medomni.studio.record.model import Record

_HOURS = {"_h": 1.0, "_d": 24.0}


@dataclass(frozen=True, slots=True)
class Track:
    """When the rows of a table lie: hours from the prediction time, ascending; rows without a time apart."""

    table: str
    hours: tuple[float, ...]
    untimed: int

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.hours) + self.untimed


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file that the agent finds, by its place in the container."""

    path: str
    size: int


@dataclass(frozen=True, slots=True)
class Preview:
    """One atom under one arm, without its answer and without the patient's id.

    Attributes:
        arm: Arm, and variant behind a slash.
        number: Which of the `total` atoms, from 1.
        instruction: The text of `instruction.md`.
        record: What of the evidence the instruction shows.
        removed: By table and rule.
        withheld: Families that are there and that this variant does not show, with their rows.
    """

    built: BuiltPair
    atom: str
    number: int
    total: int
    arm: str
    config_hash: str
    instruction: str
    record: Record
    tracks: tuple[Track, ...]
    files: tuple[SeenFile, ...]
    removed: tuple[Removal, ...]
    withheld: tuple[tuple[str, int], ...] = ()
    perception: bool = False


def track(table: EvidenceTable, families: Sequence[str] | None) -> Track:
    """When the rows of a table lie, by its first column of hours, else of days; of these families alone."""
    rows = [
        row
        for row, family in zip(table.rows, table.families, strict=True)
        if families is None or family in families
    ]
    places = [
        (at, factor)
        for suffix, factor in _HOURS.items()
        for at, column in enumerate(table.columns)
        if column.name.endswith(suffix)
    ]
    hours = []
    for row in rows:
        known = next(((row[at], factor) for at, factor in places if row[at]), None)
        if known is not None:
            hours.append(float(known[0] or 0) * known[1])
    return Track(table.table, tuple(sorted(hours)), len(rows) - len(hours))
