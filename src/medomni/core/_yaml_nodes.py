"""YAML text to a tree of nodes with lines, within limits on depth, aliases and tags.

PyYAML's scanner, parser and scalar resolver do the reading; its composer and constructor are not used,
since they recurse without a limit, keep the last of two equal keys, and lose the lines.

Leaves to others: turning nodes into values (`_yaml`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from medomni.core._document import MAX_DEPTH, Lines, key_text, place
from medomni.core.errors import DocumentError

TAG = "tag:yaml.org,2002:"
MAX_ALIASED_NODES = 100_000
_KIND_OF_TAG = {
    f"{TAG}str": "scalar",
    f"{TAG}int": "scalar",
    f"{TAG}float": "scalar",
    f"{TAG}bool": "scalar",
    f"{TAG}null": "scalar",
    f"{TAG}seq": "sequence",
    f"{TAG}map": "mapping",
}


@dataclass(slots=True, eq=False)
class Node:
    """One node: a scalar's `text`, a sequence's `items` or a mapping's `pairs`.

    `size` and `depth` count what it becomes when every alias in it is written out.
    """

    kind: str
    tag: str
    line: int
    text: str = ""
    items: list[Node] = field(default_factory=list)
    pairs: list[tuple[Node, Node]] = field(default_factory=list)
    size: int = 1
    depth: int = 1
    is_open: bool = True
    is_built: bool = False
    value: Any = None
    lines: Lines | None = None


def compose(text: str, name: str) -> Node | None:
    """The tree of a document; None where the text holds none.

    Raises:
        DocumentError: Not YAML, several documents, an unknown tag, nesting or aliases past the limits.
    """
    import yaml

    try:
        # The constructor already checks for characters that YAML does not allow.
        loader = yaml.SafeLoader(text)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        what = f"character U+{ord(text[error.position]):04X} is not allowed in YAML"
        raise DocumentError(what, where=place(name, line), code="document-syntax") from error
    try:
        return _Composer(loader, name).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise DocumentError(
            f"not valid YAML: {error.problem or error.context}",
            where=place(name, mark.line + 1 if mark else None),
            hint="indent with spaces; YAML allows no tabs" if "'\\t'" in str(error.problem) else "",
            code="document-syntax",
        ) from error
    finally:
        loader.dispose()


class _Composer:
    """Walks PyYAML's events once."""

    def __init__(self, loader: Any, name: str) -> None:
        self._loader = loader
        self._name = name
        self._anchors: dict[str, Node] = {}
        self._aliased = 0

    def document(self) -> Node | None:
        import yaml

        self._next()  # the start of the stream
        if isinstance(self._peek(), yaml.StreamEndEvent):
            return None
        self._next()  # the start of the document
        node = self._node(self._next(), 1)
        self._next()  # the end of the document
        event = self._next()
        if not isinstance(event, yaml.StreamEndEvent):
            raise self._fault("document-syntax", "holds a second document, and one is expected", event)
        return node

    def _peek(self) -> Any:
        return self._loader.peek_event()

    def _next(self) -> Any:
        return self._loader.get_event()

    def _fault(self, code: str, what: str, event: Any, hint: str = "") -> DocumentError:
        return DocumentError(what, where=place(self._name, event.start_mark.line + 1), hint=hint, code=code)

    def _node(self, event: Any, level: int) -> Node:
        import yaml

        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, level)
        node = self._start(event)
        if event.anchor is not None:
            if event.anchor in self._anchors:
                first = self._anchors[event.anchor].line
                what = f"the anchor &{event.anchor} is given twice, first on line {first}"
                raise self._fault("document-syntax", what, event)
            self._anchors[event.anchor] = node
        if node.kind != "scalar":
            self._check_depth(level, event)
            self._fill(node, level)
        node.is_open = False
        return node

    def _alias(self, event: Any, level: int) -> Node:
        node = self._anchors.get(event.anchor)
        if node is None:
            raise self._fault("document-syntax", f"the alias *{event.anchor} has no anchor before it", event)
        if node.is_open:
            raise self._fault("document-alias-limit", f"the alias *{event.anchor} holds itself", event)
        self._check_depth(level + node.depth - 1, event)
        self._aliased += node.size
        if self._aliased > MAX_ALIASED_NODES:
            what = f"its aliases would expand to more than {MAX_ALIASED_NODES} values"
            raise self._fault(
                "document-alias-limit", what, event, "write the values out, or use fewer aliases"
            )
        return node

    def _check_depth(self, level: int, event: Any) -> None:
        if level > MAX_DEPTH:
            raise self._fault("document-syntax", f"nested more than {MAX_DEPTH} levels deep", event)

    def _start(self, event: Any) -> Node:
        import yaml

        kind, node_class = {
            yaml.ScalarEvent: ("scalar", yaml.ScalarNode),
            yaml.SequenceStartEvent: ("sequence", yaml.SequenceNode),
            yaml.MappingStartEvent: ("mapping", yaml.MappingNode),
        }[type(event)]
        text = event.value if kind == "scalar" else ""
        if event.tag is None or event.tag == "!":
            tag = self._loader.resolve(node_class, text, event.implicit)
        else:
            tag = event.tag
            if _KIND_OF_TAG.get(tag) != kind:
                shown = key_text(str(tag).replace(TAG, "!!"))
                raise self._fault(
                    "document-tag", f"the tag {shown} is not allowed on a {kind}", event, "remove the tag"
                )
        return Node(kind, tag, event.start_mark.line + 1, text)

    def _fill(self, node: Node, level: int) -> None:
        inner: list[Node] = []
        for event in self._until_end():
            first = self._node(event, level + 1)
            inner.append(first)
            if node.kind == "sequence":
                node.items.append(first)
            else:
                second = self._node(self._next(), level + 1)
                inner.append(second)
                node.pairs.append((first, second))
        node.size += sum(each.size for each in inner)
        node.depth += max((each.depth for each in inner if each.kind != "scalar"), default=0)

    def _until_end(self) -> Iterator[Any]:
        import yaml

        while not isinstance(event := self._next(), (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            yield event
