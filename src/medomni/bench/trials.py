"""What Harbor wrote of each trial, as rows of a run record.

A trial that the agent failed stays failed. One that *we* failed (container, staging, network) is a harness
error: no answer is made of it, and it is run again. Rewards are never read: an answer's form is judged anew
from the file itself.

Leaves to others: scoring.

Source: Harbor 0.26.0, `result.json` of a trial.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from medomni.bench.answer_file import MISSING, Answers, no_answers, read_answers

RAN, TIMEOUT, AGENT_ERROR, HARNESS_ERROR = "ran", "timeout", "agent_error", "harness_error"
_CANCELLED = "CancelledError"
# Raised by environments and Harbor for what no agent did; what is raised while an agent runs is its own
# otherwise.
_HARNESS_TYPES = (
    "EnvironmentFailedError",
    "EnvironmentStartTimeoutError",
    "SandboxBuildFailedError",
    "HealthcheckError",
    "AddTestsDirError",
    "DownloadVerifierDirError",
    # Between the agent and its model: the endpoint, the key, the network.
    "ModelUnreachableError",
    "ModelUnusableError",
)
# How an agent that asks a model may say that it ended; nothing else of what an agent says is taken over.
AGENT_FLAGS = (
    "step-limit-reached",
    "token-limit-reached",
    "cost-limit-reached",
    "context-full",
    "content-refused",
    "gave-up",
)
_NOTE = "environment.json"


@dataclass(frozen=True, slots=True)
class Trial:
    """A finished trial.

    Attributes:
        number: Of its copy, `0001`.
        result: Harbor's `result.json`.
        note: What the environment said of it; empty where it never started.
    """

    folder: Path
    number: str
    result: Mapping[str, Any]
    note: Mapping[str, Any]

    @property
    def error(self) -> str | None:
        """The type of what ended it; None where nothing did."""
        info = self.result.get("exception_info")
        return info["exception_type"] if info else None

    @property
    def cancelled(self) -> bool:
        """Whether it was stopped from outside."""
        return self.error == _CANCELLED

    @property
    def agent_flags(self) -> list[str]:
        """How the agent says that it ended, in words that are known here."""
        told = ((self.result.get("agent_result") or {}).get("metadata") or {}).get("flags")
        return [flag for flag in AGENT_FLAGS if isinstance(told, list) and flag in told]

    @property
    def cost(self) -> float:
        """What it cost in US dollars, as far as it is known."""
        return float((self.result.get("agent_result") or {}).get("cost_usd") or 0)


def read_trials(folder: Path) -> list[Trial]:
    """The finished trials of Harbor's job, in the order in which they began.

    Args:
        folder: Harbor's job.
    """
    found = [trial for path in folder.glob("*/result.json") if (trial := read_trial(path)) is not None]
    return sorted(found, key=lambda trial: (trial.number, str(trial.result.get("started_at"))))


def read_trial(path: Path) -> Trial | None:
    """A trial from its `result.json`; None for half a file, whose trial Harbor runs again."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
        number = Path(result["config"]["task"]["path"]).name
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Trial(path.parent, number, result, _read_note(path.parent / _NOTE))


def _read_note(path: Path) -> Mapping[str, Any]:
    try:
        note = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) else {}


def status_of(trial: Trial, answers: Answers) -> str:
    """How a trial ended: `ran`, `timeout`, `agent_error` or `harness_error`.

    Args:
        trial: The trial.
        answers: What it answered.
    """
    error = trial.error
    if error in _HARNESS_TYPES or trial.cancelled or not _agent_began(trial):
        return HARNESS_ERROR
    if trial.note.get("lost") and answers.sha256 is None:
        return HARNESS_ERROR
    if error == "AgentTimeoutError":
        return TIMEOUT
    if error is not None and not _only_check_failed(trial):
        return AGENT_ERROR
    nothing_taken = all(each.status == MISSING for each in answers.targets.values())
    # Had the answer been lost on its way, the check would not have been reached either.
    if nothing_taken and trial.result.get("verifier_result") is None:
        return HARNESS_ERROR
    return RAN


def _agent_began(trial: Trial) -> bool:
    timing = trial.result.get("agent_execution")
    return bool(timing and timing.get("started_at"))


def _only_check_failed(trial: Trial) -> bool:
    """Whether the agent had ended before anything went wrong."""
    info, timing = trial.result["exception_info"], trial.result.get("verifier")
    began = _moment((timing or {}).get("started_at"))
    occurred = _moment(info.get("occurred_at"))
    return began is not None and occurred is not None and occurred >= began


def row_of(
    trial: Trial, *, atom: str, attempt: int, path: str, targets: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """A trial as a row of the record.

    Args:
        trial: The trial.
        atom: The atom's name.
        attempt: From 1.
        path: The submission path.
        targets: The targets of `content.json`.
    """
    refused = (trial.note.get("refused") or {}).get(path)
    answers = read_answers(trial.folder / "artifacts", path, targets)
    if refused and answers.sha256 is None:
        answers = no_answers(targets, f"the answer could not be taken: {refused}", status="invalid")
    status = status_of(trial, answers)
    if status == HARNESS_ERROR:
        answers = no_answers(targets, f"harness error: {trial.error or 'the answer was lost'}")
    told = trial.result.get("agent_result") or {}
    return {
        "atom": atom,
        "attempt": attempt,
        "status": status,
        "seconds": _seconds(trial.result.get("agent_execution")),
        "tokens": _tokens(told),
        "cost_usd": told.get("cost_usd"),
        "tool_calls": (told.get("metadata") or {}).get("tool_calls"),
        "answer_sha256": answers.sha256,
        "targets": {name: each.as_dict() for name, each in answers.targets.items()},
    }


def row_not_run(
    *, atom: str, attempt: int, status: str, reason: str, targets: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """A row for an atom that was planned and never begun."""
    answers = no_answers(targets, reason)
    return {
        "atom": atom,
        "attempt": attempt,
        "status": status,
        "seconds": None,
        "tokens": None,
        "cost_usd": None,
        "tool_calls": None,
        "answer_sha256": None,
        "targets": {name: each.as_dict() for name, each in answers.targets.items()},
    }


def _tokens(told: Mapping[str, Any]) -> dict[str, int] | None:
    given = [told.get(f"n_{kind}_tokens") for kind in ("input", "output", "cache")]
    if given[0] is None or given[1] is None:
        return None
    return {"input": given[0], "output": given[1], "cached": given[2] or 0}


def _seconds(timing: Mapping[str, Any] | None) -> float | None:
    began, ended = _moment((timing or {}).get("started_at")), _moment((timing or {}).get("finished_at"))
    return None if began is None or ended is None else round(max(0.0, (ended - began).total_seconds()), 3)


def _moment(text: str | None) -> datetime | None:
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    # Some of Harbor's moments have no zone; they are all of the same clock.
    return moment.replace(tzinfo=None) if moment.tzinfo is None else moment.astimezone().replace(tzinfo=None)
