"""Definition files of the repository with things wrong: every problem at once, with file, line and code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from recipe_builders import TinyRelease, dataset
from studio_builders import content, edit

from medomni.core.errors import MedomniError
from medomni.core.issues import Issue, IssuesError
from medomni.core.names import Pair
from medomni.core.workspace import Workspace
from medomni.studio.definitions.arms import read_arm
from medomni.studio.definitions.families import read_families
from medomni.studio.definitions.labels import read_recipe
from medomni.studio.definitions.library import Library
from medomni.studio.definitions.templates import cohort_names, pair_problems, read_cohort, template_names
from medomni.studio.errors import RecipeError, UnknownDefinitionError
from medomni.studio.partition import partition_problems
from medomni.studio.recipe.events import codes_condition
from medomni.studio.recipe.model import Codes

CKD = "mimic-iv_ckd-staging"


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(content(tmp_path), dataset())


def folder(library: Library, template: str = CKD) -> Path:
    return library.workspace.template("mimic-iv", template)


def cohort_file(library: Library, cohort: str = "n20", template: str = CKD) -> Path:
    return folder(library, template) / "cohorts" / f"{cohort}.yaml"


def told(issues: list[Issue]) -> list[tuple[str, str]]:
    """Code, and file with line, of each."""
    return [(each.code, each.where.rpartition("/")[2].split(",")[0]) for each in issues]


def refused(read: Callable[[], object]) -> list[tuple[str, str]]:
    with pytest.raises(IssuesError) as caught:
        read()
    return told(caught.value.issues)


def line(path: Path, start: str) -> str:
    """File and line of the line that begins so."""
    at = next(
        number for number, text in enumerate(path.read_text().splitlines(), start=1) if text.startswith(start)
    )
    return f"{path.name}:{at}"


def test_every_pair_of_the_repository_is_right(library: Library) -> None:
    pairs = [Pair(name, cohort) for name in template_names(library) for cohort in cohort_names(library, name)]
    assert len(pairs) >= 27
    assert {str(pair): pair_problems(library, pair) for pair in pairs} == {str(pair): [] for pair in pairs}


def test_all_problems_of_a_template_come_at_once(library: Library) -> None:
    path = folder(library) / "template.yaml"
    value = yaml.safe_load(path.read_text())
    value["template_id"] = "mimic-iv_ckd"
    value["targets"] = [
        {"name": "stage", "label": "ckd_g_stage", "metric": "auc"},
        {"name": "stage", "label": "ckd_g_stag", "metric": "qwk"},
    ]
    value["input"] = {"tables": ["hosp.labevents", "hosp.labs"], "families": ["labs_chemistry", "labs"]}
    path.write_text(yaml.safe_dump(value, sort_keys=False))
    found = pair_problems(library, Pair(CKD, "n20"))
    assert [each.code for each in found] == [
        "task-template-name", "template-metric", "template-target", "template-label-unknown",
        "template-table-unknown", "template-family-unknown",
    ]  # fmt: skip
    assert all(each.where.startswith(f"{path}:") for each in found)
    assert "did you mean" in found[3].hint or "there are" in found[3].hint
    assert told(found)[0][1] == line(path, "template_id:")
    assert told(found)[5][1] == f"template.yaml:{path.read_text().splitlines().index('  - labs') + 1}"


def test_a_template_is_refused_with_the_problems_of_its_label(library: Library) -> None:
    label = library.workspace.label("mimic-iv", "ckd_g_stage")
    edit(label, "trigger: creatinine", "trigger: creatinin")
    found = pair_problems(library, Pair(CKD, "n20"))
    assert [each.code for each in found][:2] == ["template-label-invalid", "recipe-predicate-unknown"]
    assert told(found)[1][1] == line(label, "trigger:")
    assert found[1].where.startswith(str(label))


def test_all_problems_of_a_cohort_come_at_once(library: Library) -> None:
    path = cohort_file(library)
    path.write_text(
        "cohort: n21\nversion: 1\nrelease: mimic-iv/dummy-1\nunit: subject_id\n"
        "pick: {per: hadm_id, order: hash}\nstrata:\n  by: label\n  classes: [0, 9]\n  per: 4\n"
        'match: {"on": age, caliper: 1}\nn: 20\norder: hash\n'
    )
    assert told(pair_problems(library, Pair(CKD, "n20"))) == [
        ("cohort-name", "n20.yaml:1"),
        ("cohort-pick", "n20.yaml:5"),
        ("cohort-strata", "n20.yaml:8"),
        ("cohort-draw", "n20.yaml:11"),
        ("cohort-draw", "n20.yaml:10"),
    ]


@pytest.mark.parametrize("cohort", ["n20", "ladder"])
@pytest.mark.parametrize("release", ["mimic-iv/dummy-1", "mimic-iv/demo-2.2"])
def test_cohorts_for_scores_refuse_releases_that_are_not(library: Library, cohort: str, release: str) -> None:
    path = cohort_file(library, cohort)
    edit(path, "release: mimic-iv/3.1", f"release: {release}")
    found = pair_problems(library, Pair(CKD, cohort))
    assert told(found) == [("cohort-release", line(path, "release:"))]
    assert "not for scores" in found[0].what


STRATA = "strata: {by: label, classes: [0, 1, 2, 3, 4], per: 4}"


@pytest.mark.parametrize(
    ("template", "old", "new", "code"),
    [
        # Without strata of both classes there is nothing to match.
        ("mimic-iv_sepsis3", "classes: [0, 1], per: 10", "classes: [1], per: 20", "cohort-draw"),
        ("mimic-iv_sepsis3", "classes: [0, 1], per: 10", "classes: [false, true], per: 10", None),
        ("mimic-iv_sepsis3", "strata: {by: label, classes: [0, 1], per: 10}\n", "", "cohort-draw"),
        # To YAML, false and 0 are two values; a stratum that counts twice would halve the cohort.
        (CKD, STRATA, "strata: {by: label, classes: [0, false, 2, 3, 4], per: 4}", "cohort-strata"),
        (CKD, STRATA, "strata: {by: label, classes: [0, 1, 2, 3, 4], per: 5}", "cohort-draw"),
        (CKD, STRATA, "strata: {by: label, classes: [0, 1, 2, 3, 4]}", "cohort-draw"),
        (CKD, "n: 20", "n: all", "cohort-draw"),
        (CKD, STRATA, "strata: {by: 'quantile(value, 5)', per: 4}", "cohort-strata"),
        ("mimic-iv_length-of-stay", None, "strata: {by: 'quantile(value, 5)', quantile: 5, per: 4}", None),
        ("mimic-iv_length-of-stay", None, "strata: {by: value, quantile: 5, per: 4}", None),
        ("mimic-iv_length-of-stay", None, "strata: {by: 'quantile(value, 5)', quantile: 4}", "cohort-strata"),
        ("mimic-iv_length-of-stay", None, "strata: {by: 'quantile(value, 1)', per: 20}", "cohort-strata"),
        ("mimic-iv_length-of-stay", None, "strata: {by: label, classes: [0, 1], per: 10}", "cohort-strata"),
    ],
)  # fmt: skip
def test_a_draw_that_would_give_another_cohort_than_it_says_is_refused(
    library: Library, template: str, old: str | None, new: str, code: str | None
) -> None:
    path = cohort_file(library, template=template)
    if new.endswith("quantile: 4}"):
        edit(path, "n: 20", "n: all")
    strata = next(each for each in path.read_text().splitlines() if each.startswith("strata:"))
    edit(path, old or strata, new)
    assert {each.code for each in pair_problems(library, Pair(template, "n20"))} == (
        {code} if code else set()
    )


def test_a_greatest_distance_is_the_decimal_that_is_written(library: Library) -> None:
    path = cohort_file(library, template="mimic-iv_sepsis3")
    edit(path, "caliper: 1}", "caliper: 0.3}")
    cohort = read_cohort(
        library, Pair("mimic-iv_sepsis3", "n20"), library.label("sepsis3_onset_12_60h").label
    )
    assert cohort.match is not None
    assert str(cohort.match[1]) == "0.3"


def test_files_that_do_not_exist_are_named_with_those_that_do(library: Library) -> None:
    for ask, known in (
        (lambda: library.label("ckd"), "ckd_g_stage"),
        (lambda: library.recipe("kidney"), "renal"),
        (lambda: pair_problems(library, Pair("mimic-iv_ckd", "n20")), CKD),
        (lambda: pair_problems(library, Pair(CKD, "n21")), "n20"),
        (lambda: read_arm(library.workspace.root / "studio" / "arms" / "none.yaml"), "encoders"),
    ):
        with pytest.raises(UnknownDefinitionError) as caught:
            ask()
        assert caught.value.code == "definition-unknown"
        assert known in caught.value.hint


def readers(library: Library) -> dict[Path, Callable[[], object]]:
    """A file of every kind with what reads it and ends with all its problems."""
    place: Workspace = library.workspace
    arm, families = place.root / "studio" / "arms" / "encoders.yaml", place.recipe("mimic-iv", "families")
    pair = Pair(CKD, "n20")

    def problems() -> None:
        found = pair_problems(library, pair)
        raise IssuesError("the pair is wrong", issues=found)

    return {
        arm: lambda: read_arm(arm),
        families: lambda: read_families(families, library.catalog),
        place.recipe("mimic-iv", "renal"): lambda: read_recipe(place.recipe("mimic-iv", "renal")),
        place.label("mimic-iv", "ckd_g_stage"): lambda: library.label("ckd_g_stage"),
        folder(library) / "template.yaml": problems,
        cohort_file(library): problems,
    }


def test_carriage_returns_are_refused_in_files_of_every_kind(library: Library) -> None:
    for path, read in readers(library).items():
        before = path.read_bytes()
        second = before.index(b"\n", before.index(b"\n") + 1)
        path.write_bytes(before[:second] + b"\r" + before[second:])
        assert refused(read) == [("line-endings", f"{path.name}:2")]
        path.write_bytes(before)
        library._labels.clear()


@pytest.mark.parametrize(
    ("file", "old", "new", "code"),
    [
        ("encoders.yaml", "arm: encoders", "arm: encoder", "arm-name"),
        ("renal.yaml", "recipe: renal", "recipe: kidney", "recipe-name"),
        ("ckd_g_stage.yaml", "label: ckd_g_stage", "label: ckd", "label-name"),
        ("template.yaml", f"template_id: {CKD}", "template_id: mimic-iv_ckd", "task-template-name"),
        ("template.yaml", "dataset: mimic-iv\n", "dataset: vitaldb\n", "task-template-name"),
        ("n20.yaml", "cohort: n20", "cohort: n21", "cohort-name"),
    ],
)
def test_names_must_be_those_of_the_file(library: Library, file: str, old: str, new: str, code: str) -> None:
    path, read = next((path, read) for path, read in readers(library).items() if path.name == file)
    start = new.partition("\n")[0]
    edit(path, old, new)
    assert refused(read) == [(code, line(path, start))]


def test_a_template_outside_its_dataset_is_refused(library: Library) -> None:
    moved = folder(library).with_name("vitaldb_ckd")
    folder(library).rename(moved)
    edit(moved / "template.yaml", f"template_id: {CKD}", "template_id: vitaldb_ckd")
    found = pair_problems(library, Pair("vitaldb_ckd", "n20"))
    assert told(found) == [("task-template-name", line(moved / "template.yaml", "template_id:"))]


# Labels.

LABEL_FAULTS = [
    ("type: ordinal", "type: number", "label-answer"),
    ("[mimic-iv/3.1, mimic-iv/demo-2.2, mimic-iv/dummy-1]", "[vitaldb/1.0.0]", "label-release"),
    ("[mimic-iv/3.1, mimic-iv/demo-2.2, mimic-iv/dummy-1]", "[mimic-iv/4]", "release-unknown"),
    ("imports: [", "imports: [nothing, ", "definition-unknown"),
    ("version: 1\n", "version: 1.5\n", "label-type"),
]


@pytest.mark.parametrize(("old", "new", "code"), LABEL_FAULTS)
def test_a_label_with_one_thing_wrong_is_refused(library: Library, old: str, new: str, code: str) -> None:
    path = library.workspace.label("mimic-iv", "ckd_g_stage")
    edit(path, old, new)
    found = library.label_problems("ckd_g_stage")
    assert code in {each.code for each in found}
    assert all(each.where.startswith(f"{path}:") for each in found)
    assert code in {each for each, _ in refused(lambda: library.label("ckd_g_stage"))}


@pytest.mark.parametrize(
    ("predicate", "code"),
    [
        ("{table: hosp.labs}", "recipe-table-unknown"),
        ("{table: hosp.d_labitems}", "recipe-table-unsuitable"),
        ("{table: hosp.patients}", "recipe-time-missing"),
        ("{table: hosp.labevents, value: valuenum, value_min: 0}", "recipe-predicate"),
        ("{table: hosp.diagnoses_icd, code: {icd10: [N18]}}", "recipe-codes"),
        ("{table: hosp.labevents, value: labevent_id, unit: mg/dL}", "recipe-unit"),
    ],
)
def test_a_predicate_is_refused_with_its_line(library: Library, predicate: str, code: str) -> None:
    path = library.workspace.label("mimic-iv", "ckd_g_stage")
    text = path.read_text()
    assert "\npredicates:" not in text
    path.write_text(text + f"predicates:\n  wrong: {predicate}\n")
    assert told(library.label_problems("ckd_g_stage")) == [(code, line(path, "  wrong:"))]


def test_every_wrong_guard_is_told_with_its_line(library: Library) -> None:
    path = library.workspace.label("mimic-iv", "ckd_g_stage")
    text = path.read_text()
    at = text.index("guards:\n") + len("guards:\n")
    added = [
        ("{table: hosp.labs, where: all}", "recipe-table-unknown"),
        ("{table: [hosp.emar, hosp.labevents], columns: [medication]}", "recipe-column-unknown"),
        ("{table: hosp.labevents, where: {code: {regex: x}}}", "recipe-type"),
        ("{table: hosp.labevents, where: {column: comments, regex: '['}}", "recipe-regex"),
        ("{family: notes_discharg}", "guard-family-unknown"),
    ]
    path.write_text(text[:at] + "".join(f"  - {guard}\n" for guard, _ in added) + text[at:])
    first = text[:at].count("\n") + 1
    assert told(library.label_problems("ckd_g_stage")) == [
        (code, f"{path.name}:{first + index}") for index, (_, code) in enumerate(added)
    ]
    assert library.label_problems("ckd_g_stage")[-1].hint == "did you mean 'notes_discharge'?"
    path.write_text(text[:at] + "  - {family: notes_discharge}\n" + text[at:])
    assert library.label_problems("ckd_g_stage") == []
    path.write_text(text[:at] + "  - {table: hosp.labevents, where: some}\n" + text[at:])
    assert told(library.label_problems("ckd_g_stage")) == [("recipe-guard", f"{path.name}:{first}")]


def test_codes_without_a_single_condition_are_refused(library: Library) -> None:
    """No file can say so, since its schema asks for one; what is made in Python can."""
    with pytest.raises(RecipeError) as caught:
        codes_condition(Codes(), library.catalog.table("hosp.labevents"), library.catalog)
    assert caught.value.code == "recipe-codes-empty"


# Families.


def test_all_problems_of_the_families_come_at_once(library: Library) -> None:
    path = library.workspace.recipe("mimic-iv", "families")
    value = yaml.safe_load(path.read_text())
    value["families"]["omr"] = [
        {"table": "hosp.omr", "rest": True, "code": 1},
        {"table": "hosp.omrs"},
        {"table": "hosp.omr", "other_cols": {"result": "a"}},
    ]
    path.write_text(yaml.safe_dump(value, sort_keys=False))
    found = refused(lambda: read_families(path, library.catalog))
    assert [code for code, _ in found] == ["families-part", "recipe-table-unknown", "recipe-column-unknown"]
    assert [where for _, where in found] == sorted({where for _, where in found})


@pytest.mark.parametrize(
    "parts",
    [
        # Nothing is left for the rest, so that a family would be empty without a word.
        [{"table": "hosp.omr"}, {"table": "hosp.omr", "rest": True}],
        [{"table": "hosp.omr", "other_cols": {"result_name": "eGFR"}}],
        [{"table": "hosp.omr", "rest": True}],
        [],
    ],
)
def test_a_table_is_one_family_or_parts_with_one_rest(library: Library, parts: list[object]) -> None:
    path = library.workspace.recipe("mimic-iv", "families")
    value = yaml.safe_load(path.read_text())
    if parts:
        value["families"]["omr"] = parts
    else:
        del value["families"]["omr"]
    path.write_text(yaml.safe_dump(value))
    assert {code for code, _ in refused(lambda: read_families(path, library.catalog))} == {
        "families-partition"
    }


def test_rows_in_two_families_are_counted(library: Library) -> None:
    path = library.workspace.recipe("mimic-iv", "families")
    value = yaml.safe_load(path.read_text())
    value["families"]["omr"] = [{"table": "hosp.omr", "rest": True}]
    value["families"]["kidney"] = [{"table": "hosp.omr", "other_cols": {"result_name": {"regex": "eGFR"}}}]
    value["families"]["blood"] = [{"table": "hosp.omr", "other_cols": {"result_name": "eGFR (blood)"}}]
    path.write_text(yaml.safe_dump(value))
    families = read_families(path, library.catalog)
    names = ["eGFR (blood)", "eGFR", "Weight", None, "eGFR (blood)"]
    rows = [{"subject_id": 1, "seq_num": at, "result_name": name} for at, name in enumerate(names)]
    store = TinyRelease({"hosp.omr": rows}, library.catalog.tables)
    found = partition_problems(store, families, library.catalog)
    assert [(each.code, each.where, each.what) for each in found] == [
        ("families-overlap", "hosp.omr", "2 rows of hosp.omr are in several families")
    ]
    assert (
        partition_problems(TinyRelease({"hosp.omr": rows[1:4]}, store.definitions), families, library.catalog)
        == []
    )


def test_every_problem_can_be_read_without_the_source(library: Library) -> None:
    """Each has a sentence, and none is a traceback of another library."""
    edit(cohort_file(library), "n: 20", "n: 0.5")
    edit(folder(library) / "template.yaml", "metric: qwk", "metric: accuracy")
    found = pair_problems(library, Pair(CKD, "n20"))
    assert found
    assert all(each.what and "Traceback" not in str(each) for each in found)
    assert issubclass(IssuesError, MedomniError)
