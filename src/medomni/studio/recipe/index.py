"""When a label predicts: at its trigger, at a column of it, once per person, or on a grid.

A prediction time must be known as such when it comes: nothing that lies after it may decide that it is one.

Leaves to others: what names stand for (`scope`), and the moments of the candidates (`plan`, `moments`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from medomni.studio.errors import RecipeError
from medomni.studio.recipe.catalog import Catalog, Kind, column_kind, final_at, is_date
from medomni.studio.recipe.model import Grid, Label
from medomni.studio.recipe.sources import PERSON, Source
from medomni.studio.recipe.syntax import Ref, show_ref
from medomni.studio.recipe.values import Value

_DAY = Decimal(86_400)


@dataclass(frozen=True, slots=True)
class Prediction:
    """How the prediction time lies to its trigger.

    Attributes:
        offset: Seconds from the trigger; None where only the data tell, but never before it.
        column: Column of the trigger (of the patient, for persons) at which it stands.
        measured: Whether the trigger may be measured at the prediction time itself.
        edge: `first` or `last` and the predicate, where it stands at a patient's first or last event.
    """

    offset: Decimal | None
    column: str | None = None
    measured: bool = False
    edge: tuple[str, str] | None = None

    @property
    def closing(self) -> bool:
        """Whether it is only known afterwards that it was the last."""
        return self.edge is not None and self.edge[0] == "last"


def prediction(label: Label, trigger: Source, catalog: Catalog) -> Prediction:
    """How the prediction time of a label lies to its trigger.

    Raises:
        RecipeError: `recipe-index-unsupported`, `recipe-outcome-index`, or an unknown column.
    """
    if label.grid is not None:
        start = label.grid.start
        return Prediction(None, measured=start.anchor != ("trigger",) or start.seconds == 0)
    index = label.index
    if index.seconds < 0:
        raise RecipeError(
            "a prediction time before its trigger would be chosen by the future",
            hint="let the trigger be something that was known at the prediction time",
            code="recipe-outcome-index",
        )
    if label.trigger == PERSON:
        return _of_person(index, catalog)
    if index.arrow or index.edge or index.anchor[0] in ("null", "index", "start", "end"):
        raise RecipeError(
            "the prediction time must be the trigger or a column of it, and a distance",
            code="recipe-index-unsupported",
        )
    if index.anchor == ("trigger",):
        return Prediction(index.seconds, measured=index.seconds == 0)
    if index.anchor[0] != "trigger":
        raise RecipeError(
            f"the prediction time cannot stand at {show_ref(index)}", code="recipe-index-unsupported"
        )
    if trigger.kind(index.anchor[1]) is not Kind.TIME:
        raise RecipeError(f"{show_ref(index)} is no time", code="recipe-type")
    return Prediction(None, column=index.anchor[1])


def _of_person(index: Ref, catalog: Catalog) -> Prediction:
    if index.arrow is None and index.edge is not None:
        return Prediction(index.seconds, edge=(index.anchor[0], index.edge))
    if index.arrow is not None or len(index.anchor) != 2 or index.anchor[0] != "patient":
        raise RecipeError(
            f"a person has no moment {show_ref(index)}",
            hint="write first(predicate.time), last(predicate.time) or patient.<column>",
            code="recipe-index-unsupported",
        )
    table, name = catalog.patients, index.anchor[1]
    if column_kind(table, name) is not Kind.TIME:
        raise RecipeError(f"{show_ref(index)} is no time", code="recipe-type")
    final = final_at(table, name)
    if final is not None and (final != name or (is_date(table, name) and index.seconds < _DAY)):
        raise RecipeError(
            f"{show_ref(index)} is only known after that moment",
            hint="a day is known when it is over: add 1d",
            code="recipe-outcome-index",
        )
    return Prediction(index.seconds, column=name)


def check_grid(grid: Grid, resolve: Callable[[tuple[str, ...]], Value]) -> None:
    """Refuse a grid whose moments the future would choose.

    Raises:
        RecipeError: `recipe-outcome-index`, `recipe-index-unsupported`, `recipe-type`.
    """
    for side, ref in (("start", grid.start), ("end", grid.end)):
        if ref.arrow or len(ref.anchor) > 2 or ref.anchor[0] in ("null", "index", "start", "end"):
            raise RecipeError(
                f"a grid cannot {side} at {show_ref(ref)}",
                hint="write trigger, trigger.<column> or <owner>.<column>, and a distance",
                code="recipe-index-unsupported",
            )
        value = resolve(ref.anchor if len(ref.anchor) == 2 else ("trigger", "time"))
        if value.kind is not Kind.TIME:
            raise RecipeError(f"{show_ref(ref)} is {value.kind}, and no moment", code="recipe-type")
        own = ref.anchor == ("trigger",)
        if (own and side == "start" and ref.seconds < 0) or (value.outcome and not value.ends_later):
            raise RecipeError(
                f"a grid that {side}s at {show_ref(ref)} would be chosen by the future",
                code="recipe-outcome-index",
            )
        if value.ends_later and ref.seconds < 0:
            raise RecipeError(
                f"a grid that {side}s at {show_ref(ref)} tells how near the end is",
                hint=f"{side} it at {'.'.join(ref.anchor)}, and drop moments too near under where_outcome",
                code="recipe-outcome-index",
            )
