"""`medomni studio label|cohort|list` on the imported demo, as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from imported_demo import RELEASE, demo_workspace
from recipe_builders import REPOSITORY
from typer.testing import CliRunner

from medomni.cli import app

# Eligible people, and people in the cohort, of the three first templates.
CKD, MORTALITY, STAY = (
    "mimic-iv_ckd-staging@demo",
    "mimic-iv_in-hospital-mortality@demo",
    "mimic-iv_length-of-stay@demo",
)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory, shared: Path, repository: Path) -> Path:
    return demo_workspace(tmp_path_factory, shared, repository)


def call(workspace: Path, *arguments: str, code: int = 0) -> tuple[str, str]:
    result = CliRunner().invoke(app, ["studio", *arguments, "--workspace", str(workspace)])
    assert result.exit_code == code, result.output
    return result.stdout, result.stderr


def test_the_flow_of_the_demo_has_the_known_numbers(workspace: Path, tmp_path: Path) -> None:
    picture = tmp_path / "flow.svg"
    out, _ = call(workspace, "cohort", "flow", CKD, "--json", "--svg", str(picture))
    document = json.loads(out)
    people = {step["rule"]: step["people_after"] for step in document["steps"]}
    assert people["earlier_value"] == 41
    assert people["icu_now"] == 40
    assert people["history_kidney_transplant"] == 38
    assert people["same_class"] == document["n"] == 30
    assert picture.read_text(encoding="utf-8").startswith("<svg")
    out, err = call(workspace, "cohort", "flow", MORTALITY)
    assert "strata: 0: 78, 1: 8" in out
    assert "note: comfort_measures: mimic-iv/demo-2.2 has no such event" in err
    out, _ = call(workspace, "cohort", "flow", STAY)
    assert "admission" in out


def test_a_table_goes_to_a_file_or_to_stdout(workspace: Path, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    out, err = call(workspace, "label", "table", "remaining_los_days", "--out", str(path), "--threads", "1")
    assert out == ""
    assert "275 candidates of mimic-iv/demo-2.2" in err
    text = path.read_text(encoding="utf-8")
    assert text.startswith("subject_id,prediction_time,value,eligible,")
    out, _ = call(
        workspace, "label", "table", "mimic-iv/remaining_los_days", "--release", RELEASE, "--threads", "2"
    )
    assert out == text


def test_a_patient_is_explained_for_people_and_for_programs(workspace: Path) -> None:
    out, _ = call(workspace, "label", "explain", "ckd_g_stage", "--patient", "10000032")
    assert "not eligible: earlier_value" in out
    assert "week creatinine:" in out
    out, _ = call(workspace, "label", "explain", "ckd_g_stage", "--patient", "10000032", "--json")
    first = json.loads(out)["candidates"][0]
    assert first["prediction_time"] == "2180-03-23T11:51:00"
    assert first["windows"]["week creatinine"] == [
        {"time": "2180-03-23T11:51:00", "value": "0.40000000", "key": first["key"]}
    ]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("label", "table", "ckd_g_stag"), "label-unknown"),
        (("label", "table", "vitaldb/ckd_g_stage"), "label-unknown"),
        (("label", "table", "ckd_g_stage", "--release", "mimic-iv/3.1"), "data-not-imported"),
        (("label", "explain", "ckd_g_stage", "--patient", "1"), "label-patient-unknown"),
        (("cohort", "flow", "mimic-iv_ckd-staging"), "pair-invalid"),
        (("cohort", "flow", "mimic-iv_ckd-staging@nothing"), "definition-unknown"),
        (("cohort", "flow", "mimic-iv_nothing@demo"), "definition-unknown"),
        (("cohort", "flow", "mimic-iv_ckd-staging:full@demo"), "pair-evidence-unbuilt"),
        (("cohort", "flow", "mimic-iv_ckd-staging@n20"), "data-not-imported"),
    ],
)
def test_what_cannot_be_done_ends_with_two_and_a_code(
    workspace: Path, arguments: tuple[str, ...], code: str
) -> None:
    _, err = call(workspace, *arguments, code=2)
    assert err.startswith("error[")
    assert code in err or code == "pair-evidence-unbuilt"


def test_lists_name_what_there_is() -> None:
    out, _ = call(REPOSITORY, "list", "templates", "--json")
    first = json.loads(out)[0]
    assert set(first) == {"template_id", "dataset", "targets", "cohorts", "ladder"}
    assert set(first["targets"][0]) == {"name", "label", "metric"}
    for what, word in (
        ("templates", "mimic-iv_ckd-staging: ckd_g_stage (qwk)"),
        ("cohorts", "mimic-iv_ckd-staging@demo"),
        ("labels", "ckd_g_stage, mimic-iv"),
        ("families", "labs_chemistry, mimic-iv"),
    ):
        assert word in call(REPOSITORY, "list", what)[0]
    call(REPOSITORY, "list", "sets")


def test_a_label_without_an_imported_release_asks_for_an_import(tmp_path: Path, workspace: Path) -> None:
    (tmp_path / "medomni.toml").write_text('release = "0.3.0"\n')
    (tmp_path / "studio").symlink_to(workspace / "studio")
    _, err = call(tmp_path, "label", "table", "ckd_g_stage", code=2)
    assert "error[release-needed]" in err
    assert "data import" in err
