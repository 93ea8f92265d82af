"""Text of the recipe language cut into tokens.

Leaves to others: what the tokens mean together (`parser`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from medomni.studio.errors import RecipeError

LONGEST_TEXT = 4000
# Exact seconds. A month or a year has no fixed length, and `m` could mean either: not allowed.
UNITS = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1),
    **dict.fromkeys(("min", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hr", "hour", "hours"), 3600),
    **dict.fromkeys(("d", "day", "days"), 86_400),
    **dict.fromkeys(("w", "week", "weeks"), 604_800),
}
_NO_UNITS = ("y", "yr", "year", "years", "m", "month", "months")
_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<number>(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")
    |(?P<mark>->|<-(?!\s*\d)|==|!=|<=|>=|[-+*/<>(),.:@\[\]])""",
    re.VERBOSE,
)
_UNIT = re.compile(r"[ \t]*([A-Za-z]+)(?![A-Za-z0-9_.(])")
_MOST_DIGITS = 30


@dataclass(frozen=True, slots=True)
class Token:
    """One token: `kind` is number, duration, name, text, mark or end; `at` its column from 1."""

    kind: str
    text: str
    at: int
    number: Decimal = Decimal(0)


def tokens(text: str) -> list[Token]:
    """All tokens of a text, ending with one of kind `end`.

    Raises:
        RecipeError: `recipe-syntax`: a character or number that the language has not.
    """
    if len(text) > LONGEST_TEXT:
        raise RecipeError(
            f"an expression of {len(text)} characters is longer than {LONGEST_TEXT}", code="recipe-syntax"
        )
    found: list[Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise syntax_error(f"{text[position]!r} is not part of the recipe language", text, position + 1)
        kind, start, position = str(match.lastgroup), position + 1, match.end()
        if kind == "number":
            token, position = _number(text, match.group(), start, position)
            found.append(token)
        elif kind == "text":
            quote = match.group()[0]
            found.append(Token(kind, match.group()[1:-1].replace(quote * 2, quote), start))
        elif kind != "space":
            found.append(Token(kind, match.group(), start))
    found.append(Token("end", "", len(text) + 1))
    return found


def _number(text: str, digits: str, start: int, position: int) -> tuple[Token, int]:
    value = Decimal(digits)
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or abs(exponent) > _MOST_DIGITS or len(digits) > _MOST_DIGITS:
        raise syntax_error(f"the number {digits[:40]} has too many digits", text, start)
    unit = _UNIT.match(text, position)
    if unit is None or unit.group(1) in ("and", "or", "not", "in"):
        return Token("number", digits, start, value), position
    word = unit.group(1)
    if word in _NO_UNITS:
        raise syntax_error(
            f"{digits} {word} is not a fixed length of time", text, start, hint="write days: 365d, 730d"
        )
    if word not in UNITS:
        raise syntax_error(
            f"{word!r} is not a unit of time", text, unit.start(1) + 1, hint="units: s, min, h, d, w"
        )
    return Token("duration", text[start - 1 : unit.end()], start, value * UNITS[word]), unit.end()


def syntax_error(what: str, text: str, at: int, *, hint: str = "") -> RecipeError:
    """An error that shows where in the text something is wrong; `at` counts from 1."""
    shown = text if len(text) <= 100 else f"{text[:100]}…"
    return RecipeError(f"{what} (column {at} of: {shown})", hint=hint, code="recipe-syntax")
