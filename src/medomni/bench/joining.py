"""Truth and answers, joined by the atom's (or the patient's) name and never by position.

The truth decides who counts: everybody in it is in the denominator, whatever was answered. What is missing or
invalid takes the worst case and is named.

Leaves to others: reading answer files (`answer_file`) and run records (`records`), scores (`scoring`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path

from medomni.bench.answer_file import ANSWERED, INVALID, MISSING, TargetAnswer
from medomni.bench.errors import ScoreError
from medomni.bench.metrics import worst_class, worst_number, worst_probability
from medomni.bench.targets import Target
from medomni.core.files import Document, read_csv

FIRST_COLUMNS = ("patient", "atom")
ALL = "all"
_LARGEST = Decimal(10) ** 15


@dataclass(frozen=True, slots=True)
class Truth:
    """What is true, in ascending order of names, so that the order of the file changes no digit.

    Attributes:
        names: The atoms, or patients; text.
        strata: The stratum of each; None where the file has none.
        values: Target to the truth of each: classes from 0 for auc and qwk.
    """

    names: tuple[str, ...]
    strata: tuple[str, ...] | None
    values: Mapping[str, tuple[float | int, ...]]


@dataclass(frozen=True, slots=True)
class Joined:
    """One target's truth and answers, in the order of names.

    Attributes:
        target: The target.
        names: The atoms, or patients.
        truth: Classes from 0 for auc and qwk.
        given: What was answered, after a look at the target's classes.
        filled: What is scored: answers, taken to the range for mae, and the worst case for all others; None
            where the worst case is not known.
        strata: The stratum of each.
        clipped: How many answers lay outside the range.
    """

    target: Target
    names: tuple[str, ...]
    truth: tuple[float | int, ...]
    given: tuple[TargetAnswer, ...]
    filled: tuple[float | int, ...] | None
    strata: tuple[str, ...]
    clipped: int

    def of_status(self, status: str) -> list[str]:
        """Names of those whose answer has a status."""
        return [name for name, each in zip(self.names, self.given, strict=True) if each.status == status]

    def answered(self) -> tuple[list[float | int], list[float | int]]:
        """Truth and answers of those who were answered; answers as they are scored."""
        rows = [
            (y, self._scored(each))
            for y, each in zip(self.truth, self.given, strict=True)
            if each.status == ANSWERED
        ]
        return [y for y, _ in rows], [a for _, a in rows]

    def _scored(self, each: TargetAnswer) -> float | int:
        return _scored(self.target, each)


def read_truth(path: Path, targets: Sequence[Target]) -> Truth:
    """The truth in a table whose first column is `patient` or `atom`.

    A column `stratum` is taken as the stratum. Ids are text: 007, 07 and 7 are three patients.

    Raises:
        DocumentNotFoundError: There is no such file.
        DocumentError: It is no strict CSV.
        ScoreError: `score-truth`: the first column is another one, a target has no column, an id is empty or
            there twice, or a truth is none of its target.
    """
    return truth_of(read_csv(path), targets)


def truth_of(table: Document, targets: Sequence[Target]) -> Truth:
    """The truth in a table that was read.

    Raises:
        ScoreError: As `read_truth`.
    """
    header, rows = table.value["header"], table.value["rows"]
    key = header[0]
    if key not in FIRST_COLUMNS:
        raise _wrong(table.where(("header", 0)), f"the first column is {key!r}", "it must be patient or atom")
    for target in targets:
        if target.name not in header[1:]:
            raise _wrong(
                table.name, f"there is no column {target.name!r}", f"there are: {', '.join(header[1:])}"
            )
    if not rows:
        raise _wrong(table.name, "it has no rows", "one row for each atom or patient")
    at: dict[str, int] = {}
    for index, row in enumerate(rows):
        where = table.where(("rows", index, key))
        if not row[key] or not row[key].isprintable():
            raise _wrong(where, f"{row[key]!r} is no {key}", "ids are text, and not empty")
        if row[key] in at:
            raise _wrong(where, f"the {key} {row[key]} is there twice", "one row for each")
        at[row[key]] = index
    names = tuple(sorted(at))
    values = {
        target.name: tuple(
            _true_value(rows[at[name]][target.name], target, table.where(("rows", at[name], target.name)))
            for name in names
        )
        for target in targets
    }
    strata = tuple(rows[at[name]]["stratum"] for name in names) if "stratum" in header else None
    return Truth(names, strata, values)


def _true_value(text: str, target: Target, where: str) -> float | int:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or abs(number) > _LARGEST:
        raise _wrong(where, f"{text!r} is no number", "every row has a truth")
    if target.metric == "mae":
        if target.range is not None and not target.range[0] <= number <= target.range[1]:
            ends = f"from {target.range[0]:g} to {target.range[1]:g}"
            raise _wrong(where, f"{text} lies outside the range of {target.name}", ends)
        return float(number)
    classes = target.classes or 2
    place = number - target.first_class
    if place != place.to_integral_value() or not 0 <= place < classes:
        last = target.first_class + classes - 1
        what = f"{text} is no class of {target.name}"
        raise _wrong(where, what, f"whole numbers from {target.first_class} to {last}")
    return int(place)


def join(target: Target, truth: Truth, given: Mapping[str, TargetAnswer]) -> Joined:
    """One target's truth and answers.

    Args:
        target: The target.
        truth: Who counts.
        given: Name to what was answered; who is not in it is missing. Answers are numbers, as they were
            written.
    """
    nothing = TargetAnswer(MISSING, None, "there is no answer")
    values = truth.values[target.name]
    checked = tuple(of_class(given.get(name, nothing), target) for name in truth.names)
    filled = [_filled(target, y, each) for y, each in zip(values, checked, strict=True)]
    whole = tuple(each for each in filled if each is not None)
    outside = sum(each.status == ANSWERED and _scored(target, each) != each.value for each in checked)
    return Joined(
        target,
        truth.names,
        values,
        checked,
        whole if len(whole) == len(filled) else None,
        truth.strata or _own_strata(target, values),
        outside if target.metric == "mae" else 0,
    )


def _own_strata(target: Target, values: Sequence[float | int]) -> tuple[str, ...]:
    """The classes, where nobody drew strata; everybody together for a number."""
    return tuple(ALL if target.metric == "mae" else str(value) for value in values)


def of_class(each: TargetAnswer, target: Target) -> TargetAnswer:
    """An answer, if it is one of its target; else an invalid one, with why."""
    if each.status != ANSWERED or each.value is None:
        return each
    if target.metric == "auc" and not 0 <= each.value <= 1:
        return replace(each, status=INVALID, value=None, reason="a probability is from 0 to 1")
    if target.metric == "qwk":
        classes = target.classes or 0
        place = each.value - target.first_class
        if place != int(place) or not 0 <= place < classes:
            last = target.first_class + classes - 1
            why = f"a class is a whole number from {target.first_class} to {last}"
            return replace(each, status=INVALID, value=None, reason=why)
    if target.metric == "mae" and target.range is None and abs(each.value) > _LARGEST:
        return replace(each, status=INVALID, value=None, reason="the number is too large")
    return each


def _scored(target: Target, each: TargetAnswer) -> float | int:
    """The number that is scored for an answer: a class from 0, or a number within the range."""
    value = each.value if each.value is not None else 0
    if target.metric == "qwk":
        return int(value) - target.first_class
    if target.metric == "mae" and target.range is not None:
        return float(min(max(value, target.range[0]), target.range[1]))
    return float(value)


def _filled(target: Target, truth: float | int, each: TargetAnswer) -> float | int | None:
    if each.status == ANSWERED:
        return _scored(target, each)
    return worst(target, truth)


def worst(target: Target, truth: float | int) -> float | int | None:
    """What a missing answer counts as; None for a number without a range."""
    if target.metric == "auc":
        return worst_probability(int(truth))
    if target.metric == "qwk":
        return worst_class(int(truth), classes=target.classes or 0)
    return None if target.range is None else worst_number(truth, low=target.range[0], high=target.range[1])


def _wrong(where: str, what: str, hint: str) -> ScoreError:
    return ScoreError(f"the truth cannot be used: {what}", where=where, hint=hint, code="score-truth")
