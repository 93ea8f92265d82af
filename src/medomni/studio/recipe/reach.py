"""How late a moment can be, as far as a label's text alone tells.

Leaves to others: the moments of the data (`windows`), and what follows from it (`scope`, `binding`).
"""

from __future__ import annotations

from decimal import Decimal
from typing import Protocol

from medomni.studio.errors import RecipeError
from medomni.studio.recipe.catalog import Kind
from medomni.studio.recipe.index import Prediction
from medomni.studio.recipe.model import Label, Window
from medomni.studio.recipe.syntax import Ref, show_ref
from medomni.studio.recipe.values import Value


class Names(Protocol):
    """What is needed of a label's names (`scope.Scope` is one)."""

    label: Label
    prediction: Prediction

    def resolve(self, parts: tuple[str, ...]) -> Value:
        """What a name stands for."""


def latest(window: Window, ref: Ref, names: Names, depth: int = 0) -> Decimal | None:
    """The latest that a moment can be, in seconds from the prediction time; None if nobody knows.

    Raises:
        RecipeError: `recipe-circle`, `recipe-type`, or an unknown name.
    """
    if depth > len(names.label.windows) * 2 + 2:
        raise RecipeError(f"the bounds of {window.name!r} are a circle", code="recipe-circle")
    if ref.arrow == "->":
        return None
    base = _anchor(window, ref, names, depth)
    return None if base is None else base + ref.seconds


def _anchor(window: Window, ref: Ref, names: Names, depth: int) -> Decimal | None:
    anchor, windows, offset = ref.anchor, names.label.windows, names.prediction.offset
    if anchor == ("index",):
        return Decimal(0)
    if anchor == ("trigger",):
        return Decimal(0) if offset is None else -offset
    if anchor == ("null",):
        return None
    if ref.edge is not None:
        return _edge(ref, names.prediction)
    if anchor in (("start",), ("end",)):
        other = window.start if anchor == ("start",) else window.end
        return latest(window, other, names, depth + 1)
    if anchor[0] in windows and anchor[1] in ("start", "end"):
        owner = windows[anchor[0]]
        return latest(owner, owner.start if anchor[1] == "start" else owner.end, names, depth + 1)
    value = names.resolve(anchor)
    if value.kind is not Kind.TIME:
        raise RecipeError(f"{show_ref(ref)} is {value.kind}, and no moment", code="recipe-type")
    return Decimal(0) if value.known_by_index else None


def _edge(ref: Ref, prediction: Prediction) -> Decimal | None:
    """A patient's first event is not after the last one of the same predicate."""
    if prediction.edge is None or prediction.edge[1] != ref.edge or prediction.offset is None:
        return None
    return -prediction.offset if ref.anchor[0] in ("first", prediction.edge[0]) else None


def after_the_last(what: str) -> RecipeError:
    """The error for what lies after a prediction time that is known as the last only afterwards."""
    return RecipeError(
        f"{what} may lie after the prediction time, which is only known afterwards to be the last",
        hint="predict at first(…), or ask for nothing that comes later",
        code="recipe-outcome-index",
    )
