"""Laws that every metric keeps, on random inputs."""

from __future__ import annotations

import math
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from medotter_bench import metrics

LAW = settings(max_examples=60, deadline=None)
SIZES = st.sampled_from([0.5, 0.7, 0.8, 1.0, 1.3, 2.5])
PERCENTILES = st.sampled_from([1, 37.5, 50, 95, 100])
METHODS = st.sampled_from(metrics.METHODS)


@st.composite
def mask_pairs(draw: st.DrawFn, min_side: int = 1) -> tuple[Any, Any, tuple[float, ...]]:
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=min_side, max_side=6))
    reference, prediction = (draw(hnp.arrays(np.bool_, shape)) for _ in range(2))
    assume(reference.any() and prediction.any())
    return reference, prediction, tuple(draw(SIZES) for _ in shape)


@st.composite
def label_pairs(draw: st.DrawFn) -> tuple[Any, Any]:
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=6))
    ids = st.integers(0, 5)
    return tuple(draw(hnp.arrays(np.uint8, shape, elements=ids)) for _ in range(2))  # type: ignore[return-value]


def higher_percentile(values: Any, q: float) -> float:
    return float(np.sort(values)[math.ceil((len(values) - 1) * q / 100)])


@LAW
@given(mask_pairs(), PERCENTILES, METHODS)
def test_dice_and_hd95_are_symmetric(pair: tuple[Any, Any, Any], q: float, method: str) -> None:
    a, b, spacing = pair
    assert metrics.dice(a, b) == metrics.dice(b, a)
    forth = metrics.hd95(a, b, spacing=spacing, percentile=q, method=method)
    assert forth == metrics.hd95(b, a, spacing=spacing, percentile=q, method=method)


@LAW
@given(mask_pairs(), PERCENTILES, METHODS)
def test_a_mask_against_itself_is_perfect(pair: tuple[Any, Any, Any], q: float, method: str) -> None:
    mask, _, spacing = pair
    assert metrics.dice(mask, mask.copy()) == 1.0
    assert metrics.hd95(mask, mask.copy(), spacing=spacing, percentile=q, method=method) == 0.0


@LAW
@given(mask_pairs(), st.sampled_from([0.25, 2.0, 3.0, 1 / 3]))
def test_hd95_scales_with_the_spacing(pair: tuple[Any, Any, Any], factor: float) -> None:
    a, b, spacing = pair
    value = metrics.hd95(a, b, spacing=spacing)
    scaled = metrics.hd95(a, b, spacing=[factor * size for size in spacing])
    assert value is not None
    assert scaled == pytest.approx(factor * value, rel=1e-13, abs=0)


@LAW
@given(mask_pairs(min_side=2), METHODS, st.integers(1, 3))
def test_hd95_and_dice_ignore_padding_with_background(
    pair: tuple[Any, Any, Any], method: str, width: int
) -> None:
    a, b, spacing = pair
    padded = np.pad(a, (width, 1)), np.pad(b, (width, 1))
    assert metrics.dice(*padded) == metrics.dice(a, b)
    value = metrics.hd95(a, b, spacing=spacing, method=method)
    assert metrics.hd95(*padded, spacing=spacing, method=method) == value


@LAW
@given(mask_pairs(), METHODS)
def test_hd95_ignores_cropping_to_the_objects(pair: tuple[Any, Any, Any], method: str) -> None:
    a, b, spacing = (np.pad(pair[0], 2), np.pad(pair[1], 2), pair[2])
    used = np.argwhere(a | b)
    # One background voxel stays on each side, so that no axis of length 1 appears and is dropped.
    box = tuple(slice(low - 1, high + 2) for low, high in zip(used.min(0), used.max(0), strict=True))
    value = metrics.hd95(a, b, spacing=spacing, method=method)
    assert metrics.hd95(a[box], b[box], spacing=spacing, method=method) == value


@LAW
@given(mask_pairs(), METHODS, st.data())
def test_hd95_and_dice_ignore_flipped_axes(pair: tuple[Any, Any, Any], method: str, data: Any) -> None:
    a, b, spacing = pair
    axis = data.draw(st.integers(0, a.ndim - 1))
    flipped = np.flip(a, axis), np.flip(b, axis)
    assert metrics.dice(*flipped) == metrics.dice(a, b)
    value = metrics.hd95(a, b, spacing=spacing, method=method)
    assert metrics.hd95(*flipped, spacing=spacing, method=method) == value


@LAW
@given(mask_pairs(), METHODS, st.data())
def test_hd95_follows_the_axes_with_their_spacing(pair: tuple[Any, Any, Any], method: str, data: Any) -> None:
    a, b, spacing = pair
    axes = data.draw(st.permutations(range(a.ndim)))
    turned = metrics.hd95(
        a.transpose(axes), b.transpose(axes), spacing=[spacing[axis] for axis in axes], method=method
    )
    # The axes add up in another order, so the last bit may differ.
    assert turned == pytest.approx(metrics.hd95(a, b, spacing=spacing, method=method), rel=1e-14, abs=0)


@LAW
@given(mask_pairs(), PERCENTILES)
def test_pooled_hd95_stays_below_the_directed_percentiles_without_interpolation(
    pair: tuple[Any, Any, Any], q: float
) -> None:
    a, b, spacing = pair
    forth, back = metrics.surface_distances(a, b, spacing=spacing)
    pooled = metrics.hd95(a, b, spacing=spacing, percentile=q, method="pooled")
    assert pooled is not None
    assert pooled <= max(higher_percentile(forth, q), higher_percentile(back, q))


@LAW
@given(mask_pairs())
def test_both_methods_agree_at_percentile_100_and_no_percentile_exceeds_it(
    pair: tuple[Any, Any, Any],
) -> None:
    a, b, spacing = pair
    values = [
        metrics.hd95(a, b, spacing=spacing, percentile=q, method=method)
        for method in metrics.METHODS
        for q in (1, 50, 95, 100)
    ]
    finite = [value for value in values if value is not None]
    assert len(finite) == 8
    assert finite[3] == finite[7] == max(finite)
    assert finite[:4] == sorted(finite[:4])
    assert finite[4:] == sorted(finite[4:])
    assert max(finite) <= metrics.grid_diagonal(a.shape, spacing=spacing)


@LAW
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=40), st.floats(1, 100))
def test_percentile_is_that_of_numpy_and_never_leaves_the_values(values: list[float], q: float) -> None:
    ours = metrics.linear_percentile(np.array(values), q)
    assert ours == pytest.approx(float(np.percentile(values, q)), rel=1e-9, abs=1e-9)
    assert min(values) <= ours <= max(values)


@LAW
@given(label_pairs(), st.sampled_from([0.1, 0.3, 0.5, 0.7]), st.sampled_from(metrics.RULES))
def test_f1_and_pq_are_symmetric(pair: tuple[Any, Any], threshold: float, rule: str) -> None:
    a, b = pair
    forth = metrics.match(metrics.contingency(a, b), threshold=threshold, rule=rule)
    back = metrics.match(metrics.contingency(b, a), threshold=threshold, rule=rule)
    assert (forth.tp, forth.fp, forth.fn, forth.iou_sum) == (back.tp, back.fn, back.fp, back.iou_sum)
    assert (metrics.f1(forth), metrics.pq(forth)) == (metrics.f1(back), metrics.pq(back))


@LAW
@given(label_pairs(), st.sampled_from([0.1, 0.3, 0.5, 0.7]), st.sampled_from(metrics.RULES), st.randoms())
def test_permuting_ids_changes_no_number(
    pair: tuple[Any, Any], threshold: float, rule: str, random: Any
) -> None:
    names = random.sample([1, 2, 255, 256, 257, 65535, 65536, 2**31 + 5, 2**40, 2**64 - 1], 10)
    lookups = [np.array([0, *names[:5]], dtype=np.uint64), np.array([0, *names[5:]], dtype=np.uint64)]
    before = metrics.contingency(*pair)
    after = metrics.contingency(*(lookup[labels] for lookup, labels in zip(lookups, pair, strict=True)))
    numbers = [
        (found.tp, found.fp, found.fn, found.iou_sum)
        for found in (metrics.match(table, threshold=threshold, rule=rule) for table in (before, after))
    ]
    assert numbers[0] == numbers[1]
    assert metrics.aji_plus(before) == metrics.aji_plus(after)


@LAW
@given(label_pairs(), st.data())
def test_order_preserving_renaming_changes_no_aji(pair: tuple[Any, Any], data: Any) -> None:
    steps = data.draw(st.lists(st.integers(1, 2**60), min_size=5, max_size=5))
    lookup = np.array([0, *np.cumsum(steps)], dtype=np.uint64)
    before, after = metrics.contingency(*pair), metrics.contingency(lookup[pair[0]], lookup[pair[1]])
    assert metrics.aji(before) == metrics.aji(after)


@LAW
@given(label_pairs(), st.data())
def test_instance_metrics_ignore_flips_padding_and_memory_order(pair: tuple[Any, Any], data: Any) -> None:
    axis = data.draw(st.integers(0, pair[0].ndim - 1))
    changed = [np.asfortranarray(np.pad(np.flip(labels, axis), 1)) for labels in pair]
    tables = metrics.contingency(*pair), metrics.contingency(*changed)
    assert metrics.match(tables[0]) == metrics.match(tables[1])
    assert metrics.aji(tables[0]) == metrics.aji(tables[1])
    assert metrics.disconnected_ids(pair[0]) == metrics.disconnected_ids(changed[0])


@LAW
@given(label_pairs())
def test_a_label_map_against_itself_is_perfect_or_holds_nothing(pair: tuple[Any, Any]) -> None:
    table = metrics.contingency(pair[0], pair[0])
    found = metrics.match(table)
    expected = 1.0 if pair[0].any() else None
    values = [metrics.f1(found), metrics.dq(found), metrics.sq(found), metrics.pq(found)]
    assert [*values, metrics.aji(table), metrics.aji_plus(table)] == [expected] * 6


@LAW
@given(label_pairs(), st.sampled_from([0.01, 0.2, 0.5, 0.9]), st.sampled_from(metrics.RULES))
def test_a_matcher_never_uses_an_instance_twice(pair: tuple[Any, Any], threshold: float, rule: str) -> None:
    table = metrics.contingency(*pair)
    found = metrics.match(table, threshold=threshold, rule=rule)
    references, predictions = [[pair[side] for pair in found.pairs] for side in (0, 1)]
    assert len(set(references)) == len(references) == found.tp
    assert len(set(predictions)) == len(predictions)
    assert found.tp + found.fn == len(table.reference_ids)
    assert found.tp + found.fp == len(table.prediction_ids)


@LAW
@given(label_pairs())
def test_table_areas_and_overlaps_are_pixel_counts(pair: tuple[Any, Any]) -> None:
    table = metrics.contingency(*pair)
    assert int(table.reference_areas.sum()) == np.count_nonzero(pair[0])
    assert int(table.prediction_areas.sum()) == np.count_nonzero(pair[1])
    assert int(table.pair_intersection.sum()) == np.count_nonzero((pair[0] > 0) & (pair[1] > 0))


@LAW
@given(label_pairs())
def test_every_instance_score_is_from_0_to_1(pair: tuple[Any, Any]) -> None:
    table = metrics.contingency(*pair)
    found = metrics.match(table, threshold=0.2)
    values = [metrics.f1(found), metrics.sq(found), metrics.pq(found)]
    for value in [*values, metrics.aji(table), metrics.aji_plus(table)]:
        assert value is None or 0 <= value <= 1


@LAW
@given(mask_pairs())
def test_an_empty_prediction_never_beats_another_under_the_default_table(pair: tuple[Any, Any, Any]) -> None:
    reference, prediction, spacing = pair
    diagonal = metrics.grid_diagonal(reference.shape, spacing=spacing)
    n = int(reference.sum())
    hd95 = metrics.hd95(reference, prediction, spacing=spacing)
    dice = metrics.dice(reference, prediction)
    missed = metrics.resolve("hd95", n, 0, metrics.default_penalties("hd95", diagonal=diagonal))
    lost = metrics.resolve("dice", n, 0, metrics.default_penalties("dice", diagonal=diagonal))
    assert missed is not None and lost is not None
    assert hd95 is not None and missed[0] is not None and hd95 <= missed[0]
    assert dice is not None and lost[0] is not None and dice >= lost[0]
