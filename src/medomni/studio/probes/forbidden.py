"""What must not stand in anything that an agent sees of an atom, and where it stands nevertheless.

First the cells of the evidence are looked through, so that a hit names table, column and row; then the bytes
of every rendered file, so that nothing which a renderer adds goes unseen.

Leaves to others: which files an agent sees (`rendered`), and how well numbers tell the answer
(`single_feature`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from medomni.core.issues import Issue, error
from medomni.core.names import Pair
from medomni.studio.evidence.model import Evidence, EvidenceTable

RESTATED, CANARY, DATE = "leak-words", "leak-canary", "leak-date"
PATIENT, ATOM = "leak-id", "leak-name"
_CANARY_WORD = r"CANARY_?\w*"
# A shorter number is a measurement as often as an id.
_SHORTEST_ID = 6
_YEAR, _MONTH, _DAY = r"(?:1[89]|2[0-9])\d\d", r"(?:0?[1-9]|1[0-2])", r"(?:0?[1-9]|[12]\d|3[01])"
_DATE = (
    rf"(?<![\d.-])(?:{_YEAR}-{_MONTH}-{_DAY}|{_YEAR}/{_MONTH}/{_DAY}"
    rf"|{_DAY}/{_DAY}/{_YEAR}|{_DAY}-{_DAY}-{_YEAR})(?![\d-])"
)
_HINTS = {
    RESTATED: "add a guard to the label, or make its probe say exactly what restates the answer",
    CANARY: "a row was let through that no agent may see: look at its table's times and at the guards",
    PATIENT: "declare the column as one that evidence hides",
    ATOM: "nothing that an agent sees may name the atom",
    DATE: "declare the column as a time, or as text whose dates are taken out",
}
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Forbidden:
    """A pattern that must be found in nothing that an agent sees.

    Attributes:
        what: In words, for messages.
        everywhere: Also in files that hold no evidence, such as the environment's.
        allowed: Phrases in which a find is no hit.
    """

    code: str
    what: str
    pattern: str
    everywhere: bool = False
    allowed: tuple[str, ...] = ()

    def first(self, text: str) -> re.Match[str] | None:
        """The first hit in a text."""
        found = re.search(self.pattern, text)
        if found is None or not self.allowed:
            return found
        # Longer phrases first; each is blanked out, so that all places stay where they are.
        phrases = "|".join(re.escape(each) for each in sorted(self.allowed, key=len, reverse=True))
        blank = re.sub(phrases, lambda phrase: " " * len(phrase.group()), text)
        return re.search(self.pattern, blank)


def restated(label: str, pattern: str, allow: Collection[str] = ()) -> Forbidden:
    """The label's own `forbid_regex`, sought outside the texts that it allows."""
    return Forbidden(RESTATED, f"restates {label}", pattern, allowed=tuple(allow))


def canaries(never: Collection[str], allowed: Collection[str] = ()) -> list[Forbidden]:
    """The texts that made-up data plant.

    Args:
        never: Texts that this template must not show.
        allowed: Planted words that it may show; any other word of that form is a hit.
    """
    what = "was planted, and must never be seen"
    # Nothing of a word that goes on is allowed: CANARY_KIDNEY is not CANARY_KIDNEYS.
    known = "|".join(re.escape(each) for each in sorted(allowed))
    other_word = rf"(?!(?:{known})\b){_CANARY_WORD}" if known else _CANARY_WORD
    found = [Forbidden(CANARY, what, rf"\b{other_word}", True)]
    other = [re.escape(each) for each in never if not re.fullmatch(_CANARY_WORD, each)]
    if other:
        found.append(Forbidden(CANARY, what, rf"(?<![\d.])(?:{'|'.join(other)})(?![\d.])", True))
    return found


def dates() -> Forbidden:
    """Calendar dates: every time that an agent sees counts from the prediction time."""
    return Forbidden(DATE, "is a date of the calendar", _DATE)


def identity(ids: Iterable[str], *, atom: str, pair: Pair) -> list[Forbidden]:
    """The ids of a patient, of the patient's admissions and stays, and the atom's own name.

    Args:
        ids: As the tables have them; those shorter than six letters cannot be told from measurements.
        atom: The atom's name.
        pair: The atom's pair.
    """
    digits = re.escape(atom.removeprefix(f"{pair.template}.{pair.cohort}."))
    found = [Forbidden(ATOM, "names the atom", rf"(?<![0-9A-Za-z]){digits}(?![0-9A-Za-z])", True)]
    names = [re.escape(each) for each in sorted(set(ids)) if len(each) >= _SHORTEST_ID]
    if names:
        pattern = rf"(?<![0-9A-Za-z])(?:{'|'.join(names)})(?![0-9A-Za-z])"
        found.append(Forbidden(PATIENT, "is an id of the patient, or of an admission or stay", pattern, True))
    return found


def evidence_issues(atom: str, evidence: Evidence, forbidden: Sequence[Forbidden]) -> Iterator[Issue]:
    """Every forbidden text in the cells and headers of an atom's evidence, once for each column.

    Args:
        atom: The atom's name.
        evidence: Its evidence.
        forbidden: What must not be found.
    """
    for table in evidence.tables:
        # One search over the whole column, since nearly none has a hit.
        columns = [[row[at] or "" for row in table.rows] for at in range(len(table.columns))]
        for each in forbidden:
            for at, cells in enumerate(columns):
                if each.first("\n".join((table.columns[at].name, *cells))):
                    yield from _column_issue(atom, table, at, cells, each)


def _column_issue(
    atom: str, table: EvidenceTable, at: int, cells: Sequence[str], each: Forbidden
) -> Iterator[Issue]:
    column = table.columns[at]
    if each.first(column.name):
        yield error(each.code, f"{atom}: {table.table}.{column.name}", f"a column's name {each.what}")
    rows = [(row, found) for row, cell in enumerate(cells, start=1) if (found := each.first(cell))]
    if rows:
        row, found = rows[0]
        more = f", and {len(rows) - 1} more rows" if len(rows) > 1 else ""
        where = f"{atom}: {table.table}.{column.name}, row {row}{more}"
        yield error(each.code, where, f"{_shown(found)} {each.what}", _HINTS[each.code])


def text_issues(place: str, text: str, forbidden: Iterable[Forbidden]) -> Iterator[Issue]:
    """The first hit of each pattern in the text of a file.

    Args:
        place: Atom, arm and file, for messages.
        text: Its text.
        forbidden: What must not be found.
    """
    for each in forbidden:
        found = each.first(text)
        if found is not None:
            line = text.count("\n", 0, found.start()) + 1
            yield error(each.code, f"{place}, line {line}", f"{_shown(found)} {each.what}", _HINTS[each.code])


def _shown(found: re.Match[str]) -> str:
    text = found.group()
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
