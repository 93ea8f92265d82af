"""Scoring a folder: statuses, penalties, roll-ups, determinism, refusals; real loaders and metrics."""

from __future__ import annotations

import gzip
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from bundle_builders import BundleBuilder, box, cell_of, instance_builder, value_of, write_nifti
from medomni.core.errors import MedomniError
from medomni.core.issues import IssuesError
from medotter_bench.bundle import Bundle
from medotter_bench.engine import ReferencesError, resolve_task_type, score_predictions, spec_hash
from medotter_bench.errors import (
    AdapterNotImplementedError,
    BundleCodeError,
    ScoringError,
    UnknownTaskTypeError,
)


def score(builder: BundleBuilder, **options):
    builder.write()
    return score_predictions(builder.bundle, builder.predictions, builder.data, **options).document


@pytest.fixture
def builder(tmp_path: Path) -> BundleBuilder:
    return BundleBuilder(tmp_path)


def test_a_perfect_prediction_scores_one_and_zero(builder):
    case = builder.case("001", box(), box())
    document = score(builder)
    assert cell_of(document, case, "lesion", "dice") == {"value": 1.0, "outcome": "ok"}
    assert cell_of(document, case, "lesion", "hd95") == {"value": 0.0, "outcome": "ok"}
    assert document["cases"][0]["regions"]["lesion"]["n_reference"] == 64
    assert document["headline"]["value"] == 1.0


def test_missing_prediction_takes_the_worst_penalty(builder):
    """Traps 3 and 7: a missing case stays in the mean."""
    builder.case("001", box(), box())
    case = builder.case("002", box(), None)
    document = score(builder)
    assert cell_of(document, case, "lesion", "dice") == {"value": 0.0, "outcome": "penalty:missing"}
    assert cell_of(document, case, "lesion", "hd95") == {"value": 373.13, "outcome": "penalty:missing"}
    assert document["missing"] == [case]
    assert document["aggregates"]["regions"]["lesion"]["dice"]["n"] == 2
    assert document["headline"]["value"] == 0.5


def test_missing_prediction_of_a_healthy_case_gains_nothing(builder):
    """The penalty holds also where the reference is empty and an empty prediction would score 1."""
    builder.case("001", box(), box())
    healthy = builder.case("002", np.zeros((8, 8, 8), np.uint8), None)
    document = score(builder)
    assert value_of(document, healthy, "lesion", "dice") == 0.0
    assert value_of(document, healthy, "lesion", "hd95") == 373.13


def test_empty_structures_take_the_table_and_name_its_key(builder):
    """Traps 1, 2, 4, 5; MB-086."""
    nothing = np.zeros((8, 8, 8), np.uint8)
    both = builder.case("001", nothing, nothing)
    false_alarm = builder.case("002", nothing, box())
    miss = builder.case("003", box(), nothing)
    document = score(builder)
    cells = {c: cell_of(document, c, "lesion", "hd95") for c in (both, false_alarm, miss)}
    assert cells[both] == {"value": 0.0, "outcome": "penalty:gt_empty_pred_empty"}
    assert cells[false_alarm] == {"value": 373.13, "outcome": "penalty:gt_empty_pred_nonempty"}
    assert cells[miss] == {"value": 373.13, "outcome": "penalty:gt_nonempty_pred_empty"}
    assert document["headline"]["value"] == pytest.approx(1 / 3)


def test_without_a_table_a_miss_costs_the_grid_diagonal_and_says_so(builder):
    del builder.spec["empty_structure"]
    miss = builder.case("001", box(), np.zeros((8, 8, 8), np.uint8), spacing=(1.0, 1.0, 2.5))
    document = score(builder)
    diagonal = (64 + 64 + 400) ** 0.5
    assert value_of(document, miss, "lesion", "hd95") == pytest.approx(diagonal, abs=1e-12)
    assert (
        "empty_structure.hd95.gt_nonempty_pred_empty=grid diagonal" in document["effective"]["defaults_used"]
    )


def test_null_and_exclude_leave_a_state_out_with_a_reason(builder):
    builder.spec["empty_structure"]["dice"]["gt_empty_pred_empty"] = None
    builder.spec["empty_structure"]["hd95"]["gt_empty_pred_empty"] = "exclude"
    nothing = np.zeros((8, 8, 8), np.uint8)
    healthy = builder.case("001", nothing, nothing)
    builder.case("002", box(), box())
    document = score(builder)
    assert cell_of(document, healthy, "lesion", "dice") == {
        "value": None,
        "outcome": "not_scored:gt_empty_pred_empty",
    }
    assert document["headline"]["n"] == 1
    assert document["headline"]["n_required"] == 1


def test_leaving_misses_out_keeps_a_result_from_ranking(builder):
    builder.spec["empty_structure"]["dice"]["gt_nonempty_pred_empty"] = None
    builder.case("001", box(), box())
    builder.case("002", box(), np.zeros((8, 8, 8), np.uint8))
    head = score(builder)["headline"]
    assert (head["n"], head["n_required"]) == (1, 2)


@pytest.mark.parametrize(
    ("prediction", "code"),
    [
        (box(shape=(8, 8, 9)), "grid-shape"),
        (box(label=4), "labels-unknown"),
        (box().astype(np.float32) * 0.9882, "labels-not-integer"),
    ],
)
def test_an_unusable_prediction_is_invalid_and_penalised(builder, prediction, code):
    builder.case("001", box(), box())
    case = builder.case("002", box(), prediction)
    document = score(builder)
    row = next(row for row in document["cases"] if row["case_id"] == case)
    assert (row["status"], row["reason"]["code"]) == ("invalid", code)
    assert cell_of(document, case, "lesion", "dice")["outcome"] == "penalty:missing"
    assert document["invalid"][0]["case_id"] == case


def test_a_flipped_prediction_is_invalid_and_never_resampled(builder):
    """Trap 28; MB-098."""
    case = builder.case("001", box(), None)
    import nibabel as nib

    path = builder.predictions / f"{case}.nii.gz"
    path.parent.mkdir(parents=True)
    nib.save(nib.Nifti1Image(box(), np.diag([-1.0, 1.0, 1.0, 1.0])), path)
    assert score(builder)["invalid"][0]["code"] == "grid-affine"


@pytest.mark.parametrize(
    "damage", [lambda b: b[: len(b) // 2], lambda b: b"\x1f\x8b" + b"\0" * 40, lambda b: b""]
)
def test_a_damaged_prediction_is_invalid(builder, damage):
    """Trap 37; case IM-16."""
    rng = np.random.default_rng(3)
    noisy = (rng.random((8, 8, 8)) > 0.5).astype(np.uint8)
    case = builder.case("001", noisy, noisy)
    builder.write()
    path = builder.predictions / f"{case}.nii.gz"
    path.write_bytes(damage(path.read_bytes()))
    document = score(builder)
    assert document["invalid"][0]["case_id"] == case
    assert document["headline"]["value"] == 0.0


def test_two_files_for_one_case_are_both_named(builder):
    """Trap 43."""
    case = builder.case("001", box(), box())
    write_nifti(builder.predictions / f"{case}.nii", box())
    reason = score(builder)["invalid"][0]
    assert reason["code"] == "prediction-twice"
    assert f"{case}.nii.gz" in reason["what"]
    assert f"{case}.nii " in reason["what"] + " "


def test_a_link_that_leaves_the_folder_is_invalid(builder, tmp_path):
    case = builder.case("001", box(), None)
    outside = write_nifti(tmp_path / "elsewhere.nii.gz", box())
    link = builder.predictions / f"{case}.nii.gz"
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    document = score(builder)
    assert document["invalid"][0]["code"] == "prediction-path"


def test_extra_files_are_listed_and_change_no_number(builder):
    """MB-001; cases WB-07 and RN-11."""
    builder.case("001", box(), box(size=3))
    before = score(builder)
    write_nifti(builder.predictions / "DS_A" / "unknown.nii.gz", box())
    (builder.predictions / "scores.json").write_text('{"dice": 1.0}')
    write_nifti(builder.data / "DS_A" / "more.nii.gz", box())
    after = score(builder)
    assert after["extra"] == ["DS_A/unknown.nii.gz", "scores.json"]
    assert {**after, "extra": []} == before


def test_the_reference_is_remapped_and_the_prediction_never(builder):
    """MB-040, MB-042."""
    builder.task["label_remap"] = {"DS_A": {4: 1}}
    case = builder.case("001", box(label=4), box(label=1))
    native = builder.case("002", box(label=4), box(label=4))
    document = score(builder)
    assert value_of(document, case, "lesion", "dice") == 1.0
    assert document["invalid"][0]["case_id"] == native
    assert document["effective"]["label_remap"] == {"DS_A": {"4": 1}}


def test_unlisted_native_voxels_are_counted_in_the_row(builder):
    """MB-038."""
    reference = box()
    reference[0, 0, :3] = 9
    builder.case("001", reference, box())
    document = score(builder)
    assert document["cases"][0]["unlisted_voxels"] == 3
    assert document["headline"]["value"] == 1.0


def two_regions(builder: BundleBuilder, *, partial: bool) -> BundleBuilder:
    builder.task["canonical_labels"] = builder.spec["eval_regions"] = {"tumor": [1], "infection": [2]}
    builder.task["label_remap"] = {"DS_A": {1: 1}, "DS_B": {2: 2}}
    builder.task["main_region"] = builder.spec["main_region"] = "macro_avg"
    builder.spec["partial_label"] = partial
    builder.spec["aggregation"]["headline"] = {"region": "macro_avg", "metric": "dice"}
    builder.spec["prediction_format"]["label_space"] = [0, 1, 2]
    return builder


def test_partial_labels_restrict_a_case_to_what_its_dataset_labels(builder):
    """Trap 8; MB-077; case IM-36: the mean of region means, never of all pairs."""
    two_regions(builder, partial=True)
    builder.case("001", box(), box())
    builder.case("002", box(), box())
    other = builder.case("003", box(label=2), box(label=2, size=3), dataset="DS_B")
    document = score(builder)
    dice = 2 * 27 / (64 + 27)
    assert cell_of(document, other, "tumor", "dice") == {"value": None, "outcome": "not_scored:partial_label"}
    regions = document["aggregates"]["regions"]
    assert (regions["tumor"]["dice"]["n"], regions["infection"]["dice"]["n"]) == (2, 1)
    assert document["headline"]["value"] == pytest.approx((1 + dice) / 2, abs=1e-15)
    assert document["headline"]["n"] == 3


def test_a_region_counts_only_if_its_dataset_can_produce_all_its_ids(builder):
    two_regions(builder, partial=True)
    builder.spec["eval_regions"] = {"tumor": [1], "any": [1, 2]}
    builder.case("001", box(), box())
    document = score(builder)
    assert document["cases"][0]["regions"]["any"]["dice"]["outcome"] == "not_scored:partial_label"
    macro = document["aggregates"]["macro_avg"]["dice"]
    assert macro["value"] is None
    assert "any" in macro["reason"]


def test_without_partial_labels_every_region_is_scored_in_every_case(builder):
    """MB-078."""
    two_regions(builder, partial=False)
    builder.case("001", box(), box())
    case = builder.case("002", box(label=2), box(label=2), dataset="DS_B")
    document = score(builder)
    assert cell_of(document, case, "tumor", "dice") == {
        "value": 1.0,
        "outcome": "penalty:gt_empty_pred_empty",
    }


def test_the_region_of_a_case_restricts_it(builder):
    """MB-058."""
    two_regions(builder, partial=False)
    builder.case("001", box(), box(), region="tumor")
    builder.case("002", box(label=2), box(label=2), dataset="DS_B")
    document = score(builder)
    assert document["cases"][0]["regions"]["infection"]["dice"]["outcome"] == "not_scored:case_region"
    assert document["aggregates"]["regions"]["infection"]["dice"]["n"] == 1


def test_a_union_is_taken_before_the_metric(builder):
    """MB-034; case IM-25."""
    builder.task["canonical_labels"] = builder.spec["eval_regions"] = {"WT": [1, 2, 3], "ET": [3]}
    builder.task["label_remap"] = {"DS_A": {1: 1, 2: 2, 3: 3}}
    builder.task["main_region"] = builder.spec["main_region"] = "WT"
    builder.spec["aggregation"]["headline"]["region"] = "WT"
    builder.spec["prediction_format"]["label_space"] = [0, 1, 2, 3]
    prediction = box(label=3)
    prediction[2:4][prediction[2:4] > 0] = 2
    case = builder.case("001", box(label=1), prediction)
    document = score(builder)
    assert value_of(document, case, "WT", "dice") == 1.0
    assert value_of(document, case, "ET", "dice") == 0.0


def test_a_patient_counts_once_however_many_scans_there_are(builder):
    """MB-088; case IM-41."""
    for scan in ("001", "002", "003"):
        builder.case(scan, box(), box(), patient_uid="P01")
    builder.case("004", box(), None, patient_uid="P02")
    assert score(builder)["headline"]["value"] == 0.5
    builder.spec["aggregation"]["unit"] = "image"
    assert score(builder)["headline"]["value"] == 0.75


def test_patients_of_two_datasets_are_two_and_a_case_without_one_is_its_own(builder):
    """MB-059."""
    builder.case("001", box(), box(), patient_uid="P01")
    builder.case("002", box(), None, dataset="DS_B", patient_uid="P01")
    builder.case("003", box(), box(), patient_uid=None)
    builder.case("004", box(), box(), patient_uid=None)
    head = score(builder)["headline"]
    assert (head["n"], head["value"]) == (4, 0.75)


def test_median_and_mean_differ(builder):
    """MB-089."""
    builder.spec["aggregation"]["reduce"] = "median"
    for name, prediction in (("1", box()), ("2", box()), ("3", None)):
        builder.case(name, box(), prediction)
    assert score(builder)["headline"]["value"] == 1.0


def test_a_tier_headline_counts_only_its_tier(builder):
    """MB-095."""
    builder.spec["aggregation"]["headline"]["tier"] = "far_ood"
    builder.case("001", box(), box(), tier="near_ood")
    builder.case("002", box(), None, tier="far_ood")
    document = score(builder)
    assert document["headline"] | {"ci_method": "", "reason": None} == {
        "region": "lesion",
        "metric": "dice",
        "tier": "far_ood",
        "value": 0.0,
        "n": 1,
        "n_required": 1,
        "ci": None,
        "ci_method": "",
        "reason": None,
    }
    assert document["aggregates"]["by_tier"]["near_ood"]["lesion"]["dice"]["value"] == 1.0


@pytest.mark.parametrize(
    ("setting", "shown"), [(True, ["infection", "tumor"]), (["tumor"], ["tumor"]), (False, []), (None, [])]
)
@pytest.mark.parametrize("key", ["report_by_region", "report_by_organ"])
def test_the_regional_breakdown_has_three_forms_under_two_names(builder, key, setting, shown):
    """MB-090, MB-091."""
    two_regions(builder, partial=True)
    del builder.spec["aggregation"]["report_by_region"]
    if setting is not None:
        builder.spec["aggregation"][key] = setting
    builder.case("001", box(), box())
    builder.case("002", box(label=2), box(label=2), dataset="DS_B")
    document = score(builder)
    assert sorted(document["aggregates"]["regions"]) == shown
    assert document["headline"]["value"] == 1.0


@pytest.mark.parametrize(
    ("key", "block"), [("report_by_dataset", "by_dataset"), ("report_by_tier", "by_tier")]
)
def test_breakdowns_can_be_all_some_or_none(builder, key, block):
    """MB-092, MB-093."""
    builder.case("001", box(), box(), tier="near_ood")
    builder.case("002", box(), box(), dataset="DS_B", tier="far_ood")
    names = {"by_dataset": ["DS_A", "DS_B"], "by_tier": ["far_ood", "near_ood"]}[block]
    for setting, shown in ((True, names), ([names[1]], [names[1]]), (False, [])):
        builder.spec["aggregation"][key] = setting
        assert sorted(score(builder)["aggregates"][block]) == shown


def test_only_the_metrics_asked_for_are_computed(builder):
    """MB-080."""
    builder.spec["metrics"] = ["dice"]
    del builder.spec["hd95"], builder.spec["empty_structure"]["hd95"]
    builder.case("001", box(), box())
    document = score(builder)
    assert "hd95" not in document["cases"][0]["regions"]["lesion"]
    assert document["effective"]["hd95"] is None


def test_modes_are_documentary(builder):
    """MB-074, MB-075."""
    builder.case("001", box(), box(size=3))
    before = score(builder)
    builder.spec["mode"], builder.spec["segmentation_mode"] = "2d_image", "binary"
    after = score(builder)
    assert after["cases"] == before["cases"]
    assert after["aggregates"] == before["aggregates"]


@pytest.mark.parametrize(
    ("hd95", "expected"),
    [
        ({"spacing": "header"}, 2.5),
        ({"spacing": "from_header"}, 2.5),
        ({}, 2.5),
        ({"spacing": [1, 1, 7]}, 7.0),
        ({"unit": "voxel"}, 1.0),
        ({"unit": "voxel", "spacing": [1, 1, 7]}, 1.0),
    ],
)
def test_spacing_and_unit_of_hd95(builder, hd95, expected):
    """MB-084; traps 9 and 10: spacing belongs to the axis it was written for."""
    builder.spec["hd95"] = hd95
    reference, prediction = np.zeros((6, 6, 6), np.uint8), np.zeros((6, 6, 6), np.uint8)
    reference[2, 2, 2] = prediction[2, 2, 3] = 1
    case = builder.case("001", reference, prediction, spacing=(0.8, 0.8, 2.5))
    assert value_of(score(builder), case, "lesion", "hd95") == expected


def test_the_method_of_hd95_is_written_into_the_result(builder):
    builder.spec["hd95"]["method"] = "pooled"
    builder.case("001", box(), box())
    assert score(builder)["effective"]["hd95"]["method"] == "pooled"


def test_workers_and_case_order_change_no_byte(builder, monkeypatch):
    rng = np.random.default_rng(1)
    for number in range(5):
        reference = (rng.random((6, 6, 6)) > 0.6).astype(np.uint8)
        prediction = (rng.random((6, 6, 6)) > 0.6).astype(np.uint8)
        builder.case(f"{number:03}", reference, prediction)
    builder.case("lost", box((6, 6, 6), at=1), None)
    builder.write()

    def text(**options):
        return score_predictions(builder.bundle, builder.predictions, builder.data, **options).to_json()

    first = text()
    assert text() == first
    assert text(jobs=2) == first
    monkeypatch.setenv("MEDOTTER_WORKERS", "always")
    assert text(jobs=2) == first
    with ThreadPoolExecutor(3) as executor:
        assert text(executor=executor) == first
    shuffled = json.loads(first)
    builder.manifest["test"].reverse()
    builder.write()
    again = json.loads(text())
    for document in (shuffled, again):
        document["bundle"]["files"].pop("manifest_test.json")
    assert again == shuffled


def test_results_match_their_contract(builder):
    from medomni.core import contracts

    two_regions(builder, partial=True)
    builder.case("001", box(), box())
    builder.case("002", box(label=2), box(label=7), dataset="DS_B")
    builder.case("003", box(label=2), None, dataset="DS_B")
    assert contracts.validate("results", score(builder)) == []


def test_instance_results_match_their_contract(tmp_path):
    from medomni.core import contracts

    builder = instance_builder(tmp_path)
    builder.case("001", box((12, 12)), box((12, 12), label=900))
    builder.case("002", box((12, 12)), None)
    assert contracts.validate("results", score(builder)) == []


def test_timings_lie_beside_the_results_and_not_in_them(builder, tmp_path):
    builder.case("001", box(), box())
    builder.write()
    results = score_predictions(builder.bundle, builder.predictions, builder.data)
    results.write(tmp_path / "results.json")
    timings = json.loads((tmp_path / "results.timings.json").read_text())
    assert list(timings["cases"]) == ["DS_A/001"]
    assert "seconds" not in results.to_json()


def test_a_broken_reference_scores_nothing_and_names_every_case(builder):
    """The bundle's fault is never a penalty."""
    first, second = builder.case("001", box(), box()), builder.case("002", box(), box())
    builder.case("003", box(), box())
    builder.write()
    (builder.data / f"{first}_seg.nii.gz").write_bytes(b"not an image")
    (builder.data / f"{second}_seg.nii.gz").unlink()
    with pytest.raises(ReferencesError) as caught:
        score(builder)
    assert [first in str(caught.value), second in str(caught.value)] == [True, True]
    assert len(caught.value.issues) == 2


def test_a_reference_off_the_grid_of_its_input_is_the_bundles_fault(builder):
    case = builder.case("001", box(), box())
    builder.write()
    write_nifti(builder.data / f"{case}_img.nii.gz", box((8, 8, 9)))
    with pytest.raises(ReferencesError) as caught:
        score(builder)
    assert caught.value.issues[0].code == "reference-grid"


def test_a_withheld_input_is_no_fault(builder):
    case = builder.case("001", box(), box())
    builder.write()
    (builder.data / f"{case}_img.nii.gz").unlink()
    assert score(builder)["headline"]["value"] == 1.0


def test_prepared_files_are_taken_as_a_whole_case_or_not_at_all(builder):
    """MB-068, reading A 7."""
    case = builder.case("001", box(), box(size=3))
    builder.write()
    prepared = builder.data / "_prepared"
    assert score(builder)["headline"]["value"] < 1
    write_nifti(prepared / f"{case}_img.nii.gz", box())
    with pytest.raises(ReferencesError) as caught:
        score(builder)
    assert caught.value.issues[0].code == "prepared-partial"
    write_nifti(prepared / f"{case}_seg.nii.gz", box(size=3))
    assert score(builder)["headline"]["value"] == 1.0


def test_no_expected_file_at_all_is_an_error(builder):
    builder.case("001", box(), None)
    with pytest.raises(ScoringError) as caught:
        score(builder)
    assert caught.value.code == "predictions-none"
    assert "DS_A/001.nii.gz" in caught.value.hint


@pytest.mark.parametrize(
    ("which", "code"), [("predictions", "predictions-missing"), ("data", "data-root-missing")]
)
def test_absent_folders_are_errors(builder, which, code):
    builder.case("001", box(), box())
    builder.write()
    folders = {"predictions": builder.predictions, "data": builder.data}
    folders[which] = builder.root / "nowhere"
    with pytest.raises(ScoringError) as caught:
        score_predictions(builder.bundle, folders["predictions"], folders["data"])
    assert caught.value.code == code


def test_an_unreadable_predictions_folder_is_an_error(builder, monkeypatch):
    builder.case("001", box(), box())
    builder.write()
    import os

    real = os.scandir

    def scandir(path):
        if Path(path).name == "DS_A":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(ScoringError) as caught:
        score_predictions(builder.bundle, builder.predictions, builder.data)
    assert caught.value.code == "predictions-unreadable"


@pytest.mark.parametrize("name", ["cls", "det", "vlm"])
def test_stubs_refuse_before_any_file_is_opened(builder, name):
    """MB-112."""
    builder.case("001", box(), box())
    builder.spec["task_type"] = name
    builder.write()
    with pytest.raises(NotImplementedError) as caught:
        score_predictions(builder.bundle, builder.root / "nowhere", builder.root / "nowhere")
    assert isinstance(caught.value, AdapterNotImplementedError)


def test_an_unknown_task_type_lists_the_known_ones(builder):
    """MB-071."""
    builder.case("001", box(), box())
    builder.spec["task_type"] = "instance_seg_4d"
    with pytest.raises(UnknownTaskTypeError) as caught:
        score(builder)
    assert "instance_seg_2d" in str(caught.value)


def test_the_task_type_defaults_to_seg():
    """MB-072."""
    assert resolve_task_type({}) == "seg"
    assert resolve_task_type({"task_type": "instance_seg_2d"}) == "instance_seg_2d"


@pytest.mark.parametrize(("trust", "code"), [(False, "bundle-code-untrusted"), (True, "bundle-code-sandbox")])
def test_bundle_local_code_is_refused_and_named_and_never_run(builder, trust, code):
    """MB-045, until there is a sandbox."""
    builder.case("001", box(), box())
    builder.write()
    (builder.bundle / "task.yaml").unlink()
    mark = builder.root / "ran"
    (builder.bundle / "remap.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    with pytest.raises(BundleCodeError) as caught:
        score_predictions(builder.bundle, builder.predictions, builder.data, trust_bundle_code=trust)
    assert caught.value.code == code
    assert "remap.py" in str(caught.value)
    assert not mark.exists()


def test_instance_metrics_count_objects_whatever_their_ids(tmp_path):
    """Traps 44 and 49; case IM-28."""
    builder = instance_builder(tmp_path)
    reference = np.zeros((12, 12), np.uint16)
    reference[1:4, 1:4], reference[6:9, 6:9] = 7, 1000
    prediction = np.where(reference == 7, 65535, np.where(reference == 1000, 256, 0)).astype(np.uint16)
    case = builder.case("001", reference, prediction)
    document = score(builder)
    row = document["cases"][0]["regions"]["nucleus"]
    assert [value_of(document, case, "nucleus", m) for m in ("f1", "aji", "pq")] == [1.0, 1.0, 1.0]
    assert (row["tp"], row["fp"], row["fn"], row["sq"], row["dq"]) == (2, 0, 0, 1.0, 1.0)


def test_an_image_without_objects_is_not_scored_by_default(tmp_path):
    """Trap 54."""
    builder = instance_builder(tmp_path)
    nothing = np.zeros((12, 12), np.uint16)
    empty = builder.case("001", nothing, nothing)
    builder.case("002", box((12, 12)), box((12, 12)))
    one_sided = builder.case("003", nothing, box((12, 12)))
    document = score(builder)
    assert cell_of(document, empty, "nucleus", "pq")["outcome"] == "not_scored:gt_empty_pred_empty"
    assert value_of(document, one_sided, "nucleus", "pq") == 0.0
    assert document["headline"]["n"] == 2
    assert document["headline"]["n_required"] == 1


def test_an_iou_of_exactly_the_threshold_is_no_match_by_default(tmp_path):
    """MB-085; trap 51."""
    builder = instance_builder(tmp_path)
    reference, prediction = np.zeros((6, 6), np.uint8), np.zeros((6, 6), np.uint8)
    reference[0, :3], prediction[0, 1:4] = 1, 1  # intersection 2, union 4
    case = builder.case("001", reference, prediction)
    assert value_of(score(builder), case, "nucleus", "f1") == 0.0
    builder.spec["match_rule"] = "ge"
    assert value_of(score(builder), case, "nucleus", "f1") == 1.0


def classes_builder(tmp_path: Path) -> tuple[BundleBuilder, str]:
    builder = instance_builder(tmp_path)
    builder.task["canonical_labels"] = builder.spec["eval_regions"] = {"tumor": [1], "immune": [2]}
    builder.task["main_region"] = builder.spec["main_region"] = "macro_avg"
    builder.spec["prediction_format"] = {"type": "instance_mask2d", "label_space": [0, 1, 2], "classes": True}
    reference = np.zeros((12, 12), np.uint16)
    reference[1:4, 1:4], reference[6:9, 6:9] = 7, 9
    case = builder.case("001", reference, reference)
    return builder, case


def test_several_regions_of_instances_need_class_files(tmp_path):
    builder, case = classes_builder(tmp_path)
    builder.write()
    (builder.data / f"{case}_seg.classes.json").write_text('{"7": 1, "9": 2}')
    side = builder.predictions / f"{case}.classes.json"
    side.write_text('{"7": 1, "9": 1}')
    document = score(builder)
    assert document["extra"] == []
    assert value_of(document, case, "tumor", "f1") == pytest.approx(2 / 3)
    assert value_of(document, case, "immune", "f1") == 0.0
    for text, code in (
        ('{"7": 1}', "classes-incomplete"),
        ('{"7": 1, "9": 3}', "classes-invalid"),
        ("[1]", "classes-invalid"),
        ('{"7": 1, "7": 2}', "classes-invalid"),
    ):
        side.write_text(text)
        assert score(builder)["invalid"][0]["code"] == code
    side.unlink()
    assert score(builder)["invalid"][0]["code"] == "classes-missing"


def test_a_class_file_may_list_ids_that_the_map_cannot_hold(tmp_path):
    builder, case = classes_builder(tmp_path)
    builder.write()
    (builder.data / f"{case}_seg.classes.json").write_text('{"7": 1, "9": 2, "70000": 1}')
    (builder.predictions / f"{case}.classes.json").write_text('{"7": 1, "9": 2, "99999999999": 2}')
    assert score(builder)["headline"]["value"] == 1.0


def test_several_regions_of_instances_without_classes_are_refused(tmp_path):
    builder, _ = classes_builder(tmp_path)
    del builder.spec["prediction_format"]["classes"]
    with pytest.raises(IssuesError) as caught:
        score(builder)
    assert [issue.code for issue in caught.value.issues] == ["instance-classes-missing"]


def test_dice_and_hd95_are_refused_for_instances(tmp_path):
    """MB-083."""
    builder = instance_builder(tmp_path, metrics=["f1", "dice"])
    builder.case("001", box((12, 12)), box((12, 12)))
    with pytest.raises(IssuesError) as caught:
        score(builder)
    assert caught.value.issues[0].code == "metric-unknown"


def test_an_rgb_mask_packs_ids_only_where_the_spec_says_so(tmp_path):
    """Trap 46."""
    from PIL import Image

    builder = instance_builder(tmp_path)
    reference = np.zeros((6, 6), np.uint16)
    reference[1:3, 1:3], reference[4:6, 4:6] = 300, 5
    case = builder.case("001", reference, None)
    packed = np.zeros((6, 6, 3), np.uint8)
    packed[..., 0], packed[..., 1] = reference % 256, reference // 256
    path = builder.predictions / f"{case}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(packed).save(path)
    assert score(builder)["invalid"][0]["case_id"] == case
    builder.spec["prediction_format"]["type"] = "instance_rgb24"
    assert value_of(score(builder), case, "nucleus", "pq") == 1.0


def test_the_spec_hash_changes_with_any_value_of_either_file_and_with_code(builder):
    builder.case("001", box(), box())
    builder.write()
    seen = {spec_hash(Bundle(builder.bundle))}
    builder.spec["hd95"]["percentile"] = 96
    seen.add(spec_hash(Bundle(builder.write().bundle)))
    builder.task["task"]["name"] = "Other"
    seen.add(spec_hash(Bundle(builder.write().bundle)))
    (builder.bundle / "scoring.py").write_text("x = 1\n")
    seen.add(spec_hash(Bundle(builder.bundle)))
    assert len(seen) == 4


def test_a_legacy_hash_is_shown_and_a_stale_mb1_hash_is_refused(builder):
    builder.case("001", box(), box())
    assert score(builder)["bundle"]["hash"] == "facbb5f45b72"
    builder.manifest |= {"hash_algorithm": "mb1", "hash_full": "0" * 64}
    with pytest.raises(IssuesError) as caught:
        score(builder)
    assert caught.value.issues[0].code == "hash-differs"


def test_a_multi_member_gzip_is_read_whole(builder):
    """Trap 38."""
    case = builder.case("001", box(), box())
    builder.write()
    path = builder.predictions / f"{case}.nii.gz"
    raw = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress(raw[:500]) + gzip.compress(raw[500:]))
    assert score(builder)["headline"]["value"] == 1.0


def test_every_error_says_where(builder):
    builder.case("001", box(), box())
    builder.spec["hd95"]["percentile"] = 0.95
    with pytest.raises(MedomniError) as caught:
        score(builder)
    assert "eval_spec.yaml" in str(caught.value)
    assert "hd95.percentile" in str(caught.value)
    assert "0.95" in str(caught.value)
