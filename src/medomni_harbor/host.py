"""What the host does beside Harbor: tries the sandbox, runs Harbor so that it ends with us, removes
leftovers.

`python -m medomni_harbor.host survey [ROOTFS]`, `… clean JOB`, `… harbor PARENT ARGUMENT…`. The first two
need the standard library alone, and print JSON.

Leaves to others: container engines (`medomni.bench`).
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from medomni_harbor import probing
from medomni_harbor.sandbox import Sandbox, SandboxError, remove_left
from medomni_harbor.settings import Limits, Place

_PR_SET_PDEATHSIG = 1
_PROBE_SECONDS = 30


def survey(rootfs: str | None) -> dict[str, Any]:
    """Which limits a sandbox here holds: `{"works", "why", "held"}`.

    Args:
        rootfs: The base image's files; by default this machine's programs.
    """
    if shutil.which("bwrap") is None:
        return {"works": False, "why": "bubblewrap is not installed (program bwrap)", "held": {}}
    try:
        return asyncio.run(_survey(Path(rootfs) if rootfs else None))
    except (SandboxError, OSError) as failure:
        return {"works": False, "why": str(failure), "held": {}}


async def _survey(rootfs: Path | None) -> dict[str, Any]:
    place = Place(Path(), rootfs, None, ("/workspace",), "/workspace")
    sandbox = Sandbox(place, Limits(), job=f"survey-{os.getpid()}")
    try:
        await sandbox.start()
        told = await sandbox.run(probing.command(), cwd="/", timeout=_PROBE_SECONDS)
        found = probing.parse(told["stdout"])
        if found is None:
            return {"works": False, "why": told["stderr"][-300:], "held": {}}
        known = known_limits(sandbox)
        return {"works": True, "why": "", "held": probing.held(found, known=known)}
    finally:
        await sandbox.stop()


def known_limits(sandbox: Sandbox) -> dict[str, bool]:
    """Limits that are made from outside, and whether they are."""
    grouped = sandbox.group is not None
    return {
        "memory": True,
        "memory_of_all": grouped,
        "pids": True,
        "files": True,
        "wall_time": True,
        "host_user": sandbox.uid is not None or os.geteuid() != 0,
    }


def run_harbor(parent: int, arguments: Sequence[str]) -> int:
    """Run Harbor's command line in this process, which ends with the process that started it.

    Args:
        parent: The process that started this one.
        arguments: Of Harbor.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        return 1
    from harbor.cli.main import app

    sys.argv = ["harbor", *arguments]
    app()
    return 0


def main(arguments: Sequence[str]) -> int:
    """The command line."""
    what, *rest = arguments
    if what == "survey":
        sys.stdout.write(json.dumps(survey(rest[0] if rest else None)) + "\n")
    elif what == "clean":
        sys.stdout.write(json.dumps(remove_left(rest[0])) + "\n")
    elif what == "harbor":
        return run_harbor(int(rest[0]), rest[1:])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
