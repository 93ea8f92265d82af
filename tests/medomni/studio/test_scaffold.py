"""`studio new`: files that load at once, tell what to fill in, and never take another file's place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from release_builders import mini
from typer.testing import CliRunner

from medomni.cli import app
from medomni.core.workspace import Workspace
from medomni.studio.checking.pair import Checker


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    return mini(tmp_path / "w")


def new(place: Workspace, *arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["studio", "new", *arguments, "--workspace", str(place.root)])
    assert result.exit_code == code, result.output
    return result.output


def codes(place: Workspace, pair: str) -> set[str]:
    return {issue.code for issue in Checker(place).check(pair).issues}


def fill_in(place: Workspace) -> None:
    """What an author does, with words that say nothing."""
    for path in place.datasets.rglob("*.yaml"):
        text = path.read_text(encoding="utf-8")
        if "FILL IN" in text:
            path.write_text(text.replace("FILL IN", "Words"), encoding="utf-8")


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("binary", ()),
        ("ordinal", ("--class", "none", "--class", "some: more", "--class", 'a "third"')),
        ("number", ("--unit", "days", "--range", "0", "99.5")),
    ],
)
def test_a_task_of_every_type_loads_and_asks_for_nothing_but_its_words(
    place: Workspace, kind: str, options: tuple[str, ...]
) -> None:
    told = new(place, "label", "odd", "--dataset", "mini", "--trigger", "event", "--type", kind, *options)
    assert "studio/datasets/mini/labels/odd.yaml" in told
    new(place, "template", "mini_odd", "--label", "odd")
    new(place, "cohort", "dummy", "--template", "mini_odd", "--release", "mini/dummy-1", "--n", "60")
    new(place, "cohort", "demo", "--template", "mini_odd", "--release", "mini/demo-1", "--n", "all")
    new(place, "cohort", "n20", "--template", "mini_odd", "--release", "mini/1.0")
    for cohort in ("dummy", "demo", "n20"):
        assert codes(place, f"mini_odd@{cohort}") == {"definition-unfinished"}
    where = [issue.where for issue in Checker(place).check("mini_odd@n20").issues]
    folder = "studio/datasets/mini/tasks/mini_odd"
    assert f"{folder}/template.yaml:3, authors[0].name" in where
    assert "studio/datasets/mini/labels/odd.yaml:4, question" in where
    fill_in(place)
    assert codes(place, "mini_odd@n20") == set()
    notes = [
        path.read_text().count("Not for scores") for path in (place.root / folder).glob("cohorts/*.yaml")
    ]
    assert sorted(notes) == [0, 1, 1]


def test_a_dataset_loads_with_a_first_task(place: Workspace) -> None:
    options = ("--title", 'My: "data"', "--release", "1.0", "--class", "demo", "--access", "open")
    new(place, "dataset", "my-data", *options, "--licence", "CC0 1.0")
    new(place, "label", "odd", "--dataset", "my-data", "--trigger", "event")
    new(place, "template", "my-data_odd", "--label", "odd", "--author", "A", "--github", "a")
    new(place, "cohort", "all", "--template", "my-data_odd", "--release", "my-data/1.0", "--n", "all")
    assert codes(place, "my-data_odd@all") == {"definition-unfinished"}
    where = [issue.where for issue in Checker(place).check("my-data_odd@all").issues]
    assert any(each.startswith("studio/datasets/my-data/dataset.yaml:") for each in where)
    fill_in(place)
    assert codes(place, "my-data_odd@all") == set()


def test_files_that_are_there_are_never_replaced(place: Workspace) -> None:
    label = place.label("mini", "stage")
    before = label.read_bytes()
    told = new(place, "label", "stage", "--dataset", "mini", "--trigger", "event", code=2)
    assert "error[scaffold-exists]" in told
    assert label.read_bytes() == before
    # Of several files, none is written if one is there.
    folder = place.template("mini", "mini_odd")
    folder.mkdir()
    (folder / "README.md").write_text("mine")
    new(place, "template", "mini_odd", "--label", "stage", code=2)
    assert [path.name for path in folder.iterdir()] == ["README.md"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("label", "odd", "--dataset", "mini", "--trigger", "even"), "scaffold-trigger-unknown"),
        (("label", "Odd!", "--dataset", "mini", "--trigger", "event"), "name-invalid"),
        (("label", "odd", "--dataset", "gone", "--trigger", "x"), "dataset-unknown"),
        (("template", "mini_odd", "--label", "gone"), "definition-unknown"),
        (("template", "odd", "--label", "stage"), "template-without-dataset"),
        (("template", "mini_UP", "--label", "stage"), "name-invalid"),
        (("cohort", "x", "--template", "mini_days", "--release", "mini/9"), "release-unknown"),
        (("cohort", "x", "--template", "mini_gone", "--release", "mini/1.0"), "definition-unknown"),
        (("dataset", "my_data", "--title", "T", "--release", "1"), "dataset-name-underscore"),
        (("dataset", "..", "--title", "T", "--release", "1"), "name-invalid"),
        (("dataset", "mini", "--title", "T", "--release", "1"), "scaffold-exists"),
    ],
)
def test_what_cannot_be_begun_is_refused(place: Workspace, arguments: tuple[str, ...], code: str) -> None:
    assert f"error[{code}]" in new(place, *arguments, code=2)


@pytest.mark.parametrize(
    "arguments",
    [
        ("label", "odd", "--dataset", "mini", "--trigger", "event", "--type", "number"),
        ("label", "odd", "--dataset", "mini", "--trigger", "event", "--type", "ordinal"),
        ("label", "odd", "--dataset", "mini", "--trigger", "event", "--unit", "days"),
        ("template", "mini_odd", "--label", "stage", "--author", "A"),
        ("cohort", "x", "--template", "mini_days", "--release", "mini/1.0", "--n", "0"),
        ("cohort", "x", "--template", "mini_days", "--release", "mini/1.0", "--n", "some"),
    ],
)
def test_options_that_do_not_fit_are_usage_errors(place: Workspace, arguments: tuple[str, ...]) -> None:
    assert "Usage:" in new(place, *arguments, code=2)


def test_a_range_that_does_not_rise_or_one_class_is_refused_before_writing(place: Workspace) -> None:
    base = ("label", "odd", "--dataset", "mini", "--trigger", "event", "--type")
    assert "label-size" in new(place, *base, "ordinal", "--class", "one", code=2)
    assert "label-type" in new(place, *base, "number", "--unit", "d", "--range", "a", "b", code=2)
    assert not place.label("mini", "odd").exists()


def test_strata_that_do_not_divide_are_left_to_the_author(place: Workspace) -> None:
    new(place, "cohort", "seven", "--template", "mini_days", "--release", "mini/1.0", "--n", "7")
    text = (place.template("mini", "mini_days") / "cohorts" / "seven.yaml").read_text()
    assert "strata" not in text
    options = ("--template", "mini_days", "--release", "mini/1.0", "--n", "10", "--per")
    told = new(place, "cohort", "ten", *options, "2", "--json")
    assert json.loads(told) == {"files": ["studio/datasets/mini/tasks/mini_days/cohorts/ten.yaml"]}
    assert codes(place, "mini_days@ten") == set()
    assert "5 strata of 5 are not 10" in new(place, "cohort", "other", *options, "5", code=2)
