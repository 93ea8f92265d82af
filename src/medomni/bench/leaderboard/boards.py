"""The boards of a workspace: every task set of which there are score records.

Leaves to others: finding records (`records`), making a board (`board`), showing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from medomni.bench.errors import BenchError
from medomni.bench.leaderboard.board import make_board
from medomni.bench.leaderboard.model import Board
from medomni.bench.leaderboard.records import Records, read_records
from medomni.bench.release_locks import expected_hashes
from medomni.bench.task_sets import read_task_set, set_names
from medomni.core.issues import warning
from medomni.core.names import SetName
from medomni.core.signing import Keyring
from medomni.core.workspace import Workspace


def make_boards(
    workspace: Workspace,
    places: Sequence[Path] = (),
    *,
    only: SetName | None = None,
    keyring: Keyring | None = None,
) -> list[Board]:
    """The boards, by the names of their sets.

    Args:
        workspace: Where the sets are defined.
        places: Files and folders with records; the workspace's `runs/` where there are none.
        only: The one set to make a board of.
        keyring: The keys that the reader trusts.

    Raises:
        BenchError: `board-empty`: there is no score record; `task-set-unknown`.
        IssuesError: A set, card or lock breaks its contract.
        DocumentNotFoundError: One of the places is not there.
    """
    records = read_records(places or [workspace.runs], keyring=keyring)
    known = set(set_names(workspace))
    named = {SetName(r.value["benchmark"], r.value["set"]) for r in records.scores}
    wanted = sorted(named & known) if only is None else [only]
    if only is None:
        _tell_strangers(records, named - known)
    sets = [read_task_set(workspace, name) for name in wanted]
    if not named & set(wanted):
        of = "" if only is None else f" of {only}"
        left = f"; {len(records.left_out)} files were left out" if records.left_out else ""
        raise BenchError(
            f"there is no score record{of}{left}",
            where=", ".join(map(str, places)) or str(workspace.runs),
            hint="score a run first: medomni bench score RUN",
            code="board-empty",
        )
    hashes = expected_hashes(workspace)
    return [make_board(each, records, expected_hashes=hashes) for each in sets]


def _tell_strangers(records: Records, names: set[SetName]) -> None:
    for record in records.scores:
        name = SetName(record.value["benchmark"], record.value["set"])
        if name in names:
            what = f"{record.path.name} is of the task set {name}, which this workspace does not have"
            records.left_out.append(
                warning("record-left-out", str(record.path), what, "put the set's file there")
            )
