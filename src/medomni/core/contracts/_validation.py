"""JSON Schema with the project's reading of numbers, and messages for people.

A boolean is no integer, 1.0 is no integer, and NaN is no number: where an id or a count is meant, each
of these was a mistake.

Leaves to others: keys that are not text (`_keys`), files and lines (`contracts`).
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from jsonschema import Draft202012Validator, ValidationError, validators

from medomni.core.contracts._keys import Problem
from medomni.core.files import JsonPath, render_path

_FAULT_OF_KEYWORD = {
    "required": "required",
    "type": "type",
    "enum": "enum",
    "const": "enum",
    "minimum": "minimum",
    "exclusiveMinimum": "minimum",
    "maximum": "maximum",
    "exclusiveMaximum": "maximum",
    "minLength": "size",
    "maxLength": "size",
    "minItems": "size",
    "maxItems": "size",
    "minProperties": "size",
    "maxProperties": "size",
    "uniqueItems": "unique",
    "pattern": "pattern",
    "additionalProperties": "unknown",
    "oneOf": "choice",
}
_WORDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "null",
}
_LONGEST_SHOWN = 80


def problems(schema_text: str, value: Any) -> list[Problem]:
    """Every problem of a value with text keys, in no particular order."""
    return [_explain(error, value) for error in _validator(schema_text).iter_errors(value)]


def _is_integer(_: Any, value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(_: Any, value: Any) -> bool:
    return _is_integer(_, value) or (isinstance(value, float) and math.isfinite(value))


def _required(validator: Any, names: list[str], value: Any, schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(value, "object"):
        yield from (ValidationError(name) for name in names if name not in value)


def _additional(validator: Any, rule: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    if not validator.is_type(value, "object"):
        return
    for name in value:
        if name in schema.get("properties", {}):
            continue
        if rule is False:
            yield ValidationError(name)
        elif not _is_fine_text(rule, value[name]):
            yield from validator.descend(value[name], rule, path=name)


def _properties(validator: Any, rules: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(value, "object"):
        for name, rule in rules.items():
            if name in value and not _is_fine_text(rule, value[name]):
                yield from validator.descend(value[name], rule, path=name, schema_path=name)


def _is_fine_text(rule: Any, value: Any) -> bool:
    """Whether a value is text that plainly passes: nearly all of a manifest, at a third of the time."""
    if not isinstance(value, str) or not value or rule.keys() - {"type", "minLength", "description"}:
        return False
    return "string" in rule.get("type", ()) and rule.get("minLength", 0) <= 1


def _one_of(validator: Any, choices: list[Any], value: Any, schema: Any) -> Iterator[ValidationError]:
    """Every choice in a contract is `{"required": [name]}`: exactly one of several keys."""
    if validator.is_type(value, "object"):
        names = [choice["required"][0] for choice in choices]
        there = [name for name in names if name in value]
        if len(there) != 1:
            found = "both are there" if there else "none is there"
            yield ValidationError(f"exactly one of {' and '.join(names)} must be there, and {found}")


def _pattern(validator: Any, pattern: str, value: Any, schema: Any) -> Iterator[ValidationError]:
    """`$` ends the text in JSON Schema; in Python it also stands before a last line feed."""
    if validator.is_type(value, "string"):
        exact = pattern.removesuffix("$") + r"\Z" if pattern.endswith("$") else pattern
        if not re.search(exact, value):
            yield ValidationError(value)


@lru_cache(maxsize=32)
def _validator(schema_text: str) -> Any:
    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer).redefine("number", _is_number)
    keywords: dict[str, Callable[..., Any]] = {
        "required": _required,
        "properties": _properties,
        "additionalProperties": _additional,
        "oneOf": _one_of,
        "pattern": _pattern,
    }
    extend: Any = validators.extend  # it has no types
    strict = extend(Draft202012Validator, validators=keywords, type_checker=types)
    schema = json.loads(schema_text)
    return strict(_inline(schema, schema.get("$defs", {})))


def _inline(node: Any, shared: dict[str, Any]) -> Any:
    """A schema with its references into `$defs` written out, which no contract uses in a circle.

    Looking a reference up costs more than all the checks behind it, once for every case of a manifest.
    """
    if isinstance(node, list):
        return [_inline(item, shared) for item in node]
    if not isinstance(node, dict):
        return node
    own = {key: _inline(item, shared) for key, item in node.items() if key not in ("$ref", "$defs")}
    if "$ref" not in node:
        return own
    return {**_inline(shared[node["$ref"].removeprefix("#/$defs/")], shared), **own}


def _explain(error: ValidationError, document: Any) -> Problem:
    path: JsonPath = tuple(error.absolute_path)
    keyword = str(error.validator)
    rules = error.schema if isinstance(error.schema, dict) else {}
    hint = str(rules.get("description", ""))
    value = error.instance
    if "propertyNames" in error.relative_schema_path:
        what = f"the key {_shown(value)} is not allowed in {render_path(path, document) or 'the document'}"
        return Problem((*path, value), "key", what, _key_hint(rules))
    if keyword in ("required", "additionalProperties"):
        name = render_path((*path, error.message), document)
        if keyword == "required":
            known = rules.get("properties", {}).get(error.message, {})
            return Problem(path, "required", f"{name} is missing", str(known.get("description", "")))
        return Problem((*path, error.message), "unknown", f"{name} is not a known key", "remove it")
    name = render_path(path, document) or "the document"
    if keyword == "oneOf":
        return Problem(path, "choice", f"{name}: {error.message}", hint)
    what, better_hint = _describe(keyword, rules, value, error.validator_value)
    return Problem(path, _FAULT_OF_KEYWORD[keyword], f"{name} {what}", better_hint or hint)


def _describe(keyword: str, rules: dict[str, Any], value: Any, rule: Any) -> tuple[str, str]:
    shown = _shown(value)
    if keyword == "type":
        wanted = [rule] if isinstance(rule, str) else rule
        words = " or ".join(_WORDS[word] for word in wanted)
        return f"must be {words}, and is {shown}", _type_hint(wanted, value)
    if keyword in ("enum", "const"):
        allowed = rule if keyword == "enum" else [rule]
        return f"is {shown}; allowed: {', '.join(map(str, allowed))}", ""
    if keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        return f"is {shown}; allowed: {_range(rules)}", ""
    if keyword == "uniqueItems":
        # 1.0 and 1 are the same here, as they are to JSON Schema.
        whole = (int(item) if isinstance(item, float) and item.is_integer() else item for item in value)
        counts = Counter(map(_shown, whole))
        repeated = [text for text, count in counts.items() if count > 1]
        return f"holds {', '.join(repeated[:5])} more than once", ""
    if keyword == "pattern":
        return f"is {shown}, which has not the right form", ""
    return f"is {shown}; {_size(keyword, rule)}", ""


def _size(keyword: str, rule: int) -> str:
    if keyword.startswith("min"):
        return "it must not be empty" if rule == 1 else f"it must have at least {rule} entries"
    return f"it must have at most {rule} entries"


def _range(rules: dict[str, Any]) -> str:
    ends = []
    if "minimum" in rules:
        ends.append(f"from {rules['minimum']}")
    if "exclusiveMinimum" in rules:
        ends.append(f"above {rules['exclusiveMinimum']}")
    if "maximum" in rules:
        ends.append(f"to {rules['maximum']}")
    return " ".join(ends)


def _type_hint(wanted: list[str], value: Any) -> str:
    if "string" in wanted and not isinstance(value, (dict, list, type(None))):
        return f'write it in quotes if it is text: "{_shown(value)}"'
    if "integer" in wanted and isinstance(value, float):
        return "write it without a decimal point"
    if wanted[0] in ("integer", "number") and isinstance(value, str):
        return "write it without quotes, as a plain number (2.5, 1.0e-3)"
    return ""


def _key_hint(rules: dict[str, Any]) -> str:
    if "description" in rules:
        return str(rules["description"])
    if "pattern" in rules:
        return "a label id is a whole number without leading zeros"
    return "a name must not be empty"


def _shown(value: Any) -> str:
    """A value as people would write it, cut where it is long."""
    text = (
        str(value)
        if type(value).__module__ == "datetime"
        else json.dumps(value, ensure_ascii=True, default=str)
    )
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
