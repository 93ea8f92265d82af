"""Damaged files give a typed error or the values that are in them, never another exception."""

import io
import zipfile

import numpy as np
import pytest
import tifffile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from volume_files import labels, nifti_bytes, nrrd_bytes

from medotter_bench.errors import VolumeError
from medotter_bench.inference import Limits, read_image, read_label_map

SMALL = Limits(max_voxels=10**6, max_bytes=10**7)


def png_file():
    buffer = io.BytesIO()
    Image.fromarray(labels((9, 10))).save(buffer, "PNG")
    return buffer.getvalue()


def tiff_file():
    buffer = io.BytesIO()
    tifffile.imwrite(buffer, labels((9, 10)), compression="zlib", photometric="minisblack")
    return buffer.getvalue()


def npy_file():
    buffer = io.BytesIO()
    np.save(buffer, labels())
    return buffer.getvalue()


def npz_file():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("instances.npy", npy_file())
    return buffer.getvalue()


def gz_file():
    import gzip

    return gzip.compress(nifti_bytes(labels()), mtime=0)


FILES = {
    "a.nii": nifti_bytes(labels()),
    "a.nii.gz": gz_file(),
    "a.png": png_file(),
    "a.tif": tiff_file(),
    "a.npy": npy_file(),
    "a.npz": npz_file(),
    "a.nrrd": nrrd_bytes(labels(), encoding="gzip"),
}


@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damage_gives_only_typed_errors(tmp_path, name, data):
    content = bytearray(FILES[name])
    kind = data.draw(st.sampled_from(["flip", "cut", "header"]))
    if kind == "cut":
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    else:
        end = len(content) if kind == "flip" else min(len(content), 160)
        for _ in range(data.draw(st.integers(1, 3))):
            content[data.draw(st.integers(0, end - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / name
    path.write_bytes(bytes(content))
    for read in (read_label_map, read_image):
        try:
            volume = read(path, limits=SMALL)
        except VolumeError as error:
            assert error.where == str(path)
            assert error.code != VolumeError.code
        else:
            assert volume.array.size <= SMALL.max_voxels
            assert kind != "cut" or name == "a.png" or np.array_equal(volume.array.ravel().shape, (90,))


@pytest.mark.parametrize("name", ["a.nii.gz", "a.png", "a.npz", "a.nrrd"])
def test_no_single_flipped_bit_of_a_checksummed_file_changes_a_label(tmp_path, name):
    whole = read_label_map(_file(tmp_path, name, FILES[name])).array
    content = FILES[name]
    for position in range(0, len(content), 3):
        damaged = bytearray(content)
        damaged[position] ^= 1 << position % 8
        try:
            found = read_label_map(_file(tmp_path, name, bytes(damaged)), limits=SMALL)
        except VolumeError:
            continue
        if name != "a.nrrd" or position > content.index(b"\n\n"):
            assert np.array_equal(found.array, whole), position


def _file(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    return path
