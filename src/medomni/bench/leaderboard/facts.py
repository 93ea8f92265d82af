"""What one score record says of one target, in the words of a board: skill, use of time and money, warnings.

Leaves to others: scores and intervals (`medomni.bench.scoring`), ranks (`board`).

Source: this project's own definition of skill, as `medomni.bench.metrics.skill` has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medomni.bench.leaderboard.model import Interval, Test, Usage
from medomni.core.ranking import Decision

LOWER_IS_BETTER = frozenset({"mae"})
# Where no agent that always says the same lies; mae has no such number that is the same everywhere.
CONSTANT_ANSWER: Mapping[str, float] = {"auc": 0.5, "qwk": 0.0}
_LOWEST_SKILL = -1.0
# The flag of a run with `--limit-atoms` goes on with how many there were.
_TRIAL = "limited-to-"


def skill_of(score: Mapping[str, Any]) -> float | None:
    """The score on a scale on which 1 is perfect and 0 no better than a constant; at least -1.

    auc gives 2 auc - 1, qwk itself, mae 1 - mae / (mae of the cohort's median), which the record's secondary
    figures hold as `skill`. None where there is no score, or no such figure.
    """
    value = score["value"]
    if value is None:
        return None
    if score["metric"] == "auc":
        return 2.0 * float(value) - 1.0
    if score["metric"] == "qwk":
        return max(_LOWEST_SKILL, float(value))
    found = score.get("skill", score["secondary"].get("skill"))
    return max(_LOWEST_SKILL, float(found)) if _is_number(found) else None


def is_better(metric: str, first: float, second: float) -> bool:
    """Whether the first score is the better one."""
    return first < second if metric in LOWER_IS_BETTER else first > second


def interval_of(ends: Any) -> Interval | None:
    """An interval of a record."""
    return None if ends is None else (float(ends[0]), float(ends[1]))


def paired_test(first: str, second: str, result: Mapping[str, Any], said: Decision) -> Test:
    """A record's paired result, with what it says on its board."""
    return Test(
        first=first,
        second=second,
        n=result["n"],
        difference=result["difference"],
        ci=interval_of(result["ci"]),
        p=result["p"],
        p_holm=said.p_holm,
        wins=result["better"],
        ties=result["equal"],
        losses=result["worse"],
        better=said.better,
    )


def usage_of(record: Mapping[str, Any]) -> Usage:
    """What answering took, where the record says so."""
    usage = record.get("usage") or {}
    seconds, money = usage.get("seconds") or {}, usage.get("cost_usd") or {}
    return Usage(
        median_seconds=_number(seconds.get("median")),
        p95_seconds=_number(seconds.get("p95")),
        median_usd=_number(money.get("median")),
        p95_usd=_number(money.get("p95")),
        total_usd=_number(money.get("total")),
    )


def is_trial(record: Mapping[str, Any]) -> bool:
    """Whether a run was started on some of the atoms only, which no score of a pair can come from."""
    return any(str(flag).startswith(_TRIAL) for flag in record["integrity"])


def environment_of(record: Mapping[str, Any]) -> str:
    """Where it ran, in a word."""
    environment = record["environment"]
    return "imported from v0.2" if environment is None else str(environment["kind"])


def warnings_of(record: Mapping[str, Any]) -> tuple[str, ...]:
    """What a reader should know of the run beside its score."""
    found = [str(flag) for flag in record["integrity"]]
    environment = record["environment"] or {}
    lacking = sorted(name for name, held in environment.get("limits_held", {}).items() if not held)
    if lacking:
        found.append(f"limits not held: {', '.join(lacking)}")
    if environment.get("widened"):
        found.append(f"could reach: {', '.join(environment['widened'])}")
    counts = record["counts"]
    for status, words in (("timeout", "timed out"), ("agent_error", "agent failed")):
        if counts[status]:
            found.append(f"{words} on {counts[status]} of {counts['atoms']} atoms")
    plan = record["plan"]
    if plan is not None and plan["attempts"] > 1:
        found.append(f"{plan['attempts']} attempts per atom, {plan['aggregate']} of them counts")
    return tuple(dict.fromkeys(found))


def _number(value: Any) -> float | None:
    return float(value) if _is_number(value) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
