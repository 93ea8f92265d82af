"""What an agent can see of a built pair, searched by the build's own probes for what it must not see.

It reads the built files alone: the ids of admissions and stays, single features and permuted labels need the
data, and are the build's affair.

Leaves to others: what is forbidden (`probes`), and whether the files are what was built (`built`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from medomni.core.errors import MedomniError
from medomni.core.files import read_json
from medomni.core.issues import Issue, error
from medomni.studio.checking.arms import definition_of
from medomni.studio.checking.built import Built
from medomni.studio.checking.definitions import DefinitionCheck
from medomni.studio.definitions.arms import Arm, read_arm
from medomni.studio.dummy import canaries as planted
from medomni.studio.probes.forbidden import Forbidden, canaries, dates, identity, restated
from medomni.studio.probes.rendered import INSTRUCTION, Probed, rendered_issues
from medomni.studio.record.markdown import markdown
from medomni.studio.record.model import Record, RecordPart


def visible_problems(built: Built, check: DefinitionCheck) -> Iterator[Issue]:
    """Everything in the atoms' visible files that an agent must not see, with atom, arm, file and line."""
    patients = {row["atom"]: row["patient"] for row in built.answers}
    shared = _of_pair(built, check)
    # Equal files of an atom's arms are looked through once.
    probed = {atom: Probed() for atom in built.atoms}
    arms: dict[str, Arm | None] = {}
    for row in built.manifest["hashes"]:
        name, variant = row["arm"], row["variant"]
        if name not in arms:
            arms[name] = _arm(built, name)
        families = _families(arms[name], variant)
        folder = built.workspace.rendered(name, variant)
        told = name if variant is None else f"{name}/{variant}"
        for atom in built.atoms:
            if not (folder / atom).is_dir():
                continue
            record = _record(built, atom, families)
            if record is None:
                # Nothing then tells what is asked from what the data say; other checks tell of it.
                continue
            own = identity([patients[atom]], atom=atom, pair=built.pair) if atom in patients else []
            yield from _of_record(folder / atom / INSTRUCTION, record, f"{atom} under {told}")
            yield from rendered_issues(
                atom,
                told,
                folder / atom,
                record=record,
                forbidden=[*shared, *own],
                probed=probed[atom],
            )


def _of_pair(built: Built, check: DefinitionCheck) -> list[Forbidden]:
    found = [dates()]
    if built.content["release_class"] == "dummy":
        found += canaries(*planted(built.content["dataset"], built.pair.template))
    for target in check.template.targets if check.template else ():
        label = check.library.label(target.label).label
        if "forbid_regex" in label.probes:
            allow = label.probes.get("allow", ())
            found.append(restated(label.name, str(label.probes["forbid_regex"]), allow))
    return found


def _arm(built: Built, name: str) -> Arm | None:
    try:
        return read_arm(definition_of(built.workspace, built.pair, name))
    except MedomniError:
        # The arm's own check tells of it.
        return None


def _families(arm: Arm | None, variant: str | None) -> tuple[str, ...] | None:
    if arm is None or variant is None or variant not in arm.variants:
        return None
    return arm.variants[variant].families or None


def _record(built: Built, atom: str, families: tuple[str, ...] | None) -> str | None:
    """The record of an atom as Markdown, from its `record.json`; None where that cannot be read."""
    try:
        value = read_json(built.workspace.content(built.pair) / atom / "record.json").value
        return markdown(read_record(value).only(families))
    except (MedomniError, KeyError, TypeError):
        return None


def read_record(value: Any) -> Record:
    """The record that a `record.json` holds."""
    parts = tuple(
        RecordPart(
            part["family"],
            part["table"],
            tuple(part["columns"]),
            tuple(tuple(row) for row in part["rows"]),
            part["shown"] + part["not_shown"],
        )
        for part in value["parts"]
    )
    return Record(value["rule"], parts)


def _of_record(instruction: Any, record: str, place: str) -> Iterator[Issue]:
    if instruction.is_file() and record not in instruction.read_text(encoding="utf-8", errors="replace"):
        what = "the instruction does not show exactly what record.json holds"
        yield error("build-record-differs", f"{place}: {INSTRUCTION}", what, "build the pair again")
