"""Where agents run: container engines and bubblewrap, what each holds here, and the least that a run needs.

Leaves to others: the environments themselves (`medomni_harbor`), removing what they left (`cleaning`).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medomni.bench.errors import RunRefusedError
from medomni.bench.harbor_program import ask_host
from medomni.core.workspace import Workspace

DOCKER, PODMAN, LOCAL, UNSAFE_HOST = "docker", "podman", "local", "unsafe-host"
CLASSES: Mapping[str, str] = {
    DOCKER: "medomni_harbor.closed:ClosedDocker",
    PODMAN: "medomni_harbor.closed:ClosedPodman",
    LOCAL: "medomni_harbor.bubblewrap:Bubblewrap",
    UNSAFE_HOST: "medomni_harbor.unsafe_host:UnsafeHost",
}
BASE_IMAGE = "localhost/medomni-base:1"
# Below this a run is refused: what an agent could do without it would make its answers worthless.
FLOOR: Mapping[str, str] = {
    "network": "no network",
    "processes": "its own process namespace",
    "host_user": "a host user that is not root",
    "wall_time": "a limit of wall time",
    "memory": "a limit of memory",
}
_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Survey:
    """What one kind of environment can do here.

    Attributes:
        works: Whether it can be used.
        why: Why not.
        held: Limit to whether it is held; empty where it cannot be used.
    """

    kind: str
    works: bool
    why: str
    held: Mapping[str, bool]

    def as_dict(self) -> dict[str, Any]:
        """As `medomni doctor` prints it."""
        return {"kind": self.kind, "works": self.works, "why": self.why, "held": dict(self.held)}


def rootfs_of(workspace: Workspace) -> Path | None:
    """The base image's files, on which bubblewrap runs; without them it runs on this machine's programs."""
    named = os.environ.get("MEDOMNI_ROOTFS")
    if named:
        return Path(named).absolute()
    made = workspace.cache / "base" / "rootfs"
    return made if (made / "usr").is_dir() else None


def survey(kind: str, rootfs: Path | None = None) -> Survey:
    """What one kind of environment can do here, found by asking and trying.

    Args:
        kind: `docker`, `podman`, `local` or `unsafe-host`.
        rootfs: Of `rootfs_of`; for `local`.
    """
    if kind == LOCAL:
        told = ask_host("survey", *([str(rootfs)] if rootfs else []))
        return Survey(kind, told["works"], told["why"], told["held"])
    if kind == UNSAFE_HOST:
        return Survey(kind, True, "", dict.fromkeys((*FLOOR, "read_only_data", "system_calls"), False))
    return _engine(kind)


def _engine(kind: str) -> Survey:
    if shutil.which(kind) is None:
        return Survey(kind, False, f"{kind} is not installed", {})
    try:
        info = json.loads(_ask([kind, "info", "--format", "{{json .}}"]))
        _ask([kind, "image", "inspect", BASE_IMAGE])
        _ask(_compose(kind))
    except _AskFailedError as failure:
        return Survey(kind, False, str(failure), {})
    # Podman always makes these groups for root; Docker says what the kernel lets it limit.
    memory = bool(info.get("MemoryLimit", True))
    pids = bool(info.get("PidsLimit", True))
    held = {
        **dict.fromkeys(("network", "processes", "user", "host_user", "wall_time", "read_only_data"), True),
        "memory": memory,
        "memory_of_all": memory,
        "pids": pids,
        "files": True,
        "storage": False,
        "new_privileges": True,
    }
    return Survey(kind, True, "", held)


def _compose(kind: str) -> list[str]:
    if kind == PODMAN and shutil.which("podman-compose"):
        return ["podman-compose", "version"]
    return [kind, "compose", "version"]


class _AskFailedError(Exception):
    """An engine could not be asked, or said no."""


def _ask(command: list[str]) -> str:
    shown = " ".join(command[:3])
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as failure:
        raise _AskFailedError(f"`{shown}` failed: {failure}") from failure
    if done.returncode != 0:
        lines = [line for line in (done.stderr or done.stdout).strip().splitlines() if line.strip()]
        raise _AskFailedError(f"`{shown}` failed: {lines[-1] if lines else done.returncode}")
    return done.stdout


def require(kind: str, rootfs: Path | None) -> Survey:
    """What an environment holds, if that is enough to run agents in it.

    Args:
        kind: As `survey`.
        rootfs: As `survey`.

    Raises:
        RunRefusedError: `run-environment` where it cannot be used; `run-limits` where it holds too little.
    """
    if kind not in CLASSES:
        raise RunRefusedError(
            f"there is no environment {kind!r}",
            where="--environment",
            hint=f"there are: {', '.join(CLASSES)}",
            code="run-environment",
        )
    found = survey(kind, rootfs)
    if not found.works:
        raise RunRefusedError(
            f"{kind} cannot run agents here: {found.why}",
            where="--environment",
            hint="see `medomni doctor` for what can",
            code="run-environment",
        )
    lacking = [words for limit, words in FLOOR.items() if not found.held.get(limit, False)]
    if lacking and kind != UNSAFE_HOST:
        raise RunRefusedError(
            f"{kind} cannot hold here: {', '.join(lacking)}",
            where="--environment",
            hint="use another environment; --environment unsafe-host is for an agent of your own alone",
            code="run-limits",
        )
    return found
