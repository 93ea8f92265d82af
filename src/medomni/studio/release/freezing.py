"""`release freeze`: the lock of a content release, written once.

Leaves to others: the check before it (`check`), building, and publishing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medomni.core import contracts
from medomni.core.files import json_text, write_atomic
from medomni.core.hashing import task_set_hash
from medomni.core.issues import IssuesError, errors_of
from medomni.core.names import check_dotted
from medomni.core.workspace import Workspace
from medomni.studio.checking.arms import variants_of
from medomni.studio.checking.built import read_built
from medomni.studio.checking.pair import Checker
from medomni.studio.config_files import BUILDER, hash_pair
from medomni.studio.definitions.library import open_library
from medomni.studio.errors import ReleaseError
from medomni.studio.release.check import EARLIER, CheckedPair, ReleaseCheck, check_release

SCHEMA = "medomni/release-lock/1"


@dataclass(frozen=True, slots=True)
class Frozen:
    """A lock that was written, and what it holds."""

    path: Path
    sets: int
    pairs: int
    builds: int
    documents: int


def freeze(workspace: Workspace, version: str, *, without_builds: bool = False) -> Frozen:
    """Check the release, and write its lock.

    Args:
        workspace: Its `medomni.toml` must name this very release.
        version: Such as `0.3.0`.
        without_builds: Write a lock that knows no built bytes, so that a changed renderer shows nowhere.

    Raises:
        ReleaseError: `release-frozen`: there is such a lock already; `release-differs`: `medomni.toml` has
            another release; `release-empty`: no task set pins a pair; `release-build-missing`: a pinned dummy
            pair is not built, or not as its files are now.
        IssuesError: The release check found something.
        WriteError: The lock cannot be written.
    """
    path = _target(workspace, version)
    check = check_release(workspace)
    if not check.ok:
        problems = errors_of(check.issues)
        what = f"{version} cannot be frozen: the release check found {len(problems)} problems"
        raise IssuesError(what, issues=problems, where=str(workspace.root))
    if not check.pairs:
        raise ReleaseError(
            "no task set pins a pair", where=str(workspace.benchmarks), hint="add a set", code="release-empty"
        )
    builds = {} if without_builds else _builds(check)
    lock = {
        "schema": SCHEMA,
        "release": version,
        "builder": BUILDER,
        "sets": {str(each.name): _set(each) for each in check.sets},
        "pairs": {str(each.pair): _pair(check, each) for each in check.pairs},
        "builds": builds,
        "documents": _documents(check),
    }
    issues = contracts.validate("release-lock", lock)
    if issues:
        raise IssuesError("the lock does not fulfil its contract", issues=issues, where=str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, json_text(lock, indent=1))
    return Frozen(path, len(check.sets), len(check.pairs), len(builds), len(lock["documents"]))


def _target(workspace: Workspace, version: str) -> Path:
    path = workspace.release_lock(check_dotted(version, what="release"))
    if version != workspace.release:
        raise ReleaseError(
            f"{version} is not the release of this workspace, which is {workspace.release}",
            where=str(workspace.root / "medomni.toml"),
            hint=f'freeze {workspace.release}, or write release = "{version}" there',
            code="release-differs",
        )
    if path.exists():
        raise ReleaseError(
            f"{version} is frozen already, and a release never changes",
            where=str(path),
            hint="raise `release` in medomni.toml, and freeze that",
            code="release-frozen",
        )
    return path


def _set(each: Any) -> dict[str, Any]:
    return {
        "builder": each.builder,
        "arms": list(each.arms),
        "tasks": [{"task": str(pair), "version": version} for pair, version in each.tasks.items()],
        "task_set_hash": task_set_hash(each.tasks.items()),
    }


def _pair(check: ReleaseCheck, each: CheckedPair) -> dict[str, Any]:
    """The row of a pair; of one whose sets pin an earlier N alone, the row that the last lock has."""
    if each.state == EARLIER and check.lock is not None:
        kept: dict[str, Any] = check.lock.value["pairs"][str(each.pair)]
        return kept
    # Only a pair whose files are wrong has no parts, and then nothing is frozen.
    digests = each.parts.digests() if each.parts else {}
    arms = dict.fromkeys(arm for pinned, _ in each.pins for arm in pinned.arms)
    hashes = [
        {
            "arm": arm,
            "variant": variant,
            "config_hash": hash_pair(check.workspace, each.pair, arm=arm, variant=variant).value,
        }
        for arm in arms
        for variant in variants_of(check.workspace, each.pair, arm)
    ]
    return {**digests, "hashes": hashes}


def _documents(check: ReleaseCheck) -> dict[str, Any]:
    """The values behind the digests, so that the next check can name the fields that changed."""
    found: dict[str, Any] = {}
    for each in check.pairs:
        if each.state == EARLIER and check.lock is not None:
            row = check.lock.value["pairs"][str(each.pair)]
            for digest in (
                row["cohort"],
                row["targets"],
                row["scoring"],
                *row["labels"].values(),
                *row["recipes"].values(),
            ):
                if check.lock.document(digest) is not None:
                    found[digest] = check.lock.document(digest)
        elif each.parts is not None:
            found |= {part.digest: part.value for part in each.parts.named.values()}
    return dict(sorted(found.items()))


def _builds(check: ReleaseCheck) -> dict[str, dict[str, str]]:
    """The digests of every pinned dummy pair's content and atoms: what the renderer makes of known data."""
    found, issues = {}, []
    for each in check.pairs:
        if each.parts is None or each.state == EARLIER:
            continue
        dataset, _, name = each.parts.dataset_release.partition("/")
        release = open_library(check.workspace, dataset).dataset.releases[name]
        if release.release_class != "dummy":
            continue
        problems = [
            issue
            for part in Checker(check.workspace, require_build=True).check(str(each.pair)).parts
            if part.name == "build"
            for issue in part.issues
        ]
        if problems:
            issues += problems
            continue
        built, _ = read_built(check.workspace, each.pair)
        if built is not None:
            found[str(each.pair)] = dict(sorted(built.manifest["files"].items()))
    if issues:
        raise ReleaseError(
            f"pinned dummy pairs are not built as their files are now: {issues[0].what}",
            where=issues[0].where,
            hint="build them (medomni studio build PAIR), or give --without-builds",
            code="release-build-missing",
        )
    return found
