"""The folder of a run: its lock, what was asked, neutral copies of the atoms, and Harbor's own files, kept
whole.

A folder's name ends in digits of the request's digest: the same command finds its unfinished run again, and
another agent, setting, plan or built file is another folder. Copies are called `0001`, `0002`, … since the
names of mounted folders show inside containers.

Leaves to others: running Harbor (`running`), reading what it wrote (`trials`).
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from medomni.bench.environments import CLASSES, LOCAL, UNSAFE_HOST
from medomni.bench.errors import BenchError, RunRefusedError
from medomni.bench.planning import Run
from medomni.core.errors import WriteError
from medomni.core.files import read_json, write_json

HARBOR_JOB = "job"
_DIGITS = 10
_CPUS = re.compile(r"^cpus = ([0-9.]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Job:
    """A run's folder.

    Attributes:
        request: What was asked, as `Run.request` has it, with `started_at` and the copies' digests.
        atoms: Number of the copy (`0001`) to the atom's name.
        resumed: Whether it was there before.
    """

    folder: Path
    request: Mapping[str, Any]
    atoms: Mapping[str, str]
    resumed: bool

    @property
    def label(self) -> str:
        """The name that all sandboxes and containers of the run share; it tells nothing of the task."""
        return hashlib.sha256(str(self.folder.resolve()).encode()).hexdigest()[:12]

    @property
    def tasks(self) -> Path:
        """The folder of the copies."""
        return self.folder / "tasks"

    @property
    def harbor(self) -> Path:
        """The folder of Harbor's job."""
        return self.folder / "harbor" / HARBOR_JOB

    @property
    def config(self) -> Path:
        """Harbor's job file."""
        return self.folder / "harbor.json"

    @property
    def set_aside(self) -> Path:
        """Trials that the harness failed, or that were stopped, kept when they are run again."""
        return self.folder / "set-aside"

    def state(self) -> dict[str, Any]:
        """How far it is: `finished`, and what happened on the way."""
        path = self.folder / "state.json"
        fresh: dict[str, Any] = {"finished": False, "resumed": 0, "restarts": 0, "reruns": 0}
        return {**fresh, **read_json(path).value} if path.is_file() else fresh

    def save_state(self, state: Mapping[str, Any]) -> None:
        """Keep how far it is."""
        write_json(self.folder / "state.json", dict(state))


@contextlib.contextmanager
def opened_job(run: Run, out: Path) -> Iterator[Job]:
    """The run's folder, new or unfinished from before, held by this process alone.

    Args:
        run: The run.
        out: Where the folders of runs lie.

    Raises:
        RunRefusedError: `run-locked`: another process runs it; `run-copy-changed`: a copy is not as it was
            made.
        WriteError: The folder cannot be made.
    """
    folder = _folder(run, out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as failure:
        raise WriteError(
            f"the run's folder cannot be made: {failure.strerror}", where=str(folder)
        ) from failure
    try:
        _take_lock(descriptor, folder)
        yield _prepared(run, folder)
    finally:
        os.close(descriptor)


def _take_lock(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as failure:
        raise RunRefusedError(
            "another process is running this", where=str(folder), hint="wait for it", code="run-locked"
        ) from failure


def _folder(run: Run, out: Path) -> Path:
    """The first folder of this request that is not finished."""
    parts = [run.wish.name.task_set, run.arm, run.variant, run.wish.agent.name, run.wish.environment]
    stem = f"{'.'.join(filter(None, parts))}.{run.digest()[:_DIGITS]}"
    number = 1
    while True:
        folder = out / (stem if number == 1 else f"{stem}-{number}")
        state = folder / "state.json"
        if not state.is_file() or not read_json(state).value.get("finished"):
            return folder
        number += 1


def _prepared(run: Run, folder: Path) -> Job:
    path = folder / "job.json"
    numbers = {f"{number:04}": atom for number, atom in enumerate(run.atoms, start=1)}
    names = {number: atom.name for number, atom in numbers.items()}
    if path.is_file():
        job = Job(folder, read_json(path).value, names, True)
        for number in numbers:
            if _tree_digest(job.tasks / number) != job.request["copies"][number]:
                raise RunRefusedError(
                    f"the copy of {names[number]} is not as it was made",
                    where=str(job.tasks / number),
                    hint="remove the run's folder and start again",
                    code="run-copy-changed",
                )
        return job
    tasks = folder / "tasks"
    # Left by a process that was killed while it copied.
    shutil.rmtree(tasks, ignore_errors=True)
    copies = {}
    for number, atom in numbers.items():
        _copy(atom.folder, tasks / number, atom.name, number)
        copies[number] = _tree_digest(tasks / number)
    request = {**run.request(), "started_at": now(), "copies": copies, "request_digest": run.digest()}
    write_json(path, request)
    return Job(folder, request, names, False)


def _copy(source: Path, target: Path, name: str, number: str) -> None:
    """A copy whose folder and name tell nothing, for as many processors as this machine has."""
    shutil.copytree(source, target)
    config = target / "task.toml"
    text = config.read_text(encoding="utf-8")
    named = text.replace(f'name = "medomni/{name}"', f'name = "medomni/{number}"')
    if named == text:
        raise BenchError("task.toml does not name its atom", where=str(source), code="run-task-name")
    most = os.cpu_count() or 1
    config.write_text(_CPUS.sub(lambda m: f"cpus = {min(float(m[1]), most):g}", named), encoding="utf-8")


def _tree_digest(folder: Path) -> str:
    whole = hashlib.sha256()
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        data = hashlib.sha256(path.read_bytes()).hexdigest()
        whole.update(f"{path.relative_to(folder).as_posix()}\0{data}\n".encode())
    return whole.hexdigest()


def now() -> str:
    """This moment in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def write_harbor_config(run: Run, job: Job, *, concurrency: int) -> None:
    """Write Harbor's job file, once: Harbor goes on with a job only as it began it.

    Args:
        run: The run.
        job: Its folder.
        concurrency: Atoms at once; a run that goes on keeps what it began with.
    """
    if job.config.is_file():
        return
    agent = run.wish.agent
    document = {
        "job_name": HARBOR_JOB,
        "jobs_dir": str(job.harbor.parent.absolute()),
        "n_attempts": run.plan["attempts"],
        # There is one host, and one port for the service on it.
        "n_concurrent_trials": 1 if run.wish.environment == UNSAFE_HOST else concurrency,
        "quiet": True,
        "environment": {
            "import_path": CLASSES[run.wish.environment],
            "kwargs": _environment_arguments(run, job),
        },
        "agents": [
            {"import_path": agent.import_path, "model_name": agent.model, "kwargs": dict(agent.arguments)}
        ],
        "tasks": [{"path": str((job.tasks / number).absolute())} for number in job.atoms],
    }
    write_json(job.config, document)


def _environment_arguments(run: Run, job: Job) -> dict[str, Any]:
    rootfs = {"rootfs": str(run.rootfs)} if run.wish.environment == LOCAL and run.rootfs else {}
    return {"job": job.label, **rootfs}


def set_aside(job: Job, folders: Sequence[Path]) -> None:
    """Move trials out of Harbor's job, so that it runs them again."""
    job.set_aside.mkdir(exist_ok=True)
    for folder in folders:
        folder.replace(job.set_aside / f"{folder.name}.{len(list(job.set_aside.iterdir()))}")
