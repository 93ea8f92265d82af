"""The arms under which a pair can be built, and whether their files agree with the dataset's families.

Leaves to others: what an arm attaches (the build), and the config hash (`config_files`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from medomni.core.errors import MedomniError
from medomni.core.issues import Issue, error
from medomni.core.names import Pair
from medomni.core.workspace import Workspace
from medomni.studio.config_files import LADDER, dataset_of
from medomni.studio.content.opened import LADDER_COHORTS
from medomni.studio.definitions.arms import Arm, read_arm
from medomni.studio.definitions.families import family_names


def arm_names(workspace: Workspace, pair: Pair) -> list[str]:
    """The arms that a pair can be built under: all there are, the ladder only where it has rungs."""
    names = sorted(path.stem for path in workspace.arms.glob("*.yaml"))
    own = workspace.template_arm(dataset_of(pair.template), pair.template, LADDER)
    climbs = own.is_file() and pair.cohort in LADDER_COHORTS
    return [name for name in names if name != LADDER or climbs]


def definition_of(workspace: Workspace, pair: Pair, arm: str) -> Path:
    """The file that defines the variants of an arm for a pair: the template's own part, where it has one."""
    own = workspace.template_arm(dataset_of(pair.template), pair.template, arm)
    return own if own.is_file() or arm == LADDER else workspace.arm(arm)


def variants_of(workspace: Workspace, pair: Pair, arm: str) -> list[str | None]:
    """The variants of an arm for a pair, in their order; one None where it has none.

    Raises:
        UnknownDefinitionError: There is no such arm.
        DocumentError: Its file is no readable YAML.
        IssuesError: Its file is not right.
    """
    return list(read_arm(definition_of(workspace, pair, arm)).variants) or [None]


def arm_problems(workspace: Workspace, pair: Pair, arm: str) -> list[Issue]:
    """What is wrong with an arm's files for a pair; empty for a good one."""
    found: list[Issue] = []
    definition = definition_of(workspace, pair, arm)
    for path in dict.fromkeys((workspace.arm(arm), definition)):
        try:
            read = read_arm(path)
        except MedomniError as failure:
            found += getattr(failure, "issues", None) or [
                error(failure.code, failure.where or str(path), failure.what, failure.hint)
            ]
            continue
        if path == definition:
            found += _rung_problems(read, path, _families(workspace, pair) if read.variants else None)
    return found


def _families(workspace: Workspace, pair: Pair) -> frozenset[str] | None:
    path = workspace.recipe(dataset_of(pair.template), "families")
    try:
        return family_names(path)
    except MedomniError:
        # The file's own check tells of it.
        return None


def _rung_problems(arm: Arm, path: Path, known: frozenset[str] | None) -> Iterator[Issue]:
    before: tuple[str, tuple[str, ...]] = ("", ())
    for variant in arm.variants.values():
        for family in variant.families:
            if known is not None and family not in known:
                what = f"{variant.name} shows {family!r}, and the dataset has no such family"
                yield error("arm-family-unknown", str(path), what, f"there are: {', '.join(sorted(known))}")
        lost = [family for family in before[1] if family not in variant.families]
        if arm.name == LADDER and lost:
            what = f"{variant.name} does not show {', '.join(lost)}, which {before[0]} shows"
            yield error(
                "arm-rung-shrinks", str(path), what, "a rung shows what the one before shows, and more"
            )
        before = (variant.name, variant.families)
