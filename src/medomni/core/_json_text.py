"""Plain data to JSON: readable text in insertion order, and canonical bytes for hashing.

Leaves to others: reading (`_json`), files (`_write`), digests (`hashing`).
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

from medomni.core._document import MAX_DEPTH, index_step, join_steps, key_step
from medomni.core._write import write_atomic
from medomni.core.errors import DocumentError

MAX_EXACT_INTEGER = 2**53 - 1
_MAX_INTEGER_BITS = 3000
_NOT_JSON = "document-not-json"


def json_text(document: Any, *, indent: int | None = 2) -> str:
    """A document as JSON text: keys in insertion order, characters as they are, a newline at the end.

    Args:
        document: Mappings with text keys, lists, tuples, text, numbers, booleans and None.
        indent: Spaces per level; None for one line.

    Raises:
        DocumentError: `document-not-finite` for NaN and infinities, `document-not-json` for anything
            else that JSON cannot hold; both name the JSON path.
    """
    _refuse_faults(document, None)
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=indent) + "\n"


def write_json(path: str | Path, document: Any) -> None:
    """Write `json_text(document)` atomically.

    Raises:
        DocumentError: As `json_text`; nothing is written.
        WriteError: As `write_atomic`.
    """
    write_atomic(path, json_text(document))


def canonical_json(document: Any) -> bytes:
    """A document's canonical bytes, equal for equal documents whatever the order of their keys.

    Raises:
        DocumentError: `document-not-canonical`, naming the path: an integer beyond 2^53 - 1, NaN, an
            infinity, or anything that JSON cannot hold.

    Source:
        RFC 8785, JSON Canonicalization Scheme.
    """
    _refuse_faults(document, "document-not-canonical")
    import rfc8785

    return rfc8785.dumps(document)


def _refuse_faults(document: Any, canonical_code: str | None) -> None:
    """Raise for the first value, in document order, that JSON cannot hold (or canonical JSON, exactly)."""
    waiting: list[tuple[_Link | None, Any]] = [(None, document)]
    while waiting:
        link, value = waiting.pop()
        if isinstance(value, dict):
            _check_depth(link, canonical_code)
            fault = next(filter(None, map(_key_fault, value)), None)
            waiting += [(_Link(link, key, False), value[key]) for key in reversed(value)]
        elif isinstance(value, (list, tuple)):
            _check_depth(link, canonical_code)
            fault = None
            waiting += [(_Link(link, i, True), value[i]) for i in range(len(value) - 1, -1, -1)]
        else:
            fault = _scalar_fault(value, exact=canonical_code is not None)
        if fault is not None:
            code, what = fault
            raise _fault(canonical_code or code, link, what)


class _Link(NamedTuple):
    """One step of a path, linked to the steps before it: made for every value, written out for few."""

    before: _Link | None
    step: Any
    is_index: bool


def _steps(link: _Link | None) -> list[str]:
    steps = []
    while link is not None:
        steps.append(index_step(link.step) if link.is_index else key_step(link.step))
        link = link.before
    return steps[::-1]


def _fault(code: str, link: _Link | None, what: str) -> DocumentError:
    path = join_steps(tuple(_steps(link)))
    return DocumentError(f"{path}: {what}" if path else what, where=path, code=code)


def _check_depth(link: _Link | None, canonical_code: str | None) -> None:
    depth, at = 1, link
    while at is not None:
        depth, at = depth + 1, at.before
    if depth > MAX_DEPTH:
        what = f"nested more than {MAX_DEPTH} levels deep"
        raise _fault(canonical_code or _NOT_JSON, None, what)


def _key_fault(key: Any) -> tuple[str, str] | None:
    if not isinstance(key, str):
        return _NOT_JSON, f"the key {key!r} is not text"
    return None if _is_text(key) else (_NOT_JSON, "a key holds half of a surrogate pair")


def _scalar_fault(value: Any, *, exact: bool) -> tuple[str, str] | None:
    what = None
    if isinstance(value, str):
        what = None if _is_text(value) else "the text holds half of a surrogate pair"
    elif isinstance(value, float):
        if not math.isfinite(value):
            return "document-not-finite", f"{value} is not a number that JSON can hold"
    elif isinstance(value, int):
        if value.bit_length() > _MAX_INTEGER_BITS:
            what = f"an integer of {value.bit_length()} bits is too long"
        elif exact and abs(value) > MAX_EXACT_INTEGER:
            what = f"the integer {value} is beyond 2^53 - 1, where JSON readers round; write it as text"
    elif value is not None:
        what = f"a value of type {type(value).__name__} has no form in JSON"
    return (_NOT_JSON, what) if what else None


def _is_text(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)
