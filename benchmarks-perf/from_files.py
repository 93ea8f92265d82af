"""From two `.nii.gz` files to numbers, over the floor of the same run.

A C library keeps what was freed for the next array: in a loop over one case only the first round pays for new
memory, and both sides look better than on a case that comes first or is larger than the last. So the judged
comparison takes place in a process in which every array lies in memory new from the system, on both sides.
Leaves to others: the floor itself (`floor`), clocks (`timing`).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import floor
import ours
import workloads
from table import Row, Section, Target
from timing import local, take_turns

OURS = "medotter_bench"
# Read by the GNU C library when a process starts; others keep their own ways.
_NEW_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(128 * 1024)}


def section(
    title: str, workload: workloads.Semantic, parent: Path, *, limit: float | None = None, rounds: int
) -> Section:
    """The table of one workload; `limit` is the target of the ratio to the floor."""
    reference, prediction, spacing, regions = workload
    folder = Path(tempfile.mkdtemp(dir=parent))
    paths = [folder / ours.REFERENCE, folder / ours.PREDICTION]
    for path, labels in zip(paths, (reference, prediction), strict=True):
        workloads.write_nifti(path, labels, spacing=spacing)
    spec = ours.semantic_spec(regions)
    n_bytes = reference.nbytes + 352
    floors = {f"floor: {name}": floor.floor(paths, n_bytes, how) for name, how in floor.decoders().items()}
    reading, numbers = "  of these: reading both files", "  of these: numbers from arrays"
    actions = {OURS: ours.on_files(folder, spec=spec), **floors, reading: ours.reading(paths)}
    nibabel = "reading both files with nibabel"
    actions[nibabel] = ours.by_nibabel(paths)
    actions[numbers] = ours.on_arrays(reference, prediction, spacing, spec=spec)
    times = take_turns({name: local(action) for name, action in actions.items()}, rounds)
    best = min(floors, key=lambda name: times.seconds(name)[1])
    ratios = times.ratios(OURS, best)
    found = Section(title, "over the fastest floor, by cpu")
    target = None if limit is None else Target("<=", limit)
    found.rows = [Row(OURS, *times.seconds(OURS), None, *ratios, target)]
    found.rows += [Row(name, *times.seconds(name)) for name in (reading, numbers, *floors, nibabel)]
    found.compare("arrays in memory", times.values(OURS), times.values(numbers), ["dice", "hd95"])
    return found


def in_new_memory(
    title: str, workload: Callable[[], workloads.Semantic], limit: float, parent: Path, *, rounds: int
) -> Section:
    """The same in a new process that never takes freed memory for a large array."""
    before = {name: os.environ.get(name) for name in _NEW_MEMORY}
    os.environ.update(_NEW_MEMORY)
    try:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            return pool.submit(_made_and_timed, title, workload, limit, parent, rounds).result()
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _made_and_timed(
    title: str, workload: Callable[[], workloads.Semantic], limit: float, parent: Path, rounds: int
) -> Section:
    from medotter_bench.metrics import backend

    backend.prepare()
    return section(title, workload(), parent, limit=limit, rounds=rounds)
