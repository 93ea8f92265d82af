"""Memory, processes and processor time of a sandbox, held by the kernel where this machine lets us.

Version 1 (a folder per controller) and version 2 (one tree) of cgroups. Where neither can be written, there
is no group, and `sandbox` holds what it can with limits per process.

Leaves to others: joining the group (`starting`), and groups that a killed run left, by name (`remove_left`).
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
PARENT = "medomni"
_PERIOD = 100_000


@dataclass(frozen=True, slots=True)
class Group:
    """A cgroup of one sandbox.

    Attributes:
        folders: One folder for version 2, one per controller for version 1.
    """

    folders: tuple[Path, ...]

    @property
    def joined_through(self) -> tuple[str, ...]:
        """Files that a process writes `0` to, to join."""
        return tuple(str(folder / "cgroup.procs") for folder in self.folders)

    def memory_ran_out(self) -> bool:
        """Whether the kernel ended a process of the group for want of memory."""
        for folder in self.folders:
            for name in ("memory.events", "memory.oom_control"):
                with contextlib.suppress(OSError):
                    for line in (folder / name).read_text(encoding="ascii").splitlines():
                        key, _, count = line.partition(" ")
                        if key == "oom_kill" and int(count) > 0:
                            return True
        return False

    def remove(self) -> None:
        """End what is left in the group, and remove it."""
        for folder in self.folders:
            _remove(folder)


def make(name: str, *, memory_bytes: int, pids: int, cpus: float | None) -> Group | None:
    """A new group, or None where this machine's cgroups cannot be written.

    Args:
        name: Its name, unique on this machine.
        memory_bytes: What its processes may use, swap included.
        pids: Processes and threads at once.
        cpus: Processor time, in processors; None for no limit.
    """
    quota = None if cpus is None else max(1000, int(cpus * _PERIOD))
    try:
        if (ROOT / "cgroup.controllers").is_file():
            return _make_v2(name, memory_bytes, pids, quota)
        return _make_v1(name, memory_bytes, pids, quota)
    except OSError:
        return None


def _make_v1(name: str, memory_bytes: int, pids: int, quota: int | None) -> Group | None:
    if not all(os.access(ROOT / controller, os.W_OK) for controller in ("memory", "pids")):
        return None
    memory, processes = _folder("memory", name), _folder("pids", name)
    (memory / "memory.limit_in_bytes").write_text(str(memory_bytes), encoding="ascii")
    # Not there on kernels that do not account for swap.
    with contextlib.suppress(OSError):
        (memory / "memory.memsw.limit_in_bytes").write_text(str(memory_bytes), encoding="ascii")
    (processes / "pids.max").write_text(str(pids), encoding="ascii")
    folders = [memory, processes]
    if quota is not None and os.access(ROOT / "cpu", os.W_OK):
        cpu = _folder("cpu", name)
        (cpu / "cpu.cfs_period_us").write_text(str(_PERIOD), encoding="ascii")
        (cpu / "cpu.cfs_quota_us").write_text(str(quota), encoding="ascii")
        folders.append(cpu)
    return Group(tuple(folders))


def _folder(controller: str, name: str) -> Path:
    folder = ROOT / controller / PARENT / name
    folder.mkdir(parents=True)
    return folder


def _make_v2(name: str, memory_bytes: int, pids: int, quota: int | None) -> Group | None:
    parent = ROOT / PARENT
    wanted = "+memory +pids +cpu"
    (ROOT / "cgroup.subtree_control").write_text(wanted, encoding="ascii")
    parent.mkdir(exist_ok=True)
    (parent / "cgroup.subtree_control").write_text(wanted, encoding="ascii")
    folder = parent / name
    folder.mkdir()
    (folder / "memory.max").write_text(str(memory_bytes), encoding="ascii")
    with contextlib.suppress(OSError):
        (folder / "memory.swap.max").write_text("0", encoding="ascii")
    (folder / "pids.max").write_text(str(pids), encoding="ascii")
    if quota is not None:
        (folder / "cpu.max").write_text(f"{quota} {_PERIOD}", encoding="ascii")
    return Group((folder,))


def remove_left(prefix: str) -> list[str]:
    """Remove the groups whose names begin with `prefix`, with all processes in them; gives their names."""
    found = sorted(folder for parent in _parents() for folder in parent.glob(f"{prefix}*") if folder.is_dir())
    for folder in found:
        _remove(folder)
    return sorted({folder.name for folder in found})


def _parents() -> Iterable[Path]:
    return [parent for parent in (ROOT / PARENT, *ROOT.glob(f"*/{PARENT}")) if parent.is_dir()]


def _remove(folder: Path) -> None:
    for _ in range(100):
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            # Busy: somebody is still in it, or has only just left.
            with contextlib.suppress(OSError, ValueError):
                for pid in (folder / "cgroup.procs").read_text(encoding="ascii").split():
                    os.kill(int(pid), 9)
            time.sleep(0.02)
        else:
            return
