"""`bundle check`: each fault is found, named, and found together with the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundle_builders import BundleBuilder, box, instance_builder, write_nifti
from medomni.core.issues import Issue, Severity
from medotter_bench import checks, data_checks
from medotter_bench.bundle import Bundle
from medotter_bench.factory.manifest_hash import mb1
from medotter_bench.misspellings import edit_distance


@pytest.fixture
def builder(tmp_path: Path) -> BundleBuilder:
    builder = BundleBuilder(tmp_path)
    builder.case("001", box(), box())
    builder.case("002", box(), box())
    return builder


def issues_of(builder: BundleBuilder) -> list[Issue]:
    return checks.check(Bundle(builder.write().bundle))


def codes(issues: list[Issue], severity: Severity | None = None) -> set[str]:
    return {issue.code for issue in issues if severity in (None, issue.severity)}


def test_a_good_bundle_has_no_errors_and_an_unverifiable_hash(builder):
    assert codes(issues_of(builder)) == {"hash-unverifiable"}


def change(target: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split("/")
    for key in parents:
        target = target[key]
    target[last] = value


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        ("eval_regions", {"lesion": [1, 5]}, "region-outside-label-space"),
        ("eval_regions", {"macro_avg": [1], "lesion": [1]}, "region-reserved"),
        ("main_region", "liver", "main-region-unknown"),
        ("metrics", ["dice", "f1"], "metric-unknown"),
        ("aggregation/headline/region", "liver", "headline-region"),
        ("aggregation/headline/metric", "f1", "headline-metric"),
        ("aggregation/headline/tier", "far_ood", "headline-tier"),
        ("aggregation/report_by_region", ["liver"], "reporting-region-unknown"),
        ("aggregation/report_by_organ", False, "reporting-twice"),
        ("prediction_format/type", "instance_mask2d", "prediction-type"),
        ("empty_structure/dice/gt_empty_pred_nonempty", 1.5, "penalty-range"),
        ("empty_structure/dice/both_empty", 0.5, "penalty-twice"),
        ("parital_label", True, "key-misspelt"),
        ("hd95/percentle", 95, "key-misspelt"),
        ("aggregation/headline/metrik", "dice", "key-misspelt"),
        ("prediction_format/label_spaces", [0], "key-misspelt"),
        ("task_type", "segg", "task-type-unknown"),
        ("aggregation/report_by_dataset", ["nowhere"], "reporting-name-unknown"),
        ("aggregation/report_by_tier", ["nowhere"], "reporting-name-unknown"),
    ],
)
def test_a_fault_of_the_protocol_is_an_error_that_score_refuses_on_too(builder, path, value, code):
    change(builder.spec, path, value)
    found = issues_of(builder)
    assert code in codes(found, Severity.ERROR)
    assert code in codes(checks.deciding_issues(Bundle(builder.bundle)), Severity.ERROR)


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        ("mode", "4d", "mode-unknown"),
        ("segmentation_mode", "fuzzy", "segmentation-mode-unknown"),
        ("iou_threshold", 0.5, "key-unused"),
        ("remark", "free text", "key-unknown"),
        ("main_region", "macro_avg", "main-region-differs"),
        ("empty_structure/f1", {"both_empty": 1.0}, "penalty-unused"),
        ("empty_structure/dice", {}, "penalty-default"),
        ("empty_structure/dice/gt_nonempty_pred_empty", 0.9, "penalty-generous"),
    ],
)
def test_what_changes_no_number_is_a_warning(builder, path, value, code):
    change(builder.spec, path, value)
    found = issues_of(builder)
    assert code in codes(found, Severity.WARNING)
    assert not codes(found, Severity.ERROR)


def test_an_hd95_block_without_the_metric_is_a_warning(builder):
    """MB-084."""
    builder.spec["metrics"] = ["dice"]
    del builder.spec["empty_structure"]["hd95"]
    assert codes(issues_of(builder), Severity.WARNING) >= {"hd95-unused"}


def test_a_long_dataset_name_near_a_known_key_is_no_misspelling(builder):
    builder.task["label_remap"] = {"label_remaps": {1: 1}, "DS_A": {1: 1}}
    assert "key-misspelt" not in codes(issues_of(builder))


def test_extra_case_fields_are_free(builder):
    """`sex` is no misspelt `seg`."""
    builder.manifest["per_case"]["DS_A/001"] |= {"sex": "F", "splits": 1}
    assert not codes(issues_of(builder), Severity.ERROR)


@given(st.text("abc", max_size=5), st.text("abc", max_size=5))
def test_the_edit_distance_is_a_symmetric_distance(first, second):
    distance = edit_distance(first, second)
    assert distance == edit_distance(second, first)
    assert (distance == 0) == (first == second)
    assert abs(len(first) - len(second)) <= distance <= max(len(first), len(second))


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [
        ("parital_label", "partial_label", 1),
        ("metric", "metrics", 1),
        ("kitten", "sitting", 3),
        ("", "ab", 2),
    ],
)
def test_edit_distances_known_by_hand(first, second, distance):
    assert edit_distance(first, second) == distance


def test_names_that_differ_are_named_both(builder):
    """MB-031."""
    builder.task["task"]["id"] = "other_task"
    found = [issue for issue in issues_of(builder) if issue.code == "task-id-differs"]
    assert "other_task" in found[0].what
    assert "demo_task" in found[0].what
    renamed = builder.bundle.rename(builder.root / "another_folder")
    found = checks.check(Bundle(renamed))
    assert codes(found) >= {"task-folder-differs", "task-id-differs"}
    assert "task-folder-differs" not in codes(checks.deciding_issues(Bundle(renamed)))


def test_faults_of_the_splits_are_found_together(builder):
    manifest = builder.manifest
    manifest["train"] = ["DS_A/002", "DS_A/003", "DS_A/004"]
    manifest["test"] += ["DS_A/001", "ds_a/001", "DS_A/gone"]
    entry = manifest["per_case"]["DS_A/001"]
    manifest["per_case"]["DS_A/003"] = {**entry, "split": "train", "patient_uid": "001"}
    manifest["per_case"]["DS_A/004"] = {**entry, "split": "test", "patient_uid": "004"}
    manifest["per_case"]["ds_a/001"] = entry
    manifest["per_case"]["DS_A/free"] = {**entry, "patient_uid": "009"}
    assert codes(issues_of(builder)) >= {
        "case-twice",
        "case-fold-clash",
        "case-without-entry",
        "case-in-both-splits",
        "split-differs",
        "patient-in-both-splits",
        "case-in-no-split",
    }


def test_a_test_split_without_cases_is_an_error(builder):
    builder.manifest["test"] = []
    assert "no-test-cases" in codes(issues_of(builder), Severity.ERROR)


def test_a_threshold_that_no_iou_exceeds_is_an_error(tmp_path):
    builder = instance_builder(tmp_path, iou_threshold=1)
    builder.case("001", box((12, 12)), None)
    assert "iou-threshold-unreachable" in codes(issues_of(builder), Severity.ERROR)


def test_the_same_patient_id_in_two_datasets_is_two_patients(builder):
    entry = builder.manifest["per_case"]["DS_A/001"]
    builder.manifest["train"] = ["DS_B/001"]
    builder.manifest["per_case"]["DS_B/001"] = {**entry, "dataset": "DS_B", "split": "train"}
    assert "patient-in-both-splits" not in codes(issues_of(builder))


@pytest.mark.parametrize(
    "path", ["../secret.nii.gz", "/etc/passwd", "a\\b.nii.gz", "C:/x.nii.gz", "", "a/\0b"]
)
def test_paths_that_leave_the_data_root_are_refused_before_anything_is_opened(builder, path):
    """MB-069."""
    builder.manifest["per_case"]["DS_A/001"]["seg"] = path
    found = [issue for issue in issues_of(builder) if issue.severity is Severity.ERROR]
    assert any("seg" in issue.where for issue in found)
    assert codes(checks.deciding_issues(Bundle(builder.bundle)), Severity.ERROR)


def test_a_case_id_that_climbs_is_refused(builder):
    builder.manifest["test"].append("../escape")
    builder.manifest["per_case"]["../escape"] = builder.manifest["per_case"]["DS_A/001"]
    assert "path-parent" in codes(issues_of(builder))


@pytest.mark.parametrize(
    "change_of_entry",
    [{"image": None}, {"chan": {"t1": "a.nii.gz"}}, {"split": "valid"}, {"dataset": 3}, {"patient_uid": 12}],
)
def test_malformed_entries_are_errors(builder, change_of_entry):
    """MB-056, MB-061: both `image` and `chan`, or neither, is an issue."""
    entry = builder.manifest["per_case"]["DS_A/001"]
    entry |= change_of_entry
    if change_of_entry.get("image", "") is None:
        del entry["image"]
    assert codes(issues_of(builder), Severity.ERROR)


def test_channels_in_another_order_within_a_dataset_are_an_error(builder):
    for case_id, order in (("DS_A/001", ("t1", "flair")), ("DS_A/002", ("flair", "t1"))):
        entry = builder.manifest["per_case"][case_id]
        del entry["image"]
        entry["chan"] = {name: f"{case_id}_{name}.nii.gz" for name in order}
    assert "channel-order" in codes(issues_of(builder))


def test_an_mb1_hash_is_verified_and_an_unknown_algorithm_refused(builder):
    builder.manifest |= {"hash_algorithm": "mb1", "hash": "", "hash_full": ""}
    builder.manifest["hash"], builder.manifest["hash_full"] = mb1(builder.manifest)
    assert not codes(issues_of(builder))
    builder.manifest["per_case"]["DS_A/001"]["tier"] = "near_ood"
    assert codes(issues_of(builder)) == {"hash-differs"}
    builder.manifest["hash_algorithm"] = "mb9"
    assert codes(issues_of(builder)) == {"hash-algorithm-unknown"}


def test_a_region_that_no_dataset_can_produce_is_an_error(builder):
    builder.task["label_remap"] = {"DS_A": {3: 2}}
    builder.spec["prediction_format"]["label_space"] = [0, 1, 2]
    assert "region-unproducible" in codes(issues_of(builder), Severity.ERROR)
    assert "region-unproducible" in codes(checks.deciding_issues(Bundle(builder.bundle)))
    builder.spec["partial_label"] = True
    builder.write()
    assert "region-unproducible" not in codes(checks.deciding_issues(Bundle(builder.bundle)))


def test_a_case_slot_can_make_a_region_producible(builder):
    builder.task["label_remap"] = {"DS_A": {3: 2}}
    builder.spec["prediction_format"]["label_space"] = [0, 1, 2]
    builder.manifest["per_case"]["DS_A/001"]["remap"] = {"4": 1}
    assert "region-unproducible" not in codes(issues_of(builder))


def test_a_map_to_an_id_outside_the_label_space_is_an_error(builder):
    builder.task["label_remap"] = {"DS_A": {1: 1, 2: 9}}
    assert "remap-outside-label-space" in codes(issues_of(builder), Severity.ERROR)


def test_a_dataset_without_a_map_is_reported_as_identity(builder):
    """MB-055."""
    builder.task["label_remap"] = {}
    assert "dataset-identity" in codes(issues_of(builder), Severity.WARNING)


def test_regions_that_differ_between_the_two_files_are_reported(builder):
    """MB-033."""
    builder.task["canonical_labels"] = {"lesion": [2], "organ": [1]}
    assert "region-differs" in codes(issues_of(builder))


def test_an_unknown_region_of_a_case_is_an_error(builder):
    builder.manifest["per_case"]["DS_A/001"]["region"] = "liver"
    assert "case-region-unknown" in codes(issues_of(builder), Severity.ERROR)


def test_a_duplicate_yaml_key_is_an_error_with_its_path(builder):
    """Case IM-01."""
    builder.write()
    text = (builder.bundle / "task.yaml").read_text().replace("    1: 1", "    1: 1\n    1: 0")
    (builder.bundle / "task.yaml").write_text(text)
    found = [issue for issue in checks.check(Bundle(builder.bundle)) if issue.severity is Severity.ERROR]
    assert "label_remap.DS_A.1" in found[0].where
    assert "duplicate" in found[0].what


def test_a_dataset_named_no_and_an_octal_id_are_told_and_not_guessed(builder):
    builder.write()
    path = builder.bundle / "task.yaml"
    good = path.read_text()
    for text in (good.replace("DS_A:", "NO:"), good.replace("1: 1", "042: 1")):
        path.write_text(text)
        assert "document-ambiguous-scalar" in codes(checks.check(Bundle(builder.bundle)), Severity.ERROR)


def test_nan_in_a_spec_is_an_error_naming_the_key(tmp_path):
    """Case IM-06."""
    builder = instance_builder(tmp_path, iou_threshold=float("nan"))
    builder.case("001", box((12, 12)), None)
    found = [issue for issue in issues_of(builder) if issue.severity is Severity.ERROR]
    assert "iou_threshold" in found[0].where
    assert "nan" in found[0].what.lower()


def test_an_absent_eval_spec_is_one_problem_of_the_list(builder):
    builder.write()
    (builder.bundle / "eval_spec.yaml").unlink()
    assert "bundle-not-found" in codes(checks.check(Bundle(builder.bundle)))


def test_a_bundle_without_task_yaml_says_what_its_references_mean(builder):
    builder.write()
    (builder.bundle / "task.yaml").unlink()
    assert "task-missing" in codes(checks.check(Bundle(builder.bundle)))
    (builder.bundle / "remap.py").write_text("")
    assert "bundle-code" in codes(checks.check(Bundle(builder.bundle)), Severity.WARNING)


# --- with data


def data_issues(builder: BundleBuilder) -> list[Issue]:
    bundle = Bundle(builder.write().bundle)
    task, spec, _ = checks.read_specs(bundle)
    assert spec is not None
    return data_checks.without_repeats(data_checks.check_data(bundle, task, spec, data_root=builder.data))


def test_good_data_raise_only_the_penalty_of_another_grid(builder):
    assert codes(data_issues(builder)) == {"penalty-of-another-grid"}


def test_every_bad_file_is_told_in_one_go(builder):
    builder.case("003", box(), None)
    builder.case("004", box(), None)
    reference = box()
    reference[0, 0, 0] = 9
    builder.case("005", reference, None)
    builder.case("006", box(), None)
    (builder.data / "DS_A/001_seg.nii.gz").unlink()
    (builder.data / "DS_A/002_img.nii.gz").write_bytes(b"x")
    write_nifti(builder.data / "DS_A/003_seg.nii.gz", box().astype(np.float32) * 0.5)
    write_nifti(builder.data / "DS_A/004_img.nii.gz", box((9, 8, 8)))
    (builder.data / "DS_A/006_img.nii.gz").unlink()
    found = data_issues(builder)
    told = " ".join(str(issue) for issue in found)
    for case in ("001", "002", "003", "004", "005", "006"):
        assert f"DS_A/{case}" in told
    assert codes(found) >= {"labels-not-integer", "reference-grid", "ids-unlisted"}


def test_a_penalty_below_the_grid_diagonal_is_a_warning(builder):
    for state in ("gt_empty_pred_nonempty", "gt_nonempty_pred_empty"):
        builder.spec["empty_structure"]["hd95"][state] = 5.0
    found = [issue for issue in data_issues(builder) if issue.code == "penalty-small"]
    assert len(found) == 2
    assert "13.86" in found[0].what


def test_an_absent_data_root_is_an_error(builder):
    bundle = Bundle(builder.write().bundle)
    task, spec, _ = checks.read_specs(bundle)
    found = data_checks.check_data(bundle, task, spec, data_root=builder.root / "nowhere")
    assert codes(found) == {"data-root-missing"}


def prediction_issues(builder: BundleBuilder, data_root: Path | None = None) -> list[Issue]:
    bundle = Bundle(builder.write().bundle)
    _, spec, _ = checks.read_specs(bundle)
    return data_checks.check_predictions(bundle, spec, builder.predictions, data_root=data_root)


def test_check_predictions_needs_no_reference(builder):
    for case_id in ("DS_A/001", "DS_A/002"):
        (builder.data / f"{case_id}_seg.nii.gz").unlink()
    assert prediction_issues(builder, builder.data) == []


def test_check_predictions_tells_every_fault(builder):
    builder.case("003", box(), None)
    builder.case("004", box(), box(label=7))
    builder.case("005", box(), box((8, 8, 9)))
    (builder.predictions / "notes.txt").write_text("x")
    found = prediction_issues(builder, builder.data)
    assert codes(found) == {"prediction-missing", "labels-unknown", "grid-shape", "prediction-extra"}
    assert "grid-shape" not in codes(prediction_issues(builder))


def test_issues_are_plain_data(builder):
    found = issues_of(builder)
    assert json.loads(json.dumps([issue.as_dict() for issue in found]))[0]["severity"] == "warning"
