"""Refuses a checker's log that tells an answer: names of targets may stand in it, values beside them may not.

Checks of an answer's form know no right answer, so a log with one means that somebody changed them. Leaves to
others: scoring, which never runs where an agent could read what it says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from medomni.core.issues import Issue, error

_MOST_BYTES = 1024 * 1024
# What the check itself says of an answer that is none: the agent's own value, and the target's domain.
_OWN_WORDS = re.compile(
    r"^[\w-]+: .* (?:is not from \S+ to \S+|is no number|is no whole number)$", re.MULTILINE
)
_BESIDE = r"\W{0,3}[\"']?\s*(?:=|:|is\b|was\b)\s*[\"']?-?[0-9]"


def log_issues(path: Path, targets: Iterable[str]) -> list[Issue]:
    """An issue for each target whose value a log tells.

    Args:
        path: The log; one that is not there tells nothing.
        targets: Names of the targets.
    """
    if not path.is_file() or path.is_symlink():
        return []
    with path.open("rb") as stream:
        text = _OWN_WORDS.sub("", stream.read(_MOST_BYTES).decode("utf-8", "replace"))
    return [
        error(
            "log-shows-answer",
            str(path),
            f"{path.name} tells a value of the target {name}",
            "a check of an answer's form may name targets, and nothing more",
        )
        for name in targets
        if re.search(rf"(?<![\w-]){re.escape(name)}{_BESIDE}", text)
    ]
