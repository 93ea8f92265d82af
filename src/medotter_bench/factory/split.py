"""Which case is for training and which for testing, so that no patient is on both sides.

A pure function of the cases and the rule. Leaves to others: finding cases (`scan`), writing the manifest
(`freeze`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from medomni.core.issues import Issue, error
from medotter_bench.factory.definition import Factory, SplitRule
from medotter_bench.factory.scan import Case, Skipped

_SCALE = 1 << 64


@dataclass(slots=True)
class Split:
    """Case ids per split; cases dropped because their patient is tested; cases that no list names."""

    train: list[str] = field(default_factory=list)
    test: list[str] = field(default_factory=list)
    dropped: list[Skipped] = field(default_factory=list)
    unlisted: list[Skipped] = field(default_factory=list)
    issues: list[Issue] = field(default_factory=list)


def patient_key(case: Case) -> str:
    """`<dataset>/<patient>`, or the case's own id where the patient is not known."""
    return f"{case.dataset}/{case.patient_uid}" if case.patient_uid is not None else f"case:{case.case_id}"


def is_test(key: str, rule: SplitRule) -> bool:
    """Whether a patient is tested under `by_patient`.

    The first 64 bits of SHA-256 over `<seed>|<key>`, read as a fraction, are below `test_fraction`. A
    patient's side depends on nothing else: patients that are added later move nobody.

    Source: hash-threshold sampling; SHA-256 is FIPS 180-4.
    """
    digest = hashlib.sha256(f"{rule.seed}|{key}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < round(rule.test_fraction * _SCALE)


def split_cases(factory: Factory, cases: Sequence[Case]) -> Split:
    """Splits the cases by the factory's rule.

    Under `by_dataset` and `fixed` a patient may come out on both sides; then its training cases are
    dropped, with the reason, and the test split stays as listed. Under `fixed` a listed case that was
    not found is an issue (`freeze-case-missing`); a case in neither list is in `unlisted`.
    """
    groups = _groups(factory.same_patient, cases)
    sides = _sides(factory, cases, groups)
    result = Split()
    tested = {groups[case.case_id] for case in cases if sides.get(case.case_id) == "test"}
    for case in _ordered(factory.split, cases):
        side = sides.get(case.case_id)
        if side is None:
            result.unlisted.append(Skipped(case.case_id, "in neither list of the fixed split"))
        elif side == "test":
            result.test.append(case.case_id)
        elif groups[case.case_id] in tested:
            reason = f"patient {groups[case.case_id]} is in the test split"
            result.dropped.append(Skipped(case.case_id, reason))
        else:
            result.train.append(case.case_id)
    result.issues += _missing(factory, cases)
    return result


def _groups(same_patient: Iterable[Sequence[str]], cases: Iterable[Case]) -> dict[str, str]:
    """Case id -> the key that stands for its patient, over all groups that share a member."""
    keys = {case.case_id: patient_key(case) for case in cases}
    leader = {key: key for key in keys.values()}
    for group in same_patient:
        for key in group:
            leader.setdefault(key, key)
        leaders = {leader[key] for key in group}
        first = min(leaders)
        leader = {key: first if old in leaders else old for key, old in leader.items()}
    return {case_id: leader[key] for case_id, key in keys.items()}


def _sides(factory: Factory, cases: Iterable[Case], groups: Mapping[str, str]) -> dict[str, str]:
    rule = factory.split
    if rule.policy == "by_patient":
        return {c.case_id: "test" if is_test(groups[c.case_id], rule) else "train" for c in cases}
    listed = {entry: split for split, entries in (rule.lists or {}).items() for entry in entries}
    if rule.policy == "by_dataset":
        return {case.case_id: listed[case.dataset] for case in cases}
    return {case.case_id: listed[case.case_id] for case in cases if case.case_id in listed}


def _ordered(rule: SplitRule, cases: Sequence[Case]) -> list[Case]:
    if rule.policy != "fixed" or rule.lists is None:
        return list(cases)
    entries = [*rule.lists.get("train", ()), *rule.lists.get("test", ())]
    place = {entry: index for index, entry in enumerate(entries)}
    return sorted(cases, key=lambda case: place.get(case.case_id, len(place)))


def _missing(factory: Factory, cases: Iterable[Case]) -> list[Issue]:
    if factory.split.policy != "fixed":
        return []
    found = {case.case_id for case in cases} | set(factory.skip)
    entries = [entry for split in (factory.split.lists or {}).values() for entry in split]
    return [
        error(
            "freeze-case-missing", entry, f"the fixed split lists {entry!r}, which has no complete files",
            "complete the data root, or skip the case with a reason",
        )
        for entry in entries
        if entry not in found
    ]  # fmt: skip
