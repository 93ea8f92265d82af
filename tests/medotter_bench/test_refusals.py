"""Bundles and folders that must be refused, or told, and never end in a traceback or in a silent number."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bundle_builders import BundleBuilder, box, instance_builder
from medomni.core.errors import MedomniError
from medomni.core.issues import errors_of
from medotter_bench import checks, data_checks
from medotter_bench.bundle import Bundle
from medotter_bench.engine import score_predictions
from medotter_bench.errors import BundleCodeError


@pytest.fixture
def builder(tmp_path: Path) -> BundleBuilder:
    return BundleBuilder(tmp_path)


def score(builder: BundleBuilder) -> dict[str, Any]:
    builder.write()
    return score_predictions(builder.bundle, builder.predictions, builder.data).document


def told(builder: BundleBuilder) -> list[str]:
    """The errors of `bundle check`, with the data."""
    builder.write()
    bundle = Bundle(builder.bundle)
    task, spec, _ = checks.read_specs(bundle)
    issues = checks.check(bundle)
    if spec is not None:
        issues += data_checks.check_data(bundle, task, spec, data_root=builder.data)
    return [str(issue) for issue in errors_of(issues)]


def test_a_bundle_without_test_cases_is_refused(builder: BundleBuilder) -> None:
    builder.case("1", box(), box())
    builder.manifest["test"] = []
    with pytest.raises(MedomniError, match="test"):
        score(builder)
    assert told(builder)


def test_a_spec_without_metrics_is_refused_and_told(builder: BundleBuilder) -> None:
    del builder.spec["metrics"]
    builder.case("1", box(), box())
    with pytest.raises(MedomniError, match="metrics"):
        score(builder)
    assert any("metrics" in text for text in told(builder))


def test_a_threshold_that_nothing_can_pass_is_told_by_the_check(tmp_path: Path) -> None:
    builder = instance_builder(tmp_path, iou_threshold=1)
    builder.case("1", box((12, 12)), box((12, 12)))
    with pytest.raises(MedomniError, match="iou_threshold"):
        score(builder)
    assert any("iou_threshold" in text for text in told(builder))


def test_a_spacing_for_another_number_of_axes_is_told_by_the_check(builder: BundleBuilder) -> None:
    builder.spec["hd95"]["spacing"] = [1, 1]
    builder.case("1", box(), box())
    with pytest.raises(MedomniError, match=r"hd95\.spacing"):
        score(builder)
    assert any("hd95.spacing" in text for text in told(builder))


@pytest.mark.parametrize("classes", [3, [".json"], {"a": 1}, "../x", "/x", "a/b", ""])
def test_a_class_file_suffix_that_is_none_is_refused_and_told(tmp_path: Path, classes: Any) -> None:
    builder = instance_builder(tmp_path)
    builder.spec["prediction_format"]["classes"] = classes
    builder.case("1", box((12, 12)), box((12, 12)))
    with pytest.raises(MedomniError, match=r"prediction_format\.classes"):
        score(builder)
    assert any("prediction_format.classes" in text for text in told(builder))


@pytest.mark.parametrize("key", ["report_by_dataset", "report_by_tier"])
def test_a_breakdown_by_a_name_that_no_case_has_is_told(builder: BundleBuilder, key: str) -> None:
    """As for regions: a misspelt name would leave the table out without a word."""
    builder.spec["aggregation"][key] = ["nowhere"]
    builder.case("1", box(), box())
    builder.write()
    assert any("nowhere" in str(issue) for issue in checks.check(Bundle(builder.bundle)))


@pytest.mark.parametrize("name", ["remap.py", "scoring.py"])
def test_code_behind_a_dangling_link_is_code_that_is_missing(builder: BundleBuilder, name: str) -> None:
    """Without it the references would be taken as canonical."""
    builder.case("1", box(), box())
    builder.write()
    (builder.bundle / "task.yaml").unlink()
    (builder.bundle / name).symlink_to("nowhere.py")
    with pytest.raises(BundleCodeError, match=name):
        score_predictions(builder.bundle, builder.predictions, builder.data)


def test_a_stray_file_with_a_name_that_is_no_text_stops_no_scoring(builder: BundleBuilder) -> None:
    """It is listed like every other file that belongs to no case."""
    builder.case("1", box(), box())
    builder.write()
    try:
        Path(os.fsdecode(os.fsencode(builder.predictions) + b"/\xff.nii")).write_bytes(b"")
    except OSError:
        pytest.skip("this file system takes no such name")
    results = score_predictions(builder.bundle, builder.predictions, builder.data)
    assert results.headline["value"] == 1.0
    assert len(results.document["extra"]) == 1
    assert results.to_json()


def left_out(builder: BundleBuilder) -> BundleBuilder:
    """A table that leaves a missed structure out of the mean."""
    builder.spec["metrics"] = ["dice"]
    del builder.spec["hd95"], builder.spec["empty_structure"]["hd95"]
    builder.spec["empty_structure"]["dice"]["gt_nonempty_pred_empty"] = None
    return builder


def test_leaving_one_region_out_keeps_a_macro_average_from_ranking(builder: BundleBuilder) -> None:
    """The unit counts by its other region, and the missed one must not vanish from the mean unseen."""
    left_out(builder)
    regions = {"a": [1], "b": [2]}
    builder.task |= {"canonical_labels": regions, "label_remap": {"DS_A": {1: 1, 2: 2}}}
    builder.task["main_region"] = builder.spec["main_region"] = "macro_avg"
    builder.spec["eval_regions"] = regions
    builder.spec["prediction_format"]["label_space"] = [0, 1, 2]
    builder.spec["aggregation"]["headline"]["region"] = "macro_avg"
    reference = box()
    reference[0, 0, 0] = 2
    builder.case("1", reference, box())
    builder.case("2", reference, reference)
    head = score(builder)["headline"]
    assert head["n"] < head["n_required"]


def test_leaving_one_scan_of_a_patient_out_keeps_a_result_from_ranking(builder: BundleBuilder) -> None:
    """The patient counts by another scan, and the missed one must not vanish from its mean unseen."""
    left_out(builder)
    builder.case("1", box(), box(), patient_uid="p")
    builder.case("2", box(), np.zeros((8, 8, 8), np.uint8), patient_uid="p")
    head = score(builder)["headline"]
    assert head["n"] < head["n_required"]


def test_the_slot_of_a_case_is_in_the_effective_remap(builder: BundleBuilder) -> None:
    """A result shows every map that decided a number."""
    builder.case("1", box(label=4), box(), remap={"4": 1})
    document = score(builder)
    assert document["headline"]["value"] == 1.0
    assert '"4": 1' in str(document).replace("'", '"')


def test_ids_at_the_largest_value_of_their_type_are_noted_in_the_row(tmp_path: Path) -> None:
    """Trap 44: a map cut at 255 scores too low, and nothing else says why."""
    builder = instance_builder(tmp_path)
    reference = box((12, 12), label=255)
    builder.case("1", reference.astype(np.uint16), reference)
    assert "saturated" in str(score(builder))
