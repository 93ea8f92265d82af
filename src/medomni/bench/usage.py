"""What answering took: time, money, tokens, calls of tools, over all attempts; no figure of a single one.

Leaves to others: counting them (the runner), showing them (the boards).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from medomni.bench.intervals import shown
from medomni.core.stats import quantile

_P95 = 0.95


def usage_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The usage of the rows of a run record; what no row tells is left out."""
    told = {
        "seconds": [row["seconds"] for row in rows],
        "cost_usd": [row["cost_usd"] for row in rows],
        "tokens_input": [_tokens(row, "input") for row in rows],
        "tokens_output": [_tokens(row, "output") for row in rows],
        "tokens_cached": [_tokens(row, "cached") for row in rows],
        "tool_calls": [row["tool_calls"] for row in rows],
    }
    found: dict[str, Any] = {"attempts_started": sum(row["seconds"] is not None for row in rows)}
    for name, values in told.items():
        known = sorted(float(value) for value in values if value is not None)
        if known:
            found[name] = {
                "n": len(known),
                "median": shown(quantile(known, 0.5)),
                "p95": shown(quantile(known, _P95)),
                "total": shown(math.fsum(known)),
            }
    return found


def _tokens(row: Mapping[str, Any], kind: str) -> int | None:
    return None if row["tokens"] is None else int(row["tokens"][kind])
