"""Makes a new workspace: `medomni.toml`, and a copy of the content that comes with this package.

Leaves to others: what the content holds. In an installed package it lies in `medomni/_content`; in a checkout
it is the repository's own.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from medomni.core.errors import WorkspaceError, WriteError
from medomni.core.files import copy_real, write_atomic
from medomni.core.hashing import is_stray
from medomni.core.workspace import MARKER, Workspace, load_workspace

CONTENT = ("studio", "bench")
_PACKAGE = Path(__file__).resolve().parent.parent
_STAGING = ".medomni-init-"
_IGNORED = "# Built, run and imported here; none of it belongs into version control.\n" + "".join(
    f"/{name}/\n" for name in ("atomtasks", "runs", ".medomni", "data")
)


def content_source(package: Path = _PACKAGE) -> Path:
    """The folder that holds `medomni.toml`, `studio/` and `bench/` of this installation.

    Raises:
        WorkspaceError: There is none (`content-missing`).
    """
    for folder in (package / "_content", package.parent.parent):
        if (folder / MARKER).is_file():
            return folder
    raise WorkspaceError(
        "this installation holds no content to make a workspace from",
        where=str(package),
        hint="install the package anew",
        code="content-missing",
    )


def make_workspace(folder: str | Path, *, source: Path | None = None) -> Workspace:
    """Make a workspace in a folder that is empty or not there yet.

    `medomni.toml` is written last: a folder without it is no workspace.

    Args:
        folder: The new workspace.
        source: Where the content is copied from; that of this installation by default.

    Raises:
        WorkspaceError: The folder is not empty (`workspace-not-empty`), or there is no content.
        WriteError: It cannot be written.
    """
    root = Path(os.path.abspath(folder))  # noqa: PTH100 - links in the user's own path stay as they are
    origin = load_workspace(source or content_source())
    try:
        root.mkdir(parents=True, exist_ok=True)
        _refuse_full(root)
        staging = Path(tempfile.mkdtemp(prefix=_STAGING, dir=root))
        try:
            _fill(staging, origin)
            for entry in sorted(staging.iterdir()):
                entry.rename(root / entry.name)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        write_atomic(root / MARKER, f'release = "{origin.release}"\n')
    except (WriteError, WorkspaceError):
        raise
    except OSError as error:
        why = error.strerror or str(error)
        raise WriteError(f"the workspace cannot be made: {why}", where=str(root)) from error
    return load_workspace(root)


def _refuse_full(root: Path) -> None:
    there = []
    for entry in sorted(root.iterdir()):
        if entry.name.startswith(_STAGING):
            # Left by an attempt that was killed; nothing else makes such a folder.
            shutil.rmtree(entry)
        elif not is_stray(entry.name):
            there.append(entry.name)
    if there:
        raise WorkspaceError(
            f"the folder is not empty: it holds {', '.join(there[:3])}{' …' if len(there) > 3 else ''}",
            where=str(root),
            hint="name a new folder",
            code="workspace-not-empty",
        )


def _fill(staging: Path, origin: Workspace) -> None:
    write_atomic(staging / ".gitignore", _IGNORED)
    for name in CONTENT:
        (staging / name).mkdir()
        for folder, subfolders, files in os.walk(origin.root / name):
            subfolders[:] = [
                name for name in subfolders if not is_stray(name) and not name.startswith(_STAGING)
            ]
            here = staging / Path(folder).relative_to(origin.root)
            here.mkdir(exist_ok=True)
            for file in files:
                if not is_stray(file):
                    copy_real(Path(folder) / file, here / file)
