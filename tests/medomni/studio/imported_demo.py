"""Imports the MIMIC-IV demo once a process into a temporary workspace, and reads label tables from it.

It goes through the two commands as a user types them, and leaves judging what they print to the tests.
"""

from __future__ import annotations

import contextlib
import csv
import importlib.util
import shutil
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest
from independent.mimic_tables import FOLDERS

RELEASE = "mimic-iv/demo-2.2"
NEEDED = (
    "duckdb",
    "sqlglot",
    "medomni.cli",
    "medomni.studio.cli",
    "medomni.studio.labels",
    "medomni.studio.data",
)

_workspaces: dict[Path, Path] = {}


@dataclass(frozen=True, slots=True)
class TableRow:
    """One line of `label table`."""

    subject_id: int
    prediction_time: datetime
    value: Decimal | None
    eligible: bool
    rules: dict[str, bool]


def skip_unless_built() -> None:
    for name in NEEDED:
        try:
            found = importlib.util.find_spec(name) is not None
        except ModuleNotFoundError:
            found = False
        if not found:
            pytest.skip(f"{name} is not there")


def run(workspace: Path, *arguments: str) -> str:
    from typer.testing import CliRunner

    from medomni.cli import app

    with contextlib.chdir(workspace):
        result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, f"medomni {' '.join(arguments)}: {result.output}"
    return result.output


def demo_workspace(factory: pytest.TempPathFactory, shared: Path, repository: Path) -> Path:
    """The workspace: this repository's `studio/` content beside the imported demo."""
    skip_unless_built()
    if not (repository / "studio" / "datasets" / "mimic-iv" / "dataset.yaml").is_file():
        pytest.skip("studio/datasets/mimic-iv is not there")
    if repository not in _workspaces:
        workspace = factory.mktemp("demo-workspace")
        shutil.copy(repository / "medomni.toml", workspace / "medomni.toml")
        shutil.copytree(repository / "studio", workspace / "studio")
        release = factory.mktemp("demo-release")
        for folder in FOLDERS:
            for module in ("hosp", "icu"):
                shutil.copytree(shared / "data" / folder / module, release / module, dirs_exist_ok=True)
        run(workspace, "studio", "data", "import", "mimic-iv", "--from", str(release))
        _workspaces[repository] = workspace
    return _workspaces[repository]


def truth(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


def label_rows(workspace: Path, label: str) -> list[TableRow]:
    """Every line of `medomni studio label table LABEL`; skips when the workspace has no such label."""
    if not (workspace / "studio" / "datasets" / "mimic-iv" / "labels" / f"{label}.yaml").is_file():
        pytest.skip(f"the label {label} is not there")
    out = workspace / f"{label}.csv"
    run(workspace, "studio", "label", "table", label, "--out", str(out))
    with out.open(encoding="utf-8", newline="") as stream:
        return [row_of(line) for line in csv.DictReader(stream)]


def row_of(line: dict[str, str]) -> TableRow:
    subject, time, value, eligible = (
        line.pop(name) for name in ("subject_id", "prediction_time", "value", "eligible")
    )
    return TableRow(
        int(subject),
        datetime.fromisoformat(time),
        Decimal(value) if value else None,
        truth(eligible),
        {name: truth(text) for name, text in line.items() if text.lower() in ("true", "false")},
    )
