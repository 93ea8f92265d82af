"""Generated data are the same every time and hold what the dummy block says."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from factory_builders import dataset, factory_document, write_bundle

from medomni.core.errors import MissingExtraError, WriteError
from medotter_bench.errors import BundleNotFoundError
from medotter_bench.factory.dummy import dummy_predictions, make_dummy
from medotter_bench.factory.dummy_files import affine_ras, read_labels, write_array
from medotter_bench.factory.dummy_shapes import Draws, label_map
from medotter_bench.factory.errors import DummyError
from medotter_bench.factory.freeze import freeze
from medotter_bench.factory.scan import list_files


def described(image="aa/img/{case}.nii.gz", seg="aa/seg/{case}.nii.gz", *, data=None, **dummy):
    block = {"cases": 3, "fields": {"case": "c{index:3}"}, "shape": [18, 16, 12], "labels": [1, 2], **dummy}
    block = {key: value for key, value in block.items() if value is not ...}
    source = dataset(image=image, seg=seg, **(data or {}))
    return factory_document(datasets={"AA": source}, dummy={"AA": block})


def made(tmp_path, document, **kwargs):
    return make_dummy(write_bundle(tmp_path, document), tmp_path / "data", **kwargs)


def contents(root: Path):
    return {path: (root / path).read_bytes() for path in list_files(root)}


def code_of(call):
    with pytest.raises(DummyError) as caught:
        call()
    return caught.value.code


@pytest.mark.parametrize(
    "document",
    [
        described(),
        described(
            "i/{case}.tif", "m/{case}.png", shape=[40, 48], labels=..., instances=9, label_dtype="uint16"
        ),
        described(
            "i/{case}.png", "m/{case}.npy", shape=[40, 48], labels=..., instances=9, modality="histology"
        ),
        described("i/{case}.nii", "m/{case}.tiff", labels=..., instances=5, modality="fluorescence"),
    ],
)
def test_equal_arguments_give_equal_bytes_and_another_seed_others(tmp_path, document):
    bundle = write_bundle(tmp_path, document)
    first = make_dummy(bundle, tmp_path / "1")
    make_dummy(bundle, tmp_path / "2")
    make_dummy(bundle, tmp_path / "3", seed=1)
    assert contents(tmp_path / "1") == contents(tmp_path / "2")
    assert sorted(first.files) == list_files(tmp_path / "1") == list_files(tmp_path / "3")
    assert contents(tmp_path / "1") != contents(tmp_path / "3")


def test_structures_are_present_and_absent_as_described(tmp_path):
    report = made(tmp_path, described(labels=[1, 4, 6], absent={4: [1], 6: "all"}))
    assert report.cases == {"AA": 3}
    found = [np.unique(read_labels(report.root / f"aa/seg/c00{n}.nii.gz")[0]).tolist() for n in (1, 2, 3)]
    assert found == [[0, 1, 4], [0, 1], [0, 1, 4]]


def test_nested_structures_lie_in_each_other_and_all_show(tmp_path):
    report = made(tmp_path, described(labels=[2, 3, 1], nested=True, absent={3: [1]}, modality="mr"))
    found = [np.unique(read_labels(report.root / f"aa/seg/c00{n}.nii.gz")[0]).tolist() for n in (1, 2)]
    assert found == [[0, 1, 2, 3], [0, 1, 2]]


def test_objects_have_the_ids_asked_for_above_255_and_empty_cases_have_none(tmp_path):
    document = described(
        "i/{case}.tif", "m/{case}.png", shape=[48, 48], labels=..., instances=8, first_id=5, id_step=60,
        label_dtype="uint16", empty_cases=[2], modality="fluorescence",
    )  # fmt: skip
    report = made(tmp_path, document)
    labels, affine = read_labels(report.root / "m/c001.png")
    assert affine is None
    assert np.unique(labels).tolist() == [0, *range(5, 5 + 8 * 60, 60)]
    assert not read_labels(report.root / "m/c003.png")[0].any()


def test_the_grid_has_the_spacing_and_directions_asked_for(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    report = made(tmp_path, described(spacing=[0.8, 0.7, 2.5], orientation="LPS"))
    loaded = nibabel.load(report.root / "aa/img/c001.nii.gz")
    assert loaded.shape == (18, 16, 12)
    assert nibabel.aff2axcodes(loaded.affine) == ("L", "P", "S")
    assert np.allclose(loaded.header.get_zooms(), (0.8, 0.7, 2.5))
    assert np.allclose(loaded.get_qform(), loaded.get_sform())
    assert (int(loaded.header["qform_code"]), int(loaded.header["sform_code"])) == (1, 1)
    assert loaded.get_data_dtype() == np.int16


def test_channels_and_patients_and_missing_references_are_as_described(tmp_path):
    chan = {"t1": "{case}/t1.nii.gz", "t2": "{case}/t2.nii.gz"}
    source = dataset(image=..., chan=chan, seg="{case}/seg.nii.gz")
    block = {
        "cases": 4, "first": 7, "cases_per_patient": 2, "fields": {"case": "P{patient:3}-{visit:2}"},
        "shape": [12, 12, 12], "labels": [1], "modality": "mr", "without_seg": [3],
    }  # fmt: skip
    report = made(tmp_path, factory_document(datasets={"AA": source}, dummy={"AA": block}))
    assert {path.split("/")[0] for path in report.files} == {"P007-00", "P007-01", "P008-00", "P008-01"}
    assert len(report.files) == 11
    assert "P008-01/seg.nii.gz" not in report.files
    assert (report.root / "P007-00/t1.nii.gz").read_bytes() != (
        report.root / "P007-00/t2.nii.gz"
    ).read_bytes()


def test_the_number_of_cases_can_be_overridden(tmp_path):
    assert made(tmp_path, described(), cases_per_dataset=1).cases == {"AA": 1}
    bundle = write_bundle(tmp_path / "none", described())
    assert code_of(lambda: make_dummy(bundle, tmp_path / "x", cases_per_dataset=0)) == "dummy-range"


def test_a_folder_that_holds_something_is_never_written_into(tmp_path):
    bundle = write_bundle(tmp_path, described())
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("x")
    (tmp_path / "file").write_text("x")
    for name in ("full", "file"):
        assert code_of(lambda name=name: make_dummy(bundle, tmp_path / name)) == "dummy-not-empty"
    assert list_files(tmp_path / "full") == ["mine.txt"]
    with pytest.raises(WriteError):
        make_dummy(bundle, tmp_path / "file" / "below")


@pytest.mark.parametrize(
    ("document", "code"),
    [
        (factory_document(dummy=None), "dummy-undescribed"),
        (described(shape=[4, 4, 4]), "dummy-shape"),
        (described(shape=[40, 40]), "dummy-shape"),
        (described("aa/{case}.jpg"), "dummy-format"),
        (described(fields={"case": "a/{index}"}), "dummy-name"),
        (described(data={"only": {"case": "d.*"}}), "dummy-name"),
    ],
)
def test_what_cannot_be_generated_is_refused(tmp_path, document, code):
    bundle = write_bundle(tmp_path, document)
    assert code_of(lambda: make_dummy(bundle, tmp_path / "data")) == code


def test_draws_do_not_change_with_the_machine_or_numpy():
    draws = Draws(0, "AA", 1)
    assert [draws.below(1000) for _ in range(4)] == DRAWN
    assert sorted(draws.order(9)) == list(range(9))
    noise = draws.noise((50, 40), 3)
    assert (noise.min(), noise.max()) == (-3, 3)


DRAWN = [733, 801, 126, 979]


def test_a_missing_extra_names_the_install_command(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "nibabel", None)
    with pytest.raises(MissingExtraError) as caught:
        write_array(tmp_path / "a.nii.gz", np.zeros((4, 4, 4), np.uint8), affine=affine_ras((1, 1, 1), "RAS"))
    assert "medomni[imaging]" in caught.value.hint


@pytest.mark.parametrize("name", ["a.nii.gz", "a.nii", "a.png", "a.tif", "a.npy"])
def test_arrays_come_back_as_they_were_written(tmp_path, name):
    array = (np.arange(20 * 30).reshape(20, 30) * 100 % 65536).astype(np.uint16)
    array = array[..., None].repeat(4, axis=2) if ".nii" in name else array
    write_array(tmp_path / name, array)
    labels, _ = read_labels(tmp_path / name)
    assert np.array_equal(labels, array)


def test_an_unknown_format_is_no_label_map(tmp_path):
    assert code_of(lambda: read_labels(tmp_path / "a.mat")) == "dummy-format"


def test_stacks_of_three_pages_stay_stacks(tmp_path):
    array = np.arange(3 * 5 * 6, dtype=np.uint8).reshape(3, 5, 6)
    write_array(tmp_path / "a.tif", array)
    assert np.array_equal(read_labels(tmp_path / "a.tif")[0], array)


def frozen(tmp_path, document, spec):
    bundle = write_bundle(tmp_path, document, specs=False)
    (bundle / "eval_spec.yaml").write_text(spec)
    make_dummy(bundle, tmp_path / "data")
    freeze(bundle, data_root=tmp_path / "data")
    return bundle


ALL_TEST = {"policy": "fixed", "cases": {"test": [f"AA/c00{n}" for n in range(1, 6)]}}


def test_predictions_are_canonical_near_the_reference_and_one_per_test_case(tmp_path):
    document = described(cases=5, labels=[3, 5], canonical={5: 1}) | {"split": ALL_TEST}
    bundle = frozen(tmp_path, document, "metrics: [dice]\n")
    report = dummy_predictions(bundle, tmp_path / "data", tmp_path / "pred")
    assert report.files == [f"AA/c00{n}.nii.gz" for n in range(1, 6)]
    assert dummy_predictions(bundle, tmp_path / "data", tmp_path / "pred2").files == report.files
    assert contents(tmp_path / "pred") == contents(tmp_path / "pred2")
    for number, name in enumerate(report.files):
        prediction, affine = read_labels(tmp_path / "pred" / name)
        reference, expected = read_labels(tmp_path / "data" / name.replace("AA", "aa/seg"))
        assert affine is not None
        assert np.array_equal(affine, expected)
        assert set(np.unique(prediction)) <= {0, 1}
        overlap = ((prediction == 1) & (reference == 5)).sum()
        assert overlap < (reference == 5).sum()
        assert bool(overlap) == (number != 3)


def test_the_remap_of_the_task_decides_where_there_is_one(tmp_path):
    bundle = frozen(tmp_path, described(cases=5) | {"split": ALL_TEST}, "metrics: [dice]\n")
    (bundle / "task.yaml").write_text("label_remap:\n  AA: {2: 9, note: text}\n")
    dummy_predictions(bundle, tmp_path / "data", tmp_path / "pred")
    assert np.unique(read_labels(tmp_path / "pred/AA/c001.nii.gz")[0]).tolist() == [0, 9]
    for number, remap in enumerate(("{}", "{AA: {native: [1, 2], to: [3, 4]}}")):
        (bundle / "task.yaml").write_text(f"label_remap: {remap}\n")
        dummy_predictions(bundle, tmp_path / "data", tmp_path / f"p{number}")
        assert np.unique(read_labels(tmp_path / f"p{number}/AA/c001.nii.gz")[0]).tolist() == [0, 1, 2]


def test_a_vendored_bundle_without_factory_gives_predictions_in_the_references_ids(tmp_path):
    bundle = frozen(tmp_path, described(cases=5) | {"split": ALL_TEST}, "metrics: [dice]\n")
    (bundle / "factory.yaml").unlink()
    dummy_predictions(bundle, tmp_path / "data", tmp_path / "pred")
    assert np.unique(read_labels(tmp_path / "pred/AA/c001.nii.gz")[0]).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("kind", "seg", "shape", "suffix"),
    [
        ("instance_seg_2d", "m/{case}.tif", [48, 48], ".png"),
        ("instance_seg_3d", "m/{case}.tif", [16, 24, 24], ".tif"),
        ("instance_seg_3d", "m/{case}.nii.gz", [24, 24, 16], ".nii.gz"),
    ],
)
def test_predicted_objects_have_other_ids_and_the_suffix_of_their_type(tmp_path, kind, seg, shape, suffix):
    image = "i/{case}.nii.gz" if seg.endswith(".nii.gz") else "i/{case}.tif"
    document = described(
        image, seg, cases=5, shape=shape, labels=..., instances=6, first_id=300, label_dtype="uint16",
        modality="fluorescence", empty_cases=[1],
    )  # fmt: skip
    bundle = frozen(tmp_path, document | {"split": ALL_TEST}, f"task_type: {kind}\n")
    report = dummy_predictions(bundle, tmp_path / "data", tmp_path / "pred")
    assert all(name.endswith(suffix) for name in report.files)
    counts = [len(np.unique(read_labels(tmp_path / "pred" / name)[0])) - 1 for name in report.files]
    assert counts == [6, 0, 6, 5, 6]


def test_types_that_nobody_generates_are_refused(tmp_path):
    spec = "prediction_format: {type: nrrd}\n"
    bundle = frozen(tmp_path, described(cases=5) | {"split": ALL_TEST}, spec)
    assert code_of(lambda: dummy_predictions(bundle, tmp_path / "data", tmp_path / "pred")) == "dummy-format"


def test_predictions_need_a_manifest(tmp_path):
    with pytest.raises(BundleNotFoundError):
        dummy_predictions(write_bundle(tmp_path), tmp_path, tmp_path / "pred")


def test_structures_never_touch_the_place_of_another(tmp_path):
    from medotter_bench.factory.definition import read_factory

    spec = read_factory(write_bundle(tmp_path, described(labels=list(range(1, 9))))).dummy["AA"]
    for seed in range(20):
        assert np.unique(label_map(spec, 0, Draws(seed))).tolist() == list(range(9))
