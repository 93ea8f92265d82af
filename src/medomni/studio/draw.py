"""Strata, matching and the draw over the eligible patients, who come in the order of their hash.

Leaves to others: who is eligible (`select`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from statistics import median
from typing import Any

from medomni.studio.definitions.templates import Cohort
from medomni.studio.errors import CohortError
from medomni.studio.recipe.model import Label

# A real cohort needs more eligible patients than it draws, or the draw hardly chooses.
_TIMES = {"real": 3, "demo": 1, "dummy": 1}
_SHARES = (0, 20, 40, 60, 80, 100)


@dataclass(frozen=True, slots=True)
class Row:
    """An eligible patient: the picked event's moment, key and answer, and the hash that orders the draw.

    Attributes:
        value: The answer by which the strata go.
        answers: The answer to every label, by its name.
    """

    subject: int
    prediction_time: str
    key: str
    value: Any
    digest: str
    extra: Mapping[str, Any] = field(default_factory=dict)
    answers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A patient of the cohort.

    Attributes:
        value: The answer by which the strata go.
        stratum: Empty where there are no strata.
        answers: The answer to every target, by its name.
    """

    subject: int
    prediction_time: str
    key: str
    value: Any
    stratum: str
    answers: Mapping[str, Any] = field(default_factory=dict)

    def answer(self, target: str) -> Any:
        """The answer to a target; the only one where there is one label."""
        return self.answers[target] if self.answers else self.value


def draw(
    eligible: Sequence[Row], cohort: Cohort, label: Label, *, release_class: str, counts: str
) -> list[Drawn]:
    """The patients of a cohort, in the order of their ids.

    Args:
        eligible: In the order of their hash.
        cohort: How many, and by which strata.
        label: What the answers mean.
        release_class: `real`, `demo` or `dummy`.
        counts: Of every rule, for messages.

    Raises:
        CohortError: `cohort-short-stratum`.
    """
    rows = _preferred(eligible, cohort)
    strata = _strata(rows, cohort)
    if cohort.n is None:
        chosen = [(row, name) for name, members in strata.items() for row in members]
    else:
        wanted = cohort.per or cohort.n
        _refuse_short(strata, wanted, release_class, counts)
        if cohort.match is not None:
            chosen = _matched(strata, cohort, wanted, counts)
        else:
            chosen = [(row, name) for name, members in strata.items() for row in members[:wanted]]
    chosen.sort(key=lambda each: each[0].subject)
    return [
        Drawn(row.subject, row.prediction_time, row.key, row.value, name, row.answers) for row, name in chosen
    ]


def _preferred(rows: Sequence[Row], cohort: Cohort) -> list[Row]:
    if cohort.prefer is None:
        return list(rows)
    name, order = cohort.prefer
    places = {_exact(value): index for index, value in enumerate(order)}
    return sorted(rows, key=lambda row: places.get(_exact(row.extra[name]), len(places)))


def _exact(value: Any) -> Any:
    """A binary fraction as the decimal that is shown for it, which is what people write."""
    return Decimal(str(value)) if isinstance(value, float) else value


def _strata(rows: Sequence[Row], cohort: Cohort) -> dict[str, list[Row]]:
    """The patients by stratum; of all classes together where there are no strata."""
    if cohort.quantiles is not None:
        edges = quantile_edges([row.value for row in rows], cohort.quantiles)
        found: dict[str, list[Row]] = {f"q{index + 1}": [] for index in range(cohort.quantiles)}
        for row in rows:
            found[f"q{bisect_left(edges, row.value) + 1}"].append(row)
        return found
    if cohort.classes is None:
        return {"": list(rows)}
    found = {str(each): [] for each in cohort.classes}
    for row in rows:
        if str(int(row.value)) in found:
            found[str(int(row.value))].append(row)
        elif cohort.n is None:
            found.setdefault(str(int(row.value)), []).append(row)
    return found


def quantile_edges(values: Sequence[Any], parts: int) -> list[Any]:
    """The greatest value of each part but the last, where the sorted values are cut into equal parts."""
    ordered = sorted(values)
    return [ordered[max(-(-len(ordered) * part // parts) - 1, 0)] for part in range(1, parts)]


def _refuse_short(strata: Mapping[str, Sequence[Row]], wanted: int, release_class: str, counts: str) -> None:
    needed = wanted * _TIMES[release_class]
    short = {name: len(members) for name, members in strata.items() if len(members) < needed}
    if short:
        told = ", ".join(f"{name or 'all'} has {found} of {needed}" for name, found in short.items())
        raise CohortError(
            f"too few eligible patients: {told}",
            hint=f"a {release_class} release needs {needed} in each; counts:\n{counts}",
            code="cohort-short-stratum",
        )


def _matched(
    strata: Mapping[str, list[Row]], cohort: Cohort, wanted: int, counts: str
) -> list[tuple[Row, str]]:
    """Each positive, in the order of the draw, with the nearest negative that is still free."""
    name, caliper = cohort.match or ("", Decimal(0))
    free = [row for row in strata["0"] if row.extra[name] is not None]
    chosen: list[tuple[Row, str]] = []
    for row in strata["1"]:
        if len(chosen) == 2 * wanted:
            break
        here = row.extra[name]
        if here is None or not free:
            continue
        # The first of equals is the one with the lowest hash.
        nearest = min(free, key=lambda other: abs(other.extra[name] - here))
        if abs(nearest.extra[name] - here) <= caliper:
            free.remove(nearest)
            chosen += [(row, "1"), (nearest, "0")]
    if len(chosen) < 2 * wanted:
        raise CohortError(
            f"only {len(chosen) // 2} of {wanted} pairs are within {caliper} in {name!r}",
            hint=f"counts:\n{counts}",
            code="cohort-short-stratum",
        )
    return chosen


def reference(eligible: Sequence[Row], label: Label) -> dict[str, Any]:
    """What is published of the eligible: their number, shares of the classes or quantiles of the answer."""
    values = sorted(row.answers.get(label.name, row.value) for row in eligible)
    if label.kind != "number":
        classes = range(2 if label.kind == "binary" else len(label.classes))
        return {
            "eligible_n": len(values),
            "share": {str(each): sum(value == each for value in values) / len(values) for each in classes},
        }
    middle = median(values)
    return {
        "eligible_n": len(values),
        "quantiles": {str(part): values[round((len(values) - 1) * part / 100)] for part in _SHARES},
        "median": middle,
        "mae_ref": sum(abs(value - middle) for value in values) / len(values),
    }
