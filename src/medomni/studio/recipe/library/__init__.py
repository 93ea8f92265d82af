"""Named, versioned functions that the grammar cannot say: `kdigo_creatinine@1`.

A changed function gets a new version, so that the labels which name it, and their config hash, change with
it. Two kinds: *value functions* give one value per candidate; *event functions* give events for a
predicate.

Leaves to others: where a label may use them (`binding`), and running them (`plan`).
"""

from __future__ import annotations

from medomni.studio.errors import RecipeError
from medomni.studio.recipe.library import kdigo, meld, sepsis, sofa, stays, suspicion
from medomni.studio.recipe.library.shape import EventsFunction, ValueFunction

_VALUES: dict[tuple[str, int], ValueFunction] = {
    (each.name, each.version): each for each in (kdigo.KDIGO_CREATININE, meld.MELD_NA, sepsis.SEPSIS3_ONSET)
}
_EVENTS: dict[tuple[str, int], EventsFunction] = {
    (each.name, each.version): each
    for each in (sofa.SOFA24, suspicion.SUSPICION_OF_INFECTION, stays.MERGED_ADMISSIONS)
}


def names() -> list[str]:
    """Every function with its version, sorted."""
    return sorted(f"{name}@{version}" for name, version in (*_VALUES, *_EVENTS))


def value_function(name: str, version: int) -> ValueFunction:
    """The function that gives one value per candidate.

    Raises:
        RecipeError: `recipe-function-unknown`.
    """
    if (name, version) not in _VALUES:
        raise _unknown(name, version, "a value function", (name, version) in _EVENTS)
    return _VALUES[name, version]


def events_function(name: str, version: int) -> EventsFunction:
    """The function that gives events.

    Raises:
        RecipeError: `recipe-function-unknown`.
    """
    if (name, version) not in _EVENTS:
        raise _unknown(name, version, "an event function", (name, version) in _VALUES)
    return _EVENTS[name, version]


def _unknown(name: str, version: int, kind: str, is_other: bool) -> RecipeError:
    known = sorted(found for named, found in (*_VALUES, *_EVENTS) if named == name)
    hint = f"functions: {', '.join(names())}"
    if is_other:
        hint = "value functions stand in `let`, event functions in a predicate's `function:`"
    elif known:
        hint = f"versions of {name}: {', '.join(map(str, known))}"
    return RecipeError(
        f"the library has no {kind[kind.index(' ') + 1 :]} {name}@{version}",
        hint=hint,
        code="recipe-function-unknown",
    )
