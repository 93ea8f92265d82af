"""What changed in a pair since a release, told once for all pairs that share the file.

Leaves to others: which pairs are compared (`check`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from medomni.core.issues import Issue, error
from medomni.studio.release.differences import differences, told
from medomni.studio.release.locks import Lock
from medomni.studio.release.parts import PairParts, PartValue

_MOST_NAMED = 40


@dataclass(frozen=True, slots=True)
class Change:
    """One part that is not what it was: under a code, in its file, with the fields that differ."""

    code: str
    part: str
    file: str
    told: str
    release: str


def changed_parts(parts: PairParts, lock: Lock) -> list[Change]:
    """The parts of a pair that are not as the lock has them."""
    before = lock.value["pairs"].get(str(parts.pair))
    if before is None:
        return []
    found = []
    if before["dataset_release"] != parts.dataset_release:
        fields = f"release: {before['dataset_release']} → {parts.dataset_release}"
        place = parts.cohort.file
        found.append(Change("release-dataset-changed", "the dataset release", place, fields, lock.release))
    found += _one("release-cohort-changed", "cohort", parts.cohort, before, lock)
    found += _one("release-targets-changed", "targets", parts.targets, before, lock)
    found += _one("release-scoring-changed", "scoring", parts.scoring, before, lock)
    file = parts.targets.file
    found += _several("release-label-changed", "label", parts.labels, before["labels"], lock, file)
    found += _several("release-recipe-changed", "recipe", parts.recipes, before["recipes"], lock, file)
    return found


def _one(code: str, name: str, now: PartValue, before: Mapping[str, str], lock: Lock) -> Iterator[Change]:
    if now.digest != before[name]:
        yield Change(code, f"the {name}", now.file, _fields(now, before[name], lock), lock.release)


def _several(
    code: str, word: str, now: Mapping[str, PartValue], before: Mapping[str, str], lock: Lock, file: str
) -> Iterator[Change]:
    """Changed labels or recipes; `file` is where those that are not reached any more were reached from."""
    for name in sorted(now.keys() | before.keys()):
        if name not in now:
            yield Change(code, f"the {word} {name}", file, "not reached any more", lock.release)
        elif now[name].digest != before.get(name):
            fields = _fields(now[name], before.get(name), lock)
            yield Change(code, f"the {word} {name}", now[name].file, fields, lock.release)


def _fields(now: PartValue, digest: str | None, lock: Lock) -> str:
    if digest is None:
        return "not reached before"
    before = lock.document(digest)
    if before is None:
        return "the lock keeps its digest alone"
    return told(list(differences(before, now.value)), now.value)


def together(found: Iterable[tuple[PairParts | None, Change]]) -> Iterator[Issue]:
    """One issue for each change, naming every pair that it concerns and that kept its N."""
    pairs: dict[Change, list[PairParts]] = {}
    for parts, change in found:
        if parts is not None:
            pairs.setdefault(change, []).append(parts)
    for change, concerned in pairs.items():
        names = [f"{parts.pair} (N = {parts.version})" for parts in concerned]
        shown = ", ".join(names[:_MOST_NAMED])
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        what = f"{change.part} changed since {change.release} ({change.told})"
        what += f", and N has not risen in {shown}{more}"
        others = " and the others" if len(concerned) > 1 else ""
        hint = f"undo it, or raise `version` in {concerned[0].cohort.file}{others}"
        yield error(change.code, change.file, what, f"{hint}, and pin the new N in a new task set")
