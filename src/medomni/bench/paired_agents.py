"""Two agents on the same atoms: the difference of their scores, its interval, a test, wins and losses.

The test swaps the two agents' answers within atoms at random (for auc their ranks, since two agents use the
scale of probabilities differently). The interval resamples atoms within strata, both agents' answers
together. What is missing takes the worst case on both sides.

Leaves to others: whether two runs may be compared (`comparing`), several pairs at once (`suites`).

Source: permutation test of paired data (Fisher, The Design of Experiments, 1935); Efron and Tibshirani, An
Introduction to the Bootstrap (1993), 13.3 (percentile interval).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medomni.bench import draws, metrics
from medomni.bench.intervals import TAIL, doubled_midranks, shown
from medomni.bench.joining import Joined
from medomni.bench.scoring import DEGENERATE, HARNESS_ERROR, NO_RANGE, SINGLE_CLASS, value_of
from medomni.core.stats import quantile

METHOD = (
    "two-sided permutation test, 10000 random swaps of the two answers within atoms (ranks for auc); paired "
    "percentile bootstrap within strata, 10000 resamples, 95%"
)
# Differences of quotients carry rounding in their last bits, which must break no tie.
_ALIKE = 1e-12

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]
type Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Paired:
    """A paired result; the difference is positive where the first agent is better.

    Attributes:
        n: Atoms compared.
        better: Atoms on which the first is better; likewise `equal` and `worse`.
        reason: Why there is no difference; None where there is one.
    """

    n: int
    difference: float | None
    ci: tuple[float, float] | None
    p: float | None
    better: int
    equal: int
    worse: int
    reason: str | None

    def figures(self, p_holm: float | None) -> dict[str, Any]:
        """As the contracts have it."""
        return {
            "n": self.n,
            "difference": self.difference,
            "ci": None if self.ci is None else list(self.ci),
            "p": self.p,
            "p_holm": p_holm,
            "better": self.better,
            "equal": self.equal,
            "worse": self.worse,
            "reason": self.reason,
        }


class Scorer:
    """Scores of two agents on many resamples, or with many swaps, at once. Higher is better: mae is negated.

    Args:
        first: Of the first agent, with nothing missing any more.
        second: Of the second agent, on the same atoms.
    """

    def __init__(self, first: Joined, second: Joined) -> None:
        self._metric = first.target.metric
        self._classes = first.target.classes or 0
        self._y = np.array(first.truth, dtype=np.float64 if self._metric == "mae" else np.int64)
        sides = [list(side.filled or ()) for side in (first, second)]
        if self._metric == "auc":
            self._sides: Any = [doubled_midranks(side) for side in sides]
        elif self._metric == "qwk":
            self._sides = [np.array(side, dtype=np.int64) for side in sides]
        else:
            self._sides = [np.array(metrics.absolute_errors(first.truth, side)) for side in sides]

    def swapped(self, bits: Booleans) -> tuple[Floats, Floats]:
        """Both scores, `(B,)` each, with the answers of atoms with a set bit swapped. NaN where it is 0/0."""
        if self._metric == "auc":
            return self._auc_swapped(bits), self._auc_swapped(~bits)
        a, b = self._sides
        first, second = np.where(bits, b, a), np.where(bits, a, b)
        if self._metric == "mae":
            return -_row_sums(first) / len(self._y), -_row_sums(second) / len(self._y)
        return self._kappas_of(first), self._kappas_of(second)

    def resampled(self, weights: Integers) -> tuple[Floats, Floats]:
        """Both scores, `(B,)` each, where atoms count as often as they were drawn. NaN where it is 0/0."""
        found: dict[str, Callable[[Integers, Any], Floats]] = {
            "auc": self._auc_resampled,
            "qwk": self._kappas_resampled,
            "mae": self._errors_resampled,
        }
        one = found[self._metric]
        return one(weights, self._sides[0]), one(weights, self._sides[1])

    def by_atom(self) -> Floats:
        """How much better the first is on each atom, `(N,)`; only the sign has a meaning."""
        a, b = self._sides
        if self._metric == "mae":
            return np.asarray(b - a)
        if self._metric == "qwk":
            return np.asarray(np.abs(b - self._y) - np.abs(a - self._y), dtype=np.float64)
        found = np.zeros(len(self._y))
        positive = self._y == 1
        placed = [_concordance(side[positive], side[~positive]) for side in (a, b)]
        found[positive] = placed[0].sum(axis=1) - placed[1].sum(axis=1)
        found[~positive] = placed[0].sum(axis=0) - placed[1].sum(axis=0)
        return found

    def _auc_swapped(self, bits: Booleans) -> Floats:
        positive = self._y == 1
        total = np.zeros(len(bits))
        for i, ours in enumerate(self._sides):
            chosen = (bits[:, positive] == bool(i)).astype(np.float64)
            for j, others in enumerate(self._sides):
                against = (bits[:, ~positive] == bool(j)).astype(np.float64)
                # Whole numbers below 2^53: exact in whatever order they are added.
                total += ((chosen @ _concordance(ours[positive], others[~positive])) * against).sum(axis=1)
        return np.asarray(total / (2 * int(positive.sum()) * int((~positive).sum())))

    def _auc_resampled(self, weights: Integers, side: Integers) -> Floats:
        positive = self._y == 1
        ours, others = weights[:, positive].astype(np.float64), weights[:, ~positive].astype(np.float64)
        won = ((ours @ _concordance(side[positive], side[~positive])) * others).sum(axis=1)
        return _quotient(won, 2 * ours.sum(axis=1) * others.sum(axis=1))

    def _kappas_of(self, answers: Integers) -> Floats:
        classes = np.arange(self._classes)
        by_truth = (self._y[:, None] == classes).sum(axis=0)
        by_answer = np.stack([(answers == k).sum(axis=1) for k in classes], axis=1)
        by_chance = by_answer @ (((classes[:, None] - classes) ** 2) @ by_truth)
        observed = ((self._y - answers) ** 2).sum(axis=1)
        return _quotient(by_chance - len(self._y) * observed, by_chance)

    def _kappas_resampled(self, weights: Integers, side: Integers) -> Floats:
        classes = np.arange(self._classes)
        by_truth = weights @ (self._y[:, None] == classes).astype(np.int64)
        by_answer = weights @ (side[:, None] == classes).astype(np.int64)
        by_chance = ((by_truth @ ((classes[:, None] - classes) ** 2)) * by_answer).sum(axis=1)
        observed = weights @ (self._y - side) ** 2
        return _quotient(by_chance - len(self._y) * observed, by_chance)

    def _errors_resampled(self, weights: Integers, side: Floats) -> Floats:
        return -_row_sums(weights * side) / len(self._y)


def compare_target(
    first: Joined, second: Joined, *, seed: int, failed: bool = False, resamples: int = draws.RESAMPLES
) -> Paired:
    """Compare two agents on one target.

    Args:
        first: Truth and answers of the first agent.
        second: The same of the second; on the same atoms.
        seed: Of the draws.
        failed: Whether our own machinery failed on some atom of either: then there is no result.
        resamples: How many resamples, and how many swaps.
    """
    n = len(first.names)
    reason = HARNESS_ERROR if failed else _why_not(first, second)
    if reason is not None:
        return Paired(n, None, None, None, 0, 0, 0, reason)
    scorer = Scorer(first, second)
    signs = scorer.by_atom()
    better, worse = int((signs > _ALIKE).sum()), int((signs < -_ALIKE).sum())
    difference = observed_difference(scorer, n)
    count = 0
    for bits in draws.tosses(n, draws=resamples, seed=seed):
        a, b = scorer.swapped(bits)
        count += int((np.abs(a - b) >= abs(difference) - _ALIKE).sum())
    found = [
        a - b for a, b in map(scorer.resampled, draws.weights(first.strata, resamples=resamples, seed=seed))
    ]
    interval = percentiles(np.concatenate(found), resamples)
    p = shown((1 + count) / (1 + resamples))
    return Paired(n, shown(difference), interval, p, better, n - better - worse, worse, None)


def observed_difference(scorer: Scorer, n: int) -> float:
    """The difference of the two scores as they are."""
    a, b = scorer.swapped(np.zeros((1, n), dtype=np.bool_))
    return float(a[0] - b[0])


def percentiles(values: Floats, resamples: int) -> tuple[float, float] | None:
    """Both ends of the percentile interval; resamples that are 0/0 are left out, half of them at most.

    Source: Efron and Tibshirani 1993, 13.3.
    """
    kept = np.sort(values[np.isfinite(values)]).tolist()
    if 2 * len(kept) < resamples:
        return None
    return shown(quantile(kept, TAIL)), shown(quantile(kept, 1 - TAIL))


def _why_not(first: Joined, second: Joined) -> str | None:
    if first.filled is None or second.filled is None:
        return NO_RANGE
    if value_of(first, first.filled) is None or value_of(second, second.filled) is None:
        return SINGLE_CLASS if first.target.metric == "auc" else DEGENERATE
    # With one true class any kappa is 0 or 0/0: there is nothing to tell two agents apart by.
    return DEGENERATE if first.target.metric == "qwk" and len(set(first.truth)) == 1 else None


def _concordance(ours: Integers, others: Integers) -> Floats:
    """`(P, Q)`: 2 where ours is above, 1 where they are equal, else 0."""
    wins = (ours[:, None] > others).astype(np.float64)
    return np.asarray(2 * wins + (ours[:, None] == others))


def _quotient(above: Any, below: Any) -> Floats:
    found = np.full(len(above), np.nan)
    sound = below > 0
    found[sound] = above[sound] / below[sound]
    return found


def _row_sums(rows: Any) -> Floats:
    """Sums along each row, from left to right: a running sum, unlike `np.sum`, has only one order."""
    return np.asarray(np.add.accumulate(rows, axis=1)[:, -1], dtype=np.float64)


def same_answers(first: Joined, second: Joined) -> bool:
    """Whether two agents answered the same, what is missing included."""
    return all(
        (a.status, a.value) == (b.status, b.value) for a, b in zip(first.given, second.given, strict=True)
    )
