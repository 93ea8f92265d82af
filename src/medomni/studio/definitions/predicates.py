"""Predicates and code lists from plain data to typed objects.

Leaves to others: whether tables and columns exist (`recipe.sources`, `recipe.events`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from medomni.studio.errors import RecipeError
from medomni.studio.recipe.model import (
    Codes,
    ColumnRule,
    Combined,
    Event,
    FromLibrary,
    Predicate,
    Scalar,
)
from medomni.studio.recipe.parser import parse_combination, parse_expression

ICD_SYSTEMS = ("icd9", "icd10", "icd9pcs", "icd10pcs")
_OF_A_TABLE = (
    "code",
    "where",
    "interval",
    "text",
    "value",
    "unit",
    "value_min",
    "value_min_inclusive",
    "value_max",
    "value_max_inclusive",
    "other_cols",
)


def read_event(name: str, value: Mapping[str, Any]) -> Event:
    """A predicate.

    Raises:
        RecipeError: What is wrong with one of its parts.
    """
    if "table" in value:
        return _read_predicate(name, value)
    extra = [key for key in (*_OF_A_TABLE, *(("time",) if "expr" in value else ())) if key in value]
    if extra:
        raise RecipeError(
            f"{name!r} takes no {', '.join(extra)}: it is not made from a table", code="recipe-predicate"
        )
    if "expr" in value:
        return Combined(name, parse_combination(value["expr"]))
    function, _, version = value["function"].partition("@")
    return FromLibrary(name, function, int(version), value.get("time"))


def _read_predicate(name: str, value: Mapping[str, Any]) -> Predicate:
    columns = [read_column_rule(column, rule) for column, rule in value.get("other_cols", {}).items()]
    if "text" in value:
        columns.append(ColumnRule(value["text"]["column"], pattern=value["text"]["regex"]))
    units = value.get("unit", ())
    interval = value.get("interval")
    return Predicate(
        name=name,
        table=value["table"],
        codes=read_codes(value["code"]) if "code" in value else None,
        where=tuple(parse_expression(text) for text in value.get("where", ())),
        interval=(interval[0], interval[1]) if interval else None,
        columns=tuple(columns),
        value=value.get("value"),
        units=(units,) if isinstance(units, str) else tuple(units),
        low=_limit(value, "value_min"),
        high=_limit(value, "value_max"),
        time=value.get("time"),
    )


def _limit(value: Mapping[str, Any], key: str) -> tuple[Decimal, bool] | None:
    flag = f"{key}_inclusive"
    if (key in value) is not (flag in value):
        missing = flag if key in value else key
        raise RecipeError(f"{missing} is missing: neither has a default", code="recipe-predicate")
    # The shortest text of a binary fraction is what was written.
    return (Decimal(str(value[key])), bool(value[flag])) if key in value else None


def _scalar(value: Any) -> Scalar:
    return Decimal(str(value)) if isinstance(value, float) else value


def read_column_rule(column: str, rule: Any) -> ColumnRule:
    """A rule on a column: a value, a list of values, or a pattern.

    Raises:
        RecipeError: `recipe-predicate`.
    """
    if isinstance(rule, Mapping):
        if "values_of" in rule and "regex" not in rule:
            table, _, name = rule["values_of"].rpartition(".")
            return ColumnRule(column, values_of=(table, name))
        if "regex" not in rule or len(rule) > 1:
            raise RecipeError(
                f"the rule for {column!r} must be {{regex: …}} or {{values_of: table.column}}",
                code="recipe-predicate",
            )
        return ColumnRule(column, pattern=rule["regex"])
    values = rule if isinstance(rule, list) else [rule]
    return ColumnRule(column, tuple(_scalar(each) for each in values))


def read_codes(value: Any) -> Codes:
    """A list of codes.

    Raises:
        RecipeError: `recipe-codes`: nothing in it, an empty code, or ICD codes without saying how they match.
    """
    if not isinstance(value, Mapping):
        return Codes(any_of=_filled(value if isinstance(value, list) else [value]))
    icd = {
        system: tuple(_undotted(code) for code in value[system]) for system in ICD_SYSTEMS if system in value
    }
    if bool(icd) is not ("match" in value):
        raise RecipeError(
            "ICD codes and `match: prefix` or `match: exact` belong together", code="recipe-codes"
        )
    details = [key for key in ("label_regex", "fluid", "category") if key in value]
    if details and "dict" not in value:
        raise RecipeError(
            f"{details[0]} needs `dict:`, the table that explains the codes", code="recipe-codes"
        )
    codes = Codes(
        any_of=_filled(value.get("any", ())),
        prefixes=_filled(value.get("prefix", ())),
        pattern=value.get("regex"),
        icd=icd,
        exact=value.get("match") == "exact",
        dictionary=value.get("dict"),
        label_pattern=value.get("label_regex"),
        labels={key: tuple(value[key]) for key in ("fluid", "category") if key in value},
    )
    if codes.dictionary is not None and not details:
        raise RecipeError("`dict:` needs label_regex, fluid or category", code="recipe-codes")
    if codes == Codes():
        raise RecipeError("the list of codes is empty", code="recipe-codes")
    return codes


def _filled[T](codes: Sequence[T]) -> tuple[T, ...]:
    """Codes, none of them empty: such a beginning would mean all codes."""
    for code in codes:
        if isinstance(code, str) and not code.strip():
            raise RecipeError("a code is empty", code="recipe-codes")
    return tuple(codes)


def _undotted(code: str) -> str:
    """An ICD code as it is stored: without its dot, in capitals."""
    plain = code.replace(".", "").strip().upper()
    if not plain or not plain.isalnum() or not plain.isascii():
        raise RecipeError(f"{code!r} is no ICD code", code="recipe-codes")
    return plain
