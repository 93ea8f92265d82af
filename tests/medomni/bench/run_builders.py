"""A workspace with built pairs and run records, as small as they can be: for tests of scores.

Leaves to others: real builds and runs (the tests of Studio and of `bench run`).
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from typer.testing import CliRunner

from medomni.cli import app
from medomni.core.hashing import task_set_hash
from medomni.core.names import Pair, atom_name

CONFIG_HASH = "cfg1:" + "ab" * 32
FINGERPRINT = "rows1:" + "cd" * 32

type Answer = float | int | str | None


def auc_target(name: str = "died") -> dict[str, Any]:
    return _target(name, metric="auc", type="binary")


def qwk_target(name: str = "stage", classes: int = 4) -> dict[str, Any]:
    return _target(name, metric="qwk", type="ordinal", classes=[f"stage {k}" for k in range(classes)])


def mae_target(name: str = "days") -> dict[str, Any]:
    return _target(name, metric="mae", type="number", range=[0, 30], unit="days", decimals=1)


def _target(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "label": name, "label_version": 1, "question": "What?"} | more


@dataclass
class BenchWorkspace:
    """A workspace below `root`, with what was built in it."""

    root: Path
    tasks: dict[str, int] = field(default_factory=dict)
    patients: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        (self.root / "medomni.toml").write_text('release = "0.3.0"\n', encoding="utf-8")

    def build(
        self,
        pair: str,
        targets: Sequence[Mapping[str, Any]],
        truth: Mapping[str, Sequence[Answer]],
        *,
        strata: Sequence[str] | None = None,
        mae_ref: float | None = 5.0,
        median: float | None = 6,
        release_class: str = "real",
    ) -> list[str]:
        """Write the content of a pair; the atoms, in the order of the patients 001, 002, …"""
        n = len(next(iter(truth.values())))
        patients = [f"{k:03}" for k in range(1, n + 1)]
        atoms = [atom_name(Pair.parse(pair), version=1, patient=patient) for patient in patients]
        self.tasks[pair], self.patients[pair] = 1, patients
        folder = self.root / "atomtasks" / "_content" / pair
        folder.mkdir(parents=True)
        rows = [
            [atom, patient, strata[k] if strata else "all", *(str(truth[t["name"]][k]) for t in targets)]
            for k, (atom, patient) in enumerate(zip(atoms, patients, strict=True))
        ]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["atom", "patient", "stratum", *(t["name"] for t in targets)])
        writer.writerows(sorted(rows))
        (folder / "answers.csv").write_text(text.getvalue(), encoding="utf-8")
        content = {
            "schema": "medomni/built-task/1",
            "pair": pair,
            "version": 1,
            "dataset": "demo-data",
            "release": "demo-data/1.0",
            "release_class": release_class,
            "access": "generated" if release_class == "dummy" else "open",
            "licence": "CC0-1.0",
            "terms": [],
            "statement": "What?",
            "submission_path": "/workspace/answer.json",
            "targets": list(targets),
            "atoms": [{"atom": atom, "prediction_time": "0"} for atom in sorted(atoms)],
            "step_counts": [],
            "reference": {t["name"]: _reference(t, mae_ref, median) for t in targets},
        }
        (folder / "content.json").write_text(json.dumps(content), encoding="utf-8")
        self._manifest(pair, folder)
        return atoms

    def _manifest(self, pair: str, folder: Path) -> None:
        digests = {
            f"_content/{pair}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.iterdir())
        }
        files = [{"path": "a.yaml", "size": 1, "sha256": "0" * 64}]
        hashes = [{"arm": "encoders", "variant": None, "config_hash": CONFIG_HASH, "files": files}]
        hashes.append(hashes[0] | {"arm": "other"})
        manifest = {
            "schema": "medomni/build-manifest/1",
            "pair": pair,
            "version": 1,
            "builder": "medomni-v1/0.3.0",
            "releases": {"dataset": "demo-data/1.0", "medomni": "medomni/0.3.0"},
            "hashes": hashes,
            "step_counts": [],
            "files": digests,
            "data_fingerprint": FINGERPRINT,
        }
        (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")

    def publish_set(self) -> None:
        """Write the benchmark's card and a set of all pairs."""
        folder = self.root / "bench" / "benchmarks" / "my-bench"
        (folder / "sets").mkdir(parents=True, exist_ok=True)
        card = {
            "name": "my-bench",
            "version": "1.0",
            "owner": "me",
            "license": "CC0-1.0",
            "accepts": ["agent"],
        }
        (folder / "benchmark.yaml").write_text(yaml.safe_dump(card), encoding="utf-8")
        tasks = [{"task": pair, "version": n} for pair, n in self.tasks.items()]
        made = {"name": "v1", "builder": "medomni-v1", "arms": ["encoders"], "tasks": tasks}
        (folder / "sets" / "v1.yaml").write_text(yaml.safe_dump(made), encoding="utf-8")

    def run_record(self, agent: str, pair: str, rows: Sequence[Mapping[str, Any]], **changes: Any) -> Path:
        """Write a run record with these rows (`row`)."""
        statuses = [row["status"] for row in rows]
        counts = {name: statuses.count(name) for name in ("ran", "timeout", "agent_error", "harness_error")}
        record = {
            "schema": "medomni/run-record/1",
            "run_id": f"{agent}-1/{pair}",
            "started_at": "2026-01-01T00:00:00+00:00",
            "finished_at": None,
            "benchmark": "my-bench",
            "benchmark_version": "1.0",
            "set": "v1",
            "task_set_hash": task_set_hash(self.tasks.items()),
            "pair": pair,
            "version": 1,
            "arm": "encoders",
            "variant": None,
            "config_hash": CONFIG_HASH,
            "builder": "medomni-v1",
            "releases": {"dataset": "demo-data/1.0", "medomni": "medomni/0.3.0"},
            "data_fingerprint": FINGERPRINT,
            "agent": {"name": agent, "version": "1", "model": None, "settings": {}},
            "runner": None,
            "environment": {"kind": "docker", "limits_held": {}, "widened": []},
            "plan": {"attempts": 1, "aggregate": "first", "seed": 0},
            "terms": [],
            "integrity": [],
            "atoms": list(rows),
            "counts": {"atoms": len(rows), **counts},
        } | changes
        folder = self.root / "runs" / agent
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{pair}.run.json"
        path.write_text(json.dumps(record), encoding="utf-8")
        return path

    def run(self, agent: str, pair: str, atoms: Sequence[str], **answers: Sequence[Answer]) -> Path:
        """Write the run record of an agent that answered so; None is missing, text is invalid."""
        rows = [row(atom, **{t: given[k] for t, given in answers.items()}) for k, atom in enumerate(atoms)]
        return self.run_record(agent, pair, rows)

    def command(self, *arguments: str | Path, code: int = 0) -> str:
        """What a command of `medomni bench` prints, which must end with `code`."""
        told = ["bench", *map(str, arguments), "--workspace", str(self.root)]
        done = CliRunner().invoke(app, told)
        assert done.exit_code == code, f"{done.output}\n{done.exception!r}"
        return done.output


def row(
    atom: str, *, attempt: int = 1, status: str = "ran", seconds: float | None = 2.0, **answers: Answer
) -> dict[str, Any]:
    """A row of a run record."""
    tokens = {"input": 10, "output": 2, "cached": 0}
    return {
        "atom": atom,
        "attempt": attempt,
        "status": status,
        "seconds": seconds,
        "tokens": tokens if seconds is not None else None,
        "cost_usd": 0.01,
        "tool_calls": 3,
        "answer_sha256": None,
        "targets": {name: _answer(value) for name, value in answers.items()},
    }


def _answer(value: Answer) -> dict[str, Any]:
    if value is None:
        return {"status": "missing", "value": None, "reason": "there is no answer file"}
    if isinstance(value, str):
        return {"status": "invalid", "value": None, "reason": value}
    return {"status": "answered", "value": value, "reason": None}


def _reference(target: Mapping[str, Any], mae_ref: float | None, median: float | None) -> dict[str, Any]:
    if target["metric"] == "mae":
        return {"eligible_n": 100, "quantiles": {"0.5": 6}, "median": median, "mae_ref": mae_ref}
    classes = 2 if target["metric"] == "auc" else len(target["classes"])
    return {"eligible_n": 100, "share": [1 / classes] * classes}


def bench(*arguments: str | Path, code: int = 0) -> str:
    """What `medomni bench …` prints outside a workspace, which must end with `code`."""
    done = CliRunner().invoke(app, ["bench", *map(str, arguments)])
    assert done.exit_code == code, f"{done.output}\n{done.exception!r}"
    return done.output


def write_answers(
    folder: Path, truth: Mapping[str, Mapping[str, Any]], answers: Mapping[str, Any], *, key: str = "patient"
) -> tuple[Path, Path]:
    """`answers.csv` and the folder of submissions; an answer that is text is written as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    names = list(next(iter(truth.values())))
    lines = [",".join([key, *names])]
    lines += [",".join([who, *(str(values[name]) for name in names)]) for who, values in truth.items()]
    table = folder / "answers.csv"
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    submissions = folder / "submissions"
    submissions.mkdir(exist_ok=True)
    for who, answer in answers.items():
        (submissions / who).mkdir()
        text = answer if isinstance(answer, str) else json.dumps(answer)
        (submissions / who / "answer.json").write_text(text, encoding="utf-8")
    return table, submissions
