"""Results as CSV: every value, plain numbers, no formulas; and challengeR's long table."""

from __future__ import annotations

import csv
import io

import pytest

from medotter_bench.export import CHALLENGER_COLUMNS, challenger_text, csv_text, mixed_directions
from medotter_bench.results_reading import ResultsError
from results_builders import dice_results, document, loaded, row


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def one(case_id, dice=0.5, **more):
    return row(case_id, {r: {"dice": dice, "hd95": 1.0} for r in ("liver", "spleen")}, **more)


def test_the_csv_has_a_row_per_case_region_and_metric_with_full_precision():
    rows = table(csv_text(dice_results([0.1 + 0.2, None])))
    assert len(rows) == 2 * 2 * 2
    first = rows[0]
    assert (first["case_id"], first["region"], first["metric"]) == ("c000", "liver", "dice")
    assert float(first["value"]) == 0.1 + 0.2
    assert (first["n_reference"], first["outcome"], first["status"]) == ("10", "ok", "scored")
    assert next(r for r in rows if r["case_id"] == "c001")["value"] == ""


def test_one_metric_can_be_chosen_and_an_unknown_one_is_refused():
    assert {r["metric"] for r in table(csv_text(dice_results([0.5]), metric="hd95"))} == {"hd95"}
    with pytest.raises(ResultsError, match="no metric"):
        csv_text(dice_results([0.5]), metric="f1")


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_text_that_a_spreadsheet_would_run_is_neutralised(start):
    name = f"{start}HYPERLINK(1)"
    results = loaded(document([one(name, patient_uid=name, tier=name)]))
    first = table(csv_text(results))[0]
    shown = name.replace("\r", "\N{REPLACEMENT CHARACTER}")
    assert first["patient_uid"] == first["tier"] == f"'{shown}"
    assert first["case_id"].startswith("'")
    assert challenger_text([results], names=[name]).count(f"'{shown[0]}") >= 2


def test_negative_numbers_stay_numbers():
    results = loaded(document([one("c", dice=-0.5)]))
    assert table(csv_text(results))[0]["value"] == "-0.5"


def test_commas_quotes_and_line_ends_survive_and_nul_goes():
    name = 'a,"b"\nc\0d'
    first = table(csv_text(loaded(document([one("c", patient_uid=name)]))))[0]
    assert first["patient_uid"] == 'a,"b"\nc\N{REPLACEMENT CHARACTER}d'


def test_challengers_table_has_one_task_per_region_and_metric_and_every_case_once_per_algorithm():
    text = challenger_text([dice_results([0.5, None]), dice_results([0.6, 0.7])], names=["A", "B"])
    rows = table(text)
    assert tuple(rows[0]) == CHALLENGER_COLUMNS
    assert {r["task"] for r in rows} == {f"{r}_{m}" for r in ("liver", "spleen") for m in ("dice", "hd95")}
    dice = [r for r in rows if r["task"] == "liver_dice"]
    assert [(r["case"], r["alg_name"], r["value"]) for r in dice] == [
        ("c000", "A", "0.5"),
        ("c001", "A", "NA"),
        ("c000", "B", "0.6"),
        ("c001", "B", "0.7"),
    ]


def test_a_task_without_any_value_is_left_out():
    tasks = {r["task"] for r in table(challenger_text([dice_results([None, None])], names=["A"]))}
    assert tasks == {"liver_hd95", "spleen_hd95"}


@pytest.mark.parametrize("names", [[], ["A", "B"], [""], ["NA"]])
def test_bad_names_are_refused(names):
    with pytest.raises(ResultsError) as caught:
        challenger_text([dice_results([0.5])], names=names)
    assert caught.value.code == "export-names"


def test_equal_names_are_refused_and_mixed_directions_are_known():
    with pytest.raises(ResultsError, match="same name"):
        challenger_text([dice_results([0.5])] * 2, names=["A", "A"])
    assert mixed_directions(["dice", "hd95"])
    assert not mixed_directions(["f1", "pq"])
