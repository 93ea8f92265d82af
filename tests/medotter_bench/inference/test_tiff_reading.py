import struct

import numpy as np
import pytest
import tifffile
from volume_files import labels, refused, same_labels

from medotter_bench.errors import VolumeError
from medotter_bench.inference import Grid, Limits, read_grid, read_image, read_label_map


def tiff(tmp_path, array, name="a.tif", **how):
    how.setdefault("photometric", "minisblack")
    tifffile.imwrite(tmp_path / name, array, **how)
    return tmp_path / name


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "i4", "u8", "f4", "f8", "?"])
@pytest.mark.parametrize("compression", [None, "zlib", "lzw", "zstd", "packbits"])
def test_lossless_pages_come_back(tmp_path, dtype, compression):
    ids = labels((17, 19), n_ids=2 if dtype == "?" else 5)
    path = tiff(tmp_path, ids.astype(dtype), compression=compression if dtype != "?" else None)
    read = read_label_map(path)
    assert same_labels(read, ids)
    assert read.grid == Grid((17, 19))


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"byteorder": ">"},
        {"bigtiff": True},
        {"compression": "zlib", "predictor": True},
        {"compression": "zlib", "rowsperstrip": 3},
        {"tile": (16, 16)},
        {"tile": (16, 16), "compression": "zlib"},
        {"imagej": True},
        {"metadata": None},
        {"ome": True},
    ],
)
def test_stacks_come_back_however_they_are_laid_out(tmp_path, how):
    ids = labels((3, 21, 22), dtype="u2", n_ids=11)
    read = read_label_map(tiff(tmp_path, ids, **how))
    assert same_labels(read, ids)
    assert read.array.dtype.isnative


def test_ids_beyond_sixteen_bits_survive(tmp_path):
    ids = labels((8, 9), dtype="u4", n_ids=11) * 100_000
    assert same_labels(read_label_map(tiff(tmp_path, ids)), ids)


def test_values_between_whole_numbers_are_refused(tmp_path):
    refused(tiff(tmp_path, labels((4, 5), dtype="f4") / 3), "labels-not-integer")


def test_separate_images_and_further_axes_are_refused(tmp_path):
    with tifffile.TiffWriter(tmp_path / "a.tif") as writer:
        writer.write(labels((4, 5)), photometric="minisblack")
        writer.write(labels((6, 7)), photometric="minisblack")
    refused(tmp_path / "a.tif", "volume-frames")
    refused(tiff(tmp_path, labels((2, 3, 4, 5))), "volume-axes")


def test_colours_are_no_labels(tmp_path):
    colours = labels((6, 7, 3), n_ids=11)
    path = tiff(tmp_path, colours, photometric="rgb")
    refused(path, "volume-channels")
    refused(path, "volume-format", rgb24=True)
    assert np.array_equal(read_image(path).array, colours)
    assert read_grid(path).channels == 3
    planar = tiff(tmp_path, np.moveaxis(colours, -1, 0), photometric="rgb", planarconfig="separate")
    refused(planar, "volume-axes")


def test_jpeg_inside_a_tiff_is_no_label_map(tmp_path):
    path = tiff(tmp_path, labels((32, 32)), compression="jpeg")
    refused(path, "volume-lossy")
    assert read_image(path).array.shape == (32, 32)


def test_the_grid_is_compared_before_a_pixel_is_read(tmp_path):
    path = tiff(tmp_path, labels((6, 7)))
    refused(path, "grid-shape", expected=Grid((7, 6)))
    refused(path, "volume-too-large", limits=Limits(max_voxels=41))
    with pytest.raises(VolumeError):
        read_grid(path, limits=Limits(max_bytes=41))


@pytest.mark.parametrize(
    "how", [{}, {"compression": "zlib"}, {"tile": (16, 16)}, {"rowsperstrip": 4, "compression": "zlib"}]
)
def test_a_file_cut_anywhere_is_refused(tmp_path, how):
    whole = tiff(tmp_path, labels((20, 20), n_ids=11), **how).read_bytes()
    path = tmp_path / "b.tif"
    for share in (0.05, 0.3, 0.6, 0.9):
        path.write_bytes(whole[: int(len(whole) * share)])
        with pytest.raises(VolumeError) as caught:
            read_label_map(path)
        assert caught.value.code in {"volume-truncated", "volume-corrupt", "volume-frames"}


def overwrite_tag(path, code, value):
    """Set the first value of a tag of the first page."""
    with tifffile.TiffFile(path) as file:
        tag = file.pages[0].tags[code]
        offset, kind = tag.valueoffset, {3: "<H", 4: "<I", 16: "<Q"}[int(tag.dtype)]
    content = bytearray(path.read_bytes())
    struct.pack_into(kind, content, offset, value)
    path.write_bytes(bytes(content))


def test_a_strip_that_is_not_there_is_not_read_as_background(tmp_path):
    path = tiff(tmp_path, labels((20, 20), n_ids=11), compression="zlib", rowsperstrip=5)
    overwrite_tag(path, 279, 0)
    refused(path, "volume-corrupt")
    path = tiff(tmp_path, labels((20, 20), n_ids=11), compression="zlib", rowsperstrip=5)
    overwrite_tag(path, 273, 10**6)
    refused(path, "volume-truncated")


def test_a_page_larger_than_its_strips_is_refused(tmp_path):
    for rows in (21, 400, 2**31):
        path = tiff(tmp_path, labels((20, 20), n_ids=11), compression="zlib")
        overwrite_tag(path, 257, rows)
        with pytest.raises(VolumeError) as caught:
            read_label_map(path)
        assert caught.value.code in {"volume-truncated", "volume-corrupt", "volume-too-large"}
    path = tiff(tmp_path, labels((20, 20), n_ids=11))
    overwrite_tag(path, 257, 400)
    with pytest.raises(VolumeError):
        read_label_map(path)


def test_complex_samples_are_refused(tmp_path):
    refused(tiff(tmp_path, labels((4, 5)).astype("c8")), "volume-datatype")


def test_what_only_begins_like_a_tiff_is_refused(tmp_path):
    (tmp_path / "a.tif").write_bytes(b"II*\0" + b"\xff" * 40)
    with pytest.raises(VolumeError) as caught:
        read_label_map(tmp_path / "a.tif")
    assert caught.value.where.endswith("a.tif")


def test_a_tag_that_the_decoder_would_go_on_without_is_an_error(tmp_path, caplog):
    path = tiff(tmp_path, labels((20, 20), n_ids=11), compression="zlib", predictor=True)
    with tifffile.TiffFile(path) as file:
        offset = file.pages[0].tags["Predictor"].offset
    content = bytearray(path.read_bytes())
    content[offset + 2] = 0xFF
    path.write_bytes(bytes(content))
    refused(path, "volume-corrupt")
    assert not caplog.records
