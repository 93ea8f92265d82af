"""`score-answers`: plain folders through the real command, and every way in which an answer can be none."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from run_builders import bench, write_answers

from medomni.bench.answer_folder import score_folder
from medomni.bench.errors import ScoreError
from medomni.bench.targets import Target, read_targets

AKI = {f"p{k}": {"aki": k % 2} for k in range(1, 7)}


def scored(table: Path, folder: Path, *options: str, name: str | None = None, code: int = 0):
    told = bench("score-answers", table, folder, *options, "--json", code=code)
    document = json.loads(told[told.index("{") :])  # notes go to stderr, before it
    assert document["schema"] == "medomni/score/1"
    return document if name is None else document["targets"][name]


def as_auc(table: Path, folder: Path):
    return scored(table, folder, "--target", "aki", "--metric", "auc", name="aki")


def test_the_document_has_every_key_of_the_design(tmp_path):
    found = as_auc(*write_answers(tmp_path, AKI, {name: {"aki": 0.5} for name in AKI}))
    assert list(found) == [
        "metric", "value", "reason", "n", "n_answered", "missing", "invalid", "ci", "ci_method", "flags",
        "secondary",
    ]  # fmt: skip
    assert found["value"] == 0.5
    assert found["flags"] == ["constant"]


def test_ids_are_text_and_007_is_not_7(tmp_path):
    truth = {"007": {"x": 1}, "07": {"x": 2}, "7": {"x": 3}}
    answers = {name: {"x": value["x"]} for name, value in truth.items()}
    table, folder = write_answers(tmp_path, truth, answers)
    options = ("--target", "x", "--metric", "mae", "--range", "0", "10")
    assert scored(table, folder, *options, name="x")["value"] == 0.0
    (folder / "7" / "answer.json").unlink()
    found = scored(table, folder, *options, name="x")
    assert found["missing"] == ["7"]
    assert found["value"] == pytest.approx(7 / 3)


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        (None, "missing", "no answer file"),
        ("{}", "missing", "does not answer"),
        ('{"aki": null}', "missing", "does not answer"),
        ('{"aki": true}', "invalid", "bool"),
        ('{"aki": "0.5"}', "invalid", "str"),
        ('{"aki": NaN}', "invalid", "strict JSON"),
        ('{"aki": 1e999}', "invalid", "strict JSON"),
        ('{"aki": 0.1, "aki": 0.9}', "invalid", "strict JSON"),
        ('{"aki": 1.01}', "invalid", "from 0 to 1"),
        ('{"aki": -0.01}', "invalid", "from 0 to 1"),
        ('{"aki": [0.5]}', "invalid", "list"),
        ("[0.5]", "invalid", "no JSON object"),
        ("not json", "invalid", "strict JSON"),
        ('{"aki": 0.5' + " " * 70_000 + "}", "invalid", "more than"),
        ('{"aki": 1' + "0" * 400 + "}", "invalid", "not finite"),
    ],
)
def test_what_is_no_answer_is_named_and_takes_the_worst(tmp_path, text, status, reason):
    answers = {name: {"aki": float(value["aki"])} for name, value in AKI.items()}
    answers.pop("p1")
    if text is not None:
        answers["p1"] = text
    table, folder = write_answers(tmp_path, AKI, answers)
    document = scored(table, folder, "--target", "aki", "--metric", "auc")
    found = document["targets"]["aki"]
    assert (found["n"], found["n_answered"]) == (6, 5)
    assert found[status] == ["p1"]
    assert reason in document["reasons"]["aki"]["p1"]
    assert found["value"] == pytest.approx(2 / 3)
    assert found["secondary"]["answered_only"] == {"value": 1.0, "n": 5}


@pytest.mark.parametrize("what", ["file", "folder", "pipe", "directory"])
def test_links_and_odd_files_are_not_followed(tmp_path, what):
    answers = {name: {"aki": float(value["aki"])} for name, value in AKI.items() if name != "p1"}
    table, folder = write_answers(tmp_path, AKI, answers)
    if what == "folder":
        (folder / "p1").symlink_to(folder / "p3", target_is_directory=True)
    else:
        (folder / "p1").mkdir()
        place = folder / "p1" / "answer.json"
        if what == "file":
            place.symlink_to(folder / "p3" / "answer.json")
        elif what == "pipe":
            os.mkfifo(place)
        else:
            place.mkdir()
    assert as_auc(table, folder)["invalid"] == ["p1"]


def test_an_id_that_is_no_folder_name_leads_nowhere(tmp_path):
    truth = {"../outside": {"aki": 1}, "..": {"aki": 0}, "p": {"aki": 0}}
    table, folder = write_answers(tmp_path, truth, {"p": {"aki": 0.5}})
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "answer.json").write_text('{"aki": 1}')
    (tmp_path / "answer.json").write_text('{"aki": 0}')
    assert as_auc(table, folder)["missing"] == ["..", "../outside"]


def test_extra_files_folders_and_keys_are_told_of_and_never_scored(tmp_path):
    """RN-11: what the graded party writes beside its answers counts for nothing."""
    answers = {name: {"aki": 1 - value["aki"], "auc": 1.0} for name, value in AKI.items()}
    table, folder = write_answers(tmp_path, AKI, answers)
    (folder / "scores.json").write_text('{"auc": 1.0}')
    (folder / "p1" / "reward.json").write_text('{"reward": 1}')
    (folder / "p99").mkdir()
    document = scored(table, folder, "--target", "aki", "--metric", "auc")
    assert document["targets"]["aki"]["value"] == 0.0
    assert document["targets"]["aki"]["flags"] == ["reversed"]
    notes = " ".join(document["notes"])
    assert "scores.json" in notes
    assert "p99" in notes
    assert "p1: keys that are no target, and ignored: auc" in notes


def test_a_class_must_be_whole_and_known_and_is_never_rounded(tmp_path):
    truth = {name: {"stage": k} for k, name in enumerate("abcd")}
    answers = {"a": {"stage": 0}, "b": {"stage": 1.0}, "c": {"stage": 1.6}, "d": {"stage": 4}}
    table, folder = write_answers(tmp_path, truth, answers)
    found = scored(table, folder, "--target", "stage", "--metric", "qwk", "--classes", "4", name="stage")
    assert found["invalid"] == ["c", "d"]
    assert found["secondary"]["confusion"] == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]


def test_labels_may_begin_anywhere_and_must_leave_no_gap(tmp_path):
    file = tmp_path / "target.json"
    file.write_text('{"name": "stage", "metric": "qwk", "labels": [1, 2, 3]}')
    truth = {name: {"stage": k} for k, name in enumerate("abc", 1)}
    table, folder = write_answers(tmp_path / "x", truth, {name: truth[name] for name in truth})
    found = scored(table, folder, "--target-file", str(file), name="stage")
    assert (found["value"], found["flags"], found["ci"]) == (1.0, ["perfect"], None)
    assert "no interval" in found["secondary"]["no_ci"]
    file.write_text('{"name": "stage", "metric": "qwk", "labels": [1, 2, 4]}')
    assert "error[score-target]" in bench("score-answers", table, folder, "--target-file", file, code=2)


def test_numbers_are_clipped_to_the_range_and_it_is_said(tmp_path):
    truth = {name: {"days": k} for k, name in enumerate("abcd", 1)}
    answers = {"a": {"days": -5}, "b": {"days": 2}, "c": {"days": 3}, "d": {"days": 10**400}}
    table, folder = write_answers(tmp_path, truth, answers)
    found = scored(table, folder, "--target", "days", "--metric", "mae", "--range", "0", "10", name="days")
    assert found["flags"] == ["clipped"]
    assert found["invalid"] == ["d"]
    assert found["value"] == pytest.approx((1 + 0 + 0 + 6) / 4)


def test_without_a_range_a_missing_number_has_no_worst_case(tmp_path):
    truth = {name: {"days": k} for k, name in enumerate("abcd", 1)}
    table, folder = write_answers(tmp_path, truth, {name: truth[name] for name in "abc"})
    found = scored(table, folder, "--target", "days", "--metric", "mae", name="days")
    assert (found["value"], found["reason"], found["missing"]) == (None, "no_range", ["d"])
    assert found["secondary"]["answered_only"] == {"value": 0.0, "n": 3}
    (folder / "d").mkdir()
    (folder / "d" / "answer.json").write_text('{"days": 1e300}')
    assert scored(table, folder, "--target", "days", "--metric", "mae", name="days")["invalid"] == ["d"]


def test_another_unit_is_pointed_at_and_never_converted(tmp_path):
    truth = {f"p{k}": {"days": k} for k in range(1, 8)}
    table, folder = write_answers(
        tmp_path, truth, {name: {"days": 24 * v["days"]} for name, v in truth.items()}
    )
    found = scored(table, folder, "--target", "days", "--metric", "mae", name="days")
    assert found["flags"] == ["no_range", "unit_factor_24"]
    assert found["value"] == 23 * 4
    assert found["secondary"]["spearman"] == 1.0
    assert found["secondary"]["bias"] == 92


def test_strata_come_from_their_column_and_order_of_rows_moves_no_digit(tmp_path):
    truth = {f"p{k}": {"stratum": "ab"[k % 2], "stage": k % 3} for k in range(12)}
    answers = {name: {"stage": (v["stage"] + (k % 4 == 0)) % 3} for k, (name, v) in enumerate(truth.items())}
    table, folder = write_answers(tmp_path, truth, answers)
    options = ("--target", "stage", "--metric", "qwk", "--classes", "3")
    first = bench("score-answers", table, folder, *options, "--json")
    head, *rows = table.read_text().splitlines()
    table.write_text("\n".join([head, *reversed(rows)]) + "\n")
    assert bench("score-answers", table, folder, *options, "--json") == first


def test_several_targets_come_from_one_file(tmp_path):
    """RN-06: an answer is known by its key; a key that is not there is a missing answer of that target."""
    truth = {"a1": {"aki": 1, "stage": 2}, "a2": {"aki": 0, "stage": 1}, "a3": {"aki": 1, "stage": 0}}
    answers = {"a1": {"aki": 0.9, "stage": 2}, "a2": {"aki": 0.4}, "a3": {"answer": 0.4}}
    table, folder = write_answers(tmp_path / "x", truth, answers, key="atom")
    file = tmp_path / "content.json"
    rows = [{"name": "aki", "metric": "auc"}, {"name": "stage", "metric": "qwk", "classes": ["a", "b", "c"]}]
    file.write_text(json.dumps({"targets": rows, "reference": {"aki": {"share": [0.9, 0.1]}}}))
    document = scored(table, folder, "--target-file", str(file))
    assert document["targets"]["aki"]["missing"] == ["a3"]
    assert document["targets"]["stage"]["missing"] == ["a2", "a3"]
    assert document["targets"]["aki"]["secondary"]["calibration_in_the_large"] == pytest.approx(
        0.9 * 0.4 + 0.1 * 0.9 - 0.1
    )


def test_the_terminal_shows_no_number_without_its_n(tmp_path):
    table, folder = write_answers(tmp_path, AKI, {"p1": {"aki": 0.9}, "p2": {"aki": 0.5}, "p3": "{"})
    told = bench("score-answers", table, folder, "--target", "aki", "--metric", "auc")
    assert "n 6, answered 2" in told
    assert "invalid p3: " in told
    assert "missing p4: there is no answer file" in told
    assert bench("score-answers", table, folder, "--target", "aki", "--metric", "auc", "--strict", code=1)


def test_one_class_is_null_with_a_reason_and_exit_0(tmp_path):
    truth = {"a": {"aki": 1}, "b": {"aki": 1}}
    table, folder = write_answers(tmp_path, truth, {"a": {"aki": 1}, "b": {"aki": 0}})
    found = as_auc(table, folder)
    assert (found["value"], found["reason"], found["ci"]) == (None, "single_class", None)
    out = tmp_path / "score.json"
    told = bench("score-answers", table, folder, "--target", "aki", "--metric", "auc", "--out", out)
    assert "auc none  (single_class)" in told
    assert json.loads(out.read_text())["targets"]["aki"] == found


def test_nobody_with_an_answer_is_a_wrong_folder(tmp_path):
    table, folder = write_answers(tmp_path, AKI, {})
    told = bench("score-answers", table, folder, "--target", "aki", "--metric", "auc", code=2)
    assert "error[score-nothing-found]" in told
    assert str(folder / "p1" / "answer.json") in told
    assert "is no folder" in bench(
        "score-answers", table, tmp_path / "no", "--target", "aki", "--metric", "auc", code=2
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,aki\np1,1\n", "first column is 'id'"),
        ("patient,other\np1,1\n", "no column 'aki'"),
        ("patient,aki\n", "no rows"),
        ("patient,aki\n,1\n", "is no patient"),
        ("patient,aki\np1,1\np1,0\n", "there twice"),
        ("patient,aki\np1,\n", "is no number"),
        ("patient,aki\np1,yes\n", "is no number"),
        ("patient,aki\np1,nan\n", "is no number"),
        ("patient,aki\np1,2\n", "no class of aki"),
        ("patient,aki\np1,0.5\n", "no class of aki"),
    ],
)
def test_a_truth_that_cannot_be_used_is_refused_with_its_place(tmp_path, text, words):
    table, folder = write_answers(tmp_path, AKI, {"p1": {"aki": 1}})
    table.write_text(text)
    told = bench("score-answers", table, folder, "--target", "aki", "--metric", "auc", code=2)
    assert "error[score-truth]" in told
    assert words in told
    assert str(table) in told


def test_a_truth_outside_the_range_is_refused(tmp_path):
    table, folder = write_answers(tmp_path, {"a": {"x": 11}}, {"a": {"x": 1}})
    options = ("--target", "x", "--metric", "mae", "--range", "0", "10")
    assert "lies outside the range" in bench("score-answers", table, folder, *options, code=2)


@pytest.mark.parametrize(
    "options",
    [
        ("--target", "aki"),
        ("--metric", "auc"),
        ("--target", "aki", "--metric", "f1"),
        ("--target", "aki", "--metric", "qwk"),
        ("--target", "aki", "--metric", "qwk", "--classes", "1"),
        ("--target", "aki", "--metric", "auc", "--classes", "2"),
        ("--target", "aki", "--metric", "auc", "--range", "0", "1"),
        ("--target", "aki", "--metric", "mae", "--range", "1", "1"),
        ("--target-file", "t.json", "--classes", "3"),
    ],
)
def test_a_target_that_is_not_whole_is_refused(tmp_path, options):
    """RN-23: what is scored comes from one place, and nothing on the command line widens it."""
    table, folder = write_answers(tmp_path, AKI, {"p1": {"aki": 1}})
    assert "error[score-target]" in bench("score-answers", table, folder, *options, code=2)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "3",
        "[3]",
        '{"metric": "auc"}',
        '{"name": "a"}',
        '{"name": "a", "metric": "qwk"}',
        '{"name": "a", "metric": "qwk", "labels": []}',
        '{"name": "a", "metric": "qwk", "labels": ["0", "1"]}',
        '{"name": "a", "metric": "qwk", "labels": [0, 1], "classes": 3}',
        '{"name": "a", "metric": "qwk", "classes": true}',
        '{"name": "a", "metric": "mae", "range": [1]}',
        '{"name": "a", "metric": "mae", "range": [0, "x"]}',
        '[{"name": "a", "metric": "auc"}, {"name": "a", "metric": "auc"}]',
    ],
)
def test_a_target_file_that_says_too_little_is_refused(tmp_path, text):
    file = tmp_path / "target.json"
    file.write_text(text)
    with pytest.raises(ScoreError) as caught:
        read_targets(file)
    assert caught.value.code == "score-target"
    assert caught.value.hint


def test_a_target_file_is_read_whole(tmp_path):
    file = tmp_path / "target.json"
    file.write_text('{"name": "a", "metric": "mae", "range": [0, 5], "unit": "days", "mae_ref": 2}')
    assert read_targets(file) == [Target("a", "mae", range=(0.0, 5.0), unit="days", mae_ref=2.0)]


def test_many_strangers_are_counted_and_not_listed(tmp_path):
    table, folder = write_answers(tmp_path, {"a": {"aki": 1}, "b": {"aki": 0}}, {"a": {"aki": 1}})
    for k in range(12):
        (folder / f"s{k:02}").mkdir()
    (note,) = score_folder(table, folder, [Target("aki", "auc")])["notes"]
    assert note.endswith("and 2 more")
