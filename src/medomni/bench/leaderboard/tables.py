"""A board as CSV: one line for each agent in each ranking.

Leaves to others: what the board holds (`board`).
"""

from __future__ import annotations

import csv
import io

from medomni.bench.leaderboard.model import Board

HEADER = (
    "set", "pair", "version", "arm", "variant", "target", "metric", "agent", "agent_version", "model",
    "rank_low", "rank_high", "value", "reason", "ci_low", "ci_high", "ci_method", "skill", "n", "n_answered",
    "n_missing", "n_invalid", "not_ranked", "withdrawn", "release_class", "licence", "config_hash",
    "data_fingerprint", "scorer_version", "median_seconds", "total_usd", "runs_started", "runs_scored",
    "run_id",
)  # fmt: skip
# A spreadsheet takes a cell that begins so for a formula.
_FORMULA = ("=", "+", "@", "\t", "\r")


def csv_text(board: Board) -> str:
    """The board as CSV with LF line ends; what there is none of is empty."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(HEADER)
    agents = {agent.key: agent for agent in board.agents}
    for each in board.rankings:
        for row in each.rows:
            agent = agents[row.agent]
            low, high = row.rank or (None, None)
            start, end = row.ci or (None, None)
            cells = (
                str(board.task_set.name), each.pair, each.version, each.arm, each.variant, each.target,
                each.metric, agent.name, agent.version, agent.model, low, high, row.value, row.reason,
                start, end, row.ci_method, row.skill, row.n, row.n_answered, row.n_missing, row.n_invalid,
                row.not_ranked, "yes" if each.withdrawn else "", each.release_class, each.licence,
                row.config_hash, each.data_fingerprint, each.scorer_version, row.usage.median_seconds,
                row.usage.total_usd, row.runs_started, row.runs_scored, row.run_id,
            )  # fmt: skip
            writer.writerow(map(_cell, cells))
    return buffer.getvalue()


def _cell(value: object) -> object:
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
