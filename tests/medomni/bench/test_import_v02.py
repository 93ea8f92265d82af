"""Results of v0.2: version 0, a hash of their own, sets of their own, and nothing half imported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from medomni.cli import app
from medomni.core import contracts
from medomni.core.workspace import Workspace, load_workspace

CARD = 'name: medomni-bench\nversion: "1.0"\nowner: Owner\nlicense: CC-BY-4.0\naccepts: [agent]\n'


def line(**changes: Any) -> dict[str, Any]:
    return {
        "set": "mid", "template": "mimic-iv_ckd-staging", "patient": "007", "agent": "old", "arm": "encoders",
        "answer": {"stage": 2}, "config_hash": "1f2e3d",
    } | changes  # fmt: skip


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    root = tmp_path / "work"
    folder = root / "bench" / "benchmarks" / "medomni-bench"
    folder.mkdir(parents=True)
    (root / "medomni.toml").write_text('release = "0.3.0"\n')
    (folder / "benchmark.yaml").write_text(CARD)
    return load_workspace(root)


def run(place: Workspace, *lines: Any, options: tuple[str, ...] = ()) -> Result:
    folder = place.root.parent / "old"
    folder.mkdir(exist_ok=True)
    texts = [each if isinstance(each, str) else json.dumps(each) for each in lines]
    (folder / "results.jsonl").write_text("\n".join(texts) + "\n")
    return CliRunner().invoke(
        app, ["bench", "import-v02", str(folder), "--workspace", str(place.root), *options]
    )


def records(place: Workspace) -> list[dict[str, Any]]:
    return [contracts.load("run-record", path) for path in sorted(place.runs.rglob("*.run.json"))]


def set_file(place: Workspace, name: str) -> Any:
    path = place.root / "bench" / "benchmarks" / "medomni-bench" / "sets" / f"{name}.yaml"
    return contracts.load("task-set", path)


def test_lines_become_one_record_per_run_of_version_0(place: Workspace) -> None:
    found = run(place, line(), line(patient="7", answer={"stage": None}), line(agent="other", model="m"), "")
    assert found.exit_code == 0, found.output
    first, second = sorted(records(place), key=lambda each: -len(each["atoms"]))
    assert (first["version"], first["config_hash"], first["builder"]) == (0, "v0.2:1f2e3d", "medomni-v0")
    assert (first["set"], first["pair"]) == ("v0.2-mid", "mimic-iv_ckd-staging@mid")
    assert (first["environment"], first["plan"], first["data_fingerprint"]) == (None, None, None)
    assert [(row["atom"], row["targets"]["stage"]["status"]) for row in first["atoms"]] == [
        ("007", "answered"), ("7", "missing"),
    ]  # fmt: skip
    assert second["agent"]["model"] == "m"
    assert "3 lines became 2 run records" in found.output


def test_set_files_pin_version_0_and_the_arms_that_the_records_name(place: Workspace) -> None:
    run(
        place,
        line(),
        line(template="mimic-iv_meld-na", arm="no-perception"),
        line(set="v0.2-ladder", variant="r1"),
    )
    mid = set_file(place, "v0.2-mid")
    assert (mid["builder"], mid["arms"]) == ("medomni-v0", ["encoders", "no-perception"])
    assert [tuple(entry.values()) for entry in mid["tasks"]] == [
        ("mimic-iv_ckd-staging@mid", 0), ("mimic-iv_meld-na@mid", 0),
    ]  # fmt: skip
    assert set_file(place, "v0.2-ladder")["tasks"] == [{"task": "mimic-iv_ckd-staging@ladder", "version": 0}]
    assert not (place.benchmark("medomni-bench") / "sets" / "v0.2-forced.yaml").exists()


def test_importing_again_changes_no_byte_and_other_results_only_add(place: Workspace) -> None:
    run(place, line())
    before = {path: path.read_bytes() for path in place.root.rglob("*") if path.is_file()}
    run(place, line())
    assert {path: path.read_bytes() for path in place.root.rglob("*") if path.is_file()} == before
    run(place, line(template="mimic-iv_meld-na"))
    assert [entry["task"] for entry in set_file(place, "v0.2-mid")["tasks"]] == [
        "mimic-iv_ckd-staging@mid", "mimic-iv_meld-na@mid",
    ]  # fmt: skip
    assert len(records(place)) == 2


def test_answers_that_are_no_numbers_are_invalid_and_never_numbers(place: Workspace) -> None:
    run(place, line(answer={"a": True, "b": "2", "c": 0.5, "d": [1]}))
    targets = records(place)[0]["atoms"][0]["targets"]
    assert {name: each["status"] for name, each in targets.items()} == {
        "a": "invalid", "b": "invalid", "c": "answered", "d": "invalid",
    }  # fmt: skip


def test_keys_that_are_not_known_are_told_and_passed_over(place: Workspace) -> None:
    found = run(place, line(score=0.9))
    assert found.exit_code == 0
    assert "import-key-ignored" in found.stderr
    assert "score" not in records(place)[0]


@pytest.mark.parametrize(
    "wrong",
    [
        line(set="v1"),
        line(template="No Template"),
        line(arm=None),
        line(arm="An Arm"),
        line(answer={}),
        line(answer=[1]),
        line(answer={"A Target": 1}),
        line(patient=True),
        line(agent=3),
        line(config_hash="not a hash!"),
        line(config_hash="cfg1:00"),
        "[1]",
        "{",
        '{"answer": {"stage": NaN}}',
    ],
)
def test_one_wrong_line_imports_nothing(place: Workspace, wrong: Any) -> None:
    found = run(place, line(), wrong)
    assert found.exit_code == 2
    assert "import-line" in found.output
    assert "results.jsonl:2" in found.output
    assert not place.runs.exists()


def test_two_answers_for_one_patient_are_refused(place: Workspace) -> None:
    found = run(place, line(), line(answer={"stage": 3}))
    assert (found.exit_code, "import-duplicate" in found.output) == (2, True)


def test_folder_without_results_and_workspace_without_the_benchmark_are_refused(
    place: Workspace, tmp_path: Path
) -> None:
    found = CliRunner().invoke(
        app, ["bench", "import-v02", str(tmp_path / "none"), "--workspace", str(place.root)]
    )
    assert (found.exit_code, "file-not-found" in found.output) == (2, True)
    place.benchmark_card("medomni-bench").unlink()
    found = run(place, line())
    assert (found.exit_code, "import-benchmark" in found.output) == (2, True)


def test_json_names_what_was_written(place: Workspace) -> None:
    found = json.loads(run(place, line(), options=("--json",)).stdout)
    assert (found["lines"], list(found["sets"])) == (1, ["medomni-bench/v0.2-mid"])
    assert all(Path(path).is_file() for path in found["records"])
