"""How well one number of each patient tells the answer: 0.5 or 0 for not at all, 1 for wholly.

Leaves to others: which numbers there are (`features`), and from where on it is too well (`single_feature`).

Source: Mann and Whitney 1947 for the area under the curve as the chance of a right order, ties counting half;
Spearman 1904 for the correlation of ranks, ties having their mean rank.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


def ranks(values: Numbers) -> Numbers:
    """Ranks from 1, ties with their mean rank.

    Args:
        values: Finite numbers, one per patient.
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    counts = np.diff(np.append(starts, len(values)))
    found = np.empty(len(values))
    found[order] = np.repeat(starts + (counts + 1) / 2, counts)
    return found


def folded_auc(ranked: Numbers, positive: NDArray[np.bool_]) -> float:
    """The area under the curve of ranks for a class, from 0.5: a feature may point either way.

    Args:
        ranked: Of every patient, as `ranks` gives them.
        positive: Whether each is of the class; 0.5 where all or none are.
    """
    ones = int(positive.sum())
    zeros = len(positive) - ones
    if not ones or not zeros:
        return 0.5
    area = (float(ranked[positive].sum()) - ones * (ones + 1) / 2) / (ones * zeros)
    return max(area, 1 - area)


def spearman(ranked: Numbers, ranked_answers: Numbers) -> float:
    """The absolute correlation of ranks, 0 where one side is constant."""
    first, second = ranked - ranked.mean(), ranked_answers - ranked_answers.mean()
    spread = float(np.sqrt((first**2).sum() * (second**2).sum()))
    return min(1.0, abs(float((first * second).sum())) / spread) if spread else 0.0


def association(values: Numbers, answers: Numbers, kind: str) -> float:
    """How well a feature tells the answer.

    The area under the curve for a binary answer; for a number the correlation of ranks; for ordered classes
    the larger of that and the mean area of each class against the others.

    Args:
        values: The feature, one finite number per patient.
        answers: The answers; classes as numbers from 0.
        kind: `binary`, `ordinal` or `number`.
    """
    ranked = ranks(values)
    if kind == "binary":
        return folded_auc(ranked, answers > 0)
    along = spearman(ranked, ranks(answers))
    if kind == "number":
        return along
    areas = [folded_auc(ranked, answers == each) for each in np.unique(answers)]
    return max(along, float(np.mean(areas)))
