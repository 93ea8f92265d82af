"""Settings of the agent `shell`: the endpoint, the name of its key, limits, prices; checked before a run.

Leaves to others: the agent itself (`medomni_harbor.shell`), which is handed what is found here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from medomni.bench.errors import RunRefusedError
from medomni.core import contracts
from medomni.core.files import read_yaml
from medomni.core.issues import IssuesError

OPENAI_URL = "https://api.openai.com/v1"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SCHEMAS = Path(__file__).parent / "schemas"
# Fields of a request that are the agent's own.
_TAKEN = ("model", "messages", "tools", "functions", "stream", "n")
_DEFAULTS: Mapping[str, Any] = {
    "max_steps": 60,
    "max_tokens": None,
    "max_cost_usd": None,
    "command_timeout_sec": 120,
    "output_chars": 12_000,
    "request_timeout_sec": 600,
    "retries": 5,
    "request": {},
}


@dataclass(frozen=True, slots=True)
class ShellSettings:
    """What decides the agent's answers, and the name of its key.

    Attributes:
        values: Of the settings file, with defaults for what it leaves out, but for `prices`.
        prices: `as_of`, `input`, `cached_input`, `output` in US dollars per million tokens; None if unknown.
    """

    base_url: str
    key_name: str | None
    values: Mapping[str, Any]
    prices: Mapping[str, Any] | None = field(default=None)

    def arguments(self) -> dict[str, Any]:
        """What the agent's constructor is given."""
        values = self.values
        return {
            "endpoint": self.base_url,
            "key_name": self.key_name,
            "limits": {
                "steps": values["max_steps"],
                "tokens": values["max_tokens"],
                "cost_usd": values["max_cost_usd"],
                "command_seconds": values["command_timeout_sec"],
                "output_chars": values["output_chars"],
            },
            "prices": self.prices,
            "request": values["request"],
            "request_seconds": values["request_timeout_sec"],
            "retries": values["retries"],
        }

    def recorded(self) -> dict[str, Any]:
        """What a run record says of it: everything but whose key it was."""
        return {"base_url": self.base_url, **self.values, "prices": self.prices}


def read_settings(
    file: Path | None, *, model: str, base_url: str | None, key_name: str | None
) -> ShellSettings:
    """The settings of the agent `shell`.

    Args:
        file: YAML; None for the defaults.
        model: The model's name, which the price sheet has.
        base_url: Where it answers, as far as `/v1`; None for OpenAI.
        key_name: The name of the environment variable with the key; None where no key is needed.

    Raises:
        RunRefusedError: `run-agent`: the address or the name cannot be one, the variable holds no key,
            the settings contradict each other, or the price sheet has no such model.
        IssuesError: A file breaks its schema.
        DocumentError: A file cannot be read.
    """
    found = _read("shell-settings", file) if file is not None else {}
    sheet = found.pop("prices", None)
    values = {**_DEFAULTS, **found}
    taken = [name for name in _TAKEN if name in values["request"]]
    if taken:
        raise _refused(f"`request` sets {taken[0]!r}, which is the agent's own", str(file))
    prices = _prices(Path(file).parent / sheet, model) if file is not None and sheet is not None else None
    if values["max_cost_usd"] is not None and prices is None:
        raise _refused(
            "max_cost_usd cannot be held without prices", str(file), hint="name a price sheet: prices: FILE"
        )
    _check_key(key_name)
    return ShellSettings(_checked_url(base_url or OPENAI_URL), key_name, values, prices)


def _read(kind: str, path: Path) -> dict[str, Any]:
    document = read_yaml(path)
    schema = (_SCHEMAS / f"{kind}.schema.json").read_text(encoding="utf-8")
    issues = contracts.check(kind, schema, document)
    if issues:
        raise IssuesError(
            f"{path} is no valid {kind}: {len(issues)} problems", issues=issues, where=str(path)
        )
    value: dict[str, Any] = dict(document.value)
    return value


def _prices(path: Path, model: str) -> dict[str, Any]:
    sheet = _read("price-sheet", path)
    try:
        date.fromisoformat(sheet["as_of"])
    except ValueError as failure:
        raise _refused(f"as_of is {sheet['as_of']}, and there is no such day", str(path)) from failure
    models: Mapping[str, Mapping[str, float]] = sheet["models"]
    if model not in models:
        raise _refused(
            f"the price sheet has no model {model!r}", str(path), hint=f"it has: {', '.join(models)}"
        )
    prices = models[model]
    return {
        "as_of": sheet["as_of"],
        "input": prices["input"],
        "cached_input": prices.get("cached_input", prices["input"]),
        "output": prices["output"],
    }


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    # Never repeat it: it may hold a password.
    if not usable or not url.isprintable() or " " in url:
        raise _refused("this is no address of an endpoint", "--base-url", hint=f"such as {OPENAI_URL}")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise _refused(
            "the address holds a user, a password or a query, which the run record would show",
            "--base-url",
            hint="put the key into an environment variable, and name it with --key-name",
        )
    return url.rstrip("/")


def _check_key(name: str | None) -> None:
    if name is None:
        return
    # Never repeat what was given: some will paste the key itself.
    if not _NAME.fullmatch(name):
        raise _refused(
            "this is no name of an environment variable", "--key-name", hint="give the name, not the key"
        )
    key = os.environ.get(name, "").strip()
    if not key:
        raise _refused(
            "the environment variable of that name is not set, or empty",
            "--key-name",
            hint="give the name, not the key",
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise _refused(f"{name} holds characters that no key has", "--key-name")


def _refused(what: str, where: str, *, hint: str = "") -> RunRefusedError:
    return RunRefusedError(what, where=where, hint=hint, code="run-agent")
