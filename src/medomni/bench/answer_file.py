"""The file that an agent answered with, read as data: never through a link, never more than its limit.

Each target is taken for itself. What is missing or wrong gets a reason and no number; keys that name no
target are told of and never guessed with.

Leaves to others: what a missing answer costs (scoring).
"""

from __future__ import annotations

import errno
import math
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from medomni.core.errors import DocumentError
from medomni.core.files import parse_json
from medomni.core.hashing import sha256_bytes

MOST_BYTES = 64 * 1024
ANSWERED, MISSING, INVALID = "answered", "missing", "invalid"
_NOTHING = "there is no answer file"


@dataclass(frozen=True, slots=True)
class TargetAnswer:
    """What an agent answered for one target.

    Attributes:
        status: `answered`, `missing` or `invalid`.
        value: The answer; None where there is none.
        reason: Why there is none; None where there is one.
    """

    status: str
    value: float | int | None
    reason: str | None

    def as_dict(self) -> dict[str, Any]:
        """As run records have it."""
        return {"status": self.status, "value": self.value, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Answers:
    """What an answer file holds.

    Attributes:
        targets: Target to its answer, for every target.
        sha256: Digest of the file; None where there is none that can be read.
        extra: Keys that name no target.
    """

    targets: Mapping[str, TargetAnswer]
    sha256: str | None
    extra: tuple[str, ...] = ()


def no_answers(targets: Sequence[Mapping[str, Any]], reason: str, *, status: str = MISSING) -> Answers:
    """No answer for any target.

    Args:
        targets: The targets as `content.json` has them.
        reason: Why.
        status: `missing` or `invalid`.
    """
    return Answers({each["name"]: TargetAnswer(status, None, reason) for each in targets}, None)


def read_answers(root: Path, path: str, targets: Sequence[Mapping[str, Any]]) -> Answers:
    """Read the answer file `path` below `root`.

    Args:
        root: A folder that we made.
        path: The submission path, absolute as the agent saw it; no part of it may be a link.
        targets: The targets as `content.json` has them.
    """
    try:
        data = _plain_bytes(root, path)
    except FileNotFoundError:
        return no_answers(targets, _NOTHING)
    except OSError as failure:
        return no_answers(targets, _why(failure), status=INVALID)
    return parse_answers(data, targets)


def parse_answers(data: bytes, targets: Sequence[Mapping[str, Any]]) -> Answers:
    """The answers that the bytes of a file hold.

    Args:
        data: At most one byte more than `MOST_BYTES`.
        targets: The targets as `content.json` has them.
    """
    if len(data) > MOST_BYTES:
        return no_answers(targets, f"the answer file has more than {MOST_BYTES} bytes", status=INVALID)
    digest = sha256_bytes(data)
    try:
        value = parse_json(data, name="the answer").value
    except DocumentError as failure:
        found = no_answers(targets, f"the answer file is no strict JSON: {failure.what}", status=INVALID)
        return Answers(found.targets, digest)
    if not isinstance(value, dict):
        found = no_answers(targets, "the answer file holds no JSON object", status=INVALID)
        return Answers(found.targets, digest)
    names = {each["name"] for each in targets}
    answers = {each["name"]: _answer(value, each) for each in targets}
    return Answers(answers, digest, tuple(key for key in value if key not in names))


def _answer(given: Mapping[str, Any], target: Mapping[str, Any]) -> TargetAnswer:
    name = target["name"]
    if name not in given or given[name] is None:
        return TargetAnswer(MISSING, None, "the answer file does not answer this target")
    value = given[name]
    why = _fault(value, target)
    if why:
        return TargetAnswer(INVALID, None, why)
    return TargetAnswer(ANSWERED, int(value) if target["type"] == "ordinal" else value, None)


def _fault(value: Any, target: Mapping[str, Any]) -> str:
    """Why a value is no answer; empty for one that is.

    A number beyond its range stays an answer: scoring takes it to the end of the range and says so.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"a {type(value).__name__} is no number"
    try:
        finite = math.isfinite(value)
    except OverflowError:
        finite = False
    if not finite:
        return "the number is not finite"
    if target["type"] == "binary" and not 0 <= value <= 1:
        return "a probability is from 0 to 1"
    if target["type"] == "ordinal":
        most = len(target["classes"]) - 1
        if value != int(value) or not 0 <= value <= most:
            return f"a class is a whole number from 0 to {most}"
    return ""


def _plain_bytes(root: Path, path: str) -> bytes:
    """The bytes of a plain file, opened part by part so that no link is followed anywhere.

    Raises:
        OSError: There is no such file, a part is a link, or it is no plain file.
    """
    *folders, name = PurePosixPath(path.lstrip("/")).parts
    if ".." in (*folders, name):
        raise OSError(errno.EINVAL, "the path holds a part '..'")
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    here = os.open(root, flags | os.O_DIRECTORY)
    try:
        for folder in folders:
            inner = os.open(folder, flags | os.O_DIRECTORY, dir_fd=here)
            os.close(here)
            here = inner
        descriptor = os.open(name, flags, dir_fd=here)
    finally:
        os.close(here)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EISDIR, "it is no plain file")
        return stream.read(MOST_BYTES + 1)


def _why(failure: OSError) -> str:
    if failure.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
        return "the answer file is a link, or lies behind one"
    return f"the answer file cannot be read: {failure.strerror or failure}"
