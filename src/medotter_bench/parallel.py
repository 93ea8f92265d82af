"""Worker processes for scoring: how many, how they start, and how they end.

Leaves to others: what runs in them (`case_scoring`).
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

# Two label maps of 8-byte voxels, their canonical copies, masks and distances of one region.
BYTES_PER_VOXEL = 60


def worker_count(jobs: int | None, *, cases: int, largest_voxels: int = 0) -> int:
    """How many processes to use: `jobs` or all cores, at most one per case, and as many as memory holds.

    Args:
        jobs: What was asked for; None for all cores.
        cases: How many cases there are.
        largest_voxels: Voxels of the largest case; 0 if unknown.
    """
    wanted = jobs if jobs is not None else (os.cpu_count() or 1)
    if largest_voxels:
        wanted = min(wanted, max(1, available_memory() // (largest_voxels * BYTES_PER_VOXEL)))
    return max(1, min(wanted, cases))


def available_memory() -> int:
    """Bytes of memory that this machine says can be used; a modest guess where it does not say."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return 4 << 30


@contextmanager
def process_pool(workers: int) -> Iterator[Executor | None]:
    """An executor of `workers` processes, or None for one. On any error no worker is left running."""
    if workers == 1:
        yield None
        return
    # Not fork: the caller may hold threads (a progress bar), and a forked lock stays locked.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["medotter_bench.case_scoring"])
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_ignore_interrupt)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in multiprocessing.active_children():
            child.terminate()
        raise
    pool.shutdown()


def _ignore_interrupt() -> None:
    # Ctrl-C reaches the whole process group; only the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
