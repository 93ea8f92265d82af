"""Where two documents differ, by the paths of their fields.

Leaves to others: digests, and which documents are compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from medomni.core.files import JsonPath, render_path

_ABSENT = object()
_LONGEST_SHOWN = 60
_MOST_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Difference:
    """One field whose value differs, or that only one of the documents has."""

    path: JsonPath
    before: str
    after: str

    def shown(self, value: Any) -> str:
        """As people read it; `value` is the document, which tells keys from indexes."""
        return f"{render_path(self.path, value) or 'all of it'}: {self.before} → {self.after}"


def differences(before: Any, after: Any, path: JsonPath = ()) -> Iterator[Difference]:
    """The innermost fields that differ, in the order of `after`, then what only `before` has."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*after, *before)):
            yield from differences(before.get(key, _ABSENT), after.get(key, _ABSENT), (*path, key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from differences(old, new, (*path, index))
    elif not _same(before, after):
        yield Difference(path, _shown(before), _shown(after))


def told(found: list[Difference], value: Any) -> str:
    """The first differences in one line, and how many there are more."""
    lines = [each.shown(value) for each in found[:_MOST_SHOWN]]
    more = len(found) - len(lines)
    return "; ".join([*lines, *([f"and {more} more"] if more > 0 else [])])


def _same(before: Any, after: Any) -> bool:
    # To Python, True is 1; to whoever reads the file it is not. 18 and 18.0 are one number.
    return isinstance(before, bool) == isinstance(after, bool) and before == after


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return "(absent)"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"
