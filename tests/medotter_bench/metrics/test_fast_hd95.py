"""hd95 and counts from the compiled kernels equal the reference implementation in every bit."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medomni.core.errors import MedomniError
from medotter_bench import metrics
from medotter_bench.metrics import fast

pytestmark = pytest.mark.skipif(not fast.available(), reason="numba is not installed here")

VECTORS = Path(__file__).parents[2] / "golden" / "imaging" / "semantic.json"
TYPES = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8")
SPACINGS = (1.0, 0.5, 0.7, 0.8, 0.1, 1 / 3, 1.1, 2.5, 1e-6, 1e3)
PERCENTILES = (1, 50, 95, 97.3, 99.99, 100)


def by_kernels(reference: Any, prediction: Any, ids: Sequence[int], **asked: Any) -> float | None:
    scan = fast.label_scan(reference, prediction)
    assert scan is not None
    return scan.hd95(np.isin(scan.reference_ids, ids), np.isin(scan.prediction_ids, ids), **asked)


def by_definition(reference: Any, prediction: Any, ids: Sequence[int], **asked: Any) -> float | None:
    return metrics.hd95(np.isin(reference, ids), np.isin(prediction, ids), **asked)


def agree(reference: Any, prediction: Any, ids: Sequence[int], **asked: Any) -> None:
    for method in metrics.METHODS:
        ours = by_kernels(reference, prediction, ids, method=method, **asked)
        expected = by_definition(reference, prediction, ids, method=method, **asked)
        assert ours == expected, (reference.shape, asked, method)


@st.composite
def stored(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    """A label map of 0 to 3 in any type and memory order, perhaps with gaps, perhaps read-only."""
    array = draw(hnp.arrays(np.int64, shape, elements=st.sampled_from([0, 0, 1, 1, 2, 3])))
    array = array.astype(draw(st.sampled_from(TYPES)), order=draw(st.sampled_from("CF")))
    if draw(st.booleans()):
        wide = np.zeros([2 * n for n in shape], array.dtype)
        gaps = wide[tuple(slice(None, None, 2) for _ in shape)]
        gaps[...] = array
        array = gaps
    array.flags.writeable = draw(st.booleans())
    return array


@st.composite
def label_maps(draw: st.DrawFn) -> tuple[Any, Any, tuple[float, ...]]:
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=11))
    spacing = tuple(draw(st.sampled_from(SPACINGS)) for _ in shape)
    return draw(stored(shape)), draw(stored(shape)), spacing


@settings(max_examples=200, deadline=None)
@given(label_maps(), st.sampled_from(PERCENTILES), st.sampled_from([(1,), (1, 2), (2, 3), (0, 3)]))
def test_any_maps_in_any_memory_order(maps: Any, percentile: float, ids: tuple[int, ...]) -> None:
    reference, prediction, spacing = maps
    agree(reference, prediction, ids, spacing=spacing, percentile=percentile)


@st.composite
def long_rows(draw: st.DrawFn) -> tuple[Any, Any, tuple[float, ...]]:
    """Boxes and stripes in rows so long that runs are listed; sometimes there are too many for that."""
    shape = (*draw(hnp.array_shapes(max_dims=2, max_side=7)), draw(st.integers(32, 150)))
    maps = []
    for _ in range(2):
        array = np.full(shape, draw(st.sampled_from([0, 0, 0, 1])), dtype=np.uint8)
        for _ in range(draw(st.integers(0, 5))):
            begins = [draw(st.integers(0, n - 1)) for n in shape]
            box = tuple(slice(at, at + draw(st.integers(1, n))) for at, n in zip(begins, shape, strict=True))
            array[box] = draw(st.integers(0, 3))
        array[..., :: draw(st.sampled_from([2, 17, 1000]))] = draw(st.integers(0, 3))
        maps.append(array.astype(draw(st.sampled_from(["u1", "i2"]))))
    if draw(st.booleans()):
        maps = [np.asfortranarray(array.T) for array in maps]
        return maps[0], maps[1], tuple(draw(st.sampled_from(SPACINGS)) for _ in shape)
    return maps[0], maps[1], tuple(draw(st.sampled_from(SPACINGS)) for _ in shape)


@settings(max_examples=200, deadline=None)
@given(long_rows(), st.sampled_from(PERCENTILES), st.sampled_from([(1,), (1, 2), (2, 3), (0, 3)]))
def test_listed_runs_give_the_same(maps: Any, percentile: float, ids: tuple[int, ...]) -> None:
    reference, prediction, spacing = maps
    agree(reference, prediction, ids, spacing=spacing, percentile=percentile)


@settings(max_examples=100, deadline=None)
@given(st.one_of(label_maps(), long_rows()))
def test_counts_are_those_of_the_arrays(maps: Any) -> None:
    reference, prediction, _ = maps
    scan = fast.label_scan(reference, prediction)
    assert scan is not None
    assert scan.reference_ids.tolist() == np.unique(reference).tolist()
    assert scan.prediction_ids.tolist() == np.unique(prediction).tolist()
    for i, j in itertools.product(range(len(scan.reference_ids)), range(len(scan.prediction_ids))):
        both = (reference == scan.reference_ids[i]) & (prediction == scan.prediction_ids[j])
        assert scan.table[i, j] == np.count_nonzero(both)
    ids, counts = np.unique(reference, return_counts=True)
    counted = fast.id_counts(reference)
    assert counted is not None
    assert [counted[0].tolist(), counted[1].tolist()] == [ids.tolist(), counts.tolist()]


def golden() -> Iterator[Any]:
    for case in json.loads(VECTORS.read_text(encoding="utf-8"))["cases"]:
        for region, ids in case["regions"].items():
            yield pytest.param(case, ids, id=f"{case['name']}-{region}")


@pytest.mark.parametrize(("case", "ids"), list(golden()))
def test_golden_vectors(case: Any, ids: Any) -> None:
    for percentile in (95, 100):
        agree(
            np.array(case["gt"]), np.array(case["pred"]), ids, spacing=case["spacing"], percentile=percentile
        )


def blocks(shape: tuple[int, ...], *boxes: tuple[slice, ...]) -> Any:
    labels = np.zeros(shape, dtype=np.uint8, order="F")
    for box in boxes:
        labels[box] = 1
    return labels


def bad_predictions() -> Iterator[Any]:
    shape = (36, 34, 33)
    rng = np.random.default_rng(3)
    reference = blocks(shape, np.s_[12:26, 10:24, 9:20], np.s_[30:33, 5:9, 25:30])
    yield pytest.param(reference, blocks(shape, np.s_[0:3, 0:3, 0:2]), id="far blob")
    yield pytest.param(reference, blocks(shape, np.s_[35:36, 33:34, 32:33]), id="one far voxel")
    yield pytest.param(reference, np.ones(shape, np.uint8), id="all foreground")
    yield pytest.param(reference, np.indices(shape).sum(axis=0).astype(np.uint8) % 2, id="checkerboard")
    yield pytest.param(reference, reference | (rng.random(shape) < 0.001), id="salt noise")
    yield pytest.param(reference, (rng.random(shape) < 0.01).astype(np.uint8), id="noise only")
    for step in (2, 5, 15):
        yield pytest.param(reference, np.roll(reference, (step, step // 2, step), (0, 1, 2)), id=f"by {step}")


@pytest.mark.parametrize(("reference", "prediction"), list(bad_predictions()))
@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (0.7, 0.7, 0.7), (0.8, 0.8, 2.5), (1 / 3, 1.1, 0.1)])
def test_bad_predictions(reference: Any, prediction: Any, spacing: tuple[float, ...]) -> None:
    for one, other in ((reference, prediction), (prediction, reference)):
        for order in ("CC", "FF", "CF"):
            pair = [np.array(m, order=o) for m, o in zip((one, other), order, strict=True)]  # type: ignore[call-overload]
            agree(pair[0], pair[1], (1,), spacing=spacing, percentile=95)
        agree(one, other, (1,), spacing=spacing, percentile=100)


@pytest.mark.parametrize("spacing", [(0.7, 0.7), (1 / 3, 1 / 3), (1e-6, 1e3), (1e-90, 1e90)])
def test_flat_images(spacing: tuple[float, float]) -> None:
    rng = np.random.default_rng(8)
    for density in (0.0008, 0.05):
        reference, prediction = (rng.random((2, 90, 70)) < density).astype(np.uint16)
        reference[3, 4] = prediction[60, 60] = 1
        for percentile in PERCENTILES:
            agree(reference, prediction, (1,), spacing=spacing, percentile=percentile)


def test_both_searches_for_far_voxels_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    fast.compile_all(lambda line: None)
    from medotter_bench.metrics.fast import surfaces

    reference, prediction = (
        blocks((40, 40, 30), np.s_[:4, :9, 2:5]),
        blocks((40, 40, 30), np.s_[25:, 30:, 9:]),
    )
    values = set()
    for trial, pair, voxel in itertools.product((0.0, 1e9), (0.0, 1e9), (0.0, 1e9)):
        monkeypatch.setattr(surfaces, "_TRIAL", trial)
        monkeypatch.setattr(surfaces, "_PAIR", pair)
        monkeypatch.setattr(surfaces, "_LINE_VOXEL", voxel)
        values.add(by_kernels(reference, prediction, (1,), spacing=(0.7, 0.7, 1.1)))
    assert values == {by_definition(reference, prediction, (1,), spacing=(0.7, 0.7, 1.1))}


@pytest.mark.parametrize("trial", [0.0, 1e9])
@pytest.mark.parametrize("island", [False, True])
def test_the_wider_ball_may_settle_one_side_both_or_none(
    monkeypatch: pytest.MonkeyPatch, trial: float, island: bool
) -> None:
    fast.compile_all(lambda line: None)
    from medotter_bench.metrics.fast import surfaces

    monkeypatch.setattr(surfaces, "_TRIAL", trial)
    reference, prediction = (
        blocks((50, 40, 30), np.s_[5:20, 6:20, 7:20]),
        blocks((50, 40, 30), np.s_[9:16, 10:16, 11:16]),
    )
    if island:
        prediction[46:, 36:, 27:] = 1
    for percentile in (95, 100):
        agree(reference, prediction, (1,), spacing=(1.0, 1.0, 1.0), percentile=percentile)
        agree(prediction, reference, (1,), spacing=(0.7, 0.8, 1.1), percentile=percentile)


def test_what_kernels_cannot_hold_is_left_to_the_reference() -> None:
    small = np.zeros((3, 4), dtype=np.uint8)
    refused = [
        np.full((3, 4), 1 << 16, dtype=np.int64),
        np.full((3, 4), -1, dtype=np.int16),
        np.full((3, 4), -1, dtype=np.int8),
        np.full((3, 4), -1, dtype=np.int64),
        small.astype(np.float32),
        small.astype(">i4"),
        small.reshape(3, 4, 1, 1),
        np.zeros((0, 4), dtype=np.uint8),
    ]
    for labels in refused:
        assert fast.id_counts(labels) is None
        assert fast.label_scan(labels, labels) is None
        assert fast.label_scan(small, labels) is None
        assert fast.label_scan(labels, small) is None
    many = np.arange(300, dtype=np.uint16)
    assert fast.label_scan(many, many) is None
    assert fast.label_scan(np.zeros(300, dtype=np.uint8), many) is None
    assert fast.label_scan(small, small[:2]) is None
    counted = fast.id_counts(many)
    assert counted is not None and counted[0].tolist() == many.tolist()


def test_wrong_requests_fail_as_in_the_reference() -> None:
    labels = np.ones((3, 3), dtype=np.uint8)
    for wrong in ({"spacing": (1.0,)}, {"percentile": 0}, {"percentile": True}, {"method": "mean"}):
        asked: dict[str, Any] = {"spacing": (1.0, 1.0), **wrong}
        with pytest.raises(MedomniError) as ours:
            by_kernels(labels, labels, (1,), **asked)
        with pytest.raises(MedomniError) as theirs:
            by_definition(labels, labels, (1,), **asked)
        assert (ours.value.code, str(ours.value)) == (theirs.value.code, str(theirs.value))


def test_regions_of_one_scan_do_not_see_each_other() -> None:
    rng = np.random.default_rng(0)
    shape = (25, 25, 64)
    maps = [np.zeros(shape, dtype=np.uint8) for _ in range(2)]
    for labels in maps:
        for value in (1, 2, 3, 1):
            at = rng.integers(0, [6, 6, 50])
            labels[tuple(slice(n, n + 3 + value) for n in at)] = value
    scan = fast.label_scan(*maps)
    assert scan is not None and scan._runs is not None
    for ids in ((1, 2, 3), (2,), (1, 3), (3,), (1, 2, 3)):
        inside = np.isin(scan.reference_ids, ids), np.isin(scan.prediction_ids, ids)
        ours = scan.hd95(*inside, spacing=(0.7, 1.1, 2.5))
        assert ours == by_definition(*maps, ids, spacing=(0.7, 1.1, 2.5))


def test_runs_are_listed_only_where_they_are_few() -> None:
    few, many = np.zeros((4, 64), dtype=np.uint8), np.zeros((4, 64), dtype=np.uint8)
    few[1:3, 20:50], many[:, ::3] = 1, 1
    found = [fast.label_scan(labels, labels) for labels in (few, many, few[:, 15:30].copy())]
    assert [scan is not None and scan._runs is not None for scan in found] == [True, False, False]


def test_an_empty_side_has_no_distance() -> None:
    labels = blocks((6, 6), np.s_[1:3, 1:3])
    assert by_kernels(labels, np.zeros_like(labels), (1,), spacing=(1, 1)) is None
    assert by_kernels(np.zeros_like(labels), labels, (1,), spacing=(1, 1)) is None
    assert by_kernels(labels, labels, (7,), spacing=(1, 1)) is None
