"""What a check says of a pair: its parts, each with a state, words for people, and its problems.

Leaves to others: looking (`definitions`, `built`), and printing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from medomni.core.issues import Issue, errors_of

OK, WRONG = "ok", "wrong"


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a pair: template, cohort, labels, recipes, arms or build.

    Attributes:
        state: `ok`, `wrong`, or why nothing could be said, such as `not built`.
        told: What was looked at, for people.
    """

    name: str
    state: str
    told: str = ""
    issues: tuple[Issue, ...] = ()

    def __str__(self) -> str:
        detail = f" ({self.told})" if self.told else ""
        return f"{self.name}: {self.state}{detail}"


@dataclass(frozen=True, slots=True)
class PairCheck:
    """What a check found of one pair; `pair` is the text that was asked for."""

    pair: str
    parts: tuple[Part, ...]

    @property
    def issues(self) -> list[Issue]:
        """Every problem, once."""
        return [issue for part in self.parts for issue in part.issues]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not errors_of(self.issues)

    def as_plain(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "pair": self.pair,
            "ok": self.ok,
            "parts": {part.name: {"state": part.state, "told": part.told} for part in self.parts},
            "issues": [issue.as_dict() for issue in self.issues],
        }


def part(name: str, issues: Iterable[Issue], told: str = "") -> Part:
    """A part that was looked at: `wrong` with an error, else `ok`."""
    found = tuple(issues)
    return Part(name, WRONG if errors_of(found) else OK, told, found)


def unlike(parts: Iterable[Part], root: str) -> tuple[Part, ...]:
    """The parts with each problem in the first only that has it, its place relative to the workspace."""
    seen: set[tuple[str, str, str]] = set()
    found = []
    for each in parts:
        kept = []
        for issue in each.issues:
            here = replace(
                issue, where=issue.where.replace(f"{root}/", ""), what=issue.what.replace(f"{root}/", "")
            )
            key = (here.code, here.where, here.what)
            if key not in seen:
                seen.add(key)
                kept.append(here)
        found.append(replace(each, issues=tuple(kept)))
    return tuple(found)


def file_of(issue: Issue) -> str:
    """The file in which a problem is, without its line."""
    return re.sub(r"(?::\d+)?(?:, .*)?$", "", issue.where, count=1, flags=re.DOTALL)
