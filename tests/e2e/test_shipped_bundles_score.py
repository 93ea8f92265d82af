"""Every shipped bundle from nothing to a headline, through the commands: dummy, freeze, check, score."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from medomni.core import contracts
from medotter_bench.cli import app

REPOSITORY = Path(__file__).resolve().parents[2]
BENCHMARKS = REPOSITORY / "benchmarks"
FROZEN = ["thoracic_lesion_ct", "histopath_nucleus_seg", "nucleus_instance_2d", "nucleus_instance_3d"]
TO_FREEZE = ["glioma_wt_tc_et", "abdominal_multiorgan_ct"]
METRICS = {"thoracic_lesion_ct": ["dice", "hd95"], "glioma_wt_tc_et": ["dice", "hd95"]}
METRICS |= {"abdominal_multiorgan_ct": ["dice", "hd95"]}


def medotter(*arguments: object) -> Result:
    """The command in this process; what is no exit code of ours is raised."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def bundle_of(name: str, tmp_path: Path) -> Path:
    """The bundle itself where its manifest is tracked, else a copy frozen from generated data."""
    if name not in TO_FREEZE:
        return BENCHMARKS / name
    copy = tmp_path / "benchmarks" / name
    shutil.copytree(BENCHMARKS / name, copy)
    frozen = medotter("bundle", "freeze", copy, "--data-root", tmp_path / "data", "--json")
    assert frozen.exit_code == 0, frozen.output
    report = json.loads(frozen.stdout)
    assert report["changed"]
    assert report["test"] > 0
    return copy


@pytest.mark.parametrize("name", [*FROZEN, *TO_FREEZE])
def test_a_shipped_bundle_goes_from_nothing_to_a_headline(name: str, tmp_path: Path) -> None:
    """MB-011 and MB-070: what is scored, and how, follows from the bundle alone."""
    data, predictions, out = (tmp_path / part for part in ("data", "predictions", "results.json"))
    assert medotter("bundle", "dummy", name, "--dir", BENCHMARKS, "--out", data).exit_code == 0
    bundle = bundle_of(name, tmp_path)
    again = medotter("bundle", "dummy", bundle, "--out", tmp_path / "d2", "--predictions", predictions)
    assert again.exit_code == 0, again.output
    checked = medotter("bundle", "check", bundle, "--data-root", data, "--json")
    assert checked.exit_code == 0, checked.stdout
    files = medotter("check-predictions", bundle, predictions, "--data-root", data)
    assert files.exit_code == 0, files.stdout
    scored = medotter(
        "score", bundle, predictions, "--data-root", data, "--jobs", 1, "--out", out, "--strict", "--json"
    )
    assert scored.exit_code == 0, scored.output
    document = json.loads(scored.stdout)
    assert json.loads(out.read_text()) == document
    assert contracts.validate("results", document) == []
    assert_complete(document, METRICS.get(name, ["f1", "aji", "pq"]))


def assert_complete(document: dict[str, Any], metrics: list[str]) -> None:
    head = document["headline"]
    assert 0 < head["value"] < 1
    assert head["n"] == head["n_required"] > 0
    assert (document["missing"], document["invalid"], document["extra"]) == ([], [], [])
    for regions in (case["regions"] for case in document["cases"]):
        for region in regions.values():
            assert set(metrics) <= set(region)
    for region in document["aggregates"]["regions"].values():
        assert list(region) == metrics
    if head["region"] == "macro_avg":
        table = document["aggregates"]["macro_avg"]
    else:
        table = document["aggregates"]["regions"][head["region"]]
    cell = table[head["metric"]]
    assert (cell["value"], cell["n"], cell["ci"]) == (head["value"], head["n"], head["ci"])


@pytest.mark.parametrize("folder", [BENCHMARKS, REPOSITORY / "evaluation" / "bundles"])
def test_vessel_ct_checks_and_its_code_is_never_run(folder: Path, tmp_path: Path) -> None:
    """MB-009, MB-045: it loads, and `score` says which code would have to run."""
    bundle, data, predictions = folder / "vessel_ct", tmp_path / "data", tmp_path / "predictions"
    made = medotter("bundle", "dummy", BENCHMARKS / "vessel_ct", "--out", data, "--predictions", predictions)
    assert made.exit_code == 0, made.output
    checked = medotter("bundle", "check", bundle, "--data-root", data, "--json")
    assert checked.exit_code == 0, checked.stdout
    codes = [issue["code"] for issue in json.loads(checked.stdout)["issues"]]
    assert codes.count("bundle-code") == 2
    for more, code in (((), "bundle-code-untrusted"), (("--trust-bundle-code",), "bundle-code-sandbox")):
        refused = medotter("score", bundle, predictions, "--data-root", data, "--json", *more)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert f"error[{code}]" in refused.stderr
        assert "remap.py" in refused.stderr
        assert "scoring.py" in refused.stderr
    assert not list(bundle.rglob("__pycache__"))


def test_a_shipped_bundle_ranks_a_better_prediction_higher(tmp_path: Path) -> None:
    """The references themselves score 1, the generated predictions less, an emptied folder 0."""
    bundle, data, predictions = (
        BENCHMARKS / "nucleus_instance_2d",
        tmp_path / "data",
        tmp_path / "predictions",
    )
    medotter("bundle", "dummy", bundle, "--out", data, "--predictions", predictions)
    values = [headline(bundle, predictions, data)]
    manifest = json.loads((bundle / "manifest_test.json").read_text())
    for case_id in manifest["test"]:
        written = predictions / f"{case_id}.png"
        reference = data / manifest["per_case"][case_id]["seg"]
        written.unlink()
        shutil.copy(reference, written.with_suffix(reference.suffix))
    values.append(headline(bundle, predictions, data))
    for case_id in manifest["test"][1:]:
        next((predictions / case_id).parent.glob(f"{Path(case_id).name}.*")).unlink()
    values.append(headline(bundle, predictions, data))
    good, perfect, lost = values
    assert lost < good < perfect == 1


def headline(bundle: Path, predictions: Path, data: Path) -> float:
    done = medotter("score", bundle, predictions, "--data-root", data, "--jobs", 1, "--json")
    assert done.exit_code == 0, done.output
    value: float = json.loads(done.stdout)["headline"]["value"]
    return value
