"""The answer of a comparison in one sentence, for people.

Leaves to others: every number (`compare`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medotter_bench.metric_facts import is_share

_PLURALS = {"patient": "patients", "image": "images", "case": "cases"}


def answer(document: Mapping[str, Any]) -> str:
    """Who is higher, by how much, how sure, and on what."""
    head, unit = document["headline"], document["method"]["unit"]
    n = head["n"]
    over = f"on the same {n} {_PLURALS[unit] if n != 1 else unit}"
    what = f"{head['region']} {head['metric']}" + (f" ({head['tier']})" if head["tier"] else "")
    if document["identical"]:
        return f"A and B are identical in every value: no difference in {what}, {over}."
    if head["difference"] is None:
        return f"A and B cannot be compared in {what}: {head['reason']}."
    if head["difference"] == 0:
        text = f"A and B do not differ in {what}, {over}"
        return (
            f"{text}, while other values do differ." if not head["ci"] else f"{text}, {_interval(document)}."
        )
    side = "higher" if head["difference"] > 0 else "lower"
    size = amount(head["difference"], head["metric"], document["units_of_metrics"], signed=False)
    text = f"B is {side} by {size} of {what}"
    if not is_share(head["metric"]) and head["better"]:
        text += " (lower is better)"
    text += f", {_interval(document)}, {over}: "
    if head["ci"] is not None and head["ci"][0] <= 0 <= head["ci"][1]:
        return f"{text}the interval includes no difference."
    if head["better"] is None:
        return f"{text}which of the two is better is not known for this metric."
    return f"{text}{head['better']} is better."


def _interval(document: Mapping[str, Any]) -> str:
    head = document["headline"]
    if head["ci"] is None:
        return "no interval (fewer than two units)"
    units = document["units_of_metrics"]
    low, high = (amount(end, head["metric"], units, signed=True, named=False) for end in head["ci"])
    return f"95% interval {low} to {high}"


def amount(value: float, metric: str, units: Mapping[str, str], *, signed: bool, named: bool = True) -> str:
    """A difference in points (0.01) of a share, or in the metric's own unit."""
    scaled = value * 100 if is_share(metric) else value
    number = f"{scaled:+.2f}" if signed else f"{abs(scaled):.2f}"
    number = number.replace("-", "\N{MINUS SIGN}")
    if not named:
        return number
    unit = "points" if is_share(metric) else units.get(metric, "")
    return f"{number} {unit}".strip()
