"""How to read a board, in sentences that are made from its records: what it can say, and what it cannot.

Leaves to others: the board (`board`), showing (`page`, `terminal`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from medomni.bench.leaderboard.model import PRELIMINARY_N, Ranking, SuiteRow, Test
from medomni.bench.task_sets import TaskSet
from medomni.core.names import IMPORTED_SETS
from medomni.core.ranking import LEVEL


def notes_of(
    task_set: TaskSet, rankings: Sequence[Ranking], suite: Sequence[SuiteRow], suite_tests: Sequence[Test]
) -> tuple[str, ...]:
    """The notes, the most important first."""
    return tuple(
        note
        for part in (
            _data(task_set, rankings),
            _ranks(rankings, suite_tests),
            _suite(task_set, suite),
            _rows(rankings),
        )
        for note in part
    )


def _data(task_set: TaskSet, rankings: Sequence[Ranking]) -> Iterator[str]:
    if not rankings:
        yield "No record of this set counts yet."
    kinds = {each.release_class for each in rankings} - {"real"}
    if kinds:
        yield (
            f"Not for scores: {' and '.join(sorted(kinds))} data show that everything works. Their numbers"
            " say nothing of how good an agent is."
        )
    if task_set.name.task_set in IMPORTED_SETS:
        yield "These are imported results of MedOmni 0.2. They compare with each other and with nothing else."
    small = sorted({each.n for each in rankings if each.preliminary})
    if small:
        sizes = f"{small[0]}" if len(small) == 1 else f"{small[0]} to {small[-1]}"
        yield (
            f"Preliminary: with n = {sizes} atoms per pair (at most {PRELIMINARY_N}) an interval is wide, and"
            " two agents are only separated where they differ a lot. Read no order from the third decimal."
        )
    withdrawn = {(each.pair, each.version): each.withdrawn for each in rankings if each.withdrawn}
    for (pair, version), why in withdrawn.items():
        instead = f" Use {why.replaced_by} instead." if why.replaced_by else ""
        yield f"{pair} version {version} was withdrawn on {why.date}: {why.reason}. It ranks nobody.{instead}"


def _ranks(rankings: Sequence[Ranking], suite_tests: Sequence[Test]) -> Iterator[str]:
    yield (
        "A rank such as 2 to 4 of 6 means: one agent is certainly better, two are certainly worse, and the"
        f" others are not told apart. Certain means a paired two-sided test below {LEVEL} after Holm's"
        " correction over all tests of this board. Two agents without a test count as not separated."
    )
    tests = [test for each in rankings for test in each.tests]
    ranked = [sum(1 for row in each.rows if row.rank) for each in rankings if each.withdrawn is None]
    wanted = sum(n * (n - 1) // 2 for n in ranked)
    if len(tests) < wanted:
        yield (
            f"{len(tests)} of {wanted} possible paired tests between agents are there. The others need"
            " `medomni bench compare`, where the answers are."
        )
    found = [test.p for test in tests if test.p is not None]
    if found and min(found) * len(found) >= LEVEL:
        yield (
            f"None of the board's {len(found)} tests separates two agents: the smallest p before the"
            f" correction is {min(found):.2g}."
        )
    if suite_tests:
        yield f"The suite is the headline: its {len(suite_tests)} tests are corrected among themselves."


def _suite(task_set: TaskSet, suite: Sequence[SuiteRow]) -> Iterator[str]:
    yield (
        "Skill puts all metrics on one scale: 1 is perfect, 0 is what the same answer for everybody gets"
        " (auc: 2 auc − 1; qwk: qwk; mae: 1 − mae / mae of the cohort's median, at least −1)."
    )
    if len(task_set.tasks) > 1:
        yield (
            "The suite's skill is the mean over the pairs of the set, and there is one only with a score"
            " in all of them. Its interval and tests are made where the answers are, since no"
            " answer of a single patient leaves the workspace."
        )
    if any(row.skill is not None and row.ci is None for row in suite):
        yield "A suite's skill without an interval has no suite record: `medomni bench score` makes one."


def _rows(rankings: Sequence[Ranking]) -> Iterator[str]:
    yield (
        "A missing or invalid answer takes the worst value there is, so that nobody gains by leaving one out."
        " Coverage is the share of atoms with a valid answer."
    )
    if any(row.runs_started > row.runs_scored for each in rankings for row in each.rows):
        yield "Some agents have runs that were started and never scored: see runs."
    if any(row.runs_scored > 1 for each in rankings for row in each.rows):
        yield "Of several runs of one agent the first that was started counts, whatever it scored."
    if any(row.hash_differs for each in rankings for row in each.rows):
        yield (
            "A marked config hash is not the one that its pair should have: that run was built from other"
            " configuration files."
        )
    if len({each.scorer_version for each in rankings}) > 1:
        yield "Scores of different scorer versions do not compare and stand in tables of their own."
    if len({(e.pair, e.version, e.data_fingerprint) for e in rankings}) > len(
        {(e.pair, e.version) for e in rankings}
    ):
        yield "Scores on different data do not compare and stand in tables of their own."
    yield (
        "Cohorts are drawn with fixed shares of outcomes. Scores do not compare with published ones at"
        " natural prevalence, and say nothing of use on patients."
    )
