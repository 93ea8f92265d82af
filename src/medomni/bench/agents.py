"""Which agents there are, and what Harbor is told of them.

Leaves to others: what they do (`medomni_harbor`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medomni.bench.environments import UNSAFE_HOST
from medomni.bench.errors import RunRefusedError
from medomni.bench.shell_settings import read_settings
from medomni.core.hashing import sha256_file

_IMPORT_PATH = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
# Name -> where Harbor's process finds it, and whether it asks a model.
BUILT_IN: Mapping[str, tuple[str, bool]] = {
    "nop": ("medomni_harbor.agents:Nop", False),
    "prior": ("medomni_harbor.agents:Prior", False),
    "rule": ("medomni_harbor.agents:Rule", False),
    "scripted": ("medomni_harbor.agents:Scripted", False),
    "shell": ("medomni_harbor.shell:Shell", True),
}


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent with its settings.

    Attributes:
        name: As the command line has it, without what follows a colon.
        import_path: `module:Class` in Harbor's process.
        model: The model behind it.
        arguments: What its constructor is given.
        settings: What else decides its answers, as the record has it; no paths, no secrets.
        sends_records: Whether it sends what it reads to somebody else.
        own: Whether it is somebody's own, and none of ours.
    """

    name: str
    import_path: str
    model: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    sends_records: bool = False
    own: bool = False


def parse_agent(
    text: str, *, model: str | None = None, base_url: str | None = None, key_name: str | None = None
) -> Agent:
    """The agent that a command line names.

    Args:
        text: `nop`, `prior`, `rule`, `scripted:<file>`, `shell`, `shell:<settings file>`, or `module:Class`
            of somebody's own.
        model: The model; only for agents that ask one.
        base_url: Where the model answers.
        key_name: The *name* of the host's environment variable that holds the key.

    Raises:
        RunRefusedError: `run-agent`: there is no such agent, or what it needs is not given.
        MedomniError: As `shell_settings.read_settings`.
    """
    name, _, rest = text.partition(":")
    if name not in BUILT_IN:
        if not _IMPORT_PATH.fullmatch(text):
            raise _refused(
                f"there is no agent {text!r}", f"there are: {', '.join(BUILT_IN)}, or module:Class"
            )
        arguments = {"base_url": base_url} if base_url else {}
        settings = {"import_path": text, **arguments}
        return Agent(text.partition(":")[2].lower(), text, model, arguments, settings, True, own=True)
    import_path, asks = BUILT_IN[name]
    if asks != (model is not None) or (base_url is not None and not asks):
        need = "needs --model" if asks else "asks no model: leave out --model and --base-url"
        raise _refused(f"the agent {name} {need}", "")
    if name == "scripted":
        return _scripted(rest, import_path)
    if name == "shell" and model is not None:
        file = Path(rest) if rest else None
        found = read_settings(file, model=model, base_url=base_url, key_name=key_name)
        return Agent(name, import_path, model, found.arguments(), found.recorded(), sends_records=True)
    if rest:
        raise _refused(f"the agent {name} takes nothing behind a colon: {text!r}", "")
    return Agent(name, import_path)


def check_limits(agent: Agent, *, environment: str, max_cost: float | None) -> None:
    """Refuse what cannot be held of an agent that asks a model.

    Args:
        agent: The agent.
        environment: Where it is to run.
        max_cost: Of the whole run, in US dollars; None for no limit.

    Raises:
        RunRefusedError: `run-agent`: a limit of cost without prices, a key where the agent could read it.
    """
    if agent.name != "shell" or agent.own:
        return
    if max_cost is not None and agent.arguments["prices"] is None:
        what = "a limit of cost cannot be held without the model's prices"
        hint = "name a price sheet in the agent's settings: --agent shell:FILE"
        raise RunRefusedError(what, where="--max-cost", hint=hint, code="run-agent")
    if environment == UNSAFE_HOST and agent.arguments["key_name"] is not None:
        what = "commands that run on this machine itself could read the model's key"
        raise RunRefusedError(what, where="--key-name", hint="use another environment", code="run-agent")


def _scripted(file: str, import_path: str) -> Agent:
    if not file or not Path(file).is_file():
        raise _refused(f"there is no file {file!r} to run", "write --agent scripted:FILE")
    path = Path(file).absolute()
    settings = {"script": path.name, "script_sha256": sha256_file(path)}
    return Agent("scripted", import_path, None, {"script": str(path)}, settings)


def _refused(what: str, hint: str) -> RunRefusedError:
    return RunRefusedError(what, where="--agent", hint=hint, code="run-agent")
