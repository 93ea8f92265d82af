"""What a document must be before a JSON Schema can be asked: text keys, finite numbers, bounded depth.

Leaves to others: the schemas (`_validation`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from medomni.core.files import JsonPath

_MAX_DEPTH = 100


@dataclass(frozen=True, slots=True)
class Problem:
    """One way in which a document fails: `path` in text keys and list indexes, `fault` one of `FAULTS`."""

    path: JsonPath
    fault: str
    what: str
    hint: str = ""


def with_text_keys(value: Any, id_keyed: tuple[JsonPath, ...]) -> tuple[Any, list[Problem]]:
    """The value with text keys only, and what is wrong with it on the way.

    Args:
        value: Plain data; never changed, and shared where nothing in it needs a change.
        id_keyed: Patterns of paths whose mappings may have integer keys; `*` is any step.
    """
    walk = _Walk(id_keyed)
    return walk.convert(value, ()), walk.found


class _Walk:
    def __init__(self, id_keyed: tuple[JsonPath, ...]) -> None:
        self._id_keyed = id_keyed
        self.found: list[Problem] = []

    def convert(self, value: Any, path: JsonPath) -> Any:
        if isinstance(value, float):
            if not math.isfinite(value):
                name = str(value).lower()
                self._add(path, "not-finite", f"{name} is not a number that can be used")
            return value
        if not isinstance(value, (dict, list, tuple)):
            return value
        if len(path) >= _MAX_DEPTH:
            self._add(path[:1], "depth", f"nested more than {_MAX_DEPTH} levels deep")
            return None
        if isinstance(value, dict):
            return self._mapping(value, path)
        items = [self.convert(item, (*path, index)) for index, item in enumerate(value)]
        same = isinstance(value, list) and all(map(_is, items, value))
        return value if same else items

    def _mapping(self, value: dict[Any, Any], path: JsonPath) -> dict[str, Any]:
        converted: dict[str, Any] = {}
        for key, inner in value.items():
            text = key if isinstance(key, str) else str(key)
            here = (*path, text)
            if text is not key and not self._is_id(key, path):
                what = f"the key {text} is {type(key).__name__}, not text"
                self._add(here, "key", what, f'write it in quotes: "{text}"')
            if text in converted:
                what = f"the keys {text} and {text!r} mean the same"
                self._add(here, "key", what, "keep one of the two")
            converted[text] = self.convert(inner, here)
        same = len(converted) == len(value) and all(map(_is, converted, value))
        return value if same and all(map(_is, converted.values(), value.values())) else converted

    def _is_id(self, key: Any, path: JsonPath) -> bool:
        if not isinstance(key, int) or isinstance(key, bool):
            return False
        return any(
            len(pattern) == len(path) and all(p in ("*", s) for p, s in zip(pattern, path, strict=True))
            for pattern in self._id_keyed
        )

    def _add(self, path: JsonPath, fault: str, what: str, hint: str = "") -> None:
        self.found.append(Problem(path, fault, what, hint))


def _is(left: Any, right: Any) -> bool:
    return left is right
