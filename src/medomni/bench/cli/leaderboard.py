"""`medomni bench leaderboard`: boards in the terminal, as a page, as JSON or as CSV."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medomni.terminal import BAD_INPUT, AsJson, WorkspaceOption, fails_with, print_json

if TYPE_CHECKING:
    from medomni.bench.leaderboard.model import Board


RecordsArgument = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[RECORD…]", help="Records, or folders with them; by default runs/."),
]
SetOption = Annotated[
    str | None, typer.Option("--set", metavar="SET", help="Only this task set, <benchmark>/<set>.")
]
HtmlOption = Annotated[
    Path | None, typer.Option("--html", metavar="DIR", help="Write a page for browsers into DIR.")
]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print CSV, a line for each agent and ranking.")]
KeyringOption = Annotated[
    Path | None,
    typer.Option("--keyring", metavar="FILE", help="The public keys that you trust; signatures are checked."),
]


@fails_with(BAD_INPUT)
def leaderboard(
    records: RecordsArgument = None,
    task_set: SetOption = None,
    html: HtmlOption = None,
    as_csv: AsCsv = False,
    keyring: KeyringOption = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Rank agents by their score records: intervals, rank intervals from paired tests, coverage, cost.

    Records are made where the answers are: `medomni bench score` and `medomni bench compare`.

    Example: medomni bench leaderboard --set medomni-bench/smoke-dummy --html board
    """
    from medomni.bench.errors import BenchError
    from medomni.bench.leaderboard.boards import make_boards
    from medomni.core.names import SetName
    from medomni.core.signing import read_keyring
    from medomni.core.workspace import find_workspace

    if sum((html is not None, as_csv, as_json)) > 1:
        raise BenchError(
            "one of --html, --json and --csv is enough", where="the command line", code="board-formats"
        )
    boards = make_boards(
        find_workspace(named=workspace),
        records or [],
        only=None if task_set is None else SetName.parse(task_set),
        keyring=None if keyring is None else read_keyring(keyring),
    )
    if html is not None:
        from medomni.bench.leaderboard.page import write_pages

        typer.echo(str(write_pages(boards, html)))
    elif as_json:
        print_json({"boards": [board.as_plain() for board in boards]})
    else:
        _print(boards, as_csv=as_csv)
    for text in dict.fromkeys(text for board in boards for text in board.left_out):
        typer.echo(f"left out: {text}", err=True)


def _print(boards: list[Board], *, as_csv: bool) -> None:
    from medomni.bench.leaderboard.tables import csv_text
    from medomni.bench.leaderboard.terminal import print_board

    if as_csv:
        texts = [csv_text(board) for board in boards]
        typer.echo(texts[0] + "".join(text.split("\n", 1)[1] for text in texts[1:]), nl=False)
        return
    for board in boards:
        print_board(board, sys.stdout)


def add_commands(app: typer.Typer) -> None:
    """Add the command to `medomni bench`."""
    app.command("leaderboard")(leaderboard)
