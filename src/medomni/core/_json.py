"""Strict JSON reading: what two readers could understand differently is an error with its line.

The C parser of the standard library does the work; only where it meets something refused, or where
a line number is asked for, is the text walked a second time to find the place.

Leaves to others: what a document must hold (`contracts`), writing JSON (`_json_text`).
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from medomni.core._document import (
    MAX_DEPTH,
    MAX_NUMBER_DIGITS,
    Document,
    Lines,
    decode,
    index_step,
    join_steps,
    key_step,
    place,
    read_limited,
)
from medomni.core.errors import DocumentError

MAX_JSON_BYTES = 256 * 1024 * 1024
_TOKEN = re.compile(r"""[ \t\n\r]*(?:([{}\[\],:])|("(?:[^"\\]|\\.)*")|([^\s{}\[\],:"]+))""", re.DOTALL)
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_CONSTANTS = ("NaN", "Infinity", "-Infinity")
_BOM = "\ufeff"


def read_json(path: str | Path, *, max_bytes: int = MAX_JSON_BYTES) -> Document:
    """Read a JSON file.

    Raises:
        DocumentNotFoundError: There is no such file.
        DocumentError: It cannot be read, or `parse_json` refuses it.
    """
    return parse_json(read_limited(path, max_bytes), name=str(path), max_bytes=max_bytes)


def parse_json(data: str | bytes, *, name: str, max_bytes: int = MAX_JSON_BYTES) -> Document:
    """Parse JSON text.

    Args:
        data: The text, or its bytes in UTF-8 without a byte order mark.
        name: What messages call the document; the file's path as a rule.
        max_bytes: Refuse anything longer.

    Raises:
        DocumentError: Not JSON, not UTF-8, a key given twice, NaN or an infinity, a number of more
            than 1000 characters, half of a surrogate pair, nesting over 100 levels, or too large.
    """
    text = decode(data, name, max_bytes)
    if text.startswith(_BOM):
        raise _fault(
            "document-syntax", "begins with a byte order mark, which JSON does not allow", place(name, 1)
        )
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_refuse,
            parse_float=_finite,
            parse_int=_short_integer,
        )
    except json.JSONDecodeError as error:
        what = f"not valid JSON: {error.msg[:1].lower()}{error.msg[1:]} (column {error.colno})"
        raise _fault("document-syntax", what, place(name, error.lineno)) from error
    except (DocumentError, RecursionError) as error:
        _Scan(text, name).run()
        raise _fault(
            "document-syntax", "cannot be parsed", name
        ) from error  # pragma: no cover - run() raises
    if _too_deep(value) or "\\ud" in text or "\\uD" in text:
        _Scan(text, name).run()
    return Document(value, name, _JsonLines(text, name))


class _JsonLines:
    """The lines of a JSON text, found when the first one is asked for."""

    def __init__(self, text: str, name: str) -> None:
        self._text = text
        self._name = name

    @cached_property
    def _found(self) -> Lines:
        return _Scan(self._text, self._name).run()

    def __call__(self) -> Lines:
        return self._found


def _fault(code: str, what: str, where: str, hint: str = "") -> DocumentError:
    return DocumentError(what, where=where, hint=hint, code=code)


def _refuse(constant: str) -> NoReturn:
    raise DocumentError(f"{constant} is not a number", code="document-not-finite")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value) or len(text) > MAX_NUMBER_DIGITS:
        _refuse("an infinity")
    return value


def _short_integer(text: str) -> int:
    if len(text) > MAX_NUMBER_DIGITS:
        _refuse("an overlong integer")
    return int(text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise DocumentError("duplicate key", code="document-duplicate-key")
    return value


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            if isinstance(outer, (dict, list))
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return False
    return True


@dataclass(slots=True)
class _Frame:
    """An open object or array."""

    step: str
    is_object: bool
    lines: Lines = field(default_factory=dict)
    key: Any = None
    key_line: int = 0
    wants_key: bool = False


class _Scan:
    """One walk over the text that keeps lines and raises at the first thing that is refused."""

    def __init__(self, text: str, name: str) -> None:
        self._text = text
        self._name = name
        self._line = 1
        self._stack: list[_Frame] = []

    def run(self) -> Lines:
        """The lines of all entries.

        Raises:
            DocumentError: The first refused thing, with its line and path.
        """
        top: Lines = {}
        at = 0
        while match := _TOKEN.match(self._text, at):
            start = match.start(match.lastindex or 0)
            self._line += self._text.count("\n", at, start)
            at = match.end()
            mark, string, scalar = match.groups()
            if mark is not None:
                opened = self._punctuation(mark)
                if opened is not None and len(self._stack) == 1:
                    top = opened
            elif string is not None:
                self._string(string)
            else:
                self._scalar(scalar)
        return top

    def _punctuation(self, mark: str) -> Lines | None:
        if mark in "{[":
            return self._open(is_object=mark == "{")
        if mark in "}]":
            self._stack.pop()
        elif mark == ":":
            self._stack[-1].wants_key = False
        else:
            frame = self._stack[-1]
            if frame.is_object:
                frame.wants_key = True
            else:
                frame.key += 1
        return None

    def _open(self, *, is_object: bool) -> Lines:
        frame = _Frame(self._step(), is_object, key=None if is_object else 0, wants_key=is_object)
        self._enter(frame.lines)
        self._stack.append(frame)
        if len(self._stack) > MAX_DEPTH:
            raise _fault(
                "document-syntax", f"nested more than {MAX_DEPTH} levels deep", place(self._name, self._line)
            )
        return frame.lines

    def _string(self, token: str) -> None:
        text = json.loads(token)
        frame = self._stack[-1] if self._stack else None
        if frame is not None and frame.wants_key:
            if text in frame.lines:
                first = frame.lines[text][0]
                path = join_steps((*self._steps(), key_step(text)))
                raise _fault(
                    "document-duplicate-key",
                    f"duplicate key {path}, first given on line {first}",
                    place(self._name, self._line, path),
                    "keep one of the two",
                )
            frame.key, frame.key_line = text, self._line
        else:
            self._enter(None)
        if "\\u" in token and any("\ud800" <= letter <= "\udfff" for letter in text):
            raise self._here("document-not-utf8", "holds half of a surrogate pair, which is no character")

    def _scalar(self, token: str) -> None:
        self._enter(None)
        # The parser refuses a constant before it sees what follows it: NaN0 begins with one.
        constant = next((each for each in _CONSTANTS if token.startswith(each)), None)
        if constant is not None:
            raise self._here("document-not-finite", f"{constant.lower()} is not a number that JSON can hold")
        if token not in ("true", "false", "null"):
            if len(token) > MAX_NUMBER_DIGITS:
                raise self._here("document-syntax", f"a number of {len(token)} characters is too long")
            number = _NUMBER.match(token)
            if number is not None and math.isinf(float(number.group())):
                raise self._here(
                    "document-not-finite", f"{number.group()} is too large: it would become infinity"
                )

    def _enter(self, lines: Lines | None) -> None:
        if self._stack:
            frame = self._stack[-1]
            frame.lines[frame.key] = (frame.key_line if frame.is_object else self._line, lines)

    def _step(self) -> str:
        if not self._stack:
            return ""
        frame = self._stack[-1]
        return key_step(frame.key) if frame.is_object else index_step(frame.key)

    def _steps(self) -> tuple[str, ...]:
        return tuple(frame.step for frame in self._stack)

    def _here(self, code: str, what: str) -> DocumentError:
        return _fault(code, what, place(self._name, self._line, join_steps((*self._steps(), self._step()))))
