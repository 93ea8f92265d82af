"""Makes a task set's board from records.

Holm's correction runs over every paired test of the board; the tests of the whole suite, which are the
headline, are a family of their own. Withdrawn pairs keep their scores and rank nobody.

Leaves to others: which records compare (`grouping`), the suite (`suite`), the notes (`notes`), showing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from medomni.bench.leaderboard import facts
from medomni.bench.leaderboard.agents import agents_of
from medomni.bench.leaderboard.grouping import Comparable, Counting, comparable, counting, of_set
from medomni.bench.leaderboard.model import Board, Ranking, Row, Test
from medomni.bench.leaderboard.notes import notes_of
from medomni.bench.leaderboard.records import Record, Records
from medomni.bench.leaderboard.suite import suite_of
from medomni.bench.release_locks import HashKey
from medomni.bench.task_sets import TaskSet
from medomni.core.ranking import PairedTest, decide, rank_intervals

type Groups = Mapping[Comparable, Mapping[str, Counting]]


def make_board(
    task_set: TaskSet,
    records: Records,
    *,
    expected_hashes: Mapping[HashKey, str] | None = None,
) -> Board:
    """The board of a task set.

    Args:
        task_set: The set, its card and withdrawn pairs.
        records: Every record that was found; those of other sets are passed over.
        expected_hashes: `(content release, pair, N, arm, variant)` to the config hash that it has there.

    Raises:
        StatisticsError: A comparison record holds what no test gives.
    """
    name = task_set.name
    scores = of_set(records.scores, benchmark=name.benchmark, task_set=name.task_set)
    runs = of_set(records.runs, benchmark=name.benchmark, task_set=name.task_set)
    pinned, strangers = _pinned(scores, task_set)
    groups = counting(pinned, runs)
    agents = agents_of(record.value["agent"] for record in pinned)
    ranking = {g: each for g, each in groups.items() if (g.pair, g.version) not in task_set.withdrawn}
    tests = _tests(ranking, records.comparisons)
    rankings = _rankings(task_set, groups, tests, expected_hashes or {})
    suite, suite_tests = suite_of(task_set, rankings, groups, records.suites)
    left_out = [*(issue.what for issue in records.left_out), *strangers]
    return Board(
        task_set=task_set,
        agents=agents,
        rankings=rankings,
        suite=suite,
        suite_tests=suite_tests,
        notes=notes_of(task_set, rankings, suite, suite_tests),
        left_out=tuple(left_out),
    )


def _pinned(scores: Sequence[Record], task_set: TaskSet) -> tuple[list[Record], list[str]]:
    """The records of pairs that the set pins at their N under its arms, and what is wrong with the others."""
    kept, strangers = [], []
    for record in scores:
        value = record.value
        pinned = task_set.tasks.get(value["pair"])
        if pinned != value["version"]:
            has = "does not pin it" if pinned is None else f"pins version {pinned}"
            strangers.append(
                f"{record.path.name} is of {value['pair']} version {value['version']}, and the set {has}"
            )
        elif value["arm"] not in task_set.arms:
            strangers.append(f"{record.path.name} is of the arm {value['arm']}, which the set does not have")
        else:
            kept.append(record)
    return kept, strangers


def _tests(groups: Groups, comparisons: Sequence[Record]) -> dict[tuple[Comparable, str], list[Test]]:
    """The tests between records that count, per group and target, adjusted over all of them."""
    runs = {
        (group, str(each.record.value["run_id"])): agent
        for group, by_agent in groups.items()
        for agent, each in by_agent.items()
    }
    found: dict[tuple[Comparable, str, frozenset[str]], tuple[str, str, Mapping[str, Any]]] = {}
    for record in comparisons:
        group = comparable(record.value)
        first = runs.get((group, str(record.value["a"]["run_id"])))
        second = runs.get((group, str(record.value["b"]["run_id"])))
        if first is None or second is None or first == second:
            continue
        for target, result in record.value["targets"].items():
            # The same two compared twice are the same test: made from the same answers with the same seed.
            found.setdefault((group, target, frozenset((first, second))), (first, second, result))
    made = [PairedTest(a, b, result["difference"], result["p"]) for a, b, result in found.values()]
    tests: dict[tuple[Comparable, str], list[Test]] = {}
    for (group, target, _), (a, b, result), said in zip(found, found.values(), decide(made), strict=True):
        tests.setdefault((group, target), []).append(facts.paired_test(a, b, result, said))
    return tests


def _rankings(
    task_set: TaskSet,
    groups: Groups,
    tests: Mapping[tuple[Comparable, str], Sequence[Test]],
    expected: Mapping[HashKey, str],
) -> tuple[Ranking, ...]:
    order = {pair: place for place, pair in enumerate(task_set.tasks)}
    found = []
    for group, by_agent in groups.items():
        targets = dict.fromkeys(name for each in by_agent.values() for name in each.record.value["targets"])
        for target in targets:
            each = _ranking(task_set, group, target, by_agent, tests.get((group, target), ()), expected)
            found.append((order[group.pair], group, target, each))
    return tuple(each for *_, each in sorted(found, key=lambda item: item[:3]))


def _ranking(
    task_set: TaskSet,
    group: Comparable,
    target: str,
    by_agent: Mapping[str, Counting],
    tests: Sequence[Test],
    expected: Mapping[HashKey, str],
) -> Ranking:
    withdrawn = task_set.withdrawn.get((group.pair, group.version))
    having = {agent: each for agent, each in by_agent.items() if target in each.record.value["targets"]}
    right = _right_hashes(group, having, expected)
    rows = {agent: _row(agent, each, target, right) for agent, each in having.items()}
    ranked = [agent for agent, row in rows.items() if not row.not_ranked and withdrawn is None]
    separated = [(t.better, t.second if t.better == t.first else t.first) for t in tests if t.better]
    ranks = rank_intervals(ranked, separated=separated)
    first = next(iter(having.values())).record.value
    metric = first["targets"][target]["metric"]
    sign = -1.0 if metric in facts.LOWER_IS_BETTER else 1.0
    done = [_with_rank(row, ranks.get(agent), withdrawn is not None) for agent, row in rows.items()]
    done.sort(key=lambda row: (row.rank is None, -sign * (row.value or 0.0), row.agent))
    return Ranking(
        key="-".join(filter(None, (group.pair.replace("@", "-at-"), target, group.arm, group.variant))),
        pair=group.pair,
        version=group.version,
        arm=group.arm,
        variant=group.variant or None,
        target=target,
        metric=metric,
        n=max(row.n for row in done),
        dataset_release=first["releases"]["dataset"],
        release_class=first["release_class"],
        access=first["access"],
        licence=first["licence"],
        data_fingerprint=group.fingerprint or None,
        scorer_version=group.scorer_version,
        rows=tuple(done),
        tests=tuple(sorted(tests, key=lambda test: (test.first, test.second))),
        withdrawn=withdrawn,
    )


def _right_hashes(
    group: Comparable, having: Mapping[str, Counting], expected: Mapping[HashKey, str]
) -> dict[str, str]:
    """Content release to the config hash that its records should have; the release is a part of the hash.

    Without the release's lock it is the hash of more than half of the records.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for each in having.values():
        value = each.record.value
        found[value["releases"]["medomni"]].append(value["config_hash"])
    right = {}
    for release, hashes in found.items():
        usual, count = Counter(hashes).most_common(1)[0]
        key = (release, group.pair, group.version, group.arm, group.variant)
        right[release] = expected.get(key) or (usual if 2 * count > len(hashes) else "")
    return right


def _row(agent: str, each: Counting, target: str, right: Mapping[str, str]) -> Row:
    record = each.record.value
    score = record["targets"][target]
    return Row(
        agent=agent,
        run_id=record["run_id"],
        value=score["value"],
        reason=score["reason"],
        ci=facts.interval_of(score["ci"]),
        ci_method=score["ci_method"],
        n=score["n"],
        n_answered=score["n_answered"],
        n_missing=score["n_missing"],
        n_invalid=score["n_invalid"],
        skill=facts.skill_of(score),
        rank=None,
        not_ranked=_why_not(record, score),
        flags=tuple(score["flags"]),
        warnings=facts.warnings_of(record),
        environment=facts.environment_of(record),
        config_hash=record["config_hash"],
        hash_differs=record["config_hash"] != right[record["releases"]["medomni"]],
        runs_started=each.started,
        runs_scored=each.scored,
        usage=facts.usage_of(record),
        signature=each.record.signature,
    )


def _why_not(record: Mapping[str, Any], score: Mapping[str, Any]) -> str:
    """Why a score has no rank; empty where it has one."""
    if score["value"] is None:
        return f"no score: {score['reason']}"
    if record["counts"]["harness_error"]:
        return "unresolved failures of the harness"
    if facts.is_trial(record) or record["counts"]["atoms"] < score["n"]:
        return "a trial on some of the atoms"
    if "unsafe-host" in record["integrity"] or (record["environment"] or {}).get("kind") == "unsafe-host":
        return "ran on an unsafe host, where answers can be read"
    return ""


def _with_rank(row: Row, rank: tuple[int, int] | None, withdrawn: bool) -> Row:
    return replace(
        row, rank=rank, not_ranked="withdrawn" if withdrawn and not row.not_ranked else row.not_ranked
    )
