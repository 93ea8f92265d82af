"""Failure cases of running agents (RN-08, RN-10), with their own files."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from workspace_builders import SET, invoke, make_workspace, need_harbor, records_of

from medomni.bench.environments import survey
from medomni.bench.log_guard import log_issues


@pytest.mark.slow
def test_an_agent_s_orphan_dies_with_its_time_and_scores_nothing(tmp_path: Path, shared: Path) -> None:
    """RN-08: a background child that writes the answer after the limit."""
    need_harbor()
    found = survey("local")
    if not found.works:
        pytest.skip(found.why)
    case = shared / "cases" / "RN-08"
    limits = json.loads((case / "limits.json").read_text())
    # The case writes below its own folder; here that is where answers go.
    script = (case / "agent.sh").read_text().replace("out/", "/workspace/").replace("mkdir -p out", "true")
    (tmp_path / "agent.sh").write_text(script)
    make_workspace(tmp_path / "w", ["a"], timeout=limits["agent_timeout_s"])
    agent = f"scripted:{tmp_path / 'agent.sh'}"
    told = invoke("run", SET, "--agent", agent, "--environment", "local", "--workspace", str(tmp_path / "w"))
    assert told.exit_code == 0, told.output
    [record] = records_of(tmp_path / "w")
    [row] = record["atoms"]
    assert row["status"] == "timeout"
    assert row["targets"]["ckd_stage"]["value"] is None
    time.sleep(2)
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not [command for command in commands if b"heartbeat" in command]


def test_a_checker_s_log_with_a_right_answer_is_refused(shared: Path) -> None:
    """RN-10: the log is named with the target whose value it tells."""
    case = shared / "cases" / "RN-10"
    log = case / "verifier_log.txt"
    names = (case / "answers.csv").read_text().splitlines()[0].split(",")[1:]
    [issue] = log_issues(log, names)
    assert issue.code == "log-shows-answer"
    assert "verifier_log.txt" in issue.what
    assert "aki" in issue.what


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("well-formed\n", False),
        ("ckd_stage: there is no answer\n", False),
        ("ckd_stage: 7 is not from 0 to 4\n", False),
        ('ckd_stage: "7" is no number\n', False),
        ("ckd_stage: 7 is right\n", True),
        ("ckd_stage=3", True),
        ('{"ckd_stage": 3}', True),
        ("my_ckd_stage = 3", False),
        ("expected ckd_stage is 2", True),
    ],
)
def test_a_value_beside_a_target_s_name_is_found(tmp_path: Path, text: str, told: bool) -> None:
    log = tmp_path / "log.txt"
    log.write_text(text)
    assert bool(log_issues(log, ["ckd_stage"])) is told
    assert log_issues(tmp_path / "none", ["ckd_stage"]) == []
