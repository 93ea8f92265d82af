import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from medotter_bench.errors import VolumeError
from medotter_bench.inference import whole_numbers

INTEGERS = [np.dtype(kind + str(size)) for kind in "ui" for size in (1, 2, 4, 8)]


def refusal(values, dtype=None, **scaling):
    with pytest.raises(VolumeError) as caught:
        whole_numbers(np.array(values, dtype=dtype), **scaling)
    assert caught.value.hint
    return caught.value


@given(st.data(), st.sampled_from(INTEGERS))
@settings(max_examples=80, deadline=None)
def test_integers_come_back_as_they_are_without_a_copy(data, dtype):
    values = data.draw(hnp.arrays(dtype, (3, 4), elements=st.integers(0, int(np.iinfo(dtype).max))))
    array, n_rounded = whole_numbers(values)
    assert array is values
    assert n_rounded == 0


@pytest.mark.parametrize("slope", [0.0, float("nan"), float("inf"), float("-inf")])
def test_a_slope_that_is_no_factor_scales_nothing(slope):
    values = np.array([0, 1, 200], dtype=np.uint8)
    assert whole_numbers(values, slope=slope, inter=7.0)[0] is values


@given(
    st.lists(st.integers(0, 2**40), min_size=1, max_size=20),
    st.floats(-1e-3, 1e-3),
    st.sampled_from(["f4", "f8"]),
)
@settings(max_examples=80, deadline=None)
def test_floats_near_whole_numbers_are_rounded_never_truncated(ids, noise, dtype):
    ids = [min(value, 4000) if dtype == "f4" else value for value in ids]
    noise *= 0.5
    array, _ = whole_numbers(np.array(ids, dtype="f8").astype(dtype) + np.dtype(dtype).type(noise))
    assert array.tolist() == ids
    assert array.dtype.kind in "iu"


def test_0_9999_is_1_and_not_0():
    array, n_rounded = whole_numbers(np.array([0.9999, 2.9999, 0.0]))
    assert array.tolist() == [1, 3, 0]
    assert n_rounded == 2


def test_the_first_offending_value_is_named_with_their_count():
    error = refusal([0.0, 0.98823456, 2.0235, 1.0], "f4")
    assert error.code == "labels-not-integer"
    assert "0.988235" in error.what
    assert "integer" in error.what
    assert "2 of 4" in error.what


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_is_no_label(bad):
    error = refusal([0.0, bad])
    assert error.code == "labels-not-finite"
    assert "1 of 2" in error.what


def test_negative_labels_are_refused_in_every_type():
    assert refusal([0, -1], "i2").code == "labels-negative"
    assert refusal([0.0, -1.0]).code == "labels-negative"
    assert refusal([0, 1], "u1", inter=-1.0).code == "labels-negative"
    assert whole_numbers(np.array([-0.0004]))[0].tolist() == [0]


def test_a_writers_quantisation_is_undone_and_counted():
    slope = float(np.float32(4 / 255))
    stored = np.rint(np.array([0, 1, 2, 3, 4]) / slope).astype(np.uint8)
    array, n_rounded = whole_numbers(stored, slope=slope)
    assert array.tolist() == [0, 1, 2, 3, 4]
    assert n_rounded >= 3


@pytest.mark.parametrize(
    ("slope", "stored", "good"),
    [(0.3, 3, True), (0.3, 1, False), (-0.3, 3, False), (0.9, 1, True), (0.7, 1, False)],
)
def test_the_tolerance_under_a_slope_is_half_of_it_and_at_most_a_quarter(slope, stored, good):
    if good:
        assert whole_numbers(np.array([stored], "i2"), slope=slope)[0].tolist() == [1]
    else:
        refusal([stored], "i2", slope=slope)


def test_a_negative_slope_has_a_tolerance_too():
    stored = np.array([-100, 0], dtype="i2")
    assert whole_numbers(stored, slope=-0.01002)[0].tolist() == [1, 0]


def test_the_tolerance_is_never_below_that_of_floats():
    assert whole_numbers(np.array([10005], "u2"), slope=1e-4)[0].tolist() == [1]


def test_whole_intercepts_are_added_without_wrapping():
    assert whole_numbers(np.array([255], "u1"), inter=1.0)[0].tolist() == [256]
    assert whole_numbers(np.array([-128], "i1"), inter=128.0)[0].tolist() == [0]
    assert whole_numbers(np.array([2**64 - 1], "u8"), inter=-(2.0**63))[0].tolist() == [2**63 - 1]


def test_values_beyond_64_bits_are_refused():
    assert refusal([2**64 - 1], "u8", inter=1.0).code == "labels-range"
    assert refusal([2.0**63]).code == "labels-range"
    assert refusal([1e300]).code == "labels-range"
    assert whole_numbers(np.array([2**64 - 1], "u8"))[0].tolist() == [2**64 - 1]


def test_ids_that_doubles_cannot_tell_apart_are_not_scaled():
    assert refusal([2**53 + 1], "i8", slope=2.0).code == "labels-range"
    assert refusal([2.0**54], "f8", slope=2.0).code == "labels-range"
    assert whole_numbers(np.array([2.0**54]))[0].tolist() == [2**54]


def test_an_intercept_that_is_no_number_is_refused():
    assert refusal([1], "u1", slope=2.0, inter=float("nan")).code == "labels-scaling"
    assert refusal([1], "u1", inter=0.5).code == "labels-not-integer"


def test_booleans_become_zero_and_one():
    array, _ = whole_numbers(np.array([True, False]))
    assert array.dtype == np.uint8
    assert array.tolist() == [1, 0]


@pytest.mark.parametrize("dtype", ["c16", "g", "U3"])
def test_types_that_hold_no_ids_are_refused(dtype):
    assert refusal([1], dtype).code == "volume-datatype"


@pytest.mark.parametrize("layout", ["C", "F", "sliced"])
@pytest.mark.parametrize("dtype", ["<f4", ">f4", ">u2"])
def test_position_survives_every_layout_and_byte_order(layout, dtype):
    values = np.arange(60).reshape(3, 4, 5)
    stored = np.asarray(values, dtype=dtype, order="F" if layout == "F" else "C")
    if layout == "sliced":
        stored, values = stored[:, ::2], values[:, ::2]
    array, _ = whole_numbers(stored)
    assert array.dtype.isnative
    assert np.array_equal(array, values)


def test_an_empty_array_holds_no_label():
    assert whole_numbers(np.zeros((0, 3), "f4"))[0].shape == (0, 3)


def test_the_second_piece_of_a_large_map_is_checked_too():
    values = np.zeros((1 << 20) + 5, dtype=np.float32)
    values[-1], values[3] = 0.5, 0.25
    error = refusal(values)
    assert "0.25" in error.what
    assert f"2 of {values.size}" in error.what
    values[-1] = np.nan
    assert refusal(values).code == "labels-not-finite"
