"""How many worker processes this machine can carry: cores and memory, within the limits of a container.

Leaves to others: starting them (`execution`), and how much memory an item takes.
"""

from __future__ import annotations

import os
from pathlib import Path

_GUESS = 4 << 30
_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")


def worker_count(jobs: int | None, *, items: int, bytes_per_item: int = 0) -> int:
    """How many processes to use: `jobs` or all cores, at most one per item, and as many as memory holds.

    Args:
        jobs: What was asked for; None for all cores.
        items: How many items there are.
        bytes_per_item: Memory that the largest item needs; 0 if unknown.
    """
    wanted = jobs if jobs is not None else available_cores()
    if bytes_per_item:
        wanted = min(wanted, available_memory() // bytes_per_item)
    return max(1, min(wanted, items))


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1  # pragma: no cover - systems without affinity


def available_memory() -> int:
    """Bytes of memory that can be used: what is free, or what a container's limit leaves; else a guess."""
    known = [size for size in (_free(), _limit_left()) if size is not None]
    return min(known, default=_GUESS)


def _free() -> int | None:
    try:
        for line in _MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        return None
    return None


def _limit_left() -> int | None:
    """What the control group of a container leaves; the word `max` stands for no limit."""
    try:
        limit = int((_CGROUP / "memory.max").read_text(encoding="ascii"))
        # Cached files count as used there, and are given back when memory is short.
        stat = dict(line.split() for line in (_CGROUP / "memory.stat").read_text("ascii").splitlines())
        used = int((_CGROUP / "memory.current").read_text(encoding="ascii")) - int(stat["inactive_file"])
    except (OSError, ValueError, KeyError):
        return None
    return max(0, limit - max(0, used))
