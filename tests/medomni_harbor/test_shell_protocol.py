"""The shell agent's client against a server here that speaks the protocol and plays recorded replies."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
from pathlib import Path

import pytest
from model_endpoint import Endpoint, completion, fails, runs, says, serve

REPOSITORY = Path(__file__).parents[2]
PYTHON = Path(os.environ.get("MEDOMNI_HARBOR", REPOSITORY / ".venv-harbor")) / "bin" / "python"
KEY = "sk-recorded-0123456789"
WRITE = "printf 1 > answer.json"
REASONED = {
    "role": "assistant",
    "content": None,
    "reasoning_content": "half \ud83d of it",
    "annotations": [],
    "refusal": None,
    "tool_calls": [
        {
            "id": "call_1",
            "type": "function",
            "function": {"name": "run_command", "arguments": json.dumps({"command": WRITE})},
            "extra_content": {"signature": "abc"},
        }
    ],
}
ODD_USAGE = {"prompt_tokens": -1, "completion_tokens": 2, "total_tokens": 1}
# What is played to each conversation, one after the other.
PLAYED = {
    "plain": [runs("echo out; echo err >&2; exit 3"), runs(WRITE), says("done")],
    "busy": [fails(429, "slow down"), fails(503), runs(WRITE), says("done")],
    "down": [fails(500, f"broken for Bearer {KEY}")],
    "wrong key": [fails(401, f"Incorrect API key provided: {KEY}")],
    "no tools": [fails(400, "tools are not supported by this model")],
    "too long": [runs(WRITE), fails(400, "no", "context_length_exceeded")],
    "refused later": [runs(WRITE), fails(400, "odd")],
    "no usage": [runs(WRITE, usage=None), says("done", usage=None)],
    "odd usage": [
        runs(WRITE, usage=ODD_USAGE),
        says("x"),
    ],
    "page": [(200, "<html>Welcome</html>")],
    "half": [(200, '{"id": ')],
    "nothing": [(200, {**completion({}, "stop", True), "choices": []})],
    "gateway": [(200, {"error": {"message": "upstream timed out", "code": 502}})],
    "reasoned": [(200, completion(REASONED, "tool_calls", True)), says("done")],
}


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """Every conversation, held in one process, with what its server was asked."""
    if not PYTHON.is_file():
        pytest.skip(f"Harbor's environment is not there: {PYTHON}")
    with contextlib.ExitStack() as stack:
        endpoints = {name: stack.enter_context(serve(Endpoint(list(each)))) for name, each in PLAYED.items()}
        asked = []
        for name, endpoint in endpoints.items():
            folder = tmp_path_factory.mktemp("answers")
            path = str(folder / "answer.json")
            asked.append({"endpoint": endpoint.url, "key": KEY, "folder": str(folder), "path": path})
            if name == "plain":
                asked[-1]["request"] = {"temperature": 0, "reasoning_effort": "low"}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            closed = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
            asked.append({**asked[0], "endpoint": closed, "retries": 0, "key": None})
            done = subprocess.run(
                [PYTHON, "-I", "-c", _start()],
                input=json.dumps(asked),
                capture_output=True,
                text=True,
                timeout=120,
                env={**os.environ, "OPENAI_ORG_ID": "org-1", "OPENAI_CUSTOM_HEADERS": "X-Other: secret"},
            )
        assert done.returncode == 0, done.stderr
        told = dict(zip([*PLAYED, "closed"], json.loads(done.stdout), strict=True))
        yield told, endpoints


def _start() -> str:
    driver, source = Path(__file__).with_name("shell_driver.py"), REPOSITORY / "src"
    return f"import runpy, sys; sys.path.insert(0, {str(source)!r}); runpy.run_path({str(driver)!r})"


def test_a_conversation_goes_through_the_client_library(held):
    told, endpoints = held
    assert (told["plain"]["ended"], told["plain"]["steps"]) == ("finished", 3)
    first, second, _ = endpoints["plain"].requests
    assert first["model"] == "recorded/model-1"
    assert [tool["function"]["name"] for tool in first["tools"]] == ["run_command"]
    assert second["messages"][-1]["content"] == "out\n[stderr]\nerr\n[exit code 3]"
    assert second["messages"][-1]["tool_call_id"] == second["messages"][-2]["tool_calls"][0]["id"]


def test_more_fields_go_into_every_request(held):
    _, endpoints = held
    found = {(each["temperature"], each["reasoning_effort"]) for each in endpoints["plain"].requests}
    assert found == {(0, "low")}


def test_usage_is_read_with_cached_tokens_among_the_input(held):
    told, _ = held
    assert told["plain"]["usage"] == [3000, 1200, 60]


@pytest.mark.parametrize("name", ["no usage", "odd usage"])
def test_usage_that_is_not_told_is_unknown_and_not_zero(held, name):
    told, _ = held
    assert told[name]["ended"] == "finished"
    assert told[name]["usage"] is None


def test_the_endpoint_gets_the_key_and_nothing_else_of_the_environment(held):
    _, endpoints = held
    for headers in endpoints["plain"].headers:
        assert headers["authorization"] == f"Bearer {KEY}"
        assert not {"openai-organization", "openai-project", "x-other"} & set(headers)


def test_a_busy_endpoint_is_asked_again(held):
    told, endpoints = held
    assert told["busy"]["ended"] == "finished"
    assert len(endpoints["busy"].requests) == 4


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("down", "ModelUnreachableError"),
        ("closed", "ModelUnreachableError"),
        ("half", "ModelUnusableError"),
        ("nothing", "ModelUnreachableError"),
        ("gateway", "ModelUnreachableError"),
        ("wrong key", "ModelUnusableError"),
        ("no tools", "ModelUnusableError"),
        ("page", "ModelUnusableError"),
        ("refused later", "ModelRequestError"),
    ],
)
def test_a_failure_is_told_apart_by_whose_fault_it_is(held, name, error):
    told, _ = held
    assert told[name]["error"]["type"] == error


def test_a_full_context_is_an_end_and_no_failure(held):
    told, _ = held
    assert (told["too long"]["ended"], told["too long"]["error"]) == ("context-full", None)


def test_no_error_holds_the_key(held):
    told, _ = held
    assert "[key]" in told["wrong key"]["error"]["text"]
    assert KEY not in json.dumps(told)


def test_what_an_endpoint_adds_to_a_reply_goes_back_to_it(held):
    told, endpoints = held
    assert told["reasoned"]["ended"] == "finished"
    message = endpoints["reasoned"].requests[1]["messages"][-2]
    assert message["reasoning_content"] == "half ? of it"
    assert message["tool_calls"][0]["extra_content"] == {"signature": "abc"}
    assert not {"annotations", "refusal"} & set(message)
