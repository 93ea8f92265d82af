"""A real sandbox for tests, and the reason where there can be none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from medomni_harbor.host import survey
from medomni_harbor.sandbox import Sandbox
from medomni_harbor.settings import MB, Limits, Place, Service

LIMITS = Limits(memory_bytes=256 * MB, pids=64, cpus=1, storage_bytes=32 * MB, file_bytes=8 * MB)
_FOUND: dict[str, Any] = {}


def need_sandbox() -> dict[str, Any]:
    """What a sandbox holds here; skips the test where there is none."""
    if not _FOUND:
        _FOUND.update(survey(None))
    if not _FOUND["works"]:
        pytest.skip(f"no sandbox here: {_FOUND['why']}")
    return _FOUND


def in_sandbox[T](
    work: Callable[[Sandbox], Awaitable[T]],
    *,
    data: Path | None = None,
    limits: Limits = LIMITS,
    service: Service | None = None,
    job: str = "test",
) -> T:
    """Do something in a sandbox of its own."""
    need_sandbox()

    async def whole() -> T:
        place = Place(Path(), None, data, ("/workspace", "/logs"), "/workspace")
        sandbox = Sandbox(place, limits, job=job, service=service)
        try:
            await sandbox.start()
            return await work(sandbox)
        finally:
            await sandbox.stop()

    return asyncio.run(whole())


def printed(command: str, **options: Any) -> dict[str, Any]:
    """What one command in a sandbox of its own came to."""
    timeout = options.pop("timeout", 20)

    async def work(sandbox: Sandbox) -> dict[str, Any]:
        return await sandbox.run(command, timeout=timeout)

    return in_sandbox(work, **options)
