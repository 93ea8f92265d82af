"""What was built of a pair, held against its manifest, its contracts and the files that decide it.

Nothing is asked of whoever built it: digests, names and hashes are computed anew.

Leaves to others: building, what an agent may not see (`visible`), and the data behind it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medomni.core import contracts
from medomni.core.errors import MedomniError, UnsafePathError
from medomni.core.files import read_csv, read_json, resolve_under
from medomni.core.hashing import cfg1, recorded_files, sha256_bytes, sha256_file
from medomni.core.issues import Issue, error
from medomni.core.names import Pair, atom_name
from medomni.core.workspace import Workspace
from medomni.studio.checking.definitions import DefinitionCheck, issues_of
from medomni.studio.config_files import BUILDER, hash_pair

_DOCUMENTS = {"content.json": "built-task", "answers.csv": "answers", "manifest.json": "build-manifest"}
_AGAIN = "build the pair again: medomni studio build PAIR"
# Every rendered atom has these.
ATOM_FILES = ("task.toml", "instruction.md", "tests/expected.json", "tests/format_check.py", "tests/test.sh")


@dataclass(frozen=True, slots=True)
class Built:
    """The documents of a pair's content, each valid by its contract.

    Attributes:
        rendered: Folder of the atoms of every arm and variant that was built.
    """

    workspace: Workspace
    pair: Pair
    content: Mapping[str, Any]
    answers: Sequence[Mapping[str, str]]
    manifest: Mapping[str, Any]

    @property
    def atoms(self) -> list[str]:
        """The names of the atoms."""
        return [each["atom"] for each in self.content["atoms"]]

    @property
    def rendered(self) -> list[Path]:
        """The folders of the arms and variants that were built."""
        rows = self.manifest["hashes"]
        return [self.workspace.rendered(row["arm"], row["variant"]) for row in rows]

    def where(self, name: str) -> str:
        """The place of one of the documents, for messages."""
        return str(self.workspace.content(self.pair) / name)


def read_built(workspace: Workspace, pair: Pair) -> tuple[Built | None, list[Issue]]:
    """The documents of a pair's content; None, and why, where one of them is not right."""
    folder = workspace.content(pair)
    issues: list[Issue] = []
    values: dict[str, Any] = {}
    for name, kind in _DOCUMENTS.items():
        try:
            document = (read_csv if name.endswith(".csv") else read_json)(folder / name)
        except MedomniError as failure:
            issues += issues_of(failure)
            continue
        issues += contracts.validate(kind, document, place=folder / name)
        values[name] = document.value
    if issues:
        return None, issues
    rows = values["answers.csv"]["rows"]
    return Built(workspace, pair, values["content.json"], rows, values["manifest.json"]), []


def built_problems(built: Built, check: DefinitionCheck) -> Iterator[Issue]:
    """Everything that is wrong with a build whose documents are valid each by itself."""
    yield from _agreement(built)
    yield from _answers(built)
    if check.template is not None and check.cohort is not None:
        yield from _against_definitions(built, check)
    yield from _hashes(built)
    yield from _files(built)
    yield from _atoms(built)


# The documents among each other.


def _agreement(built: Built) -> Iterator[Issue]:
    content, manifest, pair = built.content, built.manifest, str(built.pair)
    for name, document in (("content.json", content), ("manifest.json", manifest)):
        if document["pair"] != pair:
            what = f"{name} is of {document['pair']}, and lies in the folder of {pair}"
            yield error("build-disagrees", built.where(name), what, _AGAIN)
    for key, mine, theirs in (
        ("version", content["version"], manifest["version"]),
        ("release", content["release"], manifest["releases"]["dataset"]),
        ("step_counts", content["step_counts"], manifest["step_counts"]),
    ):
        if mine != theirs:
            what = f"{key} differs between content.json and manifest.json"
            yield error("build-disagrees", built.where("manifest.json"), what, _AGAIN)
    builder = manifest["builder"].partition("/")[0]
    if builder != BUILDER:
        what = f"built by {builder}, and this is {BUILDER}"
        yield error("builder-unknown", built.where("manifest.json"), what, f"check it with {builder}")


def _answers(built: Built) -> Iterator[Issue]:
    where, atoms = built.where("answers.csv"), built.atoms
    named = [row["atom"] for row in built.answers]
    if named != atoms:
        lacking = sorted(set(atoms) ^ set(named))
        what = f"answers.csv and content.json do not name the same atoms: {', '.join(lacking[:3])}"
        yield error("build-disagrees", where, what, _AGAIN)
    targets = [target["name"] for target in built.content["targets"]]
    columns = list(built.answers[0])[3:]
    if columns != targets:
        what = f"the columns are {', '.join(columns)}, and the targets {', '.join(targets)}"
        yield error("build-disagrees", where, what, _AGAIN)
        return
    for row in built.answers:
        wanted = atom_name(built.pair, version=built.content["version"], patient=row["patient"])
        if row["atom"] != wanted:
            yield error("build-atom-name", where, f"{row['atom']} is not the atom of its patient", _AGAIN)
        for target in built.content["targets"]:
            if not _possible(row[target["name"]], target):
                what = f"{row['atom']}: {row[target['name']]!r} is no answer for {target['name']}"
                yield error("build-answer", where, what, "look at the label")


def _possible(text: str, target: Mapping[str, Any]) -> bool:
    if target["type"] != "number":
        classes = range(len(target["classes"]) if target["type"] == "ordinal" else 2)
        return text in map(str, classes)
    try:
        value = float(text)
    except ValueError:
        return False
    low, high = target["range"]
    return bool(low <= value <= high)


def _against_definitions(built: Built, check: DefinitionCheck) -> Iterator[Issue]:
    cohort, template, content = check.cohort, check.template, built.content
    if cohort is None or template is None:
        return
    where = built.where("content.json")
    release = check.library.dataset.releases[cohort.release.partition("/")[2]]
    labels = {target.name: check.library.label(target.label).label for target in template.targets}
    for key, mine, theirs in (
        ("version", content["version"], cohort.version),
        ("release", content["release"], cohort.release),
        ("release_class", content["release_class"], release.release_class),
        ("access", content["access"], release.access),
        ("statement", content["statement"], template.statement),
        ("submission_path", content["submission_path"], template.submission_path),
        ("targets", [t["name"] for t in content["targets"]], [t.name for t in template.targets]),
        ("metrics", [t["metric"] for t in content["targets"]], [t.metric for t in template.targets]),
        ("labels", [t["label"] for t in content["targets"]], [t.label for t in template.targets]),
        (
            "label_version",
            [t["label_version"] for t in content["targets"]],
            [each.version for each in labels.values()],
        ),
    ):
        if mine != theirs:
            what = f"{key} was {mine} when it was built, and is {theirs}"
            yield error("build-stale", where, what, _AGAIN)
    if cohort.n is not None and len(built.atoms) != cohort.n:
        yield error(
            "build-disagrees", where, f"{len(built.atoms)} atoms, and the cohort has n: {cohort.n}", _AGAIN
        )


# Config hashes.


def _hashes(built: Built) -> Iterator[Issue]:
    copies, where = built.workspace.config_copies(built.pair), built.where("manifest.json")
    releases = built.manifest["releases"]
    for row in built.manifest["hashes"]:
        arm = " ".join(filter(None, (row["arm"], row["variant"])))
        try:
            again = cfg1(
                recorded_files(copies, [file["path"] for file in row["files"]]),
                builder=built.manifest["builder"].partition("/")[0],
                dataset_release=releases["dataset"],
                medomni_release=releases["medomni"],
            )
        except MedomniError as failure:
            yield error(
                "build-config-hash", where, f"{arm}: the hash cannot be computed: {failure.what}", _AGAIN
            )
            continue
        if again.value != row["config_hash"] or [file.as_dict() for file in again.files] != row["files"]:
            what = f"{arm}: the copies of the config files do not give the recorded hash"
            yield error("build-config-hash", where, what, _AGAIN)
        yield from _stale(built, row, arm)


def _stale(built: Built, row: Mapping[str, Any], arm: str) -> Iterator[Issue]:
    """What changed in the workspace's files since the build, told for each file."""
    where = built.where("manifest.json")
    try:
        now = hash_pair(built.workspace, built.pair, arm=row["arm"], variant=row["variant"])
    except MedomniError as failure:
        yield error("build-stale", where, f"{arm} cannot be hashed any more: {failure.what}", _AGAIN)
        return
    if now.value == row["config_hash"]:
        return
    recorded = {file["path"]: file["sha256"] for file in row["files"]}
    current = {file.path: file.sha256 for file in now.files}
    if now.medomni_release != built.manifest["releases"]["medomni"]:
        what = f"built for {built.manifest['releases']['medomni']}, and this is {now.medomni_release}"
        yield error("build-stale", where, what, _AGAIN)
    for path in sorted(recorded.keys() | current.keys()):
        if recorded.get(path) == current.get(path):
            continue
        file = built.workspace.root / path.partition("#")[0]
        if recorded.get(path) and file.is_file() and _lf_digest(file) == recorded[path]:
            what = "differs from what was built in its line endings alone"
            yield error(
                "line-endings", path, what, "convert it to LF, and keep Git from changing line endings"
            )
        else:
            yield error("build-stale", path, "changed since the pair was built", _AGAIN)


def _lf_digest(path: Path) -> str:
    return sha256_bytes(path.read_bytes().replace(b"\r\n", b"\n"))


# Files.


def _files(built: Built) -> Iterator[Issue]:
    root = built.workspace.atomtasks
    for name, digest in built.manifest["files"].items():
        try:
            path = resolve_under(root, name, plain_file=True)
            if (root / name).is_symlink() or path.stat().st_nlink != 1:
                yield error("build-file-linked", name, "is a link, and built files are real copies", _AGAIN)
            if sha256_file(path) != digest:
                yield error("build-file-changed", name, "is not what was built: its digest differs", _AGAIN)
        except (UnsafePathError, MedomniError) as failure:
            yield error(
                "build-file-missing", name, f"is in the manifest, and cannot be read: {failure.what}", _AGAIN
            )
    named = set(built.manifest["files"])
    for path in _there(built):
        name = path.relative_to(root).as_posix()
        if name not in named:
            yield error(
                "build-file-extra", name, "is not in the manifest", "remove it, or build the pair again"
            )


def _there(built: Built) -> Iterator[Path]:
    """Every file and link of the pair's content and atoms, but the manifest."""
    folder = built.workspace.content(built.pair)
    for path in _walk(folder):
        if path != folder / "manifest.json":
            yield path
    for rendered in built.rendered:
        for atom in sorted(_of_pair(built, rendered)):
            yield from _walk(atom)


def _of_pair(built: Built, folder: Path) -> list[Path]:
    # A template's or cohort's name holds no dot, so that no other pair's atoms begin so.
    return list(folder.glob(f"{built.pair.template}.{built.pair.cohort}.*")) if folder.is_dir() else []


def _walk(folder: Path) -> Iterator[Path]:
    for here, folders, files in os.walk(folder):
        place = Path(here)
        yield from (place / name for name in sorted(files))
        yield from (place / name for name in sorted(folders) if (place / name).is_symlink())


def _atoms(built: Built) -> Iterator[Issue]:
    content = built.workspace.content(built.pair)
    wanted = set(built.atoms)
    for name in sorted(wanted):
        if not (content / name / "record.json").is_file():
            yield error("build-atom-missing", str(content / name), "the atom has no record.json", _AGAIN)
    for rendered in built.rendered:
        there = {path.name for path in _of_pair(built, rendered)}
        for name in sorted(wanted - there):
            yield error("build-atom-missing", str(rendered / name), "the atom was not rendered", _AGAIN)
        for name in sorted(there - wanted):
            yield error("build-atom-extra", str(rendered / name), "is no atom of this pair", "remove it")
        for name in sorted(wanted & there):
            lacking = [file for file in ATOM_FILES if not (rendered / name / file).is_file()]
            if lacking:
                yield error("build-atom-missing", str(rendered / name), f"lacks {', '.join(lacking)}", _AGAIN)
