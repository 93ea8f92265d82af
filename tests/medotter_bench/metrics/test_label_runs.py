"""Two lists of runs give the counts and distances of the voxels that they stand for."""

from __future__ import annotations

from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from medotter_bench import metrics
from medotter_bench.adapters import registry
from medotter_bench.adapters.base import CaseContext, CaseInputs
from medotter_bench.errors import VolumeError
from medotter_bench.inference import Grid, LabelMap
from medotter_bench.label_map import IDENTITY, LabelRemap
from medotter_bench.label_runs import LabelRuns
from medotter_bench.metrics import backend, fast
from scoring_builders import eval_spec

pytestmark = pytest.mark.skipif(not fast.available(), reason="numba is not installed here")

SPACINGS = (1.0, 0.5, 0.7, 1 / 3, 2.5)


def written(array: Any, piece: int) -> LabelRuns | None:
    """The runs, or None where there are too many."""
    writer = fast.run_writer(array.shape, array.dtype)
    assert writer is not None
    voxels = array.ravel(order="F").view(f"u{array.dtype.itemsize}")
    if not all(writer.write(voxels[start : start + piece]) for start in range(0, voxels.size, piece)):
        return None
    return LabelRuns(writer.changes(), array.shape, array.dtype)


def runs_of(array: Any) -> LabelRuns:
    found = written(array, 1 << 18)
    assert found is not None
    return found


@st.composite
def shapes(draw: st.DrawFn) -> tuple[int, ...]:
    """Rows long enough for runs to be listed."""
    others = draw(hnp.array_shapes(min_dims=0, max_dims=2, max_side=6))
    return (draw(st.integers(64, 110)), *others)


@st.composite
def boxed(draw: st.DrawFn, shape: tuple[int, ...], ids: tuple[int, ...]) -> Any:
    array = np.full(shape, draw(st.sampled_from([0, 0, 0, ids[0]])), dtype=np.int64, order="F")
    if draw(st.booleans()):
        begins = [draw(st.integers(0, n - 1)) for n in shape]
        box = tuple(slice(at, at + draw(st.integers(1, n))) for at, n in zip(begins, shape, strict=True))
        array[box] = draw(st.sampled_from(ids))
    largest = array.max()
    types = [t for t in ("u1", "i1", "u2", "i2", "u4", "i8") if largest <= np.iinfo(t).max]
    return array.astype(draw(st.sampled_from(types)), order="F")


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Any, Any, tuple[float, ...]]:
    shape = draw(shapes())
    ids = draw(st.sampled_from([(1, 2, 3), (1, 200), (3, 255, 256, 65535)]))
    spacing = tuple(draw(st.sampled_from(SPACINGS)) for _ in shape)
    return draw(boxed(shape, ids)), draw(boxed(shape, ids)), spacing


@settings(max_examples=150, deadline=None)
@given(pairs(), st.sampled_from([50, 95, 100]), st.booleans(), st.sampled_from([7, 64, 1 << 18]))
def test_scans_of_runs_are_scans_of_voxels(pair: Any, percentile: int, background: bool, piece: int) -> None:
    reference, prediction, spacing = pair
    first, second = written(reference, piece), written(prediction, piece)
    assume(first is not None and second is not None)
    assert first is not None and second is not None
    ours, theirs = fast.label_scan(first, second), fast.label_scan(reference, prediction)
    assert ours is not None
    assert theirs is not None
    assert ours.reference_ids.tolist() == theirs.reference_ids.tolist()
    assert ours.prediction_ids.tolist() == theirs.prediction_ids.tolist()
    assert ours.table.tolist() == theirs.table.tolist()
    region = [*np.union1d(reference, prediction)][-2:] + ([0] if background else [])
    inside = np.isin(ours.reference_ids, region), np.isin(ours.prediction_ids, region)
    asked: dict[str, Any] = {"spacing": spacing, "percentile": percentile}
    expected = metrics.hd95(np.isin(reference, region), np.isin(prediction, region), **asked)
    assert ours.hd95(*inside, **asked) == theirs.hd95(*inside, **asked) == expected


@settings(max_examples=80, deadline=None)
@given(pairs(), st.integers(1, 90))
def test_runs_and_voxels_stand_for_each_other(pair: Any, piece: int) -> None:
    array = pair[0]
    writer = fast.run_writer(array.shape, array.dtype)
    assert writer is not None
    voxels = array.ravel(order="F")
    bits = voxels.view(f"u{array.dtype.itemsize}")
    taken = 0
    while taken < voxels.size and writer.write(bits[taken : taken + piece]):
        taken = min(taken + piece, voxels.size)
        target = np.empty(taken, dtype=array.dtype)
        writer.expand(target)
        assert np.array_equal(target, voxels[:taken])
    if taken == voxels.size:
        runs = LabelRuns(writer.changes(), array.shape, array.dtype)
        assert runs.array().dtype == array.dtype
        assert np.array_equal(runs.array(), array)
        ids, counts = np.unique(array, return_counts=True)
        assert [found.tolist() for found in runs.counts()] == [ids.tolist(), counts.tolist()]
        assert runs.lengths.sum() == array.size


def test_runs_are_not_listed_where_that_cannot_pay() -> None:
    for shape, dtype in (
        ((31, 9, 9), "u1"),
        ((64, 9), "f4"),
        ((64, 9), ">i4"),
        ((64, 2, 2, 2), "u1"),
        ((1 << 24, 2), "u1"),
    ):
        assert fast.run_writer(shape, np.dtype(dtype)) is None
    writer = fast.run_writer((64, 4), np.dtype("u1"))
    assert writer is not None
    assert not writer.write(np.arange(200, dtype=np.uint8))
    assert writer.write(np.zeros(200, dtype=np.uint8))


def test_runs_of_short_rows_are_scanned_as_voxels() -> None:
    runs = LabelRuns(np.array([0, (5 << 16) | 2, 7 << 16]), (4, 3), np.dtype("u1"))
    scan = fast.label_scan(runs, runs)
    assert scan is not None
    assert scan.table.tolist() == [[10, 0], [0, 2]]


def test_ids_that_no_run_can_hold_are_refused() -> None:
    for dtype, wrong in (("i1", -1), ("i2", -2), ("u4", 65536), ("u8", 2**60)):
        writer = fast.run_writer((64, 4), np.dtype(dtype))
        assert writer is not None
        voxels = np.zeros(256, dtype=dtype)
        voxels[77] = wrong
        assert not writer.write(voxels.view(f"u{voxels.itemsize}"))


def stripes(step: int, start: int, shape: tuple[int, ...] = (64, 8, 4)) -> Any:
    array = np.zeros(shape, dtype=np.uint8, order="F")
    array[start::step] = 1
    return array


def test_pairs_with_too_many_runs_fall_back_to_voxels() -> None:
    """Each map has few runs, both together have more than are listed."""
    maps = [np.zeros((64, 16, 4), dtype=np.uint8, order="F") for _ in range(2)]
    maps[0][20:40, ::2], maps[1][30:50, 1::2] = 1, 2
    maps[0][5:9, ::2, 0], maps[1][1:3, ::2, 0] = 3, 3
    listed = [runs_of(array) for array in maps]
    ours, theirs = fast.label_scan(*listed), fast.label_scan(*maps)
    assert ours is not None and theirs is not None
    assert ours.table.tolist() == theirs.table.tolist()


def test_more_than_256_ids_are_left_to_the_reference() -> None:
    array = np.zeros((64, 20, 20), dtype=np.uint16, order="F")
    array[0] = np.arange(400).reshape(20, 20)
    listed = runs_of(array)
    assert fast.label_scan(listed, listed) is None
    assert fast.label_scan(runs_of(np.zeros_like(array)), listed) is None
    counted = fast.id_counts(listed)
    assert counted is not None
    assert counted[0].tolist() == list(range(400))


def test_runs_beside_voxels_are_scanned_as_voxels() -> None:
    array = stripes(40, 3)
    listed = runs_of(array)
    for pair in ((listed, array), (array, listed)):
        scan = fast.label_scan(*pair)
        assert scan is not None
        assert scan.table.tolist() == [[array.size - array.sum(), 0], [0, array.sum()]]
    other = runs_of(np.zeros((64, 4), dtype=np.uint8, order="F"))
    assert fast.label_scan(listed, other) is None


REMAPS = (IDENTITY, LabelRemap({1: 1, 4: 2}), LabelRemap({3: 1, 200: 2}))


@settings(max_examples=60, deadline=None)
@given(pairs(), st.sampled_from(REMAPS), st.booleans())
def test_a_case_of_runs_scores_as_a_case_of_voxels(pair: Any, remap: LabelRemap, missing: bool) -> None:
    spec = eval_spec(prediction_format={"type": "nifti", "label_space": [0, 1, 2]})
    adapter, context = registry.get("seg"), CaseContext(spec, remap, {"dataset": "DS_A"})
    grid = Grid(pair[0].shape, pair[2])
    runs = [written(array, 1 << 18) for array in pair[:2]]
    assume(None not in runs)
    listed = [LabelMap(one, grid) for one in runs if one is not None]
    found = []
    for maps in (listed, [LabelMap(array, grid) for array in pair[:2]]):
        for choice in ("fast", "reference"):
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv(backend.VARIABLE, choice)
                try:
                    adapter.check_prediction(maps[1], spec=spec)
                except VolumeError as bad:
                    found.append(repr((bad.code, bad.what)))
                    continue
                inputs = CaseInputs(maps[0], None if missing else maps[1])
                found.append(repr(adapter.score(inputs, context=context)))
    assert len(set(found)) == 1


def test_runs_are_asked_for_only_with_kernels_that_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    adapter: Any = registry.get("seg")
    monkeypatch.setattr(fast, "_ready", False)
    assert adapter.run_writer() is None
    monkeypatch.setattr(fast, "_ready", True)
    for choice, wanted in (("", True), ("auto", True), ("fast", True), ("reference", False), ("gpu", False)):
        monkeypatch.setenv(backend.VARIABLE, choice)
        assert (adapter.run_writer() is not None) == wanted
