"""Score records: a run's scores, without a row per atom, a patient's id or a hash that could be guessed.

Everything is recomputed from the run record and the pair's answers; the same two give the same bytes.

Leaves to others: reading both (`run_reading`), the numbers (`scoring`, `paired_agents`), signing
(`signed_records`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medomni.bench.answer_file import ANSWERED, TargetAnswer
from medomni.bench.errors import ScoreError
from medomni.bench.intervals import shown
from medomni.bench.joining import Joined, join
from medomni.bench.paired_agents import compare_target
from medomni.bench.run_reading import SUFFIX as RUN_SUFFIX
from medomni.bench.run_reading import Opened, joined_of_attempt
from medomni.bench.scoring import HARNESS_ERROR, SCORER_VERSION, TargetScore, score_target, value_of
from medomni.bench.signed_records import file_name, public_agent
from medomni.bench.targets import Target
from medomni.bench.usage import usage_of
from medomni.core.keys import keyed_digest

SUFFIX = ".score.json"
CONSTANT = "constant"
_COPIED = (
    "run_id",
    "started_at",
    "benchmark",
    "benchmark_version",
    "set",
    "task_set_hash",
    "pair",
    "version",
    "arm",
    "variant",
    "config_hash",
    "builder",
    "releases",
    "data_fingerprint",
)
SAME = ("pair", "version", "arm", "variant", "data_fingerprint")


def score_path(run: Opened, out: Path | None) -> Path:
    """Where a run's score record is written: beside the run record, or in a folder, called by its id."""
    if out is None:
        return run.path.parent / f"{run.path.name.removesuffix(RUN_SUFFIX)}{SUFFIX}"
    return out / f"{file_name(run.record['run_id'])}{SUFFIX}"


def score_record(run: Opened, *, secret: bytes, baselines: Sequence[Opened] = ()) -> dict[str, Any]:
    """The score record of a run.

    Args:
        run: The run.
        secret: Of the keyed digest.
        baselines: Runs to compare it with, where they are of the same pair, N, arm, variant and data.

    Raises:
        ScoreError: `score-baseline`: two baselines have one name.
    """
    scores = {
        target.name: score_target(run.joined[target.name], seed=run.seed(target.metric), failed=run.failed)
        for target in run.targets
    }
    content, record = run.content, run.record
    head = {"schema": "medomni/score-record/1"} | {name: record[name] for name in _COPIED}
    return head | {
        "release_class": content["release_class"],
        "access": content["access"],
        "licence": content["licence"],
        "scorer_version": SCORER_VERSION,
        "agent": public_agent(record["agent"], secret),
        "environment": record["environment"],
        "plan": record["plan"],
        "integrity": record["integrity"],
        "counts": record["counts"],
        "usage": usage_of(record["atoms"]),
        "targets": {name: _figures(score, run, name) for name, score in scores.items()},
        "baselines": _baselines(run, baselines),
        "answers_digest": answers_digest(run, secret),
    }


def answers_digest(run: Opened, secret: bytes) -> str:
    """The keyed digest of what was answered: equal for equal answers to one pair, in one workspace."""
    answers = {
        name: [[atom, each.status, repr(each.value)] for atom, each in zip(j.names, j.given, strict=True)]
        for name, j in run.joined.items()
    }
    document = {"pair": run.record["pair"], "version": run.record["version"], "answers": answers}
    return keyed_digest(secret, document)


def _figures(score: TargetScore, run: Opened, name: str) -> dict[str, Any]:
    """A target's score by the contract: how many are missing, and never who."""
    found = score.figures()
    found["n_missing"], found["n_invalid"] = len(score.missing), len(score.invalid)
    several = _attempts(run, name)
    if several:
        found["secondary"] |= {"attempts": several}
    order = ("metric", "value", "reason", "n", "n_answered", "n_missing", "n_invalid")
    return {key: found[key] for key in (*order, "ci", "ci_method", "flags", "secondary")}


def _attempts(run: Opened, name: str) -> dict[str, Any] | None:
    """The scores of each attempt alone, and their spread; None with one attempt, or where one has no score.

    The best of them is what an oracle that knew the answers would have chosen: it never ranks.
    """
    attempts = run.record["plan"]["attempts"]
    if attempts < 2 or any(row["status"] == HARNESS_ERROR for row in run.record["atoms"]):
        return None
    values = []
    for attempt in range(1, attempts + 1):
        joined = joined_of_attempt(run, attempt)[name]
        value = None if joined.filled is None else value_of(joined, joined.filled)
        if value is None:
            return None
        values.append(value)
    centre = math.fsum(values) / attempts
    spread = math.sqrt(math.fsum((v - centre) ** 2 for v in values) / (attempts - 1))
    best = min(values) if run.joined[name].target.metric == "mae" else max(values)
    return {"n": attempts, "values": [shown(v) for v in values], "sd": shown(spread), "oracle": shown(best)}


def _baselines(run: Opened, others: Sequence[Opened]) -> dict[str, Any]:
    """Baseline to target to the paired result."""
    found: dict[str, Any] = {}
    constant = {
        target.name: _against(run, run.joined[target.name], made, other_failed=False)
        for target in run.targets
        if (made := constant_answers(run, target)) is not None
    }
    if constant:
        found[CONSTANT] = constant
    for other in others:
        if any(other.record[key] != run.record[key] for key in SAME):
            continue
        name = re.sub("[^a-z0-9]+", "-", other.record["agent"]["name"].lower()).strip("-") or "baseline"
        if name in found:
            raise ScoreError(
                f"two baselines are called {name}",
                where=f"{other.path}",
                hint="name one run of each agent",
                code="score-baseline",
            )
        found[name] = {
            target.name: _against(
                run, run.joined[target.name], other.joined[target.name], other_failed=bool(other.failed)
            )
            for target in run.targets
        }
    return found


def _against(run: Opened, ours: Joined, theirs: Joined, *, other_failed: bool) -> Mapping[str, Any]:
    failed = bool(run.failed) or other_failed
    return compare_target(ours, theirs, seed=run.seed(ours.target.metric), failed=failed).figures(None)


def constant_answers(run: Opened, target: Target) -> Joined | None:
    """What answering the same everywhere gives: one half, or the median of all eligible people."""
    value: float | int | None = 0.5
    if target.metric == "qwk":
        value = median_class(target.share)
    if target.metric == "mae":
        value = target.median
    if value is None:
        return None
    return join(target, run.truth, {name: TargetAnswer(ANSWERED, value, None) for name in run.truth.names})


def median_class(share: Sequence[float] | None) -> int | None:
    """The class that half of all eligible people are in or below; None where nobody knows."""
    if share is None:
        return None
    half = math.fsum(share) / 2
    return next(place for place in range(len(share)) if math.fsum(share[: place + 1]) >= half)
