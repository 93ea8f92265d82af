import io
import zipfile

import numpy as np
import pytest
from volume_files import labels, refused, same_labels

from medotter_bench.inference import Grid, Limits, read_grid, read_label_map


def npy(tmp_path, array, name="a.npy"):
    np.save(tmp_path / name, array, allow_pickle=True)
    return tmp_path / name


def npy_bytes(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def npz(tmp_path, members, name="a.npz"):
    with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, content in members:
            archive.writestr(key, content)
    return tmp_path / name


@pytest.mark.parametrize("dtype", ["u1", ">u2", "u4", "u8", "i8", ">f4", "f8", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_plain_arrays_come_back(tmp_path, dtype, order):
    ids = labels((3, 4, 5), n_ids=2 if dtype == "?" else 5)
    read = read_label_map(npy(tmp_path, np.asarray(ids, dtype=dtype, order=order)))
    assert same_labels(read, ids)
    assert read.array.dtype.isnative
    assert read.grid == Grid((3, 4, 5))


def test_instances_of_an_npz_come_back_and_other_keys_are_noted(tmp_path):
    ids = labels((4, 5), dtype="u4", n_ids=9)
    np.savez_compressed(tmp_path / "a.npz", instances=ids, probability=ids / 9)
    read = read_label_map(tmp_path / "a.npz")
    assert same_labels(read, ids)
    assert read.notes["ignored_keys"] == "probability"
    np.savez(tmp_path / "b.npz", instances=ids)
    assert read_label_map(tmp_path / "b.npz").notes == {}
    assert read_grid(tmp_path / "b.npz").format == "npz"


def test_pickles_are_never_loaded(tmp_path):
    refused(npy(tmp_path, np.array([[{"a": 1}, 2]], dtype=object)), "volume-datatype")
    refused(npy(tmp_path, np.zeros((2, 2), dtype=[("a", "u1")])), "volume-datatype")
    refused(npy(tmp_path, np.zeros((2, 2), dtype="c8")), "volume-datatype")


def test_another_length_than_promised_is_refused(tmp_path):
    content = npy_bytes(labels((4, 5)))
    path = tmp_path / "a.npy"
    path.write_bytes(content[:-1])
    refused(path, "volume-truncated")
    path.write_bytes(content + b"\0")
    refused(path, "volume-overlong")
    path.write_bytes(content[:40])
    refused(path, "volume-corrupt")
    refused(npz(tmp_path, [("instances.npy", content[:-1])]), "volume-truncated")


def header(shape):
    """An npy header that states `shape` literally."""
    text = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize(
    ("shape", "code"),
    [
        ("(30000, 30000, 30000)", "volume-too-large"),
        ("(32767, 32767, 32767, 1, 1, 1, 1, 1)", "volume-axes"),
        ("(-4, 5)", "volume-header"),
        ("(0, 5)", "volume-header"),
        ("(True, 5)", "volume-corrupt"),
        ("(5,)", "volume-axes"),
        ("(4, 5, 1, 2)", "volume-axes"),
        ("'x'", "volume-corrupt"),
    ],
)
def test_impossible_headers_are_refused(tmp_path, shape, code):
    path = tmp_path / "a.npy"
    path.write_bytes(header(shape) + bytes(20))
    refused(path, code)


def test_the_grid_is_compared_before_a_value_is_read(tmp_path):
    path = tmp_path / "a.npy"
    path.write_bytes(header("(30000, 30000, 30000)"))
    error = refused(path, "grid-shape", expected=Grid((4, 5, 6)))
    assert "shape" in error.what
    assert "30000" in error.what


def test_a_bomb_in_an_npz_is_stopped_by_its_header(tmp_path):
    bomb = npz(tmp_path, [("instances.npy", header("(4, 5)") + bytes(50_000_000))])
    refused(bomb, "volume-overlong")
    refused(npz(tmp_path, [("instances.npy", header("(9000, 9000)") + bytes(100))]), "volume-truncated")
    refused(bomb, "volume-too-large", limits=Limits(max_voxels=10))


def test_an_npz_needs_exactly_one_array_of_that_key(tmp_path):
    content = npy_bytes(labels((4, 5)))
    error = refused(npz(tmp_path, [("arr_0.npy", content)]), "volume-format")
    assert "instances" in error.what
    assert "arr_0" in error.what
    with pytest.warns(UserWarning, match="Duplicate"):
        twice = npz(tmp_path, [("instances.npy", content), ("instances.npy", content)])
    refused(twice, "volume-format")
    refused(npz(tmp_path, [("instances.npy", b"text, no array")]), "volume-corrupt")


def test_a_damaged_archive_is_refused(tmp_path):
    path = npz(tmp_path, [("instances.npy", npy_bytes(np.random.default_rng(1).integers(0, 99, (40, 50))))])
    content = bytearray(path.read_bytes())
    content[200] ^= 0xFF
    path.write_bytes(bytes(content))
    refused(path, "volume-corrupt")
    path.write_bytes(bytes(content[: len(content) // 2]))
    refused(path, "volume-corrupt")


def test_newer_npy_versions_are_read_or_refused(tmp_path):
    ids = labels((4, 5))
    with (tmp_path / "a.npy").open("wb") as stream:
        np.lib.format.write_array(stream, ids, version=(2, 0))
    assert same_labels(read_label_map(tmp_path / "a.npy"), ids)
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\3\0" + bytes(40))
    refused(tmp_path / "a.npy", "volume-corrupt")
