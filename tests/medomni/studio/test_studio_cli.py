"""`medomni studio label|cohort|list` on made-up data: what is printed, how it ends, what errors say."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from itertools import pairwise
from pathlib import Path

import pytest
from imported_demo import demo_workspace
from studio_builders import DUMMY, REPOSITORY, beside, content, dummy_workspace, edit
from typer.testing import CliRunner

from medomni.cli import app
from medomni.core.workspace import Workspace

CKD = "mimic-iv_ckd-staging@dummy"
COMMANDS = [("label",), ("label", "table"), ("label", "explain"), ("cohort",), ("cohort", "flow"), ("list",)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return dummy_workspace(tmp_path_factory)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory, shared: Path, repository: Path) -> Path:
    return demo_workspace(tmp_path_factory, shared, repository)


def call(workspace: Workspace | Path, *arguments: str, code: int = 0) -> tuple[str, str]:
    """What a command prints on stdout and on stderr."""
    root = workspace if isinstance(workspace, Path) else workspace.root
    result = CliRunner().invoke(app, ["studio", *arguments, "--workspace", str(root)])
    assert result.exit_code == code, result.output
    return result.stdout, result.stderr


def test_a_cohort_without_scores_of_one_class_is_shown_with_a_warning(demo: Path, tmp_path: Path) -> None:
    picture = tmp_path / "flow.svg"
    out, err = call(demo, "cohort", "flow", "mimic-iv_sepsis3@demo", "--svg", str(picture))
    assert out.splitlines()[0] == "mimic-iv_sepsis3@demo v1 on mimic-iv/demo-2.2"
    assert out.splitlines()[-1].startswith("strata: 0: ")
    assert "warning: every eligible patient of mimic-iv_sepsis3@demo has the answer 0" in err
    assert "only one class occurs" in err
    assert "only one class" in picture.read_text(encoding="utf-8")
    out, _ = call(demo, "cohort", "flow", "mimic-iv_sepsis3@demo", "--json")
    document = json.loads(out)
    assert document["n"] == document["steps"][-1]["people_after"] > 0
    assert len(document["warnings"]) == 1


def test_a_drawn_cohort_of_one_class_stays_refused(place: Workspace, tmp_path: Path) -> None:
    mine = beside(place, tmp_path / "one")
    edit(mine.label("mimic-iv", "hospital_death"), "\nwhere_outcome:", '\nwhere_outcome:\n  - late: "1 == 1"')
    text = mine.label("mimic-iv", "hospital_death").read_text()
    value = re.search(r"^value: .*$", text, re.MULTILINE)
    assert value is not None
    edit(mine.label("mimic-iv", "hospital_death"), value[0], 'value: "1 == 1"')
    _, err = call(mine, "cohort", "flow", "mimic-iv_in-hospital-mortality@dummy", code=2)
    assert err.startswith("error[cohort-one-class]: ")
    assert "\n  where adult: " in err


@pytest.mark.parametrize("template", ["in-hospital-mortality", "length-of-stay"])
def test_the_flow_adds_up_as_text_and_as_json(place: Workspace, template: str) -> None:
    pair = f"mimic-iv_{template}@dummy"
    out, _ = call(place, "cohort", "flow", pair)
    head, names, *lines, strata = out.splitlines()
    assert head == f"{pair} v1 on {DUMMY}"
    assert names.split()[:2] == ["step", "rule"]
    document = json.loads(call(place, "cohort", "flow", pair, "--json")[0])
    assert (document["pair"], document["version"], document["release"], document["n"]) == (pair, 1, DUMMY, 20)
    assert sum(document["strata"].values()) == 20
    assert strata == "strata: " + ", ".join(f"{name}: {count}" for name, count in document["strata"].items())
    steps = document["steps"]
    for one, other in pairwise(steps):
        assert one["events_after"] == other["events_before"]
        assert one["people_after"] == other["people_before"]
    told = [line.split()[-4:] for line in lines]
    shown = [
        each
        for each in steps
        if not (each["rule"].startswith("null:") and each["events_before"] == each["events_after"])
    ]
    assert [[int(cell) for cell in row[:2]] for row in told] == [
        [each["events_after"], each["people_after"]] for each in shown
    ]


def test_quantiles_are_told_in_their_order(place: Workspace, tmp_path: Path) -> None:
    mine = beside(place, tmp_path / "many")
    path = mine.template("mimic-iv", "mimic-iv_length-of-stay") / "cohorts" / "dummy.yaml"
    strata = next(line for line in path.read_text().splitlines() if line.startswith("strata:"))
    edit(path, strata, "strata: {by: value, quantile: 10, per: 2}")
    document = json.loads(call(mine, "cohort", "flow", "mimic-iv_length-of-stay@dummy", "--json")[0])
    assert document["strata"] == {f"q{part}": 2 for part in range(1, 11)}
    out, _ = call(mine, "cohort", "flow", "mimic-iv_length-of-stay@dummy")
    assert "q9: 2, q10: 2" in out


def test_a_flow_is_the_same_picture_each_time(place: Workspace, tmp_path: Path) -> None:
    one, two = tmp_path / "one.svg", tmp_path / "two.svg"
    call(place, "cohort", "flow", CKD, "--svg", str(one), "--threads", "1")
    call(place, "cohort", "flow", CKD, "--svg", str(two), "--threads", "2")
    assert one.read_bytes() == two.read_bytes()
    _, err = call(place, "cohort", "flow", CKD, "--svg", str(tmp_path / "no" / "flow.svg"), code=2)
    assert err.rpartition("note: ")[2].count("error[") == 1


def test_a_table_has_every_candidate_once_and_its_rules(place: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    out, err = call(place, "label", "table", "aki_stage_48h", "--out", str(path))
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    assert out == ""
    assert err.endswith(f"{path}: {len(rows)} candidates of {DUMMY}\n")
    assert list(rows[0])[:4] == ["subject_id", "prediction_time", "value", "eligible"]
    rules = list(rows[0])[4:]
    for row in rows:
        assert {row[name] for name in (*rules, "eligible")} <= {"true", "false"}
        assert (row["eligible"] == "true") == all(row[name] == "true" for name in rules)
    keys = [(int(row["subject_id"]), row["prediction_time"]) for row in rows]
    assert keys == sorted(keys)
    out, _ = call(place, "label", "table", "mimic-iv/aki_stage_48h", "--release", DUMMY, "--threads", "1")
    assert out == path.read_text(encoding="utf-8")


def test_an_explanation_agrees_with_the_table(place: Workspace) -> None:
    table, _ = call(place, "label", "table", "ckd_g_stage")
    rows = list(csv.DictReader(io.StringIO(table)))
    patient = next(row["subject_id"] for row in rows if row["eligible"] == "true")
    mine = [row for row in rows if row["subject_id"] == patient]
    out, _ = call(place, "label", "explain", "ckd_g_stage", "--patient", patient, "--json")
    document = json.loads(out)
    assert (document["label"], document["release"]) == ("ckd_g_stage", DUMMY)
    assert [each["prediction_time"] for each in document["candidates"]] == [
        row["prediction_time"] for row in mine
    ]
    for each, row in zip(document["candidates"], mine, strict=True):
        assert each["eligible"] == (row["eligible"] == "true")
        assert all(truth == (row[name] == "true") for name, truth in each["rules"].items())
    out, _ = call(place, "label", "explain", "ckd_g_stage", "--patient", patient)
    assert out.startswith(f"ckd_g_stage v1 on {DUMMY}, patient {patient}\n")
    assert out.count("eligible") >= len(mine)


# Lists.


def test_lists_are_the_same_for_people_and_for_programs(tmp_path: Path) -> None:
    sizes = {}
    for what in ("templates", "labels", "families"):
        document = json.loads(call(REPOSITORY, "list", what, "--json")[0])
        lines = call(REPOSITORY, "list", what)[0].splitlines()
        assert len(lines) == len(document)
        assert all(next(iter(each.values())) in line for each, line in zip(document, lines, strict=True))
        sizes[what] = len(document)
    assert sizes["templates"] >= 9
    assert sizes["labels"] >= 9
    (tmp_path / "medomni.toml").write_text('release = "0.3.0"\n')
    assert call(tmp_path, "list", "templates", "--json")[0].strip() == "[]"


def test_a_list_names_what_is_wrong_instead_of_leaving_it_out(tmp_path: Path) -> None:
    mine = content(tmp_path)
    edit(mine.label("mimic-iv", "ckd_g_stage"), "type: ordinal", "type: number")
    _, err = call(mine, "list", "labels", code=2)
    assert "error[label-answer]" in err
    assert "ckd_g_stage.yaml:" in err


# Errors.


@pytest.mark.parametrize(
    ("arguments", "code", "hint"),
    [
        (("label", "table", "ckd_g_stag"), "label-unknown", "did you mean 'ckd_g_stage'?"),
        (("label", "explain", "ckd_g_stage", "--patient", "7"), "label-patient-unknown", ""),
        (("label", "table", "ckd_g_stage", "--release", "mimic-iv/3.1"), "data-not-imported", "import"),
        (("label", "table", "ckd_g_stage", "--release", "dummy"), "", ""),
        (("cohort", "flow", "mimic-iv_ckd-staging@n20"), "data-not-imported", "import"),
        (("cohort", "flow", "mimic-iv_ckd-staging@n21"), "definition-unknown", "there are: "),
        (("cohort", "flow", "mimic-iv_ckd@dummy"), "definition-unknown", "there are: "),
        (("cohort", "flow", "ckd@dummy"), "", ""),
        (("cohort", "flow", "mimic-iv_ckd-staging"), "pair-invalid", ""),
    ],
)
def test_errors_say_what_and_what_to_do_in_three_lines(
    place: Workspace, arguments: tuple[str, ...], code: str, hint: str
) -> None:
    out, err = call(place, *arguments, code=2)
    lines = err.splitlines()
    assert out == ""
    assert len(lines) <= 3
    assert re.match(r"error\[[a-z]+(-[a-z]+)+\]: ", lines[0])
    assert code in lines[0]
    assert hint in lines[-1]
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "arguments", [("list", "rows"), ("label", "explain", "ckd_g_stage"), ("cohort", "flow")]
)
def test_a_command_that_is_written_wrongly_ends_with_two(
    place: Workspace, arguments: tuple[str, ...]
) -> None:
    _, err = call(place, *arguments, code=2)
    assert "Usage: " in err


def test_a_release_must_be_named_where_there_are_several_or_none(place: Workspace, tmp_path: Path) -> None:
    none = content(tmp_path / "none")
    _, err = call(none, "label", "table", "ckd_g_stage", code=2)
    assert err.startswith("error[release-needed]: no release is imported")
    assert "data import" in err
    (none.imported(DUMMY)).mkdir(parents=True)
    (none.imported("mimic-iv/demo-2.2")).mkdir(parents=True)
    _, err = call(none, "label", "table", "ckd_g_stage", code=2)
    assert err.startswith(
        "error[release-needed]: several releases are imported: mimic-iv/demo-2.2, mimic-iv/dummy-1"
    )
    assert err.splitlines()[-1] == "hint: name one with --release"


def test_a_label_of_two_datasets_must_be_named_with_one(place: Workspace, tmp_path: Path) -> None:
    mine = beside(place, tmp_path / "two")
    shutil.copytree(mine.dataset("mimic-iv"), mine.dataset("other"))
    _, err = call(mine, "label", "table", "ckd_g_stage", code=2)
    assert err.splitlines() == [
        "error[label-ambiguous]: several datasets have a label 'ckd_g_stage'",
        "hint: write one of mimic-iv/ckd_g_stage, other/ckd_g_stage",
    ]
    call(mine, "label", "table", "mimic-iv/ckd_g_stage", "--out", str(tmp_path / "table.csv"))


def test_a_unit_that_the_label_does_not_know_is_refused(place: Workspace, tmp_path: Path) -> None:
    mine = beside(place, tmp_path / "unit")
    path = mine.recipe("mimic-iv", "renal")
    edit(path, "unit: mg/dL", "unit: umol/L")
    _, err = call(mine, "label", "table", "ckd_g_stage", code=2)
    assert err.startswith("error[label-unit]: values of 'creatinine' have other units than allowed: 'mg/dL'")


def test_answers_outside_the_range_are_refused(place: Workspace, tmp_path: Path) -> None:
    mine = beside(place, tmp_path / "range")
    path = mine.label("mimic-iv", "remaining_los_days")
    bounds = next(line for line in path.read_text().splitlines() if line.startswith("range:"))
    edit(path, bounds, "range: [0, 0.5]")
    _, err = call(mine, "label", "table", "remaining_los_days", code=2)
    assert err.startswith("error[label-value-range]: ")


def test_a_label_that_is_not_for_a_release_is_refused(place: Workspace, tmp_path: Path) -> None:
    mine = beside(place, tmp_path / "release")
    path = mine.label("mimic-iv", "ckd_g_stage")
    edit(path, "mimic-iv/demo-2.2, mimic-iv/dummy-1]", "mimic-iv/demo-2.2]")
    _, err = call(mine, "label", "table", "ckd_g_stage", "--release", DUMMY, code=2)
    assert err.startswith("error[label-release]: ")
    _, err = call(mine, "cohort", "flow", CKD, code=2)
    assert "error[cohort-release]" in err


# Help.


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(command: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, ["studio", *command, "--help"])
    assert result.exit_code == 0
    assert "Example: medomni studio " in result.stdout


def test_the_examples_of_the_help_name_what_there_is() -> None:
    names = {each["pair"] for each in json.loads(call(REPOSITORY, "list", "cohorts", "--json")[0])} | {
        each["label"] for each in json.loads(call(REPOSITORY, "list", "labels", "--json")[0])
    }
    for command in COMMANDS:
        text = " ".join(CliRunner().invoke(app, ["studio", *command, "--help"]).stdout.split())
        example = text.partition("Example: medomni studio ")[2].split()
        if example[0] in ("label", "cohort"):
            assert example[2] in names
