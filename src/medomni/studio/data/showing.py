"""How evidence shows a table's columns: what is left out, numbered, counted in days, or explained.

What is not named here is shown by its type: times as hours and dates as days from the prediction time,
numbers and text as they are.

Leaves to others: reading the file (`definitions`), and showing (`medomni.studio.evidence`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_TIMES = ("timestamp", "date")


@dataclass(frozen=True, slots=True)
class Explained:
    """Columns of a dictionary that are shown behind the codes that they explain.

    Attributes:
        table: The dictionary.
        by: Columns that both tables have, which name one row of the dictionary.
        columns: What is shown of it.
    """

    table: str
    by: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Show:
    """What evidence does with the columns of a table.

    Attributes:
        hide: Never shown: ids of the study, dates that tell the calendar.
        links: Ids that are shown as small numbers, with the name of what they number; columns of one name
            share their numbers. Where a table has such a column as its key, ids whose row there is not shown
            are not shown either.
        follows: A link whose row must be shown for this table's row to be shown.
        days: Times that know the day alone.
        age: The column with the age in some year, and the column with that year.
        explain: Dictionaries.
    """

    hide: tuple[str, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    follows: str | None = None
    days: tuple[str, ...] = ()
    age: tuple[str, str] | None = None
    explain: tuple[Explained, ...] = ()

    def mentions(self) -> Iterator[tuple[tuple[str | int, ...], str, tuple[str, ...]]]:
        """Every column of the table that is named, where, and the types that it may have (any: none)."""
        for index, column in enumerate(self.hide):
            yield ("show", "hide", index), column, ()
        for column in self.links:
            yield ("show", "links", column), column, ("bigint", "integer", "text")
        if self.follows is not None:
            yield ("show", "follows"), self.follows, ()
        for index, column in enumerate(self.days):
            yield ("show", "days", index), column, _TIMES
        for key, column in zip(("column", "year"), self.age or (), strict=False):
            yield ("show", "age", key), column, ("integer",)
        for index, each in enumerate(self.explain):
            for place, column in enumerate(each.by):
                yield ("show", "explain", index, "by", place), column, ()


def read_show(value: Mapping[str, Any]) -> Show:
    """The `show` part of a table's definition."""
    age = value.get("age")
    return Show(
        hide=tuple(value.get("hide", ())),
        links=dict(value.get("links", {})),
        follows=value.get("follows"),
        days=tuple(value.get("days", ())),
        age=(age["column"], age["year"]) if age else None,
        explain=tuple(
            Explained(each["from"], tuple(each["by"]), tuple(each["columns"]))
            for each in value.get("explain", ())
        ),
    )
