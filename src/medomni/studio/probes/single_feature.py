"""The probe for restated answers: no single number of the evidence may tell the answer nearly by itself.

A feature counts in two ways: over the patients who have it, if they are many; and over all, where whoever
lacks it has less than everybody else.

Leaves to others: the features (`features`), whom to ask (`build`), what the open demo's 30 people may show.

Source: this project's own bounds; codes of the same admission predict a death with 0.97 and more (Ramadan et
al. 2025).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from medomni.core.issues import Issue, Severity
from medomni.studio.probes.association import Numbers, association
from medomni.studio.probes.features import Feature, FeatureTable

CODE = "leak-single-feature"
WARNS_FROM = 0.85
# By release class: how many eligible patients are asked. In the demo everybody is.
SIZES = {"real": 500, "dummy": 100, "demo": None}
_LEAST_SHARE = 0.3
_LEAST_PEOPLE = 10
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Found:
    """A feature and how well it tells the answer, from 0 to 1."""

    feature: Feature
    strength: float
    people: int


def strongest(table: FeatureTable, label: str, *, kind: str, least: float = WARNS_FROM) -> list[Found]:
    """The strongest feature of every code, or of a table without codes, that tells the answer so well.

    Args:
        table: Features of several patients with their answers.
        label: Whose answers.
        kind: `binary`, `ordinal` or `number`.
        least: A strength.
    """
    answers = np.array(table.answers[label])
    if len(np.unique(answers)) < 2:
        return []
    found = []
    for feature in table.features():
        who, values = table.column(feature)
        strength = _strength(who.astype(np.intp), values, answers, kind)
        if strength >= least:
            found.append(Found(feature, strength, len(who)))
    found.sort(key=lambda each: (-each.strength, each.feature))
    # A value and its number, the first and the last: of every code the strongest says enough.
    best: dict[tuple[str, str], Found] = {}
    for one in found:
        best.setdefault((one.feature.table, one.feature.code), one)
    return list(best.values())


def _strength(who: np.ndarray, values: Numbers, answers: Numbers, kind: str) -> float:
    """The better of the two ways in which a feature counts."""
    if len(who) < _needed(answers, kind):
        return 0.0
    everybody = np.full(len(answers), float(values.min()) - 1.0)
    everybody[who] = values
    best = association(everybody, answers, kind)
    theirs = answers[who]
    enough = len(who) >= max(3 * _LEAST_PEOPLE, _LEAST_SHARE * len(answers))
    if enough and len(who) < len(answers) and _enough_of_each(theirs, kind):
        best = max(best, association(values, theirs, kind))
    return best


def _needed(answers: Numbers, kind: str) -> float:
    """How many patients must have a feature, for it to tell the answer well over all of them."""
    if kind != "binary":
        return _LEAST_SHARE * len(answers)
    ones = float((answers > 0).sum())
    return min(ones, len(answers) - ones) * 2 * (WARNS_FROM - 0.5)


def _enough_of_each(answers: Numbers, kind: str) -> bool:
    if kind == "number":
        return True
    counts = np.unique(answers, return_counts=True)[1]
    return len(counts) > 1 and int(counts.min()) >= _LEAST_PEOPLE


def single_feature_issues(
    table: FeatureTable,
    label: str,
    *,
    kind: str,
    fails_from: float,
    release_class: str,
    where: Callable[[Feature], str],
) -> Iterator[Issue]:
    """What the probe says: errors above `fails_from`, warnings from `WARNS_FROM`; only warnings for the demo.

    Args:
        table: Features of the patients asked.
        label: Whose answers.
        kind: Of the answer.
        fails_from: The label's `max_single_feature`.
        release_class: `real`, `demo` or `dummy`.
        where: Gives atom, table, column and row of a feature.
    """
    for each in strongest(table, label, kind=kind, least=min(WARNS_FROM, fails_from))[:_SHOWN]:
        fails = each.strength > fails_from and release_class != "demo"
        yield Issue(
            CODE,
            Severity.ERROR if fails else Severity.WARNING,
            where(each.feature),
            f"{each.feature} tells {label} with a strength of {each.strength:.3f}"
            f" ({each.people} of {table.people} patients have it)",
            "add a guard to the label if it restates the answer",
        )
