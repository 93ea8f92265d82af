"""Copies of the repository's Studio content to edit, and the made-up release, imported once a process."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from medomni.core.workspace import Workspace, load_workspace
from medomni.studio.data.importer import import_release
from medomni.studio.dummy import write_dummy

REPOSITORY = Path(__file__).resolve().parents[3]
DUMMY = "mimic-iv/dummy-1"
_imported: list[Path] = []


def content(folder: Path) -> Workspace:
    """A workspace with a copy of the repository's `studio/`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "medomni.toml").write_text('release = "0.3.0"\n', encoding="utf-8")
    shutil.copytree(REPOSITORY / "studio", folder / "studio")
    return load_workspace(folder)


def edit(path: Path, old: str, new: str) -> None:
    """Replace a text that stands in the file once."""
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} stands in {path.name} {text.count(old)} times"
    path.write_text(text.replace(old, new), encoding="utf-8")


def dummy_workspace(factory: pytest.TempPathFactory) -> Workspace:
    """The repository's content beside the imported made-up release; not to be edited."""
    if not _imported:
        root = factory.mktemp("dummy-workspace")
        workspace = content(root)
        files = factory.mktemp("dummy-files") / "release"
        write_dummy("mimic-iv", files)
        import_release(workspace, "mimic-iv", [files], release="dummy-1")
        _imported.append(root)
    return load_workspace(_imported[0])


def beside(workspace: Workspace, folder: Path) -> Workspace:
    """A workspace with content to edit, which reads the imported releases of another."""
    made = content(folder)
    (folder / ".medomni").mkdir()
    (folder / ".medomni" / "data").symlink_to(workspace.root / ".medomni" / "data")
    return made
