"""The single numbers of a patient's evidence: what a very simple reader could look at.

Of every table the number of rows; of every code its number of rows and, in each column that holds numbers,
the first, last, least and greatest; of every short text in a column whether it is there.

Leaves to others: how well they tell the answer (`association`).
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from medomni.studio.evidence.model import Evidence, EvidenceTable
from medomni.studio.probes.association import Numbers

# A longer text is one of its kind: it is there for one patient alone.
_LONGEST_TEXT = 80
_OF_NUMBERS = ("first", "last", "least", "greatest")


class Feature(NamedTuple):
    """One number of a patient.

    Attributes:
        code: The row's code, where the table has codes; else empty.
        what: `rows`, `first`, `last`, `least`, `greatest`, or `is …`.
    """

    table: str
    column: str
    code: str
    what: str

    def __str__(self) -> str:
        place = f"{self.table}.{self.column}" if self.column else self.table
        return f"{self.what} of {place}" + (f" in rows of {self.code}" if self.code else "")


@dataclass(slots=True)
class FeatureTable:
    """The features of several patients, held only where a patient has them.

    Attributes:
        codes: The source column of each table's code.
        answers: Label to the answer of each patient.
    """

    codes: Mapping[str, str | None]
    answers: dict[str, list[float]] = field(default_factory=dict)
    people: int = 0
    _patients: dict[Feature, array[int]] = field(default_factory=dict)
    _values: dict[Feature, array[float]] = field(default_factory=dict)

    def add(self, evidence: Evidence, answers: Mapping[str, float]) -> None:
        """Take a patient in, with the answer to every label."""
        number = self.people
        self.people += 1
        for label, answer in answers.items():
            self.answers.setdefault(label, []).append(answer)
        for table in evidence.tables:
            for feature, value in self._of_table(table).items():
                if feature not in self._values:
                    self._patients[feature], self._values[feature] = array("l"), array("d")
                self._patients[feature].append(number)
                self._values[feature].append(value)

    def features(self) -> list[Feature]:
        """All features that any patient has, sorted."""
        return sorted(self._values)

    def column(self, feature: Feature) -> tuple[Numbers, Numbers]:
        """The places of those who have a feature in the lists of answers, and their values of it."""
        return np.array(self._patients[feature], dtype=np.float64), np.array(self._values[feature])

    def row_of(self, evidence: Evidence, feature: Feature) -> int:
        """The first row, from 1, in which a patient's evidence shows a feature; 0 where it does not."""
        for table in evidence.tables:
            if table.table != feature.table:
                continue
            names = [column.name for column in table.columns]
            source = self.codes.get(table.table)
            at = next((i for i, each in enumerate(table.columns) if each.source == source), -1)
            column = names.index(feature.column) if feature.column in names else -1
            for number, row in enumerate(table.rows, start=1):
                code = (row[at] or "") if at >= 0 and feature.column else feature.code
                if code == feature.code and (column < 0 or _shows(row[column], feature)):
                    return number
        return 0

    def _of_table(self, table: EvidenceTable) -> dict[Feature, float]:
        name, names = table.table, [column.name for column in table.columns]
        source = self.codes.get(name)
        at = next((i for i, each in enumerate(table.columns) if each.source == source), -1)
        counts, numbers, texts = _read(table, at)
        found = {Feature(name, "", "", "rows"): float(len(table.rows))}
        if at >= 0:
            found |= {Feature(name, names[at], code, "rows"): float(count) for code, count in counts.items()}
        for (index, code), values in numbers.items():
            found |= {
                Feature(name, names[index], code, what): value
                for what, value in zip(_OF_NUMBERS, values, strict=True)
            }
        return found | {Feature(name, names[i], code, f"is {cell!r}"): 1.0 for i, code, cell in texts}


def _shows(cell: str | None, feature: Feature) -> bool:
    """Whether a cell is one that a feature is about."""
    if feature.what.startswith("is "):
        return cell is not None and feature.what == f"is {cell!r}"
    return cell is not None and (feature.what == "rows" or _number(cell) is not None)


type _Read = tuple[Counter[str], dict[tuple[int, str], list[float]], set[tuple[int, str, str]]]


def _read(table: EvidenceTable, at: int) -> _Read:
    """Rows by code; first, last, least and greatest by column and code; short texts by column and code.

    Args:
        table: Its rows come oldest first.
        at: Index of the column with the code; -1 for none.
    """
    counts: Counter[str] = Counter()
    numbers: dict[tuple[int, str], list[float]] = {}
    texts: set[tuple[int, str, str]] = set()
    for row in table.rows:
        code = (row[at] or "") if at >= 0 else ""
        counts[code] += 1
        for index, cell in enumerate(row):
            if cell is None or index == at:
                continue
            value = _number(cell)
            if value is not None:
                known = numbers.get((index, code))
                if known is None:
                    numbers[index, code] = [value] * len(_OF_NUMBERS)
                    continue
                known[1] = value
                if value < known[2]:
                    known[2] = value
                elif value > known[3]:
                    known[3] = value
            elif len(cell) <= _LONGEST_TEXT:
                texts.add((index, code, cell))
    return counts, numbers, texts


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
