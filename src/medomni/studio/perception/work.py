"""The process of one encoding: takes one request from its input, gives one answer, ends.

A process of its own for each, so that an encoder that hangs, eats memory or crashes ends with its request.
An exception that no encoder should raise ends the process with its traceback, which the service reports.

Leaves to others: which requests are allowed, and the time limit (`calls`).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from medomni.core.errors import MedomniError
from medomni.core.files import json_text
from medomni.studio.perception.encoders import find_encoder
from medomni.studio.perception.errors import PerceptionError


def work(request: Mapping[str, Any]) -> str:
    """The answer to one request, as JSON.

    Args:
        request: `encoder`; `file` (absolute) and `most_answer_bytes` for an encoding. Without a file the
            encoder is described.

    Returns:
        The encoding or description; or `error` with `code`, `what`, `where` and `hint`.
    """
    try:
        return _answer(request)
    except MedomniError as failure:
        code = failure.code if isinstance(failure, PerceptionError) else "encoder-failed"
        parts = {"code": code, "what": failure.what, "where": failure.where, "hint": failure.hint}
        return json_text({"error": parts}, indent=None)


def _answer(request: Mapping[str, Any]) -> str:
    encoder = find_encoder(request["encoder"])
    answer: dict[str, Any] = {"encoder": encoder.name, "version": encoder.version}
    if "file" not in request:
        return json_text({**answer, "description": encoder.description}, indent=None)
    made = encoder.encode(Path(request["file"]))
    answer |= {"numbers": made.get("numbers", {}), "words": list(made.get("words", ()))}
    text = json_text(answer, indent=None)
    if len(text.encode()) > request["most_answer_bytes"]:
        what = f"the encoding of {len(text)} characters is too long to be passed on"
        raise PerceptionError(what, code="encoder-failed")
    return text


def limit_memory(most_bytes: int) -> None:
    """Keep this process within an address space."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = most_bytes if hard == resource.RLIM_INFINITY else min(most_bytes, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def main() -> int:
    """Read a request from the standard input, and write its answer to the standard output."""
    request = json.loads(sys.stdin.read())
    limit_memory(request["memory_bytes"])
    # What an encoder prints must not stand in the answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with answers:
        answers.write(work(request))
    return 0
