"""What Harbor wrote, as rows: an agent's failure stays one, ours is run again, and nothing is dropped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from medomni.bench.trials import read_trial, read_trials, row_not_run, row_of

TARGETS: list[dict[str, Any]] = [{"name": "risk", "type": "binary"}]
PATH = "/workspace/answer.json"
BEGAN, ENDED, CHECKED = "2026-01-01T00:00:01Z", "2026-01-01T00:00:03.5Z", "2026-01-01T00:00:05Z"


def write(
    folder: Path,
    *,
    answer: str | None = None,
    note: dict[str, Any] | None = None,
    number: str = "0001",
    **changes: Any,
) -> Path:
    """A trial as Harbor leaves it: the agent began and ended, and the check was reached."""
    result: dict[str, Any] = {
        "config": {"task": {"path": f"/x/tasks/{number}"}},
        "started_at": BEGAN,
        "exception_info": None,
        "agent_info": {"name": "a", "version": "1"},
        "agent_result": {
            "n_input_tokens": 5,
            "n_output_tokens": 2,
            "cost_usd": 0.5,
            "metadata": {"tool_calls": 3},
        },
        "agent_execution": {"started_at": BEGAN, "finished_at": ENDED},
        "verifier": {"started_at": CHECKED, "finished_at": CHECKED},
        "verifier_result": {"rewards": {"format_ok": 1}},
    }
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(json.dumps(result | changes))
    if answer is not None:
        (folder / "artifacts" / "workspace").mkdir(parents=True)
        (folder / "artifacts" / "workspace" / "answer.json").write_text(answer)
    if note is not None:
        (folder / "environment.json").write_text(json.dumps(note))
    return folder / "result.json"


def row(path: Path) -> dict[str, Any]:
    trial = read_trial(path)
    assert trial is not None
    return row_of(trial, atom="t.c.0000000000", attempt=1, path=PATH, targets=TARGETS)


def error(kind: str, at: str = ENDED) -> dict[str, Any]:
    return {"exception_type": kind, "message": "", "occurred_at": at}


def test_an_answer_with_what_it_took(tmp_path: Path) -> None:
    found = row(write(tmp_path / "a", answer='{"risk": 0.5}'))
    assert found["status"] == "ran"
    assert found["seconds"] == 2.5
    assert found["tokens"] == {"input": 5, "output": 2, "cached": 0}
    assert (found["cost_usd"], found["tool_calls"]) == (0.5, 3)
    assert found["targets"]["risk"]["value"] == 0.5


def test_rewards_are_never_read(tmp_path: Path) -> None:
    liar = {"rewards": {"format_ok": 1, "risk": 1.0, "score": 1.0}}
    assert row(write(tmp_path / "a", verifier_result=liar))["targets"]["risk"]["status"] == "missing"


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("AgentTimeoutError", "timeout"),
        ("RuntimeError", "agent_error"),
        ("InstructionError", "agent_error"),
        ("AuthenticationError", "agent_error"),
        ("EnvironmentFailedError", "harness_error"),
        ("EnvironmentStartTimeoutError", "harness_error"),
        ("HealthcheckError", "harness_error"),
        ("CancelledError", "harness_error"),
    ],
)
def test_what_ended_a_trial_decides_whose_failure_it_is(tmp_path: Path, kind: str, status: str) -> None:
    found = row(write(tmp_path / "a", answer='{"risk": 0.25}', exception_info=error(kind)))
    assert found["status"] == status
    # An answer that was written before its time was over counts; one of a harness error never does.
    assert found["targets"]["risk"]["value"] == (None if status == "harness_error" else 0.25)
    assert (found["answer_sha256"] is None) == (status == "harness_error")


def test_what_fails_before_the_agent_begins_is_ours(tmp_path: Path) -> None:
    assert (
        row(write(tmp_path / "a", agent_execution=None, exception_info=error("RuntimeError")))["status"]
        == "harness_error"
    )
    assert row(write(tmp_path / "b", agent_execution=None))["status"] == "harness_error"


def test_what_fails_in_the_check_costs_no_agent_its_answer(tmp_path: Path) -> None:
    late = error("VerifierTimeoutError", "2026-01-01T00:00:09Z")
    found = row(write(tmp_path / "a", answer='{"risk": 0.5}', exception_info=late, verifier_result=None))
    assert found["status"] == "ran"
    assert found["targets"]["risk"]["value"] == 0.5


def test_an_answer_that_may_have_been_lost_on_its_way_is_no_missing_answer(tmp_path: Path) -> None:
    assert row(write(tmp_path / "a", verifier_result=None))["status"] == "harness_error"
    assert row(write(tmp_path / "b", note={"lost": True}))["status"] == "harness_error"
    assert row(write(tmp_path / "c"))["status"] == "ran"


def test_an_answer_that_was_refused_says_why(tmp_path: Path) -> None:
    found = row(write(tmp_path / "a", note={"refused": {PATH: "it is a link"}}))
    assert found["targets"]["risk"] == {
        "status": "invalid",
        "value": None,
        "reason": "the answer could not be taken: it is a link",
    }


def test_trials_come_in_order_and_half_a_file_is_none(tmp_path: Path) -> None:
    write(tmp_path / "0002__b", number="0002")
    write(tmp_path / "0001__z", started_at="2026-01-01T00:00:00Z")
    write(tmp_path / "0001__a", started_at="2026-01-01T00:00:09Z")
    write(tmp_path / "0003__x", number="0003").write_text('{"config": ')
    (tmp_path / "0004__x").mkdir()
    found = read_trials(tmp_path)
    assert [trial.folder.name for trial in found] == ["0001__z", "0001__a", "0002__b"]
    assert sum(trial.cost for trial in found) == 1.5


def test_a_note_that_is_none_is_no_note(tmp_path: Path) -> None:
    path = write(tmp_path / "a", answer='{"risk": 0.5}')
    for text in ("[", "[]"):
        (tmp_path / "a" / "environment.json").write_text(text)
        trial = read_trial(path)
        assert trial is not None
        assert trial.note == {}


def test_what_was_never_begun_has_a_row_with_its_reason() -> None:
    found = row_not_run(atom="a", attempt=2, status="agent_error", reason="no money left", targets=TARGETS)
    assert found["targets"]["risk"] == {"status": "missing", "value": None, "reason": "no money left"}
    assert found["seconds"] is None
