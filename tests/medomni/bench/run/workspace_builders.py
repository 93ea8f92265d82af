"""A workspace with a small built pair, made by the renderer and held by a manifest, ready for `bench run`."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from medomni.bench.errors import RunRefusedError
from medomni.bench.harbor_program import find_python
from medomni.cli import app
from medomni.core.hashing import cfg1, recorded_files
from medomni.studio.render import render_atom

REPOSITORY = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(REPOSITORY / "tests" / "medomni" / "studio" / "render"))

from atom_builders import ENCODERS, NO_PERCEPTION, PAIR, PATIENTS, STAGE, atom, pair, table  # noqa: E402

SET = "toy/smoke"
_CARD = 'name: toy\nversion: "1"\nowner: Somebody\nlicense: CC0-1.0\naccepts: [agent]\n'
_ARMS = {"no-perception": NO_PERCEPTION, "encoders": ENCODERS}


def need_harbor() -> Path:
    """Harbor's Python; skips the test where it is not installed."""
    try:
        return find_python(REPOSITORY)
    except RunRefusedError as reason:
        pytest.skip(reason.what)


def invoke(*arguments: str) -> Result:
    """The real command line, in this process."""
    return CliRunner().invoke(app, ["bench", *arguments])


def make_workspace(
    root: Path, cases: Sequence[str], *, arm: str = "no-perception", timeout: int = 600, memory_mb: int = 512
) -> Path:
    """A workspace whose set `toy/smoke` has one pair; each case is a patient whose record holds its name.

    Args:
        root: A new folder.
        cases: One word for each atom, in `/data/record/case.csv`.
        arm: The arm.
        timeout: Of the agent, in seconds.
        memory_mb: Of the agent's container.
    """
    sets = root / "bench" / "benchmarks" / "toy" / "sets"
    sets.mkdir(parents=True)
    (root / "medomni.toml").write_text('release = "0.3.0"\n', encoding="utf-8")
    (sets.parent / "benchmark.yaml").write_text(_CARD, encoding="utf-8")
    entry = f"- {{task: {PAIR}, version: 1}}"
    text = f"name: smoke\nbuilder: medomni-v1\narms: [{arm}]\ntasks:\n  {entry}\n"
    (sets / "smoke.yaml").write_text(text, encoding="utf-8")
    limits = {"cpus": 1, "memory_mb": memory_mb, "agent_timeout_sec": timeout}
    built = pair(STAGE, environment=limits)
    atoms = {}
    for number, case in enumerate(cases):
        one = atom(
            PATIENTS, table("case", ("case",), [(case,)], ["demographics"]), patient=f"9000012{number:02}"
        )
        render_atom(built, one, _ARMS[arm], None, root / "atomtasks" / arm / one.name)
        atoms[one.name] = case
    _write_content(root, arm, dict(sorted(atoms.items())))
    return root


def atom_of(root: Path, case: str) -> str:
    """The atom of a case."""
    for file in (root / "atomtasks").glob("*/*/data/record/case.csv"):
        with file.open(encoding="utf-8") as stream:
            if next(csv.DictReader(stream))["case"] == case:
                return file.parents[2].name
    raise LookupError(case)


def _write_content(root: Path, arm: str, atoms: dict[str, str]) -> None:
    folder = root / "atomtasks" / "_content" / str(PAIR)
    config = folder / "config" / "studio" / "arms" / f"{arm}.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(f"arm: {arm}\n", encoding="utf-8")
    target: dict[str, Any] = {"name": STAGE.name, "metric": "qwk", "label": STAGE.label, "label_version": 1}
    target |= {"type": "ordinal", "classes": list(STAGE.classes), "question": STAGE.question}
    share = [1 / len(STAGE.classes)] * len(STAGE.classes)
    content = {
        "schema": "medomni/built-task/1",
        "pair": str(PAIR),
        "version": 1,
        "dataset": "mimic-iv",
        "release": "mimic-iv/dummy-1",
        "release_class": "dummy",
        "access": "generated",
        "licence": "CC0-1.0",
        "terms": [],
        "statement": "Judge.",
        "submission_path": "/workspace/answer.json",
        "targets": [target],
        "atoms": [{"atom": name, "prediction_time": "2150-01-01T00:00:00"} for name in atoms],
        "step_counts": [],
        "reference": {STAGE.name: {"eligible_n": len(atoms), "share": share}},
    }
    (folder / "content.json").write_text(json.dumps(content), encoding="utf-8")
    rows = [f"{name},q{number},0,{number % 5}" for number, name in enumerate(atoms)]
    answers = "\n".join([f"atom,patient,stratum,{STAGE.name}", *rows, ""])
    (folder / "answers.csv").write_text(answers, encoding="utf-8")
    refresh_manifest(root, arm)


def refresh_manifest(root: Path, arm: str = "no-perception", **changes: Any) -> None:
    """Write the manifest of what is there now; `changes` go into it."""
    base = root / "atomtasks"
    folder = base / "_content" / str(PAIR)
    found = cfg1(
        recorded_files(folder / "config", [f"studio/arms/{arm}.yaml"]),
        builder="medomni-v1",
        dataset_release="mimic-iv/dummy-1",
        medomni_release="medomni/0.3.0",
    )
    files = {
        path.relative_to(base).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(base.rglob("*"))
        if path.is_file() and path.name != "manifest.json"
    }
    manifest = {
        "schema": "medomni/build-manifest/1",
        "pair": str(PAIR),
        "version": 1,
        "builder": "medomni-v1/0.3.0",
        "releases": {"dataset": "mimic-iv/dummy-1", "medomni": "medomni/0.3.0"},
        "hashes": [
            {
                "arm": arm,
                "variant": None,
                "config_hash": found.value,
                "files": [file.as_dict() for file in found.files],
            }
        ],
        "step_counts": [],
        "files": files,
        "data_fingerprint": "rows1:00",
    }
    (folder / "manifest.json").write_text(json.dumps(manifest | changes), encoding="utf-8")


def records_of(root: Path) -> list[dict[str, Any]]:
    """The run records of a workspace, by the names of their folders."""
    return [json.loads(path.read_text()) for path in sorted((root / "runs").glob("*/*.run.json"))]


def rows_of(record: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """A record's rows by atom."""
    return {row["atom"]: row for row in record["atoms"]}


def bash() -> str:
    """The shell; skips the test where there is none."""
    return shutil.which("bash") or pytest.skip("no bash")
