"""What a board holds, as typed values; the JSON of `--json` is these values and nothing else.

Leaves to others: making them (`board`), showing them (`terminal`, `page`, `tables`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from medomni.bench.task_sets import TaskSet, Withdrawal

SCHEMA = "medomni/leaderboard/1"
PRELIMINARY_N = 30
type Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent with its model and settings; another version, model or setting is another agent.

    Attributes:
        key: Digest of the rest.
        label: Short, unique on its board.
    """

    key: str
    label: str
    name: str
    version: str
    model: str | None
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Usage:
    """What answering one atom took; None is not known."""

    median_seconds: float | None = None
    p95_seconds: float | None = None
    median_usd: float | None = None
    p95_usd: float | None = None
    total_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One agent in one ranking.

    Attributes:
        agent: Key of the agent.
        skill: The score on the common scale where 1 is perfect and 0 is no better than a constant.
        rank: Rank interval; None where there is no number, and in withdrawn pairs.
        not_ranked: Why there is no rank; empty where there is one.
        hash_differs: Whether the config hash is not the one that the pair should have here.
        warnings: Integrity flags, limits that were not held, reach beyond the container.
        runs_started: Runs of this agent that the records know, of which `runs_scored` have a score.
    """

    agent: str
    run_id: str
    value: float | None
    reason: str | None
    ci: Interval | None
    ci_method: str | None
    n: int
    n_answered: int
    n_missing: int
    n_invalid: int
    skill: float | None
    rank: tuple[int, int] | None
    not_ranked: str
    flags: tuple[str, ...]
    warnings: tuple[str, ...]
    environment: str
    config_hash: str
    hash_differs: bool
    runs_started: int
    runs_scored: int
    usage: Usage
    signature: str


@dataclass(frozen=True, slots=True)
class Test:
    """A paired test between two agents, adjusted over the board.

    Attributes:
        n: Atoms compared.
        wins: Where the first is better: atoms in a ranking, pairs in the suite; so for `ties` and `losses`.
        difference: Positive where the first is better.
        better: Key of the agent that the test puts ahead; None where it separates nobody.
        arm: The arm, and its variant, for a test of the suite; those of its ranking where empty.
    """

    first: str
    second: str
    n: int
    difference: float | None
    ci: Interval | None
    p: float | None
    p_holm: float | None
    wins: int
    ties: int
    losses: int
    better: str | None
    arm: str = ""
    variant: str | None = None


@dataclass(frozen=True, slots=True)
class Ranking:
    """One target of one pair at one N, arm, variant, data and scorer version: what compares.

    Attributes:
        n: Atoms that count.
        rows: Best first by score; those without a rank behind.
        withdrawn: Set where the pair is withdrawn: it stays, and ranks nobody.
    """

    key: str
    pair: str
    version: int
    arm: str
    variant: str | None
    target: str
    metric: str
    n: int
    dataset_release: str
    release_class: str
    access: str
    licence: str
    data_fingerprint: str | None
    scorer_version: int
    rows: tuple[Row, ...]
    tests: tuple[Test, ...]
    withdrawn: Withdrawal | None = None

    @property
    def counts(self) -> bool:
        """Whether its scores say anything of an agent: not on demo or dummy data."""
        return self.release_class == "real"

    @property
    def preliminary(self) -> bool:
        """Whether n is so small that ranks are preliminary."""
        return self.n <= PRELIMINARY_N


@dataclass(frozen=True, slots=True)
class SuiteRow:
    """An agent's mean skill over all pairs of the set.

    Attributes:
        skill: None where some pair is missing or has no number.
        interval_from: How the interval was made; empty where no suite record gives one.
    """

    agent: str
    arm: str
    variant: str | None
    skill: float | None
    reason: str
    ci: Interval | None
    interval_from: str
    pairs_scored: int
    pairs_in_set: int
    n_atoms: int
    n_answered: int
    rank: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Board:
    """A task set's board.

    Attributes:
        notes: How to read this board, made from its records.
        left_out: What was found and does not count, in words.
    """

    task_set: TaskSet
    agents: tuple[Agent, ...]
    rankings: tuple[Ranking, ...]
    suite: tuple[SuiteRow, ...]
    suite_tests: tuple[Test, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def labels(self) -> dict[str, str]:
        """Key of an agent to its label."""
        return {agent.key: agent.label for agent in self.agents}

    def as_plain(self) -> dict[str, Any]:
        """For `--json`."""
        each, card = self.task_set, self.task_set.card
        plain = {
            "schema": SCHEMA,
            "benchmark": {key: card[key] for key in ("name", "version", "owner", "license")},
            "set": str(each.name),
            "task_set_hash": each.task_set_hash,
            "agents": [asdict(agent) | {"settings": dict(agent.settings)} for agent in self.agents],
            "rankings": [_ranking(ranking) for ranking in self.rankings],
            "suite": [asdict(row) for row in self.suite],
            "suite_tests": [asdict(test) for test in self.suite_tests],
            "notes": list(self.notes),
            "left_out": list(self.left_out),
        }
        found: dict[str, Any] = _lists(plain)
        return found


def _lists(value: Any) -> Any:
    """Plain data with lists where dataclasses have tuples, as JSON has them."""
    if isinstance(value, Mapping):
        return {key: _lists(each) for key, each in value.items()}
    return [_lists(each) for each in value] if isinstance(value, list | tuple) else value


def _ranking(ranking: Ranking) -> dict[str, Any]:
    plain = asdict(ranking)
    plain["preliminary"], plain["counts"] = ranking.preliminary, ranking.counts
    return plain
