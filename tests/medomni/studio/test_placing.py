"""A build is in its place whole or not at all, whenever it is killed; two of one pair exclude each other."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from medomni.core.errors import WriteError
from medomni.core.names import Pair
from medomni.core.workspace import Workspace, load_workspace
from medomni.studio.content.placing import Staging, as_write_error, atom_folders, staging
from medomni.studio.errors import BuildError

PAIR = Pair("mimic-iv_t", "dummy")
ATOMS = [f"mimic-iv_t.dummy.{number:010x}" for number in range(12)]
OTHER = "mimic-iv_t.dummy2.0000000000"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "medomni.toml").write_text('release = "0.3.0"\n', encoding="utf-8")
    return load_workspace(tmp_path)


def fill(stage: Staging, mark: str, arms: tuple[str, ...] = ("encoders", "no-perception")) -> None:
    """A build whose every file holds one mark."""
    for atom in ATOMS:
        stage.write(stage.content / atom / "record.json", mark.encode())
        for arm in arms:
            for name in ("instruction.md", "data/a.csv", "data/b.csv"):
                stage.write(stage.rendered(arm, None) / atom / name, mark.encode())
        stage.write(stage.rendered("modality-ladder", "r1") / atom / "instruction.md", mark.encode())
    stage.write(stage.content / "manifest.json", mark.encode())


def marks(workspace: Workspace) -> set[str]:
    """The marks of everything that lies below `atomtasks/`, what is being made left out."""
    return {
        path.read_text(encoding="utf-8")
        for path in workspace.atomtasks.rglob("*")
        if path.is_file() and ".build" not in path.parts
    }


def count(workspace: Workspace) -> int:
    return sum(p.is_file() and ".build" not in p.parts for p in workspace.atomtasks.rglob("*"))


WHOLE = len(ATOMS) * 8 + 1


def test_a_build_is_moved_into_place_and_nothing_else_is_left(workspace: Workspace) -> None:
    with staging(workspace, PAIR) as stage:
        fill(stage, "one")
        assert not workspace.content(PAIR).exists()
        stage.commit()
    assert (marks(workspace), count(workspace)) == ({"one"}, WHOLE)
    assert len(atom_folders(workspace, PAIR)) == 3 * len(ATOMS)
    assert [path.name for path in (workspace.atomtasks / ".build").iterdir()] == [f"{PAIR}.lock"]


def test_a_new_build_replaces_the_old_one_whole_and_no_other_pair(workspace: Workspace) -> None:
    stranger = workspace.atomtasks / "encoders" / OTHER / "instruction.md"
    stranger.parent.mkdir(parents=True)
    stranger.write_text("stranger", encoding="utf-8")
    for mark in ("one", "two"):
        with staging(workspace, PAIR) as stage:
            fill(stage, mark)
            stage.commit()
    assert marks(workspace) == {"two", "stranger"}


def test_atoms_of_other_arms_can_be_kept(workspace: Workspace) -> None:
    with staging(workspace, PAIR) as stage:
        fill(stage, "one")
        stage.commit()
    with staging(workspace, PAIR) as stage:
        fill(stage, "two", ("encoders",))
        stage.commit(keep_arms={"no-perception"})
    kept = workspace.rendered("no-perception") / ATOMS[0] / "instruction.md"
    assert kept.read_text(encoding="utf-8") == "one"
    assert (marks(workspace), count(workspace)) == ({"one", "two"}, WHOLE)


def test_a_build_that_fails_leaves_the_old_one(workspace: Workspace) -> None:
    with staging(workspace, PAIR) as stage:
        fill(stage, "one")
        stage.commit()
    with pytest.raises(BuildError), staging(workspace, PAIR) as stage:
        fill(stage, "two")
        raise BuildError("a leak")
    assert (marks(workspace), count(workspace)) == ({"one"}, WHOLE)
    assert not stage.folder.exists()


def test_two_builds_of_a_pair_exclude_each_other_and_those_of_two_pairs_do_not(workspace: Workspace) -> None:
    with staging(workspace, PAIR):
        with pytest.raises(BuildError, match="another running build") as caught, staging(workspace, PAIR):
            pass
        assert caught.value.code == "build-in-use"
        with staging(workspace, Pair("mimic-iv_t", "n20")):
            pass


def test_what_a_killed_build_left_is_removed(workspace: Workspace) -> None:
    with staging(workspace, PAIR) as stage:
        fill(stage, "one")
        stage.commit()
    # Killed after the old content went, before the new came.
    for path in sorted(workspace.content(PAIR).rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    workspace.content(PAIR).rmdir()
    stage.new.mkdir(parents=True)
    (stage.new / "rest").write_text("rest", encoding="utf-8")
    with staging(workspace, PAIR) as again:
        assert not (again.new / "rest").exists()
        assert marks(workspace) == set()


def test_what_the_disk_refuses_is_an_error_of_ours(workspace: Workspace) -> None:
    with pytest.raises(WriteError, match="No space left"), as_write_error(workspace.root):
        raise OSError(28, "No space left on device")
    (workspace.root / "atomtasks").write_text("a file", encoding="utf-8")
    with pytest.raises(WriteError), staging(workspace, PAIR):
        pass


BUILDER = """
import sys, itertools
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from medomni.core.workspace import load_workspace
from medomni.studio.content.placing import staging
from test_placing import PAIR, fill
workspace = load_workspace(Path(sys.argv[1]))
print("ready", flush=True)
for turn in itertools.count():
    with staging(workspace, PAIR) as stage:
        fill(stage, f"build {turn}")
        stage.commit()
"""


def killed_once(workspace: Workspace, delay: float) -> None:
    """Start a process that builds again and again, and kill it after a while."""
    here = str(Path(__file__).parent)
    arguments = [sys.executable, "-c", textwrap.dedent(BUILDER), str(workspace.root), here]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(delay)
        child.send_signal(signal.SIGKILL)


def kill_and_look(workspace: Workspace, kills: int) -> None:
    draws = random.Random(kills)
    states = set()
    for _ in range(kills):
        killed_once(workspace, draws.uniform(0.05, 0.4))
        if (workspace.content(PAIR) / "manifest.json").exists():
            # Where the content lies, everything is of one build.
            assert len(marks(workspace)) == 1
            assert count(workspace) == WHOLE
            states.add("whole")
        else:
            assert not workspace.content(PAIR).exists()
            states.add("none")
        with staging(workspace, PAIR):
            pass
        assert [path.name for path in (workspace.atomtasks / ".build").iterdir()] == [f"{PAIR}.lock"]
        assert count(workspace) in (0, WHOLE)
    assert states <= {"whole", "none"}


def test_a_killed_build_leaves_the_old_one_the_new_one_or_none(workspace: Workspace) -> None:
    kill_and_look(workspace, 4)


@pytest.mark.slow
def test_twenty_killed_builds_leave_nothing_half(workspace: Workspace) -> None:
    kill_and_look(workspace, 20)
