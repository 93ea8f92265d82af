"""The locks of earlier releases, and which of them is the last: the one with the highest version.

Leaves to others: comparing with it (`check`), and writing a new one (`freezing`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medomni.core import contracts
from medomni.core.issues import IssuesError, error
from medomni.core.releases import LOCK_SUFFIX, locked_releases
from medomni.core.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Lock:
    """A release's lock: the file, and its value, which is valid by its contract."""

    path: Path
    value: dict[str, Any]

    @property
    def release(self) -> str:
        """The release."""
        return str(self.value["release"])

    def document(self, digest: str) -> Any | None:
        """The value behind a digest; None where the lock does not keep it."""
        return self.value.get("documents", {}).get(digest)

    def entries(self) -> set[tuple[str, int]]:
        """Every pair with its N that a set of the release pins."""
        return {
            (entry["task"], entry["version"])
            for pinned in self.value["sets"].values()
            for entry in pinned["tasks"]
        }


def lock_of(workspace: Workspace, release: str) -> Lock | None:
    """The lock of a release; None where it is not frozen.

    Raises:
        IssuesError: It is not valid, or its name is not its release's (`release-lock-name`).
        DocumentError: It cannot be read.
    """
    path = workspace.release_lock(release)
    if not path.is_file():
        return None
    value = contracts.load("release-lock", path)
    if value["release"] != release:
        what = f"the lock is that of {value['release']}, and its file is called {release}"
        issue = error("release-lock-name", str(path), what, f"call it {value['release']}{LOCK_SUFFIX}")
        raise IssuesError(what, issues=[issue], where=str(path))
    return Lock(path, value)


def last_lock(workspace: Workspace) -> Lock | None:
    """The lock of the highest version; None before the first release.

    Raises:
        IssuesError: As `lock_of`.
        DocumentError: It cannot be read.
    """
    known = locked_releases(workspace)
    return lock_of(workspace, known[-1]) if known else None
