"""The real command over many cases: killed and resumed, in processes, on a cluster: always the same bytes."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from bundle_builders import BundleBuilder, box
from medotter_bench.engine import score_predictions

SIDE = 40


def noisy(root: Path, count: int, side: int = SIDE) -> BundleBuilder:
    """Cases that take some tenths of a second, with one missing and one invalid prediction."""
    builder = BundleBuilder(root)
    rng = np.random.default_rng(0)
    for number in range(count):
        noise = (rng.random((side, side, side)) > 0.6).astype(np.uint8)
        builder.case(f"{number:03}", noise, noise[::-1].copy())
    builder.case("lost", box(), None)
    builder.case("bad", box(), box(label=7))
    return builder.write()


@pytest.fixture(autouse=True)
def _workers_at_once(monkeypatch):
    """These cases are small: without this, most of them would never meet a worker."""
    monkeypatch.setenv("MEDOTTER_WORKERS", "always")


@pytest.fixture(scope="module")
def builder(tmp_path_factory) -> BundleBuilder:
    return noisy(tmp_path_factory.mktemp("many"), 10)


@pytest.fixture(scope="module")
def expected(builder) -> bytes:
    return score_predictions(builder.bundle, builder.predictions, builder.data).to_json().encode()


def command(builder: BundleBuilder, out: Path, *more: object) -> list[str]:
    start = [sys.executable, "-m", "medotter_bench", "score", builder.bundle, builder.predictions]
    return [str(part) for part in [*start, "--data-root", builder.data, "--out", out, *more]]


def finished(journal: Path) -> int:
    try:
        return max(0, journal.read_bytes().count(b"\n") - 1)
    except FileNotFoundError:
        return -1


def end_after(command: list[str], out: Path, cases: int, how: signal.Signals) -> tuple[int, str]:
    """Start, signal the process once `cases` more cases are noted, and give how it ended."""
    journal = out.with_name(out.name + ".journal")
    started = max(0, finished(journal))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    with process:
        while process.poll() is None and finished(journal) < started + cases:
            time.sleep(0.002)
        process.send_signal(how)
        output, _ = process.communicate(timeout=120)
    return process.returncode, output


def finish(builder: BundleBuilder, out: Path, *more: object) -> str:
    done = subprocess.run(
        command(builder, out, "--resume", *more), capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert not out.with_name(out.name + ".journal").exists()
    return done.stderr


def kill_and_resume(builder: BundleBuilder, out: Path, kills: int, *, seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(kills):
        jobs = draw.choice(["1", "2"])
        code, output = end_after(
            command(builder, out, "--resume", "--jobs", jobs), out, draw.randint(0, 3), signal.SIGKILL
        )
        assert code in (0, -signal.SIGKILL), output
        assert "Traceback" not in output
    finish(builder, out, "--jobs", "2")


def test_killed_runs_that_are_resumed_give_the_same_bytes(builder, expected, tmp_path):
    out = tmp_path / "results.json"
    kill_and_resume(builder, out, 2, seed=1)
    assert out.read_bytes() == expected


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(builder, expected, tmp_path):
    out = tmp_path / "results.json"
    code, output = end_after(command(builder, out, "--jobs", "2"), out, 3, signal.SIGINT)
    assert code == 130, output
    assert "finished cases are kept" in output
    assert "--resume" in output
    assert not out.exists()
    assert "resuming: " in finish(builder, out, "--jobs", "1")
    assert out.read_bytes() == expected


def test_resume_without_an_output_and_two_kinds_of_workers_are_malformed_commands(builder, tmp_path):
    both = command(builder, tmp_path / "r.json", "--jobs", "2", "--scheduler", "tcp://127.0.0.1:1")
    without = [part for part in command(builder, tmp_path / "r.json", "--resume") if part != "--out"]
    without.remove(str(tmp_path / "r.json"))
    for arguments, words in ((both, "exclude each other"), (without, "needs --out")):
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=120)
        assert done.returncode == 2
        assert words in " ".join(done.stderr.split())


CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[str]:
    script = folder / "cluster.py"
    script.write_text(CLUSTER)
    process = subprocess.Popen(
        [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder
    )
    with process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


@pytest.mark.skipif(find_spec("distributed") is None, reason="the extra `dask` is not installed")
def test_a_dask_cluster_gives_the_same_bytes(builder, expected, tmp_path):
    out = tmp_path / "results.json"
    with cluster(tmp_path) as address:
        finish(builder, out, "--scheduler", address)
    assert out.read_bytes() == expected


def test_a_scheduler_that_is_not_there_is_bad_input(builder, tmp_path):
    out = tmp_path / "results.json"
    done = subprocess.run(
        command(builder, out, "--scheduler", "nonsense://x"), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    wanted = "scheduler-unreachable" if find_spec("distributed") else "extra-missing"
    assert f"error[{wanted}]" in done.stderr


@pytest.mark.slow
def test_twenty_random_kills_change_no_byte(tmp_path):
    builder = noisy(tmp_path, 60)
    out = tmp_path / "results.json"
    kill_and_resume(builder, out, 20, seed=2)
    whole = score_predictions(builder.bundle, builder.predictions, builder.data, jobs=2)
    assert out.read_bytes() == whole.to_json().encode()


def tree_rss(root: int) -> int:
    """Resident bytes of a process and all below it, shared pages counted once per process."""
    parents, sizes = {}, {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError, IndexError):
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            parents[int(entry.name)] = int(fields[1])
            sizes[int(entry.name)] = int((entry / "statm").read_text().split()[1])
    below, grown = {root}, True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in below} - below
        below, grown = below | more, bool(more)
    return sum(sizes.get(pid, 0) for pid in below) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
def test_memory_stays_flat_over_five_hundred_cases_and_the_time_left_is_told(tmp_path):
    builder = noisy(tmp_path, 498)
    out = tmp_path / "results.json"
    journal = tmp_path / "results.json.journal"
    highest = {"early": 0, "late": 0}
    with (tmp_path / "stderr").open("w") as messages:
        process = subprocess.Popen(
            command(builder, out, "--jobs", "2"), stdout=subprocess.DEVNULL, stderr=messages
        )
        while process.poll() is None:
            done = finished(journal)
            part = "early" if 50 <= done < 150 else "late" if done >= 400 else None
            if part:
                highest[part] = max(highest[part], tree_rss(process.pid))
            time.sleep(0.05)
    text = (tmp_path / "stderr").read_text()
    assert process.returncode == 0, text
    assert "500 of 500" in text
    assert " left\n" in text
    assert highest["early"] > 0
    assert highest["late"] < 1.1 * highest["early"] + (10 << 20)
