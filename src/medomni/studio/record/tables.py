"""The complete tables that lie beside the instruction: `data/record/<table>.csv`.

Leaves to others: which rows are evidence (`evidence`), writing the files (`render`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from medomni.studio.evidence.model import Evidence, EvidenceTable
from medomni.studio.record.model import FOLDER

_QUOTED = re.compile('["\\r\\n]')


def csv_bytes(table: EvidenceTable, families: Collection[str] | None = None) -> bytes:
    """A table as CSV in UTF-8: a header, then the rows as the evidence has them, oldest first.

    Args:
        table: The table.
        families: Only rows of these families; of all for None. Empty bytes where no row is left.
    """
    rows = [
        row
        for row, family in zip(table.rows, table.families, strict=True)
        if families is None or family in families
    ]
    if not rows:
        return b""
    header = tuple(column.name for column in table.columns)
    return "".join(_line(cells) for cells in (header, *rows)).encode("utf-8")


def _line(cells: Sequence[str | None]) -> str:
    # Not by `csv`, which leaves a lone carriage return without quotes, and a reader then ends the row there.
    line = ",".join([cell or "" for cell in cells])
    if line.count(",") >= len(cells) or _QUOTED.search(line):
        line = ",".join([_quoted(cell or "") for cell in cells])
    return f"{line}\n" if line else '""\n'


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if "," in cell or _QUOTED.search(cell) else cell


def record_files(evidence: Evidence, families: Collection[str] | None = None) -> dict[str, bytes]:
    """Every complete table by its path in the atom task, those without a row left out.

    Args:
        evidence: Of one atom.
        families: Of a rung; None for all.
    """
    files = {f"{FOLDER}/{table.table}.csv": csv_bytes(table, families) for table in evidence.tables}
    return {path: data for path, data in files.items() if data}
