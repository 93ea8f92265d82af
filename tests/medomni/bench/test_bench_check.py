"""`medomni bench check`: task sets only grow, and what a benchmark's folder holds is valid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from medomni.bench.checking import check_benchmarks
from medomni.bench.release_locks import expected_hashes, release_locks
from medomni.cli import app
from medomni.core.hashing import task_set_hash
from medomni.core.workspace import load_workspace

CARD = 'name: b\nversion: "1.0"\nowner: Owner\nlicense: CC-BY-4.0\naccepts: [agent]\n'
PAIRS = {"t_one@n20": 1, "t_two@n20": 1}


def set_text(pairs: dict[str, int], *, arms: str = "encoders", builder: str = "medomni-v1") -> str:
    rows = "".join(f"  - {{task: {pair}, version: {n}}}\n" for pair, n in pairs.items())
    return f"name: s\nbuilder: {builder}\narms: [{arms}]\ntasks:\n{rows}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with one benchmark, whose set is as it was in the last of two releases."""
    folder = tmp_path / "bench" / "benchmarks" / "b"
    (folder / "sets").mkdir(parents=True)
    (tmp_path / "medomni.toml").write_text('release = "0.3.0"\n')
    (folder / "benchmark.yaml").write_text(CARD)
    (folder / "sets" / "s.yaml").write_text(set_text(PAIRS))
    write_lock(tmp_path, "0.9.0-rc.1", {"t_one@n20": 1, "t_gone@n20": 1})
    write_lock(tmp_path, "0.9.0", PAIRS)
    return tmp_path


def write_lock(root: Path, release: str, pairs: dict[str, int]) -> None:
    folder = root / "bench" / "releases"
    folder.mkdir(parents=True, exist_ok=True)
    digest = "0" * 64
    parts: dict[str, Any] = {
        pair: {
            "version": n, "dataset_release": "t/1.0", "cohort": digest, "targets": digest, "scoring": digest,
            "labels": {}, "recipes": {},
            "hashes": [{"arm": "encoders", "variant": None, "config_hash": f"cfg1:{digest}"}],
        }
        for pair, n in pairs.items()
    }  # fmt: skip
    pinned = {
        "builder": "medomni-v1",
        "arms": ["encoders"],
        "tasks": [{"task": pair, "version": n} for pair, n in pairs.items()],
        "task_set_hash": task_set_hash(list(pairs.items())),
    }
    lock = {
        "schema": "medomni/release-lock/1", "release": release, "builder": "medomni-v1",
        "sets": {"b/s": pinned}, "pairs": parts, "builds": {},
    }  # fmt: skip
    (folder / f"{release}.lock.json").write_text(json.dumps(lock))


def codes(root: Path) -> list[str]:
    return [issue.code for issue in check_benchmarks(load_workspace(root)).issues]


def edit(root: Path, text: str) -> None:
    (root / "bench" / "benchmarks" / "b" / "sets" / "s.yaml").write_text(text)


def test_set_as_it_was_is_right_and_the_last_release_is_the_highest_version(root: Path) -> None:
    found = check_benchmarks(load_workspace(root))
    assert (found.issues, found.against, found.sets) == ((), "0.9.0", {"b/s": 2})


def test_set_may_grow_by_pairs_and_arms(root: Path) -> None:
    edit(root, set_text({"t_new@n20": 3} | PAIRS, arms="no-perception, encoders"))
    assert codes(root) == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (set_text({"t_one@n20": 1}), "set-entry-removed"),
        (set_text(PAIRS | {"t_two@n20": 2}), "set-entry-changed"),
        (set_text(PAIRS, arms="no-perception"), "set-arm-removed"),
        (set_text(PAIRS, builder="other-v1"), "set-builder-changed"),
    ],
)
def test_set_that_shrank_or_changed_is_an_error(root: Path, text: str, code: str) -> None:
    edit(root, text)
    assert codes(root) == [code]


def test_set_that_went_is_an_error(root: Path) -> None:
    (root / "bench" / "benchmarks" / "b" / "sets" / "s.yaml").unlink()
    assert codes(root) == ["benchmark-empty", "set-removed"]


def test_broken_card_set_and_lock_are_all_told(root: Path) -> None:
    edit(root, set_text({"t_one@n20": 0}))
    (root / "bench" / "benchmarks" / "b" / "benchmark.yaml").write_text(CARD.replace("name: b", "name: c"))
    (root / "bench" / "releases" / "0.9.0.lock.json").write_text("{}")
    found = codes(root)
    assert {"benchmark-name", "task-set-conflict", "release-lock-required"} <= set(found)


def test_lock_that_is_no_json_is_told(root: Path) -> None:
    (root / "bench" / "releases" / "0.9.0.lock.json").write_text("{")
    assert codes(root) == ["document-syntax"]


def test_card_that_is_not_there_is_told(root: Path) -> None:
    (root / "bench" / "benchmarks" / "b" / "benchmark.yaml").unlink()
    assert codes(root) == ["file-not-found"]


def test_files_that_nobody_reads_are_warned_of(root: Path) -> None:
    sets = root / "bench" / "benchmarks" / "b" / "sets"
    (sets / "late.yml").write_text(set_text(PAIRS))
    (sets / "Odd Name.yaml").write_text(set_text(PAIRS))
    assert codes(root) == ["name-invalid", "task-set-stray"]


def test_withdrawn_pair_must_be_pinned_and_so_must_its_replacement(root: Path) -> None:
    path = root / "bench" / "benchmarks" / "b" / "withdrawn.yaml"
    row = '- {pair: t_one@n20, version: 1, date: "2026-01-01", reason: a leak'
    path.write_text(f"withdrawn:\n  {row}}}\n")
    assert codes(root) == []
    path.write_text(f"withdrawn:\n  {row}, replaced_by: {{pair: t_one@n20, version: 2}}}}\n")
    assert codes(root) == ["withdrawn-not-pinned"]
    path.write_text("withdrawn:\n  - {pair: t_one@n20}\n")
    assert set(codes(root)) == {"withdrawn-required"}


def test_workspace_without_benchmarks_is_told(tmp_path: Path) -> None:
    (tmp_path / "medomni.toml").write_text('release = "0.3.0"\n')
    assert codes(tmp_path) == ["benchmark-none"]


def test_command_exits_1_on_errors_and_0_on_warnings(root: Path) -> None:
    run = CliRunner().invoke(app, ["bench", "check", "--workspace", str(root)])
    assert run.exit_code == 0
    assert run.output.splitlines() == [
        "b/s: 2 pairs", "compared with release 0.9.0", "benchmarks: 0 errors, 0 warnings",
    ]  # fmt: skip
    edit(root, set_text({"t_one@n20": 1}))
    run = CliRunner().invoke(app, ["bench", "check", "--workspace", str(root), "--json"])
    assert run.exit_code == 1
    assert [issue["code"] for issue in json.loads(run.stdout)["issues"]] == ["set-entry-removed"]


def test_hashes_of_every_release_are_known_and_none_without_a_release(root: Path) -> None:
    place = load_workspace(root)
    assert [lock.release for lock in release_locks(place)] == ["0.9.0-rc.1", "0.9.0"]
    found = expected_hashes(place)
    assert ("medomni/0.9.0-rc.1", "t_gone@n20", 1, "encoders", "") in found
    assert len(found) == 4


def test_benchmarks_of_this_repository_are_right() -> None:
    repository = Path(__file__).resolve().parents[3]
    assert check_benchmarks(load_workspace(repository)).issues == ()
