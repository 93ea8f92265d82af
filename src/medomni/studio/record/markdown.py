"""The record as Markdown tables in which no cell can end its cell, its row or its table.

The text of cells comes from data that nobody here wrote: marks that Markdown would act on are escaped, line
ends and invisible characters are made visible.

Leaves to others: which rows there are (`choice`), the headings above (`render`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from medomni.studio.record.model import Record, RecordPart

LINE_END = "⏎"
# Of these marks, some could close a cell, some open a code span, HTML or a link around what follows.
_MARKS = {ord(mark): f"\\{mark}" for mark in "\\|`<[~"}
_NOT_PLAIN = re.compile(r"[^ -~]|[\\|`<\[~]")
_INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def cell_text(cell: str | None) -> str:
    """A cell's text, safe inside a table's row; empty for None."""
    if cell is None:
        return ""
    lines = cell.replace("\r\n", "\n").replace("\r", "\n").replace("\n", f" {LINE_END} ")
    marked = lines.replace("\t", " ").translate(_MARKS)
    if marked.isprintable():
        return marked
    return "".join(_visible(letter) for letter in marked)


def _visible(letter: str) -> str:
    return f"(U+{ord(letter):04X})" if unicodedata.category(letter) in _INVISIBLE else letter


def row_line(cells: Sequence[str | None]) -> str:
    """A row of a table, with its line end."""
    texts = [cell or "" for cell in cells]
    # One look at the whole row, since nearly none needs more.
    if _NOT_PLAIN.search("".join(texts)):
        texts = [cell_text(cell) for cell in texts]
    return f"| {' | '.join(texts)} |\n"


def frame(part: RecordPart, *, shown: int) -> tuple[str, str]:
    """What stands above and below a part's rows.

    Args:
        part: The part.
        shown: How many of its rows are shown.
    """
    above = f"### {part.family}: {part.table}\n\n"
    if shown:
        above += row_line(part.columns) + "|" + " --- |" * len(part.columns) + "\n"
    below = f"{shown} of {part.total} rows shown; complete table: `{part.mounted}`\n"
    return above, f"\n{below}" if shown else below


def markdown(record: Record) -> str:
    """The record of an instruction, from its rule to the last count; ends with a line end."""
    return "".join(_pieces(record))


def _pieces(record: Record) -> Iterator[str]:
    yield f"{record.rule}\n"
    if not record.parts:
        yield "\nNothing is on record.\n"
    for part in record.parts:
        above, below = frame(part, shown=len(part.rows))
        yield f"\n{above}"
        for row in part.rows:
            yield row_line(row)
        yield below
