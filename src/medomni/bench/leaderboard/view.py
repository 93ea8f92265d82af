"""What the page of a board shows: tables and pictures, section by section.

Leaves to others: the numbers (`board`), where marks go (`pictures`), the HTML (`page` and its template).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from medomni.bench.leaderboard import facts, pictures, words
from medomni.bench.leaderboard.model import Board, Ranking, SuiteRow, Test
from medomni.bench.leaderboard.pictures import Plot, Strip

_LONGEST_OPEN = 12
_MOST_SETTINGS = 160


@dataclass(frozen=True, slots=True)
class Table:
    """One table; the first column names its rows.

    Attributes:
        numeric: Places of the columns that hold numbers.
        folded: Whether the page folds it away at first.
        muted: Places of rows that are greyed.
    """

    key: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: frozenset[int] = frozenset()
    folded: bool = False
    muted: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Intervals:
    """A picture of intervals: a strip per agent, ticks as (place, text), the place of a constant answer."""

    title: str
    strips: Sequence[Strip]
    ticks: Sequence[tuple[float, str]]
    constant: float | None
    constant_words: str


@dataclass(frozen=True, slots=True)
class RankingView:
    """A ranking as the page shows it."""

    ranking: Ranking
    title: str
    states: Sequence[str]
    picture: Intervals
    table: Table
    tests: Table | None


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot with its caption and the table of its numbers."""

    key: str
    title: str
    x_title: str
    y_title: str
    plot: Plot
    told: str
    table: Table


@dataclass(frozen=True, slots=True)
class SuiteView:
    """The suite of one arm and variant; the table of its rows folds away where nobody has a suite skill."""

    place: str
    picture: Intervals | None
    table: Table
    tests: Table | None
    note: str


def numbers(board: Board) -> dict[str, int]:
    """Key of an agent to its number on the page, from 1."""
    return {agent.key: number for number, agent in enumerate(board.agents, start=1)}


def names(board: Board) -> dict[str, str]:
    """Key of an agent to its number and label."""
    return {agent.key: f"{number} {agent.label}" for number, agent in enumerate(board.agents, start=1)}


def agents_table(board: Board) -> Table:
    """Who is on the board."""
    environments: dict[str, dict[str, None]] = defaultdict(dict)
    for ranking in board.rankings:
        for row in ranking.rows:
            environments[row.agent][f"{row.environment} ({row.signature})"] = None
    rows = []
    for number, agent in enumerate(board.agents, start=1):
        settings = ", ".join(f"{key} {value}" for key, value in sorted(agent.settings.items()))
        short = settings if len(settings) <= _MOST_SETTINGS else f"{settings[:_MOST_SETTINGS]}…"
        ran = ", ".join(environments[agent.key])
        rows.append(
            [f"{number} {agent.label}", agent.version, agent.model or words.DASH, short or words.DASH, ran]
        )
    columns = ("Agent", "Version", "Model", "Settings", "Ran in (signature)")
    return Table("t-agents", "The agents; their numbers stand in the pictures", columns, rows)


def licence_table(board: Board) -> Table:
    """Whose terms hold for what."""
    card = board.task_set.card
    rows = [[f"benchmark {card['name']} {card['version']}", str(card["license"]), words.DASH, words.DASH]]
    seen = dict.fromkeys((r.dataset_release, r.licence, r.access, r.release_class) for r in board.rankings)
    rows += [[f"data of {release}", licence, access, kind] for release, licence, access, kind in seen]
    return Table("t-licences", "Licences", ("What", "Licence", "Access", "Kind"), rows)


def suite_views(board: Board) -> list[SuiteView]:
    """The suite, per arm and variant; none where the set has a single pair."""
    if len(board.task_set.tasks) < 2:
        return []
    named, number = names(board), numbers(board)
    places: dict[tuple[str, str | None], list[SuiteRow]] = defaultdict(list)
    for row in board.suite:
        places[row.arm, row.variant].append(row)
    found = []
    for index, ((arm, variant), rows) in enumerate(places.items()):
        place = words.place(arm, variant)
        scored = [row for row in rows if row.skill is not None]
        table = Table(
            f"t-suite-{index}",
            f"Mean skill over the {rows[0].pairs_in_set} pairs of the set, {place}",
            ("Agent", "Rank", "Mean skill", "95% interval", "Pairs scored", "Coverage", "Remarks"),
            [
                [
                    named[row.agent],
                    words.rank(row.rank),
                    words.number(row.skill),
                    words.interval(row.ci),
                    f"{row.pairs_scored}/{row.pairs_in_set}",
                    f"{row.n_answered}/{row.n_atoms}",
                    row.reason,
                ]
                for row in rows
            ],
            frozenset({1, 2, 3, 4, 5}),
            folded=not scored,
        )
        axis = pictures.axis_of("skill", [(row.skill, row.ci) for row in scored])
        strips = [
            pictures.strip(named[r.agent], number[r.agent], r.skill, r.ci, axis=axis, metric="auc")
            for r in scored
        ]
        picture = _intervals(f"Mean skill, {place}", strips, axis, 0.0) if strips else None
        tests = [test for test in board.suite_tests if (test.arm, test.variant) == (arm, variant)]
        told = _tests_table(f"{table.key}-tests", place, tests, named)
        found.append(SuiteView(place, picture, table, told, _note(rows)))
    return found


def _note(rows: Sequence[SuiteRow]) -> str:
    if all(row.skill is None for row in rows):
        return (
            f"Nobody has a score in all {rows[0].pairs_in_set} pairs here, so that there is nothing to rank."
        )
    methods = dict.fromkeys(row.interval_from for row in rows if row.interval_from)
    return f"How intervals and tests were made: {'; '.join(methods)}." if methods else ""


def _intervals(title: str, strips: Sequence[Strip], axis: pictures.Axis, constant: float | None) -> Intervals:
    ticks = [(pictures.strip_x(axis, t), f"{t:.3g}".replace("-", "\N{MINUS SIGN}")) for t in axis.ticks]
    place = None if constant is None else pictures.strip_x(axis, constant)
    return Intervals(title, strips, ticks, place, "the same answer for everybody")


def _tests_table(key: str, of: str, tests: Sequence[Test], named: dict[str, str]) -> Table | None:
    if not tests:
        return None
    rows = [
        [
            f"{named[test.first]} against {named[test.second]}",
            words.number(test.difference),
            words.interval(test.ci),
            f"{test.wins}/{test.ties}/{test.losses}",
            words.p_value(test.p),
            words.p_value(test.p_holm),
            words.verdict(test, named),
        ]
        for test in tests
    ]
    columns = ("Agents", "Difference", "95% interval", "Won/tied/lost", "p", "p, corrected", "Verdict")
    caption = f"Paired tests, {of}: positive where the first is better"
    return Table(key, caption, columns, rows, frozenset({1, 2, 3, 4, 5}), len(rows) > _LONGEST_OPEN)


def grid_table(board: Board) -> Table:
    """Every pair with every agent: score, and coverage where it is not whole."""
    keys = [agent.key for agent in board.agents]
    named = names(board)
    rows, muted = [], set()
    for place, ranking in enumerate(board.rankings):
        cells = dict.fromkeys(keys, "")
        for row in ranking.rows:
            text = words.number(row.value, ranking.metric)
            if row.rank is not None and row.rank[0] == 1 and row.rank[1] < len(ranking.rows):
                text += " ▲"
            if row.n_answered < row.n:
                text += f" ({words.coverage(row)})"
            cells[row.agent] = text
        rows.append([words.title(ranking), str(ranking.n), *cells.values()])
        if ranking.withdrawn is not None:
            muted.add(place)
    return Table(
        "t-grid",
        "Scores by pair. ▲: nobody is certainly better and somebody certainly worse. In brackets: answered",
        ("Pair, target, arm", "n", *(named[key] for key in keys)),
        rows,
        frozenset(range(1, len(keys) + 2)),
        muted=frozenset(muted),
    )


def wins_table(board: Board) -> Table | None:
    """Agents against agents: in how many rankings the row's agent is certainly better than the column's."""
    keys = [agent.key for agent in board.agents]
    if len(keys) < 2:
        return None
    named = names(board)
    ahead: dict[tuple[str, str], int] = defaultdict(int)
    tested: dict[frozenset[str], int] = defaultdict(int)
    for ranking in board.rankings:
        for test in ranking.tests:
            tested[frozenset((test.first, test.second))] += 1
            if test.better is not None:
                ahead[test.better, test.second if test.better == test.first else test.first] += 1
    rows = []
    for key in keys:
        row = [named[key]]
        for other in keys:
            count = tested[frozenset((key, other))]
            row.append(words.DASH if not count or key == other else f"{ahead[key, other]} of {count}")
        rows.append(row)
    caption = "In how many paired tests the agent of the row is certainly better than that of the column"
    return Table(
        "t-wins", caption, ("Agent", *(named[k] for k in keys)), rows, frozenset(range(1, len(keys) + 1))
    )


def ranking_views(board: Board) -> list[RankingView]:
    """Every ranking, with its picture and tables."""
    named, number = names(board), numbers(board)
    found = []
    for index, each in enumerate(board.rankings):
        axis = pictures.axis_of(each.metric, [(row.value, row.ci) for row in each.rows])
        strips = [
            pictures.strip(named[r.agent], number[r.agent], r.value, r.ci, axis=axis, metric=each.metric)
            for r in each.rows
        ]
        states = [
            *(["withdrawn"] if each.withdrawn else []),
            *([] if each.counts else [f"not for scores ({each.release_class} data)"]),
            *(["preliminary"] if each.preliminary else []),
        ]
        title = words.title(each)
        picture = _intervals(title, strips, axis, facts.CONSTANT_ANSWER.get(each.metric))
        tests = _tests_table(f"t-r{index}-tests", title, each.tests, named)
        found.append(RankingView(each, title, states, picture, _ranking_table(index, each, named), tests))
    return found


def _ranking_table(index: int, each: Ranking, named: dict[str, str]) -> Table:
    rows = [
        [
            named[row.agent],
            words.rank(row.rank),
            words.number(row.value, each.metric),
            words.interval(row.ci, each.metric),
            words.coverage(row),
            words.number(row.skill),
            f"{words.seconds(row.usage.median_seconds)}, {words.seconds(row.usage.p95_seconds)}",
            words.money(row.usage.total_usd),
            f"{row.config_hash[:13]}…",
            words.remarks(row),
        ]
        for row in each.rows
    ]
    columns = (
        "Agent", "Rank", each.metric, "95% interval", "Answered", "Skill", "Time: median, 95th percentile",
        "Cost", "Config hash", "Remarks",
    )  # fmt: skip
    caption = f"{words.title(each)}, n = {each.n}, {words.direction(each.metric)}"
    return Table(f"t-r{index}", caption, columns, rows, frozenset({1, 2, 3, 4, 5, 6, 7}))


def usage_figures(board: Board) -> list[Figure]:
    """Skill over time and over cost, for agents with a suite skill; only what the records tell."""
    named, number = names(board), numbers(board)
    found = []
    for index, place in enumerate(dict.fromkeys((row.arm, row.variant) for row in board.suite)):
        rows = [r for r in board.suite if (r.arm, r.variant) == place and r.skill is not None]
        for kind in ("time", "cost"):
            marks = [(r, amount) for r in rows if (amount := _amount(board, r, kind)) is not None]
            if not marks:
                continue
            money = kind == "cost"
            plot = pictures.scatter([(number[r.agent], a, r.skill or 0.0) for r, a in marks], money=money)
            title = f"Skill and {kind}, {words.place(*place)}"
            x_title = "cost of the whole set" if money else "median time per atom"
            shown = words.money if money else words.seconds
            cells = [[named[r.agent], shown(a), words.number(r.skill)] for r, a in marks]
            table = Table(
                f"t-{kind}-{index}",
                title,
                ("Agent", x_title.capitalize(), "Mean skill"),
                cells,
                frozenset({1, 2}),
            )
            told = "; ".join(f"{a}: {x}, skill {y}" for a, x, y in cells)
            found.append(Figure(f"f-{kind}-{index}", title, x_title, "mean skill", plot, told, table))
    return found


def _amount(board: Board, suite: SuiteRow, kind: str) -> float | None:
    """Median of the pairs' median times, or the sum of their costs; None where a pair does not tell it."""
    usages = {
        ranking.pair: row.usage
        for ranking in board.rankings
        for row in ranking.rows
        if (row.agent, ranking.arm, ranking.variant) == (suite.agent, suite.arm, suite.variant)
    }
    if kind == "cost":
        costs = [usage.total_usd for usage in usages.values()]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) else None
    times = sorted(usage.median_seconds for usage in usages.values() if usage.median_seconds is not None)
    return times[len(times) // 2] if times and len(times) == len(usages) else None


def ladder_figures(board: Board) -> list[Figure]:
    """One figure for each target that was asked at several rungs of an arm."""
    named, number = names(board), numbers(board)
    groups: dict[tuple[str, str, str, str | None, int], dict[str, Ranking]] = defaultdict(dict)
    for each in board.rankings:
        if each.variant is not None:
            key = (each.pair, each.target, each.arm, each.data_fingerprint, each.scorer_version)
            groups[key][each.variant] = each
    found = []
    for index, rungs in enumerate(groups.values()):
        if len(rungs) < 2:
            continue
        ordered = {rung: rungs[rung] for rung in sorted(rungs, key=pictures.rung_order)}
        first = next(iter(ordered.values()))
        title = f"{first.pair}, {first.target} over the rungs of {first.arm}"
        agents = [
            a.key for a in board.agents if any(row.agent == a.key for r in ordered.values() for row in r.rows)
        ]
        cells = [[named[agent], *(_cell(ranking, agent) for ranking in ordered.values())] for agent in agents]
        table = Table(
            f"t-ladder-{index}", title, ("Agent", *ordered), cells, frozenset(range(1, len(ordered) + 1))
        )
        told = "; ".join(f"{row[0]}: {', '.join(row[1:])}" for row in cells)
        plot = pictures.ladder(ordered, number)
        found.append(Figure(f"f-ladder-{index}", title, "rung", first.metric, plot, told, table))
    return found


def _cell(ranking: Ranking, agent: str) -> str:
    row = next((row for row in ranking.rows if row.agent == agent), None)
    if row is None or row.value is None:
        return words.DASH
    text = words.number(row.value, ranking.metric)
    return f"{text} ({words.interval(row.ci, ranking.metric)})" if row.ci else text
