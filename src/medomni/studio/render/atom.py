"""One atom task as files: their names, bytes and modes, and the folder that holds them.

Equal inputs give equal bytes, modes and times of change, whoever writes them and whenever.

Leaves to others: what the parts hold (`instruction`, `configuration`, `environment`, `verifier`), and making
a build visible all at once (`content`).
"""

from __future__ import annotations

import os
from pathlib import Path

from medomni.core.errors import WriteError
from medomni.studio.content.model import BuiltAtom, BuiltPair
from medomni.studio.definitions.arms import Arm
from medomni.studio.errors import BuildError
from medomni.studio.record.tables import record_files
from medomni.studio.render.configuration import task_toml
from medomni.studio.render.environment import environment_files
from medomni.studio.render.instruction import instruction
from medomni.studio.render.verifier import verifier_files

FILE_MODE, PROGRAM_MODE, FOLDER_MODE = 0o644, 0o755, 0o755
_PROGRAMS = ("tests/test.sh",)
# 1980-01-01, the first moment that every archive format can hold.
_TIME = 315532800
_DATA_NOTE = """\
The complete tables of the record lie in record/, one CSV file a table: UTF-8, a header line, oldest row
first. Columns that end in _h count hours from the prediction time, those that end in _d count days from its
date. An empty cell is a value that is not known. No tables: nothing is on record.
"""


def atom_files(built: BuiltPair, atom: BuiltAtom, arm: Arm, variant: str | None) -> dict[str, bytes]:
    """Every file of an atom task by its path in the folder.

    Args:
        built: The pair.
        atom: The atom.
        arm: The arm.
        variant: The arm's variant; needed exactly where the arm has variants.

    Raises:
        BuildError: `render-variant`: the arm has no such variant; `render-internet`: the template asks for
            the internet beside the perception service; `render-submission-path`: no container can have the
            answer there.
    """
    if (variant is None) == bool(arm.variants) or (variant is not None and variant not in arm.variants):
        known = ", ".join(arm.variants) or "none"
        raise BuildError(
            f"the arm {arm.name!r} has no variant {variant!r}",
            hint=f"there are: {known}",
            code="render-variant",
        )
    families = arm.variants[variant].families or None if variant is not None else None
    perception = arm.attaches_perception(variant)
    files = {
        "task.toml": task_toml(built, atom, arm, variant),
        "instruction.md": instruction(built, atom.record.only(families), perception=perception),
        "data/README.txt": _DATA_NOTE,
        **environment_files(built.template, perception=perception, refused=arm.refuse_encoders),
        **verifier_files(built),
    }
    encoded = {path: text if isinstance(text, bytes) else text.encode() for path, text in files.items()}
    return {**encoded, **record_files(atom.evidence, families)}


def render_atom(built: BuiltPair, atom: BuiltAtom, arm: Arm, variant: str | None, folder: Path) -> None:
    """Write an atom task.

    Args:
        built: The pair.
        atom: The atom.
        arm: The arm.
        variant: The arm's variant.
        folder: The atom's own folder, such as `atomtasks/encoders/<atom>`; must not be there yet.

    Raises:
        BuildError: As `atom_files`.
        WriteError: The folder is there, or cannot be written; what was written of it stays.
    """
    files = atom_files(built, atom, arm, variant)
    try:
        folder.mkdir(parents=True)
        for path, data in sorted(files.items()):
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            # A new file, never through a link that somebody has put there.
            with target.open("xb") as stream:
                stream.write(data)
            target.chmod(PROGRAM_MODE if path in _PROGRAMS else FILE_MODE)
            os.utime(target, (_TIME, _TIME))
        # Deepest first: writing into a folder changes its time.
        for inner in sorted((folder, *(each for each in folder.rglob("*") if each.is_dir())), reverse=True):
            inner.chmod(FOLDER_MODE)
            os.utime(inner, (_TIME, _TIME))
    except OSError as failure:
        why = failure.strerror or str(failure)
        raise WriteError(f"the atom task could not be written: {why}", where=str(folder)) from failure
