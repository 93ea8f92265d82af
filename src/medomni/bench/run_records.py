"""Run records: one per pair, arm and variant, with a row for every atom and attempt that was planned.

Records hold answers and stay in the workspace. Leaves to others: scoring them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medomni.bench.built import BuiltPair
from medomni.bench.environments import UNSAFE_HOST
from medomni.bench.harbor_program import VERSION
from medomni.bench.jobs import Job, now
from medomni.bench.log_guard import log_issues
from medomni.bench.planning import Run
from medomni.bench.trials import AGENT_ERROR, HARNESS_ERROR, Trial, row_not_run, row_of
from medomni.core import contracts
from medomni.core.files import write_json
from medomni.core.issues import IssuesError

SUFFIX = ".run.json"
_STATUSES = ("ran", "timeout", AGENT_ERROR, HARNESS_ERROR)


@dataclass(frozen=True, slots=True)
class Written:
    """A record that was written.

    Attributes:
        publishable: Whether its scores may be shown: no harness error is left.
    """

    path: Path
    pair: str
    counts: Mapping[str, int]
    answered: int
    publishable: bool


def write_records(run: Run, job: Job, trials: Sequence[Trial], *, stopped: str | None) -> list[Written]:
    """Write the run's records into its folder.

    Args:
        run: The run.
        job: Its folder.
        trials: What Harbor finished.
        stopped: Why the run was stopped by a limit that the user set; None where it was not.

    Raises:
        IssuesError: A record breaks its contract, which is our own fault.
        WriteError: It cannot be written.
    """
    written = []
    for pair in run.pairs:
        record = _record(run, job, pair, trials, stopped)
        issues = contracts.validate("run-record", record)
        if issues:
            raise IssuesError("the run record is not right", issues=issues, where=str(pair.pair))
        path = job.folder / f"{pair.pair}{SUFFIX}"
        write_json(path, record)
        rows = record["atoms"]
        answered = sum(all(t["status"] == "answered" for t in row["targets"].values()) for row in rows)
        publishable = record["counts"][HARNESS_ERROR] == 0
        written.append(Written(path, str(pair.pair), record["counts"], answered, publishable))
    return written


def _record(
    run: Run, job: Job, pair: BuiltPair, trials: Sequence[Trial], stopped: str | None
) -> dict[str, Any]:
    rows, used = _rows(run, job, pair, trials, stopped)
    content = pair.content
    counts = {status: sum(row["status"] == status for row in rows) for status in _STATUSES}
    return {
        "schema": "medomni/run-record/1",
        "run_id": f"{job.folder.name}/{pair.pair}",
        "started_at": job.request["started_at"],
        "finished_at": now(),
        "benchmark": run.wish.name.benchmark,
        "benchmark_version": run.card["version"],
        "set": run.wish.name.task_set,
        "task_set_hash": run.task_set_hash,
        "pair": str(pair.pair),
        "version": content["version"],
        "arm": run.arm,
        "variant": run.variant,
        "config_hash": pair.config_hash,
        "builder": pair.builder,
        "releases": dict(pair.manifest["releases"]),
        "data_fingerprint": pair.manifest["data_fingerprint"],
        "agent": _agent(run, used),
        "runner": f"harbor {VERSION}",
        "environment": {
            "kind": run.wish.environment,
            "limits_held": _held(run, used),
            "widened": [],
        },
        "plan": {key: run.plan[key] for key in ("attempts", "aggregate", "seed")},
        "terms": sorted(run.plan["data_terms_ack"]),
        "integrity": _flags(run, job, pair, used, stopped),
        "atoms": rows,
        "counts": {"atoms": len(rows), **counts},
    }


def _agent(run: Run, trials: Sequence[Trial]) -> dict[str, Any]:
    told = [trial.result.get("agent_info") or {} for trial in trials]
    agent = run.wish.agent
    return {
        "name": agent.name,
        "version": next((str(each["version"]) for each in told if each.get("version")), "unknown"),
        "model": agent.model,
        "settings": dict(agent.settings),
    }


def _rows(
    run: Run, job: Job, pair: BuiltPair, trials: Sequence[Trial], stopped: str | None
) -> tuple[list[dict[str, Any]], list[Trial]]:
    """The rows, joined by the atoms' names, and the trials that they come from."""
    targets, path = pair.content["targets"], pair.content["submission_path"]
    numbers = {name: number for number, name in job.atoms.items()}
    rows, used = [], []
    for atom in (each.name for each in run.atoms if each.pair == str(pair.pair)):
        mine = [trial for trial in trials if trial.number == numbers[atom]]
        for attempt in range(1, run.plan["attempts"] + 1):
            trial = mine[attempt - 1] if attempt <= len(mine) else None
            if trial is not None and not (stopped and trial.cancelled):
                used.append(trial)
                rows.append(row_of(trial, atom=atom, attempt=attempt, path=path, targets=targets))
                continue
            # A limit that the user set is no fault of ours: nothing is gained by stopping early.
            status, reason = (
                (AGENT_ERROR, stopped) if stopped else (HARNESS_ERROR, "it was not run to its end")
            )
            rows.append(
                row_not_run(atom=atom, attempt=attempt, status=status, reason=reason, targets=targets)
            )
    return rows, used


def _held(run: Run, trials: Sequence[Trial]) -> dict[str, bool]:
    """A limit is held if it was in every trial that told of it."""
    told = [trial.note["held"] for trial in trials if trial.note.get("held")]
    if not told:
        return dict(run.held.held)
    names = set(run.held.held).union(*told)
    return {
        name: all(each.get(name, run.held.held.get(name, False)) for each in told) for name in sorted(names)
    }


def _flags(run: Run, job: Job, pair: BuiltPair, trials: Sequence[Trial], stopped: str | None) -> list[str]:
    state, wish = job.state(), run.wish
    flags = {
        "unsafe-host": wish.environment == UNSAFE_HOST,
        "own-agent": wish.agent.own,
        f"limited-to-{wish.limit_atoms}-atoms": wish.limit_atoms is not None
        and wish.limit_atoms < len(pair.folders),
        "stopped-at-cost-limit": stopped is not None,
        f"resumed-{state['resumed']}-times": state["resumed"] > 0,
        f"harness-errors-run-again-{state['reruns']}-times": state["reruns"] > 0,
        "host-programs-instead-of-base-image": wish.environment == "local" and run.rootfs is None,
    }
    names = [target["name"] for target in pair.content["targets"]]
    logs = [trial.folder / "verifier" / "test-stdout.txt" for trial in trials]
    flags["check-log-shows-answers"] = any(log_issues(log, names) for log in logs)
    noted = sorted({flag for trial in trials for flag in (*trial.note.get("flags", ()), *trial.agent_flags)})
    return [flag for flag, holds in flags.items() if holds] + noted
