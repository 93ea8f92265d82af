"""Agents on a whole task set: mean skill over its pairs, with an interval over patients and pairs, and tests.

An interval resamples patients within the strata of each pair, and then the pairs. The test swaps two agents'
answers within atoms, in all pairs at once. Both need answers, so that suite records are made where the
answers are.

Leaves to others: one pair (`score_records`, `comparing`), showing (`leaderboard`).

Source: Davison and Hinkley, Bootstrap Methods and their Application (1997) 3.8 (hierarchical resampling).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medomni.bench import draws, metrics
from medomni.bench.errors import BenchError
from medomni.bench.intervals import shown
from medomni.bench.leaderboard.facts import is_trial
from medomni.bench.paired_agents import Scorer, percentiles
from medomni.bench.run_reading import Opened
from medomni.bench.scoring import HARNESS_ERROR, SCORER_VERSION, value_of
from medomni.bench.signed_records import file_name, public_agent
from medomni.bench.targets import Target
from medomni.bench.task_sets import TaskSet, read_task_set
from medomni.core.hashing import canonical_digest
from medomni.core.names import SetName
from medomni.core.paired import holm
from medomni.core.workspace import Workspace

SUFFIX = ".suite.json"
METHOD = (
    "patients resampled within the strata of each pair, then pairs, 10000 times, percentile interval 95%; "
    "two-sided permutation test, 10000 random swaps of two agents' answers within atoms; Holm"
)
_ALIKE = 1e-12
_COPIED = ("benchmark", "benchmark_version", "set", "task_set_hash", "arm", "variant")

type Floats = NDArray[np.float64]
type Group = tuple[str, str, str, str | None]


@dataclass(frozen=True, slots=True)
class _Agent:
    """An agent that ran on every pair: its runs in the order of the pairs, and its skill on each."""

    agent: Mapping[str, Any]
    runs: tuple[Opened, ...]
    skills: tuple[float | None, ...]

    @property
    def mean(self) -> float | None:
        known = [skill for skill in self.skills if skill is not None]
        return math.fsum(known) / len(known) if len(known) == len(self.skills) else None


def suite_records(workspace: Workspace, runs: Sequence[Opened], *, secret: bytes) -> list[dict[str, Any]]:
    """A suite record for each set, arm and variant of which some agent ran on every pair.

    Of several runs of one agent on one pair the first that was started counts. Withdrawn pairs do not count.

    Args:
        workspace: Where the sets are defined.
        runs: Opened runs.
        secret: Of keyed digests.

    Raises:
        IssuesError: A set breaks its contract.
    """
    groups: dict[Group, list[Opened]] = defaultdict(list)
    for run in runs:
        record = run.record
        groups[record["benchmark"], record["set"], record["arm"], record["variant"]].append(run)
    found = []
    for (benchmark, task_set, _, _), members in sorted(groups.items(), key=lambda item: str(item[0])):
        try:
            defined = read_task_set(workspace, SetName(benchmark, task_set))
        except BenchError:
            continue  # The set is not defined here: nobody can say what all of its pairs are.
        made = _suite(defined, members, secret)
        if made is not None:
            found.append(made)
    return found


def suite_file_name(record: Mapping[str, Any]) -> str:
    """What the file of a suite record is called."""
    parts = [record["benchmark"], record["set"], record["arm"], record["variant"] or ""]
    return f"{file_name('.'.join(filter(None, parts)))}{SUFFIX}"


def _suite(defined: TaskSet, members: Sequence[Opened], secret: bytes) -> dict[str, Any] | None:
    counted = {p: n for p, n in sorted(defined.tasks.items()) if (p, n) not in defined.withdrawn}
    members = [
        run
        for run in members
        if run.record["task_set_hash"] == defined.task_set_hash and not is_trial(run.record)
    ]
    agents = _agents(members, counted, secret)
    if not agents or not counted:
        return None
    first = agents[0].runs[0].record
    resampled = [_resampled(agent) for agent in agents]
    tests = [_test(agents, resampled, a, b) for a, b in combinations(range(len(agents)), 2)]
    for test, adjusted in zip(tests, holm([test["p"] for test in tests]), strict=True):
        test["p_holm"] = adjusted
    pairs = [
        {
            "pair": pair,
            "version": n,
            "n": len(run.truth.names),
            "data_fingerprint": run.record["data_fingerprint"],
        }
        for (pair, n), run in zip(counted.items(), agents[0].runs, strict=True)
    ]
    return {
        "schema": "medomni/suite-record/1",
        **{key: first[key] for key in _COPIED},
        "scorer_version": SCORER_VERSION,
        "method": METHOD,
        "pairs": pairs,
        "agents": [_row(agent, values) for agent, values in zip(agents, resampled, strict=True)],
        "tests": tests,
    }


def _row(agent: _Agent, resampled: Floats | None) -> dict[str, Any]:
    return {
        "agent": dict(agent.agent),
        "run_ids": [run.record["run_id"] for run in agent.runs],
        "skills": [None if each is None else shown(each) for each in agent.skills],
        "skill": None if agent.mean is None else shown(agent.mean),
        "reason": None if agent.mean is not None else "a pair has no skill",
        "ci": None if resampled is None else _ends(resampled),
    }


def _agents(members: Sequence[Opened], counted: Mapping[str, int], secret: bytes) -> list[_Agent]:
    by_agent: dict[str, dict[str, Opened]] = defaultdict(dict)
    for run in sorted(members, key=lambda each: (each.record["started_at"] or "", each.record["run_id"])):
        if counted.get(run.record["pair"]) == run.record["version"]:
            by_agent[canonical_digest(run.record["agent"])].setdefault(run.record["pair"], run)
    found = []
    for by_pair in by_agent.values():
        if by_pair.keys() == counted.keys():
            runs = tuple(by_pair[pair] for pair in counted)
            agent = public_agent(runs[0].record["agent"], secret)
            found.append(_Agent(agent, runs, tuple(map(pair_skill, runs))))
    return sorted(found, key=lambda each: (each.agent["name"], each.runs[0].record["run_id"]))


def pair_skill(run: Opened) -> float | None:
    """The mean skill over the targets of a pair; None where one of them has none."""
    found = []
    for target in run.targets:
        joined = run.joined[target.name]
        value = None if joined.filled is None or run.failed else value_of(joined, joined.filled)
        skill = None if value is None else metrics.skill(target.metric, value, mae_ref=target.mae_ref)
        if skill is None:
            return None
        found.append(skill)
    return math.fsum(found) / len(found)


def _resampled(agent: _Agent) -> Floats | None:
    """The mean skill of every resample; the same draws for every agent, so that differences are paired."""
    if agent.mean is None:
        return None
    columns = []
    for run in agent.runs:
        scorers = [(t, Scorer(run.joined[t.name], run.joined[t.name])) for t in run.targets]
        strata = run.joined[run.targets[0].name].strata
        blocks = [
            _mean([_skills(target, scorer.resampled(block)[0]) for target, scorer in scorers])
            for block in draws.weights(strata, resamples=draws.RESAMPLES, seed=run.seed("skill"))
        ]
        columns.append(np.concatenate(blocks))
    return over_pairs(np.stack(columns, axis=1), agent.runs[0])


def over_pairs(table: Floats, run: Opened) -> Floats:
    """The mean over pairs that are drawn anew for every resample."""
    seed = draws.seed_of(run.record["benchmark"], run.record["set"], 0, "skill")
    pairs = table.shape[1]
    drawn = np.concatenate(list(draws.indices(["all"] * pairs, resamples=len(table), seed=seed)))
    return _mean(list(np.take_along_axis(table, drawn, axis=1).T))


def _mean(columns: Sequence[Floats]) -> Floats:
    """The mean of columns, added in their order."""
    total = np.zeros(len(columns[0]))
    for column in columns:
        total = total + column
    return np.asarray(total / len(columns))


def _skills(target: Target, scores: Floats) -> Floats:
    """Scores, mae negated, on the scale of skill."""
    if target.metric == "auc":
        return np.asarray(2 * scores - 1)
    if target.metric == "qwk":
        return scores
    return np.asarray(np.maximum(-1.0, 1 + scores / (target.mae_ref or 1.0)))


def _ends(values: Floats) -> list[float] | None:
    ends = percentiles(values, draws.RESAMPLES)
    return None if ends is None else list(ends)


def _test(agents: Sequence[_Agent], resampled: Sequence[Floats | None], a: int, b: int) -> dict[str, Any]:
    first, second = agents[a], agents[b]
    n = sum(len(run.truth.names) for run in first.runs)
    head: dict[str, Any] = {"a": a, "b": b, "n": n}
    ours, theirs = resampled[a], resampled[b]
    if ours is None or theirs is None or first.mean is None or second.mean is None:
        nothing = dict.fromkeys(("difference", "ci", "p", "p_holm")) | dict.fromkeys(
            ("better", "equal", "worse"), 0
        )
        failed = any(run.failed for run in (*first.runs, *second.runs))
        return head | nothing | {"reason": HARNESS_ERROR if failed else "a pair has no skill"}
    difference = first.mean - second.mean
    swapped = _mean([_swapped(x, y) for x, y in zip(first.runs, second.runs, strict=True)])
    count = int((np.abs(swapped) >= abs(difference) - _ALIKE).sum())
    signs = [(x or 0) - (y or 0) for x, y in zip(first.skills, second.skills, strict=True)]
    better, worse = sum(s > _ALIKE for s in signs), sum(s < -_ALIKE for s in signs)
    return head | {
        "difference": shown(difference),
        "ci": _ends(ours - theirs),
        "p": shown((1 + count) / (1 + draws.RESAMPLES)),
        "p_holm": None,
        "better": better,
        "equal": len(signs) - better - worse,
        "worse": worse,
        "reason": None,
    }


def _swapped(first: Opened, second: Opened) -> Floats:
    """The difference of the two skills on a pair for every random swap of answers within atoms."""
    scorers = [(t, Scorer(first.joined[t.name], second.joined[t.name])) for t in first.targets]
    blocks = []
    for bits in draws.tosses(len(first.truth.names), draws=draws.RESAMPLES, seed=first.seed("skill")):
        sides = [(t, scorer.swapped(bits)) for t, scorer in scorers]
        blocks.append(
            _mean([_skills(t, x) for t, (x, _) in sides]) - _mean([_skills(t, y) for t, (_, y) in sides])
        )
    return np.concatenate(blocks)
