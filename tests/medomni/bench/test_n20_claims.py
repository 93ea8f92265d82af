"""The figures of `docs/explanation/what-n20-can-say.md`, recomputed with what the project scores with."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from medomni.bench.intervals import auc_interval
from medomni.bench.metrics import auc, qwk

PAGE = Path(__file__).resolve().parents[3] / "docs" / "explanation" / "what-n20-can-say.md"


@cache
def ways(positives: int, negatives: int, wins: int) -> int:
    """Orders of both groups in which positives win so many comparisons."""
    if wins < 0:
        return 0
    if not positives or not negatives:
        return int(wins == 0)
    return ways(positives - 1, negatives, wins - negatives) + ways(positives, negatives - 1, wins)


def needed(level: float, n: int = 10) -> float:
    """The least auc whose exact two-sided p is below the level."""
    counts = [ways(n, n, wins) for wins in range(n * n + 1)]
    total = math.comb(2 * n, n)
    return next(u / (n * n) for u in range(n * n // 2, n * n + 1) if 2 * sum(counts[u:]) / total < level)


def test_auc_that_beats_chance_at_ten_and_ten_is_as_the_page_says() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert f"**{needed(0.05):.2f}**" in text
    assert f"**{needed(0.05 / 33):.2f}** (Bonferroni)" in text


def test_qwk_of_random_answers_is_as_the_page_says() -> None:
    rng = np.random.default_rng(1)
    truth = [k for k in range(4) for _ in range(5)]
    found = [qwk(truth, rng.integers(0, 4, 20).tolist(), classes=4) for _ in range(3000)]
    values = sorted(value for value in found if value is not None)
    assert np.std(values) == pytest.approx(0.22, abs=0.015)
    assert values[int(0.975 * len(values))] == pytest.approx(0.44, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("true", "spread", "width"), [(0.6, 0.13, 0.48), (0.75, 0.11, 0.43), (0.9, 0.07, 0.31)]
)
def test_spread_and_width_of_auc_at_ten_and_ten_are_as_the_page_says(
    true: float, spread: float, width: float
) -> None:
    rng = np.random.default_rng(1)
    truth = [1] * 10 + [0] * 10
    shift = NormalDist().inv_cdf(true) * math.sqrt(2)
    values, widths = [], []
    for _ in range(2000):
        answers = rng.normal(size=20)
        answers[:10] += shift
        values.append(auc(truth, answers.tolist()))
        interval = auc_interval(truth, answers.tolist())
        assert interval is not None
        widths.append(interval.high - interval.low)
    assert np.std([value for value in values if value is not None]) == pytest.approx(spread, abs=0.008)
    assert np.mean(widths) == pytest.approx(width, abs=0.015)
