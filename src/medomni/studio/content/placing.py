"""Putting a build in its place: made aside, moved in one go, never half there.

A build is made in `atomtasks/.build/<pair>/new`, laid out as `atomtasks/` itself. It is moved in like this:
the old content goes first, then the old atoms, then the new atoms come, and the new content comes last. A
pair is built exactly where its content lies, so that whoever kills the build at any moment leaves the old
one, the new one, or none. What a killed build left is removed by the next build of the pair.

Leaves to others: what is in the files (`documents`, `render`).
"""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from medomni.core.errors import WriteError
from medomni.core.names import Pair
from medomni.core.workspace import Workspace
from medomni.studio.errors import BuildError

_BUILDS = ".build"
_CONTENT = "_content"


@dataclass(frozen=True, slots=True)
class Staging:
    """The folder in which a pair is built, and its place."""

    workspace: Workspace
    pair: Pair
    folder: Path

    @property
    def new(self) -> Path:
        """Stands for `atomtasks/`."""
        return self.folder / "new"

    @property
    def content(self) -> Path:
        """Where the pair's content is made."""
        return self.new / _CONTENT / str(self.pair)

    def rendered(self, arm: str, variant: str | None) -> Path:
        """Where the atoms of an arm or arm variant are made."""
        return self.new / self.workspace.rendered(arm, variant).relative_to(self.workspace.atomtasks)

    def write(self, path: Path, data: bytes) -> str:
        """Write a file of the content, and give its path below `atomtasks/`.

        Raises:
            WriteError: It cannot be written.
        """
        with as_write_error(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return path.relative_to(self.new).as_posix()

    def commit(self, *, keep_arms: Collection[str] = ()) -> None:
        """Replace the old build by the new one.

        Args:
            keep_arms: Arms whose old atoms stay.

        Raises:
            WriteError: A folder cannot be moved.
        """
        with as_write_error(self.workspace.atomtasks):
            old = self.folder / "old"
            _move(self.workspace.content(self.pair), old / _CONTENT)
            for place in atom_folders(self.workspace, self.pair):
                if place.relative_to(self.workspace.atomtasks).parts[0] not in keep_arms:
                    _move(place, old / place.relative_to(self.workspace.atomtasks))
            for made in _atoms_below(self.new, self.pair):
                _move(made, self.workspace.atomtasks / made.relative_to(self.new))
            _move(self.content, self.workspace.content(self.pair))
        shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def staging(workspace: Workspace, pair: Pair) -> Iterator[Staging]:
    """An empty folder to build a pair in, locked against other builds of it and gone afterwards.

    Raises:
        BuildError: `build-in-use`: another running build makes the same pair.
        WriteError: The folder cannot be made.
    """
    builds = workspace.atomtasks / _BUILDS
    with as_write_error(builds):
        builds.mkdir(parents=True, exist_ok=True)
    with _locked(builds / f"{pair}.lock", pair):
        made = Staging(workspace, pair, builds / str(pair))
        with as_write_error(made.folder):
            _clean(made)
            made.content.mkdir(parents=True)
        try:
            yield made
        finally:
            shutil.rmtree(made.folder, ignore_errors=True)


def atom_folders(workspace: Workspace, pair: Pair) -> list[Path]:
    """The folders of a pair's rendered atoms under every arm and variant, sorted."""
    return _atoms_below(workspace.atomtasks, pair)


@contextlib.contextmanager
def as_write_error(place: Path) -> Iterator[None]:
    """Turn what the file system refuses in the block into our error.

    Raises:
        WriteError: `write-failed`.
    """
    try:
        yield
    except OSError as failure:
        raise WriteError(
            f"{failure.filename or place} could not be written: {failure.strerror or failure}",
            where=str(place),
            hint="see that the disk has room and that the folder is yours",
        ) from failure


def _clean(made: Staging) -> None:
    """Remove what a killed build left: its folder, and atoms without content."""
    if made.folder.exists():
        shutil.rmtree(made.folder)
    if not made.workspace.content(made.pair).exists():
        for place in atom_folders(made.workspace, made.pair):
            shutil.rmtree(place)


@contextlib.contextmanager
def _locked(path: Path, pair: Pair) -> Iterator[None]:
    with as_write_error(path):
        stream = path.open("ab")
    with stream:
        with contextlib.suppress(ImportError):
            import fcntl

            try:
                fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as failure:
                raise BuildError(
                    f"another running build makes {pair}",
                    where=str(path.parent),
                    hint="wait for it to end",
                    code="build-in-use",
                ) from failure
        yield


def _atoms_below(root: Path, pair: Pair) -> list[Path]:
    """Atom folders are two or three levels below `root`: in arms, and in variants of arms."""
    named = re.compile(rf"{re.escape(pair.template)}\.{re.escape(pair.cohort)}\.[0-9a-f]{{10}}")
    pattern = f"{pair.template}.{pair.cohort}.*"
    found = [*root.glob(f"*/{pattern}"), *root.glob(f"*/*/{pattern}")]
    own = (_BUILDS, _CONTENT)
    return sorted(
        path
        for path in found
        if named.fullmatch(path.name) and path.relative_to(root).parts[0] not in own and path.is_dir()
    )


def _move(source: Path, target: Path) -> None:
    if source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        source.rename(target)
