"""What a contract demands and a JSON Schema cannot say: names that equal their file's, parts that must agree.

Each rule looks at what has the right shape and passes over the rest, which the schema tells of.

Leaves to others: the shapes (`_validation`), and whether what a document names exists.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeGuard

from medomni.core.contracts._keys import Problem
from medomni.core.errors import InvalidNameError, UnsafePathError
from medomni.core.files import JsonPath, check_relative
from medomni.core.hashing import task_set_hash
from medomni.core.names import ATOM_PATTERN, IMPORTED_SETS, Pair

IMPORTED_BUILDER = "medomni-v0"
_OLD_HASH = "v0.2:"
_STATUSES = ("ran", "timeout", "agent_error", "harness_error")
type Found = Iterator[Problem]

# Contract -> the faults that its rules can find. `tools/issue_codes.py` lists them.
FAULTS_OF_RULES: Mapping[str, tuple[str, ...]] = {
    "answers": ("order", "unique"),
    "benchmark": ("name",),
    "build-manifest": ("conflict", "pair", "path", "unique"),
    "built-task": ("conflict", "order", "pair", "unique"),
    "comparison-record": ("conflict", "pair"),
    "keyring": ("unique",),
    "release-lock": ("conflict", "pair"),
    "run-record": ("conflict", "pair", "unique"),
    "score-record": ("conflict", "pair"),
    "suite-record": ("conflict", "order", "pair", "unique"),
    "task-set": ("conflict", "name", "pair", "unique"),
    "withdrawn": ("pair", "unique"),
}


def broken_rules(kind: str, value: Any, place: Path | None) -> list[Problem]:
    """Every rule of a contract that a document breaks.

    Args:
        kind: Name of the contract.
        value: The document, with text keys.
        place: The file, whose name and folder some documents repeat; None for plain data.
    """
    rule = _RULES.get(kind)
    return [] if rule is None or not isinstance(value, dict) else list(rule(value, place))


def _benchmark(value: dict[str, Any], place: Path | None) -> Found:
    if place is not None and place.name == "benchmark.yaml" and place.parent.parent.name == "benchmarks":
        yield from _named(value, place.parent.name, "the benchmark's folder")


def _task_set(value: dict[str, Any], place: Path | None) -> Found:
    if place is not None and place.parent.name == "sets":
        yield from _named(value, place.stem, "the file")
    imported = value.get("name") in IMPORTED_SETS
    builder = value.get("builder")
    if isinstance(builder, str) and imported != (builder == IMPORTED_BUILDER):
        what = (
            f"builder is {builder}: {IMPORTED_BUILDER} built the imported sets of v0.2, and nothing else did"
        )
        yield Problem(("builder",), "conflict", what)
    entries = _mappings(value, "tasks")
    yield from _pairs([((*path, "task"), entry.get("task")) for path, entry in entries])
    yield from _unique([((*path, "task"), _printed(entry.get("task"))) for path, entry in entries])
    for path, entry in entries:
        version = entry.get("version")
        if _whole(version) and (version == 0) != imported:
            sets = ", ".join(IMPORTED_SETS)
            what = f"version is {version}: the entries of {sets} have version 0, and no others have"
            yield Problem((*path, "version"), "conflict", what, "N is a whole number from 1")


def _withdrawn(value: dict[str, Any], _place: Path | None) -> Found:
    entries = _mappings(value, "withdrawn")
    pairs = [((*path, "pair"), entry.get("pair")) for path, entry in entries]
    for path, entry in entries:
        if isinstance(entry.get("replaced_by"), dict):
            pairs.append(((*path, "replaced_by", "pair"), entry["replaced_by"].get("pair")))
    yield from _pairs(pairs)
    yield from _unique(
        [
            (path, f"{_printed(e.get('pair'))} version {e.get('version')}")
            for path, e in entries
            if "pair" in e
        ]
    )


def _built_task(value: dict[str, Any], _place: Path | None) -> Found:
    yield from _pairs([(("pair",), value.get("pair"))])
    dataset, release = value.get("dataset"), value.get("release")
    named = release.partition("/") if isinstance(release, str) else ("", "", "")
    if isinstance(dataset, str) and named[1] and named[0] != dataset:
        yield Problem(("release",), "conflict", f"release is {release}, and the dataset is {dataset}")
    known = "release_class" in value and "access" in value
    if known and (value["release_class"] == "dummy") != (value["access"] == "generated"):
        yield Problem(("access",), "conflict", "access is generated exactly where release_class is dummy")
    targets = _mappings(value, "targets")
    names = [((*path, "name"), target.get("name")) for path, target in targets]
    yield from _unique(names)
    yield from _ranges(targets)
    reference = value.get("reference")
    if isinstance(reference, dict) and {name for _, name in names} != set(reference):
        yield Problem(("reference",), "conflict", "reference must name exactly the targets")
    yield from _atoms([((*path, "atom"), atom.get("atom")) for path, atom in _mappings(value, "atoms")])
    yield from _of_pair(value)


def _ranges(targets: list[tuple[JsonPath, dict[str, Any]]]) -> Found:
    for path, target in targets:
        ends = target.get("range")
        if isinstance(ends, list) and len(ends) == 2 and all(map(_is_number, ends)) and ends[0] >= ends[1]:
            yield Problem(
                (*path, "range"), "conflict", "range must rise from its lowest to its highest answer"
            )


def _of_pair(value: dict[str, Any]) -> Found:
    pair = _pair(value.get("pair"))
    for path, entry in _mappings(value, "atoms"):
        atom = entry.get("atom")
        sound = isinstance(atom, str) and re.fullmatch(ATOM_PATTERN, atom)
        if pair and sound and not str(atom).startswith(f"{pair.template}.{pair.cohort}."):
            yield Problem((*path, "atom"), "conflict", f"the atom {atom} is none of {pair}")


def _answers(value: dict[str, Any], _place: Path | None) -> Found:
    rows = _mappings(value, "rows")
    yield from _atoms([((*path, "atom"), row.get("atom")) for path, row in rows])
    yield from _unique([((*path, "patient"), row.get("patient")) for path, row in rows])


def _build_manifest(value: dict[str, Any], _place: Path | None) -> Found:
    yield from _pairs([(("pair",), value.get("pair"))])
    hashes = _mappings(value, "hashes")
    arms = [(path, f"{row.get('arm')} {row.get('variant') or ''}".strip()) for path, row in hashes]
    yield from _unique(arms)
    for path, row in hashes:
        files = [((*path, *at, "path"), file.get("path")) for at, file in _mappings(row, "files")]
        yield from _unique(files)
        yield from _paths(files)
    if isinstance(value.get("files"), dict):
        yield from _paths([(("files", name), name) for name in value["files"]])
    builder, releases = value.get("builder"), value.get("releases")
    medomni = releases.get("medomni") if isinstance(releases, dict) else None
    if isinstance(builder, str) and isinstance(medomni, str):
        built = builder.partition("/")[2]
        if built != medomni.partition("/")[2]:
            yield Problem(("builder",), "conflict", f"builder is {builder}, and the release {medomni}")


def _record(value: dict[str, Any], _place: Path | None) -> Found:
    yield from _pairs([(("pair",), value.get("pair"))])
    version = value.get("version")
    imported = _whole(version) and version == 0
    hashes: dict[JsonPath, Any] = {("config_hash",): value.get("config_hash")}
    for side in ("a", "b"):
        if isinstance(value.get(side), dict):
            hashes[(side, "config_hash")] = value[side].get("config_hash")
    for path, text in hashes.items():
        if isinstance(text, str) and _whole(version) and text.startswith(_OLD_HASH) != imported:
            what = f"a config hash of v0.2 and version 0 belong together; version is {version}"
            yield Problem(path, "conflict", what, "only imported results of v0.2 have them")
    if "set" in value and _whole(version) and (value["set"] in IMPORTED_SETS) != imported:
        what = f"set is {value['set']}, and version is {version}"
        yield Problem(("set",), "conflict", what, f"version 0 belongs to {', '.join(IMPORTED_SETS)}")
    for name in ("environment", "plan", "data_fingerprint"):
        if name in value and value[name] is None and not imported:
            yield Problem(
                (name,), "conflict", f"{name} is null, which only imported results of v0.2 may have"
            )


def _run_record(value: dict[str, Any], place: Path | None) -> Found:
    yield from _record(value, place)
    rows = _mappings(value, "atoms")
    yield from _unique([(path, f"{row.get('atom')} attempt {row.get('attempt')}") for path, row in rows])
    counts = value.get("counts")
    seen = Counter(str(row.get("status")) for _, row in rows)
    if not isinstance(counts, dict) or not seen.keys() <= set(_STATUSES):
        return
    for name in _STATUSES:
        if _whole(counts.get(name)) and counts[name] != seen[name]:
            yield Problem(
                ("counts", name), "conflict", f"counts.{name} is {counts[name]}, and {seen[name]} rows are"
            )


def _suite_record(value: dict[str, Any], _place: Path | None) -> Found:
    entries = _mappings(value, "pairs")
    names = [((*path, "pair"), entry.get("pair")) for path, entry in entries]
    yield from _pairs(names)
    yield from _unique(names)
    for (_, before), (path, pair) in pairwise(names):
        if isinstance(before, str) and isinstance(pair, str) and pair < before:
            yield Problem(path, "order", f"the pair {pair} stands behind {before}", "sort by their names")
    agents = _mappings(value, "agents")
    for path, agent in agents:
        for key in ("run_ids", "skills"):
            if isinstance(agent.get(key), list) and len(agent[key]) != len(entries):
                yield Problem((*path, key), "conflict", f"{key} must have one entry for each of the pairs")
    for path, test in _mappings(value, "tests"):
        a, b = test.get("a"), test.get("b")
        if _whole(a) and _whole(b) and (a == b or max(a, b) >= len(agents)):
            yield Problem((*path, "b"), "conflict", f"{a} and {b} are no two of the agents")


def _keyring(value: dict[str, Any], _place: Path | None) -> Found:
    for name in ("name", "public_key"):
        yield from _unique([((*path, name), key.get(name)) for path, key in _mappings(value, "keys")])


def _release_lock(value: dict[str, Any], _place: Path | None) -> Found:
    for group in ("pairs", "builds"):
        named = value.get(group)
        yield from _pairs([((group, name), name) for name in named] if isinstance(named, dict) else [])
    sets = value.get("sets")
    for name, pinned in sets.items() if isinstance(sets, dict) else ():
        entries = _mappings(pinned, "tasks") if isinstance(pinned, dict) else []
        rows = [(_pair(entry.get("task")), entry.get("version")) for _, entry in entries]
        sound = {pair: version for pair, version in rows if pair is not None and _whole(version)}
        if len(sound) != len(rows):
            what = f"{name} pins a pair twice, or something that is no pair"
            yield Problem(("sets", name, "tasks"), "conflict", what)
        elif sound and pinned.get("task_set_hash") not in (None, task_set_hash(sound.items())):
            what = f"task_set_hash of {name} is not that of its entries"
            yield Problem(("sets", name, "task_set_hash"), "conflict", what)


_RULES: Mapping[str, Callable[[dict[str, Any], Path | None], Found]] = {
    "answers": _answers,
    "benchmark": _benchmark,
    "build-manifest": _build_manifest,
    "built-task": _built_task,
    "comparison-record": _record,
    "keyring": _keyring,
    "release-lock": _release_lock,
    "run-record": _run_record,
    "score-record": _record,
    "suite-record": _suite_record,
    "task-set": _task_set,
    "withdrawn": _withdrawn,
}


def _named(value: dict[str, Any], expected: str, what: str) -> Found:
    name = value.get("name")
    if isinstance(name, str) and name != expected:
        yield Problem(("name",), "name", f"name is {name}, and {what} is called {expected}")


def _pairs(found: list[tuple[JsonPath, Any]]) -> Found:
    for path, text in found:
        pair = _pair(text)
        try:
            if pair is not None:
                pair.usable()
        except InvalidNameError as refusal:
            yield Problem(path, "pair", refusal.what, refusal.hint)


def _pair(text: Any) -> Pair | None:
    try:
        return Pair.parse(text)
    except InvalidNameError:
        return None


def _printed(text: Any) -> Any:
    pair = _pair(text)
    return text if pair is None else str(pair)


def _atoms(found: list[tuple[JsonPath, Any]]) -> Found:
    """Atoms are listed once each, in the order of their names."""
    yield from _unique(found)
    for (_, before), (path, atom) in pairwise(found):
        if isinstance(before, str) and isinstance(atom, str) and atom < before:
            yield Problem(
                path, "order", f"the atom {atom} stands behind {before}", "sort by the atoms' names"
            )


def _unique(found: list[tuple[JsonPath, Any]]) -> Found:
    counts = Counter(text for _, text in found if isinstance(text, str))
    told = set()
    for path, text in found:
        if isinstance(text, str) and counts[text] > 1:
            if text in told:
                yield Problem(path, "unique", f"{text} is there {counts[text]} times", "keep one of them")
            told.add(text)


def _paths(found: list[tuple[JsonPath, Any]]) -> Found:
    for path, text in found:
        try:
            if isinstance(text, str) and text:
                check_relative(text.partition("#")[0])
        except UnsafePathError as refusal:
            yield Problem(path, "path", refusal.what)


def _mappings(value: dict[str, Any], key: str) -> list[tuple[JsonPath, dict[str, Any]]]:
    """The mappings of the list under `key`, each with its path."""
    items = value.get(key)
    listed = enumerate(items) if isinstance(items, list) else ()
    return [((key, index), item) for index, item in listed if isinstance(item, dict)]


def _whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
