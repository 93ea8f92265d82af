import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medotter_bench.errors import VolumeError
from medotter_bench.inference import Grid, grid_difference
from medotter_bench.inference.geometry import checked_spacing, compare_grids, grid_from_affine
from medotter_bench.inference.limits import Limits, checked_shape, spatial_shape


def grid(shape=(10, 20, 30), affine=None):
    return grid_from_affine(shape, np.diag([1.0, 2.0, 3.0, 1.0]) if affine is None else affine, form="test")


def test_a_grid_agrees_with_itself():
    assert grid_difference(grid(), grid()) is None


def test_another_shape_is_named_with_both_shapes():
    sentence = grid_difference(grid((4, 4, 4)), grid((4, 4, 5)))
    assert "shape" in sentence
    assert "(4, 4, 4)" in sentence
    assert "(4, 4, 5)" in sentence


@pytest.mark.parametrize(
    ("one", "other"), [((4, 4, 4), (4, 4, 4, 1)), ((5, 6), (5, 6, 1)), ((1, 1, 1), (1,))]
)
def test_trailing_axes_of_length_one_do_not_matter(one, other):
    assert grid_difference(Grid(one), Grid(other)) is None
    assert grid_difference(Grid(other), Grid(one)) is None


def test_a_leading_axis_of_length_one_matters():
    assert grid_difference(Grid((5, 6)), Grid((1, 5, 6))) is not None


@given(
    axis=st.integers(0, 2),
    voxels=st.floats(0, 2, allow_subnormal=False),
    tolerance=st.sampled_from([1e-3, 0.1]),
)
@settings(max_examples=60, deadline=None)
def test_a_shift_is_measured_in_voxels_of_its_axis(axis, voxels, tolerance):
    affine = np.diag([1.0, 2.0, 3.0, 1.0])
    affine[axis, 3] = voxels * affine[axis, axis]
    if abs(voxels - tolerance) < 1e-9:
        return
    assert (grid_difference(grid(), grid(affine=affine), tolerance_voxels=tolerance) is None) == (
        voxels < tolerance
    )


def test_a_flip_is_another_grid():
    flipped = np.diag([-1.0, 2.0, 3.0, 1.0])
    flipped[0, 3] = 9.0
    assert compare_grids(grid(), grid(affine=flipped))[0] == "grid-affine"


def test_rounding_of_a_header_is_no_difference():
    narrow = np.diag([0.8, 0.8, 2.5, 1.0]).astype(np.float32).astype(np.float64)
    assert (
        grid_difference(grid((512, 512, 300), np.diag([0.8, 0.8, 2.5, 1.0])), grid((512, 512, 300), narrow))
        is None
    )


def test_spacings_are_compared_where_one_side_has_no_orientation():
    assert grid_difference(grid(), Grid((10, 20, 30), (1.0, 2.0005, 3.0))) is None
    assert "spacing" in grid_difference(grid(), Grid((10, 20, 30), (1.0, 2.1, 3.0)))


def test_a_format_without_geometry_is_compared_by_shape_alone():
    assert grid_difference(grid(), Grid((10, 20, 30))) is None
    assert grid_difference(Grid((10, 20, 30)), grid()) is None
    assert grid_difference(Grid((10, 20, 31)), grid()) is not None


def test_spacing_is_rounded_to_a_millionth():
    narrow = np.diag([np.float32(0.8), 1, 1, 1]).astype(np.float64)
    assert narrow[0, 0] != 0.8
    assert grid(affine=narrow).spacing_mm[0] == 0.8


@pytest.mark.parametrize("length", [0.0, -1.0, float("nan"), float("inf"), 1e-9])
def test_a_spacing_that_is_no_length_is_refused(length):
    with pytest.raises(VolumeError) as caught:
        checked_spacing((1.0, length, 1.0), form="header")
    assert caught.value.code == "geometry-spacing"


def test_axes_in_one_plane_are_refused():
    with pytest.raises(VolumeError) as caught:
        grid(affine=np.array([[1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]]) + np.eye(4) * 1e-12)
    assert caught.value.code == "geometry-affine"


def test_an_infinite_origin_is_refused():
    affine = np.eye(4)
    affine[0, 3] = np.inf
    with pytest.raises(VolumeError) as caught:
        grid(affine=affine)
    assert caught.value.code == "geometry-affine"


def test_sizes_are_multiplied_without_wrapping():
    with pytest.raises(VolumeError) as caught:
        Limits().check((32767,) * 7, 32767**7)
    assert caught.value.code == "volume-too-large"
    assert str(32767**7) in caught.value.what


@pytest.mark.parametrize(
    ("shape", "code"), [((0, 3), "volume-header"), ((-1, 3), "volume-header"), ((3,), "volume-axes")]
)
def test_impossible_shapes_are_refused(shape, code):
    with pytest.raises(VolumeError) as caught:
        checked_shape(shape)
    assert caught.value.code == code


def test_only_trailing_axes_of_length_one_are_dropped():
    assert spatial_shape((4, 5, 6, 1, 1)) == (4, 5, 6)
    assert spatial_shape((4, 5, 1)) == (4, 5, 1)
    assert spatial_shape((1, 5, 6)) == (1, 5, 6)
    with pytest.raises(VolumeError) as caught:
        spatial_shape((4, 5, 6, 2))
    assert caught.value.code == "volume-axes"
    assert "(4, 5, 6, 2)" in caught.value.what
