"""The headline of a set: each agent's mean skill over all of its pairs, ranked by the tests of suite records.

A mean over some of the pairs is no mean over the set: an agent that lacks a pair, or has no number there, has
no suite skill. Intervals and tests come from suite records, made where the answers are, and only from those
that are about exactly the runs that the board shows, at the set's present `task_set_hash`.

Leaves to others: making suite records (`medomni.bench.suites`), the rankings of single pairs (`board`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from medomni.bench.leaderboard import facts
from medomni.bench.leaderboard.agents import agent_key
from medomni.bench.leaderboard.grouping import Comparable, Counting
from medomni.bench.leaderboard.model import Ranking, Row, SuiteRow, Test
from medomni.bench.leaderboard.records import Record
from medomni.bench.task_sets import TaskSet
from medomni.core.ranking import Decision, PairedTest, decide, rank_intervals

type Groups = Mapping[Comparable, Mapping[str, Counting]]
type Place = tuple[str, str | None]
_MOST_NAMED = 3


def suite_of(
    task_set: TaskSet, rankings: Sequence[Ranking], groups: Groups, suites: Sequence[Record]
) -> tuple[tuple[SuiteRow, ...], tuple[Test, ...]]:
    """Suite rows, best first within each arm and variant, and the tests between agents."""
    counted = {p: n for p, n in task_set.tasks.items() if (p, n) not in task_set.withdrawn}
    main = _main_rankings([each for each in rankings if each.pair in counted])
    hashes = {
        str(each.record.value["run_id"]): str(each.record.value["task_set_hash"])
        for by_agent in groups.values()
        for each in by_agent.values()
    }
    rows: list[SuiteRow] = []
    made: list[tuple[Place, str, str, Mapping[str, Any]]] = []
    for place, found in sorted(main.items(), key=lambda item: (item[0][0], item[0][1] or "")):
        by_agent = _by_agent(found)
        matching = _matching(task_set, place, counted, by_agent, suites)
        for agent, cells in by_agent.items():
            rows.append(_row(task_set, place, counted, agent, cells, hashes, matching))
        made += _tests(place, matching)
    said = decide([PairedTest(a, b, r["difference"], r["p"]) for _, a, b, r in made])
    tests = [_test(place, a, b, result, each) for (place, a, b, result), each in zip(made, said, strict=True)]
    return _ranked(rows, tests), tuple(tests)


def _main_rankings(rankings: Sequence[Ranking]) -> dict[Place, list[Ranking]]:
    """Per arm and variant, one ranking per pair and target: of the newest scorer, then with most agents."""
    best: dict[tuple[str, str | None, str, str], Ranking] = {}
    for each in rankings:
        key = (each.arm, each.variant, each.pair, each.target)
        if key not in best or _weight(each) > _weight(best[key]):
            best[key] = each
    found: dict[Place, list[Ranking]] = defaultdict(list)
    for (arm, variant, *_), each in best.items():
        found[arm, variant].append(each)
    return found


def _weight(each: Ranking) -> tuple[int, int, str]:
    return each.scorer_version, len(each.rows), each.data_fingerprint or ""


def _by_agent(rankings: Sequence[Ranking]) -> dict[str, list[tuple[Ranking, Row]]]:
    found: dict[str, list[tuple[Ranking, Row]]] = defaultdict(list)
    for ranking in rankings:
        for row in ranking.rows:
            found[row.agent].append((ranking, row))
    return found


def _row(
    task_set: TaskSet,
    place: Place,
    counted: Mapping[str, int],
    agent: str,
    cells: Sequence[tuple[Ranking, Row]],
    hashes: Mapping[str, str],
    matching: Mapping[str, tuple[Record, Mapping[str, Any]]],
) -> SuiteRow:
    skill, reason, n_scored = _mean_skill(task_set, counted, cells, hashes)
    record, entry = matching.get(agent, (None, None))
    ci = facts.interval_of(entry["ci"]) if entry is not None and skill is not None else None
    return SuiteRow(
        agent=agent,
        arm=place[0],
        variant=place[1],
        skill=skill,
        reason=reason,
        ci=ci,
        interval_from=str(record.value["method"]) if record is not None and ci is not None else "",
        pairs_scored=n_scored,
        pairs_in_set=len(counted),
        n_atoms=sum(row.n for _, row in cells),
        n_answered=sum(row.n_answered for _, row in cells),
        rank=None,
    )


def _mean_skill(
    task_set: TaskSet,
    counted: Mapping[str, int],
    cells: Sequence[tuple[Ranking, Row]],
    hashes: Mapping[str, str],
) -> tuple[float | None, str, int]:
    """The mean skill over all pairs; or None and why there is none; and how many pairs have one."""
    by_pair: dict[str, list[Row]] = defaultdict(list)
    for ranking, row in cells:
        by_pair[ranking.pair].append(row)
    means = {
        pair: math.fsum(row.skill or 0.0 for row in rows) / len(rows)
        for pair, rows in by_pair.items()
        if all(row.skill is not None and not row.not_ranked for row in rows)
    }
    lacking = [pair for pair in counted if pair not in means]
    if lacking:
        reason = f"no score in {len(lacking)} of {len(counted)} pairs: {', '.join(lacking[:_MOST_NAMED])}"
        return None, reason, len(means)
    if any(hashes[row.run_id] != task_set.task_set_hash for _, row in cells):
        return None, "some runs are of the set as it was before it grew", len(means)
    return math.fsum(means.values()) / len(means), "", len(means)


def _matching(
    task_set: TaskSet,
    place: Place,
    counted: Mapping[str, int],
    by_agent: Mapping[str, Sequence[tuple[Ranking, Row]]],
    suites: Sequence[Record],
) -> dict[str, tuple[Record, Mapping[str, Any]]]:
    """Agent to the suite record, and its entry there, that is about exactly the runs on the board."""
    found: dict[str, tuple[Record, Mapping[str, Any]]] = {}
    for record in suites:
        value = record.value
        same = (value["benchmark"], value["set"]) == (task_set.name.benchmark, task_set.name.task_set)
        pairs = {row["pair"]: row["version"] for row in value["pairs"]}
        if not same or (value["arm"], value["variant"]) != place or pairs != dict(counted):
            continue
        for entry in value["agents"]:
            agent = agent_key(entry["agent"])
            runs = {row.run_id for _, row in by_agent.get(agent, ())}
            if value["task_set_hash"] != task_set.task_set_hash or runs != set(entry["run_ids"]):
                continue
            # The record with the most agents says most: its tests are the board's.
            if agent not in found or len(value["agents"]) > len(found[agent][0].value["agents"]):
                found[agent] = (record, entry)
    return found


def _tests(
    place: Place, matching: Mapping[str, tuple[Record, Mapping[str, Any]]]
) -> list[tuple[Place, str, str, Mapping[str, Any]]]:
    records = {id(record): record for record, _ in matching.values()}
    found: dict[frozenset[str], tuple[Place, str, str, Mapping[str, Any]]] = {}
    for record in records.values():
        agents = [agent_key(entry["agent"]) for entry in record.value["agents"]]
        for test in record.value["tests"]:
            first, second = agents[test["a"]], agents[test["b"]]
            if first in matching and second in matching and first != second:
                found.setdefault(frozenset((first, second)), (place, first, second, test))
    return list(found.values())


def _test(place: Place, first: str, second: str, result: Mapping[str, Any], said: Decision) -> Test:
    return replace(facts.paired_test(first, second, result, said), arm=place[0], variant=place[1])


def _ranked(rows: Sequence[SuiteRow], tests: Sequence[Test]) -> tuple[SuiteRow, ...]:
    found: list[SuiteRow] = []
    for place in dict.fromkeys((row.arm, row.variant) for row in rows):
        here = [row for row in rows if (row.arm, row.variant) == place]
        mine = [test for test in tests if (test.arm, test.variant) == place and test.better]
        separated = [(str(t.better), t.second if t.better == t.first else t.first) for t in mine]
        ranks = rank_intervals([row.agent for row in here if row.skill is not None], separated=separated)
        done = [replace(row, rank=ranks.get(row.agent)) for row in here]
        found += sorted(done, key=lambda row: (row.skill is None, -(row.skill or 0.0), row.agent))
    return tuple(found)
