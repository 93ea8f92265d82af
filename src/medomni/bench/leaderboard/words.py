"""Numbers of a board as text, the same in the terminal and on the page.

Leaves to others: which numbers there are (`board`), and laying them out (`terminal`, `page`).
"""

from __future__ import annotations

from collections.abc import Sequence

from medomni.bench.leaderboard import facts
from medomni.bench.leaderboard.model import Ranking, Row, Test

DASH = "\N{EN DASH}"
_SHARES = frozenset({"auc", "qwk"})


def number(value: float | None, metric: str = "auc") -> str:
    """Two decimals for auc and qwk, three digits that count for others; a dash for no number."""
    if value is None:
        return DASH
    text = f"{value:.2f}" if metric in _SHARES or abs(value) >= 10 else f"{value:.3g}"
    return text.replace("-", "\N{MINUS SIGN}")


def interval(ci: Sequence[float] | None, metric: str = "auc") -> str:
    """`0.52 to 0.81`, or a dash."""
    return DASH if ci is None else f"{number(ci[0], metric)} to {number(ci[1], metric)}"


def rank(found: tuple[int, int] | None) -> str:
    """`1`, `1 to 3`, or a dash."""
    if found is None:
        return DASH
    return f"{found[0]}" if found[0] == found[1] else f"{found[0]} to {found[1]}"


def p_value(p: float | None) -> str:
    """Two digits that count; a dash for no test."""
    return DASH if p is None else f"{p:.2g}"


def coverage(row: Row) -> str:
    """`19/20`: atoms with a valid answer, of all."""
    return f"{row.n_answered}/{row.n}"


def direction(metric: str) -> str:
    """Which way is better."""
    return "lower is better" if metric in facts.LOWER_IS_BETTER else "higher is better"


def seconds(value: float | None) -> str:
    """`3.2 s`, or a dash."""
    if value is None:
        return DASH
    return f"{value:.0f} s" if value >= 100 else f"{value:.3g} s"


def money(value: float | None) -> str:
    """`$0.012`, or a dash."""
    if value is None:
        return DASH
    return f"${value:.2f}" if value >= 0.1 or value == 0 else f"${value:.2g}"


def place(arm: str, variant: str | None) -> str:
    """`encoders`, or `modality-ladder r1`."""
    return arm if variant is None else f"{arm} {variant}"


def title(ranking: Ranking) -> str:
    """What a ranking is of."""
    return f"{ranking.pair}, {ranking.target} ({ranking.metric}), {place(ranking.arm, ranking.variant)}"


def remarks(row: Row) -> str:
    """Everything that a reader should know of a row beside its score, in one line."""
    found = [row.not_ranked] if row.not_ranked else []
    found += [*row.flags, *row.warnings]
    if row.n_invalid:
        found.append(f"{row.n_invalid} invalid answers")
    if row.hash_differs:
        found.append("config hash differs")
    if (row.runs_started, row.runs_scored) != (1, 1):
        found.append(f"runs: {row.runs_started} started, {row.runs_scored} scored")
    return "; ".join(found)


def verdict(test: Test, labels: dict[str, str]) -> str:
    """`rule is better`, or that they are not separated."""
    return f"{labels[test.better]} is better" if test.better else "not separated"
