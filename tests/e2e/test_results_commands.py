"""compare, export and report as commands: exit codes, streams, files."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from bundle_builders import BundleBuilder, box
from medotter_bench.cli import app
from results_builders import dice_results, dice_rows, document


def run(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert "Traceback" not in done.stderr
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


@pytest.fixture
def files(tmp_path):
    paths = {}
    for name, values in {"a": [0.5, 0.6, 0.7], "b": [0.6, 0.6, 0.9]}.items():
        paths[name] = tmp_path / f"{name}.json"
        paths[name].write_text(json.dumps(document(dice_rows(values))))
    other = document(dice_rows([0.5, 0.6, 0.7]), version="9.9.9")
    paths["other"] = tmp_path / "other.json"
    paths["other"].write_text(json.dumps(other))
    return paths


def test_compare_answers_first_and_exits_0_whatever_it_finds(files):
    done = run("compare", files["a"], files["b"])
    assert done.exit_code == 0
    assert done.stdout.startswith("B is higher by 10.00 points of liver dice")
    assert "macro_avg" in done.stdout
    assert run("compare", files["a"], files["a"]).stdout.startswith("A and B are identical")


def test_compare_exits_1_on_a_difference_only_where_asked(files):
    assert run("compare", files["a"], files["b"], "--fail-on-difference").exit_code == 1
    assert run("compare", files["a"], files["a"], "--fail-on-difference").exit_code == 0
    assert run("compare", files["a"], files["b"], "--fail-on-difference", "--metric", "hd95").exit_code == 0


def test_compare_refuses_other_bundles_and_broken_files_with_2(files, tmp_path):
    done = run("compare", files["a"], files["other"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "error[results-differ]" in done.stderr
    assert "bundle.version" in done.stderr
    (tmp_path / "broken.json").write_text("{")
    assert run("compare", files["a"], tmp_path / "broken.json").exit_code == 2
    assert run("compare", files["a"], tmp_path / "absent.json").exit_code == 2
    assert run("compare", files["a"], files["b"], "--metric", "f1").exit_code == 2


def test_compare_prints_json_and_datasets(files, tmp_path):
    document_ = json.loads(run("compare", files["a"], files["b"], "--json").stdout)
    assert document_["schema"] == "medotter/comparison/1"
    paths = []
    for name, shift in (("x", 0.0), ("y", 0.1)):
        rows = [*dice_rows([0.5 + shift], dataset="DS_A"), *dice_rows([0.5, 0.6 - shift], dataset="DS_B")[1:]]
        found = document(rows)
        found["software"] = {**found["software"], "numpy": name}
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_text(json.dumps(found))
    text = run("compare", *paths).stdout
    assert "dataset DS_A" in text
    assert "software differs: numpy x and y" in text


def test_export_writes_csv_to_stdout_or_a_file(files, tmp_path):
    done = run("export", files["a"], "--format", "csv")
    assert done.exit_code == 0
    assert len(list(csv.DictReader(io.StringIO(done.stdout)))) == 12
    out = tmp_path / "a.csv"
    assert json.loads(run("export", files["a"], "--format", "csv", "--out", out, "--json").stdout)
    assert out.read_text() == done.stdout
    assert run("export", files["a"], "--format", "csv", "--out", out).stdout == ""
    assert run("export", files["a"], files["b"], "--format", "csv").exit_code == 2
    assert run("export", files["a"], "--format", "csv", "--json").exit_code == 2
    assert run("export", files["a"], "--format", "csv", "--out", tmp_path / "no" / "x.csv").exit_code == 2


def test_export_writes_challengers_table_of_several_results(files):
    done = run("export", files["a"], files["b"], "--format", "challenger-csv", "--metric", "dice")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {row["alg_name"] for row in rows} == {"a", "b"}
    assert done.stderr == ""
    named = run("export", files["a"], "--format", "challenger-csv", "--name", "Mine")
    assert "smallBetter" in named.stderr
    assert "Mine" in named.stdout
    bad = run("export", files["a"], files["b"], "--format", "challenger-csv", "--name", "A")
    assert (bad.exit_code, "error[export-names]" in bad.stderr) == (2, True)
    assert run("export", files["a"], files["other"], "--format", "challenger-csv").exit_code == 2


def test_report_writes_one_file_and_needs_all_three_for_pictures(files, tmp_path):
    out = tmp_path / "report.html"
    done = run("report", files["a"], "--out", out)
    assert (done.exit_code, done.stdout) == (0, "")
    assert out.read_text().startswith("<!DOCTYPE html>")
    assert json.loads(run("report", files["a"], "--out", out, "--json").stdout) == {"file": str(out)}
    assert run("report", files["a"], "--out", out, "--data-root", tmp_path).exit_code == 2
    assert run("report", files["a"], "--out", tmp_path / "no" / "x.html").exit_code == 2


def test_score_with_report_writes_the_page_that_report_writes_later(tmp_path):
    builder = BundleBuilder(tmp_path)
    builder.case("001", box(), box(size=3))
    builder.write()
    first, later, out = tmp_path / "first.html", tmp_path / "later.html", tmp_path / "results.json"
    places = ["--data-root", builder.data]
    scored = run(
        "score", builder.bundle, builder.predictions, *places, "--out", out, "--report", first, "--jobs", "1"
    )
    assert scored.exit_code == 0, scored.stderr
    more = ["--bundle", builder.bundle, "--predictions", builder.predictions, *places]
    assert run("report", out, *more, "--out", later).exit_code == 0
    assert first.read_bytes() == later.read_bytes()
    assert b"data:image/png" in first.read_bytes()
    bare = ["score", builder.bundle, builder.predictions, *places, "--report", first, "--jobs", "1"]
    assert run(*bare).exit_code == 0
    assert b"Timings" not in first.read_bytes()


def test_the_real_command_compares(files):
    command = [sys.executable, "-m", "medotter_bench", "compare", str(files["a"]), str(files["b"])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", ["compare", "export", "report"])
def test_every_command_has_help_with_an_example_and_json(command):
    text = run(command, "--help").stdout
    assert "Example: medotter" in text.replace("\n", " ").replace("  ", " ")
    assert "--json" in text


def test_builders_agree_with_the_strict_reader():
    assert dice_results([0.5]).unit == "patient"
