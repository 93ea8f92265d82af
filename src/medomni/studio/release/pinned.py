"""Every task set of a workspace's benchmarks, with its pinned pairs.

Leaves to others: whether the pairs' files are right (`checking`), and what changed (`check`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from medomni.core import contracts
from medomni.core.errors import InvalidNameError, MedomniError
from medomni.core.issues import Issue, IssuesError, error
from medomni.core.names import Pair, SetName
from medomni.core.workspace import Workspace
from medomni.studio.config_files import BUILDER


@dataclass(frozen=True, slots=True)
class PinnedSet:
    """A task set, valid by its contract."""

    name: SetName
    file: str
    builder: str
    arms: tuple[str, ...]
    tasks: Mapping[Pair, int]

    @property
    def imported(self) -> bool:
        """Whether it holds imported results of v0.2, whose N is 0."""
        return all(version == 0 for version in self.tasks.values())


def pinned_sets(workspace: Workspace) -> tuple[list[PinnedSet], list[Issue]]:
    """The task sets of every benchmark, by name, and what is wrong with those that are left out."""
    found: list[PinnedSet] = []
    issues: list[Issue] = []
    for folder in sorted(path for path in workspace.benchmarks.glob("*") if path.is_dir()):
        card = folder / "benchmark.yaml"
        _load("benchmark", card, issues)
        for path in sorted((folder / "sets").glob("*.yaml")):
            value = _load("task-set", path, issues)
            try:
                name = SetName(folder.name, path.stem)
            except InvalidNameError as refusal:
                issues.append(error(refusal.code, str(path), refusal.what, refusal.hint))
                continue
            if value is None:
                continue
            each = PinnedSet(
                name,
                workspace.relative(path),
                value["builder"],
                tuple(value["arms"]),
                {Pair.parse(entry["task"]): entry["version"] for entry in value["tasks"]},
            )
            issues += _foreign(each)
            found.append(each)
    return found, issues


def _load(kind: str, path: Any, issues: list[Issue]) -> Any:
    try:
        return contracts.load(kind, path)
    except IssuesError as failure:
        issues += failure.issues
    except MedomniError as failure:
        issues.append(error(failure.code, failure.where, failure.what, failure.hint))
    return None


def _foreign(each: PinnedSet) -> Iterator[Issue]:
    if not each.imported and each.builder != BUILDER:
        what = f"{each.name} is built by {each.builder}, which this program does not know"
        yield error("builder-unknown", each.file, what, f"known: {BUILDER}")
