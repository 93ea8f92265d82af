"""Encoders: what they are, those that come with the service, and those that others plug in.

A plug-in is an entry point of the group `medomni.encoders` that gives an object with the attributes of
`Encoder`, or a class that makes one without arguments. Its code runs in the process of an encoding alone
(`work`), never in the service's own.

Leaves to others: limits and refusals (`calls`), HTTP (`service`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from medomni.studio.perception.errors import PerceptionError
from medomni.studio.perception.trends import Trends

GROUP = "medomni.encoders"


@runtime_checkable
class Encoder(Protocol):
    """Turns one file into numbers and words, the same ones every time.

    Attributes:
        name: Lower-case letters, digits and hyphens.
        version: Raised with every change of an encoding.
        description: What it reads and what it gives, in a sentence for the agent.
    """

    name: str
    version: int
    description: str

    def encode(self, file: Path) -> Mapping[str, Any]:
        """The encoding of a file: `numbers` (JSON, units in the names) and `words` (a list of sentences).

        Raises:
            PerceptionError: `encoder-file`: the file is none that this encoder reads.
        """
        ...


@dataclass(frozen=True, slots=True)
class Description:
    """What `GET /encoders` says of one.

    Attributes:
        status: `ready`, `refused` (it would restate a target of this task) or `unusable`.
        reason: Why it is not ready; empty for one that is.
    """

    name: str
    version: int | None
    description: str
    status: str
    reason: str = ""


BUILT_IN: tuple[Encoder, ...] = (Trends(),)


def plug_ins() -> dict[str, EntryPoint]:
    """The encoders that others plug in, by name; those that come with the service cannot be replaced."""
    own = {encoder.name for encoder in BUILT_IN}
    found = sorted(entry_points(group=GROUP), key=lambda each: (each.name, each.value))
    return {each.name: each for each in found if each.name not in own}


def find_encoder(name: str) -> Encoder:
    """The encoder of a name, with its code loaded.

    Raises:
        PerceptionError: `encoder-unknown`, or `encoder-unusable` where what is plugged in is no encoder.
    """
    for encoder in BUILT_IN:
        if encoder.name == name:
            return encoder
    plugged = plug_ins().get(name)
    if plugged is None:
        known = ", ".join([*(encoder.name for encoder in BUILT_IN), *plug_ins()])
        raise PerceptionError(
            f"there is no encoder {name!r}", hint=f"there are: {known}", code="encoder-unknown"
        )
    made = plugged.load()
    encoder = made() if isinstance(made, type) else made
    if not isinstance(encoder, Encoder) or encoder.name != name:
        raise PerceptionError(
            f"what is plugged in as {name!r} is no encoder of that name",
            where=plugged.value,
            hint="it needs name, version, description and encode(file)",
            code="encoder-unusable",
        )
    return encoder
