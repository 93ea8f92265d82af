"""`task check`: a pair's files, all problems at once, before anything is built."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from release_builders import LADDER, STAGE, mini
from studio_builders import REPOSITORY, edit
from typer.testing import CliRunner

from medomni.cli import app
from medomni.core.workspace import Workspace
from medomni.studio.checking.pair import Checker

CKD, CKD_LADDER = "mimic-iv_ckd-staging@n20", "mimic-iv_ckd-staging@ladder"


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    return mini(tmp_path / "w")


def command(place: Workspace, *arguments: str) -> tuple[int, str]:
    given = ["studio", "task", "check", *arguments, "--workspace", str(place.root)]
    result = CliRunner().invoke(app, given)
    return result.exit_code, result.output


def codes(place: Workspace, pair: str = STAGE) -> list[str]:
    return [issue.code for issue in Checker(place).check(pair).issues]


def test_good_pairs_pass_part_by_part() -> None:
    given = ["studio", "task", "check", CKD, CKD_LADDER, "--workspace", str(REPOSITORY)]
    result = CliRunner().invoke(app, given)
    out = result.output
    assert result.exit_code == 0
    assert f"{CKD}: ok\n  template: ok (mimic-iv_ckd-staging)\n  cohort: ok (v1 on mimic-iv/3.1)\n" in out
    assert "  recipes: ok (tables, families, renal, stays)\n" in out
    assert "  arms: ok (encoders, no-perception)\n" in out
    assert "  arms: ok (encoders, modality-ladder, no-perception)\n" in out
    assert "  build: not checked (no data)\n" in out


def test_a_build_may_be_required(place: Workspace) -> None:
    code, out = command(place, STAGE, "--require-build", "--json")
    document = json.loads(out)
    assert code == 1
    (pair,) = document["pairs"]
    assert pair["parts"]["build"] == {"state": "not checked (no data)", "told": ""}
    assert [issue["code"] for issue in pair["issues"]] == ["build-missing"]


def test_problems_of_every_part_are_told_at_once_with_file_and_line(place: Workspace) -> None:
    folder = place.template("mini", "mini_stage")
    edit(folder / "template.yaml", "metric: qwk", "metric: auc")
    edit(place.label("mini", "stage"), "table: core.events,", "table: core.event,")
    edit(folder / "cohorts" / "n20.yaml", "order: hash\n", "order: luck\n")
    edit(place.recipe("mini", "families"), "  events: [{table: core.events}]\n", "")
    edit(folder / "arms" / "modality-ladder.yaml", "arm: modality-ladder", "arm: ladder")
    edit(place.arm("encoders"), "perception: true", "perception: maybe")
    code, out = command(place, LADDER, STAGE)
    assert code == 1
    first = Checker(place).check(LADDER)
    found = {issue.code: issue.where for issue in first.issues}
    assert found["recipe-table-unknown"].startswith("studio/datasets/mini/labels/stage.yaml:")
    assert found["families-partition"].startswith("studio/datasets/mini/recipes/families.yaml:")
    assert found["arm-name"].startswith(f"{place.relative(folder)}/arms/modality-ladder.yaml:1")
    assert found["arm-type"].startswith("studio/arms/encoders.yaml:")
    assert found["template-label-invalid"].startswith(f"{place.relative(folder)}/template.yaml:")
    states = {part.name: part.state for part in first.parts}
    assert states == {
        "template": "wrong", "cohort": "ok", "labels": "wrong", "recipes": "wrong", "arms": "wrong",
        "build": "not checked (no data)",
    }  # fmt: skip
    assert "error[cohort-enum]" in out
    assert f"{STAGE}: wrong" in out


@pytest.mark.parametrize(
    ("pair", "code", "part"),
    [
        ("mini_stage:full@n20", "evidence-variant-unsupported", "pair"),
        ("mini_stage", "pair-invalid", "pair"),
        ("mini@n20", "template-without-dataset", "pair"),
        ("other_ckd@n20", "dataset-unknown", "dataset"),
        ("mini_gone@n20", "definition-unknown", "template"),
        ("mini_stage@gone", "definition-unknown", "cohort"),
    ],
)
def test_what_does_not_exist_is_wrong_and_no_usage_error(
    place: Workspace, pair: str, code: str, part: str
) -> None:
    check = Checker(place).check(pair)
    assert code in [issue.code for issue in check.issues]
    assert next(each for each in check.parts if each.name == part).state == "wrong"
    status, out = command(place, pair)
    assert status == 1
    assert f"error[{code}]" in out


def test_the_refusal_of_the_full_record_says_why(place: Workspace) -> None:
    _, out = command(place, "mini_stage:full@n20")
    assert "v0.3.0 builds only 'default'" in out
    assert "hint: use mini_stage@n20" in out


@pytest.mark.parametrize("arguments", [(), (STAGE, "--release"), ("--release", "--require-build")])
def test_a_malformed_command_line_is_a_usage_error(place: Workspace, arguments: tuple[str, ...]) -> None:
    assert command(place, *arguments)[0] == 2


def test_a_folder_without_workspace_is_wrong(tmp_path: Path) -> None:
    given = ["studio", "task", "check", STAGE, "--workspace", str(tmp_path)]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 1
    assert "error[workspace-not-found]" in result.stderr


@pytest.mark.parametrize("file", ["arm", "recipe", "cohort", "tables"])
def test_windows_line_ends_are_named_as_that(place: Workspace, file: str) -> None:
    path = {
        "arm": place.arm("no-perception"),
        "recipe": place.recipe("mini", "events"),
        "cohort": place.template("mini", "mini_stage") / "cohorts" / "n20.yaml",
        "tables": place.recipe("mini", "tables"),
    }[file]
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    found = [issue for issue in Checker(place).check(STAGE).issues if issue.code == "line-endings"]
    assert [issue.where for issue in found] == [f"{place.relative(path)}:1"]


def test_rungs_name_known_families_and_only_grow(place: Workspace) -> None:
    path = place.template("mini", "mini_stage") / "arms" / "modality-ladder.yaml"
    text = path.read_text()
    edit(path, "families: [demographics]", "families: [other, gone]")
    check = Checker(place).check(LADDER)
    assert {issue.code for issue in check.issues} == {"arm-family-unknown", "arm-rung-shrinks"}
    assert any("does not show other, gone" in issue.what for issue in check.issues)
    assert codes(place, STAGE) == []
    path.write_text(text)
    assert codes(place, LADDER) == []


def test_required_families_exist(place: Workspace) -> None:
    path = place.template("mini", "mini_stage") / "cohorts" / "ladder.yaml"
    edit(path, "require_families: [events]", "require_families: [event]")
    assert codes(place, LADDER) == ["cohort-family-unknown"]


def test_tables_that_evidence_cannot_show_are_wrong(place: Workspace) -> None:
    edit(place.recipe("mini", "tables"), "    timeless: true\n", "")
    assert "evidence-time-missing" in codes(place)


def test_a_missing_label_or_recipe_file_is_told_once(place: Workspace) -> None:
    place.recipe("mini", "events").unlink()
    found = codes(place)
    assert len(found) == len(set(found))
    assert "template-label-invalid" in found


def test_unreadable_yaml_in_every_file_ends_in_issues(place: Workspace) -> None:
    folder = place.template("mini", "mini_stage")
    for path in (
        folder / "template.yaml",
        folder / "cohorts" / "ladder.yaml",
        folder / "arms" / "modality-ladder.yaml",
        place.label("mini", "stage"),
        place.recipe("mini", "families"),
    ):
        before = path.read_text()
        path.write_text("a: [1\n", encoding="utf-8")
        assert "document-syntax" in codes(place, LADDER), path
        path.write_text(before)
    place.recipe("mini", "tables").write_text("a: [1\n")
    check = Checker(place).check(LADDER)
    assert [part.name for part in check.parts] == ["dataset"]
    assert not check.ok
