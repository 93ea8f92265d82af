"""What a page is made of: tables and numbers as text. Escaping is the template's.

Leaves to others: which tables there are (`view`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from medotter_bench.metric_facts import direction, is_share

DASH = "\N{EN DASH}"
_LONGEST_OPEN = 40


@dataclass(frozen=True, slots=True)
class Table:
    """One table; the first column names its rows.

    Attributes:
        key: Its id on the page.
        caption: What it shows.
        columns: The header's cells.
        rows: Text cells, one list per row.
        numeric: Places of the columns that hold numbers.
    """

    key: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: frozenset[int] = frozenset()

    @property
    def is_long(self) -> bool:
        """Whether the page folds it away at first."""
        return len(self.rows) > _LONGEST_OPEN


def number(value: float | None, metric: str) -> str:
    """Three decimals for what lies from 0 to 1, two for distances, a dash for no number."""
    if value is None:
        return DASH
    text = f"{value:.3f}" if is_share(metric) else f"{value:.2f}"
    return text.replace("-", "\N{MINUS SIGN}")


def interval(ci: Sequence[float] | None, metric: str) -> str:
    """`0.812 to 0.866`, or a dash."""
    return DASH if ci is None else f"{number(ci[0], metric)} to {number(ci[1], metric)}"


def metric_name(metric: str, unit: str) -> str:
    """The metric with its unit and an arrow for the better way: `hd95 (mm) ↓`."""
    arrow = {"higher": " \N{UPWARDS ARROW}", "lower": " \N{DOWNWARDS ARROW}", None: ""}[direction(metric)]
    return f"{metric} ({unit}){arrow}" if unit else f"{metric}{arrow}"


def better_words(metric: str) -> str:
    """`higher is better`, `lower is better`, or nothing where it is not known."""
    way = direction(metric)
    return "" if way is None else f"{way} is better"


def plain(value: Any) -> str:
    """Any value of a document as short text."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, list) and not any(isinstance(item, (dict, list)) for item in value):
        return ", ".join(plain(item) for item in value) or "none"
    if isinstance(value, dict) and not any(isinstance(item, (dict, list)) for item in value.values()):
        return "; ".join(f"{key} {plain(item)}" for key, item in value.items()) or "none"
    return json.dumps(value, ensure_ascii=False, sort_keys=False)
