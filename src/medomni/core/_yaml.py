"""Strict YAML reading: the value that `yaml.safe_load` gives, or an error that names line and path.

Refused are a key given twice; plain words that YAML 1.1 turns into something that the author hardly
meant (`NO`, `042`, `1:30`); NaN and infinities; tags outside the core schema.

Leaves to others: limits on depth and aliases (`_yaml_nodes`), what a document must hold (`contracts`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any, TypeAlias

from medomni.core._document import (
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
from medomni.core._yaml_nodes import TAG, Node, compose
from medomni.core.errors import DocumentError

MAX_YAML_BYTES = 4 * 1024 * 1024
_OCTAL = re.compile(r"[-+]?0[0-7_]+")
_Steps: TypeAlias = tuple[str, ...]  # noqa: UP040 - see `_document`


def read_yaml(path: str | Path, *, max_bytes: int = MAX_YAML_BYTES) -> Document:
    """Read a YAML file.

    Raises:
        DocumentNotFoundError: There is no such file.
        DocumentError: It cannot be read, or `parse_yaml` refuses it.
    """
    return parse_yaml(read_limited(path, max_bytes), name=str(path), max_bytes=max_bytes)


def parse_yaml(data: str | bytes, *, name: str, max_bytes: int = MAX_YAML_BYTES) -> Document:
    """Parse YAML text with one document.

    Args:
        data: The text, or its bytes in UTF-8.
        name: What messages call the document; the file's path as a rule.
        max_bytes: Refuse anything longer.

    Raises:
        DocumentError: Not YAML, not UTF-8, several documents, a key given twice, an ambiguous plain
            word, NaN or an infinity, a tag, too deep, too many aliases, or too large.
    """
    text = decode(data, name, max_bytes)
    try:
        root = compose(text, name)
    except (ValueError, OverflowError) as error:
        if isinstance(error, DocumentError):
            raise
        # PyYAML lets an escape such as "\U00110000" and a version such as %YAML 1.x through to int and chr.
        raise DocumentError(
            "not valid YAML: an escape or directive is out of range", where=name, code="document-syntax"
        ) from error
    if root is None:
        return Document(None, name)
    builder = _Builder(name)
    value = builder.build(root, ())
    if builder.merged:
        _check_merge(text, value, name)
    return Document(value, name, _YamlLines(root.lines or {}))


class _YamlLines:
    """The lines found while the values were built."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines

    def __call__(self) -> Lines:
        return self._lines


def _check_merge(text: str, value: Any, name: str) -> None:
    """Refuse `<<` where the order in which keys win depends on the release of PyYAML."""
    import yaml

    if not _same(value, yaml.safe_load(text)):
        raise DocumentError(
            "merge keys (<<) give one key several values, and YAML readers differ on which one wins",
            where=name,
            hint="write the mapping out without <<",
            code="document-duplicate-key",
        )


def _same(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)


class _Builder:
    """Turns nodes into values, once per node, as aliases share what they name."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.merged = False

    def build(self, node: Node, steps: _Steps) -> Any:
        if not node.is_built:
            if node.kind == "scalar":
                node.value = self._scalar(node, steps)
            elif node.kind == "sequence":
                node.value = [
                    self.build(item, (*steps, index_step(index))) for index, item in enumerate(node.items)
                ]
                node.lines = {index: (item.line, item.lines) for index, item in enumerate(node.items)}
            else:
                self._mapping(node, steps)
            node.is_built = True
        return node.value

    def _fault(self, code: str, what: str, line: int, steps: _Steps, hint: str = "") -> DocumentError:
        return DocumentError(what, where=place(self._name, line, join_steps(steps)), hint=hint, code=code)

    def _mapping(self, node: Node, steps: _Steps) -> None:
        own: dict[Any, Any] = {}
        own_lines: Lines = {}
        merged: dict[Any, Any] = {}
        merged_lines: Lines = {}
        merge_line = 0
        for key_node, value_node in node.pairs:
            if key_node.tag == f"{TAG}merge":
                if merge_line:
                    raise self._duplicate("<<", key_node.line, merge_line, steps)
                merge_line = key_node.line
                merged, merged_lines = self._merge(value_node, (*steps, key_step("<<")))
                continue
            key = self._key(key_node, steps)
            if key in own:
                raise self._duplicate(key, key_node.line, own_lines[key][0], steps)
            own[key] = self.build(value_node, (*steps, key_step(key)))
            own_lines[key] = (key_node.line, value_node.lines)
        node.value = merged | own
        node.lines = merged_lines | own_lines

    def _duplicate(self, key: Any, line: int, first: int, steps: _Steps) -> DocumentError:
        path = (*steps, key_step(key))
        what = f"duplicate key {join_steps(path)}, first given on line {first}"
        return self._fault("document-duplicate-key", what, line, path, "keep one of the two")

    def _key(self, node: Node, steps: _Steps) -> Any:
        if node.tag == f"{TAG}value":
            return node.text
        inner = (*steps, key_step(node.text))
        key = self.build(node, inner)
        if not isinstance(key, Hashable):
            raise self._fault("document-syntax", f"a key is a {node.kind}", node.line, steps)
        return key

    def _merge(self, node: Node, steps: _Steps) -> tuple[dict[Any, Any], Lines]:
        self.merged = True
        sources = node.items if node.kind == "sequence" else [node]
        values: dict[Any, Any] = {}
        lines: Lines = {}
        for source in sources:
            if source.kind != "mapping":
                what = "<< takes a mapping, or a list of mappings"
                raise self._fault("document-syntax", what, source.line, steps)
            # Of several sources the first wins (https://yaml.org/type/merge.html).
            values = self.build(source, steps) | values
            lines = (source.lines or {}) | lines
        return values, lines

    def _scalar(self, node: Node, steps: _Steps) -> Any:
        if node.tag == f"{TAG}str":
            if any("\ud800" <= letter <= "\udfff" for letter in node.text):
                what = "holds half of a surrogate pair, which is no character"
                raise self._fault("document-not-utf8", what, node.line, steps, "write the character itself")
            return node.text
        self._check_plain(node, steps)
        try:
            value = _construct(node)
        except (ValueError, LookupError, OverflowError) as error:
            kind = node.tag.removeprefix(TAG)
            what = f"{node.text[:80]!r} is no valid {kind}"
            raise self._fault("document-syntax", what, node.line, steps, _QUOTE) from error
        if isinstance(value, float) and not math.isfinite(value):
            what = f"{node.text.lower()} is not a finite number"
            raise self._fault("document-not-finite", what, node.line, steps)
        return value

    def _check_plain(self, node: Node, steps: _Steps) -> None:
        meant = ""
        kind = node.tag.removeprefix(TAG)
        if kind in ("merge", "value"):
            what = f"a plain {node.text} means nothing as a value"
            raise self._fault("document-syntax", what, node.line, steps, _QUOTE)
        if kind == "bool" and node.text.lower() in ("yes", "no", "on", "off"):
            meant = "a boolean"
        elif kind in ("int", "float") and ":" in node.text:
            meant = "a number in base 60"
        elif kind == "int" and _OCTAL.fullmatch(node.text):
            meant = "an octal number"
        elif kind in ("int", "float") and len(node.text) > MAX_NUMBER_DIGITS:
            what = f"a number of {len(node.text)} characters is too long"
            raise self._fault("document-syntax", what, node.line, steps)
        if meant:
            what = f"plain {node.text[:80]} is {meant} in YAML 1.1, which is hardly what is meant"
            hint = f'write "{node.text[:80]}" for the text, or the value itself'
            raise self._fault("document-ambiguous-scalar", what, node.line, steps, hint)


_QUOTE = "put it in quotes if it is text"


def _construct(node: Node) -> Any:
    """PyYAML's own value of a resolved scalar, so that the two never differ."""
    import yaml

    loader = yaml.SafeLoader("")
    try:
        return yaml.SafeLoader.yaml_constructors[node.tag](loader, yaml.ScalarNode(node.tag, node.text))
    finally:
        loader.dispose()
