"""`task check --release`: no pinned pair may change its meaning and keep its N.

Every pair that a task set pins is compared with the last release's lock. Task sets only grow, and an entry
never changes.

Leaves to others: reading sets (`pinned`), parts (`parts`) and locks (`locks`), and printing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from medomni.core.errors import MedomniError
from medomni.core.issues import Issue, error, errors_of
from medomni.core.names import Pair
from medomni.core.workspace import Workspace
from medomni.studio.checking.arms import variants_of
from medomni.studio.checking.definitions import issues_of
from medomni.studio.checking.pair import Checker
from medomni.studio.checking.parts import Part, unlike
from medomni.studio.config_files import config_files
from medomni.studio.release.changes import changed_parts, together
from medomni.studio.release.locks import Lock, last_lock
from medomni.studio.release.parts import PairParts, PartValues, pair_parts
from medomni.studio.release.pinned import PinnedSet, pinned_sets

UNCHANGED, RISEN, NEW, EARLIER, CHANGED, WRONG = "unchanged", "N rose", "new", "earlier N", "changed", "wrong"


@dataclass(frozen=True, slots=True)
class CheckedPair:
    """A pinned pair with the state that it was found in, and its parts where they can be read."""

    pair: Pair
    pins: tuple[tuple[PinnedSet, int], ...]
    state: str
    parts: PairParts | None = None


@dataclass(slots=True)
class ReleaseCheck:
    """What the check found.

    Attributes:
        against: The last release; None before the first.
        skipped: Entries with N = 0, by name.
    """

    workspace: Workspace
    lock: Lock | None
    sets: list[PinnedSet]
    values: PartValues
    pairs: list[CheckedPair] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    issues: list[Issue] = field(default_factory=list)

    @property
    def against(self) -> str | None:
        """The last release; None before the first."""
        return None if self.lock is None else self.lock.release

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not errors_of(self.issues)

    def as_plain(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "ok": self.ok,
            "against": self.against,
            "pairs": [
                {
                    "pair": str(each.pair),
                    "state": each.state,
                    "version": None if each.parts is None else each.parts.version,
                    "sets": [str(pinned.name) for pinned, _ in each.pins],
                }
                for each in self.pairs
            ],
            "skipped": self.skipped,
            "issues": [issue.as_dict() for issue in self.issues],
        }


def check_release(workspace: Workspace) -> ReleaseCheck:
    """Compare every pinned pair with the last release, from config files alone.

    Raises:
        IssuesError: The last lock is not valid.
        DocumentError: The last lock cannot be read.
    """
    sets, issues = pinned_sets(workspace)
    check = ReleaseCheck(workspace, last_lock(workspace), sets, PartValues(workspace), issues=issues)
    pins: dict[Pair, list[tuple[PinnedSet, int]]] = {}
    for each in sets:
        for pair, version in each.tasks.items():
            if version == 0:
                check.skipped.append(f"{each.name}: {pair}")
            else:
                pins.setdefault(pair, []).append((each, version))
    checker = Checker(workspace, with_build=False)
    check.pairs = [_check_pair(check, checker, pair, tuple(pins[pair])) for pair in sorted(pins)]
    check.issues += together(
        (each.parts, change)
        for each in check.pairs
        if each.state == CHANGED
        for change in _changes(check, each)
    )
    if check.lock is not None:
        check.issues += _shrunk(check.lock, sets)
    check.issues = list(unlike([Part("", "", issues=tuple(check.issues))], str(workspace.root))[0].issues)
    return check


def _check_pair(
    check: ReleaseCheck, checker: Checker, pair: Pair, pins: tuple[tuple[PinnedSet, int], ...]
) -> CheckedPair:
    found = checker.check(str(pair))
    check.issues += found.issues
    if not found.ok:
        return CheckedPair(pair, pins, WRONG)
    try:
        parts = _parts(check, pair, pins)
    except MedomniError as failure:
        check.issues += issues_of(failure)
        return CheckedPair(pair, pins, WRONG)
    issues = list(_pins(check, parts, pins))
    check.issues += issues
    if issues:
        return CheckedPair(pair, pins, WRONG, parts)
    before = check.lock.value["pairs"].get(str(pair)) if check.lock else None
    if before is None or before["version"] < parts.version:
        pinned_now = any(version == parts.version for _, version in pins)
        state = EARLIER if not pinned_now else NEW if before is None else RISEN
        return CheckedPair(pair, pins, state, parts)
    unchanged = not _changes(check, CheckedPair(pair, pins, CHANGED, parts))
    return CheckedPair(pair, pins, UNCHANGED if unchanged else CHANGED, parts)


def _parts(check: ReleaseCheck, pair: Pair, pins: tuple[tuple[PinnedSet, int], ...]) -> PairParts:
    """The parts of a pair, once every arm under which it is pinned is found to be there for it."""
    arms = dict.fromkeys(arm for pinned, _ in pins for arm in pinned.arms)
    found = [
        config_files(check.workspace, pair, arm=arm, variant=variant)
        for arm in arms
        for variant in variants_of(check.workspace, pair, arm)
    ]
    return pair_parts(check.values, pair, found[0])


def _pins(check: ReleaseCheck, parts: PairParts, pins: Sequence[tuple[PinnedSet, int]]) -> Iterator[Issue]:
    """Sets that pin an N that the files do not have, and that no release has had; an N that fell."""
    for pinned, version in pins:
        if version > parts.version:
            what = f"{pinned.name} pins {parts.pair} at N = {version}, and its cohort is at {parts.version}"
            yield error("release-pin-ahead", pinned.file, what, f"raise `version` in {parts.cohort.file}")
        elif version < parts.version and (str(parts.pair), version) not in _released(check):
            what = (
                f"{pinned.name} pins {parts.pair} at N = {version}, which no release has had,"
                f" and its cohort has version {parts.version} already: nobody could build it"
            )
            yield error("release-pin-behind", pinned.file, what, f"pin N = {parts.version}")
    before = check.lock.value["pairs"].get(str(parts.pair)) if check.lock else None
    if before is not None and parts.version < before["version"]:
        what = (
            f"the version of {parts.pair} fell from {before['version']} in {check.against} to {parts.version}"
        )
        yield error("release-version-fell", parts.cohort.file, what, "N only rises")


def _released(check: ReleaseCheck) -> set[tuple[str, int]]:
    return set() if check.lock is None else check.lock.entries()


def _changes(check: ReleaseCheck, each: CheckedPair) -> list[Any]:
    if check.lock is None or each.parts is None:
        return []
    return changed_parts(each.parts, check.lock)


def _shrunk(lock: Lock, sets: Sequence[PinnedSet]) -> Iterator[Issue]:
    """Task sets only grow, and an entry never changes: a new N enters only a new set."""
    now = {str(each.name): each for each in sets}
    for name, before in lock.value["sets"].items():
        each = now.get(name)
        if each is None:
            what = f"the task set {name} of {lock.release} is not there any more, or is not valid"
            yield error(
                "release-set-removed", str(lock.path), what, "sets stay; withdraw pairs in withdrawn.yaml"
            )
            continue
        if each.builder != before["builder"]:
            what = f"{name} was built by {before['builder']} in {lock.release}, and now by {each.builder}"
            yield error("release-set-builder", each.file, what, "another builder needs another set")
        lost = [arm for arm in before["arms"] if arm not in each.arms]
        if lost:
            what = f"{name} had the arms {', '.join(lost)} in {lock.release}"
            yield error("release-arm-removed", each.file, what, "put them back, or make a new set")
        pinned = {str(pair): version for pair, version in each.tasks.items()}
        for entry in before["tasks"]:
            pair, version = entry["task"], entry["version"]
            if pair not in pinned:
                what = f"{name} does not pin {pair} any more, as it did in {lock.release}"
                yield error(
                    "release-entry-removed", each.file, what, "put it back, and list it in withdrawn.yaml"
                )
            elif pinned[pair] != version:
                what = f"{name} pins {pair} at N = {pinned[pair]}, and at {version} in {lock.release}"
                yield error("release-entry-changed", each.file, what, "a new N enters only a new task set")
