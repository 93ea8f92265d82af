"""The one ranking rule of every board: the rank interval, from paired tests corrected over the board.

With few units the order of scores is mostly chance. A rank interval says only what the tests say: how many
are certainly better, and how many certainly worse. A pair without a test counts as not separated.

Leaves to others: the tests themselves (`paired`, `medomni.bench`), and what is compared with what.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from medomni.core.errors import StatisticsError
from medomni.core.paired import holm

LEVEL = 0.05
RANK_METHOD = "paired two-sided tests at 0.05, Holm over the board"


@dataclass(frozen=True, slots=True)
class PairedTest:
    """A test between two: the difference is positive where the first is better; None is no number."""

    first: str
    second: str
    difference: float | None
    p: float | None


@dataclass(frozen=True, slots=True)
class Decision:
    """What a test says on its board: the adjusted p, and who is better; None where it separates nobody."""

    p_holm: float | None
    better: str | None
    worse: str | None


def decide(tests: Sequence[PairedTest], *, level: float = LEVEL) -> list[Decision]:
    """What each test of a board says, in their order, adjusted over all of them.

    A test without a p or without a difference separates nobody, and neither does a difference of zero.

    Raises:
        StatisticsError: A p or a level outside 0 to 1, a difference that is not finite, one against itself.
    """
    if not 0 < level < 1:
        raise StatisticsError(f"a level must lie between 0 and 1, not {level}")
    for test in tests:
        if test.first == test.second:
            raise StatisticsError(f"{test.first} is tested against itself")
        if test.difference is not None and not math.isfinite(test.difference):
            raise StatisticsError("a difference is not a finite number")
    found = []
    for test, adjusted in zip(tests, holm([test.p for test in tests]), strict=True):
        difference = test.difference or 0.0
        if adjusted is None or adjusted >= level or difference == 0:
            found.append(Decision(adjusted, None, None))
        elif difference > 0:
            found.append(Decision(adjusted, test.first, test.second))
        else:
            found.append(Decision(adjusted, test.second, test.first))
    return found


def rank_intervals(
    names: Sequence[str], *, separated: Iterable[tuple[str, str]]
) -> dict[str, tuple[int, int]]:
    """Name to `(1 + number significantly better, n - number significantly worse)`, in the order given.

    Args:
        names: Everyone who is ranked, once each; n is their number.
        separated: `(better, worse)` for each two that a test separates. Others among them are passed over, so
            that a test against somebody who has no number ranks nobody.

    Raises:
        StatisticsError: A name that is there twice, or two of whom each is said to be better.
    """
    if len(set(names)) != len(names):
        raise StatisticsError("a name is ranked twice")
    pairs = {(better, worse) for better, worse in separated if better in names and worse in names}
    for better, worse in pairs:
        if (worse, better) in pairs:
            raise StatisticsError(f"{better} and {worse} are each said to be better")
    above = dict.fromkeys(names, 0)
    below = dict.fromkeys(names, 0)
    for better, worse in pairs:
        above[worse] += 1
        below[better] += 1
    return {name: (1 + above[name], len(names) - below[name]) for name in names}
