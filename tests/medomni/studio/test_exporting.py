"""`studio export meds-labels`: the label schema of MEDS, column by column."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest
from studio_builders import beside, dummy_workspace, edit
from typer.testing import CliRunner

from medomni.cli import app
from medomni.core.names import Pair
from medomni.core.workspace import Workspace
from medomni.studio.opening import open_selection

# Names and types by the LabelSchema of meds 0.4.1: int64, timestamp[us], bool, int64, float32, string.
TYPES = {
    "subject_id": "BIGINT",
    "prediction_time": "TIMESTAMP",
    "boolean_value": "BOOLEAN",
    "integer_value": "BIGINT",
    "float_value": "FLOAT",
    "categorical_value": "VARCHAR",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return dummy_workspace(tmp_path_factory)


def export(place: Workspace, pair: str, out: Path, *options: str, code: int = 0) -> str:
    given = [
        "studio",
        "export",
        "meds-labels",
        pair,
        "--out",
        str(out),
        *options,
        "--workspace",
        str(place.root),
    ]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == code, result.output
    return result.output


@pytest.mark.parametrize(
    ("template", "columns"),
    [
        ("mimic-iv_in-hospital-mortality", ["boolean_value"]),
        ("mimic-iv_ckd-staging", ["integer_value", "categorical_value"]),
        ("mimic-iv_length-of-stay", ["float_value"]),
    ],
)
def test_answers_stand_in_the_columns_of_their_type(
    place: Workspace, tmp_path: Path, template: str, columns: list[str]
) -> None:
    out = tmp_path / "labels.parquet"
    told = json.loads(export(place, f"{template}@dummy", out, "--json"))
    assert told["rows"] == 20
    assert told["columns"] == ["subject_id", "prediction_time", *columns]
    found = duckdb.sql(f"DESCRIBE SELECT * FROM '{out}'").fetchall()
    assert {row[0]: row[1] for row in found} == {name: TYPES[name] for name in told["columns"]}
    rows = duckdb.sql(f"SELECT * FROM '{out}'").fetchall()
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    atoms = {each.subject: each for each in open_selection(place, Pair(template, "dummy")).atoms}
    for subject, when, *values in rows:
        assert when.isoformat() == atoms[subject].prediction_time
        value = atoms[subject].value
        assert values[0] == (pytest.approx(float(value), rel=1e-6) if columns == ["float_value"] else value)
    if columns[-1] == "categorical_value":
        assert {row[-1] for row in rows} == {"eGFR>=60", "45-59", "30-44", "15-29", "<15"}


def test_the_same_answers_give_the_same_bytes_and_no_file_is_replaced(
    place: Workspace, tmp_path: Path
) -> None:
    one, two = tmp_path / "1.parquet", tmp_path / "2.parquet"
    for out in (one, two):
        assert "20 labels of sepsis_onset (boolean_value)" in export(place, "mimic-iv_sepsis3@dummy", out)
    assert one.read_bytes() == two.read_bytes()
    assert "error[export-exists]" in export(place, "mimic-iv_sepsis3@dummy", one, code=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.parquet", "2.parquet"]


def test_one_of_several_targets_must_be_named(place: Workspace, tmp_path: Path) -> None:
    mine = beside(place, tmp_path / "w")
    path = mine.template("mimic-iv", "mimic-iv_sepsis3") / "template.yaml"
    edit(path, "\ninput:", "\n  - {name: again, label: sepsis3_onset_12_60h, metric: auc}\ninput:")
    out = tmp_path / "labels.parquet"
    assert "error[target-needed]" in export(mine, "mimic-iv_sepsis3@dummy", out, code=2)
    assert "error[target-unknown]" in export(mine, "mimic-iv_sepsis3@dummy", out, "--target", "x", code=2)
    assert "20 labels of again" in export(mine, "mimic-iv_sepsis3@dummy", out, "--target", "again")


def test_a_folder_that_is_not_there_is_an_error_and_leaves_nothing(place: Workspace, tmp_path: Path) -> None:
    told = export(place, "mimic-iv_sepsis3@dummy", tmp_path / "gone" / "labels.parquet", code=2)
    assert told.startswith("error[")
    assert list(tmp_path.iterdir()) == []
