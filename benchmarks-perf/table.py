"""Rows of figures, as text for people and as plain data for programs.

Leaves to others: taking times (`timing`). Nothing is asserted: a missed target is a word in the table.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from timing import Span, Values

# Some peers compute in 32 bits, some add an epsilon.
_TOLERANCE = {"dice": 1e-6, "hd95": 1e-5, "f1": 1e-9, "pq": 1e-6}


@dataclass(frozen=True, slots=True)
class Target:
    """What a ratio should be."""

    sign: Literal[">=", "<="]
    limit: float

    def verdict(self, ratio: float) -> str:
        """In words."""
        met = ratio >= self.limit if self.sign == ">=" else ratio <= self.limit
        return f"{self.sign} {self.limit:g} {'met' if met else 'TARGET MISSED'}"


@dataclass(frozen=True, slots=True)
class Row:
    """One competitor.

    Attributes:
        wall_sec: Seconds that passed.
        cpu_sec: Seconds of processor time; None where it was not taken.
        mebibytes: In place of seconds, in a table about memory.
        ratio: By processor time, or by wall time where there is no other.
        ratio_wall: By wall time.
    """

    name: str
    wall_sec: float | None = None
    cpu_sec: float | None = None
    mebibytes: float | None = None
    ratio: Span | None = None
    ratio_wall: Span | None = None
    target: Target | None = None
    note: str = ""

    @property
    def missed(self) -> bool:
        """Whether there is a target, and the ratio does not reach it."""
        if self.target is None or self.ratio is None:
            return False
        return "MISSED" in self.target.verdict(self.ratio.median)


@dataclass(slots=True)
class Section:
    """One table: what was compared, the rows, and what else there is to say."""

    title: str
    ratio: str
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    numbers_differ: bool = False

    def compare(self, name: str, own: Values, other: Values, metrics: list[str]) -> None:
        """Note how far two programs' numbers are apart, where they define the same thing."""
        for metric in metrics:
            pairs = zip(own[metric], other[metric], strict=True)
            gaps = [abs(a - b) / max(1.0, abs(a)) for a, b in pairs if a is not None and b is not None]
            same = max(gaps) <= _TOLERANCE[metric]
            self.numbers_differ |= not same
            word = "equal" if same else "NUMBERS DIFFER"
            self.notes.append(f"{metric} of {name}: {word}, largest relative gap {max(gaps):.1e}")

    def text(self) -> str:
        """For people."""
        header = f"{self.title:<58}{'wall':>10}{'cpu':>10}  {self.ratio:<31}{'by wall':>8}  target"
        return "\n".join([header, *map(_line, self.rows), *(f"  {note}" for note in self.notes), ""])

    def data(self) -> dict[str, Any]:
        """For programs."""
        rows = []
        for row in self.rows:
            entry = {key: value for key, value in asdict(row).items() if value not in (None, "")}
            rows.append({**entry, "missed": row.missed} if row.target else entry)
        return {**asdict(self), "rows": rows}


def _line(row: Row) -> str:
    if row.wall_sec is None and row.mebibytes is None:
        return f"  {row.name}: {row.note}"
    figures = [row.wall_sec, row.cpu_sec]
    shown = [f"{'' if figure is None else _seconds(figure):>10}" for figure in figures]
    if row.mebibytes is not None:
        shown[0] = f"{row.mebibytes:>6.0f} MiB"
    ratio = "" if row.ratio is None else _span(row.ratio)
    wall = "" if row.ratio_wall is None else _number(row.ratio_wall.median)
    verdict = row.target.verdict(row.ratio.median) if row.target and row.ratio else row.note
    return f"  {row.name:<56}{''.join(shown)}  {ratio:<31}{wall:>8}  {verdict}".rstrip()


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.{1 if seconds < 0.1 else 0}f} ms"


def _span(span: Span) -> str:
    if span.low == span.high:
        return _number(span.median)
    return f"{_number(span.median)} ({_number(span.low)}–{_number(span.high)})"


def _number(number: float) -> str:
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}" if number >= 10 else f"{number:.2f}"
