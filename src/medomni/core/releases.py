"""Which content releases a workspace has locks of, in the order of their versions.

Leaves to others: what a lock says (Studio, Bench), and making one (Studio).
"""

from __future__ import annotations

import re

from medomni.core.workspace import Workspace

LOCK_SUFFIX = ".lock.json"
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-([a-z0-9]+(?:\.[a-z0-9]+)*))?")
type Order = tuple[tuple[int, ...], bool, tuple[tuple[bool, int, str], ...]]


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


def locked_releases(workspace: Workspace) -> list[str]:
    """The releases that have a lock, the last one last; files that are called otherwise are none."""
    folder = workspace.release_lock("0.0.0").parent
    names = (path.name.removesuffix(LOCK_SUFFIX) for path in folder.glob(f"*{LOCK_SUFFIX}"))
    return sorted((name for name in names if _VERSION.fullmatch(name)), key=version_order)
