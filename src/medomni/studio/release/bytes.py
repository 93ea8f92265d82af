"""Whether what is built now has the bytes that the same release had: a changed renderer is another release.

Leaves to others: whether the files are what their manifest says (`checking.built`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from medomni.core.issues import Issue, error
from medomni.core.workspace import Workspace
from medomni.studio.checking.built import Built
from medomni.studio.release.locks import Lock, lock_of

_MOST_NAMED = 3


def released_bytes(workspace: Workspace) -> Callable[[Built], Iterable[Issue]]:
    """What compares a build with the lock of the workspace's own release; finds nothing before it is frozen.

    Raises:
        IssuesError: The lock is not valid.
        DocumentError: The lock cannot be read.
    """
    lock = lock_of(workspace, workspace.release)
    return lambda built: () if lock is None else _differences(built, lock)


def _differences(built: Built, lock: Lock) -> Iterator[Issue]:
    before = lock.value["builds"].get(str(built.pair))
    if before is None or built.content["version"] != lock.value["pairs"][str(built.pair)]["version"]:
        return
    now = built.manifest["files"]
    # Arms that were not built at one of the two times are no difference.
    shared = before.keys() & now.keys()
    names = sorted(name for name in shared if before[name] != now[name])
    if names:
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        what = f"{', '.join(names[:_MOST_NAMED])}{more}: not the bytes that {lock.release} has"
        hint = "changed bytes need a new content release: raise `release` in medomni.toml"
        yield error("release-build-differs", str(lock.path), what, hint)
