"""A board in the terminal, as tables of rich.

Leaves to others: what the board holds (`board`), the page (`page`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING

from medomni.bench.leaderboard import words
from medomni.bench.leaderboard.model import Board, Ranking

if TYPE_CHECKING:
    from rich.table import Table


def print_board(board: Board, stream: IO[str], *, width: int | None = None) -> None:
    """Write a board as text; colours and the width come from the terminal, where there is one.

    Args:
        board: The board.
        stream: Where to.
        width: Characters of a line; by default the terminal's, and 140 where there is none.
    """
    from rich.console import Console
    from rich.markup import escape

    wide = width if width is not None else None if stream.isatty() else 140
    console = Console(file=stream, width=wide, highlight=False)
    card = board.task_set.card
    console.print(
        f"[bold]{escape(str(board.task_set.name))}[/bold]  {len(board.task_set.tasks)} pairs,"
        f" {len(board.agents)} agents, benchmark licence {escape(str(card['license']))}"
    )
    for table in (*_suite(board), *(_ranking(board, ranking) for ranking in board.rankings)):
        console.print()
        console.print(table)
    console.print("\n[bold]How to read this board[/bold]")
    for note in board.notes:
        console.print(f"- {escape(note)}")


def _suite(board: Board) -> Iterator[Table]:
    if len(board.task_set.tasks) < 2 or not board.suite:
        return
    rows = [
        (
            words.rank(row.rank),
            board.labels[row.agent],
            words.place(row.arm, row.variant),
            words.number(row.skill),
            words.interval(row.ci),
            f"{row.pairs_scored}/{row.pairs_in_set}",
            f"{row.n_answered}/{row.n_atoms}",
            row.reason,
        )
        for row in board.suite
    ]
    head = ("rank", "agent", "arm", "mean skill", "95% interval", "pairs", "answered", "remarks")
    yield _table("All pairs of the set", head, rows, right={3, 5, 6})


def _ranking(board: Board, ranking: Ranking) -> Table:
    rows = [
        (
            words.rank(row.rank),
            board.labels[row.agent],
            words.number(row.value, ranking.metric),
            words.interval(row.ci, ranking.metric),
            words.coverage(row),
            words.seconds(row.usage.median_seconds),
            words.money(row.usage.total_usd),
            words.remarks(row),
        )
        for row in ranking.rows
    ]
    title = f"{words.title(ranking)}, n = {ranking.n}, {words.direction(ranking.metric)}"
    states = {
        "withdrawn": ranking.withdrawn is not None,
        "not for scores": not ranking.counts,
        "preliminary": ranking.preliminary,
    }
    told = [state for state, holds in states.items() if holds]
    title += f" [{', '.join(told)}]" if told else ""
    head = ("rank", "agent", ranking.metric, "95% interval", "answered", "median time", "cost", "remarks")
    return _table(title, head, rows, right={2, 4, 5, 6}, dim=ranking.withdrawn is not None)


def _table(
    title: str, head: Sequence[str], rows: Sequence[Sequence[str]], *, right: set[int], dim: bool = False
) -> Table:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(
        title=escape(title),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        style="dim" if dim else "",
        pad_edge=False,
    )
    for place, name in enumerate(head):
        table.add_column(name, justify="right" if place in right else "left", no_wrap=name == "95% interval")
    for row in rows:
        table.add_row(*map(escape, row))
    return table
