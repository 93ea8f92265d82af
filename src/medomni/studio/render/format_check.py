"""Checks the form of an answer: right keys, numbers within their domain. It knows no right answer.

`python3 format_check.py REWARD` reads `expected.json` (the names of the targets) and `form.json` (where the
answer is, and what each number may be) beside it, says what is wrong, and writes `{"format_ok": 0}` or
`{"format_ok": 1}` to REWARD. It needs the standard library alone, since it runs inside the task's container.

Leaves to others: scoring. That is more lenient: it takes each well-formed number for itself.
"""

import json
import math
import os
import stat
import sys
from pathlib import Path
from typing import Any, NoReturn

MOST_BYTES = 64 * 1024


def problems(path: str, names: list[str], forms: list[dict[str, Any]]) -> list[str]:
    """What is wrong with the form of an answer; empty for a well-formed one.

    Args:
        path: The answer file.
        names: The names of the targets.
        forms: For each target `name`, `kind` (`probability`, `class` or `number`), and `classes` or `range`.
    """
    text, found = _read(path)
    if found:
        return [found]
    try:
        answer = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
    except (ValueError, RecursionError) as failure:
        return [f"the answer is no strict JSON: {failure}"]
    if not isinstance(answer, dict):
        return ["the answer is no JSON object"]
    extra = [f"there is no target {name!r}" for name in answer if name not in names]
    missing = [f"{name}: there is no answer" for name in names if name not in answer]
    known = {form["name"]: form for form in forms}
    given = [(name, answer[name]) for name in names if name in answer]
    wrong = [(name, _fault(value, known[name])) for name, value in given]
    return extra + missing + [f"{name}: {fault}" for name, fault in wrong if fault]


def _read(path: str) -> tuple[str, str]:
    """The text of a plain file that no link leads to, and what is wrong with it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return "", "the answer is no plain file"
            data = stream.read(MOST_BYTES + 1)
    except OSError as failure:
        return "", f"there is no answer that can be read: {failure.strerror}"
    if len(data) > MOST_BYTES:
        return "", f"the answer has more than {MOST_BYTES} bytes"
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError:
        return "", "the answer is not UTF-8"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    twice = sorted({key for key in keys if keys.count(key) > 1})
    if twice:
        raise ValueError(f"the key {twice[0]!r} is there twice")
    return dict(pairs)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _fault(value: Any, form: dict[str, Any]) -> str:
    """Why a value is none of its form; empty for one that is."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f"{json.dumps(value)[:80]} is no number"
    # Integers are finite, and may be too long for a floating-point number.
    if isinstance(value, float) and not math.isfinite(value):
        return "the number is not finite"
    if form["kind"] == "class":
        if not isinstance(value, int):
            return f"{value} is no whole number"
        low, high = 0, form["classes"] - 1
    else:
        low, high = form.get("range", (0, 1))
    return "" if low <= value <= high else f"{str(value)[:80]} is not from {low} to {high}"


def main(arguments: list[str]) -> int:
    """Check, say what was found, and write the reward; 0 whatever the answer is like."""
    here = Path(__file__).resolve().parent
    names = json.loads((here / "expected.json").read_text(encoding="utf-8"))
    form = json.loads((here / "form.json").read_text(encoding="utf-8"))
    found = problems(form["path"], names, form["targets"])
    sys.stdout.write("\n".join(found or ["well-formed"]) + "\n")
    reward = json.dumps({"format_ok": 0 if found else 1}) + "\n"
    Path(arguments[0]).write_text(reward, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
