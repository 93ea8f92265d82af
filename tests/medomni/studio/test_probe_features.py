"""Single features: exact strengths, and a number that restates the answer is found with its place."""

from __future__ import annotations

import random

import numpy as np
import pytest
from evidence_builders import evidence, labs, table
from hypothesis import given, settings
from hypothesis import strategies as st

from medomni.core.issues import Severity
from medomni.studio.probes.association import association, folded_auc, ranks, spearman
from medomni.studio.probes.features import Feature, FeatureTable
from medomni.studio.probes.single_feature import single_feature_issues, strongest

CODES = {"hosp.labevents": "itemid", "hosp.patients": None}


def numbers(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def test_ties_share_their_mean_rank() -> None:
    assert ranks(numbers(3, 1, 3, 2)).tolist() == [3.5, 1, 3.5, 2]
    assert ranks(numbers(7)).tolist() == [1]


def test_the_area_counts_ties_half_and_looks_both_ways() -> None:
    ranked = ranks(numbers(1, 2, 2, 3))
    assert folded_auc(ranked, np.array([False, False, True, True])) == 0.875
    assert folded_auc(ranked, np.array([True, True, False, False])) == 0.875
    assert folded_auc(ranked, np.array([True, True, True, True])) == 0.5


def test_the_correlation_of_ranks_is_exact_and_never_nan() -> None:
    assert spearman(ranks(numbers(1, 2, 3)), ranks(numbers(30, 20, 10))) == 1.0
    assert spearman(ranks(numbers(1, 2, 3)), ranks(numbers(1, 3, 2))) == pytest.approx(0.5)
    assert spearman(ranks(numbers(1, 1, 1)), ranks(numbers(1, 2, 3))) == 0.0


def test_ordered_classes_take_the_better_of_two_views() -> None:
    answers = numbers(0, 0, 1, 1, 2, 2)
    assert association(answers * 10, answers, "ordinal") == 1.0
    # No order at all, but each class apart from the others.
    apart = association(numbers(5, 5, 9, 9, 1, 1), answers, "ordinal")
    assert apart == pytest.approx((0.5 + 1 + 1) / 3)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1)), min_size=2, max_size=30),
    st.sampled_from(["binary", "ordinal", "number"]),
)
def test_a_strength_is_never_outside_its_range(pairs: list[tuple[int, int]], kind: str) -> None:
    values, answers = (numbers(*side) for side in zip(*pairs, strict=True))
    assert 0 <= association(values, answers, kind) <= 1


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=25))
def test_the_area_is_the_chance_of_a_right_order(pairs: list[tuple[int, bool]]) -> None:
    values = numbers(*(value for value, _ in pairs))
    positive = np.array([truth for _, truth in pairs])
    if positive.all() or not positive.any():
        return
    wins = [
        (a > b) + (a == b) / 2
        for a, yes in zip(values, positive, strict=True)
        if yes
        for b, no in zip(values, positive, strict=True)
        if not no
    ]
    area = sum(wins) / len(wins)
    assert folded_auc(ranks(values), positive) == pytest.approx(max(area, 1 - area))


def feature_table(*patients: tuple[object, float]) -> FeatureTable:
    made = FeatureTable(CODES)
    for found, answer in patients:
        made.add(found, {"l": answer})  # type: ignore[arg-type]
    return made


def test_features_are_counts_numbers_and_texts_by_code() -> None:
    rows = [("-3", "1", "5", "low"), ("-2", "1", "2", None), ("-1", "2", "nan", "x" * 81)]
    made = table("hosp.labevents", ("charttime_h", "itemid", "valuenum", "comments"), rows)
    found = feature_table((evidence(made), 1.0))
    values = {str(each): float(found.column(each)[1][0]) for each in found.features()}
    assert values["rows of hosp.labevents"] == 3
    assert values["rows of hosp.labevents.itemid in rows of 1"] == 2
    numbers_of = {what: values[f"{what} of hosp.labevents.valuenum in rows of 1"] for what in
                  ("first", "last", "least", "greatest")}  # fmt: skip
    assert numbers_of == {"first": 5, "last": 2, "least": 2, "greatest": 5}
    assert values["is 'low' of hosp.labevents.comments in rows of 1"] == 1
    # Not a number is a text, and a long text is nothing.
    assert values["is 'nan' of hosp.labevents.valuenum in rows of 2"] == 1
    assert not any("xxx" in name for name in values)


def test_a_feature_is_found_again_in_its_row() -> None:
    made = evidence(labs(5), table("hosp.patients", ("gender", "age"), [("F", "70")]))
    found = feature_table((made, 0.0))
    assert found.row_of(made, Feature("hosp.labevents", "valuenum", "51006", "last")) == 1
    assert found.row_of(made, Feature("hosp.labevents", "valuenum", "999", "last")) == 0
    assert found.row_of(made, Feature("hosp.patients", "gender", "", "is 'F'")) == 1
    assert found.row_of(made, Feature("hosp.patients", "gender", "", "is 'M'")) == 0
    assert found.row_of(made, Feature("hosp.labevents", "", "", "rows")) == 1
    assert found.row_of(made, Feature("icu.chartevents", "", "", "rows")) == 0


def people(count: int, leak: float, kind: str) -> FeatureTable:
    """So many patients, of whom one number restates the answer for a share `leak` of them."""
    draws = random.Random(f"{count}{leak}{kind}")
    made = FeatureTable(CODES)
    for number in range(count):
        answer = float(number % (2 if kind == "binary" else 5)) + (number / count if kind == "number" else 0)
        told = answer if draws.random() < leak else draws.random() * 5
        rows = [("-1.000", "51006", str(told), None), ("-2.000", "50912", str(draws.random()), None)]
        columns = ("charttime_h", "itemid", "valuenum", "comments")
        made.add(evidence(table("hosp.labevents", columns, rows)), {"l": answer})
    return made


def issues(made: FeatureTable, kind: str, release_class: str = "real"):
    return list(
        single_feature_issues(
            made,
            "l",
            kind=kind,
            fails_from=0.95,
            release_class=release_class,
            where=lambda feature: f"{feature.table}.{feature.column}",
        )
    )


@pytest.mark.parametrize("kind", ["binary", "ordinal", "number"])
def test_a_number_that_restates_the_answer_fails(kind: str) -> None:
    found = issues(people(100, 1.0, kind), kind)
    assert [issue.severity for issue in found] == [Severity.ERROR]
    assert found[0].code == "leak-single-feature"
    assert found[0].where == "hosp.labevents.valuenum"
    assert "in rows of 51006 tells l with a strength of 1.000 (100 of 100 patients have it)" in found[0].what


def test_a_strong_number_warns_and_the_demo_never_fails() -> None:
    found = issues(people(300, 0.92, "binary"), "binary")
    assert [issue.severity for issue in found] == [Severity.WARNING]
    found = issues(people(100, 1.0, "binary"), "binary", "demo")
    assert [issue.severity for issue in found] == [Severity.WARNING]


def test_numbers_that_tell_nothing_are_not_told_of() -> None:
    assert issues(people(100, 0.0, "binary"), "binary") == []


def test_one_answer_for_everybody_asks_nothing() -> None:
    made = FeatureTable(CODES)
    for _ in range(40):
        made.add(evidence(labs(2)), {"l": 0.0})
    assert strongest(made, "l", kind="binary") == []


def test_what_only_some_patients_have_counts_among_them() -> None:
    made = FeatureTable(CODES)
    for number in range(120):
        answer = float(number % 2)
        rows = [("-1", "1", str(answer), None)] if number < 60 else [("-1", "2", "0", None)]
        columns = ("charttime_h", "itemid", "valuenum", "comments")
        made.add(evidence(table("hosp.labevents", columns, rows)), {"l": answer})
    best = strongest(made, "l", kind="binary")
    assert best[0].strength == 1.0
    assert best[0].people == 60
    assert best[0].feature.code == "1"


def test_that_a_code_is_there_can_be_the_answer() -> None:
    made = FeatureTable({"hosp.codes": "icd_code"})
    for number in range(100):
        code = "N18" if number % 2 else "I10"
        made.add(
            evidence(table("hosp.codes", ("icd_code", "title"), [(code, "t")])), {"l": float(number % 2)}
        )
    best = strongest(made, "l", kind="binary")
    assert {each.feature.code for each in best} == {"N18", "I10"}
    assert best[0].strength == 1.0
