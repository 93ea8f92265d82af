"""Benchmarks as their folders have them: the card, the task sets, the withdrawn pairs.

Leaves to others: whether pairs exist and are built (Studio, `built`), whether sets only grew (`checking`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from medomni.bench.errors import BenchError
from medomni.core import contracts
from medomni.core.errors import DocumentNotFoundError
from medomni.core.hashing import task_set_hash
from medomni.core.names import Pair, SetName
from medomni.core.workspace import Workspace

type Pinned = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A pair at a version whose scores rank no more.

    Attributes:
        replaced_by: What to use instead, as `<pair> version <N>`; empty where there is nothing.
    """

    pair: str
    version: int
    date: str
    reason: str
    replaced_by: str = ""


@dataclass(frozen=True, slots=True)
class TaskSet:
    """A task set with its benchmark's card and withdrawn pairs, all valid by their contracts.

    Attributes:
        tasks: Pair to N, in the order of the file.
        withdrawn: `(pair, N)` to the withdrawal; of the whole benchmark.
    """

    name: SetName
    card: Mapping[str, Any]
    description: str
    builder: str
    arms: tuple[str, ...]
    tasks: Mapping[str, int]
    task_set_hash: str
    withdrawn: Mapping[Pinned, Withdrawal]


def read_task_set(workspace: Workspace, name: SetName) -> TaskSet:
    """A task set of the workspace.

    Raises:
        BenchError: `task-set-unknown`: there is no such set.
        IssuesError: The card, the set or the withdrawn pairs break their contract.
        DocumentError: One of them cannot be read.
    """
    path = workspace.task_set(name)
    try:
        value = contracts.load("task-set", path)
    except DocumentNotFoundError as failure:
        raise BenchError(
            f"there is no task set {name}",
            where=str(path),
            hint=f"there are: {', '.join(map(str, set_names(workspace))) or 'none'}",
            code="task-set-unknown",
        ) from failure
    tasks = {str(Pair.parse(entry["task"])): int(entry["version"]) for entry in value["tasks"]}
    return TaskSet(
        name=name,
        card=contracts.load("benchmark", workspace.benchmark_card(name.benchmark)),
        description=str(value.get("description", "")),
        builder=str(value["builder"]),
        arms=tuple(value["arms"]),
        tasks=tasks,
        task_set_hash=task_set_hash(list(tasks.items())),
        withdrawn=read_withdrawn(workspace, name.benchmark),
    )


def set_names(workspace: Workspace) -> list[SetName]:
    """Every task set of the workspace, by its file's name; files whose name can be no set's are left out.

    `checking` tells of those.
    """
    found = []
    for path in sorted(workspace.benchmarks.glob("*/sets/*.yaml")):
        text = f"{path.parent.parent.name}/{path.stem}"
        try:
            found.append(SetName.parse(text))
        except ValueError:
            continue
    return found


def read_withdrawn(workspace: Workspace, benchmark: str) -> dict[Pinned, Withdrawal]:
    """The withdrawn pairs of a benchmark; none where the file is not there.

    Raises:
        IssuesError: The file breaks its contract.
        DocumentError: It cannot be read.
    """
    try:
        rows = contracts.load("withdrawn", workspace.withdrawn(benchmark))["withdrawn"]
    except DocumentNotFoundError:
        return {}
    found = {}
    for row in rows:
        pair, other = str(Pair.parse(row["pair"])), row.get("replaced_by")
        instead = f"{other['pair']} version {other['version']}" if other else ""
        found[pair, int(row["version"])] = Withdrawal(
            pair, int(row["version"]), str(row["date"]), str(row["reason"]), instead
        )
    return found
