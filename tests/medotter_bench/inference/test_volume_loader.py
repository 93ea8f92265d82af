from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from volume_files import AFFINE, labels, same_labels, write_nifti

from medomni.core.errors import UnsafePathError
from medotter_bench.errors import BundleError, VolumeError
from medotter_bench.inference import SUFFIXES, Grid, VolumeLoader

CASE = {"dataset": "A", "image": "a/img.nii.gz", "seg": "a/seg.nii.gz"}


def put(root, *paths, value=0, shape=(4, 5, 6), affine=AFFINE):
    for path in paths:
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        write_nifti(target, labels(shape) + np.uint8(value), affine=affine)


def test_a_case_without_prepared_files_lies_under_the_data_root(tmp_path):
    put(tmp_path, *[CASE["image"], CASE["seg"]])
    loader = VolumeLoader(tmp_path)
    assert loader.resolve(CASE) == tmp_path
    put(tmp_path / "_prepared", "b/img.nii.gz")
    assert loader.resolve(CASE) == tmp_path
    assert loader.load_label(CASE["seg"]).array.shape == (4, 5, 6)
    assert loader.label_path(CASE) == tmp_path.resolve() / "a/seg.nii.gz"


def test_a_prepared_case_lies_under_prepared(tmp_path):
    put(tmp_path, *[CASE["image"], CASE["seg"]])
    put(tmp_path / "_prepared", *[CASE["image"], CASE["seg"]], value=10)
    loader = VolumeLoader(str(tmp_path))
    root = loader.resolve(CASE)
    assert root == tmp_path / "_prepared"
    assert loader.load_input(CASE).array.min() == 10
    assert loader.load_label(CASE["seg"], root=root).array.min() == 10
    assert loader.load_label(CASE["seg"]).array.min() == 0
    assert "_prepared" in loader.label_path(CASE).parts


def test_a_half_prepared_case_is_an_error_that_names_the_rest(tmp_path):
    put(tmp_path, *[CASE["image"], CASE["seg"]])
    put(tmp_path / "_prepared", CASE["image"])
    for step in (
        VolumeLoader.resolve,
        VolumeLoader.load_input,
        VolumeLoader.input_grid,
        VolumeLoader.label_path,
    ):
        with pytest.raises(VolumeError) as caught:
            step(VolumeLoader(tmp_path), CASE)
        assert caught.value.code == "prepared-partial"
        assert "a/seg.nii.gz" in caught.value.what


def test_a_prepared_reference_without_its_image_is_an_error(tmp_path):
    put(tmp_path / "_prepared", CASE["seg"])
    with pytest.raises(VolumeError) as caught:
        VolumeLoader(tmp_path).resolve(CASE)
    assert caught.value.code == "prepared-partial"


def test_a_withheld_reference_leaves_the_prepared_input_usable(tmp_path):
    put(tmp_path / "_prepared", CASE["image"], value=3)
    assert VolumeLoader(tmp_path).load_input(CASE).array.min() == 3


def test_channels_come_in_the_manifests_order(tmp_path):
    for value, name in enumerate(["t2", "flair", "t1"]):
        put(tmp_path, f"{name}.nii.gz", value=value)
    meta = {"chan": {"t2": "t2.nii.gz", "flair": "flair.nii.gz", "t1": "t1.nii.gz"}}
    volume = VolumeLoader(tmp_path).load_input(meta)
    assert volume.array.shape == (3, 4, 5, 6)
    assert volume.array.min(axis=(1, 2, 3)).tolist() == [0, 1, 2]
    assert volume.channels == ("t2", "flair", "t1")
    assert volume.spacing_mm == (0.8, 1.0, 2.5)
    assert np.allclose(volume.affine_ras, AFFINE)
    swapped = {"chan": dict(reversed(meta["chan"].items()))}
    assert VolumeLoader(tmp_path).load_input(swapped).channels == ("t1", "flair", "t2")


def test_channels_on_different_grids_are_an_error(tmp_path):
    put(tmp_path, "a.nii.gz")
    put(tmp_path, "b.nii.gz", affine=np.diag([-0.8, 1, 2.5, 1]))
    loader = VolumeLoader(tmp_path)
    for step in (loader.load_input, loader.input_grid):
        with pytest.raises(VolumeError) as caught:
            step({"chan": {"x": "a.nii.gz", "y": "b.nii.gz"}})
        assert caught.value.code == "channels-differ"
        assert "'y'" in caught.value.what


def test_a_colour_image_is_no_channel_and_is_an_input(tmp_path):
    Image.fromarray(np.zeros((4, 5, 3), np.uint8)).save(tmp_path / "a.png")
    loader = VolumeLoader(tmp_path)
    assert loader.load_input({"image": "a.png"}).array.shape == (4, 5, 3)
    assert loader.input_grid({"image": "a.png"}) == Grid((4, 5))
    with pytest.raises(VolumeError) as caught:
        loader.load_input({"chan": {"x": "a.png"}})
    assert caught.value.code == "channels-differ"


def test_the_grid_of_an_absent_input_is_none(tmp_path):
    loader = VolumeLoader(tmp_path)
    assert loader.input_grid(CASE) is None
    put(tmp_path, CASE["image"])
    assert loader.input_grid(CASE).shape == (4, 5, 6)
    with pytest.raises(VolumeError) as caught:
        loader.input_grid({"chan": {"x": CASE["image"], "y": "absent.nii.gz"}})
    assert caught.value.code == "volume-missing"


@pytest.mark.parametrize(
    ("meta", "code"),
    [
        ({}, "case-inputs"),
        ({"image": "a", "chan": {"x": "b"}}, "case-inputs"),
        ({"chan": {}}, "case-inputs"),
        ({"chan": ["a"]}, "case-inputs"),
        ({"image": 3}, "case-inputs"),
        ({"image": "a", "seg": 3}, "case-reference"),
    ],
)
def test_a_malformed_case_is_an_error(tmp_path, meta, code):
    with pytest.raises(BundleError) as caught:
        VolumeLoader(tmp_path).load_input(meta)
    assert caught.value.code == code


def test_a_case_without_reference_has_no_label_path(tmp_path):
    with pytest.raises(BundleError) as caught:
        VolumeLoader(tmp_path).label_path({"image": "a.nii.gz"})
    assert caught.value.code == "case-reference"


UNSAFE = ["../x.nii.gz", "/etc/hostname", "a/../../x", "C:/x", "a\\b", "", "a\0b"]


@pytest.mark.parametrize("path", UNSAFE)
@pytest.mark.parametrize("prepared", [False, True])
def test_unsafe_paths_are_refused_before_anything_is_opened(tmp_path, path, prepared, monkeypatch):
    if prepared:
        (tmp_path / "_prepared").mkdir()
    monkeypatch.setattr("medotter_bench.inference.reading.opened", lambda _: pytest.fail("opened"))
    loader = VolumeLoader(tmp_path)
    steps = [
        lambda: loader.load_input({"image": path}),
        lambda: loader.load_input({"chan": {"x": path}}),
        lambda: loader.input_grid({"image": path}),
        lambda: loader.load_label(path),
        lambda: loader.label_path({"image": "a", "seg": path}),
    ]
    for step in steps:
        with pytest.raises(UnsafePathError):
            step()


@given(path=st.text(max_size=12))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_text_leaves_the_root(tmp_path, path):
    loader = VolumeLoader(tmp_path)
    with suppress(UnsafePathError):
        assert loader.label_path({"image": "a", "seg": path}).is_relative_to(tmp_path.resolve())


def test_a_link_out_of_the_root_is_refused(tmp_path):
    put(tmp_path, "outside.nii.gz")
    root = tmp_path / "data"
    root.mkdir()
    (root / "a.nii.gz").symlink_to(tmp_path / "outside.nii.gz")
    with pytest.raises(UnsafePathError):
        VolumeLoader(root).load_label("a.nii.gz")


def test_the_reference_is_loaded_in_native_ids_whatever_remap_says(tmp_path):
    ids = labels(n_ids=5)
    write_nifti(tmp_path / "seg.nii.gz", ids)
    assert same_labels(VolumeLoader(tmp_path).load_label("seg.nii.gz"), ids)
    with pytest.raises(VolumeError):
        VolumeLoader(tmp_path).load_label("seg.nii.gz", expected=Grid((4, 5, 7)))


def test_the_remap_slot_is_documented_with_its_example():
    assert "{4: 3}" in VolumeLoader.__doc__


def test_suffixes_by_prediction_type():
    assert dict(SUFFIXES) == {
        "nifti": (".nii.gz", ".nii"),
        "nrrd": (".nrrd", ".mha"),
        "instance_mask2d": (".png", ".tif", ".tiff", ".npy"),
        "instance_mask3d": (".nii.gz", ".tif", ".npy", ".npz"),
        "instance_rgb24": (".png",),
    }
