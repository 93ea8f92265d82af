"""Templates whose targets have several labels: one pick for all, and who is eligible is so under all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml
from recipe_builders import CREATININE, RELEASE, TinyRelease, lab, patient, release, workspace, write_label

from medomni.core.issues import IssuesError
from medomni.core.names import Pair
from medomni.studio.definitions.library import Library
from medomni.studio.definitions.templates import Cohort, pair_problems, read_cohort, read_template
from medomni.studio.errors import CohortError, LabelError
from medomni.studio.flow import flow_table
from medomni.studio.labels import label_table
from medomni.studio.select import Selection, select

PAIR = Pair("mimic-iv_two", "demo")
HEAD = f"version: 1\nrequires: {{releases: [{RELEASE}]}}\nquestion: What?\n"
HIGH = f"label: high\n{HEAD}type: binary\n"
LEVEL = f"label: level\n{HEAD}type: number\nunit: mg/dL\nrange: [0, 100]\n"
EARLIER = """
windows:
  past:
    {start: NULL, end: trigger, start_inclusive: true, end_inclusive: false, agg: {seen: count(creatinine)}}
"""
BODIES = {
    "high": CREATININE
    + "index: {time: trigger, side: before}\n"
    + EARLIER
    + 'where: [{known: "seen >= 1"}]\nvalue: "trigger.value >= 2"\n',
    "level": CREATININE
    + "index: {time: trigger, side: before}\n"
    + EARLIER
    + 'where: [{known: "seen <= 3"}]\nwhere_outcome: [{sane: "trigger.value < 50"}]\nvalue: trigger.value\n',
}
COHORT: dict[str, Any] = {
    "cohort": "demo", "version": 1, "release": RELEASE, "unit": "subject_id",
    "pick": {"per": "subject_id", "order": "hash"}, "n": "all", "order": "hash",
}  # fmt: skip
TEMPLATE: dict[str, Any] = {
    "template_id": "mimic-iv_two", "dataset": "mimic-iv", "authors": [{"name": "M", "github": "m"}],
    "targets": [
        {"name": "is_high", "label": "high", "metric": "auc"},
        {"name": "mg_dl", "label": "level", "metric": "mae"},
        {"name": "again", "label": "level", "metric": "mae"},
    ],
    "input": {"tables": ["hosp.labevents"]},
    "agent": {
        "statement": "What?", "instruction": "Now.", "submission_path": "/workspace/answer.json",
        "environment": {
            "cpus": 1, "memory_mb": 512, "internet": False,
            "agent_timeout_sec": 60, "verifier_timeout_sec": 60,
        },
    },
}  # fmt: skip
# Five values of each of twelve people; the fifth has four before it. The last person's are no creatinine.
VALUES = [[f"{(7 * n + 3 * k) % 40 / 10 + 0.5}" for k in range(5)] for n in range(12)] + [["99"] * 5]


def rows_of(values: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    return [
        lab(100 * n + k, f"2150-01-{k + 1:02} 08:00:00", value, subject_id=n + 1)
        for n, line in enumerate(values)
        for k, value in enumerate(line)
    ]


def prepared(
    folder: Path, bodies: Mapping[str, str] = BODIES, cohort: Mapping[str, Any] | None = None
) -> Library:
    library = workspace(folder)
    write_label(library, bodies["high"], name="high", head=HIGH)
    write_label(library, bodies["level"], name="level", head=LEVEL)
    home = library.workspace.template("mimic-iv", PAIR.template)
    (home / "cohorts").mkdir(parents=True)
    (home / "template.yaml").write_text(yaml.safe_dump(TEMPLATE))
    (home / "cohorts" / "demo.yaml").write_text(yaml.safe_dump({**COHORT, **(cohort or {})}))
    return library


def store_of(library: Library, values: Sequence[Sequence[str]] = VALUES) -> TinyRelease:
    people = [patient(n + 1) for n in range(len(values))]
    return release(library.label("level"), hosp__labevents=rows_of(values), hosp__patients=people)


def drawn(library: Library, store: TinyRelease | None = None, **options: Any) -> Selection:
    template = read_template(library, PAIR.template)
    cohort: Cohort = read_cohort(library, PAIR, library.label("high").label)
    found = store or store_of(library)
    return select(found, library, PAIR, template, cohort, release_class="demo", **options)


def digest(text: str) -> str:
    return sha256(f"mimic-iv_two|demo|v1|{text}".encode()).hexdigest()


def by_hand() -> dict[int, tuple[str, int, Decimal]]:
    """Moment and both answers of each patient: of values two to four, the one with the lowest hash."""
    found = {}
    for n, line in enumerate(VALUES, start=1):
        named = {
            k: digest(f"{n}|2150-01-{k + 1:02}T08:00:00|{100 * (n - 1) + k}") for k in range(1, 4)
        }  # `high` asks for one before, `level` for three at most.
        k = min(named, key=lambda each: named[each])
        value = Decimal(line[k])
        if value < 50:
            found[n] = (f"2150-01-{k + 1:02}T08:00:00", int(value >= 2), value)
    return found


@pytest.mark.parametrize("threads", [1, 2])
def test_one_moment_is_picked_for_all_labels(tmp_path: Path, threads: int) -> None:
    selection = drawn(prepared(tmp_path), threads=threads)
    found = {
        each.subject: (each.prediction_time, each.answer("is_high"), each.answer("mg_dl"))
        for each in selection.atoms
    }
    assert found == by_hand()
    assert all(each.answer("again") == each.answer("mg_dl") for each in selection.atoms)
    assert [each.value for each in selection.atoms] == [each.answer("is_high") for each in selection.atoms]


def test_every_rule_of_every_label_is_counted(tmp_path: Path) -> None:
    selection = drawn(prepared(tmp_path))
    told = [(each.step, each.rule, each.events_after, each.people_after) for each in selection.steps]
    assert told == [
        ("candidates", "creatinine", 65, 13),
        ("where", "known", 52, 13),
        ("where", "level: known", 39, 13),
        ("pick", "one event per patient", 13, 13),
        ("where_outcome", "level: sane", 12, 12),
        ("where_outcome", "level: null:value", 12, 12),
        ("draw", "n: all", 12, 12),
    ]
    assert "level: sane" in flow_table(selection)


def test_each_target_is_told_of_its_own_answers(tmp_path: Path) -> None:
    told = drawn(prepared(tmp_path)).reference
    hand = by_hand().values()
    assert told["is_high"]["share"]["1"] == sum(high for _, high, _ in hand) / 12
    assert told["mg_dl"] == told["again"]
    assert told["mg_dl"]["quantiles"]["100"] == max(value for _, _, value in hand)


def test_the_answers_are_those_of_each_label_alone(tmp_path: Path) -> None:
    library = prepared(tmp_path)
    store = store_of(library)
    selection = drawn(library, store)
    for target, name in (("is_high", "high"), ("mg_dl", "level")):
        with label_table(store, library.label(name)) as table:
            alone = {(row[0], row[1].isoformat()): row[2] for row in table.rows()}
        for each in selection.atoms:
            assert each.answer(target) == alone[each.subject, each.prediction_time]


def test_a_label_twice_is_one_label(tmp_path: Path) -> None:
    library = prepared(tmp_path)
    path = library.workspace.template("mimic-iv", PAIR.template) / "template.yaml"
    path.write_text(yaml.safe_dump({**TEMPLATE, "targets": TEMPLATE["targets"][1:]}))
    selection = drawn(library)
    assert [each.rule for each in selection.steps if each.step == "where"] == ["known"]
    assert all(each.answer("mg_dl") == each.answer("again") for each in selection.atoms)


@pytest.mark.parametrize("by", ["quantile(mg_dl, 3)", "quantile(level, 3)"])
def test_strata_may_go_by_another_target(tmp_path: Path, by: str) -> None:
    cohort = {"n": 6, "strata": {"by": by, "per": 2}}
    selection = drawn(prepared(tmp_path, cohort=cohort))
    assert {each.stratum for each in selection.atoms} == {"q1", "q2", "q3"}
    assert [each.value for each in selection.atoms] == [each.answer("mg_dl") for each in selection.atoms]
    assert selection.steps[1].rule == "known"
    assert "high: known" in [each.rule for each in selection.steps]
    highest = [each.answer("mg_dl") for each in selection.atoms if each.stratum == "q3"]
    lowest = [each.answer("mg_dl") for each in selection.atoms if each.stratum == "q1"]
    assert max(lowest) < min(highest)


def test_strata_by_classes_of_a_named_target(tmp_path: Path) -> None:
    cohort = {"n": 4, "strata": {"by": "is_high", "classes": [0, 1], "per": 2}}
    selection = drawn(prepared(tmp_path, cohort=cohort))
    assert sorted(each.stratum for each in selection.atoms) == ["0", "0", "1", "1"]


@pytest.mark.parametrize(
    "strata",
    [
        {"by": "nothing", "classes": [0, 1], "per": 2},
        {"by": "quantile(nothing, 2)", "per": 2},
        {"by": "quantile(is_high, 2)", "per": 2},
        {"by": "mg_dl", "classes": [0, 1], "per": 2},
    ],
)
def test_strata_that_no_target_has_are_refused(tmp_path: Path, strata: dict[str, Any]) -> None:
    library = prepared(tmp_path, cohort={"n": 4, "strata": strata})
    assert "cohort-strata" in {issue.code for issue in pair_problems(library, PAIR)}


OTHERS = {
    "trigger": ("predicates:\n  creatinine: {table: hosp.labevents, code: {any: [50912]}",
                "predicates:\n  creatinine: {table: hosp.labevents, code: {any: [50971]}"),
    "index": ("index: {time: trigger, side: before}", "index: {time: trigger + 1h, side: before}"),
    "side": ("index: {time: trigger, side: before}", "index: {time: trigger + 0h, side: at}"),
}  # fmt: skip


@pytest.mark.parametrize("which", list(OTHERS))
def test_labels_that_are_asked_at_other_moments_are_refused(tmp_path: Path, which: str) -> None:
    old, new = OTHERS[which]
    assert BODIES["level"].count(old) == 1
    library = prepared(tmp_path, {**BODIES, "level": BODIES["level"].replace(old, new)})
    with pytest.raises(IssuesError) as caught:
        read_template(library, PAIR.template)
    assert "template-candidates" in {issue.code for issue in caught.value.issues}


def test_a_predicate_of_another_name_is_the_same_trigger(tmp_path: Path) -> None:
    body = BODIES["level"].replace("creatinine", "measured")
    assert len(drawn(prepared(tmp_path, {**BODIES, "level": body})).atoms) == 12


def test_combined_triggers_are_compared_with_their_parts(tmp_path: Path) -> None:
    def combined(body: str, code: int) -> str:
        both = (
            f"\n  urine: {{table: hosp.labevents, code: {code}}}\n  it: {{expr: 'or(creatinine, urine)'}}\n"
        )
        body = body.replace("value: valuenum}\n", "value: valuenum}" + both)
        return body.replace("trigger: creatinine", "trigger: it").replace("trigger.value", "seen")

    bodies = {name: combined(body, 51082) for name, body in BODIES.items()}
    assert drawn(prepared(tmp_path, bodies)).atoms
    (tmp_path / "other").mkdir()
    library = prepared(tmp_path / "other", {**bodies, "level": combined(BODIES["level"], 51083)})
    assert "template-candidates" in {issue.code for issue in pair_problems(library, PAIR)}


def test_one_class_and_nobody_are_told_of_each_label(tmp_path: Path) -> None:
    library = prepared(tmp_path)
    low = [["0.5", "1.0", "1.5", "0.7", "0.8"]] * 3
    selection = drawn(library, store_of(library, low))
    assert ["'high'" in warning for warning in selection.warnings] == [True]
    with pytest.raises(CohortError) as caught:
        drawn(library, store_of(library, [["99"] * 5]))
    assert caught.value.code == "cohort-empty"


def test_an_impossible_answer_of_the_second_label_is_told(tmp_path: Path) -> None:
    body = BODIES["level"].replace("value: trigger.value", "value: 0 - trigger.value")
    library = prepared(tmp_path, {**BODIES, "level": body})
    with pytest.raises(LabelError, match="'level'") as caught:
        drawn(library)
    assert caught.value.code == "label-value-range"


def test_a_unit_of_the_second_label_is_checked(tmp_path: Path) -> None:
    body = BODIES["level"].replace("value: valuenum}", "value: valuenum}\n  odd: {table: hosp.labevents,"
                                   " value: valuenum, unit: g}")  # fmt: skip
    body = body.replace("agg: {seen:", "agg: {other: count(odd), seen:")
    library = prepared(tmp_path, {**BODIES, "level": body})
    with pytest.raises(LabelError) as caught:
        drawn(library)
    assert caught.value.code == "label-unit"
