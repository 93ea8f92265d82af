"""Path patterns with named fields, such as `Train/{case}_ct.nii.gz`, and templates made of such fields.

A field `{name}` matches one or more characters within one folder or file name, `{name:digits}` digits
only; a field that stands twice must match the same text twice. The same pattern read backwards (`render`)
gives the path of given fields. Leaves to others: walking folders (`scan`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_FIELD = re.compile(r"\{([a-z][a-z0-9_]*)(:digits)?\}")
_COUNTER = re.compile(r"\{(index|patient|visit)(?::(\d{1,2}))?\}")


class PatternError(ValueError):
    """A pattern or template that cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A relative path with named fields.

    Attributes:
        text: As written.
        fields: The names of its fields, each once, in order.
        regex: Matches exactly the paths that the pattern means.
    """

    text: str
    fields: tuple[str, ...]
    regex: re.Pattern[str]

    @classmethod
    def parse(cls, text: str) -> Pattern:
        """Reads a pattern.

        Raises:
            PatternError: it is no plain relative path, or has braces that are no field.
        """
        parts = text.split("/")
        if (
            not text
            or "\\" in text
            or ":" in _FIELD.sub("", text)
            or any(p in ("", ".", "..") for p in parts)
        ):
            raise PatternError(f"{text!r} is no plain relative path with forward slashes")
        fields, pieces, end = dict[str, None](), list[str](), 0
        for match in _FIELD.finditer(text):
            name = match[1]
            pieces.append(_literal(text[end : match.start()], text))
            what = "[0-9]+" if match[2] else "[^/]+?"
            pieces.append(f"(?P={name})" if name in fields else f"(?P<{name}>{what})")
            fields[name] = None
            end = match.end()
        pieces.append(_literal(text[end:], text))
        return cls(text, tuple(fields), re.compile("".join(pieces)))

    def match(self, path: str) -> dict[str, str] | None:
        """The fields of a path, or None where it is none of the pattern's."""
        found = self.regex.fullmatch(path)
        return found.groupdict() if found else None

    def render(self, fields: Mapping[str, str]) -> str:
        """The path of the given fields."""
        return render(self.text, fields)


def _literal(text: str, whole: str) -> str:
    if "{" in text or "}" in text:
        raise PatternError(f"{whole!r} has a brace that is no field such as {{case}} or {{n:digits}}")
    return re.escape(text)


def field_names(template: str) -> list[str]:
    """The fields that a template uses.

    Raises:
        PatternError: braces that are no field.
    """
    _literal(_FIELD.sub("", template), template)
    return [match[1] for match in _FIELD.finditer(template)]


def render(template: str, fields: Mapping[str, str]) -> str:
    """The template with its fields filled in."""
    return _FIELD.sub(lambda match: fields[match[1]], template)


def check_counter(template: str) -> None:
    """Checks a template of generated names, which may use `{index:4}`, `{patient:4}` and `{visit:3}`.

    Raises:
        PatternError: braces that are none of these.
    """
    _literal(_COUNTER.sub("", template), template)


def render_counter(template: str, counters: Mapping[str, int]) -> str:
    """The template with its counters as zero-padded numbers."""
    return _COUNTER.sub(lambda match: str(counters[match[1]]).zfill(int(match[2] or 0)), template)
