"""Series from plain data to typed objects: measurements as a signal.

Leaves to others: whether tables and columns exist (`recipe.sources`), samples (`recipe.series`).
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from medomni.studio.definitions.predicates import read_event
from medomni.studio.errors import RecipeError
from medomni.studio.recipe.model import Event, Predicate, Resample, Series
from medomni.studio.recipe.parser import parse_duration

_OWN = ("predicate", "map", "clean", "resample", "dedup")
_OF_FILES = ("files", "track")


def read_series(name: str, value: Mapping[str, Any], events: Mapping[str, Event]) -> Series:
    """A series.

    Args:
        name: Its name.
        value: What stands under it.
        events: The predicates that it may name.

    Raises:
        RecipeError: `recipe-series`, or what is wrong with its predicate.
    """
    for key in _OF_FILES:
        if key in value:
            raise RecipeError(
                f"the series {name!r} reads {key}, and only tables can be read yet",
                hint="series of signal and sensor files come with their readers",
                code="recipe-series-source",
            )
    base = _base(name, value, events)
    clean = value.get("clean", {})
    low, high, step = (_number(clean.get(key)) for key in ("min", "max", "max_step"))
    if (low is not None and high is not None and low > high) or (step is not None and step < 0):
        raise RecipeError(f"nothing is left of {name!r} by `clean`", code="recipe-series")
    mapped = value.get("map")
    return Series(
        name=name,
        base=base,
        mapped=tuple((word, Decimal(str(number))) for word, number in mapped.items())
        if mapped is not None
        else None,
        low=low,
        high=high,
        max_step=step,
        resample=_resample(name, value["resample"]) if "resample" in value else None,
        dedup="dedup" in value,
    )


def _base(name: str, value: Mapping[str, Any], events: Mapping[str, Event]) -> Predicate:
    if "predicate" in value:
        extra = sorted(set(value) - set(_OWN))
        if extra:
            raise RecipeError(
                f"the series {name!r} names a predicate, and so takes no {', '.join(extra)}",
                code="recipe-series",
            )
        found = events.get(value["predicate"])
    else:
        found = read_event(name, {key: each for key, each in value.items() if key not in _OWN})
    if not isinstance(found, Predicate):
        raise RecipeError(
            f"the series {name!r} needs a predicate of a table, and {value.get('predicate')!r} is none",
            code="recipe-series",
        )
    if found.value is None or found.interval is not None:
        raise RecipeError(
            f"the series {name!r} needs moments with a `value:`, and no interval", code="recipe-series"
        )
    return found


def _number(value: float | None) -> Decimal | None:
    # The shortest text of a binary fraction is what was written.
    return None if value is None else Decimal(str(value))


def _resample(name: str, value: Mapping[str, Any]) -> Resample:
    every = parse_duration(value["every"])
    hold = parse_duration(value["max_hold"]) if "max_hold" in value else None
    if every <= 0 or every * 1_000_000 != int(every * 1_000_000):
        raise RecipeError(f"{name!r} cannot be resampled every {value['every']}", code="recipe-series")
    if hold is not None and hold < every:
        raise RecipeError(
            f"{name!r} holds a sample for less than the stretch of {value['every']} that it stands for",
            hint="leave out max_hold, or make it at least as long as every",
            code="recipe-series",
        )
    return Resample(every, value["how"], hold)
