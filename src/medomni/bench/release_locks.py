"""The locks of content releases, as far as Bench reads them: task sets, and config hashes of pinned pairs.

Leaves to others: making locks, and whether what a pair means has changed since (Studio).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medomni.core import contracts
from medomni.core.workspace import Workspace

_SUFFIX = ".lock.json"
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-([a-z0-9]+(?:\.[a-z0-9]+)*))?")
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
    folder = workspace.release_lock("0.0.0").parent
    found = [path for path in folder.glob(f"*{_SUFFIX}") if _VERSION.fullmatch(_release(path))]
    found.sort(key=lambda path: _order(_release(path)))
    return [Lock(path, contracts.load("release-lock", path)) for path in found]


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


def _release(path: Path) -> str:
    return path.name.removesuffix(_SUFFIX)


def _order(version: str) -> tuple[tuple[int, ...], bool, tuple[tuple[bool, int, str], ...]]:
    """What sorts versions: by their numbers, a candidate such as `0.4.0-rc.1` before its release.

    Source: Semantic Versioning 2.0.0, 11.
    """
    found = _VERSION.fullmatch(version)
    numbers, rest = (found.groups()[:3], found[4]) if found else ((), None)
    parts = (rest or "").split(".") if rest else []
    return (
        tuple(map(int, numbers)),
        rest is None,
        tuple((not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts),
    )
