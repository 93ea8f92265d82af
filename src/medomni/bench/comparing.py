"""Compares the runs of two agents, pair by pair, and corrects over all of them.

Two runs compare at equal pair, N, arm, variant and data, and at nothing less. What else differs is said.

Leaves to others: the test (`paired_agents`), signing (`signed_records`), ranks (`medomni.core.ranking`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medomni.bench.errors import CompareError
from medomni.bench.paired_agents import METHOD, Paired, compare_target, same_answers
from medomni.bench.run_reading import Opened, find_runs, open_run, read_record
from medomni.bench.score_records import SAME
from medomni.bench.scoring import SCORER_VERSION
from medomni.bench.signed_records import public_agent
from medomni.core.hashing import sha256_bytes
from medomni.core.paired import holm
from medomni.core.workspace import Workspace

SUFFIX = ".comparison.json"
_FLAGGED = ("config_hash", "task_set_hash", "plan", "environment")
_DIGITS = 12

type Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs compared.

    Attributes:
        record: The comparison record.
        differs: Whether any answer differs, or any score.
    """

    record: Mapping[str, Any]
    differs: bool

    @property
    def file_name(self) -> str:
        """What its file is called."""
        both = "|".join(self.record[side]["run_id"] for side in ("a", "b"))
        return f"{self.record['pair']}.{sha256_bytes(both.encode('utf-8'))[:_DIGITS]}{SUFFIX}"


def compare_runs(
    workspace: Workspace, first: Sequence[Path], second: Sequence[Path], *, secret: bytes
) -> list[Comparison]:
    """Compare two sets of runs, in the order of their pairs.

    Args:
        workspace: Where the answers are.
        first: Run records, or folders with them, of one agent.
        second: Of the other.
        secret: Of keyed digests.

    Raises:
        CompareError: `compare-differs`, naming the field; `compare-ambiguous`: two runs of one pair on one
            side; `compare-pairs`: the two sides have different pairs.
        ScoreError: As `run_reading`.
    """
    ours, theirs = _by_pair(first), _by_pair(second)
    if len(ours) == len(theirs) == 1:
        _check_same(next(iter(ours.values())), next(iter(theirs.values())))
    elif ours.keys() != theirs.keys():
        key = sorted(ours.keys() ^ theirs.keys())[0]
        side, place = ("B", second) if key in ours else ("A", first)
        raise CompareError(
            f"{side} has no run of {' '.join(filter(None, key))}",
            where=", ".join(map(str, place)),
            hint="compare two runs of one pair, or two agents on the same pairs",
            code="compare-pairs",
        )
    made = []
    for (_, first_path), (_, second_path) in zip(sorted(ours.items()), sorted(theirs.items()), strict=True):
        _check_same(first_path, second_path)
        made.append((open_run(workspace, first_path), open_run(workspace, second_path)))
    results = [_results(a, b) for a, b in made]
    adjusted = iter(holm([each.p for by_target in results for each in by_target.values()]))
    tests = sum(each.p is not None for by_target in results for each in by_target.values())
    found = []
    for (a, b), by_target in zip(made, results, strict=True):
        figures = {name: each.figures(next(adjusted)) for name, each in by_target.items()}
        found.append(Comparison(_record(a, b, figures, tests, secret), _differs(a, b, by_target)))
    return found


def _by_pair(places: Sequence[Path]) -> dict[Key, Path]:
    found: dict[Key, Path] = {}
    for path in find_runs(places):
        record = read_record(path)
        key = (record["pair"], record["arm"], record["variant"] or "")
        if key in found:
            raise CompareError(
                f"there are two runs of {record['pair']} under {record['arm']}",
                where=f"{found[key]} and {path}",
                hint="name the run records that you mean",
                code="compare-ambiguous",
            )
        found[key] = path
    return found


def _check_same(first: Path, second: Path) -> None:
    ours, theirs = read_record(first), read_record(second)
    for field in SAME:
        if ours[field] != theirs[field]:
            raise CompareError(
                f"{field} differs: {ours[field]} and {theirs[field]}",
                where=f"{first} and {second}",
                hint="only runs of one pair, N, arm, variant and data compare",
                code="compare-differs",
            )


def _results(a: Opened, b: Opened) -> dict[str, Paired]:
    failed = bool(a.failed or b.failed)
    return {
        target.name: compare_target(
            a.joined[target.name], b.joined[target.name], seed=a.seed(target.metric), failed=failed
        )
        for target in a.targets
    }


def _differs(a: Opened, b: Opened, results: Mapping[str, Paired]) -> bool:
    alike = all(same_answers(a.joined[name], b.joined[name]) for name in results)
    return not alike or any(each.difference for each in results.values())


def _record(a: Opened, b: Opened, targets: Mapping[str, Any], tests: int, secret: bytes) -> dict[str, Any]:
    shared = {
        key: a.record[key]
        for key in ("pair", "version", "arm", "variant", "task_set_hash", "data_fingerprint")
    }
    return {
        "schema": "medomni/comparison-record/1",
        **shared,
        "scorer_version": SCORER_VERSION,
        "tests": tests,
        "method": METHOD,
        "flags": [f"{name}_differs" for name in _FLAGGED if a.record[name] != b.record[name]],
        "a": _side(a, secret),
        "b": _side(b, secret),
        "targets": dict(targets),
    }


def _side(run: Opened, secret: bytes) -> dict[str, Any]:
    return {
        "run_id": run.record["run_id"],
        "agent": public_agent(run.record["agent"], secret),
        "config_hash": run.record["config_hash"],
    }
