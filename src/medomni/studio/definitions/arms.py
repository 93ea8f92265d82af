"""Arms: what the task of an atom attaches, and the rungs of a template's modality ladder.

Leaves to others: attaching it (the build), and whether a family exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from medomni.studio.definitions.reading import Reading


@dataclass(frozen=True, slots=True)
class Variant:
    """A variant of an arm (a rung): the families that it shows, and whether the service is attached."""

    name: str
    families: tuple[str, ...] = ()
    perception: bool | None = None


@dataclass(frozen=True, slots=True)
class Arm:
    """An arm, or a template's own part of one."""

    name: str
    version: int
    perception: bool = False
    variants: Mapping[str, Variant] = field(default_factory=dict)


def read_arm(path: Path) -> Arm:
    """An arm's file.

    Raises:
        UnknownDefinitionError: There is no such file.
        DocumentError: It is no readable YAML.
        IssuesError: With every problem of the file.
    """
    reading = Reading("arm", path)
    if reading.sound:
        reading.named("arm", path.stem)
    reading.refuse()
    value = reading.value
    variants = {
        name: Variant(name, tuple(each.get("families", ())), each.get("perception"))
        for name, each in value.get("variants", {}).items()
    }
    return Arm(value["arm"], value["version"], value.get("perception", False), variants)
