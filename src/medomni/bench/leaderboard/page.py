"""A board as one self-contained HTML page: no request, no script, every picture with a table twin.

The same board gives the same bytes, and every value passes the template's automatic escaping.

Leaves to others: what the page shows (`view`).
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medomni.bench.leaderboard import view
from medomni.bench.leaderboard.model import Board
from medomni.core.errors import MissingExtraError, WriteError
from medomni.core.files import write_atomic

if TYPE_CHECKING:
    from jinja2 import Environment

INDEX = "index.html"


def page_name(board: Board) -> str:
    """The file name of a board's page."""
    return f"{board.task_set.name.benchmark}.{board.task_set.name.task_set}.html"


def write_pages(boards: list[Board], folder: Path) -> Path:
    """Write the pages of boards, and `index.html`: the only board itself, or links to all of them.

    Returns:
        The index.

    Raises:
        MissingExtraError: The template package is not installed.
        WriteError: The folder or a page cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise WriteError(f"{folder} could not be made: {fault.strerror}", where=str(folder)) from fault
    index = folder / INDEX
    if len(boards) == 1:
        write_atomic(index, render(boards[0]))
        return index
    for board in boards:
        write_atomic(folder / page_name(board), render(board))
    rows = [(page_name(board), board) for board in boards]
    write_atomic(
        index, _environment().from_string(_text("index.html")).render(css=_text("board.css"), rows=rows)
    )
    return index


def render(board: Board) -> str:
    """The page of a board as HTML text.

    Raises:
        MissingExtraError: The template package is not installed.
    """
    sizes = sorted({each.n for each in board.rankings if each.preliminary})
    kinds = sorted({each.release_class for each in board.rankings if not each.counts})
    return (
        _environment()
        .from_string(_text("board.html"))
        .render(
            css=_text("board.css"),
            board=board,
            not_for_scores=" and ".join(kinds).capitalize(),
            preliminary=""
            if not sizes
            else f"{sizes[0]}"
            if len(sizes) == 1
            else f"{sizes[0]} to {sizes[-1]}",
            suites=view.suite_views(board),
            grid=view.grid_table(board),
            wins=view.wins_table(board),
            ladders=view.ladder_figures(board),
            usage=view.usage_figures(board),
            rankings=view.ranking_views(board),
            agents=view.agents_table(board),
            licences=view.licence_table(board),
        )
    )


def _text(name: str) -> str:
    return (resources.files(__package__) / "templates" / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    try:
        import jinja2
    except ImportError as missing:  # pragma: no cover - the test environment has every extra
        raise MissingExtraError.for_extra("report", "jinja2", "writing a leaderboard page") from missing
    return jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printable,
    )


def _printable(value: Any) -> Any:
    """Text without characters that HTML forbids, and without those that turn or hide what is around them."""
    if type(value) is not str or value.isprintable():
        return value
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\u{ord(c):04x}" for c in value)
