"""Times scoring against other tools and against the physical limit, on the same arrays in one run.

`python benchmarks-perf/imaging.py [--peers PYTHON] [--quick] [--json FILE]` prints tables of ratios. Times
are never asserted, since a shared machine is noisy; a missed target is said in the table. Numbers are
checked: where a peer defines the same thing and computes another number, the run says so and its status is 1.
Leaves to others: inputs (`workloads`), what is timed (`ours`, `peers`, `from_files`, `memory`), and how cost
grows (`growth`). See README.md here for what the tables mean.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import floor
import from_files
import memory
import ours
import workloads
from peer_process import Peers
from starting import start_up
from table import Row, Section, Target
from timing import Span, Times, Values, local, take_turns

from medotter_bench.metrics import backend

OURS, BY_REFERENCE = "medotter_bench", "medotter_bench, reference implementation"
PEERS_PYTHON = Path(__file__).resolve().parent.parent / ".venv-peers" / "bin" / "python"
# Near the mean size of the 12 organs that are there.
TWO_ORGANS = ("organ_01", "organ_02")


@dataclass(frozen=True, slots=True)
class Bench:
    """What every section needs. `rounds` count for the cheap ones, `few` for the expensive ones."""

    peers: Peers
    folder: Path
    rounds: int
    few: int
    quick: bool


def rows(
    times: Times, *, targets: dict[str, float] | None = None, base: str = OURS, scale: float = 1.0
) -> list[Row]:
    """One row per competitor; ratios are theirs over those of `base`, and should be at least the targets."""
    found = [Row(base, *times.seconds(base))]
    for name in times.readings:
        if name != base:
            least = (targets or {}).get(name.split(" ")[0])
            target = None if least is None else Target(">=", least)
            ratio, by_wall = times.ratios(name, base, scale=scale)
            found.append(Row(name, *times.seconds(name), None, ratio, by_wall, target))
    found += [Row(name, note=f"failed: {reason}") for name, reason in times.failed.items()]
    return found


def add_missing(section: Section, bench: Bench, wanted: list[str]) -> None:
    """Say which of the wanted peers do not work here."""
    for name in wanted:
        if name in bench.peers.missing:
            section.rows.append(Row(name, note=f"missing: {bench.peers.missing[name]}"))


def tumour(bench: Bench) -> Section:
    """Workload a: dice and hd95 of three nested regions."""
    reference, prediction, spacing, regions = workloads.workload_a()
    action = ours.on_arrays(reference, prediction, spacing, spec=ours.semantic_spec(regions))
    wanted = ["surface-distance", "monai", "panoptica"]
    bench.peers.load(bench.folder, reference, prediction, spacing, regions=regions)
    competitors = {OURS: local(action), BY_REFERENCE: local(ours.by_reference(action))}
    times = take_turns(competitors | bench.peers.competitors(wanted), bench.rounds)
    section = Section("a: dice + hd95 of 3 regions, 240 x 240 x 155", "theirs / ours, by cpu")
    section.rows = rows(times, targets={"surface-distance": 25, "monai": 50})
    add_missing(section, bench, wanted)
    for name in times.readings:
        if name != OURS:
            same = name.startswith(("monai", BY_REFERENCE))
            metrics = ["dice", "hd95"] if same else ["dice"]
            section.compare(name, times.values(OURS), times.values(name), metrics)
    return section


def organs(bench: Bench) -> Section:
    """Workload b: 13 organs, against surface-distance on two of them."""
    reference, prediction, spacing, regions = workloads.workload_b()
    two = {name: regions[name] for name in TWO_ORGANS}
    everything = ours.on_arrays(reference, prediction, spacing, spec=ours.semantic_spec(regions))
    only_two = ours.on_arrays(reference, prediction, spacing, spec=ours.semantic_spec(two, of=regions))
    bench.peers.load(bench.folder, reference, prediction, spacing, regions=two)
    competitors = {OURS: local(everything), "medotter_bench, only 2 of them": local(only_two)}
    competitors |= bench.peers.competitors(["surface-distance"])
    times = take_turns(competitors, bench.few)
    section = Section("b: dice + hd95 of 13 organs, 512 x 512 x 400", "theirs / ours, by cpu")
    section.rows = [Row(name, *times.seconds(name)) for name in list(times.readings)[:2]]
    for name in list(times.readings)[2:]:
        scale = len(regions) / len(two)
        per_organ, by_wall = times.ratios(name, OURS, scale=scale)
        seconds = times.seconds(name)
        label = f"{name}, 2 organs; ratio per organ"
        section.rows.append(Row(label, *seconds, None, per_organ, by_wall, Target(">=", 40)))
        same = times.ratios(name, "medotter_bench, only 2 of them")
        section.rows.append(Row(f"{name}, 2 organs; ratio to ours of 2", *seconds, None, *same))
        own = {key: numbers[:2] for key, numbers in times.values(OURS).items()}
        section.compare(name, own, times.values(name), ["dice"])
    add_missing(section, bench, ["surface-distance"])
    return section


def nuclei(bench: Bench) -> Section:
    """Workload c: 1500 objects."""
    reference, prediction = workloads.workload_c()
    action = ours.on_arrays(reference, prediction, (1.0, 1.0), spec=ours.instance_spec())
    wanted = ["stardist", "panoptica"]
    bench.peers.load(bench.folder, reference, prediction, (1.0, 1.0), regions=None)
    competitors = {OURS: local(action), BY_REFERENCE: local(ours.by_reference(action))}
    times = take_turns(competitors | bench.peers.competitors(wanted), bench.rounds)
    section = Section("c: f1 + aji + pq of 1500 nuclei, 1000 x 1000", "theirs / ours, by cpu")
    section.rows = rows(times, targets={"stardist": 3, "panoptica": 15})
    add_missing(section, bench, wanted)
    for name in times.readings:
        if name != OURS:
            section.compare(name, times.values(OURS), times.values(name), ["f1", "pq"])
    return section


def bad_predictions(bench: Bench) -> Section:
    """Predictions that no trained model should give, over plain distance transforms of the same crops."""
    reference, _, spacing, regions = workloads.workload_a()
    section = Section("bad predictions for a, and for c", "over plain transforms, by cpu")
    spec = ours.semantic_spec(regions)
    for name, prediction in workloads.bad_predictions(reference):
        if bench.quick and name not in {"far blob of 18 voxels", "all foreground"}:
            continue
        plain = floor.plain_transforms(reference, prediction, spacing, list(regions.values()))
        action = ours.on_arrays(reference, prediction, spacing, spec=spec)
        _over(section, name, action, plain, rounds=bench.few)
    objects, _ = workloads.workload_c()
    million = workloads.million_ids()
    action = ours.on_arrays(objects, million, (1.0, 1.0), spec=ours.instance_spec())
    plain = floor.plain_transforms(objects > 0, million > 0, (1.0, 1.0), [(1,)])
    _over(section, "a million ids, 1000 x 1000", action, plain, rounds=bench.few)
    return section


def _over(
    section: Section, name: str, action: Callable[[], Values], plain: Callable[[], Values], *, rounds: int
) -> None:
    times = take_turns({"ours": local(action), "plain": local(plain)}, rounds)
    ratios = times.ratios("ours", "plain")
    section.rows.append(Row(name, *times.seconds("ours"), None, *ratios, Target("<=", 3)))
    wall, cpu = times.seconds("plain")
    section.rows.append(Row("  its plain distance transforms", wall, cpu))


def peak_memory(bench: Bench) -> Section:
    """Workload b from files in a process of its own, over the size of its two label maps."""
    reference, prediction, spacing, regions = workloads.workload_b()
    big, small = bench.folder / "big", bench.folder / "small"
    for folder, step in ((big, 1), (small, 16)):
        folder.mkdir()
        for name, labels in ((ours.REFERENCE, reference), (ours.PREDICTION, prediction)):
            workloads.write_nifti(folder / name, labels[::step, ::step, ::step], spacing=spacing)
    maps = reference.nbytes + prediction.nbytes
    section = Section("peak memory of b, 512 x 512 x 400, uint8", "growth / two label maps")
    section.rows.append(Row("two label maps", mebibytes=maps / 2**20))
    for name, kernels in ((OURS, "auto"), (BY_REFERENCE, "reference")):
        if bench.quick and kernels == "reference":
            continue
        found = memory.peak(big, small, regions, kernels=kernels)
        if found is None:
            section.notes.append("this system does not tell a process's peak memory")
            break
        ratio = (found["peak"] - found["baseline"]) / maps
        target = Target("<=", 3) if kernels == "auto" else None
        span = Span(ratio, ratio, ratio)
        section.rows.append(Row(f"{name}, before the case", mebibytes=found["baseline"] / 2**20))
        section.rows.append(Row(f"{name}, peak", mebibytes=found["peak"] / 2**20, ratio=span, target=target))
    return section


def sections(bench: Bench) -> Iterator[Section]:
    """All tables, in order."""
    yield tumour(bench)
    yield organs(bench)
    yield nuclei(bench)
    yield bad_predictions(bench)
    a, b = workloads.workload_a, workloads.workload_b
    kept = "a, .nii.gz to numbers, memory of the round before"
    yield from_files.section(kept, a(), bench.folder, rounds=bench.rounds)
    for name, workload, limit in (("a", a, 2.5), ("b", b, 1.6)):
        yield from_files.in_new_memory(
            f"{name}, .nii.gz to numbers, new memory", workload, limit, bench.folder, rounds=bench.rounds
        )
    yield peak_memory(bench)
    yield start_up(bench.rounds)


def surroundings(peers: Peers) -> dict[str, Any]:
    """What the figures depend on."""
    packages = ("numpy", "scipy", "numba", "zlib-ng", "isal", "imagecodecs", "nibabel")
    installed = {entry.metadata["Name"].lower(): entry.version for entry in metadata.distributions()}
    return {
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "packages": {name: installed[name] for name in packages if name in installed},
        "kernels": backend.prepare(),
        "peers": peers.versions,
        "missing_peers": peers.missing,
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", type=Path, default=PEERS_PYTHON, help="the Python that has the peers")
    parser.add_argument("--rounds", type=int, default=7, help="rounds that count (default: 7)")
    parser.add_argument("--quick", action="store_true", help="two rounds, and only some bad predictions")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    started = time.perf_counter()
    rounds = 2 if options.quick else options.rounds
    few = 1 if options.quick else min(3, rounds)
    with Peers(options.peers) as peers, tempfile.TemporaryDirectory() as folder:
        around = surroundings(peers)
        sys.stdout.write(f"{json.dumps(around)}\n\n")
        found = []
        for section in sections(Bench(peers, Path(folder), rounds, few, options.quick)):
            found.append(section)
            sys.stdout.write(section.text() + "\n")
            sys.stdout.flush()
    missed = [f"{section.title}: {row.name}" for section in found for row in section.rows if row.missed]
    sys.stdout.write("".join(f"target missed: {line}\n" for line in missed) or "no target missed\n")
    sys.stdout.write(f"took {time.perf_counter() - started:.0f} s\n")
    if options.json:
        report = {"surroundings": around, "sections": [section.data() for section in found]}
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return int(any(section.numbers_differ for section in found))


if __name__ == "__main__":
    sys.exit(main())
