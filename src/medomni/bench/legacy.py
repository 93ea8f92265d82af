"""Results of MedOmni 0.2: JSON lines become run records of version 0, in sets of their own.

A line holds `set`, `template`, `patient`, `agent`, `arm`, `answer` (target to answer) and `config_hash`; it
may hold `variant`, `cohort`, `model` and `agent_version`. What else it holds is named and passed over.

Imported records carry a `v0.2:` config hash, which no other record may, and never stand beside later ones.

Leaves to others: scoring, for which the truth of those runs would be needed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medomni.bench.errors import BenchError
from medomni.core import contracts
from medomni.core.errors import DocumentNotFoundError, InvalidNameError, MedomniError, WriteError
from medomni.core.files import parse_json, write_atomic, write_json
from medomni.core.hashing import canonical_digest, task_set_hash
from medomni.core.issues import Issue, IssuesError, error, warning
from medomni.core.names import IMPORTED_SETS, Pair, SetName, check_id
from medomni.core.workspace import Workspace

BENCHMARK = "medomni-bench"
BUILDER = "medomni-v0"
PREFIX = "v0.2:"
FOLDER = "imported-v0.2"
_NEEDED = ("set", "template", "patient", "agent", "arm", "answer", "config_hash")
_OPTIONAL = ("variant", "cohort", "model", "agent_version")
_MOST_LINE_BYTES = 1024 * 1024
_MOST_ISSUES = 200


@dataclass(frozen=True, slots=True, order=True)
class RunKey:
    """What makes lines one run."""

    task_set: str
    pair: str
    arm: str
    variant: str
    agent: str
    agent_version: str
    model: str
    config_hash: str


@dataclass(slots=True)
class Imported:
    """What was imported.

    Attributes:
        records: Paths of the run records.
        sets: Set to its file.
        issues: What was passed over, as warnings.
    """

    n_lines: int = 0
    records: list[Path] = field(default_factory=list)
    sets: dict[str, Path] = field(default_factory=dict)
    issues: list[Issue] = field(default_factory=list)


def import_v02(workspace: Workspace, folder: Path) -> Imported:
    """Import every `*.jsonl` file of a folder; nothing is written unless all lines are right.

    Raises:
        DocumentNotFoundError: There is no such folder, or no `*.jsonl` file in it.
        IssuesError: `import-line`: lines that are no results of 0.2; `import-duplicate`: two for a patient.
        BenchError: `import-benchmark`: the workspace has no `medomni-bench`.
        WriteError: A file could not be written.
    """
    paths = sorted(folder.rglob("*.jsonl")) if folder.is_dir() else []
    if not paths:
        raise DocumentNotFoundError(
            f"{folder} holds no results of v0.2", where=str(folder), hint="they are files called *.jsonl"
        )
    card = _card(workspace)
    found = Imported()
    runs: dict[RunKey, dict[str, Mapping[str, Any]]] = defaultdict(dict)
    problems: list[Issue] = []
    for where, line in _lines(paths, problems):
        found.n_lines += 1
        _take(line, where, runs, problems, found.issues)
    if problems:
        raise IssuesError(
            f"{folder} cannot be imported: {len(problems)} problems",
            issues=problems[:_MOST_ISSUES],
            where=str(folder),
        )
    entries = _entries(workspace, runs)
    _write(workspace, card, runs, entries, found)
    return found


def _card(workspace: Workspace) -> Mapping[str, Any]:
    path = workspace.benchmark_card(BENCHMARK)
    try:
        card: Mapping[str, Any] = contracts.load("benchmark", path)
    except DocumentNotFoundError as failure:
        raise BenchError(
            f"the workspace has no {BENCHMARK}, to whose sets results of v0.2 belong",
            where=str(path),
            hint="import into a clone of the project, or into what `medomni init` makes",
            code="import-benchmark",
        ) from failure
    return card


def _lines(paths: Iterable[Path], problems: list[Issue]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for path in paths:
        for number, data in enumerate(path.read_bytes().split(b"\n"), start=1):
            where = f"{path}:{number}"
            if not data.strip():
                continue
            try:
                value = parse_json(data, name=where, max_bytes=_MOST_LINE_BYTES).value
            except MedomniError as failure:
                problems.append(error("import-line", where, failure.what, "one JSON object on each line"))
                continue
            if isinstance(value, dict):
                yield where, value
            else:
                problems.append(error("import-line", where, "the line is no JSON object"))


def _take(
    line: Mapping[str, Any],
    where: str,
    runs: dict[RunKey, dict[str, Mapping[str, Any]]],
    problems: list[Issue],
    told: list[Issue],
) -> None:
    """Put one line where it belongs, or say what is wrong with it."""
    wrong = list(_faults(line))
    if wrong:
        problems.extend(error("import-line", where, what) for what in wrong)
        return
    extra = sorted(line.keys() - set(_NEEDED) - set(_OPTIONAL))
    if extra:
        told.append(warning("import-key-ignored", where, f"passed over: {', '.join(extra)}"))
    key, patient = _key(line), str(line["patient"])
    if patient in runs[key]:
        what = f"the patient {patient} has two answers of {key.agent} on {key.pair}"
        problems.append(error("import-duplicate", where, what, "keep the one that counted"))
    runs[key][patient] = line["answer"]


def _faults(line: Mapping[str, Any]) -> Iterator[str]:
    """What keeps a line from being a result of 0.2."""
    missing = [name for name in _NEEDED if line.get(name) in (None, "", {})]
    if missing:
        yield f"{', '.join(missing)} missing"
        return
    texts = [name for name in (*_NEEDED, *_OPTIONAL) if name not in ("patient", "answer")]
    wrong = [name for name in texts if not isinstance(line.get(name), str | None)]
    if isinstance(line["patient"], bool) or not isinstance(line["patient"], str | int):
        wrong.append("patient")
    if not isinstance(line["answer"], dict):
        wrong.append("answer")
    if wrong:
        yield f"{', '.join(wrong)} of the wrong type"
        return
    if _set_of(line["set"]) not in IMPORTED_SETS:
        yield f"set is {line['set']!r}, and there are {', '.join(IMPORTED_SETS)}"
    elif line["config_hash"].removeprefix(PREFIX).isalnum() is False or not line["config_hash"].isascii():
        yield f"config_hash is {line['config_hash']!r}, and holds letters and digits"
    else:
        try:
            Pair.parse(_pair_of(line)).usable()
            for name, word in (("arm", "arm"), ("variant", "variant")):
                check_id(line.get(name) or "none", what=word)
            for target in line["answer"]:
                check_id(target, what="target")
        except InvalidNameError as refusal:
            yield refusal.what


def _set_of(text: str) -> str:
    name = text.removeprefix(f"{BENCHMARK}/")
    return name if name.startswith("v0.2-") else f"v0.2-{name}"


def _pair_of(line: Mapping[str, Any]) -> str:
    """The pair; where a line names no cohort, it is called as the task tree: ladder, forced or mid."""
    template = str(line["template"])
    cohort = line.get("cohort") or _set_of(line["set"]).removeprefix("v0.2-")
    return template if "@" in template else f"{template}@{cohort}"


def _key(line: Mapping[str, Any]) -> RunKey:
    return RunKey(
        _set_of(line["set"]),
        str(Pair.parse(_pair_of(line))),
        line["arm"],
        line.get("variant") or "",
        line["agent"],
        line.get("agent_version") or "unknown",
        line.get("model") or "",
        PREFIX + line["config_hash"].removeprefix(PREFIX),
    )


def _entries(workspace: Workspace, runs: Iterable[RunKey]) -> dict[str, dict[str, dict[str, None]]]:
    """Set to its pairs and arms, sorted: those that its file has already, and those of the runs."""
    found: dict[str, dict[str, dict[str, None]]] = {}
    for name in sorted({key.task_set for key in runs}):
        pairs = {key.pair for key in runs if key.task_set == name}
        arms = {key.arm for key in runs if key.task_set == name}
        path = workspace.task_set(SetName(BENCHMARK, name))
        if path.is_file():
            before = contracts.load("task-set", path)
            pairs |= {str(Pair.parse(entry["task"])) for entry in before["tasks"]}
            arms |= set(before["arms"])
        found[name] = {"pairs": dict.fromkeys(sorted(pairs)), "arms": dict.fromkeys(sorted(arms))}
    return found


def _write(
    workspace: Workspace,
    card: Mapping[str, Any],
    runs: Mapping[RunKey, Mapping[str, Mapping[str, Any]]],
    entries: Mapping[str, Mapping[str, Mapping[str, None]]],
    found: Imported,
) -> None:
    hashes = {name: task_set_hash([(pair, 0) for pair in each["pairs"]]) for name, each in entries.items()}
    for key in sorted(runs):
        record = _record(key, runs[key], card, hashes[key.task_set])
        issues = contracts.validate("run-record", record)
        if issues:
            raise IssuesError("an imported record is not right", issues=issues, where=key.pair)
        path = workspace.runs / FOLDER / f"{record['run_id']}.run.json"
        _make(path.parent)
        write_json(path, record)
        found.records.append(path)
    for name, each in entries.items():
        path = workspace.task_set(SetName(BENCHMARK, name))
        _make(path.parent)
        write_atomic(path, _set_text(name, list(each["pairs"]), list(each["arms"])))
        found.sets[f"{BENCHMARK}/{name}"] = path


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise WriteError(f"{folder} could not be made: {fault.strerror}", where=str(folder)) from fault


def _set_text(name: str, pairs: Iterable[str], arms: Iterable[str]) -> str:
    tree = name.removeprefix("v0.2-")
    head = (
        f"name: {name}\ndescription: Imported results of MedOmni 0.2, task tree {tree}.\nbuilder: {BUILDER}\n"
    )
    tasks = "".join(f"  - {{task: {pair}, version: 0}}\n" for pair in pairs)
    return f"{head}arms: [{', '.join(arms)}]\ntasks:\n{tasks}"


def _record(
    key: RunKey, answers: Mapping[str, Mapping[str, Any]], card: Mapping[str, Any], set_hash: str
) -> dict[str, Any]:
    rows = [_row(patient, answers[patient]) for patient in sorted(answers)]
    dataset = key.pair.partition("_")[0]
    counts = {"atoms": len(rows), "ran": len(rows), "timeout": 0, "agent_error": 0, "harness_error": 0}
    # A run is what its lines say: the same lines give the same id, and other answers another one.
    digest = canonical_digest([[getattr(key, name) for name in RunKey.__slots__], rows])
    return {
        "schema": "medomni/run-record/1",
        "run_id": f"{key.task_set}-{digest[:16]}",
        "started_at": None,
        "finished_at": None,
        "benchmark": BENCHMARK,
        "benchmark_version": card["version"],
        "set": key.task_set,
        "task_set_hash": set_hash,
        "pair": key.pair,
        "version": 0,
        "arm": key.arm,
        "variant": key.variant or None,
        "config_hash": key.config_hash,
        "builder": BUILDER,
        "releases": {"dataset": f"{dataset}/unknown", "medomni": "medomni/0.2"},
        "data_fingerprint": None,
        "agent": {
            "name": key.agent,
            "version": key.agent_version,
            "model": key.model or None,
            "settings": {},
        },
        "runner": None,
        "environment": None,
        "plan": None,
        "terms": [],
        "integrity": ["imported-from-v0.2"],
        "atoms": rows,
        "counts": counts,
    }


def _row(patient: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "atom": patient,
        "attempt": 1,
        "status": "ran",
        "seconds": None,
        "tokens": None,
        "cost_usd": None,
        "tool_calls": None,
        "answer_sha256": None,
        "targets": {target: _target(value) for target, value in sorted(answer.items())},
    }


def _target(value: Any) -> dict[str, Any]:
    if value is None:
        return {"status": "missing", "value": None, "reason": "no answer in the record of v0.2"}
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return {"status": "invalid", "value": None, "reason": "not a number in the record of v0.2"}
    return {"status": "answered", "value": value, "reason": None}
