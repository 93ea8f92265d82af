"""`medomni bench check`: every benchmark of a workspace is valid, and its task sets only grew.

Every set of the last release's lock is replayed: a set, an arm or an entry that went, or an entry or builder
that changed, is an error. What is new is none.

Leaves to others: what the pinned pairs mean (`medomni studio task check --release`), printing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medomni.bench.release_locks import Lock, release_locks
from medomni.core import contracts
from medomni.core.errors import InvalidNameError, MedomniError
from medomni.core.issues import Issue, IssuesError, error, warning
from medomni.core.names import Pair, SetName
from medomni.core.workspace import Workspace


@dataclass(frozen=True, slots=True)
class BenchCheck:
    """What the check found.

    Attributes:
        against: The last release; None before the first.
        sets: Set to its number of pairs.
    """

    against: str | None
    sets: Mapping[str, int]
    issues: tuple[Issue, ...]


def check_benchmarks(workspace: Workspace) -> BenchCheck:
    """Check cards, task sets and withdrawn pairs of every benchmark, and replay the last release's sets."""
    issues: list[Issue] = []
    sets: dict[str, Mapping[str, Any]] = {}
    folders = sorted(path for path in workspace.benchmarks.glob("*") if path.is_dir())
    if not folders:
        what = "the workspace has no benchmark"
        issues.append(
            error("benchmark-none", str(workspace.benchmarks), what, "benchmarks lie there, a folder each")
        )
    for folder in folders:
        _load("benchmark", folder / "benchmark.yaml", issues)
        here = dict(_sets(folder, issues))
        if not here:
            issues.append(warning("benchmark-empty", str(folder), f"{folder.name} has no valid task set"))
        issues += _withdrawn(folder, here)
        sets |= {f"{folder.name}/{name}": value for name, value in here.items()}
    lock = _last_lock(workspace, issues)
    if lock is not None:
        for name, before in lock.value["sets"].items():
            issues += _replayed(name, before, sets.get(name), lock, workspace)
    counts = {name: len(value["tasks"]) for name, value in sets.items()}
    return BenchCheck(None if lock is None else lock.release, counts, tuple(issues))


def _load(kind: str, path: Path, issues: list[Issue]) -> Any:
    try:
        return contracts.load(kind, path)
    except IssuesError as failure:
        issues += failure.issues
    except MedomniError as failure:
        issues.append(error(failure.code, failure.where, failure.what, failure.hint))
    return None


def _sets(folder: Path, issues: list[Issue]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The valid sets of a benchmark, by name."""
    for path in sorted((folder / "sets").glob("*")):
        if path.suffix != ".yaml" or path.name.startswith("."):
            what = f"{path.name} is no task set: nobody reads it"
            issues.append(warning("task-set-stray", str(path), what, "task sets are called <set>.yaml"))
            continue
        try:
            name = SetName(folder.name, path.stem)
        except InvalidNameError as refusal:
            issues.append(error(refusal.code, str(path), refusal.what, refusal.hint))
            continue
        value = _load("task-set", path, issues)
        if value is not None:
            yield name.task_set, value


def _withdrawn(folder: Path, sets: Mapping[str, Mapping[str, Any]]) -> Iterator[Issue]:
    """What is wrong with a benchmark's withdrawn pairs, or names a pair that no set pins."""
    path = folder / "withdrawn.yaml"
    if not path.exists():
        return
    issues: list[Issue] = []
    value = _load("withdrawn", path, issues)
    yield from issues
    pinned = {(_printed(e["task"]), e["version"]) for each in sets.values() for e in each["tasks"]}
    for row in [] if value is None else value["withdrawn"]:
        for entry, word in ((row, "is withdrawn"), (row.get("replaced_by"), "replaces another")):
            if entry and (_printed(entry["pair"]), entry["version"]) not in pinned:
                what = (
                    f"{entry['pair']} version {entry['version']} {word}, and no set of {folder.name} pins it"
                )
                yield error(
                    "withdrawn-not-pinned", str(path), what, "withdraw what a set pins, at that version"
                )


def _printed(pair: str) -> str:
    return str(Pair.parse(pair))


def _last_lock(workspace: Workspace, issues: list[Issue]) -> Lock | None:
    try:
        found = release_locks(workspace)
    except IssuesError as failure:
        issues += failure.issues
        return None
    except MedomniError as failure:
        issues.append(error(failure.code, failure.where, failure.what, failure.hint))
        return None
    return found[-1] if found else None


def _replayed(
    name: str, before: Mapping[str, Any], now: Mapping[str, Any] | None, lock: Lock, workspace: Workspace
) -> Iterator[Issue]:
    """What a set of the last release lost or changed."""
    path = workspace.relative(workspace.task_set(SetName.parse(name)))
    if now is None:
        what = f"{name} of {lock.release} is not there any more, or not valid"
        yield error("set-removed", path, what, "put it back; withdraw pairs in withdrawn.yaml")
        return
    if now["builder"] != before["builder"]:
        what = (
            f"{name} was for the builder {before['builder']} in {lock.release}, and is for {now['builder']}"
        )
        yield error("set-builder-changed", path, what, "another builder needs another set")
    lost = [arm for arm in before["arms"] if arm not in now["arms"]]
    if lost:
        what = f"{name} had the arms {', '.join(lost)} in {lock.release}"
        yield error("set-arm-removed", path, what, "put them back, or make another set")
    pinned = {_printed(entry["task"]): entry["version"] for entry in now["tasks"]}
    for entry in before["tasks"]:
        pair, version = _printed(entry["task"]), entry["version"]
        if pair not in pinned:
            what = f"{name} pinned {pair} in {lock.release}, and does not any more"
            yield error("set-entry-removed", path, what, "put it back, and list it in withdrawn.yaml")
        elif pinned[pair] != version:
            what = f"{name} pins version {pinned[pair]} of {pair}, and pinned {version} in {lock.release}"
            yield error("set-entry-changed", path, what, "a new version enters only a new task set")
