"""The agent `shell` in real runs: Harbor, bubblewrap, and a model that a server of this machine plays."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from workspace_builders import SET, atom_of, invoke, make_workspace, need_harbor, records_of, rows_of

from medomni.bench.environments import survey

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "medomni_harbor"))

from model_endpoint import Answer, Endpoint, fails, runs, says, serve

TARGET = "ckd_stage"
KEY = "sk-recorded-0123456789"
ANSWER = f"""printf '{{"{TARGET}": 2}}' > /workspace/answer.json"""
LOOK = (
    "cat /data/record/case.csv; env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; seq 1 5000;"
    ' echo \'{"failure": "forged"}\' > /logs/agent/shell-transcript.jsonl'
)
SETTINGS = """
max_steps: 4
max_tokens: 100000
command_timeout_sec: 2
output_chars: 1000
retries: 1
request: {temperature: 0}
prices: prices.yaml
"""
PRICES = 'as_of: "2026-11-01"\nmodels:\n  recorded/model-1: {input: 2, cached_input: 0.5, output: 10}\n'
# Case -> what the model says, step by step, after it has looked at its record.
CASES: dict[str, list[Answer]] = {
    "honest": [runs(f"sleep 30; {ANSWER}", ANSWER), says("done")],
    "down": [runs(ANSWER), fails(500, f"broken for {KEY}")],
    "refused": [runs(ANSWER), fails(400, f"odd request with {KEY}")],
    "endless": [runs("true")],
}


def play(body: dict[str, Any]) -> Answer:
    """What the model says: it looks, and then does what its record holds."""
    messages = body["messages"]
    said = [each for each in messages if each["role"] == "assistant"]
    if not said:
        return runs(LOOK)
    seen = next(each["content"] for each in messages if each["role"] == "tool")
    steps = CASES[seen.split()[1]]
    return steps[min(len(said), len(steps)) - 1]


def run_cases(root: Path, cases: list[str]) -> tuple[int, dict[str, Any], dict[str, Any], Endpoint]:
    """The exit code, the record, its rows by case, and what the model was asked."""
    need_harbor()
    found = survey("local")
    if not found.works:
        pytest.skip(found.why)
    make_workspace(root, cases)
    (root / "settings.yaml").write_text(SETTINGS, encoding="utf-8")
    (root / "prices.yaml").write_text(PRICES, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch, serve(Endpoint(play=play)) as endpoint:
        patch.setenv("MODEL_KEY", KEY)
        told = invoke(
            *("run", SET, "--agent", f"shell:{root / 'settings.yaml'}", "--model", "recorded/model-1"),
            *("--base-url", endpoint.url, "--key-name", "MODEL_KEY", "--environment", "local"),
            *("--workspace", str(root), "-n", "4", "--max-cost", "5", "--json"),
        )
    assert told.exit_code in {0, 1}, told.output
    [record] = records_of(root)
    rows = rows_of(record)
    return told.exit_code, record, {case: rows[atom_of(root, case)] for case in cases}, endpoint


def without_key(root: Path) -> bool:
    files = [path for path in (root / "runs").rglob("*") if path.is_file()]
    return bool(files) and not [path for path in files if KEY.encode() in path.read_bytes()]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Any:
    root = tmp_path_factory.mktemp("work")
    code, record, rows, endpoint = run_cases(root, ["honest", "refused", "endless"])
    assert code == 0
    return root, record, rows, endpoint


def test_an_answer_is_written_by_a_command_of_the_model(ran: Any) -> None:
    _, record, rows, _ = ran
    row = rows["honest"]
    assert (row["status"], row["targets"][TARGET]["value"], row["tool_calls"]) == ("ran", 2, 3)
    assert row["tokens"] == {"input": 3000, "output": 60, "cached": 1200}
    assert row["cost_usd"] == pytest.approx((1800 * 2 + 1200 * 0.5 + 60 * 10) / 1e6)
    settings = record["agent"]["settings"]
    assert (settings["max_steps"], settings["prices"]["as_of"], settings["request"]) == (
        4,
        "2026-11-01",
        {"temperature": 0},
    )


# Harbor is started three times.
@pytest.mark.slow
def test_a_failing_endpoint_is_a_harness_error_that_was_run_again(tmp_path: Path) -> None:
    code, record, rows, _ = run_cases(tmp_path, ["down"])
    assert (code, rows["down"]["status"]) == (1, "harness_error")
    assert "ModelUnreachableError" in rows["down"]["targets"][TARGET]["reason"]
    assert "harness-errors-run-again-2-times" in record["integrity"]
    assert without_key(tmp_path)


def test_a_request_that_is_refused_is_the_agents_error_and_its_answer_counts(ran: Any) -> None:
    _, _, rows, _ = ran
    assert rows["refused"]["status"] == "agent_error"
    assert rows["refused"]["targets"][TARGET]["value"] == 2


def test_a_limit_ends_the_conversation_and_the_record_says_so(ran: Any) -> None:
    _, record, rows, _ = ran
    assert (rows["endless"]["status"], rows["endless"]["tool_calls"]) == ("ran", 4)
    assert rows["endless"]["targets"][TARGET]["status"] == "missing"
    assert "step-limit-reached" in record["integrity"]


def test_the_key_reaches_the_endpoint_and_no_container_record_or_log(ran: Any) -> None:
    root, _, _, endpoint = ran
    assert {each["authorization"] for each in endpoint.headers} == {f"Bearer {KEY}"}
    assert KEY not in json.dumps(endpoint.requests)
    assert without_key(root)


def test_the_transcript_is_kept_where_no_command_can_write(ran: Any) -> None:
    root, *_ = ran
    kept = list((root / "runs").glob("*/harbor/job/*/shell-transcript.jsonl"))
    assert len(kept) == 3
    text = "".join(path.read_text(encoding="utf-8") for path in kept)
    entries = [json.loads(line) for line in text.splitlines()]
    assert {each.get("ended") for each in entries} >= {"finished", "step-limit-reached"}
    assert "forged" not in [each.get("failure") for each in entries]
    assert "characters left out" in text
    assert "it was ended after 2 seconds" in text
    assert "[key]" in text
