"""What somebody asks to have built: a pair, or every pair that a task set pins.

Leaves to others: building them (`pair`).
"""

from __future__ import annotations

from dataclasses import dataclass

from medomni.core.contracts import load
from medomni.core.names import IMPORTED_SETS, Pair, SetName
from medomni.core.workspace import Workspace
from medomni.studio.config_files import BUILDER
from medomni.studio.errors import BuildError


@dataclass(frozen=True, slots=True)
class Request:
    """A pair to build.

    Attributes:
        version: The N that a task set pins; None for whatever the cohort says.
        arms: Under which arms; none for every arm that the pair supports.
    """

    pair: Pair
    version: int | None = None
    arms: tuple[str, ...] = ()


def requests_of(workspace: Workspace, name: str, *, arm: str | None = None) -> list[Request]:
    """What a pair's or task set's name asks for.

    Args:
        workspace: Where task sets lie.
        name: `<template>@<cohort>`, or `<benchmark>/<set>`.
        arm: Only under this arm; else a pair under every arm, and a set under its own.

    Raises:
        InvalidNameError: The name is none, or asks for an evidence variant that is not built.
        BuildError: `build-set`: an imported set, one of another builder, or one without that arm.
        DocumentNotFoundError: There is no such set.
        IssuesError: The set's file is not right.
    """
    if "@" in name or "/" not in name:
        return [Request(Pair.parse(name).usable(), arms=(arm,) if arm else ())]
    named = SetName.parse(name)
    path = workspace.task_set(named)
    found = load("task-set", path)
    if named.task_set in IMPORTED_SETS or found["builder"] != BUILDER:
        raise BuildError(
            f"{name} is built by {found['builder']}, and this is {BUILDER}", where=str(path), code="build-set"
        )
    if arm is not None and arm not in found["arms"]:
        raise BuildError(
            f"{name} is not built under the arm {arm!r}",
            where=str(path),
            hint=f"its arms: {', '.join(found['arms'])}",
            code="build-set",
        )
    arms = (arm,) if arm else tuple(found["arms"])
    return [Request(Pair.parse(each["task"]).usable(), each["version"], arms) for each in found["tasks"]]
