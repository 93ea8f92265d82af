"""The score of one target: a number or a reason, its interval, and what a reader should know beside it.

Leaves to others: joining, reading and writing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from medomni.bench import diagnostics, intervals, metrics
from medomni.bench.answer_file import ANSWERED, INVALID, MISSING
from medomni.bench.intervals import Interval, shown
from medomni.bench.joining import Joined

# Rises with any change of a number.
SCORER_VERSION = 1
SINGLE_CLASS, DEGENERATE, NO_RANGE, HARNESS_ERROR = "single_class", "degenerate", "no_range", "harness_error"
NO_INTERVAL = {
    "auc": "no interval: a class has fewer than two atoms",
    "qwk": "no interval: resampling cannot move the score",
    "mae": "no interval: fewer than two atoms, or no error at all",
}


@dataclass(frozen=True, slots=True)
class TargetScore:
    """One target's score.

    Attributes:
        metric: `auc`, `qwk` or `mae`.
        value: The score; None where there is none.
        reason: Why there is none.
        n: Atoms that count, answered or not.
        missing: Names of those without an answer.
        invalid: Names of those with an answer that is none of the target.
        reasons: Name to why, of both.
        interval: None where there is none.
        flags: Such as `constant`, sorted.
        skill: The score on the scale on which 1 is perfect and 0 is chance, or the cohort's median; None
            where it is not known. It stands among the secondary figures.
        secondary: Figures that do not rank.
    """

    metric: str
    value: float | None
    reason: str | None
    n: int
    missing: tuple[str, ...]
    invalid: tuple[str, ...]
    reasons: Mapping[str, str]
    interval: Interval | None
    flags: tuple[str, ...]
    skill: float | None
    secondary: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_answered(self) -> int:
        """How many were answered."""
        return self.n - len(self.missing) - len(self.invalid)

    def figures(self) -> dict[str, Any]:
        """Everything but who was not answered, in the order of the contract."""
        ends = None if self.interval is None else [self.interval.low, self.interval.high]
        method = None if self.interval is None else self.interval.method
        return {
            "metric": self.metric,
            "value": self.value,
            "reason": self.reason,
            "n": self.n,
            "n_answered": self.n_answered,
            "ci": ends,
            "ci_method": method,
            "flags": list(self.flags),
            "secondary": dict(self.secondary),
        }


def score_target(joined: Joined, *, seed: int, failed: Sequence[str] = ()) -> TargetScore:
    """Score one target.

    Args:
        joined: Truth and answers.
        seed: Of the draws.
        failed: Atoms on which our own machinery failed: with any of them there is no score.
    """
    value, reason = (None, HARNESS_ERROR) if failed else _value(joined)
    interval = None if value is None else _interval(joined, seed)
    target = joined.target
    skill = None if value is None else metrics.skill(target.metric, value, mae_ref=target.mae_ref)
    secondary = {"skill": None if skill is None else shown(skill), **diagnostics.secondary(joined)}
    if value is not None:
        secondary |= _drawn(joined, interval, seed)
    reasons = {
        name: each.reason or each.status
        for name, each in zip(joined.names, joined.given, strict=True)
        if each.status != ANSWERED
    }
    return TargetScore(
        target.metric,
        value,
        reason,
        len(joined.names),
        tuple(joined.of_status(MISSING)),
        tuple(joined.of_status(INVALID)),
        reasons,
        interval,
        tuple(sorted({*diagnostics.flags(joined), *(() if reasons else _extremes(target.metric, value))})),
        secondary["skill"],
        secondary,
    )


def value_of(joined: Joined, filled: Sequence[float | int]) -> float | None:
    """The score of answers of which none is missing."""
    whole = [int(y) for y in joined.truth]
    if joined.target.metric == "auc":
        return metrics.auc(whole, [float(a) for a in filled])
    if joined.target.metric == "qwk":
        return metrics.qwk(whole, [int(a) for a in filled], classes=joined.target.classes or 0)
    return metrics.mae(joined.truth, [float(a) for a in filled])


def _value(joined: Joined) -> tuple[float | None, str | None]:
    if joined.filled is None:
        return None, NO_RANGE
    found = value_of(joined, joined.filled)
    if found is not None:
        return found, None
    return None, SINGLE_CLASS if joined.target.metric == "auc" else DEGENERATE


def _interval(joined: Joined, seed: int) -> Interval | None:
    filled = joined.filled or ()
    truth = [int(y) for y in joined.truth]
    if joined.target.metric == "auc":
        return intervals.auc_interval(truth, [float(a) for a in filled])
    if joined.target.metric == "mae":
        return intervals.mae_interval(joined.truth, [float(a) for a in filled])
    return intervals.qwk_interval(
        truth,
        [int(a) for a in filled],
        classes=joined.target.classes or 0,
        strata=joined.strata,
        seed=seed,
    )


def _drawn(joined: Joined, interval: Interval | None, seed: int) -> dict[str, Any]:
    """What needs draws: the test against chance; and what became of the resamples."""
    metric, filled = joined.target.metric, joined.filled or ()
    found: dict[str, Any] = {}
    truth = [int(y) for y in joined.truth]
    if metric == "auc":
        found["p_chance"] = shown(intervals.chance_p_of_auc(truth, [float(a) for a in filled], seed=seed))
    if metric == "qwk":
        found["p_chance"] = shown(intervals.chance_p_of_qwk(truth, [int(a) for a in filled], seed=seed))
        found["resamples_discarded"] = 0 if interval is None else interval.discarded
    if interval is None:
        found["no_ci"] = NO_INTERVAL[metric]
    return found


def _extremes(metric: str, value: float | None) -> list[str]:
    if value is None:
        return []
    best = 0.0 if metric == "mae" else 1.0
    if math.isclose(value, best, rel_tol=0, abs_tol=0):
        return ["perfect"]
    return ["reversed"] if metric == "auc" and value == 0 else []
