"""Versions of bundles: `1.2.3`, possibly with a pre-release such as `0.0.0-dummy`, and which is higher.

Leaves to others: when a version has to rise (`freeze`).

Source: precedence as in Semantic Versioning 2.0.0, section 11, without build metadata.
"""

from __future__ import annotations

import re

_VERSION = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?", re.ASCII
)

Version = tuple[tuple[int, int, int], bool, tuple[tuple[bool, int, str], ...]]


def parse_version(text: str) -> Version | None:
    """A key that orders versions, or None where the text is no version.

    Numbers compare as numbers (`0.10.0` is above `0.9.0`), a pre-release is below its release, and within
    one pre-release number parts are below text parts.

    Source: Semantic Versioning 2.0.0, section 11.
    """
    match = _VERSION.fullmatch(text)
    if match is None:
        return None
    parts = match[4].split(".") if match[4] else []
    pre = tuple((not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts)
    return (int(match[1]), int(match[2]), int(match[3])), match[4] is None, pre
