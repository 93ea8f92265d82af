"""Which rows of the evidence an instruction shows: the newest of every family and table, within a budget.

Room is given in turns: in the first every part shows its newest row, in the second its second newest, and so
on. The turns are taken once, over all families, and a rung then shows the parts of its families as they are:
one more rung adds parts and never takes a row from another.

The limits belong to the builder's version, since they decide what agents see.

Leaves to others: the look (`markdown`), the complete tables (`tables`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from medomni.studio.errors import BuildError
from medomni.studio.evidence.model import Evidence, EvidenceTable
from medomni.studio.record.markdown import frame, markdown, row_line
from medomni.studio.record.model import MOUNTED, Record, RecordPart

MAX_ROWS = 40
MAX_BYTES = 64 * 1024
MAX_CELL = 400
RULE = (
    f"Each table shows its newest rows first: at most {MAX_ROWS} rows per family and table, and fewer where"
    f" the whole record would pass {MAX_BYTES // 1024} KiB. Columns without any value are left out. A cell"
    f" of more than {MAX_CELL} characters is cut, and says how many are missing. Nothing is lost: the"
    f" complete tables, oldest row first, are CSV files in `{MOUNTED}`."
)


def choose(
    evidence: Evidence,
    *,
    families: Sequence[str],
    max_rows: int = MAX_ROWS,
    max_bytes: int = MAX_BYTES,
    rule: str = RULE,
) -> Record:
    """What an instruction shows of the evidence.

    Args:
        evidence: Of one atom.
        families: All families of the dataset, in the order in which they are shown.
        max_rows: Most rows of a part.
        max_bytes: Most bytes of the whole record's Markdown.
        rule: The rule in words.

    Raises:
        BuildError: `record-budget`: not even headings and counts fit; `record-family`: a row is of a family
            that is not among `families`.
    """
    record = Record(rule, _parts(evidence, families, max_rows))
    # The counts' digits: shown rows are at most those of the limit, and take no more room than this.
    widest = replace(record, parts=())
    room = max_bytes - len(markdown(widest).encode()) - sum(_frame_bytes(p, max_rows) for p in record.parts)
    if room < 0:
        raise BuildError(
            f"the record's headings alone pass {max_bytes} bytes",
            hint="show fewer families, or raise the builder's budget",
            code="record-budget",
        )
    counts = _turns(record.parts, room=room, max_rows=max_rows)
    kept = (replace(p, rows=p.rows[:count]) for p, count in zip(record.parts, counts, strict=True))
    return replace(record, parts=tuple(kept))


def _frame_bytes(part: RecordPart, max_rows: int) -> int:
    above, below = frame(part, shown=min(max_rows, part.total))
    return len(f"\n{above}{below}".encode())


def _turns(parts: Sequence[RecordPart], *, room: int, max_rows: int) -> list[int]:
    """How many rows each part shows; a part whose next row does not fit shows no further one."""
    counts = [0] * len(parts)
    open_parts = list(range(len(parts)))
    for turn in range(max_rows):
        still = []
        for index in open_parts:
            if turn >= len(parts[index].rows):
                continue
            needed = len(row_line(parts[index].rows[turn]).encode())
            if needed <= room:
                room -= needed
                counts[index] += 1
                still.append(index)
        open_parts = still
    return counts


def _parts(evidence: Evidence, families: Sequence[str], max_rows: int) -> tuple[RecordPart, ...]:
    """Every part with the rows that it may show, newest first, by family and then by table."""
    found = {
        (family, table.table): _part(table, family, max_rows)
        for table in evidence.tables
        for family in dict.fromkeys(table.families)
    }
    unknown = sorted({family for family, _ in found} - set(families))
    if unknown:
        raise BuildError(f"rows are of a family that the dataset lacks: {unknown[0]}", code="record-family")
    names = [table.table for table in evidence.tables]
    ordered = [(family, name) for family in families for name in names]
    return tuple(found[each] for each in ordered if each in found)


def _part(table: EvidenceTable, family: str, max_rows: int) -> RecordPart:
    mine = [row for row, each in zip(table.rows, table.families, strict=True) if each == family]
    every = range(len(table.columns))
    used = [at for at in every if any(row[at] not in (None, "") for row in mine)] or every
    columns = tuple(table.columns[at].name for at in used)
    newest = mine[: -max_rows - 1 : -1] if max_rows else []
    rows = tuple(tuple(_cut(row[at]) for at in used) for row in newest)
    return RecordPart(family, table.table, columns, rows, len(mine))


def _cut(cell: str | None) -> str | None:
    if cell is None or len(cell) <= MAX_CELL:
        return cell
    return f"{cell[:MAX_CELL]} … ({len(cell) - MAX_CELL} more characters)"
