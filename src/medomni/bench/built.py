"""Built pairs as a run needs them: found, read, and held against their manifest, byte by byte.

Leaves to others: building (Studio), which pairs a run takes (`prechecks`).
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medomni.bench.errors import RunRefusedError
from medomni.core import contracts
from medomni.core.errors import DocumentNotFoundError, MedomniError
from medomni.core.hashing import cfg1, recorded_files, sha256_file
from medomni.core.names import Pair
from medomni.core.workspace import Workspace


@dataclass(frozen=True, slots=True)
class BuiltPair:
    """A built pair under one arm or arm variant, whose files were checked.

    Attributes:
        content: `content.json`.
        manifest: `manifest.json`.
        config_hash: Under the arm and variant, recomputed.
        folders: Atom to its folder, in the order of their names.
        digests: Atom to a digest over its files' paths and digests.
    """

    pair: Pair
    content: Mapping[str, Any]
    manifest: Mapping[str, Any]
    config_hash: str
    folders: Mapping[str, Path]
    digests: Mapping[str, str]

    @property
    def builder(self) -> str:
        """The builder without the content release."""
        return str(self.manifest["builder"]).partition("/")[0]

    def limits(self) -> Mapping[str, Any]:
        """`[environment]` of an atom's `task.toml`; the same for every atom of a pair."""
        folder = next(iter(self.folders.values()))
        document = tomllib.loads((folder / "task.toml").read_text(encoding="utf-8"))
        found: Mapping[str, Any] = document["environment"]
        return found


def read_built(workspace: Workspace, pair: Pair, arm: str, variant: str | None) -> BuiltPair:
    """A built pair, with every file that a run reads checked against the manifest.

    Raises:
        RunRefusedError: `run-not-built`, `run-pair-differs`, `run-config-hash`, `run-file-changed`.
        IssuesError: `content.json` or `manifest.json` breaks its contract.
    """
    folder = workspace.content(pair)
    try:
        content = contracts.load("built-task", folder / "content.json")
        manifest = contracts.load("build-manifest", folder / "manifest.json")
    except DocumentNotFoundError as failure:
        raise _not_built(pair, arm, failure.where) from failure
    for name, document in (("content.json", content), ("manifest.json", manifest)):
        if (document["pair"], document["version"]) != (str(pair), content["version"]):
            raise RunRefusedError(
                f"{name} is of {document['pair']} version {document['version']}",
                where=str(folder / name),
                hint=f"build {pair} again",
                code="run-pair-differs",
            )
    row = _row(manifest, pair, arm, variant)
    _check_hash(workspace, pair, manifest, row)
    atoms = [each["atom"] for each in content["atoms"]]
    root = workspace.rendered(arm, variant)
    digests = _check_files(workspace, folder, {atom: root / atom for atom in atoms}, manifest["files"])
    folders = {atom: root / atom for atom in atoms}
    return BuiltPair(pair, content, manifest, row["config_hash"], folders, digests)


def _row(manifest: Mapping[str, Any], pair: Pair, arm: str, variant: str | None) -> Mapping[str, Any]:
    rows: list[Mapping[str, Any]] = manifest["hashes"]
    for row in rows:
        if (row["arm"], row["variant"]) == (arm, variant):
            return row
    there = ", ".join(" ".join(filter(None, (row["arm"], row["variant"]))) for row in rows)
    under = arm if variant is None else f"{arm} {variant}"
    raise RunRefusedError(
        f"{pair} is not built under {under}",
        where=f"there is: {there}",
        hint=f"medomni studio build {pair} --arm {arm}",
        code="run-not-built",
    )


def _check_hash(
    workspace: Workspace, pair: Pair, manifest: Mapping[str, Any], row: Mapping[str, Any]
) -> None:
    """The config hash is that of the files that the build kept."""
    root = workspace.config_copies(pair)
    releases = manifest["releases"]
    try:
        found = cfg1(
            recorded_files(root, [file["path"] for file in row["files"]]),
            builder=str(manifest["builder"]).partition("/")[0],
            dataset_release=releases["dataset"],
            medomni_release=releases["medomni"],
        ).value
    except MedomniError as failure:
        raise RunRefusedError(
            f"the config hash of {pair} cannot be recomputed: {failure.what}",
            where=str(root),
            hint=f"build {pair} again",
            code="run-config-hash",
        ) from failure
    if found != row["config_hash"]:
        raise RunRefusedError(
            f"the manifest says {row['config_hash']}, and the config files give {found}",
            where=str(root),
            hint=f"build {pair} again",
            code="run-config-hash",
        )


def _check_files(
    workspace: Workspace, content: Path, atoms: Mapping[str, Path], recorded: Mapping[str, str]
) -> dict[str, str]:
    """Digest by atom, if every file is as the manifest has it and there is no other."""
    base = workspace.atomtasks
    _check_folder(base, content, recorded, besides=("manifest.json",))
    return {atom: _check_folder(base, folder, recorded) for atom, folder in atoms.items()}


def _check_folder(base: Path, folder: Path, recorded: Mapping[str, str], besides: Sequence[str] = ()) -> str:
    prefix = f"{folder.relative_to(base).as_posix()}/"
    expected = {path: digest for path, digest in recorded.items() if path.startswith(prefix)}
    found = {path.relative_to(base).as_posix(): path for path in _entries(folder)}
    extra = sorted(found.keys() - expected.keys() - {f"{prefix}{name}" for name in besides})
    missing = sorted(expected.keys() - found.keys())
    if missing or extra or not expected:
        wrong = (missing or extra or [prefix])[0]
        what = "is missing" if missing or not extra else "is not in the manifest"
        raise _changed(f"{wrong} {what}", base / wrong)
    whole = hashlib.sha256()
    for path, digest in sorted(expected.items()):
        if found[path].is_symlink() or sha256_file(found[path]) != digest:
            raise _changed(f"{path} is not as it was built", found[path])
        whole.update(f"{path.removeprefix(prefix)}\0{digest}\n".encode())
    return whole.hexdigest()


def _entries(folder: Path) -> Iterator[Path]:
    """Everything below a folder that is no folder."""
    if folder.is_dir():
        yield from (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())


def _changed(what: str, where: Path) -> RunRefusedError:
    return RunRefusedError(
        what,
        where=str(where),
        hint="build the pair again; what is built is never edited",
        code="run-file-changed",
    )


def _not_built(pair: Pair, arm: str, where: str) -> RunRefusedError:
    return RunRefusedError(
        f"{pair} is not built here",
        where=where,
        hint=f"medomni studio build {pair} --arm {arm}",
        code="run-not-built",
    )
