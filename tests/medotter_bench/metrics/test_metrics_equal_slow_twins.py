"""Each metric equals its slow twin on small random inputs: distances bit for bit."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import slow_twins
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from medotter_bench import metrics
from medotter_bench.metrics import assignment, surface

SPACINGS = st.sampled_from([1.0, 0.5, 0.7, 0.8, 0.1, 1 / 3, 1.1, 2.5])


@st.composite
def mask_pairs(draw: st.DrawFn) -> tuple[Any, Any, tuple[float, ...]]:
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=5))
    masks = [draw(hnp.arrays(np.bool_, shape)) for _ in range(2)]
    return masks[0], masks[1], tuple(draw(SPACINGS) for _ in shape)


@st.composite
def label_pairs(draw: st.DrawFn) -> tuple[Any, Any]:
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
    ids = st.sampled_from([0, 0, 1, 2, 300, 2**40])
    return tuple(draw(hnp.arrays(np.int64, shape, elements=ids)) for _ in range(2))  # type: ignore[return-value]


def as_float(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


@settings(max_examples=150, deadline=None)
@given(mask_pairs(), st.sampled_from([1, 50, 95, 97.3, 100]), st.sampled_from(metrics.METHODS))
def test_masks_score_as_their_twin(pair: tuple[Any, Any, tuple[float, ...]], q: float, method: str) -> None:
    reference, prediction, spacing = pair
    assert metrics.dice(reference, prediction) == as_float(slow_twins.dice(reference, prediction))
    assert list(map(tuple, np.argwhere(surface.surface(reference)))) == slow_twins.surface(reference)
    value = metrics.hd95(reference, prediction, spacing=spacing, percentile=q, method=method)
    expected = slow_twins.hd95(reference, prediction, spacing, q, method)
    # A place between two distances, such as 37.05, has a rounded fraction: 6e-14 of a distance of 0.05.
    assert value == (None if expected is None else pytest.approx(expected, rel=1e-12, abs=0))


def brute_force(source: Any, target: Any, spacing: tuple[float, ...]) -> Any:
    offsets = np.argwhere(surface.surface(source))[:, None, :] - np.argwhere(surface.surface(target))
    squares = np.zeros(offsets.shape[:2])
    for axis, size in enumerate(spacing):
        along = offsets[..., axis] * size
        squares += along * along
    return np.sqrt(squares).min(axis=1)


@pytest.mark.parametrize(
    "spacing",
    [
        (0.7, 0.7),
        (1 / 3, 1 / 3),
        (0.8, 2.5),
        (1e-6, 1e3),
        (1.0, 1.0, 1.0),
        (0.7, 0.7, 0.7),
        (0.8, 0.8, 2.5),
        (1 / 3, 1 / 3, 1 / 3),
        (0.9, 1.1, 1.3),
    ],
)
@pytest.mark.parametrize("density", [0.002, 0.05, 0.4])
def test_distances_equal_the_brute_force_minimum_bit_for_bit(
    spacing: tuple[float, ...], density: float
) -> None:
    shape = (70, 60) if len(spacing) == 2 else (17, 16, 15)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        reference, prediction = rng.random(shape) < 0.05, rng.random(shape) < density
        prediction[seed, seed] = True
        forth, back = metrics.surface_distances(reference, prediction, spacing=spacing)
        assert np.array_equal(forth, brute_force(reference, prediction, spacing))
        assert np.array_equal(back, brute_force(prediction, reference, spacing))


def test_many_near_ties_are_all_looked_at() -> None:
    # A voxel amid a circle: more equally long offsets than the first candidates, at 0.7 mm not in rounding.
    y, x = np.ogrid[-65:66, -65:66]
    ring = (y**2 + x**2) == 65**2
    centre = (y == 0) & (x == 0)
    assert ring.sum() > 2 * surface._FIRST_CANDIDATES
    for spacing in ((0.7, 0.7), (1 / 3, 1 / 3), (1.1, 1.1)):
        forth, _ = metrics.surface_distances(centre, ring, spacing=spacing)
        assert np.array_equal(forth, brute_force(centre, ring, spacing))


def test_chunks_of_queries_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    reference, prediction = rng.random((2, 20, 20)) < 0.1
    whole = metrics.surface_distances(reference, prediction, spacing=(0.7, 0.7))
    monkeypatch.setattr(surface, "_CANDIDATES_AT_ONCE", 20)
    pieces = metrics.surface_distances(reference, prediction, spacing=(0.7, 0.7))
    assert all(np.array_equal(a, b) for a, b in zip(whole, pieces, strict=True))


@settings(max_examples=200, deadline=None)
@given(
    label_pairs(),
    st.sampled_from(["0.05", "0.1", "0.25", "0.3", "0.5", "0.6", "0.7", "0.75", "1"]),
    st.sampled_from(metrics.RULES),
)
def test_instances_score_as_their_twin(pair: tuple[Any, Any], threshold: str, rule: str) -> None:
    reference, prediction = pair
    table = metrics.contingency(reference, prediction)
    if (threshold, rule) != ("1", "gt"):
        found = metrics.match(table, threshold=float(threshold), rule=rule)
        *counts, total = slow_twins.match(reference, prediction, threshold, rule)
        assert [found.tp, found.fp, found.fn] == counts
        assert found.iou_sum == pytest.approx(float(total), rel=1e-14, abs=0)
        expected = slow_twins.scores(*counts, total)
        for name in ("f1", "dq", "sq", "pq"):
            value = as_float(expected[name])
            ours = getattr(metrics, name)(found)
            assert ours == (None if value is None else pytest.approx(value, rel=1e-14, abs=0))
    assert metrics.aji(table) == as_float(slow_twins.aji(reference, prediction))
    assert metrics.aji_plus(table) == as_float(slow_twins.aji_plus(reference, prediction))
    assert metrics.disconnected_ids(reference) == slow_twins.disconnected(reference)


@settings(max_examples=80, deadline=None)
@given(label_pairs(), st.booleans())
def test_float_solver_of_large_groups_finds_the_same_optimum(pair: tuple[Any, Any], most: bool) -> None:
    table = metrics.contingency(*pair)
    arguments = (table.pair_reference, table.pair_prediction, table.pair_intersection, table.pair_union)
    exact, sums = assignment.assign(*arguments, most_pairs=most)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assignment, "EXACT_WORK", 0)
        floats, float_sums = assignment.assign(*arguments, most_pairs=most)
    assert len(exact) == len(floats) or not most
    assert sum(float_sums) == pytest.approx(sum(sums), rel=1e-12, abs=1e-12)
    assert len(set(table.pair_reference[floats].tolist())) == len(floats)
    assert len(set(table.pair_prediction[floats].tolist())) == len(floats)


def test_fixed_point_denominator_finds_the_same_assignment(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = np.kron(np.arange(1, 26).reshape(5, 5), np.ones((7, 6), dtype=np.int64))
    table = metrics.contingency(labels, np.roll(labels, (3, 2), (0, 1)))
    exact = metrics.match(table, threshold=0.05), metrics.aji_plus(table)
    monkeypatch.setattr(assignment, "_DENOMINATOR_BITS", 200)
    assert (metrics.match(table, threshold=0.05), metrics.aji_plus(table)) == exact
    monkeypatch.setattr(assignment, "_DENOMINATOR_BITS", 4)
    assert metrics.match(table, threshold=0.05).tp == exact[0].tp


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("most", [True, False])
def test_crowded_maps_reach_the_optimum_of_a_dense_solver(seed: int, most: bool) -> None:
    rng = np.random.default_rng(seed)
    reference, prediction = rng.integers(0, 13, (2, 18, 18))
    table = metrics.contingency(reference, prediction)
    iou = table.pair_intersection / table.pair_union
    gains = np.zeros((len(table.reference_ids), len(table.prediction_ids)))
    gains[table.pair_reference, table.pair_prediction] = iou + (100 if most else 0)
    rows, columns = linear_sum_assignment(gains, maximize=True)
    chosen, sums = assignment.assign(
        table.pair_reference,
        table.pair_prediction,
        table.pair_intersection,
        table.pair_union,
        most_pairs=most,
    )
    best = float(gains[rows, columns].sum()) - (100 * len(chosen) if most else 0)
    assert sum(sums) == pytest.approx(best, rel=1e-9)
    assert float(iou[chosen].sum()) == pytest.approx(sum(sums), rel=1e-12)
