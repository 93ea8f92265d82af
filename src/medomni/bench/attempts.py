"""Several attempts at an atom become one answer, as the plan declared before the run.

`first` takes the first attempt and nothing else. `mean`, `median` (auc, mae) and `majority`, `median` (qwk)
take all of them, with the worst case for each that is missing, so that staying silent now and then gains
nothing. There is no best of k.

Leaves to others: the worst case (`joining`), scores.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from medomni.bench.answer_file import ANSWERED, MISSING, TargetAnswer
from medomni.bench.errors import ScoreError
from medomni.bench.joining import Truth, of_class, worst
from medomni.bench.targets import Target

_OF_METRIC = {
    "auc": ("first", "mean", "median"),
    "qwk": ("first", "majority", "median"),
    "mae": ("first", "mean", "median"),
}
_HARNESS_ERROR = "harness_error"


def combined(
    record: Mapping[str, Any], truth: Truth, targets: Sequence[Target]
) -> tuple[dict[str, dict[str, TargetAnswer]], tuple[str, ...]]:
    """The answer of each atom, by target; and the atoms whose counting attempts our own machinery failed.

    Args:
        record: A run record.
        truth: Of its pair.
        targets: Of its pair.

    Raises:
        ScoreError: `score-aggregate`: the plan's aggregate makes no answer of a target's kind.
    """
    plan = record["plan"]
    for target in targets:
        if plan["aggregate"] not in _OF_METRIC[target.metric]:
            raise ScoreError(
                f"the {plan['aggregate']} of answers is no answer for {target.name} ({target.metric})",
                where="plan.aggregate",
                hint=f"use {', '.join(_OF_METRIC[target.metric])}",
                code="score-aggregate",
            )
    numbers = (1,) if plan["aggregate"] == "first" else tuple(range(1, plan["attempts"] + 1))
    rows: dict[str, dict[int, Mapping[str, Any]]] = defaultdict(dict)
    for row in record["atoms"]:
        if row["attempt"] in numbers:
            rows[row["atom"]][row["attempt"]] = row
    failed = tuple(
        sorted(a for a, mine in rows.items() if any(r["status"] == _HARNESS_ERROR for r in mine.values()))
    )
    found: dict[str, dict[str, TargetAnswer]] = {}
    for target in targets:
        known = dict(zip(truth.names, truth.values[target.name], strict=True))
        found[target.name] = {
            atom: one_answer(
                [answer_of(mine.get(number), target.name) for number in numbers],
                target=target,
                truth=known[atom],
                aggregate=plan["aggregate"],
            )
            for atom, mine in rows.items()
        }
    return found, failed


def answer_of(row: Mapping[str, Any] | None, name: str) -> TargetAnswer:
    """What a row answers for a target."""
    told = None if row is None else row["targets"].get(name)
    if told is None:
        return TargetAnswer(MISSING, None, "it was not run" if row is None else "the record has no answer")
    return TargetAnswer(told["status"], told["value"], told["reason"])


def one_answer(
    answers: Sequence[TargetAnswer], *, target: Target, truth: float | int, aggregate: str
) -> TargetAnswer:
    """One answer of several attempts.

    Args:
        answers: In the order of the attempts, at least one.
        target: The target.
        truth: What is true, for the worst case.
        aggregate: `first`, `mean`, `median` or `majority`.
    """
    checked = [of_class(each, target) for each in answers]
    given = [each for each in checked if each.status == ANSWERED]
    if aggregate == "first" or not given:
        return checked[0]
    values = [_number(each, target, truth) for each in checked]
    if aggregate == "mean":
        # Of the decimals that were written: rounding must neither make nor break ties between atoms.
        exact = sum(Fraction(repr(float(value))) for value in values)
        return TargetAnswer(ANSWERED, float(exact / len(values)), None)
    if aggregate == "median" and target.metric != "qwk":
        return TargetAnswer(ANSWERED, statistics.median(values), None)
    if aggregate == "median":
        return TargetAnswer(ANSWERED, statistics.median_low(values), None)
    # The class of most attempts; of several such, the one that was answered first.
    return TargetAnswer(ANSWERED, Counter(values).most_common(1)[0][0], None)


def _number(each: TargetAnswer, target: Target, truth: float | int) -> float | int:
    if each.status == ANSWERED and each.value is not None:
        if target.metric == "mae" and target.range is not None:
            return min(max(each.value, target.range[0]), target.range[1])
        return each.value
    value = worst(target, truth)
    if target.metric == "auc":
        return 0.0 if truth == 1 else 1.0
    return (value or 0) + target.first_class if target.metric == "qwk" else value or 0.0
