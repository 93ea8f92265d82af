"""Names that a label may not take, and the names of the rules for missing values.

Leaves to others: what names stand for (`scope`).
"""

from __future__ import annotations

from dataclasses import replace

from medomni.studio.errors import RecipeError
from medomni.studio.recipe.values import Need

_RESERVED = ("trigger", "index", "start", "end", "value", "time", "true", "false", "NULL", "person", "sql")


def named_needs(needs: tuple[Need, ...], name: str) -> tuple[Need, ...]:
    """Needs with the name of the definition or rule that they stand in, where they have none."""
    return tuple(need if need.name else replace(need, name=name) for need in needs)


def check_name(name: str) -> None:
    """Refuse a name that means something else already.

    Raises:
        RecipeError: `recipe-name-reserved`.
    """
    if name in _RESERVED or name.startswith("_"):
        raise RecipeError(f"{name!r} means something else already", code="recipe-name-reserved")
