"""Cohorts: the fixed order of rules and pick, strata, matching, refusals with counts, the flow."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from recipe_builders import CREATININE, TinyRelease, lab, patient, release, workspace, write_label

from medomni.core.names import Pair
from medomni.studio.definitions.library import Library
from medomni.studio.definitions.templates import Cohort, Template, read_cohort, read_template
from medomni.studio.draw import Row, draw, quantile_edges, reference
from medomni.studio.errors import CohortError
from medomni.studio.flow import flow_svg, flow_table, shown_steps
from medomni.studio.recipe.model import Label
from medomni.studio.recipe.parser import parse_expression, parse_ref
from medomni.studio.select import Selection, select

PAIR = Pair("mimic-iv_it", "demo")
HEAD = (
    "label: it\nversion: 1\nrequires: {releases: [mimic-iv/demo-2.2, mimic-iv/3.1, mimic-iv/dummy-1]}\n"
    "question: High?\ntype: binary\n"
)
BODY = (
    CREATININE
    + """
index: {time: trigger, side: before}
windows:
  past:
    {start: NULL, end: trigger, start_inclusive: true, end_inclusive: false, agg: {seen: count(creatinine)}}
where: [{known: "seen >= 1"}]
where_outcome: [{plausible: "trigger.value < 50"}]
value: "trigger.value >= 2"
"""
)
COHORT: dict[str, Any] = {
    "cohort": "demo", "version": 1, "release": "mimic-iv/demo-2.2", "unit": "subject_id",
    "pick": {"per": "subject_id", "order": "hash"}, "n": "all", "order": "hash",
}  # fmt: skip
TEMPLATE: dict[str, Any] = {
    "template_id": "mimic-iv_it", "dataset": "mimic-iv",
    "authors": [{"name": "MedOmni team", "github": "medomni"}],
    "targets": [{"name": "high", "label": "it", "metric": "auc"}],
    "input": {"tables": ["hosp.labevents"]},
    "agent": {
        "statement": "High?", "instruction": "Now.",
        "environment": {
            "cpus": 1, "memory_mb": 512, "internet": False,
            "agent_timeout_sec": 60, "verifier_timeout_sec": 60,
        },
        "submission_path": "/workspace/answer.json",
    },
}  # fmt: skip


def prepared(
    tmp_path: Path,
    cohort: dict[str, Any] | None = None,
    *,
    body: str = BODY,
    head: str = HEAD,
    metric: str = "auc",
) -> tuple[Library, Template, Cohort]:
    library = workspace(tmp_path)
    write_label(library, body, head=head)
    folder = library.workspace.template("mimic-iv", "mimic-iv_it")
    (folder / "cohorts").mkdir(parents=True)
    template = {**TEMPLATE, "targets": [{**TEMPLATE["targets"][0], "metric": metric}]}
    (folder / "template.yaml").write_text(yaml.safe_dump(template))
    (folder / "cohorts" / "demo.yaml").write_text(yaml.safe_dump({**COHORT, **(cohort or {})}))
    label = library.label("it").label
    return library, read_template(library, "mimic-iv_it"), read_cohort(library, PAIR, label)


def test_preferred_fractions_are_read_as_decimals(tmp_path: Path) -> None:
    _, _, cohort = prepared(tmp_path, {"prefer": {"column": "seen", "order": [0.1, 2, "x"]}})
    assert cohort.prefer == ("seen", (Decimal("0.1"), 2, "x"))


def tiny(
    library: Library, rows: Sequence[dict[str, Any]], people: Sequence[int], token: str = "mimic-iv/demo-2.2"
) -> TinyRelease:
    plain = release(library.label("it"), hosp__labevents=rows, hosp__patients=[patient(n) for n in people])
    return TinyRelease(plain.rows, plain.definitions, token=token)


def run(
    tmp_path: Path,
    rows: Sequence[dict[str, Any]],
    people: Sequence[int],
    *,
    release_class: str = "demo",
    **more: Any,
) -> Selection:
    library, template, cohort = prepared(tmp_path, **more)
    store = tiny(library, rows, people, cohort.release)
    return select(store, library, PAIR, template, cohort, release_class=release_class)


def measured(subject: int, *values: str) -> list[dict[str, Any]]:
    return [
        lab(100 * subject + n, f"2150-01-{n:02} 00:00:00", value, subject_id=subject)
        for n, value in enumerate(values, start=1)
    ]


def test_the_pick_is_the_lowest_hash_of_the_documented_text(tmp_path: Path) -> None:
    people = range(1, 13)
    rows = [row for n in people for row in measured(n, *(["1", "3"] * 4))]
    found = run(tmp_path, rows, people)
    for atom in found.atoms:
        mine = [row for row in rows if row["subject_id"] == atom.subject][1:]
        texts = {
            hashlib.sha256(
                "|".join(
                    [
                        *("mimic-iv_it", "demo", "v1", str(atom.subject)),
                        *(row["charttime"].replace(" ", "T"), str(row["labevent_id"])),
                    ]
                ).encode()
            ).hexdigest(): row
            for row in mine
        }
        picked = texts[min(texts)]
        assert atom.key == str(picked["labevent_id"])
        assert atom.value == int(Decimal(picked["valuenum"]) >= 2)
    assert [atom.subject for atom in found.atoms] == list(people)


def test_a_picked_event_that_fails_an_outcome_rule_drops_the_patient(tmp_path: Path) -> None:
    """Another of the patient's events is not taken: the future would choose the moment."""
    people = range(1, 31)
    rows = [row for n in people for row in measured(n, "1", "99", "1", "3")]
    found = run(tmp_path, rows, people)
    counts = {(step.step, step.rule): (step.people_before, step.people_after) for step in found.steps}
    before, after = counts["where_outcome", "plausible"]
    assert before == 30
    assert 0 < after < 30
    assert len(found.atoms) == after
    assert counts["draw", "n: all"] == (after, after)


def test_steps_count_events_and_people_in_the_fixed_order(tmp_path: Path) -> None:
    rows = [*measured(1, "1", "1"), *measured(2, "1", "3", "3"), *measured(3, "1")]
    found = run(tmp_path, rows, [1, 2, 3])
    told = [
        (s.step, s.rule, s.events_before, s.events_after, s.people_before, s.people_after)
        for s in shown_steps(found)
    ]
    assert told == [
        ("candidates", "creatinine", 6, 6, 3, 3),
        ("where", "known", 6, 3, 3, 2),
        ("pick", "one event per patient", 3, 2, 2, 2),
        ("where_outcome", "plausible", 2, 2, 2, 2),
        ("draw", "n: all", 2, 2, 2, 2),
    ]
    assert found.reference == {"high": {"eligible_n": 2, "share": {"0": 0.5, "1": 0.5}}}


def test_an_empty_cohort_tells_the_counts_of_every_rule(tmp_path: Path) -> None:
    with pytest.raises(CohortError, match="no eligible patient") as caught:
        run(tmp_path, measured(1, "1"), [1])
    assert caught.value.code == "cohort-empty"
    assert "where known: 0 events, 0 people" in caught.value.hint


def test_a_cohort_of_one_class_is_refused_where_scores_count(tmp_path: Path) -> None:
    rows = [*measured(1, "1", "1"), *measured(2, "1", "1")]
    with pytest.raises(CohortError, match="every eligible patient") as caught:
        run(tmp_path, rows, [1, 2], release_class="real")
    assert caught.value.code == "cohort-one-class"
    (tmp_path / "demo").mkdir()
    assert "only one class" in run(tmp_path / "demo", rows, [1, 2]).warnings[0]


@pytest.mark.parametrize(
    ("release_class", "token", "enough"),
    [("dummy", "mimic-iv/dummy-1", True), ("real", "mimic-iv/3.1", False)],
)
def test_a_short_stratum_is_refused_and_a_real_release_needs_three_times_as_many(
    tmp_path: Path, release_class: str, token: str, enough: bool
) -> None:
    rows = [row for n in range(1, 5) for row in measured(n, "1", "1" if n % 2 else "3")]
    cohort = {"release": token, "n": 4, "strata": {"by": "label", "classes": [0, 1], "per": 2}}
    if enough:
        found = run(tmp_path, rows, range(1, 5), release_class=release_class, cohort=cohort)
        assert sorted(atom.stratum for atom in found.atoms) == ["0", "0", "1", "1"]
        return
    with pytest.raises(CohortError, match="0 has 2 of 6, 1 has 2 of 6") as caught:
        run(tmp_path, rows, range(1, 5), release_class=release_class, cohort=cohort)
    assert caught.value.code == "cohort-short-stratum"


def test_the_draw_takes_the_lowest_hashes_of_each_stratum(tmp_path: Path) -> None:
    people = range(1, 41)
    rows = [row for n in people for row in measured(n, "1", "1" if n % 2 else "3")]
    cohort = {"n": 6, "strata": {"by": "label", "classes": [0, 1], "per": 3}}
    found = run(tmp_path, rows, people, cohort=cohort)

    def order(n: int) -> str:
        return hashlib.sha256(f"mimic-iv_it|demo|v1|{n}".encode()).hexdigest()

    expected = sorted(
        sorted((n for n in people if n % 2), key=order)[:3]
        + sorted((n for n in people if not n % 2), key=order)[:3]
    )
    assert [atom.subject for atom in found.atoms] == expected


def test_another_version_draws_others(tmp_path: Path) -> None:
    people = range(1, 61)
    rows = [row for n in people for row in measured(n, "1", "1" if n % 2 else "3")]
    drawn = []
    for version in (1, 2):
        folder = tmp_path / str(version)
        folder.mkdir()
        cohort = {"version": version, "n": 10}
        drawn.append([atom.subject for atom in run(folder, rows, people, cohort=cohort).atoms])
    assert drawn[0] != drawn[1]


def test_matching_pairs_each_positive_with_the_nearest_free_negative(tmp_path: Path) -> None:
    people = range(1, 21)
    rows = []
    for n in people:
        before = ["1"] * (1 + n % 5)
        rows += list(measured(n, *before, "1" if n % 2 else "3"))
    cohort = {
        "n": 4, "strata": {"by": "label", "classes": [0, 1], "per": 2}, "match": {"on": "seen", "caliper": 0},
    }  # fmt: skip
    body = BODY.replace('where: [{known: "seen >= 1"}]', 'where: [{known: "seen >= 1"}, {last: "seen >= 1"}]')
    found = run(tmp_path, rows, people, cohort=cohort, body=body)
    assert sorted(atom.stratum for atom in found.atoms) == ["0", "0", "1", "1"]
    with pytest.raises(CohortError, match="of 2 pairs are within") as caught:
        (tmp_path / "none").mkdir()
        lonely = [
            *measured(1, "1", "3"),
            *measured(2, "1", "3"),
            *measured(3, "1", "1", "1", "1"),
            *measured(4, "1", "1"),
        ]
        shifted = {**cohort, "match": {"on": "far", "caliper": 0}}
        run(
            tmp_path / "none",
            lonely,
            [1, 2, 3, 4],
            cohort=shifted,
            body=BODY.replace("agg: {seen:", "agg: {far: max(creatinine.labevent_id), seen:"),
        )
    assert caught.value.code == "cohort-short-stratum"


def test_the_draw_may_not_read_an_outcome(tmp_path: Path) -> None:
    cohort = {
        "n": 2, "strata": {"by": "label", "classes": [0, 1], "per": 1},
        "match": {"on": "trigger.value", "caliper": 1},
    }  # fmt: skip
    with pytest.raises(CohortError) as caught:
        run(tmp_path, measured(1, "1", "3"), [1], cohort=cohort)
    assert caught.value.code == "recipe-outcome-early"


@pytest.mark.parametrize(
    ("expect", "message"),
    [
        ("{demo: {eligible_min: 3}}", "expects 3 or more"),
        ("{demo: {class_share_min: 0.6}}", "expects a share of 0.6"),
    ],
)
def test_fewer_than_the_label_expects_is_refused(tmp_path: Path, expect: str, message: str) -> None:
    with pytest.raises(CohortError, match=message) as caught:
        run(
            tmp_path,
            [*measured(1, "1", "1"), *measured(2, "1", "3")],
            [1, 2],
            body=f"{BODY}\nexpect: {expect}\n",
        )
    assert caught.value.code == "cohort-eligible"


def test_a_cohort_of_another_release_is_refused(tmp_path: Path) -> None:
    library, template, cohort = prepared(tmp_path)
    store = tiny(library, [], [1], "mimic-iv/3.1")
    with pytest.raises(CohortError) as caught:
        select(store, library, PAIR, template, cohort, release_class="real")
    assert caught.value.code == "cohort-release"


def test_required_families_leave_out_who_has_nothing_of_them_in_time(tmp_path: Path) -> None:
    rows = [*measured(1, "1", "1"), *measured(2, "1", "3"), *measured(3, "1", "1")]
    library, template, cohort = prepared(tmp_path, {"require_families": ["omr", "labs_urine_other"]})
    plain = tiny(library, rows, [1, 2, 3])
    weight = {"seq_num": 1, "result_name": "Weight", "result_value": "1"}
    extra = [
        {"subject_id": 1, "chartdate": "2150-01-01", **weight},
        {"subject_id": 2, "chartdate": "2149-12-01", **weight},
        {"subject_id": 3, "chartdate": "2150-01-02", **weight},
    ]
    store = TinyRelease({**plain.rows, "hosp.omr": extra, "hosp.d_labitems": []}, plain.definitions)
    found = select(store, library, PAIR, template, cohort, release_class="demo")
    assert [atom.subject for atom in found.atoms] == [1, 2]
    assert [(step.step, step.rule, step.people_after) for step in found.steps][-3:] == [
        ("family", "omr", 2), ("family", "labs_urine_other", 2), ("draw", "n: all", 2),
    ]  # fmt: skip
    (tmp_path / "x").mkdir()
    library, template, cohort = prepared(tmp_path / "x", {"require_families": ["nothing"]})
    with pytest.raises(CohortError) as caught:
        select(store, library, PAIR, template, cohort, release_class="demo")
    assert caught.value.code == "cohort-family-unknown"


def test_the_same_cohort_comes_from_one_thread_and_two(tmp_path: Path) -> None:
    people = range(1, 41)
    rows = [row for n in people for row in measured(n, "1", "1" if n % 2 else "3", "2")]
    library, template, cohort = prepared(tmp_path, {"n": 10})
    store = tiny(library, rows, people)
    mixed = TinyRelease(store.rows, store.definitions, shuffled=True)
    one = select(store, library, PAIR, template, cohort, release_class="demo", threads=1)
    two = select(mixed, library, PAIR, template, cohort, release_class="demo", threads=2)
    assert one == two


# The draw alone.


def label(kind: str = "number") -> Label:
    one = parse_expression("1")
    return Label(
        "it", "mimic-iv", 1, ("mimic-iv/demo-2.2",), "How much?", kind, "t", parse_ref("trigger"), False, one,
        classes=("a", "b", "c"),
    )  # fmt: skip


def people(values: Sequence[Any]) -> list[Row]:
    return [
        Row(n, "2150-01-01T00:00:00", str(n), value, f"{n:04}", {"place": n % 3})
        for n, value in enumerate(values)
    ]


def plain_cohort(**more: Any) -> Cohort:
    return Cohort("demo", 1, "mimic-iv/demo-2.2", "subject_id", more.pop("n", 4), **more)


def test_quantiles_part_the_answers_into_equal_bins() -> None:
    assert quantile_edges([5, 1, 4, 2, 3], 5) == [1, 2, 3, 4]
    rows = people([Decimal(n) for n in range(20)])
    found = draw(rows, plain_cohort(n=20, quantiles=5, per=4), label(), release_class="demo", counts="")
    assert [sum(atom.stratum == f"q{k}" for atom in found) for k in range(1, 6)] == [4] * 5
    assert all(atom.stratum == f"q{int(atom.value) // 4 + 1}" for atom in found)


def test_equal_answers_fall_into_one_bin_and_leave_another_short() -> None:
    with pytest.raises(CohortError) as caught:
        draw(people([1] * 8), plain_cohort(n=4, quantiles=2, per=2), label(), release_class="demo", counts="")
    assert caught.value.code == "cohort-short-stratum"


def test_preferred_patients_come_first() -> None:
    cohort = plain_cohort(n=4, prefer=("place", (2, 1)))
    found = draw(people(range(12)), cohort, label(), release_class="demo", counts="")
    assert [atom.subject for atom in found] == [2, 5, 8, 11]


def test_everyone_is_taken_where_n_is_all_and_strata_are_told() -> None:
    found = draw(
        people([0, 2, 1, 0]),
        plain_cohort(n=None, classes=(0, 1)),
        label("ordinal"),
        release_class="demo",
        counts="",
    )
    assert [(atom.subject, atom.stratum) for atom in found] == [(0, "0"), (1, "2"), (2, "1"), (3, "0")]


def test_the_reference_of_numbers_is_quantiles_and_the_error_of_the_median() -> None:
    found = reference(people([1.0, 2.0, 3.0, 10.0, 4.0]), label())
    assert found == {
        "eligible_n": 5, "median": 3.0, "mae_ref": 2.2,
        "quantiles": {"0": 1.0, "20": 2.0, "40": 3.0, "60": 3.0, "80": 4.0, "100": 10.0},
    }  # fmt: skip


# The flow.


def test_the_flow_is_told_as_a_table_and_as_an_accessible_picture(tmp_path: Path) -> None:
    rows = [*measured(1, "1", "1"), *measured(2, "1", "3", "3"), *measured(3, "1")]
    found = run(tmp_path, rows, [1, 2, 3])
    lines = flow_table(found).splitlines()
    assert lines[0].split() == [
        "step",
        "rule",
        "events",
        "people",
        "events",
        "left",
        "out",
        "people",
        "left",
        "out",
    ]
    assert lines[2].split() == ["where", "known", "3", "2", "3", "1"]
    picture = ElementTree.fromstring(flow_svg(found))
    space = "{http://www.w3.org/2000/svg}"
    assert picture.get("role") == "img"
    assert picture.get("aria-labelledby") == "flow-title flow-description"
    assert picture[0].tag == f"{space}title"
    assert picture[0].text == "Flow of mimic-iv_it@demo v1 on mimic-iv/demo-2.2"
    assert "Candidate events: 6 events, 3 people" in str(picture[1].text)
    texts = [each.text for each in picture.iter(f"{space}text")]
    assert "known: 3 events, 1 person" in texts
    assert "2 events, 2 people" in texts
