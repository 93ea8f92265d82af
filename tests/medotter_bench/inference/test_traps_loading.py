"""One test per known way in which a label map is misread; the number is that of the list of traps."""

import gzip
import io
import math
import tracemalloc
import zipfile

import numpy as np
import pytest
import tifffile
from PIL import Image
from volume_files import labels, nifti, nifti_bytes, nrrd_bytes, png_bytes, refused, same_labels

from medomni.core.errors import UnsafePathError
from medotter_bench.errors import VolumeError
from medotter_bench.inference import Grid, VolumeLoader, grid_difference, read_grid, read_label_map


def test_a_float_map_behind_an_eight_bit_header_gives_its_labels(tmp_path):
    """Trap 21."""
    slope = np.float32(4 / 255)
    ids = np.array([0, 1, 2, 4], dtype=np.uint8).reshape(2, 2, 1)
    stored = np.rint(ids / slope).astype(np.uint8)
    read = read_label_map(nifti(tmp_path, stored, scl_slope=slope, scl_inter=0))
    assert same_labels(read, ids)
    assert read.notes["rounded_voxels"] > 0


@pytest.mark.parametrize("slope", [0, math.nan, math.inf])
def test_a_slope_that_means_unscaled_scales_nothing(tmp_path, slope):
    """Trap 22."""
    assert same_labels(read_label_map(nifti(tmp_path, labels(), scl_slope=slope, scl_inter=5)), labels())


def test_almost_one_is_one(tmp_path):
    """Trap 23."""
    almost = labels(dtype="f4") - np.float32(1e-4) * (labels() > 0)
    assert same_labels(read_label_map(nifti(tmp_path, almost)), labels())


def test_a_probability_map_is_no_label_map(tmp_path):
    """Trap 24."""
    error = refused(nifti(tmp_path, labels(dtype="f4") / 3), "labels-not-integer")
    assert "0.333333" in error.what


def test_native_ids_are_left_to_the_label_map(tmp_path):
    """Trap 25."""
    ids = np.array([0, 1, 2, 4], dtype=np.uint8).reshape(2, 2, 1)
    assert same_labels(read_label_map(nifti(tmp_path, ids)), ids)


@pytest.mark.parametrize("dtype", ["i8", "u8"])
def test_sixty_four_bit_maps_are_read(tmp_path, dtype):
    """Trap 26."""
    ids = labels(dtype=dtype)
    ids[0, 0, 1] = 2**62 + 1
    read = read_label_map(nifti(tmp_path, ids))
    assert same_labels(read, ids)
    assert read.array.dtype == np.dtype(dtype)


def test_big_endian_files_end_in_native_order(tmp_path):
    """Trap 27."""
    ids = labels(dtype="i2") * 256
    read = read_label_map(nifti(tmp_path, ids, order=">"))
    assert same_labels(read, ids)
    assert read.array.dtype.isnative


def test_the_same_shape_with_another_orientation_is_refused(tmp_path):
    """Trap 28."""
    expected = read_grid(nifti(tmp_path, labels())).grid
    flipped = np.diag([-0.8, 1.0, 2.5, 1.0])
    flipped[0, 3] = 2.4
    refused(nifti(tmp_path, labels(), affine=flipped), "grid-affine", expected=expected)


def test_rounding_in_an_affine_is_accepted(tmp_path):
    """Trap 29."""
    expected = read_grid(nifti(tmp_path, labels())).grid
    nearly = np.diag([0.8 + 2e-6, 1.0, 2.5 - 3e-6, 1.0])
    nearly[:3, 3] = 1e-5
    assert same_labels(read_label_map(nifti(tmp_path, labels(), affine=nearly), expected=expected), labels())


def test_two_forms_that_disagree_are_refused_and_none_states_no_orientation(tmp_path):
    """Trap 30."""
    refused(nifti(tmp_path, labels(), srow_z=[0, 0, 5, 0]), "geometry-contradiction")
    neither = read_grid(nifti(tmp_path, labels(), qform_code=0, sform_code=0)).grid
    assert neither.affine_ras is None
    assert grid_difference(read_grid(nifti(tmp_path, labels())).grid, neither) is None


def test_spacing_is_what_the_writer_meant(tmp_path):
    """Trap 31."""
    assert read_grid(nifti(tmp_path, labels())).grid.spacing_mm[0] == 0.8


def test_spacings_that_are_no_length_are_refused_and_units_are_converted(tmp_path):
    """Trap 32."""
    for length in (0, -1, math.nan):
        refused(nifti(tmp_path, labels(), pixdim=[1, 1, 1, length, 1, 1, 1, 1]), "geometry-spacing")
    metres = nifti(tmp_path, labels(), affine=np.diag([0.001, 0.001, 0.003, 1]), xyzt_units=1)
    assert read_grid(metres).grid.spacing_mm == (1.0, 1.0, 3.0)


def test_only_a_trailing_axis_of_length_one_is_dropped(tmp_path):
    """Trap 33."""
    expected = read_grid(nifti(tmp_path, labels())).grid
    assert same_labels(read_label_map(nifti(tmp_path, labels()[..., None]), expected=expected), labels())
    refused(nifti(tmp_path, labels((4, 5, 6, 2))), "volume-axes")
    leading = nifti(tmp_path, labels((1, 4, 5, 6)))
    refused(leading, "volume-axes", expected=expected)


def test_layered_nrrd_is_refused(tmp_path):
    """Trap 34."""
    pytest.importorskip("SimpleITK")
    layered = {"sizes": "2 4 5 6", "dimension": "4", "kinds": "list domain domain domain"}
    layered["space directions"] = "none (1,0,0) (0,2,0) (0,0,3)"
    content = nrrd_bytes(labels((2, 60, 2)), fields=layered)
    (tmp_path / "a.nrrd").write_bytes(content)
    refused(tmp_path / "a.nrrd", "volume-axes")


def test_another_shape_is_refused_with_both_shapes(tmp_path):
    """Trap 35."""
    error = refused(nifti(tmp_path, labels()), "grid-shape", expected=Grid((8, 10, 12)))
    assert "(4, 5, 6)" in error.what
    assert "(8, 10, 12)" in error.what


def test_voxels_behind_an_extension_are_found(tmp_path):
    """Trap 36."""
    assert same_labels(read_label_map(nifti(tmp_path, labels(), extension=b"\x10\0\0\0" * 8)), labels())
    refused(nifti(tmp_path, labels(), vox_offset=10_000), "volume-truncated")


def test_a_gzip_cut_short_or_with_a_wrong_checksum_is_refused(tmp_path):
    """Trap 37."""
    whole = gzip.compress(nifti_bytes(labels()), mtime=0)
    path = tmp_path / "a.nii.gz"
    for cut in (len(whole) * 3 // 4, len(whole) - 8, len(whole) - 1):
        path.write_bytes(whole[:cut])
        refused(path, "volume-truncated")
    for position in (-6, -2):
        damaged = bytearray(whole)
        damaged[position] ^= 1
        path.write_bytes(bytes(damaged))
        refused(path, "volume-corrupt")
    path.write_bytes(gzip.compress(nifti_bytes(labels()) + b"\0"))
    refused(path, "volume-overlong")


def test_every_member_of_a_gzip_is_read(tmp_path):
    """Trap 38."""
    content = nifti_bytes(labels())
    path = tmp_path / "a.nii.gz"
    path.write_bytes(
        b"".join(gzip.compress(content[start : start + 90]) for start in range(0, len(content), 90))
    )
    assert same_labels(read_label_map(path), labels())


def test_zeros_after_a_gzip_are_padding_and_anything_else_is_not(tmp_path):
    """Trap 39."""
    whole = gzip.compress(nifti_bytes(labels()))
    path = tmp_path / "a.nii.gz"
    path.write_bytes(whole + bytes(512))
    assert same_labels(read_label_map(path), labels())
    path.write_bytes(whole + bytes(3) + b"junk")
    refused(path, "volume-corrupt")


def test_a_gzip_bomb_is_stopped_at_the_size_of_its_header(tmp_path):
    """Trap 40."""
    path = tmp_path / "a.nii.gz"
    path.write_bytes(gzip.compress(nifti_bytes(labels()) + bytes(30_000_000)))
    read_label_map(nifti(tmp_path, labels(), "warm.nii.gz"))
    tracemalloc.start()
    try:
        refused(path, "volume-overlong")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000


def test_a_header_bomb_is_refused_from_the_header(tmp_path):
    """Trap 41."""
    bomb = nifti(tmp_path, labels(), dim=[7, *[32767] * 7])
    refused(bomb, "volume-axes")
    bomb = nifti(tmp_path, labels(), dim=[3, 32767, 32767, 32767, 1, 1, 1, 1])
    refused(bomb, "volume-too-large")
    refused(bomb, "grid-shape", expected=Grid((4, 5, 6)))


def test_the_name_does_not_say_whether_a_file_is_compressed(tmp_path):
    """Trap 42."""
    (tmp_path / "a.nii.gz").write_bytes(nifti_bytes(labels()))
    (tmp_path / "b.nii").write_bytes(gzip.compress(nifti_bytes(labels())))
    assert same_labels(read_label_map(tmp_path / "a.nii.gz"), labels())
    assert same_labels(read_label_map(tmp_path / "b.nii"), labels())


def test_a_manifests_path_cannot_leave_its_root(tmp_path):
    """Trap 43."""
    nifti(tmp_path, labels())
    (tmp_path / "data").mkdir()
    for path in ("../a.nii.gz", str(tmp_path / "a.nii.gz"), "x\\a.nii.gz"):
        with pytest.raises(UnsafePathError):
            VolumeLoader(tmp_path / "data").load_label(path)


def test_ids_cut_off_at_their_types_maximum_are_noted(tmp_path):
    """Trap 44."""
    ids = np.array([[0, 256, 257]], dtype=np.uint16)
    tifffile.imwrite(tmp_path / "a.tif", ids, photometric="minisblack")
    assert read_label_map(tmp_path / "a.tif").array.tolist() == [[0, 256, 257]]
    for dtype, limit in (("u1", 255), ("u2", 65535)):
        np.save(tmp_path / "a.npy", np.array([[1, limit]], dtype=dtype))
        assert read_label_map(tmp_path / "a.npy").notes == {"saturated_at": limit}
    np.save(tmp_path / "a.npy", np.array([[1, 255]], dtype="u2"))
    assert read_label_map(tmp_path / "a.npy").notes == {}


def test_sixteen_bit_png_keeps_sixteen_bits(tmp_path):
    """Trap 45."""
    ids = np.array([[0, 1, 256], [257, 4000, 60000]], dtype=np.uint16)
    Image.fromarray(ids).save(tmp_path / "a.png")
    assert same_labels(read_label_map(tmp_path / "a.png"), ids)
    (tmp_path / "a.png").write_bytes(png_bytes(1, 1, 16, 6, [bytes(8)]))
    refused(tmp_path / "a.png", "volume-mode")


def test_colours_are_read_only_as_declared(tmp_path):
    """Trap 46."""
    grey = np.repeat(labels((4, 5))[..., None], 3, axis=2)
    Image.fromarray(grey).save(tmp_path / "grey.png")
    assert same_labels(read_label_map(tmp_path / "grey.png"), labels((4, 5)))
    packed = np.array([[[1, 2, 3], [0, 0, 0]]], dtype=np.uint8)
    Image.fromarray(packed).save(tmp_path / "packed.png")
    refused(tmp_path / "packed.png", "volume-mode")
    assert read_label_map(tmp_path / "packed.png", rgb24=True).array.tolist() == [
        [1 + 256 * 2 + 65536 * 3, 0]
    ]


def test_lossy_formats_are_refused_whatever_their_name(tmp_path):
    """Trap 47."""
    Image.fromarray(labels((32, 32))).save(tmp_path / "a.jpg")
    (tmp_path / "b.png").write_bytes((tmp_path / "a.jpg").read_bytes())
    tifffile.imwrite(tmp_path / "c.tif", labels((32, 32)), compression="jpeg", photometric="minisblack")
    for name in ("a.jpg", "b.png", "c.tif"):
        refused(tmp_path / name, "volume-lossy")


def test_mat_files_are_not_guessed_at(tmp_path):
    """Trap 48."""
    (tmp_path / "a.mat").write_bytes(b"MATLAB 5.0 MAT-file, Platform: GLNXA64".ljust(128) + bytes(64))
    refused(tmp_path / "a.mat", "volume-format")


def test_gaps_between_ids_are_kept(tmp_path):
    """Trap 49."""
    ids = np.array([[0, 3, 70000], [2**40, 0, 3]], dtype=np.int64)
    np.savez(tmp_path / "a.npz", instances=ids)
    assert same_labels(read_label_map(tmp_path / "a.npz"), ids)


def test_a_stack_is_one_volume_and_not_slices(tmp_path):
    """Trap 61."""
    ids = np.zeros((3, 4, 5), dtype=np.uint16)
    ids[:, 1:3, 1:3] = 7
    tifffile.imwrite(tmp_path / "a.tif", ids, photometric="minisblack", compression="zlib")
    read = read_label_map(tmp_path / "a.tif", expected=Grid((3, 4, 5)))
    assert read.array.shape == (3, 4, 5)
    assert np.count_nonzero(read.array == 7) == 12


@pytest.mark.parametrize("name", ["a.png", "a.tif", "a.npy", "a.nrrd", "a.mha"])
def test_a_name_that_promises_another_format_is_refused(tmp_path, name):
    (tmp_path / name).write_bytes(nifti_bytes(labels()))
    error = refused(tmp_path / name, "volume-format")
    assert "nifti" in error.what


def test_an_unknown_content_is_refused_with_what_its_name_promises(tmp_path):
    (tmp_path / "a.png").write_bytes(b"no image at all")
    assert "png" in refused(tmp_path / "a.png", "volume-format").what
    (tmp_path / "a.bin").write_bytes(nifti_bytes(labels()))
    assert same_labels(read_label_map(tmp_path / "a.bin"), labels())


def test_an_npz_packed_by_another_method_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("instances.npy", bytes(100))
    refused(tmp_path / "a.npz", "volume-format")


def test_what_does_not_fit_into_memory_or_the_decoder_is_too_large(tmp_path, monkeypatch):
    path = nifti(tmp_path, labels())

    def no_memory(*_, **__):
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr("medotter_bench.inference.streams.np.empty", no_memory)
        refused(path, "volume-too-large")
    buffer = io.BytesIO()
    Image.fromarray(labels((40, 50))).save(buffer, "PNG")
    (tmp_path / "a.png").write_bytes(buffer.getvalue())
    monkeypatch.setattr("PIL.Image.MAX_IMAGE_PIXELS", 100)
    refused(tmp_path / "a.png", "volume-too-large")


def test_every_error_names_the_file_as_it_was_given(tmp_path, monkeypatch):
    nifti(tmp_path, labels((2, 3, 4, 5)))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(VolumeError) as caught:
        read_label_map("a.nii.gz")
    assert caught.value.where == "a.nii.gz"
