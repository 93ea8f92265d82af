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
    """An arm, or a template's own definition of one.

    Attributes:
        perception: Whether the perception service is attached; a variant may say otherwise.
        refuse_encoders: Encoders of the service that would restate a target of the template.
    """

    name: str
    version: int
    perception: bool = False
    variants: Mapping[str, Variant] = field(default_factory=dict)
    refuse_encoders: tuple[str, ...] = ()

    def attaches_perception(self, variant: str | None) -> bool:
        """Whether the service is attached under a variant (None: the arm itself)."""
        own = None if variant is None else self.variants[variant].perception
        return self.perception if own is None else own


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
        _check_refused(reading)
    reading.refuse()
    value = reading.value
    variants = {
        name: Variant(name, tuple(each.get("families", ())), each.get("perception"))
        for name, each in value.get("variants", {}).items()
    }
    refused = tuple(value.get("refuse_encoders", ()))
    return Arm(value["arm"], value["version"], value.get("perception", False), variants, refused)


def _check_refused(reading: Reading) -> None:
    value = reading.value
    each = [value, *value.get("variants", {}).values()]
    if "refuse_encoders" in value and not any(part.get("perception") for part in each):
        what = "encoders are refused, and the perception service is attached nowhere"
        hint = "this file stands for the whole arm of its template: say perception: true as well"
        reading.fault(("refuse_encoders",), "arm-perception", what, hint)
