"""The built-in agents as Harbor's agents: `nop`, `prior`, `rule`, `scripted`. Needs Harbor.

They run on the host and reach their atom only through the environment, so that containers need no network.
`medomni bench run --agent NAME` names them; `AGENTS` is where it finds them.

Leaves to others: what they answer (`answering`, `rules`), agents that ask a model.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext

from medomni_harbor import answering, rules

_READ_SECONDS = 60


class _BuiltIn(BaseAgent):
    """What the built-in agents share: nothing to set up, and a count of what they ran."""

    calls = 0

    def version(self) -> str:
        """The version of the agent: it rises when an answer may change."""
        return "1"

    async def setup(self, environment: BaseEnvironment) -> None:
        """Nothing to set up."""

    async def _run(self, environment: BaseEnvironment, context: AgentContext, command: str) -> str:
        self.calls += 1
        context.metadata = {"tool_calls": self.calls}
        told = await environment.exec(command, timeout_sec=_READ_SECONDS)
        return told.stdout or ""

    async def _answer(
        self, environment: BaseEnvironment, context: AgentContext, asked: answering.Asked, share: float
    ) -> None:
        text = shlex.quote(asked.answer_text(share))
        await self._run(environment, context, f"printf %s {text} > {shlex.quote(asked.path)}")


class Nop(_BuiltIn):
    """Answers nothing."""

    @staticmethod
    def name() -> str:
        """The agent's name."""
        return "nop"

    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        """Do nothing."""
        context.metadata = {"tool_calls": 0}


class Prior(_BuiltIn):
    """Answers 0.5, the middle class, or the middle of the range, whatever the record says."""

    @staticmethod
    def name() -> str:
        """The agent's name."""
        return "prior"

    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        """Answer the middle."""
        await self._answer(environment, context, answering.parse(instruction), 0.5)


class Rule(_BuiltIn):
    """Answers how ill somebody looks from the record, by a rule that anybody can check."""

    @staticmethod
    def name() -> str:
        """The agent's name."""
        return "rule"

    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        """Read the record and answer."""
        asked, folder = answering.parse(instruction), Path(self.logs_dir) / "record"
        self.calls += 1
        await environment.download_dir("/data/record", folder)
        tables = {}
        for name in rules.TABLES:
            file = folder / f"{name}.csv"
            tables[name] = file.read_text(encoding="utf-8") if file.is_file() else ""
            file.unlink(missing_ok=True)
        await self._answer(environment, context, asked, rules.severity(tables))


class Scripted(_BuiltIn):
    """Runs commands from a file in the container, one after the other: for tests and for one's own
    baselines."""

    def __init__(self, *args: Any, script: str, **kwargs: Any) -> None:
        """Take the commands.

        Args:
            args: Harbor's own.
            script: A file: JSON `{"commands": […], "input_tokens", "output_tokens", "cost_usd"}`, or a shell
                script that is run as one command.
            kwargs: Harbor's own.
        """
        super().__init__(*args, **kwargs)
        text = Path(script).read_text(encoding="utf-8")
        self._plan: dict[str, Any] = json.loads(text) if script.endswith(".json") else {"commands": [text]}

    @staticmethod
    def name() -> str:
        """The agent's name."""
        return "scripted"

    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        """Run the commands."""
        context.n_input_tokens = self._plan.get("input_tokens")
        context.n_output_tokens = self._plan.get("output_tokens")
        context.cost_usd = self._plan.get("cost_usd")
        for number, command in enumerate(self._plan["commands"], start=1):
            context.metadata = {"tool_calls": number}
            told = await environment.exec(command)
            log = Path(self.logs_dir) / f"command-{number}.txt"
            log.write_text(f"{told.return_code}\n{told.stdout or ''}{told.stderr or ''}", encoding="utf-8")


AGENTS: dict[str, type[BaseAgent]] = {"nop": Nop, "prior": Prior, "rule": Rule, "scripted": Scripted}
