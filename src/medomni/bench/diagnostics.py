"""What stands beside a score and never ranks: coverage, calibration, the confusion matrix, bias, warnings.

All of it is over the answered atoms alone, beside a score that is over all of them. No figure here tells who
answered what.

Leaves to others: scores and their intervals (`scoring`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Any

from medomni.bench import metrics
from medomni.bench.answer_file import ANSWERED
from medomni.bench.intervals import doubled_midranks, shown
from medomni.bench.joining import Joined

# Answers in another unit differ by such a factor: days and hours, mg/dL and mmol/L, % and mmol/mol.
_UNIT_FACTORS = (24.0, 60.0, 18.0, 10.93, 88.4)
_NEAR = 0.1


def flags(joined: Joined) -> list[str]:
    """Warnings of a target's answers."""
    truth, answers = joined.answered()
    found = []
    if not answers:
        found.append("nothing_answered")
    if len(answers) > 1 and len(set(answers)) == 1:
        found.append("constant")
    if joined.clipped:
        found.append("clipped")
    metric = joined.target.metric
    if metric == "qwk" and len(set(joined.truth)) < (joined.target.classes or 0):
        found.append("classes_without_atoms")
    if metric == "mae":
        if joined.target.range is None:
            found.append("no_range")
        found += _unit_flags(joined, truth)
    return found


def _unit_flags(joined: Joined, truth: Sequence[float]) -> list[str]:
    """Whether the answers as they were written look like another unit's."""
    raw = [each.value for each in joined.given if each.status == ANSWERED and each.value is not None]
    ratios = [abs(a) / y for a, y in zip(raw, truth, strict=True) if y > 0]
    if len(ratios) < 2:
        return []
    middle = median(ratios)
    for factor in _UNIT_FACTORS:
        for times in (factor, 1 / factor):
            if abs(middle / times - 1) <= _NEAR:
                return [f"unit_factor_{times:.3g}"]
    return []


def secondary(joined: Joined) -> dict[str, Any]:
    """The figures of a target's metric."""
    truth, answers = joined.answered()
    found: dict[str, Any] = {
        "coverage": shown(len(answers) / len(joined.names)),
        "answered_only": {"value": _score(joined, truth, answers), "n": len(answers)},
        "distinct_answers": len(set(answers)),
    }
    if joined.target.metric == "auc":
        return found | _probabilities(joined, truth, answers)
    if joined.target.metric == "qwk":
        return found | _classes(joined, truth, answers)
    return found | _numbers(joined, truth, answers)


def _score(joined: Joined, truth: Sequence[float], answers: Sequence[float]) -> float | None:
    """The score of the answered alone."""
    whole = [int(y) for y in truth]
    if joined.target.metric == "auc":
        return metrics.auc(whole, answers)
    if joined.target.metric == "qwk":
        return metrics.qwk(whole, [int(a) for a in answers], classes=joined.target.classes or 0)
    return metrics.mae(truth, answers)


def _probabilities(joined: Joined, truth: Sequence[float], answers: Sequence[float]) -> dict[str, Any]:
    squares = [(a - y) ** 2 for a, y in zip(answers, truth, strict=True)]
    by_class = [[a for a, y in zip(answers, truth, strict=True) if y == k] for k in (0, 1)]
    found: dict[str, Any] = {
        "tie_share": _tie_share(by_class[0], by_class[1]),
        "brier": _mean(squares),
        "brier_at_natural_prevalence": None,
        "calibration_in_the_large": None,
    }
    share = joined.target.share
    if share is not None and all(by_class):
        parts = [
            weight * math.fsum((a - k) ** 2 for a in ours) / len(ours)
            for k, (weight, ours) in enumerate(zip(share, by_class, strict=True))
        ]
        expected = [
            weight * math.fsum(ours) / len(ours) for weight, ours in zip(share, by_class, strict=True)
        ]
        found["brier_at_natural_prevalence"] = shown(math.fsum(parts))
        found["calibration_in_the_large"] = shown(math.fsum([*expected, -share[1]]))
    return found


def _tie_share(negatives: Sequence[float], positives: Sequence[float]) -> float | None:
    """The share of positive-negative pairs with equal answers."""
    pairs = len(negatives) * len(positives)
    equal = sum(positives.count(value) * negatives.count(value) for value in set(positives))
    return shown(equal / pairs) if pairs else None


def _classes(joined: Joined, truth: Sequence[float], answers: Sequence[float]) -> dict[str, Any]:
    pairs = [(int(y), int(a)) for y, a in zip(truth, answers, strict=True)]
    matrix = metrics.confusion(
        [y for y, _ in pairs], [a for _, a in pairs], classes=joined.target.classes or 0
    )
    return {
        "confusion": matrix,
        "agreement": _mean([float(y == a) for y, a in pairs]),
        "mean_signed_error": _mean([float(a - y) for y, a in pairs]),
    }


def _numbers(joined: Joined, truth: Sequence[float], answers: Sequence[float]) -> dict[str, Any]:
    errors = metrics.absolute_errors(truth, answers)
    return {
        "median_absolute_error": shown(median(errors)) if errors else None,
        "bias": _mean([a - y for a, y in zip(answers, truth, strict=True)]),
        "spearman": spearman(truth, answers),
        "mae_ref": joined.target.mae_ref,
        "unit": joined.target.unit,
    }


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The correlation of midranks; None where one side is constant, or empty.

    Source: Spearman, Am. J. Psychol. 15 (1904) 72-101.
    """
    if not first:
        return None
    a, b = (doubled_midranks(side).tolist() for side in (first, second))
    centre = len(first) + 1
    both = sum((x - centre) * (y - centre) for x, y in zip(a, b, strict=True))
    spreads = sum((x - centre) ** 2 for x in a) * sum((y - centre) ** 2 for y in b)
    return shown(both / math.sqrt(spreads)) if spreads else None


def _mean(values: Sequence[float]) -> float | None:
    return shown(math.fsum(values) / len(values)) if values else None
