import gzip
import math
import tracemalloc

import nibabel as nib
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from volume_files import AFFINE, labels, nifti, nifti_bytes, refused, same_labels, write_nifti

from medotter_bench.errors import VolumeError
from medotter_bench.inference import Grid, Limits, read_grid, read_image, read_label_map

SHARED = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
DTYPES = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"]


@given(
    dtype=st.sampled_from(DTYPES),
    order=st.sampled_from("<>"),
    version=st.sampled_from([1, 2]),
    slope=st.sampled_from([0.0, math.nan, 1.0, 0.5, 2.0]),
    name=st.sampled_from(["a.nii", "a.nii.gz"]),
    extension=st.sampled_from([b"", b"x" * 16]),
)
@SHARED
def test_every_type_byte_order_version_and_slope_comes_back(
    tmp_path, dtype, order, version, slope, name, extension
):
    ids = labels((3, 4, 5), n_ids=4)
    factor = slope if slope in {0.5, 2.0} else 1.0
    ids = ids * 2 if factor == 2.0 else ids
    stored = (ids / factor).astype(dtype)
    path = nifti(
        tmp_path,
        stored,
        name,
        version=version,
        order=order,
        extension=extension,
        scl_slope=slope,
        scl_inter=0,
    )
    read = read_label_map(path)
    assert same_labels(read, ids)
    assert read.array.dtype.isnative
    assert read.grid.spacing_mm == (0.8, 1.0, 2.5)


@pytest.mark.parametrize("order", ["<", ">"])
def test_we_read_what_nibabel_reads(tmp_path, order):
    path = nifti(tmp_path, labels(dtype="i2"), order=order)
    theirs = nib.load(path)
    ours = read_label_map(path)
    assert np.array_equal(ours.array, np.asanyarray(theirs.dataobj))
    assert np.allclose(ours.grid.affine_ras, theirs.affine, atol=1e-6)


def rotation(rng):
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return q


@given(seed=st.integers(0, 2**32 - 1))
@SHARED
def test_a_quaternion_gives_nibabels_affine(tmp_path, seed):
    rng = np.random.default_rng(seed)
    affine = np.eye(4)
    affine[:3, :3] = rotation(rng) @ np.diag(rng.uniform(0.3, 5, 3))
    affine[:3, 3] = rng.uniform(-200, 200, 3)
    path = nifti(tmp_path, labels(), affine=affine, sform_code=0)
    ours = np.array(read_grid(path).grid.affine_ras)
    assert np.allclose(ours, nib.load(path).get_qform(), atol=1e-3)
    # Both forms from one affine never contradict each other.
    read_grid(nifti(tmp_path, labels(), affine=affine, dim=[3, 512, 512, 400, 1, 1, 1, 1]))


def test_a_half_turn_in_the_qform_is_within_the_tolerance(tmp_path):
    turned = np.diag([-0.7, -0.7, 3.0, 1.0])
    angle = 1e-3
    turned[:3, :3] = (
        np.array([[math.cos(angle), -math.sin(angle), 0], [math.sin(angle), math.cos(angle), 0], [0, 0, 1]])
        @ turned[:3, :3]
    )
    path = nifti(tmp_path, labels(), affine=turned, dim=[3, 512, 512, 400, 1, 1, 1, 1])
    assert read_grid(path).grid.spacing_mm == (0.7, 0.7, 3.0)


def test_the_form_with_a_code_decides(tmp_path):
    srow = {"srow_x": [1, 0, 0, 5], "srow_y": [0, 1, 0, 6], "srow_z": [0, 0, 1, 7]}
    by_sform = read_grid(nifti(tmp_path, labels(), qform_code=0, **srow)).grid
    by_qform = read_grid(nifti(tmp_path, labels(), sform_code=0, **srow)).grid
    neither = read_grid(nifti(tmp_path, labels(), sform_code=0, qform_code=0, **srow)).grid
    assert by_sform.spacing_mm == (1.0, 1.0, 1.0)
    assert by_sform.affine_ras[0] == (1.0, 0.0, 0.0, 5.0)
    assert by_qform.spacing_mm == (0.8, 1.0, 2.5)
    assert by_qform.affine_ras is not None
    assert neither == Grid((4, 5, 6), (0.8, 1.0, 2.5), None)


def test_forms_that_contradict_each_other_are_refused_with_both(tmp_path):
    error = refused(nifti(tmp_path, labels(), srow_x=[1.6, 0, 0, 0]), "geometry-contradiction")
    for part in ("sform", "qform", "1.6", "0.8"):
        assert part in error.what


def test_a_quaternion_longer_than_one_is_refused(tmp_path):
    refused(nifti(tmp_path, labels(), quatern_b=0.9, quatern_c=0.9, sform_code=0), "geometry-affine")
    refused(nifti(tmp_path, labels(), quatern_b=math.nan, sform_code=0), "geometry-affine")


def test_a_negative_qfac_mirrors_the_third_axis(tmp_path):
    path = nifti(tmp_path, labels(), sform_code=0, pixdim=[-1, 1, 2, 3, 1, 1, 1, 1])
    assert read_grid(path).grid.affine_ras[2][2] == -3.0
    path = nifti(tmp_path, labels(), sform_code=0, pixdim=[0, 1, 2, 3, 1, 1, 1, 1])
    assert read_grid(path).grid.affine_ras[2][2] == 3.0


@pytest.mark.parametrize(("unit", "scale"), [(0, 1), (1, 1000), (2, 1), (3, 0.001), (2 | 8, 1)])
@pytest.mark.parametrize("codes", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_units_become_millimetres(tmp_path, unit, scale, codes):
    path = nifti(
        tmp_path,
        labels(),
        affine=np.diag([2, 4, 8, 1]),
        xyzt_units=unit,
        qform_code=codes[0],
        sform_code=codes[1],
    )
    assert read_grid(path).grid.spacing_mm == (2 * scale, 4 * scale, 8 * scale)


def test_an_unknown_unit_is_refused(tmp_path):
    refused(nifti(tmp_path, labels(), xyzt_units=5), "geometry-units")


@pytest.mark.parametrize("length", [0.0, -1.0, math.nan, math.inf])
def test_spacings_that_are_no_length_are_refused(tmp_path, length):
    refused(nifti(tmp_path, labels(), pixdim=[1, 1, length, 1, 1, 1, 1, 1]), "geometry-spacing")
    refused(nifti(tmp_path, labels(), qform_code=0, srow_x=[0, 0, 0, 0]), "geometry-spacing")


def test_a_plane_needs_no_third_spacing(tmp_path):
    path = nifti(tmp_path, labels((4, 5)), pixdim=[1, 2, 3, 0, 0, 0, 0, 0], qform_code=0, sform_code=0)
    assert read_label_map(path).grid == Grid((4, 5), (2.0, 3.0), None)


def test_voxels_lie_where_vox_offset_says(tmp_path):
    ids = labels()
    assert same_labels(read_label_map(nifti(tmp_path, ids, extension=b"\7" * 48)), ids)
    refused(nifti(tmp_path, ids, vox_offset=352 + 64), "volume-truncated")
    refused(nifti(tmp_path, ids, "a.nii", vox_offset=352 + 64), "volume-truncated")
    refused(nifti(tmp_path, ids, vox_offset=100000), "volume-truncated")


@pytest.mark.parametrize("offset", [0, 348, 351, 352.5, math.nan, 1e12])
def test_an_offset_inside_the_header_or_far_away_is_refused(tmp_path, offset):
    refused(nifti(tmp_path, labels(), vox_offset=offset), "volume-header")


def test_compression_is_told_by_content(tmp_path):
    ids = labels()
    plain, packed = tmp_path / "plain.nii.gz", tmp_path / "packed.nii"
    plain.write_bytes(nifti_bytes(ids))
    packed.write_bytes(gzip.compress(nifti_bytes(ids)))
    assert same_labels(read_label_map(plain), ids)
    assert same_labels(read_label_map(packed), ids)


@pytest.mark.parametrize(
    "dim",
    [
        [0] * 8,
        [8, 2, 2, 2, 1, 1, 1, 1],
        [-1, 2, 2, 2, 1, 1, 1, 1],
        [3, 4, 0, 6, 1, 1, 1, 1],
        [3, 4, -5, 6, 1, 1, 1, 1],
    ],
)
def test_impossible_dimensions_are_refused(tmp_path, dim):
    refused(nifti(tmp_path, labels(), dim=dim), "volume-header")


def test_one_axis_or_a_fourth_is_refused(tmp_path):
    refused(nifti(tmp_path, labels(), dim=[1, 120, 1, 1, 1, 1, 1, 1]), "volume-axes")
    error = refused(nifti(tmp_path, labels((2, 3, 4, 2))), "volume-axes")
    assert "(2, 3, 4, 2)" in error.what


def test_no_voxel_is_read_when_the_grid_differs(tmp_path):
    path = nifti(tmp_path, labels(), dim=[3, 30000, 30000, 30000, 1, 1, 1, 1])
    read_label_map(nifti(tmp_path, labels(), "warm.nii.gz"))
    tracemalloc.start()
    try:
        error = refused(path, "grid-shape", expected=Grid((4, 5, 6), (0.8, 1.0, 2.5)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "shape" in error.what
    assert "30000" in error.what
    assert peak < 2_000_000


def test_a_header_that_promises_too_much_is_refused_before_memory_is_asked_for(tmp_path):
    huge = [3, 30000, 30000, 4, 1, 1, 1, 1]
    tracemalloc.start()
    try:
        refused(nifti(tmp_path, labels(), dim=huge), "volume-truncated")
        refused(nifti(tmp_path, labels(), "a.nii", dim=huge), "volume-truncated")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000
    refused(nifti(tmp_path, labels(), dim=[3, 30000, 30000, 30000, 1, 1, 1, 1]), "volume-too-large")
    refused(nifti(tmp_path, labels()), "volume-too-large", limits=Limits(max_voxels=100))
    with pytest.raises(VolumeError):
        read_grid(nifti(tmp_path, labels()), limits=Limits(max_bytes=100))


def test_the_expected_grids_axes_are_given_to_the_label_map(tmp_path):
    ids = labels((4, 5, 1))
    path = nifti(tmp_path, ids)
    assert read_label_map(path).array.shape == (4, 5, 1)
    assert read_label_map(path, expected=Grid((4, 5))).array.shape == (4, 5)
    flat = nifti(tmp_path, ids[..., 0], "flat.nii")
    read = read_label_map(flat, expected=Grid((4, 5, 1)))
    assert read.array.shape == read.grid.shape == (4, 5, 1)
    assert np.array_equal(read.array, ids)


@pytest.mark.parametrize("code", [1, 32, 128, 1536, 1792, 2304, 0, 7])
def test_types_that_hold_no_plain_number_are_refused(tmp_path, code):
    refused(nifti(tmp_path, labels(), datatype=code), "volume-datatype")


def test_what_is_no_single_nifti_file_is_refused(tmp_path):
    refused(nifti(tmp_path, labels(), magic=b"ni1"), "volume-format")
    refused(nifti(tmp_path, labels(), magic=b""), "volume-format")
    text = tmp_path / "text.nii.gz"
    text.write_bytes(gzip.compress(b"hello, this is no volume" * 40))
    refused(text, "volume-format")
    short = tmp_path / "short.nii.gz"
    short.write_bytes(gzip.compress(nifti_bytes(labels())[:200]))
    refused(short, "volume-truncated")
    short.write_bytes(gzip.compress(b"\x5c"))
    refused(short, "volume-truncated")


def test_a_plain_file_of_another_length_is_refused(tmp_path):
    content = nifti_bytes(labels())
    path = tmp_path / "a.nii"
    path.write_bytes(content[:-1])
    refused(path, "volume-truncated")
    path.write_bytes(content + b"\0")
    refused(path, "volume-overlong")


def test_an_image_is_scaled_in_doubles(tmp_path):
    stored = np.array([[[1, 2], [3, 4]]], dtype=np.int16)
    image = read_image(nifti(tmp_path, stored, scl_slope=0.1, scl_inter=-5))
    slope = float(np.float32(0.1))
    assert image.array.dtype == np.float64
    assert image.array[0, 1, 1] == 4 * slope - 5
    same = read_image(nifti(tmp_path, stored))
    assert same.array.dtype == np.int16
    assert same.spacing_mm == (0.8, 1.0, 2.5)
    assert np.allclose(same.affine_ras, AFFINE)
    with pytest.raises(VolumeError) as caught:
        read_image(nifti(tmp_path, stored, scl_slope=2, scl_inter=math.nan))
    assert caught.value.code == "volume-header"


def test_errors_of_the_file_system_are_typed(tmp_path):
    refused(tmp_path / "absent.nii.gz", "volume-missing")
    refused(tmp_path, "volume-unreadable")
    file = write_nifti(tmp_path / "a.nii", labels())
    refused(file / "b.nii", "volume-missing")
    refused(tmp_path / ("x" * 300), "volume-unreadable")
    refused(tmp_path / "a\0b.nii", "volume-unreadable")
    (tmp_path / "empty.nii.gz").write_bytes(b"")
    refused(tmp_path / "empty.nii.gz", "volume-truncated")


def test_micrometre_voxels_keep_their_spacing(tmp_path):
    """Rounded to 1e-6 of the file's own unit: to 1e-6 mm, 0.1625 micrometres would be off by 0.3 %."""
    sizes = [1, 0.1625, 0.1625, 0.3, 1, 1, 1, 1]
    path = nifti(tmp_path, labels(), xyzt_units=3, pixdim=sizes, sform_code=0, qform_code=0)
    assert read_grid(path).grid.spacing_mm == pytest.approx((1.625e-4, 1.625e-4, 3e-4), rel=1e-9)


def test_the_highest_id_is_told_where_the_ids_are_the_stored_values(tmp_path):
    stored = labels()
    assert read_label_map(nifti(tmp_path, stored, "plain.nii.gz")).highest == stored.max()
    for name, dtype, slope, inter in (
        ("shifted", "uint8", 1.0, 5.0),
        ("scaled", "uint8", 2.0, 0.0),
        ("f", "float32", 1.0, 0.0),
    ):
        found = read_label_map(
            nifti(tmp_path, stored.astype(dtype), f"{name}.nii.gz", scl_slope=slope, scl_inter=inter)
        )
        assert found.highest is None
        assert found.array.max() == stored.max() * slope + inter
