"""How the cost of scoring grows: with voxels, with surface, with organs, and with cases.

`python benchmarks-perf/growth.py` prints one small table each; nothing is compared with anybody. Leaves to
others: the comparison with peers and limits (`imaging`).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import memory
import numpy as np
import ours
import workloads
from numpy.typing import NDArray
from timing import Values, local, take_turns

from medotter_bench.engine import score_predictions
from medotter_bench.metrics import backend

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tests"))

from bundle_builders import BundleBuilder  # type: ignore[import-not-found]  # noqa: E402

ROUNDS = 7
_SET_CHILD_SUBREAPER = 36
ONE_REGION = {"object": (1,)}
Measured = list[tuple[str, float, float]]


def ball(length: int, radius: float, *, seed: int) -> NDArray[Any]:
    """(X, Y, Z) `length` cubed: a ball in the middle whose surface is moved by up to about 2 voxels."""
    labels = np.zeros((length,) * 3, dtype=np.uint8, order="F")
    reach = int(radius) + 4
    box = (slice(length // 2 - reach, length // 2 + reach),) * 3
    x, y, z = np.ogrid[(slice(-reach, reach),) * 3]
    noise = workloads.smooth_field((2 * reach,) * 3, cell=7, rng=np.random.default_rng(seed))
    labels[box][np.sqrt(x**2 + y**2 + z**2) + 2 * noise <= radius] = 1
    return labels


def seconds(actions: dict[str, Callable[[], Values]]) -> dict[str, float]:
    """Median processor seconds of each, in turns."""
    times = take_turns({name: local(action) for name, action in actions.items()}, ROUNDS)
    return {name: times.seconds(name)[1] for name in actions}


def scored_balls(sizes: Sequence[tuple[int, float]]) -> dict[str, Callable[[], Values]]:
    """One action for each length of a grid and radius of a ball."""
    spec = ours.semantic_spec(ONE_REGION)
    return {
        f"{length}^3, radius {radius:g}": ours.on_arrays(
            ball(length, radius, seed=1), ball(length, radius, seed=2), (1.0, 1.0, 1.0), spec=spec
        )
        for length, radius in sizes
    }


def voxels() -> Measured:
    """The same object in ever more background."""
    lengths = (96, 128, 192, 256, 384, 512)
    found = seconds(scored_balls([(length, 32) for length in lengths]))
    return [(name, taken, length**3) for (name, taken), length in zip(found.items(), lengths, strict=True)]


def surface() -> Measured:
    """Ever larger objects in the same grid."""
    radii = (8, 16, 32, 64, 112)
    found = seconds(scored_balls([(256, radius) for radius in radii]))
    areas = [4 * np.pi * radius**2 for radius in radii]
    return [(name, taken, area) for (name, taken), area in zip(found.items(), areas, strict=True)]


def organs() -> Measured:
    """Ever more organs of the same two maps."""
    reference, prediction, spacing, regions = workloads.workload_b()
    counts = (1, 2, 4, 8, 12)
    actions = {}
    for count in counts:
        some = dict(list(regions.items())[:count])
        spec = ours.semantic_spec(some, of=regions)
        actions[f"{count} organs"] = ours.on_arrays(reference, prediction, spacing, spec=spec)
    return [(name, taken, n) for (name, taken), n in zip(seconds(actions).items(), counts, strict=True)]


def adopt_orphans() -> None:
    """Let processes that outlive their parent become ours, so that their time is counted (Linux)."""
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def by_command(paths: tuple[Path, Path, Path], jobs: int, workers: str = "auto") -> tuple[float, float]:
    """Wall seconds of the command from its start to its end, and processor seconds of all its processes."""
    bundle, predictions, data = map(str, paths)
    command = [sys.executable, "-m", "medotter_bench", "score", bundle, predictions, "--data-root", data]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "MEDOTTER_WORKERS": workers}
    subprocess.run([*command, "--jobs", str(jobs)], check=True, capture_output=True, env=environment)  # noqa: S603
    wall = time.perf_counter() - started
    with contextlib.suppress(ChildProcessError):
        while os.wait():
            pass
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cases(folder: Path) -> list[str]:
    """Ever more cases of 96^3 voxels: a loaded process, its peak memory, and the command."""
    lines = []
    for count in (8, 32, 128, 512):
        builder = BundleBuilder(folder / str(count))
        for number in range(count):
            pair = ball(96, 28, seed=2 * number), ball(96, 28, seed=2 * number + 1)
            builder.case(f"case_{number:03d}", *pair)
        builder.write()
        paths = builder.bundle, builder.predictions, builder.data
        if not lines:
            score_predictions(*paths)
        memory.forget_peak()
        started, cpu = time.perf_counter(), time.process_time()
        score_predictions(*paths)
        wall, cpu = time.perf_counter() - started, time.process_time() - cpu
        peak = memory.resident("VmHWM") / 2**20
        lines.append(
            f"  {count:>4} cases: {wall:6.2f} s ({1000 * cpu / count:.1f} ms cpu each, peak {peak:.0f} MiB)"
        )
        for jobs, workers in ((1, "auto"), (2, "auto"), (2, "always")):
            wall, cpu = by_command(paths, jobs, workers)
            lines.append(
                f"    command, --jobs {jobs}, workers {workers:<8}{wall:6.2f} s wall, {cpu:6.2f} s cpu"
            )
    return lines


def table(title: str, unit: str, measured: Measured, *, per_sec: float = 1e9, short: str = "ns") -> str:
    """Milliseconds, and the time per unit."""
    rows = [
        f"  {name:<24}{1000 * taken:>10.2f} ms{per_sec * taken / size:>15.2f} {short}"
        for name, taken, size in measured
    ]
    return "\n".join([f"{title:<26}{'cpu':>13}{'per ' + unit:>18}", *rows, ""])


def main() -> int:
    """Measure and print."""
    adopt_orphans()
    backend.prepare()
    sys.stdout.write(table("voxels: one object in a grid", "voxel", voxels()) + "\n")
    sys.stdout.write(table("surface: 256^3", "square voxel", surface()) + "\n")
    sys.stdout.write(table("organs: 512 x 512 x 400", "organ", organs(), per_sec=1e3, short="ms") + "\n")
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write("\n".join(["cases: 96^3, from files", *cases(Path(folder)), ""]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
