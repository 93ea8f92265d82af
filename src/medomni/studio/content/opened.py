"""Everything that a build reads of a pair before it computes: definitions, the imported release, the arms.

Leaves to others: drawing (`select`), evidence, and what the config hash covers (`config_files`).
"""

from __future__ import annotations

from dataclasses import dataclass

from medomni.core.hashing import ConfigHash
from medomni.core.names import Pair
from medomni.core.workspace import Workspace
from medomni.studio.config_files import LADDER, dataset_of, hash_pair
from medomni.studio.content.model import BuiltPair, BuiltTarget
from medomni.studio.data.store import open_in
from medomni.studio.definitions.arms import Arm, read_arm
from medomni.studio.definitions.families import Families, read_families
from medomni.studio.definitions.library import Library, open_library
from medomni.studio.definitions.templates import Cohort, Target, Template, read_cohort, read_template
from medomni.studio.errors import BuildError
from medomni.studio.recipe.binding import Bound
from medomni.studio.tables import StoredTables

type Hashes = dict[tuple[str, str | None], ConfigHash]
# The cohorts whose patients have something for every rung.
LADDER_COHORTS = ("ladder", "dummy")


@dataclass(frozen=True, slots=True)
class ArmVariant:
    """An arm as atoms are rendered under it: as it is, or one of its variants (a rung)."""

    arm: Arm
    variant: str | None

    @property
    def families(self) -> tuple[str, ...] | None:
        """The families that are shown; None for all."""
        return self.arm.variants[self.variant].families or None if self.variant is not None else None

    def __str__(self) -> str:
        return self.arm.name if self.variant is None else f"{self.arm.name}/{self.variant}"


@dataclass(frozen=True, slots=True)
class OpenPair:
    """A pair with all of its definitions and its release, open for building.

    Attributes:
        bounds: The labels of the targets, each once.
        arms: Every arm and variant that the pair supports.
        hashes: The config hash under each of them, from files as they were before anything else was read.
    """

    workspace: Workspace
    pair: Pair
    library: Library
    template: Template
    cohort: Cohort
    bounds: tuple[Bound, ...]
    families: Families
    store: StoredTables
    arms: tuple[ArmVariant, ...]
    hashes: Hashes

    @property
    def built(self) -> BuiltPair:
        """What renderers get to know of the pair."""
        release = self.store.store.release
        return BuiltPair(
            pair=self.pair,
            version=self.cohort.version,
            template=self.template,
            cohort=self.cohort,
            targets=tuple(_target(each, self.library) for each in self.template.targets),
            release=release.token,
            release_class=release.release_class,
            access=release.access,
            licence=release.licence,
            terms=release.terms,
            release_token=self.workspace.release_token,
        )


def open_for_build(workspace: Workspace, pair: Pair) -> OpenPair:
    """A pair, open for building.

    Raises:
        InvalidNameError: The pair names no dataset, or an evidence variant that is not built.
        UnknownDefinitionError: The template, its cohort or an arm does not exist.
        IssuesError: A definition is not right.
        StoreError: There is no such dataset, or the release is not imported.
    """
    dataset = dataset_of(pair.usable().template)
    arms = _arms(workspace, dataset, pair)
    hashes = {
        (each.arm.name, each.variant): hash_pair(workspace, pair, arm=each.arm.name, variant=each.variant)
        for each in arms
    }
    library = open_library(workspace, dataset)
    template = read_template(library, pair.template)
    bounds = tuple(library.label(name) for name in dict.fromkeys(each.label for each in template.targets))
    cohort = read_cohort(library, pair, bounds[0].label)
    families = read_families(workspace.recipe(library.dataset.name, "families"), library.catalog)
    _check_families(arms, families)
    store = StoredTables(open_in(workspace, cohort.release))
    return OpenPair(workspace, pair, library, template, cohort, bounds, families, store, arms, hashes)


def chosen_arms(opened: OpenPair, names: tuple[str, ...]) -> tuple[ArmVariant, ...]:
    """The arms of these names with all of their variants; every arm of the pair for none.

    Raises:
        BuildError: `build-arm`: the pair does not support one of them.
    """
    known = dict.fromkeys(each.arm.name for each in opened.arms)
    for name in names:
        if name not in known:
            reason = f"only the cohorts {' and '.join(LADDER_COHORTS)} have rungs" if name == LADDER else ""
            raise BuildError(
                f"{opened.pair} is not built under the arm {name!r}",
                hint=f"{reason}{'; ' if reason else ''}it is built under {', '.join(known)}",
                code="build-arm",
            )
    return tuple(each for each in opened.arms if not names or each.arm.name in names)


def _arms(workspace: Workspace, dataset: str, pair: Pair) -> tuple[ArmVariant, ...]:
    found: list[ArmVariant] = []
    for path in sorted(workspace.arms.glob("*.yaml")):
        own = workspace.template_arm(dataset, pair.template, path.stem)
        if path.stem == LADDER and (pair.cohort not in LADDER_COHORTS or not own.is_file()):
            continue
        arm = read_arm(own if own.is_file() else path)
        found += [ArmVariant(arm, variant) for variant in arm.variants or (None,)]
    return tuple(found)


def _check_families(arms: tuple[ArmVariant, ...], families: Families) -> None:
    for each in arms:
        for name in each.families or ():
            if name not in families.names:
                raise BuildError(
                    f"{each} shows a family that the dataset lacks: {name!r}",
                    hint=f"families: {', '.join(families.names)}",
                    code="build-arm-family",
                )


def _target(target: Target, library: Library) -> BuiltTarget:
    label = library.label(target.label).label
    ends = (str(label.range[0]), str(label.range[1])) if label.range is not None else None
    return BuiltTarget(
        name=target.name,
        metric=target.metric,
        label=label.name,
        label_version=label.version,
        kind=label.kind,
        classes=label.classes,
        range=ends,
        unit=label.unit,
        decimals=label.decimals,
        question=target.question or label.question,
    )
