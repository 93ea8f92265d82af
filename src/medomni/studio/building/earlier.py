"""What stays of an earlier build when a pair is built again under some of its arms.

Atoms of another arm stay only if nothing that they come from is another: content, data, and the arm's hash.

Leaves to others: moving folders (`content.placing`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medomni.core.contracts import load
from medomni.core.errors import MedomniError
from medomni.core.names import Pair
from medomni.core.workspace import Workspace
from medomni.studio.content.opened import Hashes


@dataclass(frozen=True, slots=True)
class Earlier:
    """What an earlier build left.

    Attributes:
        kept: Arm and variant of the atoms that stay.
        files: SHA-256 of their files.
        removed: Arms whose atoms go.
    """

    kept: tuple[tuple[str, str | None], ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()

    @property
    def kept_arms(self) -> frozenset[str]:
        """The arms whose atoms stay."""
        return frozenset(arm for arm, _ in self.kept)


def earlier_build(
    workspace: Workspace,
    pair: Pair,
    *,
    chosen: Collection[str],
    content: Mapping[str, str],
    fingerprint: str,
    hashes: Hashes,
) -> Earlier:
    """What stays beside the arms that are built now.

    Args:
        workspace: Where the earlier build lies.
        pair: The pair.
        chosen: Arms that are built now.
        content: SHA-256 of the new content's files.
        fingerprint: Of the data now.
        hashes: Config hashes now.
    """
    try:
        manifest = load("build-manifest", workspace.content(pair) / "manifest.json")
    except MedomniError:
        # No build, or one that nobody can read: nothing of it stays.
        return Earlier()
    rows = [(row["arm"], row["variant"], row["config_hash"]) for row in manifest["hashes"]]
    others = list(dict.fromkeys(arm for arm, _, _ in rows if arm not in chosen))
    there = {path: digest for path, digest in manifest["files"].items() if path.startswith("_content/")}
    same = there == dict(content) and manifest["data_fingerprint"] == fingerprint
    kept = [arm for arm in others if same and _stays(arm, rows, hashes, manifest, workspace)]
    files = {p: digest for p, digest in manifest["files"].items() if p.partition("/")[0] in kept}
    return Earlier(
        tuple((arm, variant) for arm, variant, _ in rows if arm in kept),
        files,
        tuple(arm for arm in others if arm not in kept),
    )


def _stays(
    arm: str,
    rows: Collection[tuple[str, str | None, str]],
    hashes: Hashes,
    manifest: Mapping[str, Any],
    workspace: Workspace,
) -> bool:
    """Whether every variant of an arm is what it was, and its files are there."""
    mine = {variant: value for name, variant, value in rows if name == arm}
    now = {variant: found.value for (name, variant), found in hashes.items() if name == arm}
    files = [path for path in manifest["files"] if path.partition("/")[0] == arm]
    return mine == now and all(_is_file(workspace.atomtasks / path) for path in files)


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()
