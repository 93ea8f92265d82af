"""Text to trees: expressions, references, count ranges, signatures and combined predicates.

The grammar is small on purpose: no loops, no joins, no SQL. Every function here raises `recipe-syntax` with
the column, and nothing else.

Leaves to others: whether names exist and what they may read (`outcome`), and SQL (`expressions`).
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from medomni.studio.errors import RecipeError
from medomni.studio.recipe.syntax import (
    COMPARISONS,
    Binary,
    Call,
    Compare,
    Duration,
    Expr,
    Items,
    Member,
    Name,
    Number,
    Ref,
    Text,
    Unary,
)
from medomni.studio.recipe.tokens import Token, syntax_error, tokens

_DEEPEST = 40
_WORDS = ("and", "or", "not", "in")
_SIGNATURE = re.compile(r"([A-Za-z_]\w*)\s*\(\s*([A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)*)?\s*\)")
_PAIR = re.compile(r"\(\s*(None|\d{1,9})\s*,\s*(None|\d{1,9})\s*\)")


def parse_expression(text: str) -> Expr:
    """The tree of an expression.

    Raises:
        RecipeError: `recipe-syntax`.
    """
    reader = _Reader(text)
    expr = reader.either(0)
    reader.finish()
    return expr


def parse_ref(text: str | None) -> Ref:
    """The tree of a reference to a moment; None is the edge of the record.

    Raises:
        RecipeError: `recipe-syntax`.
    """
    if text is None:
        return Ref(("null",))
    reader = _Reader(text)
    ref = reader.ref()
    reader.finish()
    return ref


def parse_duration(text: str) -> Decimal:
    """Seconds of a text such as `24h` or `30 days`.

    Raises:
        RecipeError: `recipe-syntax`.
    """
    reader = _Reader(text)
    token = reader.take("duration", "a length of time such as 24h")
    reader.finish()
    return token.number


def parse_pair(value: Any) -> tuple[int | None, int | None]:
    """The least and greatest count of `(1, None)`, as text or as a list of two.

    Raises:
        RecipeError: `recipe-syntax`: not such a pair, or one that no count fulfils.
    """
    if isinstance(value, list) and len(value) == 2:
        value = f"({value[0]}, {value[1]})"
    match = _PAIR.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        hint = "write (1, None) for one or more, (None, 0) for none"
        if isinstance(value, str) and value.startswith("(") and ")" not in value:
            hint = "inside {…} YAML cuts the pair at its comma: put each name on a line of its own"
        raise RecipeError(f"{value!r} is not a pair of counts", hint=hint, code="recipe-syntax")
    low, high = (None if part == "None" else int(part) for part in match.groups())
    if (low is None and high is None) or (low is not None and high is not None and low > high):
        raise RecipeError(f"no count is asked by, or none fulfils, {value!r}", code="recipe-syntax")
    return low, high


def parse_signature(text: str) -> tuple[str, tuple[str, ...]]:
    """Name and parameters of `egfr(scr, age)`.

    Raises:
        RecipeError: `recipe-syntax`.
    """
    match = _SIGNATURE.fullmatch(text.strip())
    if match is None:
        raise RecipeError(f"{text!r} is not name(parameter, …)", code="recipe-syntax")
    parameters = tuple(part.strip() for part in (match.group(2) or "").split(",") if part.strip())
    if len(set(parameters)) != len(parameters):
        raise RecipeError(f"{text!r} names a parameter twice", code="recipe-syntax")
    return match.group(1), parameters


def parse_combination(text: str) -> Expr:
    """The tree of `or(a, and(b, not(c)))`: names, `Binary` for and and or, `Unary` for not.

    Raises:
        RecipeError: `recipe-syntax`.
    """
    reader = _Reader(text)
    expr = reader.combination(0)
    reader.finish()
    return expr


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens(text)
        self._next = 0

    @property
    def _token(self) -> Token:
        return self._tokens[self._next]

    def _fail(self, what: str, hint: str = "") -> RecipeError:
        return syntax_error(what, self._text, self._token.at, hint=hint)

    def take(self, kind: str, what: str) -> Token:
        """The next token, which must be of this kind."""
        if self._token.kind != kind:
            raise self._fail(f"{what} is expected, and {self._token.text or 'the end'!r} stands there")
        self._next += 1
        return self._tokens[self._next - 1]

    def finish(self) -> None:
        """Nothing may be left."""
        if self._token.kind != "end":
            hint = "compare with ==" if self._token.text == "=" else ""
            raise self._fail(f"{self._token.text!r} does not belong here", hint)

    def _is(self, *texts: str) -> bool:
        return self._token.kind in ("mark", "name") and self._token.text in texts

    def _accept(self, *texts: str) -> str | None:
        if not self._is(*texts):
            return None
        self._next += 1
        return self._tokens[self._next - 1].text

    def _need(self, text: str) -> None:
        if self._accept(text) is None:
            raise self._fail(f"{text!r} is expected, and {self._token.text or 'the end'!r} stands there")

    def either(self, depth: int) -> Expr:
        """An expression of any kind: `or` binds least."""
        if depth > _DEEPEST:
            raise self._fail("the expression is nested too deeply")
        left = self._both(depth)
        while self._accept("or"):
            left = Binary("or", left, self._both(depth))
        return left

    def _both(self, depth: int) -> Expr:
        left = self._negated(depth)
        while self._accept("and"):
            left = Binary("and", left, self._negated(depth))
        return left

    def _negated(self, depth: int) -> Expr:
        if depth > _DEEPEST:
            raise self._fail("the expression is nested too deeply")
        if self._accept("not"):
            return Unary("not", self._negated(depth + 1))
        return self._comparison(depth)

    def _comparison(self, depth: int) -> Expr:
        first = self._sum(depth)
        if self._accept("in"):
            items = self._sum(depth)
            if isinstance(items, Items) or (isinstance(items, Call) and items.name == "values_of"):
                return Member(first, items)
            raise self._fail("after `in` stands a list, ['a', 'b'], or values_of(table.column)")
        rest = []
        while (op := self._accept(*COMPARISONS)) is not None:
            rest.append((op, self._sum(depth)))
        return Compare(first, tuple(rest)) if rest else first

    def _sum(self, depth: int) -> Expr:
        left = self._product(depth)
        while (op := self._accept("+", "-")) is not None:
            left = Binary(op, left, self._product(depth))
        return left

    def _product(self, depth: int) -> Expr:
        left = self._signed(depth)
        while (op := self._accept("*", "/")) is not None:
            left = Binary(op, left, self._signed(depth))
        return left

    def _signed(self, depth: int) -> Expr:
        if depth > _DEEPEST:
            raise self._fail("the expression is nested too deeply")
        if self._accept("-"):
            return Unary("-", self._signed(depth + 1))
        return self._atom(depth)

    def _atom(self, depth: int) -> Expr:
        token = self._token
        if token.kind in ("number", "duration", "text"):
            self._next += 1
            if token.kind == "text":
                return Text(token.text)
            is_number = token.kind == "number"
            return Number(token.number) if is_number else Duration(token.number, token.text)
        if self._accept("("):
            inner = self.either(depth + 1)
            self._need(")")
            return inner
        if self._accept("["):
            return Items(tuple(self._listed("]", depth)))
        if token.kind != "name" or token.text in _WORDS:
            raise self._fail(f"a value is expected, and {token.text or 'the end'!r} stands there")
        return self._name(depth)

    def _listed(self, closing: str, depth: int) -> list[Expr]:
        found: list[Expr] = []
        if self._accept(closing):
            return found
        found.append(self.either(depth + 1))
        while self._accept(","):
            found.append(self.either(depth + 1))
        self._need(closing)
        return found

    def _parts(self) -> tuple[str, ...]:
        parts = [self.take("name", "a name").text]
        while self._accept("."):
            parts.append(self.take("name", "a name").text)
        return tuple(parts)

    def _name(self, depth: int) -> Expr:
        parts = self._parts()
        version = None
        if self._accept("@"):
            version = self._version()
        if not self._accept("("):
            if version is not None:
                raise self._fail("a name with a version is a function of the library: write name@1(…)")
            return Name(parts)
        if len(parts) > 1:
            raise self._fail(f"{'.'.join(parts)} is not the name of a function")
        args, named = self._arguments(depth)
        return Call(parts[0], tuple(args), tuple(named), version)

    def _version(self) -> int:
        token = self.take("number", "a version")
        if not token.text.isdigit() or int(token.text) < 1:
            raise self._fail(f"{token.text} is not a version: 1, 2, …")
        return int(token.text)

    def _arguments(self, depth: int) -> tuple[list[Expr], list[tuple[str, Expr]]]:
        args: list[Expr] = []
        named: list[tuple[str, Expr]] = []
        if self._accept(")"):
            return args, named
        while True:
            following = self._tokens[min(self._next + 1, len(self._tokens) - 1)]
            if self._token.kind == "name" and following.text == ":" and following.kind == "mark":
                name = self.take("name", "a name").text
                self._need(":")
                named.append((name, self.either(depth + 1)))
            elif named:
                raise self._fail("what has no name must stand before what has one")
            else:
                args.append(self.either(depth + 1))
            if self._accept(")"):
                return args, named
            self._need(",")

    def combination(self, depth: int) -> Expr:
        """A predicate's name, or and, or, not of combinations."""
        if depth > _DEEPEST:
            raise self._fail("the combination is nested too deeply")
        op = self._accept("and", "or", "not")
        if op is None:
            return Name((self.take("name", "a predicate, or and(…), or(…), not(…)").text,))
        self._need("(")
        parts = [self.combination(depth + 1)]
        while op != "not" and self._accept(","):
            parts.append(self.combination(depth + 1))
        self._need(")")
        if op == "not":
            return Unary("not", parts[0])
        # Negated members last, since only what is there can be taken from.
        parts.sort(key=lambda part: op == "and" and isinstance(part, Unary))
        found = parts[0]
        for part in parts[1:]:
            found = Binary(op, found, part)
        return found

    def _edge(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        """The rest of `first(creatinine.time)`."""
        if parts not in (("first",), ("last",)):
            raise self._fail(
                f"{'.'.join(parts)}(…) is not a moment", "write first(predicate.time) or last(…)"
            )
        name = self._parts()
        if len(name) != 2 or name[1] != "time":
            raise self._fail(f"{parts[0]}(…) takes a predicate's time: {parts[0]}(creatinine.time)")
        self._need(")")
        return (*parts, *name)

    def ref(self) -> Ref:
        """An anchor, a distance, an arrow."""
        parts = self._parts()
        if len(parts) > 2:
            raise self._fail(f"{'.'.join(parts)} is not a moment")
        if parts in (("NULL",), ("_RECORD_START",), ("_RECORD_END",)):
            parts = ("null",)
        if parts[-1] == "time" and parts[0] in ("trigger", "index"):
            parts = parts[:1]
        if self._accept("("):
            parts = self._edge(parts)
        seconds = Decimal(0)
        while (sign := self._accept("+", "-")) is not None:
            length = self.take("duration", "a length of time such as 24h").number
            seconds += length if sign == "+" else -length
        arrow = self._accept("->", "<-")
        predicate = self.take("name", "a predicate").text if arrow else None
        if parts == ("null",) and (seconds or arrow):
            raise self._fail("the edge of the record has no distance and no next event")
        return Ref(parts, seconds, arrow, predicate)
