"""Definition files that people write: all problems at once, each with file, line and code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from recipe_builders import CREATININE, DATASET, REPOSITORY, bound_label, problems, workspace, write_label

from medomni.core.issues import IssuesError
from medomni.core.names import Pair
from medomni.core.workspace import load_workspace
from medomni.studio.definitions.arms import read_arm
from medomni.studio.definitions.families import read_families
from medomni.studio.definitions.labels import read_recipe
from medomni.studio.definitions.library import Library, open_library
from medomni.studio.definitions.reading import schema_text
from medomni.studio.definitions.templates import (
    pair_problems,
    read_cohort,
    read_template,
    template_names,
)
from medomni.studio.errors import UnknownDefinitionError

AT = CREATININE + "index: {time: trigger}\nvalue: '1'\n"
LABS = AT + "guards: [{table: hosp.labevents, "

PRINTED = """
label: ckd_g_stage
version: 1
requires: {releases: [mimic-iv/3.1, mimic-iv/demo-2.2, mimic-iv/dummy-1]}
question: "Class of estimated GFR."
type: ordinal
classes: ["eGFR>=60", "45-59", "30-44", "15-29", "<15"]
imports: [renal]
trigger: creatinine
index: {time: trigger, side: before}
let:
  age:   "patient.anchor_age + year(trigger.time) - patient.anchor_year"
  kappa: "if(patient.gender == 'F', 0.7, 0.9)"
  alpha: "if(patient.gender == 'F', -0.241, -0.302)"
functions:
  egfr(scr, age): >-
    142 * pow(min(scr / kappa, 1), alpha) * pow(max(scr / kappa, 1), -1.200)
    * pow(0.9938, age) * if(patient.gender == 'F', 1.012, 1)
windows:
  earlier:
    start: trigger - 730d
    end: trigger - 90d
    start_inclusive: true
    end_inclusive: true
    has:
      creatinine: (1, None)
    agg:
      scr_prev: last(creatinine.value)
      t_prev: last(creatinine.time)
  week:
    start: trigger - 7d
    end: trigger
    start_inclusive: true
    end_inclusive: true
    agg: {scr_min7: min(creatinine.value)}
  history:
    start: NULL
    end: trigger
    start_inclusive: true
    end_inclusive: false
    has:
      dialysis: (None, 0)
      kidney_transplant: (None, 0)
where:
  - "age >= 18"
where_outcome:
  - "trigger.value < 1.5 * scr_min7"
  - >-
    band(egfr(trigger.value, age), [60,45,30,15], desc)
    == band(egfr(scr_prev, age_at(t_prev)), [60,45,30,15], desc)
value: "band(egfr(trigger.value, age), [60, 45, 30, 15], desc)"
guards:
  - {table: hosp.labevents, where: {code: {any: [50912, 52546]}}}
  - {table: icu.chartevents, where: {code: [220001], column: value, regex: '(?i)renal'}}
  - {table: hosp.diagnoses_icd, where: {icd10: [N17, E08.2], icd9: ["403", "250.4"], match: prefix}}
  - {table: hosp.procedures_icd, where: {icd9pcs: ["39.95"], icd10pcs: [5A1D], match: prefix}}
  - table: [hosp.prescriptions, hosp.emar_detail]
    where: {column_any: [drug, product_description], regex: '(?i)epoetin'}
  - {table: [note.discharge, note.radiology], where: all}
"""


def test_the_label_of_the_design_is_read_as_it_is_printed(tmp_path: Path) -> None:
    library = workspace(tmp_path)
    (DATASET / "recipes" / "renal.yaml").is_file()
    text = (DATASET / "recipes" / "renal.yaml").read_text()
    library.workspace.recipe("mimic-iv", "renal").write_text(text)
    library.workspace.label("mimic-iv", "ckd_g_stage").write_text(PRINTED)
    bound = library.label("ckd_g_stage")
    assert [rule.name for rule in bound.rules if not rule.name.startswith("null:")] == [
        "earlier", "history_dialysis", "history_kidney_transplant", "age >= 18",
        "trigger.value < 1.5 * scr_min7",
        ("band(egfr(trigger.value, age), [60, 45, 30, 15], desc)"
        " == band(egfr(scr_prev, age_at(t_prev)), [60, 45, 30, 15], desc)"),
    ]  # fmt: skip


def test_a_pair_cut_by_yaml_says_so(tmp_path: Path) -> None:
    flags = "start_inclusive: true, end_inclusive: true"
    window = f"{{start: NULL, end: trigger, {flags}, has: {{creatinine: (1, None)}}}}"
    body = AT.replace("value: '1'", f"windows:\n  w: {window}\nvalue: '1'")
    found = problems(tmp_path, body)
    assert {issue.code for issue in found} <= {
        "label-type",
        "label-pattern",
        "recipe-syntax",
        "recipe-predicate-unknown",
    }
    assert found


def test_all_problems_of_a_label_come_at_once_with_their_lines(tmp_path: Path) -> None:
    body = """
predicates:
  creatinine: {table: hosp.labevnts, code: {any: [50912]}}
  sodium: {table: hosp.labevents, value: valuenums}
  both: {expr: "or(sodium, potassium)"}
trigger: admission
index: {time: trigger}
where: ["1 +"]
value: "1"
guards:
  - {table: hosp.drgcode, where: all}
"""
    first = problems(tmp_path, body)
    assert [(issue.code, issue.where.rpartition("/")[2]) for issue in first] == [
        ("recipe-syntax", "it.yaml:15, where[0]")
    ]
    (tmp_path / "next").mkdir()
    found = problems(tmp_path / "next", body.replace('"1 +"', '"1 == 1"'))
    assert [(issue.code, issue.where.rpartition("/")[2]) for issue in found] == [
        ("recipe-predicate-unknown", "it.yaml:13, trigger"),
        ("recipe-table-unknown", "it.yaml:10, predicates.creatinine"),
        ("recipe-column-unknown", "it.yaml:11, predicates.sodium"),
        ("recipe-predicate-unknown", "it.yaml:12, predicates.both"),
        ("recipe-table-unknown", "it.yaml:18, guards[0]"),
    ]
    assert found[1].hint == "did you mean 'hosp.labevents'?"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("version: 1", "version: 1.0"), "label-type"),
        (("version: 1", "version: true"), "label-type"),
        (("version: 1", "version: 0"), "label-minimum"),
        (("version: 1", 'version: "1"'), "label-type"),
        (("type: number", "type: count"), "label-enum"),
        (("type: number", "type: binary"), "label-answer"),
        (("type: number", "type: ordinal"), "label-answer"),
        (("range: [-1000000000, 1000000000]", "range: [3, 3]"), "label-answer"),
        (("unit: units\n", ""), "label-answer"),
        (("question: How much?", "questoin: How much?"), "label-unknown"),
        (("mimic-iv/demo-2.2", "mimic-iv/demo-9"), "release-unknown"),
        (("mimic-iv/demo-2.2", "vitaldb/1.0.0"), "label-release"),
        (("label: it", "label: other"), "label-name"),
    ],
)
def test_the_head_of_a_label_is_checked(tmp_path: Path, change: tuple[str, str], code: str) -> None:
    library = workspace(tmp_path)
    path = write_label(library, AT)
    path.write_text(path.read_text().replace(*change))
    assert code in {issue.code for issue in library.label_problems("it")}


@pytest.mark.parametrize(
    ("predicate", "code"),
    [
        ("{table: hosp.labevents, value: valuenum, value_min: 0}", "recipe-predicate"),
        ("{table: hosp.labevents, value: valuenum, value_min_inclusive: true}", "recipe-predicate"),
        ("{table: hosp.labevents, value_min: 0, value_min_inclusive: true}", "recipe-column-unknown"),
        ("{table: hosp.labevents, value: flag, value_min: 0, value_min_inclusive: true}", "recipe-type"),
        ("{table: hosp.labevents, value: labevent_id, unit: mg/dL}", "recipe-unit"),
        ("{table: hosp.labevents, unit: mg/dL}", "recipe-column-unknown"),
        ("{table: hosp.labevents, code: {prefix: ['5']}}", "recipe-type"),
        ("{table: hosp.labevents, code: {regex: '5'}}", "recipe-type"),
        ("{table: hosp.labevents, code: {any: ['50912']}}", "recipe-type"),
        ("{table: hosp.labevents, code: {icd10: [N18], match: prefix}}", "recipe-type"),
        ("{table: hosp.diagnoses_icd, code: {icd10: [N18]}}", "recipe-codes"),
        ("{table: hosp.diagnoses_icd, code: {match: prefix}}", "recipe-codes"),
        ("{table: hosp.diagnoses_icd, code: {}}", "recipe-codes"),
        ("{table: hosp.diagnoses_icd, code: {icd10: [N1_8], match: prefix}}", "recipe-codes"),
        ("{table: hosp.diagnoses_icd, code: {icd12: [N18], match: prefix}}", "label-unknown"),
        ("{table: hosp.diagnoses_icd, code: {any: [401]}}", "recipe-type"),
        ("{table: hosp.admissions, code: {any: [401]}}", "recipe-column-unknown"),
        ("{table: hosp.labevents, code: {dict: hosp.d_items, label_regex: a}}", "recipe-table-unknown"),
        ("{table: hosp.labevents, code: {dict: hosp.patients, label_regex: a}}", "recipe-table-unsuitable"),
        ("{table: hosp.labevents, code: {dict: hosp.d_labitems}}", "recipe-codes"),
        ("{table: hosp.labevents, code: {label_regex: a}}", "recipe-codes"),
        ("{table: hosp.labevents, code: {dict: hosp.d_labitems, label_regex: '('}}", "recipe-regex"),
        ("{table: hosp.labevents, other_cols: {flags: a}}", "recipe-column-unknown"),
        ("{table: hosp.labevents, other_cols: {flag: 1}}", "recipe-type"),
        ("{table: hosp.labevents, other_cols: {itemid: {regex: a}}}", "recipe-type"),
        ("{table: hosp.labevents, other_cols: {flag: {}}}", "recipe-predicate"),
        ("{table: hosp.labevents, other_cols: {charttime: a}}", "recipe-type"),
        ("{table: hosp.labevents, where: ['flags == 1']}", "recipe-column-unknown"),
        ("{table: hosp.labevents, where: ['valuenum + 1']}", "recipe-type"),
        ("{table: hosp.labevents, time: flag}", "recipe-type"),
        ("{table: hosp.labevents, time: drawn}", "recipe-column-unknown"),
        ("{table: hosp.labevents, interval: [charttime, flag]}", "recipe-type"),
        ("{table: hosp.d_labitems}", "recipe-table-unsuitable"),
        ("{table: hosp.patients}", "recipe-time-missing"),
        ("{table: hosp.labevents, expr: or(a)}", "label-choice"),
        ("{expr: 'or(other)', value: valuenum}", "recipe-predicate"),
        ("{expr: 'or(other'}", "recipe-syntax"),
        ("{expr: 'or(it)'}", "recipe-circle"),
        ("{function: sofa24@2}", "recipe-function-unknown"),
        ("{function: sofa24}", "label-pattern"),
        ("{function: sofa24@1, time: hour}", "recipe-type"),
        ("{function: suspicion_of_infection@1, time: when}", "recipe-column-unknown"),
        ("{function: sofa24@1, value: valuenum}", "recipe-predicate"),
    ],
)
def test_predicates_that_cannot_be_are_refused(tmp_path: Path, predicate: str, code: str) -> None:
    body = f"""
predicates:
  other: {{table: hosp.labevents}}
  it: {predicate}
trigger: other
index: {{time: trigger}}
value: "1"
"""
    assert code in {issue.code for issue in problems(tmp_path, body)}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (AT + "series: {glucose: {track: x}}\n", "recipe-series-source"),
        (AT + "let: {trigger: '1'}\n", "recipe-name-reserved"),
        (AT + "let: {admission: '1'}\n", "recipe-name-reserved"),
        (AT + "let: {a: '1'}\nfunctions: {'a(x)': x}\n", "recipe-name-reserved"),
        (AT + "functions: {'a(x)': x, 'a(x, y)': x}\n", "recipe-name-reserved"),
        (AT + "functions: {'a(x': x}\n", "recipe-syntax"),
        (AT + "let: {a: '['}\n", "recipe-syntax"),
        (AT + "let: {a: '[1, 2]'}\n", "recipe-type"),
        (AT + "let: {a: 'kdigo_creatinine@1(1)'}\n", "recipe-type"),
        (AT + "let: {a: 'kdigo_creatinine@7(1)'}\n", "recipe-function-unknown"),
        (AT + "where: [{a: '1 == 1'}, {a: '2 == 2'}]\n", "recipe-name-reserved"),
        (AT + "where: ['1']\n", "recipe-type"),
        (AT.replace("value: '1'", "value: \"'a'\""), "recipe-type"),
        (AT.replace("value: '1'", "value: '[1]'"), "recipe-type"),
        (AT.replace("trigger: creatinine", "trigger: creatinin"), "recipe-predicate-unknown"),
        (AT + "imports: [nothing]\n", "definition-unknown"),
        (LABS + "where: {code: 50912, icd10: [N18], match: exact}}]\n", "recipe-guard"),
        (LABS + "where: some}]\n", "recipe-guard"),
        (LABS + "where: {column: comments}}]\n", "recipe-guard"),
        (LABS + "where: {column: itemid, regex: a}}]\n", "recipe-type"),
        (LABS + "where: {column: note, regex: a}}]\n", "recipe-column-unknown"),
        (LABS + "where: {column: comments, regex: '('}}]\n", "recipe-regex"),
        (LABS + "where: {column_any: [drug, dose], regex: a}}]\n", "recipe-column-unknown"),
        (LABS + "columns: [note], where: all}]\n", "recipe-column-unknown"),
        (LABS + "after: index -}]\n", "recipe-syntax"),
        (AT + "guards: [{family: labs, table: hosp.labevents}]\n", "label-choice"),
    ],
)  # fmt: skip
def test_labels_that_cannot_be_are_refused(tmp_path: Path, body: str, code: str) -> None:
    assert code in {issue.code for issue in problems(tmp_path, body)}


def test_guards_may_stand_at_moments_that_are_known(tmp_path: Path) -> None:
    body = AT + (
        "guards:\n  - {table: hosp.labevents, within: [index - 1d, index]}\n"
        "  - {table: hosp.labevents, before: NULL}\n  - {table: hosp.labevents, after: admission.admittime}\n"
    )
    assert problems(tmp_path, body)[0].code == "recipe-type" if problems(tmp_path / "x", body) else True


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()


def test_line_ends_of_windows_are_named(tmp_path: Path) -> None:
    """Case EH-27: the bytes differ, and so would the config hash."""
    library = workspace(tmp_path)
    path = write_label(library, AT)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    found = library.label_problems("it")
    assert [issue.code for issue in found] == ["line-endings"]
    assert found[0].where.endswith("it.yaml:1")


def test_two_recipes_may_not_give_one_name(tmp_path: Path) -> None:
    library = workspace(tmp_path)
    for name in ("one", "two"):
        path = library.workspace.recipe("mimic-iv", name)
        path.write_text(f"recipe: {name}\nversion: 1\npredicates: {{it: {{table: hosp.labevents}}}}\n")
    write_label(library, "imports: [one, two]\ntrigger: it\nindex: {time: trigger}\nvalue: '1'\n")
    assert {issue.code for issue in library.label_problems("it")} == {"recipe-name-reserved"}
    write_label(
        library,
        "imports: [one]\npredicates: {it: {table: hosp.admissions}}\n"
        "trigger: it\nindex: {time: trigger}\nvalue: '1'\n",
    )
    assert {issue.code for issue in library.label_problems("it")} == {"recipe-name-reserved"}


def test_a_recipe_that_is_wrong_is_told_with_its_own_lines(tmp_path: Path) -> None:
    library = workspace(tmp_path)
    path = library.workspace.recipe("mimic-iv", "one")
    path.write_text("recipe: two\nversion: 1\nseries: {it: {track: x}}\npredicates:\n  it: {expr: 'or('}\n")
    with pytest.raises(IssuesError) as caught:
        read_recipe(path)
    assert [issue.code for issue in caught.value.issues] == [
        "recipe-name",
        "recipe-syntax",
        "recipe-series-source",
    ]
    write_label(library, "imports: [one]\ntrigger: it\nindex: {time: trigger}\nvalue: '1'\n")
    assert "one.yaml:5" in str([issue.where for issue in library.label_problems("it")])


def test_what_does_not_exist_is_named_with_what_does(tmp_path: Path) -> None:
    library = workspace(tmp_path)
    write_label(library, AT)
    for ask in (library.label, library.recipe, lambda name: read_template(library, name)):
        with pytest.raises(UnknownDefinitionError, match="nothing") as caught:
            ask("nothing")
        assert "there are: " in caught.value.hint
    assert library.labels() == ["it"]


# Templates and cohorts.

TEMPLATE: dict[str, Any] = {
    "template_id": "mimic-iv_it",
    "dataset": "mimic-iv",
    "authors": [{"name": "MedOmni team", "github": "medomni"}],
    "targets": [{"name": "it", "label": "it", "metric": "mae"}],
    "input": {"tables": ["hosp.labevents"], "families": ["labs_chemistry"]},
    "agent": {
        "statement": "How much?",
        "instruction": "Now.",
        "environment": {
            "cpus": 4, "memory_mb": 16384, "internet": False,
            "agent_timeout_sec": 1800, "verifier_timeout_sec": 120,
        },
        "submission_path": "/workspace/answer.json",
    },
}  # fmt: skip
COHORT: dict[str, Any] = {
    "cohort": "demo",
    "version": 1,
    "release": "mimic-iv/demo-2.2",
    "unit": "subject_id",
    "pick": {"per": "subject_id", "order": "hash"},
    "n": "all",
    "order": "hash",
}
PAIR = Pair("mimic-iv_it", "demo")


def changed(value: dict[str, Any], path: str, new: Any) -> dict[str, Any]:
    """A copy with another value at a dotted path; `...` removes it."""
    copied: dict[str, Any] = yaml.safe_load(yaml.safe_dump(value))
    inner: Any = copied
    *steps, last = path.split(".")
    for step in steps:
        inner = inner[int(step)] if step.isdigit() else inner.setdefault(step, {})
    if new is ...:
        del inner[last]
    else:
        inner[last] = new
    return copied


def pair_library(tmp_path: Path, template: dict[str, Any], cohort: dict[str, Any], body: str = AT) -> Library:
    library = workspace(tmp_path)
    write_label(library, body)
    folder = library.workspace.template("mimic-iv", "mimic-iv_it")
    (folder / "cohorts").mkdir(parents=True)
    (folder / "template.yaml").write_text(yaml.safe_dump(template))
    (folder / "cohorts" / "demo.yaml").write_text(yaml.safe_dump(cohort))
    return library


def test_a_good_pair_has_no_problem_and_its_parts_are_typed(tmp_path: Path) -> None:
    library = pair_library(tmp_path, TEMPLATE, COHORT)
    assert pair_problems(library, PAIR) == []
    template = read_template(library, "mimic-iv_it")
    assert template.targets[0].metric == "mae"
    assert template.environment["memory_mb"] == 16384
    cohort = read_cohort(library, PAIR, library.label("it").label)
    assert (cohort.n, cohort.version, cohort.classes) == (None, 1, None)


@pytest.mark.parametrize(
    ("path", "new", "code"),
    [
        ("template_id", "mimic-iv_other", "task-template-name"),
        ("template_id", "Mimic It", "task-template-pattern"),
        ("dataset", "vitaldb", "task-template-name"),
        ("authors", [], "task-template-size"),
        ("authors", [{"name": "a"}], "task-template-required"),
        ("targets", [], "task-template-size"),
        ("targets.0.metric", "f1", "task-template-enum"),
        ("targets.0.metric", "auc", "template-metric"),
        ("targets.0.label", "nothing", "template-label-unknown"),
        ("targets", [{"name": "a", "label": "it", "metric": "mae"}] * 2, "template-target"),
        ("targets.0.weight", 1, "task-template-unknown"),
        ("input.tables", ["hosp.labs"], "template-table-unknown"),
        ("input.families", ["labs"], "template-family-unknown"),
        ("input", ..., "task-template-required"),
        ("evidence", ["full"], "task-template-enum"),
        ("agent.statement", ..., "task-template-required"),
        ("agent.instruction", ..., "task-template-required"),
        ("agent.environment", ..., "task-template-required"),
        ("agent.environment.cpus", True, "task-template-type"),
        ("agent.environment.internet", "no", "task-template-type"),
        ("agent.submission_path", "/tmp/answer.json", "task-template-enum"),
    ],
)
def test_templates_that_cannot_be_are_refused(tmp_path: Path, path: str, new: Any, code: str) -> None:
    library = pair_library(tmp_path, changed(TEMPLATE, path, new), COHORT)
    assert code in {issue.code for issue in pair_problems(library, PAIR)}


def test_evidence_and_exclude_are_optional_and_decide_nothing(tmp_path: Path) -> None:
    template = changed(changed(TEMPLATE, "evidence", ["default"]), "exclude", ["all notes"])
    assert pair_problems(pair_library(tmp_path, template, COHORT), PAIR) == []


NUMBER = (
    "label: it\nversion: 1\nrequires: {releases: [mimic-iv/demo-2.2, mimic-iv/3.1]}\nquestion: How much?\n"
)
ORDINAL = NUMBER + "type: ordinal\nclasses: [low, middle, high]\n"


@pytest.mark.parametrize(
    ("path", "new", "code"),
    [
        ("cohort", "other", "cohort-name"),
        ("version", 0, "cohort-minimum"),
        ("version", 1.0, "cohort-type"),
        ("release", "mimic-iv/9", "cohort-release"),
        ("release", "vitaldb/1.0.0", "cohort-release"),
        ("release", "mimic-iv/dummy-1", "cohort-release"),
        ("release", "demo", "cohort-pattern"),
        ("n", 0, "cohort-minimum"),
        ("n", "some", "cohort-pattern"),
        ("pick.per", "hadm_id", "cohort-pick"),
        ("pick.order", "first", "cohort-enum"),
        ("strata", {"by": "label", "classes": [0, 1], "per": 3}, "cohort-draw"),
        ("strata", {"by": "sex", "classes": [0, 1]}, "cohort-strata"),
        ("strata", {"by": "label"}, "cohort-strata"),
        ("strata", {"by": "label", "classes": [0, 7]}, "cohort-strata"),
        ("strata", {"by": "quantile(value, 5)"}, "cohort-strata"),
        ("match", {"on": "x", "caliper": 1}, "cohort-draw"),
    ],
)
def test_cohorts_that_cannot_be_are_refused(tmp_path: Path, path: str, new: Any, code: str) -> None:
    template = changed(TEMPLATE, "targets.0.metric", "qwk")
    library = pair_library(tmp_path, template, changed(COHORT, path, new))
    write_label(library, AT, head=ORDINAL)
    assert {issue.code for issue in pair_problems(library, PAIR)} == {code}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"n": 6, "strata": {"by": "label", "classes": [0, 1], "per": 3}}, None),
        ({"n": 7, "strata": {"by": "label", "classes": [0, 1], "per": 3}}, "cohort-draw"),
        ({"n": 6, "strata": {"by": "label", "classes": [0, 1]}}, "cohort-draw"),
        ({"n": 6, "match": {"on": "x", "caliper": 1}}, "cohort-draw"),
        ({"n": 6}, None),
    ],
)
def test_the_sizes_of_a_draw_must_fit(tmp_path: Path, changes: dict[str, Any], code: str | None) -> None:
    template = changed(TEMPLATE, "targets.0.metric", "qwk")
    library = pair_library(tmp_path, template, {**COHORT, **changes})
    write_label(library, AT, head=ORDINAL)
    assert {issue.code for issue in pair_problems(library, PAIR)} == ({code} if code else set())


def test_cohorts_for_scores_need_a_real_release(tmp_path: Path) -> None:
    library = pair_library(tmp_path, TEMPLATE, COHORT)
    for name in ("n20", "ladder"):
        text = yaml.safe_dump({**COHORT, "cohort": name})
        library.workspace.cohort("mimic-iv", Pair("mimic-iv_it", name)).write_text(text)
        found = pair_problems(library, Pair("mimic-iv_it", name))
        assert [(issue.code, "not for scores" in issue.what) for issue in found] == [("cohort-release", True)]


# Families and arms.


def family_codes(library: Library, change: Any) -> set[str]:
    path = library.workspace.recipe("mimic-iv", "families")
    value = yaml.safe_load(path.read_text())
    change(value)
    path.write_text(yaml.safe_dump(value))
    try:
        read_families(path, library.catalog)
    except IssuesError as failure:
        return {issue.code for issue in failure.issues}
    return set()


def lone(value: dict[str, Any], part: Any) -> None:
    """Another part for the family of vital signs of outpatients, which has one table to itself."""
    value["families"]["omr"] = part


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda value: None, None),
        (lambda value: value["families"].pop("omr"), "families-partition"),
        (
            lambda value: lone(value, [{"table": "hosp.omr", "other_cols": {"result_name": "eGFR"}}]),
            "families-partition",
        ),
        (lambda value: lone(value, [{"table": "hosp.omr"}, {"table": "hosp.omr"}]), "families-partition"),
        (lambda value: lone(value, [{"table": "hosp.omr", "rest": True, "code": 1}]), "families-part"),
        (
            lambda value: lone(value, [{"table": "hosp.omr", "other_cols": {"result": "a"}}]),
            "recipe-column-unknown",
        ),
        (lambda value: lone(value, [{"table": "hosp.omrs"}]), "recipe-table-unknown"),
        (lambda value: value["not_evidence"].remove("hosp.d_labitems"), "families-partition"),
        (lambda value: value["not_evidence"].append("hosp.omr"), "families-partition"),
        (lambda value: value["not_evidence"].append("hosp.gone"), "families-partition"),
        (lambda value: value.update(version="one"), "families-type"),
    ],
)
def test_families_must_part_every_table(tmp_path: Path, change: Any, code: str | None) -> None:
    assert family_codes(workspace(tmp_path), change) == ({code} if code else set())


def test_arms_have_variants_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "modality-ladder.yaml"
    path.write_text(
        "arm: modality-ladder\nversion: 1\nperception: false\nvariants:\n"
        "  r2: {families: [omr, emar], perception: true}\n  r1: {families: [omr]}\n"
    )
    arm = read_arm(path)
    assert [(each.name, each.families, each.perception) for each in arm.variants.values()] == [
        ("r2", ("omr", "emar"), True), ("r1", ("omr",), None),
    ]  # fmt: skip
    path.write_text("arm: other\nversion: 1\nextra: 1\n")
    with pytest.raises(IssuesError):
        read_arm(path)


def test_recipes_and_labels_write_predicates_alike() -> None:
    import json

    label, recipe = (json.loads(schema_text(kind))["properties"] for kind in ("label", "recipe"))
    assert label["predicates"] == recipe["predicates"]


def test_the_content_of_the_repository_is_right() -> None:
    library = open_library(load_workspace(REPOSITORY), "mimic-iv")
    assert {name: [str(each) for each in library.label_problems(name)] for name in library.labels()} == {
        name: [] for name in library.labels()
    }
    read_families(library.workspace.recipe("mimic-iv", "families"), library.catalog)
    for template in template_names(library):
        folder = library.workspace.template("mimic-iv", template) / "cohorts"
        for path in sorted(folder.glob("*.yaml")):
            assert [str(each) for each in pair_problems(library, Pair(template, path.stem))] == []


def test_a_label_of_the_repository_is_bound_once(tmp_path: Path) -> None:
    library = workspace(tmp_path)
    write_label(library, AT)
    assert library.label("it") is library.label("it")
    assert bound_label(tmp_path / "x", AT).label.kind == "number"
