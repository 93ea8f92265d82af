"""Reading label maps as runs gives the ids, notes and errors of reading them as voxels."""

from __future__ import annotations

import gzip
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from volume_files import nifti, nifti_bytes

from medotter_bench.errors import VolumeError
from medotter_bench.inference import Grid, read_grid, read_label_map, streams
from medotter_bench.inference.gunzip import Decoder, fast_decoder
from medotter_bench.label_runs import LabelRuns
from medotter_bench.metrics import fast

pytestmark = pytest.mark.skipif(
    not fast.available() or fast_decoder() is None, reason="numba or a fast gzip decoder is not installed"
)
SHARED = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def boxes(shape: tuple[int, ...] = (64, 6, 5), dtype: str = "uint8", ids: tuple[int, ...] = (1, 2)) -> Any:
    """Few runs: a box per id."""
    array = np.zeros(shape, dtype=dtype, order="F")
    for place, name in enumerate(ids):
        array[10 + 3 * place : 30, 1 + place : 4, 2:] = name
    return array


def outcome(path: Any, runs: Any = None, **asked: Any) -> Any:
    try:
        read = read_label_map(path, runs=runs, **asked)
    except VolumeError as bad:
        return bad.code, bad.what
    return read.array.tobytes(order="F"), read.array.dtype, read.shape, dict(read.notes), read.grid


def same(path: Any, **asked: Any) -> Any:
    by_voxels, by_runs = outcome(path, **asked), outcome(path, fast.run_writer, **asked)
    assert by_voxels == by_runs
    return by_runs


def is_listed(path: Any) -> bool:
    return isinstance(read_label_map(path, runs=fast.run_writer).voxels, LabelRuns)


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"])
@pytest.mark.parametrize("scaling", [{}, {"scl_slope": 0.0}, {"scl_slope": float("nan")}])
def test_integers_that_are_not_scaled_come_as_runs(tmp_path: Any, dtype: str, scaling: Any) -> None:
    path = nifti(tmp_path, boxes(dtype=dtype, ids=(1, 127)), **scaling)
    assert is_listed(path)
    same(path)
    read = read_label_map(path, runs=fast.run_writer)
    assert read.highest == 127
    assert read.array is read.array
    assert read.array.flags.f_contiguous


def test_what_is_scaled_swapped_packed_plain_or_of_short_rows_comes_as_voxels(tmp_path: Any) -> None:
    array = boxes()
    others = [
        nifti(tmp_path, array, "shifted.nii.gz", scl_slope=1.0, scl_inter=3.0),
        nifti(tmp_path, array, "scaled.nii.gz", scl_slope=2.0),
        nifti(tmp_path, array.astype("f4"), "floats.nii.gz"),
        nifti(tmp_path, boxes(dtype="i2"), "swapped.nii.gz", order=">"),
        nifti(tmp_path, array[:31], "short.nii.gz"),
    ]
    plain = tmp_path / "plain.nii"
    plain.write_bytes(nifti_bytes(array))
    for path in [*others, plain]:
        assert not is_listed(path)
        same(path)


@pytest.mark.parametrize(
    ("dtype", "value", "code"),
    [("i1", -1, "labels-negative"), ("i2", -7, "labels-negative"), ("i8", -1, "labels-negative")],
)
def test_negative_ids_are_refused_as_ever(tmp_path: Any, dtype: str, value: int, code: str) -> None:
    array = boxes(dtype=dtype)
    array[40, 5, 4] = value
    assert same(nifti(tmp_path, array))[0] == code


def test_large_ids_come_as_voxels(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_LISTED_PIECE", 64)
    for dtype, largest in (("u4", 65536), ("i8", 2**40), ("u8", 2**63 - 1), ("u2", 65535)):
        array = boxes(dtype=dtype)
        array[50, 5, 4] = largest
        path = nifti(tmp_path, array, f"{dtype}.nii.gz")
        assert is_listed(path) == (largest == 65535)
        same(path)


@pytest.mark.parametrize("begin", [0, 1, 3, 5])
def test_a_map_of_many_runs_turns_into_voxels_on_the_way(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, begin: int
) -> None:
    monkeypatch.setattr(streams, "_LISTED_PIECE", 128)
    array = boxes((64, 6, 6))
    array[::2, :, begin:] = 3
    path = nifti(tmp_path, array)
    assert not is_listed(path)
    same(path)
    for damaged in (path.read_bytes()[:-9], path.read_bytes()[:-1] + b"\x07", path.read_bytes() + b"x"):
        (tmp_path / "bad.nii.gz").write_bytes(damaged)
        assert same(tmp_path / "bad.nii.gz")[0].startswith("volume-")


def test_a_run_may_reach_over_pieces_and_rows(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_LISTED_PIECE", 16)
    array = np.full((40, 5, 4), 2, dtype="u2", order="F")
    array[39, 4, 3] = array[7, 2, 1] = 1
    path = nifti(tmp_path, array)
    read = read_label_map(path, runs=fast.run_writer)
    assert isinstance(read.voxels, LabelRuns)
    assert len(read.voxels.changes) == 4
    assert read.voxels.counts()[0].tolist() == [1, 2]
    assert read.voxels.counts()[1].tolist() == [2, 798]
    same(path)


def test_a_saturated_type_is_noted(tmp_path: Any) -> None:
    for dtype, highest in (("u1", 255), ("u2", 65535)):
        path = nifti(tmp_path, boxes(dtype=dtype, ids=(highest,)), f"{dtype}.nii.gz")
        assert is_listed(path)
        assert same(path)[3] == {"saturated_at": highest}


def test_axes_of_length_one_follow_the_expected_grid(tmp_path: Any) -> None:
    path = nifti(tmp_path, boxes((64, 6, 1)))
    found = read_grid(path).grid
    flat = Grid(found.shape[:2], found.spacing_mm[:2] if found.spacing_mm else None)
    read = read_label_map(path, runs=fast.run_writer, expected=flat)
    assert isinstance(read.voxels, LabelRuns)
    assert read.shape == read.array.shape == (64, 6)
    same(path, expected=flat)


def cut(content: bytes) -> bytes:
    return content[: len(content) * 2 // 3]


FAULTS = {
    "cut": lambda array: cut(gzip.compress(nifti_bytes(array))),
    "voxels lack": lambda array: gzip.compress(nifti_bytes(array)[:-5]),
    "too much": lambda array: gzip.compress(nifti_bytes(array) + b"\0"),
    "a second member": lambda array: gzip.compress(nifti_bytes(array)) + gzip.compress(b"\0"),
    "junk": lambda array: gzip.compress(nifti_bytes(array)) + b"junk",
    "wrong checksum": lambda array: gzip.compress(nifti_bytes(array))[:-8] + bytes(8),
    "ends before the voxels": lambda array: gzip.compress(nifti_bytes(array, vox_offset=40000)[:600]),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_faulty_file_has_the_same_error(tmp_path: Any, fault: Any) -> None:
    path = tmp_path / "a.nii.gz"
    path.write_bytes(fault(boxes()))
    assert same(path)[0].startswith("volume-")


def test_members_and_padding_are_read(tmp_path: Any) -> None:
    content, path = nifti_bytes(boxes()), tmp_path / "a.nii.gz"
    path.write_bytes(
        b"".join(gzip.compress(content[i : i + 97]) for i in range(0, len(content), 97)) + bytes(9)
    )
    assert is_listed(path)
    assert same(path)[0] == boxes().tobytes(order="F")


@given(data=st.data())
@SHARED
def test_damage_has_the_same_outcome(tmp_path: Any, data: Any) -> None:
    content = bytearray(gzip.compress(nifti_bytes(boxes()), mtime=0))
    for _ in range(data.draw(st.integers(0, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "a.nii.gz"
    path.write_bytes(
        bytes(content[: data.draw(st.integers(0, len(content)))]) + data.draw(st.binary(max_size=9))
    )
    same(path)


def test_without_a_fast_decoder_maps_come_as_voxels(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = nifti(tmp_path, boxes())
    monkeypatch.setattr(streams, "fast_decoder", lambda: None)
    assert not is_listed(path)
    same(path)


def test_a_decoder_that_fails_is_not_believed(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any) -> Any:
        raise ValueError("no")

    path = nifti(tmp_path, boxes())
    monkeypatch.setattr(streams, "fast_decoder", lambda: Decoder(fail, (ValueError,)))
    assert not is_listed(path)
    same(path)


def test_the_voxels_are_never_in_memory(tmp_path: Any) -> None:
    array = boxes((256, 256, 100))
    path = nifti(tmp_path, array)
    read_label_map(path, runs=fast.run_writer)
    tracemalloc.start()
    try:
        read_label_map(path, runs=fast.run_writer)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Room for the runs is asked for, and hardly used.
    assert peak < array.nbytes / 2 + 1_000_000


def test_a_bomb_is_stopped_at_the_size_of_its_header(tmp_path: Any) -> None:
    path = tmp_path / "a.nii.gz"
    path.write_bytes(gzip.compress(nifti_bytes(boxes()) + bytes(30_000_000)))
    tracemalloc.start()
    try:
        assert outcome(path, fast.run_writer)[0] == "volume-overlong"
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000
