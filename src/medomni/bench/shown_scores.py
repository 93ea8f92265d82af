"""Scores and paired results as one line for a terminal: never a number without its n.

Leaves to others: colours and tables of boards (`leaderboard`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def score_line(name: str, score: Mapping[str, Any]) -> str:
    """A target's score, with n, what was answered, its interval and its flags."""
    value = "none" if score["value"] is None else f"{score['value']:.4f}"
    parts = [f"{name}  {score['metric']} {value}"]
    if score["reason"] is not None:
        parts.append(f"({score['reason']})")
    if score["ci"] is not None:
        parts.append(f"[{score['ci'][0]:.4f}, {score['ci'][1]:.4f}]")
    parts.append(f"n {score['n']}, answered {score['n_answered']}")
    if score["flags"]:
        parts.append("flags: " + ", ".join(score["flags"]))
    return "  ".join(parts)


def paired_line(name: str, result: Mapping[str, Any]) -> str:
    """A paired result, with its interval, both p values, and wins and losses."""
    if result["difference"] is None:
        return f"{name}  no difference ({result['reason']})  n {result['n']}"
    ends = result["ci"]
    interval = "no interval" if ends is None else f"[{ends[0]:+.4f}, {ends[1]:+.4f}]"
    tests = f"p {result['p']:.4g}"
    if result["p_holm"] is not None:
        tests += f", Holm {result['p_holm']:.4g}"
    counts = f"better {result['better']}, equal {result['equal']}, worse {result['worse']}"
    return f"{name}  {result['difference']:+.4f} {interval}  {tests}  {counts}  n {result['n']}"
