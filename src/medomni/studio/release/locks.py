"""The locks of earlier releases, and which of them is the last: the one with the highest version.

Leaves to others: comparing with it (`check`), and writing a new one (`freezing`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medomni.core import contracts
from medomni.core.issues import IssuesError, error
from medomni.core.workspace import Workspace

_SUFFIX = ".lock.json"
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-([a-z0-9]+(?:\.[a-z0-9]+)*))?")
type Order = tuple[tuple[int, ...], bool, tuple[tuple[bool, int, str], ...]]


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


def version_order(version: str) -> Order:
    """What sorts versions: by their numbers, a candidate such as `0.4.0-rc.1` before its release.

    Source: Semantic Versioning 2.0.0, 11.
    """
    found = _VERSION.fullmatch(version)
    if found is None:
        return (), False, ()
    parts = tuple(
        (not part.isdigit(), int(part) if part.isdigit() else 0, part)
        for part in (found[4].split(".") if found[4] else ())
    )
    return tuple(int(found[number]) for number in (1, 2, 3)), found[4] is None, parts


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
        issue = error("release-lock-name", str(path), what, f"call it {value['release']}{_SUFFIX}")
        raise IssuesError(what, issues=[issue], where=str(path))
    return Lock(path, value)


def last_lock(workspace: Workspace) -> Lock | None:
    """The lock of the highest version; None before the first release.

    Raises:
        IssuesError: As `lock_of`.
        DocumentError: It cannot be read.
    """
    folder = workspace.release_lock("0.0.0").parent
    names = (path.name.removesuffix(_SUFFIX) for path in folder.glob(f"*{_SUFFIX}"))
    known = [name for name in names if _VERSION.fullmatch(name)]
    if not known:
        return None
    return lock_of(workspace, max(known, key=version_order))
