"""Evidence made by hand for tests of what is done with it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from medomni.studio.evidence.model import Column, Evidence, EvidenceTable, Moment

MOMENT = Moment("19000001", 19000001, datetime(2150, 3, 4, 10, 30), "77000001")


def table(
    name: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str | None]],
    families: str | Sequence[str] = "labs",
) -> EvidenceTable:
    """A table whose rows are all of one family, or of the families given."""
    each = [families] * len(rows) if isinstance(families, str) else list(families)
    named = tuple(Column(column, column.removesuffix("_h")) for column in columns)
    return EvidenceTable(name, named, tuple(tuple(row) for row in rows), tuple(each))


def evidence(*tables: EvidenceTable, moment: Moment = MOMENT) -> Evidence:
    """The evidence of one moment, from which nothing was removed."""
    return Evidence(moment, tables, ())


def labs(count: int, *, family: str = "labs", name: str = "hosp.labevents") -> EvidenceTable:
    """So many rows, oldest first."""
    rows = [(f"-{count - at}.000", "51006", str(at), None) for at in range(count)]
    return table(name, ("charttime_h", "itemid", "valuenum", "comments"), rows, family)
