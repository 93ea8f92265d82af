"""What metrics refuse, and with which code; small exact values that the vectors do not hold."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from medomni.core.errors import MissingExtraError
from medotter_bench import metrics
from medotter_bench.errors import MedotterError, SpecError, VolumeError
from medotter_bench.metrics import overlap
from medotter_bench.metrics.surface import surface


def square(shape: tuple[int, ...] = (6, 6), at: int = 1) -> Any:
    mask = np.zeros(shape, dtype=np.bool_)
    mask[tuple(slice(at, at + 3) for _ in shape)] = True
    return mask


EMPTY = np.zeros((6, 6), dtype=np.bool_)
LABELS = square().astype(np.int32)
TABLE = metrics.contingency(LABELS, LABELS)
NUMBERS = {"gt_empty_pred_empty": 1.0, "gt_empty_pred_nonempty": 0.0, "gt_nonempty_pred_empty": 0.0}

REFUSED: list[tuple[str, type[MedotterError], Callable[[], object]]] = [
    ("metric-dtype", VolumeError, lambda: metrics.dice(LABELS, square())),
    ("metric-dtype", VolumeError, lambda: metrics.dice(square(), square().astype(float))),
    ("metric-dtype", VolumeError, lambda: metrics.dice([[True]], square())),
    ("metric-dtype", VolumeError, lambda: metrics.hd95(LABELS, LABELS, spacing=(1, 1))),
    ("metric-dtype", VolumeError, lambda: surface(LABELS)),
    ("metric-dtype", VolumeError, lambda: metrics.contingency(square(), square())),
    ("metric-dtype", VolumeError, lambda: metrics.contingency(LABELS, LABELS.astype(float))),
    ("metric-dtype", VolumeError, lambda: metrics.disconnected_ids(LABELS.astype(complex))),
    ("metric-shape", VolumeError, lambda: metrics.dice(square(), square((6, 7)))),
    ("metric-shape", VolumeError, lambda: metrics.dice(square((4, 4, 4)), square((4, 4, 4, 1)))),
    ("metric-shape", VolumeError, lambda: metrics.dice(np.array(True), np.array(True))),
    ("metric-shape", VolumeError, lambda: metrics.dice(EMPTY[:0], EMPTY[:0])),
    ("metric-shape", VolumeError, lambda: metrics.hd95(EMPTY, EMPTY[:5], spacing=(1, 1))),
    ("metric-shape", VolumeError, lambda: metrics.contingency(LABELS, LABELS.T[:5])),
    ("metric-shape", VolumeError, lambda: metrics.contingency(LABELS, LABELS[..., None])),
    ("metric-negative-id", VolumeError, lambda: metrics.contingency(LABELS, -LABELS)),
    ("metric-negative-id", VolumeError, lambda: metrics.disconnected_ids(-LABELS)),
    (
        "metric-empty",
        VolumeError,
        lambda: metrics.surface_distances(square(), EMPTY, spacing=(1, 1)),
    ),
    ("metric-empty", VolumeError, lambda: metrics.surface_distances(EMPTY, EMPTY, spacing=(1, 1))),
    ("metric-empty", VolumeError, lambda: metrics.linear_percentile(np.empty(0), 95)),
    ("metric-values", VolumeError, lambda: metrics.linear_percentile(np.array([1.0, math.nan]), 95)),
    ("metric-method", SpecError, lambda: metrics.hd95(EMPTY, EMPTY, spacing=(1, 1), method="max")),
    ("metric-rule", SpecError, lambda: metrics.match(TABLE, rule=">")),
    ("metric-count", SpecError, lambda: metrics.dice_from_counts(-1, 0, 0)),
    ("metric-count", SpecError, lambda: metrics.dice_from_counts(2, 3, 4)),
    ("metric-count", SpecError, lambda: metrics.dice_from_counts(2, 3, 3)),
    ("metric-count", SpecError, lambda: metrics.state(1.5, 0)),  # type: ignore[arg-type]
    ("metric-count", SpecError, lambda: metrics.state(0, True)),
    ("metric-unknown", SpecError, lambda: metrics.resolve("iou", 0, 0, NUMBERS)),
    ("metric-unknown", SpecError, lambda: metrics.default_penalties("dsc", diagonal=1.0)),
    ("metric-unknown", SpecError, lambda: metrics.worst("hd", NUMBERS)),
    ("metric-penalty", SpecError, lambda: metrics.resolve("dice", 0, 0, {})),
    (
        "metric-penalty",
        SpecError,
        lambda: metrics.resolve("dice", 0, 0, {"gt_empty_pred_empty": math.nan}),
    ),
    (
        "metric-penalty",
        SpecError,
        lambda: metrics.worst("dice", {"gt_nonempty_pred_empty": "0"}),  # type: ignore[dict-item]
    ),
    ("metric-penalty", SpecError, lambda: metrics.worst("hd95", {})),
    ("metric-penalty", SpecError, lambda: metrics.worst("hd95", {}, diagonal=math.inf)),
    ("metric-penalty", SpecError, lambda: metrics.default_penalties("hd95", diagonal=0.0)),
]


@pytest.mark.parametrize(("code", "kind", "call"), REFUSED)
def test_bad_input_is_a_typed_error_with_its_code(
    code: str, kind: type[MedotterError], call: Callable[[], object]
) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.code == code
    assert caught.value.what


@pytest.mark.parametrize(
    "spacing",
    [
        (1,),
        (1, 1, 1),
        (0, 1),
        (-1, 1),
        (math.nan, 1),
        (math.inf, 1),
        (True, 1),
        ("1", 1),
        (None, 1),
        (1e-200, 1),
        (1e200, 1),
        (10**400, 1),
        None,
        1.0,
        "11",
        ((1, 1), (1, 1)),
    ],
)
def test_spacing_is_one_finite_positive_number_per_axis(spacing: Any) -> None:
    for mask in (square(), EMPTY):
        with pytest.raises(SpecError) as caught:
            metrics.hd95(mask, mask, spacing=spacing)
        assert caught.value.code == "metric-spacing"


@pytest.mark.parametrize("threshold", [0, -0.5, 1.01, math.nan, math.inf, True, "0.5", None])
def test_threshold_is_a_number_above_0_and_up_to_1(threshold: Any) -> None:
    for rule in metrics.RULES:
        with pytest.raises(SpecError) as caught:
            metrics.match(TABLE, threshold=threshold, rule=rule)
        assert caught.value.code == "metric-threshold"


def test_threshold_1_is_for_rule_ge_alone_since_no_iou_is_above_1() -> None:
    assert metrics.match(TABLE, threshold=1, rule="ge").tp == 1
    with pytest.raises(SpecError, match=r"rule 'gt'"):
        metrics.match(TABLE, threshold=1.0)


def test_numpy_numbers_are_numbers() -> None:
    spacing = np.array([2, 2], dtype=np.float32)
    value = metrics.hd95(square(), square(at=2), spacing=spacing, percentile=np.int64(100))  # type: ignore[arg-type]
    assert value == pytest.approx(math.sqrt(8))
    assert metrics.dice_from_counts(np.int64(4), np.uint8(4), np.int32(2)) == 0.5  # type: ignore[arg-type]
    assert overlap.whole_count(np.uint64(2**63), name="n") == 2**63


def test_dice_from_counts_stays_exact_beyond_2_to_the_53() -> None:
    assert metrics.dice_from_counts(2**60, 2**60 + 2, 2**59) == 2**60 / (2**61 + 2)
    assert metrics.dice_from_counts(0, 0, 0) is None
    assert metrics.dice(EMPTY, EMPTY) is None


def test_one_voxel_of_one_voxel_is_at_distance_0() -> None:
    voxel = np.ones((1, 1, 1), dtype=np.bool_)
    forth, back = metrics.surface_distances(voxel, voxel, spacing=(1, 2, 3))
    assert forth.tolist() == back.tolist() == [0.0]
    assert metrics.hd95(voxel, voxel, spacing=(1, 2, 3)) == 0.0
    assert metrics.squeeze_spacing((1, 1, 1), spacing=(1, 2, 3)) == ((1,), (1.0,))


def test_squeeze_spacing_drops_axes_of_length_1_with_their_spacing() -> None:
    assert metrics.squeeze_spacing((1, 5, 1, 4), spacing=(9, 2, 8, 3)) == ((5, 4), (2.0, 3.0))


def test_grid_diagonal_of_a_brats_volume_is_the_published_penalty() -> None:
    assert metrics.grid_diagonal((240, 240, 155), spacing=(1, 1, 1)) == pytest.approx(373.13, abs=0.005)
    assert metrics.grid_diagonal((3, 4, 1), spacing=(1, 1, 7)) == 5.0


def test_distances_come_in_c_order_of_the_surface_voxels() -> None:
    reference = np.zeros((1, 8), dtype=np.bool_)
    prediction = reference.copy()
    reference[0, [0, 3, 7]] = True
    prediction[0, 3] = True
    forth, back = metrics.surface_distances(reference, prediction, spacing=(1, 2))
    assert forth.tolist() == [6.0, 0.0, 8.0]
    assert back.tolist() == [0.0]


def test_equally_long_offsets_take_the_smallest_rounded_length() -> None:
    # At 0.7 mm (5, 0) gives 3.5 and (3, 4) gives 3.4999999999999996.
    reference = np.zeros((6, 5), dtype=np.bool_)
    prediction = reference.copy()
    reference[0, 0] = True
    prediction[[5, 3], [0, 4]] = True
    forth, _ = metrics.surface_distances(reference, prediction, spacing=(0.7, 0.7))
    assert forth.tolist() == [3.4999999999999996]


def test_pooled_may_exceed_directed_max_by_interpolation() -> None:
    reference = np.zeros(21, dtype=np.bool_)
    prediction = reference.copy()
    reference[[0, 10]] = True
    prediction[[10, 20]] = True
    assert metrics.hd95(reference, prediction, spacing=(1,)) == 9.5
    assert metrics.hd95(reference, prediction, spacing=(1,), method="pooled") == 10.0


def test_metrics_leave_their_inputs_alone() -> None:
    reference, prediction = square(), square(at=2)
    for array in (reference, prediction):
        array.flags.writeable = False
    metrics.hd95(reference, prediction, spacing=(1, 1))
    labels = reference.astype(np.uint16)
    labels.flags.writeable = False
    metrics.contingency(labels, labels)
    assert metrics.disconnected_ids(labels) == 0


def test_table_keeps_the_whole_range_of_64_bit_ids() -> None:
    reference = np.array([[1, 2**64 - 1]], dtype=np.uint64)
    prediction = np.array([[2**63 - 1, 5]], dtype=np.int64)
    table = metrics.contingency(reference, prediction)
    assert metrics.match(table).pairs == ((1, 2**63 - 1), (2**64 - 1, 5))
    assert table.reference_ids.dtype == np.uint64


def test_maps_without_background_lose_no_object() -> None:
    table = metrics.contingency(np.array([[4, 9]]), np.array([[7, 7]]))
    assert (table.reference_ids.tolist(), table.prediction_ids.tolist()) == ([4, 9], [7])
    assert (table.pair_intersection.tolist(), table.pair_union.tolist()) == ([1, 1], [2, 2])


def test_of_equal_iou_sums_aji_plus_takes_the_larger_intersection() -> None:
    # 2/6 and 3/9: the same IoU, so the second partner decides by its three shared pixels.
    reference = np.array([[1, 1, 1, 1, 1, 0, 0, 0, 0]])
    prediction = np.array([[2, 2, 3, 3, 3, 3, 3, 3, 3]])
    table = metrics.contingency(reference, prediction)
    assert (table.pair_intersection / table.pair_union).tolist() == [2 / 5, 3 / 9]
    prediction = np.array([[2, 2, 3, 3, 3, 3, 3, 3, 3, 2]])
    reference = np.array([[1, 1, 1, 1, 1, 0, 0, 0, 0, 0]])
    table = metrics.contingency(reference, prediction)
    assert (table.pair_intersection / table.pair_union).tolist() == [2 / 6, 3 / 9]
    assert metrics.aji_plus(table) == 3 / (5 + 10 - 3)


def test_most_matches_come_before_the_iou_sum() -> None:
    # Reference 1 fits prediction 5 best, but only giving 5 to reference 2 matches both.
    reference = np.array([[1, 1, 1, 1, 1, 1, 2, 2]])
    prediction = np.array([[6, 6, 5, 5, 5, 5, 5, 0]])
    found = metrics.match(metrics.contingency(reference, prediction), threshold=0.1)
    assert found.pairs == ((1, 6), (2, 5))
    assert metrics.match(metrics.contingency(reference, prediction), threshold=0.35).pairs == ((1, 5),)


def test_disconnected_ids_counts_ids_and_not_parts() -> None:
    labels = np.array([[1, 0, 1, 0, 1], [2, 2, 0, 3, 0], [0, 2, 0, 0, 3]])
    assert metrics.disconnected_ids(labels) == 2
    assert metrics.disconnected_ids(np.array([1, 0, 1])) == 1
    assert metrics.disconnected_ids(np.zeros((2, 2), dtype=np.uint8)) == 0


@pytest.mark.parametrize("metric", metrics.METRICS)
def test_default_penalties_name_every_state_in_order(metric: str) -> None:
    table = metrics.default_penalties(metric, diagonal=10.0)
    assert tuple(table) == metrics.STATES
    expected = {"dice": [1.0, 0.0, 0.0], "hd95": [0.0, 10.0, 10.0]}.get(metric, [None, 0.0, 0.0])
    assert list(table.values()) == expected
    assert metrics.worst(metric, table) == (10.0 if metric == "hd95" else 0.0)


def test_resolve_gives_the_literal_number_and_the_state() -> None:
    table = {"gt_empty_pred_empty": 0, "gt_empty_pred_nonempty": None, "gt_nonempty_pred_empty": 373.13}
    assert metrics.resolve("hd95", 3, 4, table) is None
    assert metrics.resolve("hd95", 0, 0, table) == (0.0, "penalty:gt_empty_pred_empty")
    assert metrics.resolve("hd95", 0, 4, table) == (None, "not_scored:gt_empty_pred_nonempty")
    assert metrics.resolve("hd95", 3, 0, table) == (373.13, "penalty:gt_nonempty_pred_empty")


@pytest.mark.parametrize(
    ("metric", "only_prediction", "only_reference", "expected"),
    [
        ("dice", 0.0, 0.0, 0.0),
        ("dice", 0.2, -1.0, -1.0),
        ("dice", None, None, 0.0),
        ("pq", None, 0.5, 0.5),
        ("pq", 0.3, 0.5, 0.3),
        ("hd95", 100.0, 373.13, 373.13),
        ("hd95", 400.0, None, 400.0),
        ("hd95", None, None, 77.0),
    ],
)
def test_missing_prediction_takes_the_worst_one_sided_penalty(
    metric: str, only_prediction: float | None, only_reference: float | None, expected: float
) -> None:
    table = {
        "gt_empty_pred_empty": 1000.0 if metric == "hd95" else -1000.0,
        "gt_empty_pred_nonempty": only_prediction,
        "gt_nonempty_pred_empty": only_reference,
    }
    assert metrics.worst(metric, table, diagonal=77.0) == expected


def test_metric_table_describes_every_metric_in_one_line() -> None:
    assert set(metrics.METRICS) == set(metrics.HIGHER_IS_BETTER)
    assert [name for name, info in metrics.METRICS.items() if info.kind == "semantic"] == ["dice", "hd95"]
    for name, info in metrics.METRICS.items():
        assert info.higher_is_better == metrics.HIGHER_IS_BETTER[name]
        assert info.description and "\n" not in info.description
        assert info.range == ((0.0, None) if name == "hd95" else (0.0, 1.0))


def test_importing_the_metrics_loads_no_scipy() -> None:
    code = "import sys, medotter_bench.metrics; raise SystemExit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda: metrics.hd95(square(), square(at=2), spacing=(1, 1)),
        lambda: metrics.aji_plus(metrics.contingency(np.array([1, 1, 2]), np.array([1, 2, 2]))),
        lambda: metrics.disconnected_ids(LABELS),
    ],
)
def test_without_scipy_the_error_names_the_extra(
    call: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(MissingExtraError, match="scipy") as caught:
        call()
    assert 'pip install "medomni[imaging]"' in caught.value.hint
