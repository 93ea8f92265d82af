"""The parts of a pair's content from a drawn cohort and its evidence, and their files in the staging folder.

Leaves to others: the documents' form (`content.documents`), the order of steps (`pair`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from medomni.core.files import json_text
from medomni.core.hashing import sha256_bytes
from medomni.core.names import atom_name
from medomni.studio.content.documents import answer_text, answers_text, content_text
from medomni.studio.content.model import BuiltAnswer, BuiltAtom
from medomni.studio.content.opened import OpenPair
from medomni.studio.content.placing import Staging
from medomni.studio.draw import Drawn
from medomni.studio.errors import BuildError
from medomni.studio.evidence.model import Evidence
from medomni.studio.record.choice import choose
from medomni.studio.select import Selection


def atom_names(opened: OpenPair, drawn: Sequence[Drawn]) -> dict[int, str]:
    """The atom of each patient.

    Raises:
        BuildError: `build-atom-twice`: two patients have the same ten digits.
    """
    names = {
        each.subject: atom_name(opened.pair, version=opened.cohort.version, patient=str(each.subject))
        for each in drawn
    }
    if len(set(names.values())) != len(names):
        raise BuildError(
            f"two patients of {opened.pair} have the same atom name",
            hint="raise the cohort's version: names depend on it",
            code="build-atom-twice",
        )
    return names


def built_atoms(
    opened: OpenPair, drawn: Sequence[Drawn], names: Mapping[int, str], evidence: Sequence[Evidence]
) -> list[BuiltAtom]:
    """The atoms in the order of their names.

    Raises:
        BuildError: `record-budget`, `record-family`.
    """
    atoms = [
        BuiltAtom(
            names[each.subject],
            str(each.subject),
            each.prediction_time,
            found,
            choose(found, families=opened.families.names),
        )
        for each, found in zip(drawn, evidence, strict=True)
    ]
    return sorted(atoms, key=lambda atom: atom.name)


def built_answers(opened: OpenPair, drawn: Sequence[Drawn], names: Mapping[int, str]) -> list[BuiltAnswer]:
    """The answers in the order of atoms' names.

    Raises:
        BuildError: `build-answer`.
    """
    targets = [target.name for target in opened.template.targets]
    answers = [
        BuiltAnswer(
            names[each.subject],
            str(each.subject),
            each.stratum,
            {target: answer_text(each.answer(target)) for target in targets},
        )
        for each in drawn
    ]
    return sorted(answers, key=lambda answer: answer.atom)


def write_content(
    stage: Staging,
    opened: OpenPair,
    selection: Selection,
    *,
    atoms: Sequence[BuiltAtom],
    answers: Sequence[BuiltAnswer],
) -> dict[str, str]:
    """Write all of the content but the manifest, and give SHA-256 by path below `atomtasks/`.

    Raises:
        BuildError: `build-config-changed`.
        IssuesError: A document would break its contract.
        WriteError: A file cannot be written.
    """
    built = opened.built
    texts = {
        "content.json": content_text(
            built,
            answers,
            times={atom.name: atom.prediction_time for atom in atoms},
            steps=selection.steps,
            reference=selection.reference,
        ),
        "answers.csv": answers_text(answers, built.targets),
        **{f"{atom.name}/record.json": json_text(atom.record.as_plain()) for atom in atoms},
    }
    files = {name: text.encode() for name, text in texts.items()}
    files |= {f"config/{path}": data for path, data in _config_bytes(opened).items()}
    return {
        stage.write(stage.content / name, data): sha256_bytes(data) for name, data in sorted(files.items())
    }


def refuse_changed(opened: OpenPair) -> None:
    """Refuse to go on if a config file is not what its hash says.

    Raises:
        BuildError: `build-config-changed`.
    """
    _config_bytes(opened)


def _config_bytes(opened: OpenPair) -> dict[str, bytes]:
    """The config files that the hashes cover, by their paths."""
    digests = {
        file.path.partition("#")[0]: file.sha256 for each in opened.hashes.values() for file in each.files
    }
    found: dict[str, bytes] = {}
    for path, digest in digests.items():
        try:
            data = (opened.workspace.root / path).read_bytes()
        except OSError as failure:
            raise _changed(path) from failure
        if sha256_bytes(data) != digest:
            raise _changed(path)
        found[path] = data
    return found


def _changed(path: str) -> BuildError:
    return BuildError(
        f"{path} changed while the pair was built",
        hint="build again when nobody edits it",
        code="build-config-changed",
    )
