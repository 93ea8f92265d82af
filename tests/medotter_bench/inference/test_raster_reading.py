import io
import sys
import zlib

import numpy as np
import pytest
from PIL import Image
from volume_files import labels, png_bytes, refused, same_labels

from medomni.core.errors import MissingExtraError
from medotter_bench.errors import VolumeError
from medotter_bench.inference import Grid, read_grid, read_image, read_label_map


def png(tmp_path, array, mode=None, name="a.png", **save):
    image = Image.fromarray(array) if mode is None else Image.fromarray(array).convert(mode)
    image.save(tmp_path / name, **save)
    return tmp_path / name


def raw(tmp_path, content, name="a.png"):
    (tmp_path / name).write_bytes(content)
    return tmp_path / name


def test_eight_and_sixteen_bits_come_back(tmp_path):
    ids = labels((6, 7), n_ids=5)
    assert same_labels(read_label_map(png(tmp_path, ids)), ids)
    wide = ids.astype(np.uint16) * 13000
    read = read_label_map(png(tmp_path, wide))
    assert same_labels(read, wide)
    assert read.array.dtype == np.uint16
    assert read.grid == Grid((6, 7))


def test_one_bit_is_zero_and_one(tmp_path):
    mask = labels((5, 9), n_ids=2)
    assert same_labels(read_label_map(png(tmp_path, mask.astype(bool))), mask)


@pytest.mark.parametrize("depth", [2, 4])
def test_two_and_four_bits_are_not_stretched(tmp_path, depth):
    ids = labels((5, 8), n_ids=4)
    per_byte = 8 // depth
    rows = [
        bytes(
            sum(int(v) << (8 - depth * (k + 1)) for k, v in enumerate(row[i : i + per_byte]))
            for i in range(0, 8, per_byte)
        )
        for row in ids
    ]
    path = raw(tmp_path, png_bytes(8, 5, depth, 0, rows))
    assert same_labels(read_label_map(path), ids)


def test_palettes_are_indices_as_labels_and_colours_as_images(tmp_path):
    ids = labels((5, 6), n_ids=3)
    image = Image.fromarray(ids, mode=None).convert("P")
    image.putdata(ids.ravel().tolist())
    image.putpalette([0, 0, 0, 128, 0, 0, 128, 0, 0])
    image.save(tmp_path / "a.png")
    assert same_labels(read_label_map(tmp_path / "a.png"), ids)
    colours = read_image(tmp_path / "a.png").array
    assert colours.shape == (5, 6, 3)
    assert np.array_equal(colours[..., 0], np.where(ids > 0, 128, 0))


@pytest.mark.parametrize("mode", ["LA", "RGB", "RGBA"])
def test_equal_colours_are_one_channel(tmp_path, mode):
    ids = labels((5, 6))
    assert same_labels(read_label_map(png(tmp_path, ids, mode)), ids)


def test_unequal_colours_and_varying_transparency_are_refused(tmp_path):
    colours = np.zeros((4, 4, 3), np.uint8)
    colours[1, 1] = (1, 2, 3)
    assert "RGB" in refused(png(tmp_path, colours), "volume-mode").what
    hidden = np.zeros((4, 4, 4), np.uint8)
    hidden[2, 2, 3] = 255
    refused(png(tmp_path, hidden), "volume-mode")


def test_rgb24_packs_three_bytes(tmp_path):
    ids = np.array([[0, 1, 256], [65536, 70000, 2**24 - 1]], dtype=np.uint32)
    packed = np.stack([ids & 255, ids >> 8 & 255, ids >> 16], axis=-1).astype(np.uint8)
    path = png(tmp_path, packed)
    assert same_labels(read_label_map(path, rgb24=True), ids)
    refused(path, "volume-mode")
    opaque = np.dstack([packed, np.full((2, 3), 255, np.uint8)])
    assert same_labels(read_label_map(png(tmp_path, opaque), rgb24=True), ids)
    refused(png(tmp_path, labels((4, 4))), "volume-mode", rgb24=True)


def test_sixteen_bit_colour_is_refused_rather_than_cut_to_eight(tmp_path):
    refused(raw(tmp_path, png_bytes(2, 1, 16, 2, [bytes(12)])), "volume-mode")


@pytest.mark.parametrize(("depth", "colour"), [(3, 0), (16, 3), (8, 5), (2, 2)])
def test_a_header_of_an_unknown_kind_is_refused(tmp_path, depth, colour):
    refused(raw(tmp_path, png_bytes(2, 1, depth, colour, [bytes(12)])), "volume-corrupt")


def test_an_animation_is_refused(tmp_path):
    frames = [Image.fromarray(labels((4, 4), n_ids=n)) for n in (2, 3)]
    frames[0].save(tmp_path / "a.png", save_all=True, append_images=frames[1:])
    refused(tmp_path / "a.png", "volume-frames")


def test_lossy_content_is_no_label_map(tmp_path):
    Image.fromarray(labels((16, 16))).save(tmp_path / "a.jpg")
    refused(tmp_path / "a.jpg", "volume-lossy")
    refused(raw(tmp_path, (tmp_path / "a.jpg").read_bytes()), "volume-lossy")
    refused(raw(tmp_path, b"GIF89a" + bytes(80), "a.gif"), "volume-lossy")
    refused(raw(tmp_path, b"RIFF\0\0\0\0WEBPVP8 " + bytes(80)), "volume-lossy")


def test_jpeg_images_are_read(tmp_path):
    colours = np.full((8, 9, 3), 200, np.uint8)
    Image.fromarray(colours).save(tmp_path / "a.jpg")
    Image.fromarray(colours[..., 0]).save(tmp_path / "b.jpeg")
    assert read_image(tmp_path / "a.jpg").array.shape == (8, 9, 3)
    assert read_image(tmp_path / "b.jpeg").array.shape == (8, 9)
    header = read_grid(tmp_path / "a.jpg")
    assert (header.format, header.channels, header.lossy) == ("jpeg", 3, True)
    Image.fromarray(colours).convert("CMYK").save(tmp_path / "c.jpg")
    with pytest.raises(VolumeError) as caught:
        read_image(tmp_path / "c.jpg")
    assert caught.value.code == "volume-mode"


def test_damage_to_any_chunk_is_found(tmp_path):
    content = bytearray(png(tmp_path, labels((40, 40), n_ids=11)).read_bytes())
    for position in (20, 60, len(content) - 20):
        damaged = bytearray(content)
        damaged[position] ^= 1
        with pytest.raises(VolumeError) as caught:
            read_label_map(raw(tmp_path, bytes(damaged), "b.png"))
        assert caught.value.code == "volume-corrupt"
    for length in (10, 30, 50, len(content) - 5, len(content) - 12):
        refused(raw(tmp_path, bytes(content[:length]), "b.png"), "volume-truncated")


def test_pixels_that_are_missing_behind_right_checksums_are_found(tmp_path):
    refused(raw(tmp_path, png_bytes(4, 4, 8, 0, [bytes(4)] * 2)), "volume-truncated")
    refused(raw(tmp_path, png_bytes(4, 4, 8, 0, [bytes(4)] * 5)), "volume-overlong")
    refused(raw(tmp_path, png_bytes(4, 4, 8, 0, [bytes(1 << 22)])), "volume-overlong")


# A 9x10 image of 1-bit samples whose rows lie in the seven passes of the specification.
def test_interlaced_images_are_whole(tmp_path):
    passes = [(2, 2), (1, 2), (3, 1), (2, 3), (5, 2), (4, 5), (9, 5)]
    body = zlib.compress(
        b"".join((b"\0" + b"\xff" * ((columns + 7) // 8)) * rows for columns, rows in passes)
    )
    path = raw(tmp_path, png_bytes(9, 10, 1, 0, [], interlace=1, body=body))
    read = read_label_map(path)
    assert read.array.shape == (10, 9)
    assert read.array.min() == 1
    refused(
        raw(tmp_path, png_bytes(9, 10, 1, 0, [], interlace=1, body=zlib.compress(bytes(5)))),
        "volume-truncated",
    )


def test_a_size_beyond_the_limits_is_refused_from_the_header(tmp_path):
    refused(raw(tmp_path, png_bytes(2**31 - 1, 2**31 - 1, 8, 0, [b""])), "volume-too-large")
    refused(raw(tmp_path, png_bytes(0, 4, 8, 0, [b""])), "volume-header")


def test_colour_images_keep_their_samples(tmp_path):
    colours = labels((5, 6, 3), n_ids=11)
    path = png(tmp_path, colours)
    assert np.array_equal(read_image(path).array, colours)
    assert read_image(path).spacing_mm is None
    header = read_grid(path)
    assert (header.channels, header.stored_shape, header.grid.shape) == (3, (5, 6, 3), (5, 6))


def test_a_missing_package_is_named_with_the_command_that_installs_it(tmp_path, monkeypatch):
    path = png(tmp_path, labels((4, 4)))
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(MissingExtraError) as caught:
        read_label_map(path)
    assert "medomni[imaging]" in caught.value.hint


def test_the_reader_of_a_stream_needs_no_seekable_file_of_its_own():
    # The builder and the library agree on what a plain PNG is.
    image = Image.open(io.BytesIO(png_bytes(4, 2, 8, 0, [b"\1\2\3\4", b"\5\6\7\0"])))
    assert np.array(image).tolist() == [[1, 2, 3, 4], [5, 6, 7, 0]]
