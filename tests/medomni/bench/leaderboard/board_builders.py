"""Score, comparison and suite records for boards, each valid by its contract, and task sets for them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medomni.bench.leaderboard.records import Record
from medomni.bench.task_sets import TaskSet, Withdrawal
from medomni.core import contracts
from medomni.core.hashing import task_set_hash
from medomni.core.names import SetName

CARD = {"name": "b", "version": "1.0", "owner": "Owner", "license": "CC-BY-4.0", "accepts": ["agent"]}
FINGERPRINT = "rows1:" + "ab" * 32


def digits(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def a_set(
    *pairs: str, arms: Sequence[str] = ("encoders",), withdrawn: Sequence[Withdrawal] = (), name: str = "s"
) -> TaskSet:
    tasks = dict.fromkeys(pairs or ("t_one@n20",), 1)
    return TaskSet(
        name=SetName("b", name),
        card=CARD,
        description="A set.",
        builder="medomni-v1",
        arms=tuple(arms),
        tasks=tasks,
        task_set_hash=task_set_hash(list(tasks.items())),
        withdrawn={(each.pair, each.version): each for each in withdrawn},
    )


def agent(name: str, *, model: str | None = None, version: str = "1", **settings: Any) -> dict[str, Any]:
    return {"name": name, "version": version, "model": model, "settings": settings}


def target(
    metric: str, value: float | None, *, n: int = 20, answered: int | None = None, **changes: Any
) -> dict[str, Any]:
    given = n if answered is None else answered
    half = 0.1
    return {
        "metric": metric,
        "value": value,
        "reason": None if value is not None else "single_class",
        "n": n,
        "n_answered": given,
        "n_missing": n - given,
        "n_invalid": 0,
        "ci": None if value is None else [value - half, value + half],
        "ci_method": None if value is None else "logit-DeLong",
        "flags": [],
        "secondary": {},
    } | changes


def score(
    who: Mapping[str, Any],
    task_set: TaskSet,
    *,
    pair: str = "t_one@n20",
    targets: Mapping[str, Any] | None = None,
    run: str = "",
    **changes: Any,
) -> dict[str, Any]:
    arm, variant = changes.get("arm", "encoders"), changes.get("variant")
    return {
        "schema": "medomni/score-record/1",
        "run_id": run or f"{who['name']}-{digits(str(who))[:4]}/{pair}/{arm}/{variant}",
        "benchmark": "b",
        "benchmark_version": "1.0",
        "set": task_set.name.task_set,
        "task_set_hash": task_set.task_set_hash,
        "pair": pair,
        "version": 1,
        "arm": "encoders",
        "variant": None,
        "config_hash": "cfg1:" + digits(f"{pair}{arm}{variant}"),
        "builder": "medomni-v1",
        "releases": {"dataset": "t/1.0", "medomni": "medomni/0.3.0"},
        "data_fingerprint": FINGERPRINT,
        "release_class": "real",
        "access": "credentialed",
        "licence": "A licence",
        "scorer_version": 1,
        "agent": dict(who),
        "environment": {"kind": "docker", "limits_held": {"no_network": True}, "widened": []},
        "plan": {"attempts": 1, "aggregate": "first", "seed": 0},
        "integrity": [],
        "counts": {"atoms": 20, "ran": 20, "timeout": 0, "agent_error": 0, "harness_error": 0},
        "targets": dict(targets or {"died": target("auc", 0.7)}),
        "baselines": {},
        "answers_digest": "hmac-sha256:" + digits(f"answers {who}{pair}"),
    } | changes


def result(difference: float | None, p: float | None, *, n: int = 20) -> dict[str, Any]:
    return {
        "n": n,
        "difference": difference,
        "ci": None if difference is None else [difference - 0.1, difference + 0.1],
        "p": p,
        "p_holm": None,
        "better": 8,
        "equal": 5,
        "worse": 7,
        "reason": None if difference is not None else "single_class",
    }


def comparison(
    a: Mapping[str, Any], b: Mapping[str, Any], difference: float | None, p: float | None, *, on: str = "died"
) -> dict[str, Any]:
    shared = ("pair", "version", "arm", "variant", "task_set_hash", "data_fingerprint", "scorer_version")
    return {
        "schema": "medomni/comparison-record/1",
        **{key: a[key] for key in shared},
        "a": {key: a[key] for key in ("run_id", "agent", "config_hash")},
        "b": {key: b[key] for key in ("run_id", "agent", "config_hash")},
        "targets": {on: result(difference, p)},
    }


def suite(
    task_set: TaskSet, entries: Sequence[tuple[Sequence[Mapping[str, Any]], float]], p: float = 0.001
) -> dict[str, Any]:
    first = entries[0][0][0]
    return {
        "schema": "medomni/suite-record/1",
        "benchmark": "b",
        "benchmark_version": "1.0",
        "set": task_set.name.task_set,
        "task_set_hash": task_set.task_set_hash,
        "arm": first["arm"],
        "variant": first["variant"],
        "scorer_version": 1,
        "method": "percentile bootstrap over patients",
        "pairs": [
            {"pair": each["pair"], "version": 1, "data_fingerprint": FINGERPRINT, "n": 20}
            for each in entries[0][0]
        ],
        "agents": [
            {
                "agent": records[0]["agent"],
                "run_ids": [each["run_id"] for each in records],
                "skills": [skill for _ in records],
                "skill": skill,
                "ci": [skill - 0.1, skill + 0.1],
                "reason": None,
            }
            for records, skill in entries
        ],
        "tests": [
            {"a": i, "b": j} | result(entries[i][1] - entries[j][1], p)
            for i in range(len(entries))
            for j in range(i + 1, len(entries))
        ],
    }


def kind_of(value: Mapping[str, Any]) -> str:
    return str(value["schema"]).split("/")[1]


def as_record(value: Mapping[str, Any], path: str = "r.json") -> Record:
    """A record in memory, once its contract is found to be kept."""
    issues = contracts.validate(kind_of(value), dict(value))
    assert not issues, issues
    return Record(Path(path), kind_of(value), value)


def write(folder: Path, *values: Mapping[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, value in enumerate(values):
        (folder / f"{number:03}.{kind_of(value)}.json").write_text(json.dumps(value), encoding="utf-8")
