"""Cohorts of the made-up release against a draw computed here by hash, and the refusals of small releases."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from recipe_builders import CREATININE, TinyRelease, lab, patient, release, workspace, write_label
from studio_builders import DUMMY, beside, dummy_workspace, edit

from medomni.core.names import Pair
from medomni.core.workspace import Workspace
from medomni.studio.data.store import open_in
from medomni.studio.definitions.library import Library, open_library
from medomni.studio.definitions.templates import Cohort, Target, Template, read_cohort, read_template
from medomni.studio.draw import Row, draw, quantile_edges
from medomni.studio.errors import CohortError, LabelError
from medomni.studio.labels import label_table
from medomni.studio.opening import open_selection
from medomni.studio.recipe.model import Label
from medomni.studio.recipe.parser import parse_expression, parse_ref
from medomni.studio.recipe.plan import RESULT
from medomni.studio.select import Selection, counts_text, select
from medomni.studio.tables import StoredTables


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return dummy_workspace(tmp_path_factory)


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


# A cohort of the made-up release, from its label's table alone.


type Event = dict[str, Any]


def events(
    place: Workspace, pair: Pair, extra: str | None = None
) -> tuple[list[Event], list[str], list[str]]:
    """Every candidate with its rules, and the names of the rules before and after the pick."""
    library = open_library(place, "mimic-iv")
    bound = library.label(read_template(library, pair.template).targets[0].label)
    values = {extra: bound.scope.resolve((extra,))} if extra else {}
    with label_table(StoredTables(open_in(place, DUMMY)), bound, extra=values) as found:
        names = ["subject", "time", "value", "eligible", *(rule.name for rule in found.rules), "key"]
        rows = [dict(zip(names, row, strict=True)) for row in found.rows()]
        if extra:
            query = f'SELECT "extra {extra}" FROM "{RESULT}" ORDER BY cand_id'
            told = found.connection.execute(query).fetchall()
            rows = [{**row, "extra": each[0]} for row, each in zip(rows, told, strict=True)]
        past = [rule.name for rule in found.rules if not rule.outcome]
        later = [rule.name for rule in found.rules if rule.outcome]
    return rows, past, later


def eligible(rows: Sequence[Event], past: Sequence[str], later: Sequence[str], prefix: str) -> list[Event]:
    """The picked events that fulfil every rule, in the order of the patients' hashes."""
    picked: dict[int, tuple[str, Event]] = {}
    for row in rows:
        if all(row[name] for name in past):
            named = digest(f"{prefix}|{row['subject']}|{row['time'].isoformat()}|{row['key']}")
            if row["subject"] not in picked or named < picked[row["subject"]][0]:
                picked[row["subject"]] = (named, row)
    found = [row for _, row in picked.values() if all(row[name] for name in later)]
    return sorted(found, key=lambda row: digest(f"{prefix}|{row['subject']}"))


def stratum_of(values: Sequence[Any], value: Any, parts: int) -> int:
    """Which of the equal parts of the sorted values a value lies in; the first of several."""
    ordered = sorted(values)
    for part in range(1, parts):
        if value <= ordered[-(-len(ordered) * part // parts) - 1]:
            return part
    return parts


def as_drawn(selection: Selection) -> list[tuple[int, str, str, Any, str]]:
    return [
        (each.subject, each.prediction_time, each.key, each.value, each.stratum) for each in selection.atoms
    ]


def expected(chosen: Sequence[tuple[Event, str]]) -> list[tuple[int, str, str, Any, str]]:
    return sorted(
        (row["subject"], row["time"].isoformat(), row["key"], row["value"], stratum)
        for row, stratum in chosen
    )


@pytest.mark.parametrize(
    ("template", "per"),
    [("mimic-iv_ckd-staging", 4), ("mimic-iv_in-hospital-mortality", 10), ("mimic-iv_aki-kdigo", 5)],
)
def test_classes_are_drawn_by_the_documented_hashes(place: Workspace, template: str, per: int) -> None:
    pair = Pair(template, "dummy")
    found = eligible(*events(place, pair), f"{template}|dummy|v1")
    chosen: list[tuple[Event, str]] = []
    for value in sorted({row["value"] for row in found}):
        chosen += [(row, str(value)) for row in found if row["value"] == value][:per]
    assert as_drawn(open_selection(place, pair)) == expected(chosen)


@pytest.mark.parametrize("template", ["mimic-iv_length-of-stay", "mimic-iv_meld-na"])
def test_quantiles_are_drawn_by_the_documented_hashes(place: Workspace, template: str) -> None:
    pair = Pair(template, "dummy")
    found = eligible(*events(place, pair), f"{template}|dummy|v1")
    values = [row["value"] for row in found]
    chosen: list[tuple[Event, str]] = []
    for part in range(1, 6):
        mine = [row for row in found if stratum_of(values, row["value"], 5) == part]
        chosen += [(row, f"q{part}") for row in mine[:4]]
    assert as_drawn(open_selection(place, pair)) == expected(chosen)


def test_pairs_are_matched_in_the_order_of_the_hashes(place: Workspace) -> None:
    pair = Pair("mimic-iv_sepsis3", "dummy")
    found = eligible(*events(place, pair, extra="sofa_at_t0"), "mimic-iv_sepsis3|dummy|v1")
    free = [row for row in found if row["value"] == 0 and row["extra"] is not None]
    chosen: list[tuple[Event, str]] = []
    for row in found:
        if row["value"] == 1 and row["extra"] is not None and len(chosen) < 20:
            near = sorted(free, key=lambda other: (abs(other["extra"] - row["extra"]), found.index(other)))[0]
            if abs(near["extra"] - row["extra"]) <= 1:
                free.remove(near)
                chosen += [(row, "1"), (near, "0")]
    selection = open_selection(place, pair)
    assert len(chosen) == 20
    assert as_drawn(selection) == expected(chosen)


def test_all_are_taken_and_told_apart_where_n_is_all(place: Workspace, tmp_path: Path) -> None:
    mine = beside(place, tmp_path / "all")
    path = mine.cohort("mimic-iv", Pair("mimic-iv_ckd-staging", "dummy"))
    edit(path, "n: 20", "n: all")
    edit(path, ", per: 4", "")
    pair = Pair("mimic-iv_ckd-staging", "dummy")
    found = eligible(*events(place, pair), "mimic-iv_ckd-staging|dummy|v1")
    selection = open_selection(mine, pair)
    assert as_drawn(selection) == expected([(row, str(row["value"])) for row in found])
    assert selection.warnings == ()
    shares = selection.reference[read_template(open_library(mine, "mimic-iv"), pair.template).targets[0].name]
    assert shares["eligible_n"] == len(found)
    assert sum(shares["share"].values()) == pytest.approx(1)


def test_the_steps_of_the_made_up_release_are_the_counts_of_its_table(place: Workspace) -> None:
    pair = Pair("mimic-iv_in-hospital-mortality", "dummy")
    rows, past, later = events(place, pair)
    selection = open_selection(place, pair)
    told = {(each.step, each.rule): (each.events_after, each.people_after) for each in selection.steps}
    left = rows
    for name in past:
        left = [row for row in left if row[name]]
        assert told["where", name] == (len(left), len({row["subject"] for row in left}))
    final = eligible(rows, past, later, f"{pair.template}|dummy|v1")
    last = selection.steps[-1]
    assert (last.events_before, last.people_before) == (len(final), len(final))
    for one, other in pairwise(selection.steps):
        assert (one.events_after, one.people_after) == (other.events_before, other.people_before)


def test_required_families_are_asked_after_the_pick(place: Workspace, tmp_path: Path) -> None:
    mine = beside(place, tmp_path / "families")
    pair = Pair("mimic-iv_ckd-staging", "dummy")
    edit(mine.cohort("mimic-iv", pair), "n: 20\n", "n: 20\nrequire_families: [demographics, omr]\n")
    steps = [step for step in open_selection(mine, pair).steps if step.step in ("family", "draw")]
    assert [step.rule for step in steps] == ["demographics", "omr", "n: 20"]
    assert steps[0].people_before == steps[0].people_after
    assert steps[1].people_after == steps[2].people_before


def test_a_family_that_does_not_exist_is_refused(place: Workspace, tmp_path: Path) -> None:
    mine = beside(place, tmp_path / "unknown")
    pair = Pair("mimic-iv_ckd-staging", "dummy")
    edit(mine.cohort("mimic-iv", pair), "n: 20\n", "n: 20\nrequire_families: [omrs]\n")
    with pytest.raises(CohortError) as caught:
        open_selection(mine, pair)
    assert (caught.value.code, caught.value.hint) == ("cohort-family-unknown", "did you mean 'omr'?")


# Small releases.

PAIR = Pair("mimic-iv_it", "tiny")
HEAD = (
    "label: it\nversion: 1\nrequires: {releases: [mimic-iv/demo-2.2, mimic-iv/3.1, mimic-iv/dummy-1]}\n"
    "question: High?\ntype: binary\n"
)
BODY = (
    CREATININE
    + """
index: {time: trigger, side: before}
let: {sex: patient.gender}
windows:
  past:
    start: NULL
    end: trigger
    start_inclusive: true
    end_inclusive: false
    agg: {last: last(creatinine.value)}
where: [{sane: "last < 90"}]
where_outcome: [{plausible: "trigger.value < 50"}]
value: "trigger.value >= 2"
"""
)
TOKENS = {"demo": "mimic-iv/demo-2.2", "dummy": "mimic-iv/dummy-1", "real": "mimic-iv/3.1"}
TEMPLATE = Template(
    "mimic-iv_it", "mimic-iv", (), (Target("high", "it", "auc"),), (), (), (), "", "", {}, "/answer.json"
)


def cohort(n: int | None = None, release_class: str = "demo", **more: Any) -> Cohort:
    return Cohort("tiny", 1, TOKENS[release_class], "subject_id", n, **more)


def measured(subject: int, *values: str) -> list[dict[str, Any]]:
    return [
        lab(100 * subject + n, f"2150-01-{n:02} 00:00:00", value, subject_id=subject)
        for n, value in enumerate(values, start=1)
    ]


def prepared(folder: Path, body: str = BODY) -> Library:
    folder.mkdir(exist_ok=True)
    library = workspace(folder)
    write_label(library, body, head=HEAD)
    return library


def drawn(
    library: Library, rows: Sequence[dict[str, Any]], asked: Cohort, release_class: str = "demo", **more: Any
) -> Selection:
    people = sorted({row["subject_id"] for row in rows})
    plain = release(library.label("it"), hosp__labevents=rows, hosp__patients=[patient(n) for n in people])
    store = TinyRelease(plain.rows, plain.definitions, token=asked.release)
    return select(store, library, PAIR, TEMPLATE, asked, release_class=release_class, **more)


@contextmanager
def refused(code: str) -> Iterator[pytest.ExceptionInfo[CohortError]]:
    with pytest.raises(CohortError) as caught:
        yield caught
    assert caught.value.code == code


ONE_CLASS = [row for n in range(1, 4) for row in measured(n, "1", "1")]
RULES = (
    "candidates creatinine",
    "where sane",
    "pick one event per patient",
    "where_outcome plausible",
)


@pytest.mark.parametrize("release_class", ["demo", "dummy"])
def test_everyone_of_a_release_not_for_scores_may_have_one_answer_and_is_told_so(
    tmp_path: Path, release_class: str
) -> None:
    asked = cohort(None, release_class, classes=(0, 1))
    found = drawn(prepared(tmp_path), ONE_CLASS, asked, release_class)
    assert [(atom.subject, atom.value, atom.stratum) for atom in found.atoms] == [
        (n, 0, "0") for n in (1, 2, 3)
    ]
    assert len(found.warnings) == 1
    assert "only one class occurs" in found.warnings[0]
    assert "has the answer 0" in found.warnings[0]


@pytest.mark.parametrize(("n", "release_class"), [(None, "real"), (1, "real"), (1, "demo"), (1, "dummy")])
def test_one_class_is_refused_where_scores_count_or_some_are_drawn(
    tmp_path: Path, n: int | None, release_class: str
) -> None:
    with refused("cohort-one-class") as caught:
        drawn(prepared(tmp_path), ONE_CLASS, cohort(n, release_class), release_class)
    assert all(f"\n  {rule}: " in caught.value.hint for rule in RULES)


def test_two_classes_are_no_warning(tmp_path: Path) -> None:
    assert drawn(prepared(tmp_path), [*ONE_CLASS, *measured(4, "1", "3")], cohort()).warnings == ()


@pytest.mark.parametrize("release_class", ["real", "demo", "dummy"])
def test_nobody_is_refused_in_every_release(tmp_path: Path, release_class: str) -> None:
    rows = [row for n in range(1, 4) for row in measured(n, "1", "99")]
    with refused("cohort-empty") as caught:
        drawn(prepared(tmp_path), rows, cohort(None, release_class), release_class)
    assert "\n  where sane: 3 events, 3 people\n" in caught.value.hint
    assert caught.value.hint.endswith("\n  where_outcome plausible: 0 events, 0 people")


@pytest.mark.parametrize("expect", ["{demo: {eligible_min: 5}}", "{demo: {class_share_min: 0.3}}"])
def test_what_a_label_expects_is_told_with_the_counts(tmp_path: Path, expect: str) -> None:
    rows = [*ONE_CLASS, *measured(4, "1", "3")]
    with refused("cohort-eligible") as caught:
        drawn(prepared(tmp_path, f"{BODY}\nexpect: {expect}\n"), rows, cohort())
    assert all(f"\n  {rule}: " in caught.value.hint for rule in RULES)


def test_a_short_stratum_is_told_with_the_counts(tmp_path: Path) -> None:
    rows = [*ONE_CLASS, *measured(4, "1", "3")]
    with refused("cohort-short-stratum") as caught:
        drawn(prepared(tmp_path), rows, cohort(4, classes=(0, 1), per=2))
    assert "1 has 1 of 2" in caught.value.what
    assert all(f"\n  {rule}: " in caught.value.hint for rule in RULES)


def test_targets_that_are_asked_at_different_moments_are_refused(tmp_path: Path) -> None:
    library = prepared(tmp_path)
    later = BODY.replace("{time: trigger,", "{time: trigger + 1h,")
    write_label(library, later, name="that", head=HEAD.replace("label: it", "label: that"))
    template = replace(TEMPLATE, targets=(*TEMPLATE.targets, Target("other", "that", "auc")))
    store = release(library.label("it"))
    with refused("cohort-unsupported"):
        select(store, library, PAIR, template, cohort(), release_class="demo")


def test_a_release_that_the_cohort_does_not_name_is_refused(tmp_path: Path) -> None:
    library = prepared(tmp_path)
    with refused("cohort-release"):
        select(
            release(library.label("it")), library, PAIR, TEMPLATE, cohort(None, "real"), release_class="demo"
        )


BOTH = [row for n in range(1, 9) for row in measured(n, f"1.{n % 4}", "1" if n % 2 else "3")]


@pytest.mark.parametrize(
    "more",
    [
        {"match": ("sex", Decimal(1))},
        {"match": ("index", Decimal(1))},
        {"prefer": ("sex", (1,))},
        {"prefer": ("last", ("high",))},
        {"prefer": ("index", ("2150-01-01",))},
    ],
)
def test_a_draw_reads_only_what_has_a_distance_or_can_occur(tmp_path: Path, more: dict[str, Any]) -> None:
    with refused("cohort-draw"):
        drawn(prepared(tmp_path), BOTH, cohort(4, classes=(0, 1), per=2, **more))


def test_preferred_patients_fill_their_stratum_first(tmp_path: Path) -> None:
    found = drawn(prepared(tmp_path), BOTH, cohort(2, classes=(0, 1), per=1, prefer=("last", (1.25, 1))))
    # Nobody has a preferred value, so the hash alone decides.
    assert found.atoms == drawn(prepared(tmp_path / "x"), BOTH, cohort(2, classes=(0, 1), per=1)).atoms


@pytest.mark.parametrize("preferred", [1.3, Decimal("1.3")])
def test_a_preferred_fraction_is_the_decimal_that_is_written(tmp_path: Path, preferred: object) -> None:
    """0.1 as a binary fraction is no laboratory value, and 1.3 mg/dL are."""
    asked = cohort(2, classes=(0, 1), per=1, prefer=("last", (preferred,)))
    rows = [row for n in range(1, 17) for row in measured(n, f"1.{n % 4}", "1" if n < 9 else "3")]
    chosen = {each.subject for each in drawn(prepared(tmp_path), rows, asked).atoms}
    assert {n % 4 for n in chosen} == {3}


def test_a_preferred_fraction_is_found_among_binary_fractions(tmp_path: Path) -> None:
    body = BODY.replace("let: {sex: patient.gender}", "let: {sex: patient.gender, half: last / 2}")
    asked = cohort(2, classes=(0, 1), per=1, prefer=("half", (Decimal("0.65"),)))
    rows = [row for n in range(1, 17) for row in measured(n, f"1.{n % 4}", "1" if n < 9 else "3")]
    chosen = {each.subject for each in drawn(prepared(tmp_path, body), rows, asked).atoms}
    assert {n % 4 for n in chosen} == {3}


@pytest.mark.parametrize(("caliper", "pairs"), [("0.3", True), ("0.29", False)])
def test_a_distance_of_exactly_the_greatest_is_within_it(tmp_path: Path, caliper: str, pairs: bool) -> None:
    """Case of binary fractions: 0.3 as a float is less than three tenths."""
    rows = [*measured(1, "1.4", "1"), *measured(2, "1.1", "3")]
    path = tmp_path / "cohort.yaml"
    path.write_text(caliper)
    asked = cohort(2, classes=(0, 1), per=1, match=("last", Decimal(str(yaml.safe_load(path.read_text())))))
    library = prepared(tmp_path / "x")
    if pairs:
        assert len(drawn(library, rows, asked).atoms) == 2
    else:
        with refused("cohort-short-stratum"):
            drawn(library, rows, asked)


def test_too_little_memory_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    class Small(TinyRelease):
        def connect(self, **_: Any) -> duckdb.DuckDBPyConnection:
            connection = super().connect()
            connection.execute("SET temp_directory = ''; SET memory_limit = '4MB'")
            return connection

    library = prepared(tmp_path)
    rows = [row for n in range(1, 40) for row in measured(n, "1", "1", "3")]
    plain = release(
        library.label("it"), hosp__labevents=rows, hosp__patients=[patient(n) for n in range(1, 40)]
    )
    with pytest.raises(LabelError) as caught:
        label_table(Small(plain.rows, plain.definitions), library.label("it"))
    assert caught.value.code == "label-memory"
    assert "studio.memory_limit" in caught.value.hint


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return prepared(tmp_path_factory.mktemp("tiny"))


@settings(max_examples=4)
@given(st.randoms(use_true_random=False), st.integers(1, 4))
def test_the_order_of_rows_and_the_threads_decide_nothing(
    tiny: Library, chance: random.Random, threads: int
) -> None:
    asked = cohort(4, classes=(0, 1), per=2, match=("last", Decimal(5)))
    rows = [row for n in range(1, 21) for row in measured(n, "1", f"1.{n}", "1" if n % 2 else "3", "2")]
    shuffled = chance.sample(rows, len(rows))
    assert drawn(tiny, shuffled, asked, threads=threads) == drawn(tiny, rows, asked, threads=1)


# The draw alone.

ONE = parse_expression("1")


def label(kind: str = "number") -> Label:
    return Label(
        "it", "mimic-iv", 1, ("mimic-iv/demo-2.2",), "How much?", kind, "t", parse_ref("trigger"), False, ONE,
        classes=("a", "b", "c"),
    )  # fmt: skip


def people(values: Sequence[Any]) -> list[Row]:
    return [Row(n, "2150-01-01T00:00:00", str(n), value, f"{n:04}") for n, value in enumerate(values)]


@pytest.mark.parametrize(("release_class", "times"), [("real", 3), ("demo", 1), ("dummy", 1)])
@pytest.mark.parametrize("strata", [{}, {"classes": (0, 1), "per": 2}])
def test_a_real_release_needs_three_times_as_many_as_are_drawn(
    release_class: str, times: int, strata: dict[str, Any]
) -> None:
    wanted = cohort(4, release_class, **strata)
    enough = people([0, 1] * (2 * times))
    asked = {"release_class": release_class, "counts": ""}
    assert len(draw(enough, wanted, label("binary"), **asked)) == 4
    with refused("cohort-short-stratum"):
        draw(enough[:-1], wanted, label("binary"), **asked)


@settings(max_examples=60)
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=40), st.integers(2, 6))
def test_quantiles_part_everyone_once_and_in_order(values: list[int], parts: int) -> None:
    found = draw(people(values), cohort(None, quantiles=parts), label(), release_class="demo", counts="")
    assert [atom.subject for atom in found] == list(range(len(values)))
    by_value = sorted((atom.value, int(atom.stratum[1:])) for atom in found)
    assert [each for _, each in by_value] == sorted(each for _, each in by_value)
    assert all(stratum == stratum_of(values, value, parts) for value, stratum in by_value)
    assert quantile_edges(values, parts) == sorted(quantile_edges(values, parts))


@given(st.permutations(range(12)))
@settings(max_examples=20)
def test_distinct_answers_fill_every_quantile_alike(values: list[int]) -> None:
    found = draw(people(values), cohort(12, quantiles=4, per=3), label(), release_class="demo", counts="")
    assert [sum(atom.stratum == f"q{part}" for atom in found) for part in range(1, 5)] == [3] * 4


def test_counts_are_told_in_one_line_each(tmp_path: Path) -> None:
    steps = drawn(prepared(tmp_path), BOTH, cohort()).steps
    assert counts_text(steps).splitlines()[0] == "  candidates creatinine: 16 events, 8 people"
    assert len(counts_text(steps).splitlines()) == len(steps)


def test_the_cohort_in_a_file_is_the_cohort_that_is_drawn(place: Workspace) -> None:
    library = open_library(place, "mimic-iv")
    pair = Pair("mimic-iv_length-of-stay", "dummy")
    read = read_cohort(library, pair, library.label("remaining_los_days").label)
    assert (read.n, read.quantiles, read.per, read.classes) == (20, 5, 4, None)
