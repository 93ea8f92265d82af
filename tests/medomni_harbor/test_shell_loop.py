"""The shell agent's conversation, with a model and a sandbox that are played here."""

from __future__ import annotations

import asyncio
import json

import pytest

from medomni.bench.trials import AGENT_FLAGS
from medomni_harbor import shell_loop
from medomni_harbor.shell_failures import (
    ContentRefusedError,
    ContextFullError,
    ModelRequestError,
    ModelUnusableError,
)
from medomni_harbor.shell_loop import Call, Conversation, Limits, Prices, Ran, Reply, Told, Usage

USAGE = Usage(1000, 400, 20)
PRICES = Prices("2026-11-01", input=2.0, cached_input=0.5, output=10.0)
ONE_REPLY_USD = (600 * 2.0 + 400 * 0.5 + 20 * 10.0) / 1e6


def runs(*commands, usage=USAGE):
    calls = tuple(
        Call(f"c{number}", "run_command", json.dumps({"command": command}))
        for number, command in enumerate(commands)
    )
    return Reply({"role": "assistant", "content": None}, calls, usage, "tool_calls")


def calls(name, arguments):
    return Reply({"role": "assistant", "content": None}, (Call("c", name, arguments),), USAGE, "tool_calls")


def says(text, usage=USAGE):
    return Reply({"role": "assistant", "content": text}, (), usage, "stop")


class Played:
    def __init__(self, *replies):
        self.replies, self.asked = replies, []

    async def ask(self, messages):
        self.asked.append([dict(each) for each in messages])
        reply = self.replies[min(len(self.asked), len(self.replies)) - 1]
        if isinstance(reply, Exception):
            raise reply
        return reply


class Sandbox:
    """`echo` prints, `write` writes the answer, `hang` is ended."""

    def __init__(self, answered=False):
        self.commands, self.answered = [], answered

    async def run(self, command, seconds):
        self.commands.append(command)
        self.answered |= command == "write"
        if command == "hang":
            return Ran("half", "", 124, seconds)
        return Ran(command, "", 0)

    async def has_file(self, path):
        return self.answered


def hold(*replies, limits=None, path="/workspace/answer.json", prices=None, sandbox=None):
    told, kept = Told(), []
    told.keep = kept.append
    sandbox = sandbox or Sandbox()
    conversation = Conversation(Played(*replies), sandbox, limits or Limits(), told, path, prices)
    asyncio.run(conversation.hold("How ill?"))
    return conversation, told, sandbox, kept


def last_content(conversation):
    return conversation.chat.asked[-1][-1]["content"]


def test_a_command_is_run_and_its_output_goes_back_under_the_calls_id():
    conversation, told, sandbox, _ = hold(runs("echo"), runs("write"), says("done"))
    assert sandbox.commands == ["echo", "write"]
    second = conversation.chat.asked[1]
    assert [each["role"] for each in second] == ["system", "user", "assistant", "tool"]
    assert second[-1] == {"role": "tool", "tool_call_id": "c0", "content": "echo\n[exit code 0]"}
    assert (told.ended, told.steps, told.calls) == ("finished", 3, 2)


def test_the_instruction_is_sent_as_it_is():
    conversation, *_ = hold(runs("write"), says("done"))
    assert conversation.chat.asked[0][1] == {"role": "user", "content": "How ill?"}


def test_usage_and_cost_are_sums_over_replies():
    conversation, told, *_ = hold(runs("write"), says("done"), prices=PRICES)
    assert told.usage == Usage(2000, 800, 40)
    assert conversation.cost_usd == pytest.approx(2 * ONE_REPLY_USD, abs=1e-15)


def test_one_reply_without_usage_makes_the_whole_usage_unknown():
    conversation, told, *_ = hold(runs("echo"), runs("write", usage=None), says("done"), prices=PRICES)
    assert told.usage is None
    assert conversation.cost_usd is None


@pytest.mark.parametrize("limits", [Limits(tokens=10**6), Limits(cost_usd=5.0)])
def test_a_limit_that_cannot_be_held_is_an_error_and_not_ignored(limits):
    with pytest.raises(ModelUnusableError, match="does not say how many tokens"):
        hold(runs("echo", usage=None), limits=limits, prices=PRICES)


def test_the_step_limit_ends_the_conversation_after_so_many_replies():
    conversation, told, sandbox, _ = hold(runs("echo"), limits=Limits(steps=5))
    assert len(conversation.chat.asked) == told.steps == 5
    assert told.ended == "step-limit-reached"
    assert len(sandbox.commands) == 5


def test_the_token_limit_asks_nothing_more_once_it_is_reached():
    _, told, *_ = hold(runs("echo"), limits=Limits(tokens=2040))
    assert (told.ended, told.steps) == ("token-limit-reached", 2)


def test_the_cost_limit_asks_nothing_more_once_it_is_reached():
    limits = Limits(cost_usd=2.5 * ONE_REPLY_USD)
    _, told, *_ = hold(runs("echo"), limits=limits, prices=PRICES)
    assert (told.ended, told.steps) == ("cost-limit-reached", 3)


def test_the_model_is_told_when_few_replies_are_left():
    conversation, *_ = hold(runs("echo"), limits=Limits(steps=4))
    told = [asked[-1]["content"] for asked in conversation.chat.asked[1:]]
    assert [
        "3 replies are left" in told[0],
        "2 replies are left" in told[1],
        "1 reply is left" in told[2],
    ] == [True] * 3


def test_the_model_is_told_when_little_of_its_tokens_is_left():
    conversation, *_ = hold(runs("echo"), limits=Limits(tokens=5000))
    contents = [asked[-1]["content"] for asked in conversation.chat.asked]
    assert ["little of your budget" in each for each in contents] == [False, False, False, False, True]


def test_who_stops_without_an_answer_is_reminded_twice_and_then_left():
    conversation, told, *_ = hold(says("It is high."))
    assert (told.ended, told.steps) == ("gave-up", 3)
    assert "/workspace/answer.json" in last_content(conversation)


def test_who_stops_is_believed_where_the_instruction_names_no_file():
    _, told, *_ = hold(says("It is high."), path=None)
    assert (told.ended, told.steps) == ("finished", 1)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("rm", "{}", "there is no tool 'rm'"),
        ("run_command", "{", "the arguments are no JSON"),
        ("run_command", "[" * 100_000, "the arguments are no JSON"),
        ("run_command", "[]", "the arguments must be"),
        ("run_command", '{"command": " "}', "the arguments must be"),
        ("run_command", '{"command": 3}', "the arguments must be"),
        ("run_command", '{"command": "a\\u0000b"}', "the arguments must be"),
        ("run_command", '{"command": "\\ud800"}', "the command holds half a character"),
    ],
)
def test_a_call_that_is_no_command_is_told_to_the_model_and_not_run(name, arguments, expected):
    conversation, told, sandbox, _ = hold(
        calls(name, arguments), says("done"), sandbox=Sandbox(answered=True)
    )
    assert f"[not run: {expected}" in last_content(conversation)
    assert (sandbox.commands, told.calls) == ([], 0)


def test_of_many_commands_in_one_reply_the_first_sixteen_are_run_and_all_are_answered():
    conversation, told, sandbox, _ = hold(runs(*["echo"] * 20), says("done"), sandbox=Sandbox(answered=True))
    assert len(sandbox.commands) == told.calls == 16
    tools = [each for each in conversation.chat.asked[1] if each["role"] == "tool"]
    assert [each["tool_call_id"] for each in tools] == [f"c{number}" for number in range(20)]
    assert tools[-1]["content"] == "[not run: at most 16 commands in one reply]"


def test_a_command_that_is_ended_says_so():
    conversation, *_ = hold(
        runs("hang"), says("x"), limits=Limits(command_seconds=7), sandbox=Sandbox(answered=True)
    )
    assert last_content(conversation) == "half\n[it was ended after 7 seconds]\n[exit code 124]"


@pytest.mark.parametrize(
    ("failure", "ended"),
    [(ContextFullError("too long"), "context-full"), (ContentRefusedError("no"), "content-refused")],
)
def test_a_conversation_that_cannot_go_on_ends_and_keeps_what_was_answered(failure, ended):
    _, told, sandbox, kept = hold(runs("write"), failure)
    assert (told.ended, sandbox.answered, told.steps) == (ended, True, 1)
    assert {"failure": str(failure)} in kept


def test_other_failures_of_the_model_are_not_swallowed():
    with pytest.raises(ModelRequestError):
        hold(runs("write"), ModelRequestError("no"))


def test_everything_that_is_said_is_kept_in_order():
    *_, kept = hold(runs("write"), says("done"))
    roles = [each["message"]["role"] for each in kept if "message" in each]
    assert roles == ["system", "user", "assistant", "tool", "assistant"]
    assert kept[2]["usage"] == {"input": 1000, "cached": 400, "output": 20}
    assert kept[-1] == {"ended": "finished"}


def test_counts_are_told_while_the_conversation_goes_on():
    seen = []
    told = Told(changed=lambda now: seen.append((now.steps, now.calls, now.ended)))
    asyncio.run(Conversation(Played(runs("write"), says("x")), Sandbox(), Limits(), told, "/a").hold("?"))
    assert seen == [(1, 0, None), (1, 1, None), (2, 1, None), (2, 1, "finished")]


def test_bench_knows_every_end_that_the_agent_flags():
    assert set(AGENT_FLAGS) == set(shell_loop.FLAGS)
