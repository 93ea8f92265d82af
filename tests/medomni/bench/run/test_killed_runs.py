"""`bench run` and Harbor killed at random moments: then one row per atom, and nothing is left behind."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from workspace_builders import SET, invoke, make_workspace, need_harbor, records_of

from medomni.bench.environments import survey

CASES = ["a", "b", "c", "d"]
MARK = "sleep 0.31337"
SCRIPT = f"""{MARK}; printf '{{"ckd_stage": 1}}' > /workspace/answer.json\n"""


def need() -> None:
    need_harbor()
    found = survey("local")
    if not found.works:
        pytest.skip(found.why)


def arguments(root: Path, script: str = SCRIPT) -> list[str]:
    (root / "agent.sh").write_text(script, encoding="utf-8")
    agent = f"scripted:{root / 'agent.sh'}"
    return ["run", SET, "--agent", agent, "--environment", "local", "--workspace", str(root), "-n", "2"]


def started(root: Path) -> subprocess.Popen[bytes]:
    """The command as a process of its own."""
    command = [sys.executable, "-m", "medomni", "bench", *arguments(root)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def harbor_of(process: subprocess.Popen[bytes]) -> list[int]:
    """The processes that a process started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == process.pid:
            found.append(int(path.parent.name))
    return found


def check_nothing_left(root: Path) -> None:
    [job] = [path for path in (root / "runs").iterdir() if path.is_dir()]
    deadline = time.monotonic() + 10
    while (left := _processes_about(str(job)) + _processes_about(MARK)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left == []
    label = json.loads((job / "harbor.json").read_text())["environment"]["kwargs"]["job"]
    assert not list(Path(tempfile.gettempdir()).glob(f"medomni-{label}-*"))
    assert not [path for path in Path("/sys/fs/cgroup").glob(f"**/medomni/{label}-*") if path.is_dir()]


def _processes_about(text: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if text in command and "pytest" not in command:
            found.append(command)
    return found


def check_one_row_per_atom(root: Path) -> None:
    [record] = records_of(root)
    assert len(record["atoms"]) == len(CASES)
    assert len({row["atom"] for row in record["atoms"]}) == len(CASES)
    assert record["counts"]["ran"] == len(CASES)
    assert all(row["targets"]["ckd_stage"]["value"] == 1 for row in record["atoms"])


def killed(root: Path, seed: int) -> None:
    """Kill the command or Harbor after a while, then run the command to its end."""
    chance = random.Random(seed)
    process = started(root)
    deadline = time.monotonic() + chance.uniform(2, 20)
    while time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
    victims = harbor_of(process) if seed % 2 else [process.pid]
    for pid in victims:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    # A killed Harbor is started again by the command.
    process.wait(timeout=180)
    if not (root / "runs").is_dir() or not records_of(root):
        told = invoke(*arguments(root))
        assert told.exit_code == 0, told.output
    check_one_row_per_atom(root)
    check_nothing_left(root)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_killed_run_ends_with_one_row_per_atom_and_no_orphan(tmp_path: Path, seed: int) -> None:
    need()
    make_workspace(tmp_path, CASES)
    killed(tmp_path, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 21))
def test_eighteen_more_killed_runs(tmp_path: Path, seed: int) -> None:
    need()
    make_workspace(tmp_path, CASES)
    killed(tmp_path, seed)


@pytest.mark.slow
def test_an_interrupt_stops_everything_and_the_run_goes_on_later(tmp_path: Path) -> None:
    need()
    make_workspace(tmp_path, CASES)
    process = started(tmp_path)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("runs/*/harbor/job/*/result.json")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=90) == 130
    check_nothing_left(tmp_path)
    told = invoke(*arguments(tmp_path))
    assert told.exit_code == 0, told.output
    check_one_row_per_atom(tmp_path)
    [record] = records_of(tmp_path)
    assert "resumed-1-times" in record["integrity"]


@pytest.mark.slow
def test_two_commands_cannot_share_a_run(tmp_path: Path) -> None:
    need()
    make_workspace(tmp_path, CASES)
    process = started(tmp_path)
    try:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("runs/*/harbor.json")) and time.monotonic() < deadline:
            time.sleep(0.05)
        told = invoke(*arguments(tmp_path))
        assert told.exit_code == 2
        assert "run-locked" in told.output
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=90)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["docker", "podman"])
def test_containers_of_a_killed_run_are_removed_when_it_goes_on(tmp_path: Path, engine: str) -> None:
    need_harbor()
    found = survey(engine)
    if not found.works:
        pytest.skip(found.why)
    make_workspace(tmp_path, ["a"])
    told = arguments(tmp_path, f"sleep 20; {SCRIPT}")
    told[told.index("local")] = engine
    process = subprocess.Popen([sys.executable, "-m", "medomni", "bench", *told])
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("runs/*/harbor/job/*/environment.json")) and time.monotonic() < deadline:
        time.sleep(0.2)
    process.kill()
    process.wait()
    label = json.loads(next(tmp_path.glob("runs/*/harbor.json")).read_text())["environment"]["kwargs"]["job"]
    assert _containers(engine, label)
    again = invoke(*told)
    assert again.exit_code == 0, again.output
    assert _containers(engine, label) == []
    [record] = records_of(tmp_path)
    assert record["counts"]["ran"] == 1


def _containers(engine: str, label: str) -> list[str]:
    command = [engine, "ps", "-aq", "--filter", f"label=medomni.job={label}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
