"""The locks of content releases, as far as Bench reads them: task sets, and config hashes of pinned pairs.

Leaves to others: making locks, and whether what a pair means has changed since (Studio).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medomni.core import contracts
from medomni.core.releases import locked_releases
from medomni.core.workspace import Workspace

type HashKey = tuple[str, str, int, str, str]


@dataclass(frozen=True, slots=True)
class Lock:
    """A release's lock, valid by its contract."""

    path: Path
    value: Mapping[str, Any]

    @property
    def release(self) -> str:
        """The content release."""
        return str(self.value["release"])


def release_locks(workspace: Workspace) -> list[Lock]:
    """Every lock, the last release last.

    Raises:
        IssuesError: A lock breaks its contract.
        DocumentError: A lock cannot be read.
    """
    paths = [workspace.release_lock(release) for release in locked_releases(workspace)]
    return [Lock(path, contracts.load("release-lock", path)) for path in paths]


def expected_hashes(workspace: Workspace) -> dict[HashKey, str]:
    """`(content release, pair, N, arm, variant)` to the config hash that the release gave it.

    Raises:
        IssuesError: A lock breaks its contract.
        DocumentError: A lock cannot be read.
    """
    return {
        (f"medomni/{lock.release}", pair, parts["version"], row["arm"], row["variant"] or ""): row[
            "config_hash"
        ]
        for lock in release_locks(workspace)
        for pair, parts in lock.value["pairs"].items()
        for row in parts["hashes"]
    }
