"""The probe for evidence that depends on answers: the answers are permuted, and the evidence is made again.

For the same patients at the same moments it must be the same, byte by byte.

Leaves to others: making evidence (`evidence`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from medomni.core.issues import Issue, error, warning
from medomni.studio.draw import Drawn
from medomni.studio.evidence.model import Evidence, EvidenceTable

CODE = "leak-depends-on-answer"
_NOTHING = EvidenceTable("", (), (), ())
_HINT = "whatever chooses rows, windows or moments of evidence must not read the label's value"

# From drawn patients, answers included, to their evidence in the same order.
type Make = Callable[[Sequence[Drawn]], Iterable[Evidence]]


def permuted(drawn: Sequence[Drawn]) -> list[Drawn]:
    """The same patients, each with the answer of another: sorted by answer, and moved by half of them."""
    order = sorted(range(len(drawn)), key=lambda at: (drawn[at].value, at))
    half = len(order) // 2
    given = {at: drawn[order[(place + half) % len(order)]] for place, at in enumerate(order)}
    return [
        replace(each, value=given[at].value, stratum=given[at].stratum, answers=given[at].answers)
        for at, each in enumerate(drawn)
    ]


def blindness_issues(
    drawn: Sequence[Drawn], names: Mapping[int, str], first: Sequence[Evidence], make: Make
) -> Iterator[Issue]:
    """Where evidence that is made with permuted answers differs: the first place of each atom.

    Args:
        drawn: The patients with their answers.
        names: Patient to atom.
        first: Their evidence, as the build has it, in the same order.
        make: Makes evidence again.
    """
    others = permuted(drawn)
    if all(one.value == other.value for one, other in zip(drawn, others, strict=True)):
        yield warning(CODE, "the cohort", "every answer is the same: that evidence is blind is not checked")
        return
    for each, before, after in zip_longest(drawn, first, make(others)):
        if each is None or after is None or before is None:
            yield error(CODE, "the cohort", "with other answers there are other patients", _HINT)
            return
        place = _difference(before, after)
        if place:
            what = "the evidence differs when the answers are permuted"
            yield error(CODE, f"{names[each.subject]}: {place}", what, _HINT)


def _difference(before: Evidence, after: Evidence) -> str:
    """The first table, column and row in which two pieces of evidence differ; empty where they do not."""
    if before.moment.time != after.moment.time or before.moment.subject != after.moment.subject:
        return "its prediction time or patient"
    for one, other in zip_longest(before.tables, after.tables, fillvalue=_NOTHING):
        if one == other:
            continue
        if one.table != other.table or one.columns != other.columns:
            return f"{one.table or other.table}, which has other columns or is not always there"
        for row, (cells, others) in enumerate(zip_longest(one.rows, other.rows, fillvalue=()), start=1):
            for at, column in enumerate(one.columns):
                if cells[at : at + 1] != others[at : at + 1]:
                    return f"{one.table}.{column.name}, row {row}"
        return f"{one.table}, the families of its rows"
    return ""
