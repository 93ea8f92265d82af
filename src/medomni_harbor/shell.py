"""The agent `shell` for Harbor: a model behind an OpenAI-compatible endpoint, with a shell in the container.

It runs on the host: the container needs no network, and never sees the key, which stays in the host's
environment under the name that the settings give. The conversation is kept in the trial's folder, out of the
container's reach, without the key. Needs Harbor.

Leaves to others: the conversation (`shell_loop`), the protocol (`shell_model`), checking settings
(`medomni.bench`).
"""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext

from medomni_harbor import answering
from medomni_harbor.shell_failures import ModelError, ModelUnusableError
from medomni_harbor.shell_loop import FLAGS, Conversation, Limits, Prices, Ran, Told
from medomni_harbor.shell_model import OpenAIChat
from medomni_harbor.shell_words import Redactor

TRANSCRIPT = "shell-transcript.jsonl"
_KILL_SECONDS = 5
# Beyond a command's own limit: then the environment ends it.
_GRACE_SECONDS = 20
_TIMED_OUT = "Command timed out"


class InContainer:
    """The container's shell."""

    def __init__(self, environment: BaseEnvironment) -> None:
        self._environment = environment

    async def run(self, command: str, seconds: int) -> Ran:
        """Run a command; what it leaves in the background lives on."""
        inner = f"timeout --kill-after={_KILL_SECONDS} {seconds} bash -c {shlex.quote(command)} < /dev/null"
        began = time.monotonic()
        try:
            told = await self._environment.exec(inner, timeout_sec=seconds + _KILL_SECONDS + _GRACE_SECONDS)
        except RuntimeError as failure:
            if not str(failure).startswith(_TIMED_OUT):
                raise
            return Ran("", "", 137, seconds)
        late = time.monotonic() - began >= seconds and told.return_code in {124, 137}
        return Ran(told.stdout or "", told.stderr or "", told.return_code, seconds if late else None)

    async def has_file(self, path: str) -> bool:
        """Whether there is a plain file."""
        return bool(await self._environment.is_file(path))


class Shell(BaseAgent):
    """The agent."""

    def __init__(
        self,
        *args: Any,
        endpoint: str,
        key_name: str | None = None,
        limits: Mapping[str, Any] | None = None,
        prices: Mapping[str, Any] | None = None,
        request: Mapping[str, Any] | None = None,
        request_seconds: float = 600,
        retries: int = 5,
        **kwargs: Any,
    ) -> None:
        """Take the settings, which Bench has checked.

        Args:
            args: Harbor's own.
            endpoint: Where the model answers.
            key_name: The name of the host's environment variable that holds the key; None for no key.
            limits: Of `shell_loop.Limits`.
            prices: Of `shell_loop.Prices`.
            request: More fields of each request.
            request_seconds: How long a reply may take.
            retries: How often an overloaded endpoint is asked again.
            kwargs: Harbor's own.
        """
        super().__init__(*args, **kwargs)
        self._endpoint, self._key_name = endpoint, key_name
        self._limits = Limits(**(limits or {}))
        self._prices = Prices(**prices) if prices else None
        self._request = dict(request or {})
        self._request_seconds, self._retries = request_seconds, retries

    @staticmethod
    def name() -> str:
        """The agent's name."""
        return "shell"

    def version(self) -> str:
        """The version of the agent: it rises when its wording or its ways change."""
        return "1"

    async def setup(self, environment: BaseEnvironment) -> None:
        """Nothing to set up."""

    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        """Hold a conversation with the model about one atom.

        Raises:
            ModelError: The endpoint failed, or refuses what the agent asks.
        """
        key = self._key()
        chat = OpenAIChat(
            base_url=self._endpoint,
            key=key,
            model=self.model_name or "",
            request=self._request,
            request_seconds=self._request_seconds,
            retries=self._retries,
        )
        transcript = _Transcript(Path(self.logs_dir).parent / TRANSCRIPT, Redactor(key))
        transcript.keep(self._heading())
        told = Told(changed=lambda now: _fill(context, now, self._prices), keep=transcript.keep)
        conversation = Conversation(
            chat, InContainer(environment), self._limits, told, _answer_path(instruction), self._prices
        )
        _fill(context, told, self._prices)
        try:
            await conversation.hold(instruction)
        except ModelError as failure:
            transcript.keep({"failure": f"{type(failure).__name__}: {failure}"})
            raise
        finally:
            await chat.close()

    def _key(self) -> str | None:
        if self._key_name is None:
            return None
        key = os.environ.get(self._key_name, "").strip()
        if not key:
            raise ModelUnusableError(f"the environment variable {self._key_name} holds no key")
        return key

    def _heading(self) -> dict[str, Any]:
        limits = {name: getattr(self._limits, name) for name in Limits.__slots__}
        return {
            "agent": self.name(),
            "version": self.version(),
            "model": self.model_name,
            "endpoint": self._endpoint,
            "limits": limits,
            "request": self._request,
        }


class _Transcript:
    """The conversation as lines of JSON, each written at once: a trial that is killed keeps what it had."""

    def __init__(self, path: Path, redact: Redactor) -> None:
        self._path, self._redact = path, redact
        path.write_text("", encoding="utf-8")

    def keep(self, entry: Mapping[str, Any]) -> None:
        """Write a line."""
        stamped = {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **self._redact(entry)}
        with self._path.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(json.dumps(stamped, ensure_ascii=False) + "\n")


def _answer_path(instruction: str) -> str | None:
    try:
        return answering.parse(instruction).path
    except answering.InstructionError:
        return None


def _fill(context: AgentContext, told: Told, prices: Prices | None) -> None:
    """What Harbor keeps of an agent, even where its time runs out."""
    usage = told.usage
    context.n_input_tokens = usage.input if usage else None
    context.n_cache_tokens = usage.cached if usage else None
    context.n_output_tokens = usage.output if usage else None
    context.cost_usd = prices.cost_of(usage) if prices and usage else None
    context.metadata = {
        "tool_calls": told.calls,
        "steps": told.steps,
        "ended": told.ended,
        "flags": [told.ended] if told.ended in FLAGS else [],
    }
