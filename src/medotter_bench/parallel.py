"""The worker processes of scoring: how many there are, whether they pay, and what they load.

Memory limits them by the largest case. Where the cases look so small that starting processes would take
longer than they spare, scoring begins in this process; it goes over to workers if the cases turn out to take
longer than they look. Leaves to others: starting them (`medomni.core.execution`) and what runs in them
(`case_runs`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from math import prod

from medomni.core import execution
from medomni.core.cores import worker_count
from medomni.core.errors import MedomniError
from medotter_bench.case_scoring import CaseJob
from medotter_bench.errors import SpecError
from medotter_bench.inference import VolumeLoader, read_grid
from medotter_bench.metrics import backend, fast

VARIABLE = "MEDOTTER_WORKERS"
CHOICES = ("auto", "always")

# Two label maps of 8-byte voxels, their canonical copies, masks and distances of one region.
BYTES_PER_VOXEL = 60
# Imported once, before the workers are forked; what is not installed is left out.
PRELOAD = ("medotter_bench.case_scoring", "nibabel.nifti1")
KERNELS = "medotter_bench.metrics.kernels_at_import"
REFERENCE = ("scipy.spatial", "scipy.ndimage")

# Seconds on one core: what the first worker costs, what loading the kernels costs, what a case costs at
# least, and what a voxel of a usual case costs. They decide speed, never a number.
START_SEC, LOAD_SEC, CASE_SEC = 1.0, 2.5, 0.003
KERNEL_VOXEL_SEC, REFERENCE_VOXEL_SEC = 8e-9, 1e-7


def scoring_workers(jobs: int | None, cases: Sequence[CaseJob]) -> AbstractContextManager[execution.Workers]:
    """Where to score `cases`: in up to `jobs` processes, or as many as there are cores and memory.

    Raises:
        SpecError: `workers-choice` where `MEDOTTER_WORKERS` says something else than `auto` or `always`.
    """
    always = _always()
    sizes = _voxels(cases)
    total = sum(sizes)
    size = worker_count(jobs, items=len(cases), bytes_per_item=max(sizes, default=0) * BYTES_PER_VOXEL)
    shared = backend.wanted(total // size)
    preload = (*PRELOAD, KERNELS) if shared else (*PRELOAD, *REFERENCE)
    if size > 1 and (always or _spared(len(cases), total, size) > START_SEC):
        return execution.local(size, preload=preload)
    if backend.wanted(total):
        # Else the cases up to that many voxels would go without.
        backend.prepare()
    if size > 1 and jobs is not None:
        backend.announce(f"{len(cases)} small cases take less time here than {size} workers need to start")
    start = START_SEC + (LOAD_SEC if shared else 0)
    return execution.growing(size, items=len(cases), start_sec=start, preload=preload)


def _spared(n_cases: int, voxels: int, size: int) -> float:
    """Seconds of work that `size` workers spare, if predictions are as good as usual."""
    fast_ones = backend.wanted(voxels) and fast.available()
    work = n_cases * CASE_SEC + voxels * (KERNEL_VOXEL_SEC if fast_ones else REFERENCE_VOXEL_SEC)
    return work * (1 - 1 / size)


def _always() -> bool:
    choice = os.environ.get(VARIABLE) or "auto"
    if choice not in CHOICES:
        raise SpecError(
            f"{VARIABLE} is {choice!r}",
            where=VARIABLE,
            hint=f"one of {', '.join(CHOICES)}",
            code="workers-choice",
        )
    return choice == "always"


def _voxels(cases: Sequence[CaseJob]) -> list[int]:
    """Voxels of each reference, from headers; an unreadable one is found when it is scored."""
    sizes = []
    for case in cases:
        try:
            path = VolumeLoader(case.data_root).label_path(case.meta)
            sizes.append(prod(read_grid(path).grid.shape))
        except MedomniError:
            continue
    return sizes
