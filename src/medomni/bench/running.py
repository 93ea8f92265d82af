"""Runs what was planned: Harbor as a process, watched, stopped and started again, until every atom has a row.

A killed Harbor is started again, and a killed run goes on where it was. Only what we failed is run again, at
most `MOST_RERUNS` times. Ctrl-C stops Harbor, which stops its environments; then leftovers are removed.

Leaves to others: checks before (`planning`), rows and records (`trials`, `run_records`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medomni.bench import harbor_program
from medomni.bench.cleaning import remove_left
from medomni.bench.errors import HarnessError
from medomni.bench.jobs import Job, opened_job, set_aside, write_harbor_config
from medomni.bench.planning import Run
from medomni.bench.run_records import Written, write_records
from medomni.bench.trials import HARNESS_ERROR, Trial, read_trial, read_trials, row_of
from medomni.core.progress import Progress, silent
from medomni.core.workspace import Workspace

# Restarts that bring nothing.
MOST_RERUNS, MOST_RESTARTS = 2, 2
_POLL_SECONDS = 0.5
_GRACE_SECONDS = 40.0


@dataclass(frozen=True, slots=True)
class Means:
    """How a run is done.

    Attributes:
        concurrency: Atoms at once.
        max_cost: In US dollars; once more is known to be spent, nothing more is begun.
    """

    concurrency: int = 2
    max_cost: float | None = None
    progress: Progress = silent


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to.

    Attributes:
        folder: The run's folder.
        stopped: Why it was stopped by a limit of the user; None where it was not.
    """

    folder: Path
    records: tuple[Written, ...]
    stopped: str | None


def run_atoms(workspace: Workspace, run: Run, out: Path, means: Means) -> Outcome:
    """Run every atom, and write the records.

    Args:
        workspace: Where everything lies.
        run: What was planned and checked.
        out: Where folders of runs lie.
        means: How.

    Raises:
        RunRefusedError: `run-harbor`, `run-locked`, `run-copy-changed`.
        HarnessError: `harness-failed`: Harbor fails again and again; the run can be resumed.
        KeyboardInterrupt: Somebody stopped it; the run can be resumed.
    """
    python = harbor_program.find_python(workspace.root)
    with opened_job(run, out) as job:
        if job.resumed:
            _note(job, resumed=1)
        write_harbor_config(run, job, concurrency=means.concurrency)
        remove_left(run.wish.environment, job.label)
        try:
            stopped = _until_done(run, job, python, means)
        finally:
            remove_left(run.wish.environment, job.label)
        written = write_records(run, job, read_trials(job.harbor), stopped=stopped)
        if stopped is None:
            job.save_state({**job.state(), "finished": True})
        return Outcome(job.folder, tuple(written), stopped)


def _note(job: Job, **counts: int) -> dict[str, Any]:
    state = job.state()
    for name, count in counts.items():
        state[name] += count
    job.save_state(state)
    return state


def _until_done(run: Run, job: Job, python: Path, means: Means) -> str | None:
    planned = len(job.atoms) * run.plan["attempts"]
    reruns = restarts = before = 0
    while True:
        set_aside(job, [trial.folder for trial in read_trials(job.harbor) if trial.cancelled])
        if len(read_trials(job.harbor)) < planned:
            ended = _harbor(job, python, means, planned)
            if ended.stopped is not None:
                return ended.stopped
        trials = read_trials(job.harbor)
        if len(trials) < planned:
            restarts = 1 if len(trials) > before else restarts + 1
            before = len(trials)
            _note(job, restarts=1)
            if restarts > MOST_RESTARTS:
                raise _failed(job)
            remove_left(run.wish.environment, job.label)
            continue
        failed = [trial for trial in trials if _status(run, job, trial) == HARNESS_ERROR]
        if not failed or reruns >= MOST_RERUNS:
            return None
        reruns += 1
        _note(job, reruns=1)
        set_aside(job, [trial.folder for trial in failed])


def _status(run: Run, job: Job, trial: Trial) -> str:
    atom = job.atoms[trial.number]
    name = next(each.pair for each in run.atoms if each.name == atom)
    content = next(each.content for each in run.pairs if str(each.pair) == name)
    path, targets = content["submission_path"], content["targets"]
    status: str = row_of(trial, atom=atom, attempt=1, path=path, targets=targets)["status"]
    return status


@dataclass(frozen=True, slots=True)
class _Ended:
    stopped: str | None


def _harbor(job: Job, python: Path, means: Means, planned: int) -> _Ended:
    """Run Harbor until it ends, the cost limit is reached, or somebody interrupts."""
    folder = harbor_program.import_folder(job.folder / "imports")
    arguments = ["run", "-c", str(job.config.absolute()), "-y", "-q"]
    command = harbor_program.command(python, arguments)
    stopped, watch = None, _Watch(job.harbor)
    with (job.folder / "harbor.log").open("ab") as log, _process(command, folder, log, job.folder) as process:
        while process.poll() is None:
            done, spent = watch.look()
            means.progress(min(done, planned), planned, "running atoms")
            if means.max_cost is not None and spent > means.max_cost and done < planned:
                stopped = f"the run was stopped at its cost limit of {means.max_cost:g} US dollars"
                break
            time.sleep(_POLL_SECONDS)
    means.progress(min(len(read_trials(job.harbor)), planned), planned, "running atoms")
    return _Ended(stopped)


class _Watch:
    """How many trials are finished and what they cost, reading each once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._costs: dict[Path, float] = {}

    def look(self) -> tuple[int, float]:
        """Finished trials, and their cost in US dollars."""
        for path in self._folder.glob("*/result.json"):
            if path not in self._costs:
                trial = read_trial(path)
                if trial is not None:
                    self._costs[path] = trial.cost
        return len(self._costs), sum(self._costs.values())


@contextlib.contextmanager
def _process(command: list[str], imports: Path, log: Any, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Harbor's process, in a session of its own: it is told to stop, given time, and then ended."""
    variables: Mapping[str, str] = harbor_program.variables(imports)
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        env=variables,
        cwd=folder,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            _wait(process)
        # Whatever it left in its session.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _wait(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(timeout=_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _failed(job: Job) -> HarnessError:
    log = job.folder / "harbor.log"
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.is_file() else []
    last = next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
    return HarnessError(
        f"Harbor ended {MOST_RESTARTS + 1} times without running every atom: {last[-300:]}",
        where=str(log),
        hint="run the same command again to go on",
        code="harness-failed",
    )
