"""The shell agent's conversation: ask the model, run what it asks for, until an end or a limit.

Everything outside is handed in: the model as a `Chat`, the sandbox as `Commands`, what is kept as a `Told`.
Standard library alone, so that it runs without Harbor.

Leaves to others: the protocol (`shell_model`), wording (`shell_words`), the container (`shell`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from medomni_harbor import shell_words as words
from medomni_harbor.shell_failures import ContentRefusedError, ContextFullError, ModelUnusableError

FINISHED, GAVE_UP = "finished", "gave-up"
STEP_LIMIT, TOKEN_LIMIT, COST_LIMIT = "step-limit-reached", "token-limit-reached", "cost-limit-reached"
CONTEXT_FULL, REFUSED = "context-full", "content-refused"
# Ends that a reader of the run should know of.
FLAGS = (STEP_LIMIT, TOKEN_LIMIT, COST_LIMIT, CONTEXT_FULL, REFUSED, GAVE_UP)
_MOST_CALLS_PER_REPLY = 16
_MOST_REMINDERS = 2
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """What one atom may take.

    Attributes:
        steps: Replies of the model.
        tokens: Read and written, of all replies together; None for no limit.
        cost_usd: In US dollars; None for no limit.
        command_seconds: For one command.
        output_chars: Of a command's output, what the model is shown.
    """

    steps: int = 60
    tokens: int | None = None
    cost_usd: float | None = None
    command_seconds: int = 120
    output_chars: int = 12_000


@dataclass(frozen=True, slots=True)
class Prices:
    """What a model costs, in US dollars per million tokens.

    Attributes:
        as_of: The date of the price sheet, YYYY-MM-DD.
        input: Tokens read.
        cached_input: Tokens read that the endpoint still had.
        output: Tokens written.
    """

    as_of: str
    input: float
    cached_input: float
    output: float

    def cost_of(self, usage: Usage) -> float:
        """What some usage costs, in US dollars."""
        fresh = usage.input - usage.cached
        total = fresh * self.input + usage.cached * self.cached_input + usage.output * self.output
        return total / _MILLION


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens: read (cached ones among them), cached, written."""

    input: int
    cached: int
    output: int

    def plus(self, other: Usage) -> Usage:
        """Both together."""
        return Usage(self.input + other.input, self.cached + other.cached, self.output + other.output)


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool that a model asks for; `arguments` is its text, JSON or not."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said.

    Attributes:
        message: As the conversation goes on with it.
        calls: Calls of tools, in order.
        usage: None where the endpoint does not tell.
        finish: Why it stopped, in the endpoint's words.
    """

    message: Mapping[str, Any]
    calls: tuple[Call, ...]
    usage: Usage | None
    finish: str


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a command; `ended_after` is None where it ended by itself."""

    stdout: str
    stderr: str
    code: int
    ended_after: int | None = None


class Chat(Protocol):
    """A model."""

    async def ask(self, messages: Sequence[Mapping[str, Any]]) -> Reply:
        """Its reply to a conversation.

        Raises:
            ModelError: As `shell_failures` tells them apart.
        """


class Commands(Protocol):
    """A sandbox."""

    async def run(self, command: str, seconds: int) -> Ran:
        """Run a command for at most so many seconds."""

    async def has_file(self, path: str) -> bool:
        """Whether there is a plain file."""


@dataclass(slots=True)
class Told:
    """What happened so far; `changed` is called whenever there is more of it.

    Attributes:
        steps: Replies of the model.
        calls: Commands that were run.
        usage: Of all replies; None as soon as one reply did not tell.
        ended: Why the conversation ended; None while it goes on.
    """

    changed: Callable[[Told], None] = field(default=lambda told: None)
    keep: Callable[[Mapping[str, Any]], None] = field(default=lambda entry: None)
    steps: int = 0
    calls: int = 0
    usage: Usage | None = field(default_factory=lambda: Usage(0, 0, 0))
    ended: str | None = None

    def replied(self, reply: Reply) -> None:
        """Count a reply."""
        self.steps += 1
        if self.usage is not None:
            self.usage = None if reply.usage is None else self.usage.plus(reply.usage)
        self.changed(self)

    def ran(self) -> None:
        """Count a command, before it is run."""
        self.calls += 1
        self.changed(self)

    def over(self, why: str) -> None:
        """Note the end."""
        self.ended = why
        self.keep({"ended": why})
        self.changed(self)


@dataclass(slots=True)
class Conversation:
    """One atom's conversation.

    Attributes:
        path: Where the answer goes; None where the instruction does not say it in the usual form.
        prices: What the model costs; None where nobody said.
    """

    chat: Chat
    commands: Commands
    limits: Limits
    told: Told
    path: str | None = None
    prices: Prices | None = None
    _messages: list[Mapping[str, Any]] = field(default_factory=list)
    _reminders: int = 0

    async def hold(self, instruction: str) -> None:
        """Hold the conversation to its end.

        Args:
            instruction: The atom's.

        Raises:
            ModelError: The endpoint failed, or refuses what the agent asks.
        """
        limits = self.limits
        prompt = words.system_prompt(
            command_seconds=limits.command_seconds, output_chars=limits.output_chars, steps=limits.steps
        )
        self._say({"role": "system", "content": prompt})
        self._say({"role": "user", "content": instruction})
        while (why := self._limit_reached()) is None:
            try:
                reply = await self.chat.ask(self._messages)
            except ContextFullError as failure:
                why = self._ended_by(failure, CONTEXT_FULL)
                break
            except ContentRefusedError as failure:
                why = self._ended_by(failure, REFUSED)
                break
            self._take(reply)
            if reply.calls:
                await self._run_all(reply.calls)
            elif (why := await self._end_without_call()) is not None:
                break
        self.told.over(why)

    def _say(self, message: Mapping[str, Any], **more: Any) -> None:
        self._messages.append(message)
        self.told.keep({**more, "message": message})

    def _ended_by(self, failure: Exception, why: str) -> str:
        self.told.keep({"failure": str(failure)})
        return why

    def _take(self, reply: Reply) -> None:
        usage = reply.usage
        counted = {"input": usage.input, "cached": usage.cached, "output": usage.output} if usage else None
        self._say(reply.message, finish=reply.finish, usage=counted)
        self.told.replied(reply)
        if usage is None and (self.limits.tokens is not None or self.limits.cost_usd is not None):
            raise ModelUnusableError(
                "the endpoint does not say how many tokens it used, so that no limit of tokens or cost holds"
            )

    def _limit_reached(self) -> str | None:
        if self.told.steps >= self.limits.steps:
            return STEP_LIMIT
        if self._share(self._tokens(), self.limits.tokens) >= 1:
            return TOKEN_LIMIT
        if self._share(self.cost_usd, self.limits.cost_usd) >= 1:
            return COST_LIMIT
        return None

    def _tokens(self) -> int | None:
        return None if self.told.usage is None else self.told.usage.input + self.told.usage.output

    @property
    def cost_usd(self) -> float | None:
        """What it cost so far; None where prices or usage are not known."""
        usage = self.told.usage
        return None if self.prices is None or usage is None else self.prices.cost_of(usage)

    @staticmethod
    def _share(used: float | None, most: float | None) -> float:
        if used is None or most is None:
            return 0.0
        return used / most

    def _left_over(self) -> str:
        share = max(
            self._share(self._tokens(), self.limits.tokens), self._share(self.cost_usd, self.limits.cost_usd)
        )
        return words.left_over(steps=self.limits.steps - self.told.steps, share=share)

    async def _end_without_call(self) -> str | None:
        """Why the conversation is over; None where the model is told that its answer is missing."""
        if self.path is None or await self.commands.has_file(self.path):
            return FINISHED
        if self._reminders >= _MOST_REMINDERS:
            return GAVE_UP
        self._reminders += 1
        self._say({"role": "user", "content": words.reminder(self.path) + self._left_over()})
        return None

    async def _run_all(self, calls: Sequence[Call]) -> None:
        for number, call in enumerate(calls, start=1):
            if number > _MOST_CALLS_PER_REPLY:
                result = f"[not run: at most {_MOST_CALLS_PER_REPLY} commands in one reply]"
                seconds = None
            else:
                began = time.monotonic()
                result = await self._run(call)
                seconds = round(time.monotonic() - began, 3)
            if number == len(calls):
                result += self._left_over()
            self._say({"role": "tool", "tool_call_id": call.id, "content": result}, seconds=seconds)

    async def _run(self, call: Call) -> str:
        try:
            command = words.parse_command(call.name, call.arguments)
        except words.ArgumentsError as failure:
            return f"[not run: {failure}]"
        self.told.ran()
        ran = await self.commands.run(command, self.limits.command_seconds)
        return words.shown(
            ran.stdout, ran.stderr, ran.code, most=self.limits.output_chars, ended_after=ran.ended_after
        )
