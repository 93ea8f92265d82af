"""Holds conversations with the real client library; run by Harbor's Python, which has it.

Standard input is a list of settings, standard output a list of what came of each.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from medomni_harbor.shell_failures import ModelError
from medomni_harbor.shell_loop import Conversation, Limits, Ran, Told
from medomni_harbor.shell_model import OpenAIChat


class Here:
    """Commands of this machine, in a folder of the test's own."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    async def run(self, command: str, seconds: int) -> Ran:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self._folder,
            capture_output=True,
            text=True,
            timeout=seconds,
            env={"PATH": os.environ["PATH"]},
            check=False,
        )
        return Ran(done.stdout, done.stderr, done.returncode)

    async def has_file(self, path: str) -> bool:
        return Path(path).is_file()


async def hold(asked: dict[str, Any]) -> dict[str, Any]:
    kept: list[Any] = []
    told = Told(keep=kept.append)
    chat = OpenAIChat(
        base_url=asked["endpoint"],
        key=asked["key"],
        model="recorded/model-1",
        request=asked.get("request", {}),
        request_seconds=asked.get("seconds", 20),
        retries=asked.get("retries", 2),
    )
    conversation = Conversation(chat, Here(asked["folder"]), Limits(steps=8), told, asked["path"])
    error = None
    try:
        await conversation.hold("How ill?")
    except ModelError as failure:
        error = {"type": type(failure).__name__, "text": f"{failure!s} {failure.__cause__} {failure.args}"}
    finally:
        await chat.close()
    usage = told.usage and [told.usage.input, told.usage.cached, told.usage.output]
    return {"ended": told.ended, "steps": told.steps, "usage": usage, "error": error, "kept": kept}


async def main() -> None:
    told = [await hold(each) for each in json.load(sys.stdin)]
    sys.stdout.write(json.dumps(told))


asyncio.run(main())
