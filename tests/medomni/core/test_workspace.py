"""The workspace: which one is meant, what its file may say, where things lie, and how a new one is made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from medomni.core import new_workspace
from medomni.core.errors import (
    DocumentError,
    InvalidNameError,
    MedomniError,
    WorkspaceError,
    WorkspaceNotFoundError,
    WriteError,
)
from medomni.core.issues import IssuesError
from medomni.core.names import Pair, SetName
from medomni.core.new_workspace import content_source, make_workspace
from medomni.core.workspace import Workspace, find_workspace, load_workspace

PAIR = Pair.parse("mimic-iv_ckd-staging@n20")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "w" / "a" / "b").mkdir(parents=True)
    (tmp_path / "w" / "medomni.toml").write_text('release = "0.3.0"\n')
    return tmp_path / "w"


@pytest.fixture
def content(tmp_path: Path) -> Path:
    """Content as an installation has it, with things in it that are none."""
    folder = tmp_path / "package" / "_content"
    for name in (
        "studio/arms/encoders.yaml",
        "bench/benchmarks/b/benchmark.yaml",
        "bench/.DS_Store",
        "studio/a.yaml~",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode())
    (folder / "studio" / "__pycache__").mkdir()
    (folder / "medomni.toml").write_text('release = "0.3.0"\n[studio]\nmemory_limit = "2GB"\n')
    return folder


def files_of(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_the_nearest_folder_with_the_file_is_the_workspace(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_workspace(root / "a" / "b", environment={}).root == root
    assert find_workspace(root, environment={}).root == root
    monkeypatch.chdir(root / "a")
    assert find_workspace(environment={}).root == root
    (root / "a" / "medomni.toml").write_text('release = "0.4.0"\n')
    assert find_workspace(root / "a" / "b", environment={}) == load_workspace(root / "a")


def test_a_named_workspace_goes_before_the_environment_and_that_before_the_search(
    root: Path, tmp_path: Path
) -> None:
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "medomni.toml").write_text('release = "0.3.0"\n')
    environment = {"MEDOMNI_WORKSPACE": str(tmp_path / "x")}
    assert find_workspace(root, environment=environment).root == tmp_path / "x"
    assert find_workspace(root, named=tmp_path / "y", environment=environment).root == tmp_path / "y"
    assert find_workspace(root, environment={"MEDOMNI_WORKSPACE": ""}).root == root


def test_a_named_folder_must_be_a_workspace_itself(root: Path) -> None:
    with pytest.raises(WorkspaceNotFoundError, match="is no workspace") as caught:
        find_workspace(named=root / "a", environment={})
    assert (caught.value.code, caught.value.where) == ("workspace-not-found", "--workspace")
    with pytest.raises(FileNotFoundError) as told:
        find_workspace(root, environment={"MEDOMNI_WORKSPACE": str(root / "gone")})
    assert told.value.where == "MEDOMNI_WORKSPACE"


def test_no_workspace_around_is_said_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceNotFoundError) as caught:
        find_workspace(tmp_path, environment={})
    assert "medomni init" in caught.value.hint
    assert caught.value.where == str(tmp_path)


def test_the_configuration_is_read(root: Path) -> None:
    plain = load_workspace(root)
    assert (plain.release, plain.release_token) == ("0.3.0", "medomni/0.3.0")
    assert (plain.memory_limit, plain.spill_folder) == (None, root / ".medomni" / "spill")
    (root / "medomni.toml").write_text(
        'release = "1.0.0-rc.1"\n[studio]\nmemory_limit = "8GB"\nspill_folder = "/spill"\n'
    )
    full = load_workspace(root)
    assert (full.release, full.memory_limit, full.spill_folder) == ("1.0.0-rc.1", "8GB", Path("/spill"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["release is missing"]),
        ("release = 0.3", ["release is 0.3"]),
        ('release = "0.3"', ["release is '0.3'"]),
        ('release = "0.3.0\\n"', ["release is '0.3.0\\n'"]),
        ('releese = "0.3.0"', ["release is missing", "releese is not a known key"]),
        ('release = "0.3.0"\n[bench]\nx = 1', ["bench is not a known key"]),
        (
            'release = "0.3.0"\n[studio]\nmemory_limit = 8\nthreads = 2',
            ["studio.memory_limit is 8", "studio.threads is not"],
        ),
        ('release = "0.3.0"\nstudio = 1', ["studio is not a known key"]),
    ],
)  # fmt: skip
def test_everything_wrong_with_the_configuration_is_told_at_once(
    root: Path, text: str, words: list[str]
) -> None:
    (root / "medomni.toml").write_text(text)
    with pytest.raises(IssuesError) as caught:
        load_workspace(root)
    assert {issue.code for issue in caught.value.issues} == {"workspace-invalid"}
    assert len(caught.value.issues) == len(words)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"release = ", "document-syntax"),
        (b'r = "\xff"', "document-not-utf8"),
        (b"#" * 70_000, "document-too-large"),
    ],
)
def test_a_configuration_that_cannot_be_read_is_an_error(root: Path, data: bytes, code: str) -> None:
    (root / "medomni.toml").write_bytes(data)
    with pytest.raises(DocumentError) as caught:
        load_workspace(root)
    assert caught.value.code == code
    assert "medomni.toml" in caught.value.where


def test_everything_lies_where_the_tree_of_the_project_says() -> None:
    """MO-030, MO-063, MO-075, MO-076, MO-130, MO-131."""
    place = Workspace(Path("/w"), "0.3.0")
    template = "studio/datasets/mimic-iv/tasks/mimic-iv_ckd-staging"
    benchmark = "bench/benchmarks/medomni-bench"
    built = "atomtasks/_content/mimic-iv_ckd-staging@n20"
    expected = {
        place.arm("encoders"): "studio/arms/encoders.yaml",
        place.datasets: "studio/datasets",
        place.recipe("mimic-iv", "tables"): "studio/datasets/mimic-iv/recipes/tables.yaml",
        place.label("mimic-iv", "ckd_g_stage"): "studio/datasets/mimic-iv/labels/ckd_g_stage.yaml",
        place.template("mimic-iv", PAIR.template): template,
        place.cohort("mimic-iv", PAIR): f"{template}/cohorts/n20.yaml",
        place.template_arm(
            "mimic-iv", PAIR.template, "modality-ladder"
        ): f"{template}/arms/modality-ladder.yaml",
        place.benchmark_card("medomni-bench"): f"{benchmark}/benchmark.yaml",
        place.withdrawn("medomni-bench"): f"{benchmark}/withdrawn.yaml",
        place.task_set(SetName.parse("medomni-bench/v0.2-mid")): f"{benchmark}/sets/v0.2-mid.yaml",
        place.release_lock("0.3.0"): "bench/releases/0.3.0.lock.json",
        place.content(PAIR): built,
        place.config_copies(PAIR): f"{built}/config",
        place.rendered("encoders"): "atomtasks/encoders",
        place.rendered("modality-ladder", "r1"): "atomtasks/modality-ladder/r1",
        place.runs: "runs",
        place.imported("mimic-iv/demo-2.2"): ".medomni/data/mimic-iv/demo-2.2",
    }
    assert {path.as_posix(): place.relative(path) for path in expected} == {
        f"/w/{name}": name for name in expected.values()
    }


@pytest.mark.parametrize("name", ["..", "a/b", "", "A", "a.b", "a\0"])
def test_no_name_leads_out_of_its_folder(name: str) -> None:
    place = Workspace(Path("/w"), "0.3.0")
    calls = [place.arm, place.dataset, place.benchmark, place.rendered]
    calls += [
        lambda n: place.label("d", n),
        lambda n: place.rendered("a", n),
        lambda n: place.imported(f"{n}/1"),
    ]
    for call in calls:
        with pytest.raises(InvalidNameError):
            call(name)
    with pytest.raises(InvalidNameError):
        place.release_lock("../x")
    with pytest.raises(InvalidNameError, match="<dataset>/<release>"):
        place.imported("mimic-iv")


def test_a_new_workspace_holds_the_content_and_no_strays(content: Path, tmp_path: Path) -> None:
    made = make_workspace(tmp_path / "new" / "w", source=content)
    assert made == find_workspace(tmp_path / "new" / "w", environment={})
    assert files_of(made.root) == {
        "medomni.toml", ".gitignore", "studio/arms/encoders.yaml", "bench/benchmarks/b/benchmark.yaml",
    }  # fmt: skip
    assert (made.root / "medomni.toml").read_text() == 'release = "0.3.0"\n'
    assert "/atomtasks/\n" in (made.root / ".gitignore").read_text()
    assert made.arm("encoders").read_bytes() == (content / "studio/arms/encoders.yaml").read_bytes()


def test_the_current_folder_can_become_a_workspace(content: Path, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / ".DS_Store").write_text("")
    monkeypatch.chdir(tmp_path / "here")
    assert make_workspace(".", source=content).root == tmp_path / "here"
    assert Path("studio/arms/encoders.yaml").is_file()


def test_a_folder_with_anything_in_it_is_refused_and_left_alone(content: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("x")
    with pytest.raises(WorkspaceError, match=r"not empty: it holds mine\.txt") as caught:
        make_workspace(tmp_path / "full", source=content)
    assert caught.value.code == "workspace-not-empty"
    assert files_of(tmp_path / "full") == {"mine.txt"}
    with pytest.raises(WriteError):
        make_workspace(tmp_path / "full" / "mine.txt", source=content)


def test_a_failure_leaves_nothing_that_looks_like_a_workspace_and_it_can_be_made_again(
    content: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(new_workspace, "copy_real", fail)
        with pytest.raises(WriteError, match="No space left"):
            make_workspace(tmp_path / "w", source=content)
    assert files_of(tmp_path / "w") == set()
    (tmp_path / "w" / ".medomni-init-left" / "studio").mkdir(parents=True)
    assert "medomni.toml" in files_of(make_workspace(tmp_path / "w", source=content).root)
    assert not list((tmp_path / "w").glob(".medomni-init-*"))


def test_links_in_the_content_are_refused(content: Path, tmp_path: Path) -> None:
    (content / "studio" / "link.yaml").symlink_to("/etc/hostname")
    with pytest.raises(MedomniError) as caught:
        make_workspace(tmp_path / "w", source=content)
    assert caught.value.code == "path-not-file"
    assert files_of(tmp_path / "w") == set()


def test_content_comes_from_the_package_or_from_the_checkout(
    content: Path, tmp_path: Path, repository: Path
) -> None:
    assert content_source(content.parent) == content
    assert content_source() == repository
    with pytest.raises(WorkspaceError) as caught:
        content_source(tmp_path / "nowhere" / "src" / "medomni")
    assert caught.value.code == "content-missing"


def test_this_repository_is_a_workspace(repository: Path) -> None:
    assert find_workspace(repository / "src", environment={}).root == repository
    assert load_workspace(repository).release == "0.3.0"


def test_a_workspace_can_be_made_inside_the_content(content: Path) -> None:
    made = make_workspace(content / "studio" / "inner", source=content)
    assert files_of(made.root) >= {"studio/arms/encoders.yaml"}
    assert not os.path.lexists(made.root / "studio" / "inner" / "studio")
