"""Comparing two results: pairing, direction, refusals, and the sentence that answers first."""

from __future__ import annotations

import copy

import pytest

from medomni.core.issues import IssuesError
from medotter_bench.compare import compare, refuse_different
from medotter_bench.metric_facts import direction, unit
from medotter_bench.results_reading import ResultsError, load_results
from results_builders import SPEC, dice_results, dice_rows, document, loaded, row

A = [0.80, 0.70, 0.90, 0.60, 0.75, 0.85, 0.65]
B = [0.82, 0.71, 0.93, 0.64, 0.80, 0.91, 0.72]


def test_the_difference_is_b_minus_a_over_the_same_units():
    found = compare(dice_results(A), dice_results(B))
    head = found["headline"]
    assert head["difference"] == pytest.approx(0.04)
    assert (head["n"], head["better"], head["b_better"], head["equal"], head["a_better"]) == (7, "B", 7, 0, 0)
    assert head["a"] == pytest.approx(0.75)
    assert head["ci"][0] <= 0.04 <= head["ci"][1]
    assert head["p"] == 2 / 2**7
    liver = found["regions"]["liver"]["dice"]
    assert liver["p_holm"] == 2 * liver["p"]
    assert found["answer"].startswith("B is higher by 4.00 points of liver dice, 95% interval ")
    assert found["answer"].endswith("on the same 7 patients: B is better.")


def test_swapping_the_files_turns_every_sign_and_nothing_else():
    one, two = dice_results(A), dice_results(B)
    forth, back = compare(one, two)["headline"], compare(two, one)["headline"]
    assert back["difference"] == -forth["difference"]
    assert back["ci"] == [-forth["ci"][1], -forth["ci"][0]]
    assert (back["p"], back["better"], back["a_better"]) == (forth["p"], "A", 7)


def test_lower_hd95_is_better_and_the_sentence_says_so():
    found = compare(dice_results(A, hd95=5.0), dice_results(A, hd95=3.0), metric="hd95")
    head = found["headline"]
    assert (head["difference"], head["better"], head["b_better"]) == (-2.0, "B", 7)
    assert "B is lower by 2.00 mm of liver hd95 (lower is better)" in found["answer"]
    assert list(found["regions"]["liver"]) == ["hd95"]


def test_identical_results_say_so():
    found = compare(dice_results(A), dice_results(A))
    assert found["identical"]
    assert found["answer"].startswith("A and B are identical in every value")
    assert found["headline"]["p"] is None
    assert "fewer than 6" in found["headline"]["p_reason"]


def test_an_interval_that_holds_zero_is_no_clear_difference():
    found = compare(dice_results([0.5, 0.6, 0.7]), dice_results([0.6, 0.5, 0.8]))
    assert "the interval includes no difference" in found["answer"]
    assert not found["identical"]
    same_mean = compare(dice_results([0.5, 0.7]), dice_results([0.7, 0.5]))
    assert same_mean["answer"].startswith("A and B do not differ in liver dice")
    assert same_mean["headline"]["better"] is None


def test_one_unit_has_a_difference_without_interval():
    found = compare(dice_results([0.5]), dice_results([0.6]))
    assert found["headline"]["ci"] is None
    assert "no interval" in found["answer"]
    assert "on the same 1 patient:" in found["answer"]


def test_a_missing_prediction_is_paired_with_its_penalty_and_counted():
    rows = dice_rows(A)
    rows[0] = row(
        "c000",
        {
            r: {"dice": (0.0, "penalty:missing"), "hd95": (99.0, "penalty:missing")}
            for r in ("liver", "spleen")
        },
        status="missing",
        code="prediction-missing",
        what="no file",
    )
    found = compare(dice_results(A), loaded(document(rows)))
    assert found["headline"]["n"] == 7
    assert found["headline"]["difference"] == pytest.approx(-0.8 / 7)
    assert found["headline"]["penalties_b"] == 1
    assert (found["a"]["missing"], found["b"]["missing"]) == (0, 1)


def test_a_unit_pairs_only_over_cases_that_carry_a_number_in_both():
    def results(first, second):
        cells = [{r: {"dice": v, "hd95": 1.0} for r in ("liver", "spleen")} for v in (first, second)]
        return loaded(document([row(f"c{i}", c, patient_uid="one") for i, c in enumerate(cells)]))

    found = compare(results(0.4, 1.0), results(0.6, None))
    head = found["headline"]
    assert (head["a"], head["b"], head["n"], head["only_a"], head["only_b"]) == (0.4, 0.6, 1, 1, 0)


def test_nothing_to_pair_is_null_with_a_reason():
    found = compare(dice_results([0.5, 0.6]), dice_results([None, None]))
    head = found["headline"]
    assert (head["difference"], head["n"], head["p"], head["better"]) == (None, 0, None, None)
    assert head["reason"]
    assert found["answer"].startswith("A and B cannot be compared in liver dice")


MACRO = {
    **SPEC,
    "aggregation": {**SPEC["aggregation"], "headline": {"region": "macro_avg", "metric": "dice"}},
}


def macro(values):
    rows = [
        row(f"c{i}", {"liver": {"dice": a, "hd95": 1.0}, "spleen": {"dice": b, "hd95": 1.0}})
        for i, (a, b) in enumerate(values)
    ]
    return loaded(document(rows, spec=MACRO))


def test_a_macro_average_is_the_mean_over_regions_of_the_differences():
    found = compare(macro([(0.5, 0.6), (0.7, 0.8)]), macro([(0.6, 0.6), (0.8, 1.0)]))["headline"]
    assert found["difference"] == pytest.approx(0.1)
    assert found["n"] == 2
    assert (found["b_better"], found["equal"]) == (2, 0)


def test_units_without_all_regions_have_no_macro_average_of_their_own():
    found = compare(macro([(0.5, None), (0.7, 0.8)]), macro([(0.6, None), (0.8, 1.0)]))["headline"]
    assert found["difference"] == pytest.approx((0.1 + 0.2) / 2)
    assert (found["p"], found["b_better"]) == (None, None)
    assert "not every unit" in found["p_reason"]
    bare = compare(macro([(0.5, None)]), macro([(0.6, None)]))["headline"]
    assert bare["difference"] is None
    assert "spleen" in bare["reason"]


def test_medians_and_tiers_follow_the_bundle():
    spec = copy.deepcopy(SPEC)
    spec["aggregation"] |= {
        "reduce": "median",
        "unit": "case",
        "headline": {"region": "liver", "metric": "dice", "tier": "hard"},
    }

    def results(values):
        rows = dice_rows(values)
        rows = [
            *rows[:1],
            *(
                row(
                    r.case_id,
                    {n: {"dice": s.metrics["dice"].value, "hd95": 1.0} for n, s in r.score.regions.items()},
                    tier="hard",
                )
                for r in rows[1:]
            ),
        ]
        return loaded(document(rows, spec=spec))

    found = compare(results([0.1, 0.5, 0.5, 0.5]), results([0.9, 0.5, 0.6, 0.9]))["headline"]
    assert (found["n"], found["tier"]) == (3, "hard")
    assert found["difference"] == pytest.approx(0.1)


def test_datasets_are_compared_one_by_one():
    def results(a, b):
        cells = lambda v: {r: {"dice": v, "hd95": 1.0} for r in ("liver", "spleen")}  # noqa: E731
        return loaded(document([row("x", cells(a), dataset="DS_A"), row("y", cells(b), dataset="DS_B")]))

    found = compare(results(0.5, 0.5), results(0.6, 0.4))["by_dataset"]
    assert found["DS_A"]["liver"]["dice"]["difference"] == pytest.approx(0.1)
    assert found["DS_B"]["liver"]["dice"]["difference"] == pytest.approx(-0.1)


def changed(path, value):
    found = document(dice_rows(A))
    found = copy.deepcopy(found)
    *front, last = path
    inner = found
    for step in front:
        inner = inner[step]
    inner[last] = value
    return loaded(found, "b.json")


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        (("bundle", "task"), "other", "bundle.task"),
        (("bundle", "version"), "0.2.0", "bundle.version"),
        (("bundle", "hash"), "0" * 12, "bundle.hash"),
        (("bundle", "spec_hash"), "f" * 64, "bundle.spec_hash"),
        (("bundle", "files", "task.yaml"), "e" * 64, "bundle.files.task.yaml"),
        (("bundle", "files", "more.yaml"), "e" * 64, "bundle.files.more.yaml"),
        (("scoring_version",), 2, "scoring_version"),
        (("task_type",), "other", "task_type"),
        (("effective", "partial_label"), False, "effective"),
        (("cases", 0, "case_id"), "zzz", "cases"),
        (("cases", 0, "dataset"), "DS_Z", "cases[*].dataset"),
        (("cases", 0, "tier"), "other", "cases[*].tier"),
        (("cases", 0, "patient_uid"), "other", "cases[*].patient_uid"),
    ],
)
def test_each_field_that_differs_is_refused_by_name(path, value, field):
    with pytest.raises(ResultsError, match=r"do not compare") as caught:
        compare(dice_results(A), changed(path, value))
    assert caught.value.code == "results-differ"
    assert field in caught.value.what
    assert "b.json" in caught.value.where


def test_all_fields_that_differ_are_named_at_once():
    other = loaded(document(dice_rows(A[:3]), version="0.2.0"))
    with pytest.raises(ResultsError, match=r"bundle\.version \(0\.1\.0 and 0\.2\.0\), cases"):
        refuse_different(dice_results(A), other)


def test_an_unknown_metric_is_refused():
    with pytest.raises(ResultsError, match="no metric 'f1'") as caught:
        compare(dice_results(A), dice_results(B), metric="f1")
    assert caught.value.code == "results-metric"


def test_a_metric_of_unknown_direction_has_no_winner():
    spec = copy.deepcopy(SPEC)
    spec["metrics"] = ["speed"]
    spec["aggregation"]["headline"]["metric"] = "speed"

    def results(values):
        rows = [row(f"c{i}", {r: {"speed": v} for r in ("liver", "spleen")}) for i, v in enumerate(values)]
        return loaded(document(rows, spec=spec))

    found = compare(results([1.0, 2.0, 3.0]), results([2.0, 3.0, 4.0]))
    assert (found["headline"]["better"], found["headline"]["b_better"]) == (None, None)
    assert "not known" in found["answer"]
    assert (direction("speed"), unit("speed", {})) == (None, "")


def test_other_software_is_shown_and_not_refused():
    found = document(dice_rows(A))
    found["software"] = {**found["software"], "numpy": "0.0.1"}
    assert compare(dice_results(A), loaded(found))["software_differs"]["numpy"][1] == "0.0.1"


def test_a_file_that_is_no_results_document_is_refused_with_its_place(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"schema": "medotter/results/1"}')
    with pytest.raises(IssuesError) as caught:
        load_results(path)
    assert {issue.code for issue in caught.value.issues} == {"results-required"}
    assert all("x.json" in issue.where for issue in caught.value.issues)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d["effective"].pop("regions"), "effective.regions"),
        (lambda d: d["effective"].update(metrics=[]), "effective.metrics"),
        (lambda d: d["effective"].update(aggregation={"unit": "moon"}), "effective.aggregation"),
        (lambda d: d["headline"].update(region="other"), "headline.region"),
        (lambda d: d["headline"].update(metric="other"), "headline.metric"),
        (lambda d: d["cases"].append(d["cases"][0]), "twice"),
        (lambda d: d["cases"][0].update(status="missing"), "contradict"),
        (lambda d: d["missing"].append("c000"), "`missing`"),
        (lambda d: d["cases"][0]["regions"].pop("liver"), "no value of liver.dice"),
        (lambda d: d["cases"][0]["regions"]["liver"]["dice"].update(value=0.1), "does not follow"),
        (lambda d: d["headline"].update(value=0.99), "the headline does not follow"),
        (lambda d: d["aggregates"]["regions"].update(moon=d["aggregates"]["regions"]["liver"]), "not part"),
    ],
)
def test_a_document_that_contradicts_itself_is_refused(change, words):
    found = copy.deepcopy(document(dice_rows(A)))
    change(found)
    with pytest.raises(IssuesError) as caught:
        loaded(found)
    assert {issue.code for issue in caught.value.issues} == {"results-inconsistent"}
    assert any(words in issue.what for issue in caught.value.issues)
