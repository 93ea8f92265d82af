"""One test per known trap of segmentation metrics; the numbers are those of the project's trap list."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from medotter_bench import metrics
from medotter_bench.errors import SpecError, VolumeError
from medotter_bench.metrics.surface import surface

BRATS_HD95 = {"gt_empty_pred_empty": 0.0, "gt_empty_pred_nonempty": 373.13, "gt_nonempty_pred_empty": 373.13}
BRATS_DICE = {"gt_empty_pred_empty": 1.0, "gt_empty_pred_nonempty": 0.0, "gt_nonempty_pred_empty": 0.0}


def box(shape: tuple[int, ...], *ranges: tuple[int, int]) -> Any:
    mask = np.zeros(shape, dtype=np.bool_)
    mask[tuple(slice(*limits) for limits in ranges)] = True
    return mask


def voxels(shape: tuple[int, ...], *indices: tuple[int, ...]) -> Any:
    mask = np.zeros(shape, dtype=np.bool_)
    for index in indices:
        mask[index] = True
    return mask


def table_of(reference: Any, prediction: Any) -> metrics.Contingency:
    return metrics.contingency(np.array(reference), np.array(prediction))


# Empty structures.


def test_trap_1_both_empty_takes_the_table_and_never_nan() -> None:
    empty = box((4, 4), (0, 0))
    assert metrics.dice(empty, empty) is None
    assert metrics.hd95(empty, empty, spacing=(1, 1)) is None
    assert metrics.resolve("dice", 0, 0, BRATS_DICE) == (1.0, "penalty:gt_empty_pred_empty")
    assert metrics.resolve("hd95", 0, 0, BRATS_HD95) == (0.0, "penalty:gt_empty_pred_empty")


def test_trap_2_a_false_positive_on_an_empty_reference_is_no_success() -> None:
    empty, found = box((4, 4), (0, 0)), box((4, 4), (1, 3), (1, 3))
    assert metrics.dice(empty, found) == 0.0
    assert metrics.resolve("dice", 0, 4, BRATS_DICE) == (0.0, "penalty:gt_empty_pred_nonempty")
    assert metrics.resolve("hd95", 0, 4, BRATS_HD95) == (373.13, "penalty:gt_empty_pred_nonempty")


def test_trap_3_a_missed_structure_stays_in_the_mean_as_a_number() -> None:
    one_case = metrics.hd95(
        voxels((5, 5, 9), (2, 2, 2)), voxels((5, 5, 9), (2, 2, 6)), spacing=(1.0, 1.0, 1.0)
    )
    missed = metrics.resolve("hd95", 1, 0, BRATS_HD95)
    assert (one_case, missed) == (4.0, (373.13, "penalty:gt_nonempty_pred_empty"))
    assert missed is not None and missed[0] is not None and one_case is not None
    assert (one_case + missed[0]) / 2 == pytest.approx(188.565)


def test_trap_4_hd95_of_one_empty_side_is_not_0() -> None:
    empty, found = box((4, 4), (0, 0)), box((4, 4), (1, 3), (1, 3))
    for pair in ((empty, found), (found, empty)):
        assert metrics.hd95(*pair, spacing=(1, 1)) is None
    table = metrics.default_penalties("hd95", diagonal=5.0)
    assert metrics.resolve("hd95", 4, 0, table) == (5.0, "penalty:gt_nonempty_pred_empty")


def test_trap_5_the_literal_penalty_is_used_on_any_grid() -> None:
    for literal in (373.13, 373.12866, 374):
        table = {**BRATS_HD95, "gt_nonempty_pred_empty": literal}
        assert metrics.resolve("hd95", 7, 0, table) == (literal, "penalty:gt_nonempty_pred_empty")
        assert metrics.worst("hd95", table, diagonal=9000.0) == max(literal, 373.13)


# Distances.


def test_trap_9_spacing_reaches_the_distance() -> None:
    reference, prediction = voxels((9, 9, 9), (4, 4, 2)), voxels((9, 9, 9), (4, 4, 4))
    assert metrics.hd95(reference, prediction, spacing=(1, 1, 2.5)) == 5.0


def test_trap_10_spacing_belongs_to_the_axes_in_array_order() -> None:
    along_x = voxels((9, 9, 9), (2, 4, 4)), voxels((9, 9, 9), (4, 4, 4))
    along_z = voxels((9, 9, 9), (4, 4, 4)), voxels((9, 9, 9), (4, 4, 5))
    assert metrics.hd95(*along_x, spacing=(1, 1, 5)) == 2.0
    assert metrics.hd95(*along_z, spacing=(1, 1, 5)) == 5.0
    assert metrics.hd95(*along_z, spacing=(5, 1, 1)) == 1.0


def test_trap_12_the_two_conventions_are_named_and_differ() -> None:
    reference = box((12, 40), (4, 8), (2, 8))
    prediction = reference | voxels((12, 40), (6, 39))
    directed = metrics.hd95(reference, prediction, spacing=(1, 1))
    assert directed == metrics.hd95(reference, prediction, spacing=(1, 1), method="directed_max")
    assert directed == pytest.approx(32 * 0.2)
    assert metrics.hd95(reference, prediction, spacing=(1, 1), method="pooled") == 0.0


def test_trap_13_distances_run_between_surfaces_and_not_over_interiors() -> None:
    reference = box((24, 16, 16), (1, 15), (1, 15), (1, 15))
    prediction = reference | box((24, 16, 16), (19, 20), (2, 12), (1, 13))
    assert metrics.hd95(reference, prediction, spacing=(1, 1, 1)) == 5.0


def test_trap_14_the_percentile_of_a_known_list_is_exact() -> None:
    # 21 pixels at distances 0 to 20: rank 19 of the sorted list.
    reference, prediction = voxels((21,), (0,)), box((21,), (0, 21))
    lines = np.zeros((3, 21), dtype=np.bool_), np.zeros((3, 21), dtype=np.bool_)
    lines[0][1], lines[1][1] = reference, prediction
    assert metrics.hd95(*lines, spacing=(1, 1)) == 19.0
    assert metrics.linear_percentile(np.array([0.0, 10.0]), 95) == 9.5


def test_trap_15_surface_voxels_have_a_face_neighbour_outside() -> None:
    # Only a corner neighbour of the centre is missing: the centre stays interior.
    mask = box((3, 3), (0, 3), (0, 3))
    mask[0, 0] = False
    assert not surface(np.pad(mask, 1))[2, 2]
    mask[0, 1] = False
    assert surface(np.pad(mask, 1))[2, 2]


def test_trap_16_voxels_at_the_edge_of_the_image_are_surface() -> None:
    full = np.ones((4, 4, 4), dtype=np.bool_)
    assert int(surface(full).sum()) == 64 - 8
    inner = box((4, 4, 4), (1, 3), (1, 3), (1, 3))
    assert metrics.hd95(full, inner, spacing=(1, 1, 1)) == pytest.approx(math.sqrt(3))


def test_trap_17_a_volume_of_one_slice_is_a_2d_image() -> None:
    reference, prediction = box((9, 9), (1, 8), (1, 8)), box((9, 9), (2, 7), (1, 5))
    flat = metrics.hd95(reference, prediction, spacing=(0.7, 1.3))
    for axis in range(3):
        spacing = [0.7, 1.3]
        spacing.insert(axis, 5.0)
        slices = np.expand_dims(reference, axis), np.expand_dims(prediction, axis)
        assert metrics.hd95(*slices, spacing=spacing) == flat


@pytest.mark.parametrize("percentile", [0, 0.95, 0.999, 100.5, -5, math.nan, math.inf, None, True, "95"])
def test_trap_18_percentile_is_a_number_from_1_to_100(percentile: Any) -> None:
    mask = box((4, 4), (1, 3), (1, 3))
    with pytest.raises(SpecError) as caught:
        metrics.hd95(mask, mask, spacing=(1, 1), percentile=percentile)
    assert caught.value.code == "metric-percentile"


def test_trap_19_percentiles_are_float64_and_take_long_lists() -> None:
    values = np.arange(2**24 + 2, dtype=np.float64)
    assert metrics.linear_percentile(values, 100) == 2**24 + 1
    assert metrics.linear_percentile(np.array([0.8, 0.8]), 95) == 0.8


def test_trap_20_no_distance_is_measured_to_an_empty_mask() -> None:
    empty, found = box((4, 4), (0, 0)), box((4, 4), (1, 3), (1, 3))
    for pair in ((empty, found), (found, empty), (empty, empty)):
        with pytest.raises(VolumeError) as caught:
            metrics.surface_distances(*pair, spacing=(1, 1))
        assert caught.value.code == "metric-empty"


# Instances.


def test_trap_44_ids_are_never_narrowed() -> None:
    for names in ((1, 257), (256, 512), (65536, 131072), (2**31 + 5, 2**32 + 5), (2**63, 2**64 - 1)):
        labels = np.array([[names[0], names[0], 0, names[1]]], dtype=np.uint64)
        table = metrics.contingency(labels, np.array([[1, 1, 0, 2]], dtype=np.uint8))
        assert table.reference_ids.tolist() == list(names)
        assert metrics.pq(metrics.match(table)) == 1.0
    # Keys such as (gt << 32 | pred) would run together here.
    crossed = metrics.contingency(
        np.array([[2**32, 1, 2**32]], dtype=np.uint64), np.array([[1, 2**32, 2**33]], dtype=np.uint64)
    )
    assert crossed.pair_intersection.tolist() == [1, 1, 1]


def test_trap_49_gaps_in_ids_mean_nothing() -> None:
    table = table_of([[3, 3, 7, 7, 1000, 1000]], [[9, 9, 5, 5, 600, 600]])
    found = metrics.match(table)
    assert [metrics.f1(found), metrics.pq(found), metrics.aji(table), metrics.aji_plus(table)] == [1.0] * 4
    assert found.pairs == ((3, 9), (7, 5), (1000, 600))


def test_trap_50_one_id_in_two_places_is_one_object_and_is_reported() -> None:
    labels = [[1, 1, 0, 0, 1, 1]]
    table = table_of(labels, [[4, 4, 0, 0, 5, 5]])
    assert len(table.reference_ids) == 1
    assert (metrics.match(table).tp, metrics.match(table).fp, metrics.match(table).fn) == (0, 2, 1)
    assert metrics.disconnected_ids(np.array(labels)) == 1


def test_trap_51_an_iou_exactly_at_the_threshold_matches_only_under_ge() -> None:
    half = table_of([[1, 1, 1, 1]], [[1, 1, 0, 0]])
    assert (metrics.match(half).tp, metrics.match(half, rule="ge").tp) == (0, 1)
    for hits, threshold in ((7, 0.7), (3, 0.3), (6, 0.6), (9, 0.9)):
        table = table_of([[1] * 10], [[2] * hits + [0] * (10 - hits)])
        assert metrics.match(table, threshold=threshold).tp == 0
        assert metrics.match(table, threshold=threshold, rule="ge").tp == 1


def test_trap_52_under_ge_two_predictions_never_match_one_reference() -> None:
    found = metrics.match(table_of([[1, 1, 0, 0]], [[1, 2, 0, 0]]), rule="ge")
    assert (found.tp, found.fp, found.fn, found.iou_sum) == (1, 1, 0, 0.5)


def test_trap_53_thresholds_below_one_half_are_assigned_one_to_one() -> None:
    table = table_of([[1, 1, 1, 1, 2, 2, 2, 2]], [[5, 5, 6, 6, 6, 6, 7, 7]])
    found = metrics.match(table, threshold=0.2)
    assert (found.tp, found.fp, found.fn) == (2, 1, 0)
    assert found.iou_sum == 1.0
    assert found.pairs == ((1, 5), (2, 7))
    assert metrics.match(table, threshold=0.49).tp == 2


def test_trap_54_no_object_at_all_is_no_number_and_the_table_decides() -> None:
    nothing = table_of([[0, 0]], [[0, 0]])
    found = metrics.match(nothing)
    values = [metrics.f1(found), metrics.dq(found), metrics.sq(found), metrics.pq(found)]
    assert [*values, metrics.aji(nothing), metrics.aji_plus(nothing)] == [None] * 6
    table = metrics.default_penalties("pq", diagonal=1.0)
    assert metrics.resolve("pq", 0, 0, table) == (None, "not_scored:gt_empty_pred_empty")


def test_trap_55_objects_on_one_side_only_score_0() -> None:
    for maps in (([[1, 1, 0]], [[0, 0, 0]]), ([[0, 0, 0]], [[0, 2, 2]])):
        table = table_of(*maps)
        found = metrics.match(table)
        values = [metrics.f1(found), metrics.dq(found), metrics.sq(found), metrics.pq(found)]
        assert [*values, metrics.aji(table), metrics.aji_plus(table)] == [0.0] * 6


def test_trap_56_aji_may_take_a_prediction_twice_and_aji_plus_may_not() -> None:
    table = table_of([[1, 1, 1, 2, 2, 2]], [[5, 5, 5, 5, 5, 5]])
    assert metrics.aji(table) == 6 / 12
    assert metrics.aji_plus(table) == 3 / 9


def test_trap_57_a_missed_reference_joins_the_union_of_aji() -> None:
    table = table_of([[1, 1, 0, 2, 2, 2]], [[1, 1, 0, 0, 0, 0]])
    assert metrics.aji(table) == 2 / 5


def test_trap_58_aji_ties_go_to_the_larger_intersection_then_to_the_smaller_id() -> None:
    # IoU 2/6 and 3/9 tie; three shared pixels win, and prediction 4 stays unused.
    reference = [[1, 1, 1, 1, 1, 0, 0, 0, 0, 0]]
    for small, large in ((4, 9), (9, 4)):
        prediction = [[small, small, large, large, large, large, large, large, large, small]]
        assert metrics.aji(table_of(reference, prediction)) == 3 / (9 + 3)
    # Reference 1 overlaps 3 and 8 alike and takes 3; reference 2 has one partner only.
    assert metrics.aji(table_of([[1, 1, 2, 0]], [[3, 8, 3, 8]])) == 2 / (3 + 2 + 2)
    assert metrics.aji(table_of([[1, 1, 2, 0]], [[8, 3, 8, 3]])) == 2 / (3 + 2)


def test_trap_59_quality_has_no_epsilon() -> None:
    found = metrics.match(table_of([[1, 1, 1, 0]], [[1, 1, 0, 0]]))
    assert metrics.sq(found) == metrics.pq(found) == 2 / 3
    same = metrics.match(table_of([[1, 1]], [[7, 7]]))
    assert metrics.sq(same) == metrics.pq(same) == metrics.f1(same) == 1.0


def test_trap_61_a_volume_is_one_table_and_not_a_stack_of_slices() -> None:
    reference = np.ones((2, 2, 6), dtype=np.int32)
    prediction = np.ones((2, 2, 6), dtype=np.int32)
    prediction[..., 2:] = 2
    whole = metrics.match(metrics.contingency(reference, prediction))
    assert (whole.tp, whole.fp, whole.fn) == (1, 1, 0)
    slices = [metrics.match(metrics.contingency(reference[..., z], prediction[..., z])).tp for z in range(6)]
    assert sum(slices) == 6
