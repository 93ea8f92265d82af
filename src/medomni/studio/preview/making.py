"""Finds what the page shows: draws the cohort, gathers one atom's evidence, renders it in memory.

Nothing is written, and the answer is dropped as soon as the cohort is drawn.

Leaves to others: each of these steps, and the page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from medomni.core.names import Pair
from medomni.core.workspace import Workspace
from medomni.studio.building.pair import Limits, evidence_of
from medomni.studio.building.parts import atom_names, built_atoms
from medomni.studio.config_files import hash_pair
from medomni.studio.content.model import BuiltAtom
from medomni.studio.content.opened import ArmVariant, OpenPair, open_for_build
from medomni.studio.draw import Drawn
from medomni.studio.errors import UnknownDefinitionError
from medomni.studio.evidence.model import Evidence
from medomni.studio.preview.model import Preview, SeenFile, track
from medomni.studio.probes.rendered import INSTRUCTION
from medomni.studio.render.atom import atom_files
from medomni.studio.select import select

_MOUNTED = "data/"


def make_preview(
    workspace: Workspace,
    pair: Pair,
    *,
    atom: str | None = None,
    arm: str | None = None,
    variant: str | None = None,
    threads: int | None = None,
) -> Preview:
    """What an agent will see of an atom.

    Args:
        workspace: The workspace.
        pair: The pair; its release must be imported, and nothing must be built.
        atom: The atom; the first by name where none is named.
        arm: The arm; the pair's first where none is named.
        variant: The arm's variant; its last, which shows the most, where none is named.
        threads: How many DuckDB may use.

    Raises:
        UnknownDefinitionError: `preview-atom-unknown`, `preview-arm-unknown`.
        MedomniError: As drawing, gathering and rendering.
    """
    opened = open_for_build(workspace, pair)
    chosen = _arm(opened, arm, variant)
    drawn = _drawn(opened, threads)
    names = atom_names(opened, drawn)
    name = atom or min(names.values())
    mine = [each for each in drawn if names[each.subject] == name]
    if not mine:
        raise UnknownDefinitionError(
            f"{pair} has no atom {name!r}",
            hint=f"there are {len(names)}: {', '.join(sorted(names.values())[:3])}, …",
            code="preview-atom-unknown",
        )
    evidence = list(evidence_of(opened, mine, Limits(threads=threads)))
    (made,) = built_atoms(opened, mine, names, evidence)
    hashed = hash_pair(workspace, pair, arm=chosen.arm.name, variant=chosen.variant)
    return _shown(opened, chosen, made, sorted(names.values()), hashed.value)


def _drawn(opened: OpenPair, threads: int | None) -> Sequence[Drawn]:
    """The cohort; of each patient the moment is used, and the answer is not looked at."""
    selection = select(
        opened.store,
        opened.library,
        opened.pair,
        opened.template,
        opened.cohort,
        release_class=opened.store.release_class,
        threads=threads,
    )
    return selection.atoms


def _shown(
    opened: OpenPair, chosen: ArmVariant, made: BuiltAtom, names: Sequence[str], config_hash: str
) -> Preview:
    families, evidence = chosen.families, made.evidence
    files = atom_files(opened.built, made, chosen.arm, chosen.variant)
    tracks = (track(each, families) for each in evidence.tables)
    return Preview(
        built=opened.built,
        atom=made.name,
        number=names.index(made.name) + 1,
        total=len(names),
        arm=str(chosen),
        config_hash=config_hash,
        instruction=files[INSTRUCTION].decode("utf-8"),
        record=made.record.only(families),
        tracks=tuple(each for each in tracks if each.rows),
        files=tuple(
            SeenFile(f"/{path}", len(data))
            for path, data in sorted(files.items())
            if path.startswith(_MOUNTED)
        ),
        removed=evidence.removed,
        withheld=_withheld(evidence, families),
        perception=chosen.arm.attaches_perception(chosen.variant),
    )


def _withheld(evidence: Evidence, families: tuple[str, ...] | None) -> tuple[tuple[str, int], ...]:
    counts = Counter(family for table in evidence.tables for family in table.families)
    return tuple(each for each in counts.items() if families is not None and each[0] not in families)


def _arm(opened: OpenPair, arm: str | None, variant: str | None) -> ArmVariant:
    name = arm or opened.arms[0].arm.name
    found = [each for each in opened.arms if each.arm.name == name and variant in (None, each.variant)]
    if not found:
        known = ", ".join(map(str, opened.arms))
        wanted = name if variant is None else f"{name}/{variant}"
        raise UnknownDefinitionError(
            f"{opened.pair} has no arm {wanted}", hint=f"there are: {known}", code="preview-arm-unknown"
        )
    return found[-1]
