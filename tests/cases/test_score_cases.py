"""The cases of scoring records, from their own files through the real command; else they skip."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from medomni.cli import app


def scored(table: Path, folder: Path, *options: str) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["bench", "score-answers", str(table), str(folder), *options, "--json"])
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def case(shared: Path, name: str) -> tuple[Path, dict[str, Any]]:
    folder = shared / "cases" / name
    return folder, json.loads((folder / "expected.json").read_text())["expect"]


def test_rn_01_errors_stay_in_the_denominator(shared):
    folder, expected = case(shared, "RN-01")
    document = scored(folder / "answers.csv", folder / "submissions", "--target", "aki", "--metric", "auc")
    aki = document["targets"]["aki"]
    assert aki["n"] == expected["n_atoms"]
    assert aki["n_answered"] == expected["n_answered"]
    assert aki["missing"] == expected["missing"]
    assert aki["value"] == pytest.approx(expected["auc_if_missing_scored_as_worst"])
    assert aki["secondary"]["answered_only"] == {"value": expected["auc_over_answered"], "n": 8}


def test_rn_06_a_missing_key_is_a_missing_answer_and_no_key_is_guessed(shared, tmp_path):
    folder, expected = case(shared, "RN-06")
    content = json.loads((folder / "content.json").read_text())
    content["targets"][1]["classes"] = 4  # the case leaves out how many stages there are
    (tmp_path / "target.json").write_text(json.dumps(content))
    (tmp_path / "answers.csv").write_text("atom,aki,stage\na1,1,2\na2,0,1\na3,1,0\n")
    document = scored(
        tmp_path / "answers.csv", folder / "submissions", "--target-file", str(tmp_path / "target.json")
    )
    for atom, targets in expected["per_atom"].items():
        for target in targets:
            assert atom in document["targets"][target]["missing"]
            assert atom in document["reasons"][target]
    assert document["targets"]["aki"]["n_answered"] == 2
    assert document["targets"]["stage"]["n_answered"] == 1


def test_rn_10_the_score_of_the_case_names_who_and_no_right_answer(shared, tmp_path):
    folder, _ = case(shared, "RN-10")
    (tmp_path / "s" / "a1").mkdir(parents=True)
    (tmp_path / "s" / "a1" / "answer.json").write_text('{"aki": "x"}')
    document = scored(folder / "answers.csv", tmp_path / "s", "--target", "aki", "--metric", "auc")
    assert document["targets"]["aki"]["invalid"] == ["a1"]
    assert "expected" not in json.dumps(document)


def test_rn_13_ties_count_half(shared):
    folder, expected = case(shared, "RN-13")
    options = ("--target", "aki", "--metric", "auc")
    document = scored(folder / "answers.csv", folder / "submissions", *options)
    assert document["targets"]["aki"]["value"] == pytest.approx(expected["auc"], abs=1e-9)
    document = scored(folder / "answers.csv", folder / "submissions_constant", *options)
    assert document["targets"]["aki"]["value"] == expected["auc_constant"]


def test_rn_14_a_class_that_never_occurs_keeps_its_place(shared):
    folder, expected = case(shared, "RN-14")
    options = ("--target-file", str(folder / "target.json"))
    document = scored(folder / "answers.csv", folder / "submissions", *options)
    assert document["targets"]["stage"]["value"] == pytest.approx(expected["qwk"], abs=1e-9)


def test_rn_15_nothing_over_nothing_is_null_with_a_reason(shared):
    folder, _ = case(shared, "RN-15")
    options = ("--target-file", str(folder / "target.json"))
    stage = scored(folder / "answers.csv", folder / "submissions", *options)["targets"]["stage"]
    assert (stage["value"], stage["reason"]) == (None, "degenerate")
    assert stage["secondary"]["agreement"] == 1.0


def test_rn_17_answers_are_joined_by_name(shared, tmp_path):
    folder, expected = case(shared, "RN-17")
    for name, answer in json.loads((folder / "submission.json").read_text()).items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "answer.json").write_text(json.dumps(answer))
    document = scored(folder / "answers.csv", tmp_path, "--target", "hba1c", "--metric", "mae")
    assert document["targets"]["hba1c"]["value"] == expected["mae"]
    with (folder / "answers.csv").open() as stream:
        assert next(iter(csv.DictReader(stream)))["patient"] == "10"
