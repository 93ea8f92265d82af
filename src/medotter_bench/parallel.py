"""The worker processes of scoring: how many, by the memory that the largest case takes, and what they load.

Leaves to others: starting them (`medomni.core.execution`) and what runs in them (`case_runs`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from math import prod

from medomni.core import execution
from medomni.core.cores import worker_count
from medomni.core.errors import MedomniError
from medotter_bench.case_scoring import CaseJob
from medotter_bench.inference import VolumeLoader, read_grid
from medotter_bench.metrics import backend

# Two label maps of 8-byte voxels, their canonical copies, masks and distances of one region.
BYTES_PER_VOXEL = 60
# Imported once, before the workers are forked: loading kernels takes longer than many small cases.
PRELOAD = ("medotter_bench.case_scoring",)
KERNELS = "medotter_bench.metrics.kernels_at_import"


def scoring_workers(jobs: int | None, cases: Sequence[CaseJob]) -> AbstractContextManager[execution.Workers]:
    """Processes to score `cases` in: `jobs` or as many as there are cores, as far as memory goes."""
    voxels = 0 if jobs == 1 else _largest(cases)
    size = worker_count(jobs, items=len(cases), bytes_per_item=voxels * BYTES_PER_VOXEL)
    load = size > 1 and backend.wanted(voxels * len(cases) // size)
    return execution.local(size, preload=(*PRELOAD, KERNELS) if load else PRELOAD)


def _largest(cases: Sequence[CaseJob]) -> int:
    """Voxels of the largest reference, from headers; an unreadable one is found when it is scored."""
    largest = 0
    for case in cases:
        try:
            path = VolumeLoader(case.data_root).label_path(case.meta)
            largest = max(largest, prod(read_grid(path).grid.shape))
        except MedomniError:
            continue
    return largest
