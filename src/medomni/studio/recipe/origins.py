"""Where a label's candidates come from, so that two labels can be asked of the same moments.

Leaves to others: computing them (`plan`).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from medomni.studio.recipe.model import Combined, Event, Label
from medomni.studio.recipe.moments import members


def origin(label: Label) -> tuple[Hashable | Event | None, ...]:
    """What decides a label's candidates; two labels with equal ones have the same patients and moments."""
    events: list[Event | None] = []
    waiting, seen = [label.trigger, *([label.index.edge] if label.index.edge else [])], set[str]()
    while waiting:
        name = waiting.pop(0)
        if name in seen:
            continue
        seen.add(name)
        event = label.events.get(name)
        if isinstance(event, Combined):
            waiting += members(event.expr)
        elif event is not None:
            # What it is called is the label's own affair, unless a combination calls it so.
            event = replace(event, name="")
        events.append(event)
    index = label.index if label.index.edge is None else replace(label.index, anchor=label.index.anchor[:1])
    return (label.grid, label.strict, index, *events)
