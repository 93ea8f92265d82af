"""Which score records compare: equal pair, N, arm, variant, data and scorer version, one run per agent.

Of several runs of one agent the first one that was started counts, whatever it scored, so that nobody gains
by trying again; the board says how many there were. A trial on some of the atoms never counts before a whole
run.

Leaves to others: the rankings themselves (`board`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medomni.bench.leaderboard import facts
from medomni.bench.leaderboard.agents import agent_key
from medomni.bench.leaderboard.records import Record


@dataclass(frozen=True, slots=True, order=True)
class Comparable:
    """What must be equal for two records to compare; `variant` and `fingerprint` are empty for none."""

    pair: str
    arm: str
    variant: str
    version: int
    fingerprint: str
    scorer_version: int


@dataclass(frozen=True, slots=True)
class Counting:
    """The record of an agent that counts, and how many runs of it are known.

    Attributes:
        started: Runs that the records know to have begun, scored or not.
        scored: Runs with a score record.
    """

    record: Record
    started: int
    scored: int


def comparable(value: Mapping[str, Any]) -> Comparable:
    """What a score or comparison record must share with another."""
    return Comparable(
        str(value["pair"]),
        str(value["arm"]),
        str(value["variant"] or ""),
        int(value["version"]),
        str(value["data_fingerprint"] or ""),
        int(value["scorer_version"]),
    )


def counting(scores: Sequence[Record], runs: Sequence[Record]) -> dict[Comparable, dict[str, Counting]]:
    """Per group of comparable records, agent to its record that counts.

    Args:
        scores: Score records of one task set.
        runs: Run records that are known beside them; they say what began and when.
    """
    begun = {str(run.value["run_id"]): str(run.value["started_at"] or "") for run in runs}
    groups: dict[Comparable, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in scores:
        groups[comparable(record.value)][agent_key(record.value["agent"])].append(record)
    started = _started(scores, runs)
    found: dict[Comparable, dict[str, Counting]] = {}
    for group, by_agent in sorted(groups.items()):
        found[group] = {}
        for agent, records in by_agent.items():
            first = min(records, key=lambda record: _begin(record, begun))
            scored = len({str(record.value["run_id"]) for record in records})
            place = (group.pair, group.arm, group.variant, group.version, agent)
            found[group][agent] = Counting(first, max(scored, started[place]), scored)
    return found


def _begin(record: Record, begun: Mapping[str, str]) -> tuple[bool, str, str, str]:
    """What sorts runs by their beginning, trials last; ids and paths only where the time is not known."""
    run = str(record.value["run_id"])
    at = str(record.value.get("started_at") or begun.get(run, ""))
    return facts.is_trial(record.value), at, run, str(record.path)


def _started(scores: Sequence[Record], runs: Sequence[Record]) -> Counter[tuple[str, str, str, int, str]]:
    """How many runs began, per pair, arm, variant, N and agent.

    A run without a score belongs to the agent that it names; score records may name settings less openly.
    """
    scored = {str(record.value["run_id"]): _place(record.value) for record in scores}
    begun = {str(run.value["run_id"]): _place(run.value) for run in runs}
    return Counter((begun | scored).values())


def _place(value: Mapping[str, Any]) -> tuple[str, str, str, int, str]:
    agent = agent_key(value["agent"])
    return str(value["pair"]), str(value["arm"]), str(value["variant"] or ""), int(value["version"]), agent


def of_set(records: Iterable[Record], *, benchmark: str, task_set: str) -> list[Record]:
    """The records that name a task set."""
    return [
        record
        for record in records
        if (record.value["benchmark"], record.value["set"]) == (benchmark, task_set)
    ]
