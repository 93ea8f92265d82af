"""A parsed document that still knows the file and line of each value, and how JSON paths are written.

Leaves to others: parsing (`_yaml`, `_json`) and what a document must hold (`contracts`).
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from medomni.core.errors import DocumentError, DocumentNotFoundError

# No `type` statements here and in `_yaml`: the perception service takes these modules into images whose
# Python may be 3.11, and a test holds them to it.
JsonPath: TypeAlias = tuple[Any, ...]  # noqa: UP040
# Line of each entry of a mapping or list, and the same for what it holds; a scalar holds nothing.
Lines: TypeAlias = "dict[Any, tuple[int, Lines | None]]"  # noqa: UP040

MAX_DEPTH = 100
MAX_NUMBER_DIGITS = 1000
_PLAIN_KEY = re.compile(r"[^\s.\[\]\"\x00-\x1f\x7f]{1,200}")
_LONGEST_KEY = 200


def key_step(key: Any) -> str:
    """One step of a written path into a mapping: `.name`, or `["odd.name"]` where dots would mislead."""
    text = key if isinstance(key, str) else str(key)
    if _PLAIN_KEY.fullmatch(text) and text.isprintable():
        return f".{text}"
    return f"[{json.dumps(text[:_LONGEST_KEY])}]"


def index_step(index: int) -> str:
    """One step of a written path into a list."""
    return f"[{index}]"


def join_steps(steps: tuple[str, ...]) -> str:
    """The steps as one path: `label_remap.DS_A.2`, `a.b[0].c`; empty for the document itself."""
    return "".join(steps).removeprefix(".")


def render_path(path: JsonPath, value: Any = None) -> str:
    """A path as people read it.

    Args:
        path: Mapping keys and list indexes from the top of the document.
        value: The document; tells an integer key of a mapping from the index of a list.
    """
    steps = []
    for step in path:
        inside_mapping = isinstance(value, dict) or not isinstance(step, int)
        steps.append(key_step(step) if inside_mapping else index_step(step))
        value = child(value, step)
    return join_steps(tuple(steps))


def child(value: Any, step: Any) -> Any:
    """What `value` holds under `step`; None where it holds nothing there."""
    if isinstance(value, dict):
        return value.get(step)
    if isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
        return value[step]
    return None


def place(name: str, line: int | None, path: str = "") -> str:
    """`file:line, path`, leaving out what is not known."""
    at = f"{name}:{line}" if line else name
    return f"{at}, {path}" if path else at


def _no_lines() -> Lines:
    return {}


@dataclass(frozen=True)
class Document:
    """A document's value with the places that its parts come from.

    Attributes:
        value: The parsed value.
        name: The file as it was given; for messages.
    """

    value: Any
    name: str
    lines: Callable[[], Lines] = field(default=_no_lines, repr=False, compare=False)

    def line_of(self, path: JsonPath) -> int | None:
        """The line, from 1, on which the entry at `path` stands; None where there is no such entry."""
        lines: Lines | None = self.lines()
        line = None
        for step in path:
            if lines is None or step not in lines:
                return None
            line, lines = lines[step]
        return line

    def where(self, path: JsonPath) -> str:
        """`file:line, path`; the line of the nearest entry around it where `path` itself is absent."""
        line = None
        for length in range(len(path), 0, -1):
            line = self.line_of(path[:length])
            if line is not None:
                break
        return place(self.name, line, render_path(path, self.value))


def read_limited(path: str | Path, max_bytes: int) -> bytes:
    """The bytes of a regular file of at most `max_bytes`.

    Raises:
        DocumentNotFoundError: There is no such file.
        DocumentError: `document-unreadable` or `document-too-large`.
    """
    name = str(path)
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode):
            raise DocumentError(f"{name} is not a regular file", where=name, code="document-unreadable")
        with Path(path).open("rb") as stream:
            data = stream.read(max_bytes + 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise DocumentNotFoundError(
            f"{name} does not exist", where=name, hint="check the path, and the folder it starts from"
        ) from error
    except DocumentError:
        raise
    except (OSError, ValueError) as error:
        raise DocumentError(
            f"{key_text(name)} cannot be read: {reason(error)}",
            where=key_text(name),
            code="document-unreadable",
        ) from error
    check_size(len(data), max_bytes, name)
    return data


def reason(error: Exception) -> str:
    """The operating system's words for a failure, without the path that it repeats."""
    return str(getattr(error, "strerror", None) or error)


def key_text(text: str) -> str:
    """Text that can be printed on any stream, whatever a stranger put into it."""
    return text if text.isprintable() else json.dumps(text)


def check_size(size: int, max_bytes: int, name: str) -> None:
    """Refuse a document over the limit.

    Raises:
        DocumentError: `document-too-large`.
    """
    if size > max_bytes:
        raise DocumentError(
            f"{name} is larger than {max_bytes} bytes, the limit for such a document",
            where=name,
            code="document-too-large",
        )


def decode(data: str | bytes, name: str, max_bytes: int) -> str:
    """The text of a document.

    Raises:
        DocumentError: `document-too-large` or `document-not-utf8`.
    """
    if isinstance(data, str):
        check_size(len(data), max_bytes, name)
        return data
    check_size(len(data), max_bytes, name)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DocumentError(
            f"byte 0x{data[error.start]:02x} at offset {error.start} is not UTF-8",
            where=place(name, line),
            hint="save the file as UTF-8",
            code="document-not-utf8",
        ) from error
