"""Scores a plain folder of answers, `<patient or atom>/answer.json`, for people with a pipeline of their own.

The truth says whose answers are looked for; a folder that nobody expects is told of and never scored, and
neither is any file but `answer.json`.

Leaves to others: one answer file (`answer_file`), the numbers (`scoring`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medomni.bench.answer_file import MISSING, Answers, TargetAnswer, no_answers, read_answers
from medomni.bench.draws import seed_of
from medomni.bench.errors import ScoreError
from medomni.bench.joining import join, read_truth
from medomni.bench.scoring import SCORER_VERSION, score_target
from medomni.bench.targets import Target
from medomni.core.errors import DocumentNotFoundError

SCHEMA = "medomni/score/1"
FILE = "answer.json"
# There is no template and no cohort to take a seed from: the target stands for both.
_TEMPLATE = "score-answers"
_MOST_NAMED = 10


def score_folder(answers: Path, submissions: Path, targets: Sequence[Target]) -> dict[str, Any]:
    """The scores of a folder, as `medomni/score/1`.

    Args:
        answers: The truth, a CSV file.
        submissions: The folder.
        targets: What is scored.

    Raises:
        ScoreError: `score-truth`, or `score-nothing-found`: nobody in the truth has an answer file.
        DocumentNotFoundError: The truth or the folder does not exist.
        DocumentError: The truth is no strict CSV.
    """
    truth = read_truth(answers, targets)
    if not submissions.is_dir():
        raise DocumentNotFoundError(
            f"{submissions} is no folder",
            where=str(submissions),
            hint="it holds <patient or atom>/answer.json",
        )
    given = {name: _answers_of(submissions, name, targets) for name in truth.names}
    if all(each.sha256 is None and _only_missing(each) for each in given.values()):
        raise ScoreError(
            "nobody in the truth has an answer file",
            where=str(submissions),
            hint=f"expected {submissions / truth.names[0] / FILE} and so on",
            code="score-nothing-found",
        )
    document: dict[str, Any] = {"schema": SCHEMA, "targets": {}, "reasons": {}}
    for target in targets:
        by_name: dict[str, TargetAnswer] = {name: each.targets[target.name] for name, each in given.items()}
        joined = join(target, truth, by_name)
        score = score_target(joined, seed=seed_of(_TEMPLATE, target.name, 0, target.metric))
        figures = score.figures()
        order = ("metric", "value", "reason", "n", "n_answered")
        document["targets"][target.name] = {
            **{key: figures[key] for key in order},
            "missing": list(score.missing),
            "invalid": list(score.invalid),
            **{key: figures[key] for key in ("ci", "ci_method", "flags", "secondary")},
        }
        document["reasons"][target.name] = dict(score.reasons)
    return document | {"scorer_version": SCORER_VERSION, "notes": _notes(submissions, given)}


def _answers_of(submissions: Path, name: str, targets: Sequence[Target]) -> Answers:
    """What one patient's file answers; a name that is no folder's name can have no file."""
    known = [target.in_answers() for target in targets]
    if "/" in name or "\\" in name or name in (".", ".."):
        return no_answers(known, f"{name!r} cannot be the name of a folder")
    return read_answers(submissions, f"/{name}/{FILE}", known)


def _only_missing(answers: Answers) -> bool:
    return all(each.status == MISSING for each in answers.targets.values())


def _notes(submissions: Path, given: Mapping[str, Answers]) -> list[str]:
    """What was there and not scored."""
    notes = []
    strangers = sorted(entry.name for entry in submissions.iterdir() if entry.name not in given)
    if strangers:
        notes.append(f"not in the truth, and ignored: {_some(strangers)}")
    for name, each in given.items():
        if each.extra:
            notes.append(f"{name}: keys that are no target, and ignored: {_some(list(each.extra))}")
    return notes


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(name if name.isprintable() else repr(name) for name in names[:_MOST_NAMED])
    return shown if len(names) <= _MOST_NAMED else f"{shown} and {len(names) - _MOST_NAMED} more"
