"""Freezing: equal data give equal bytes, and a manifest never changes under the same version."""

from __future__ import annotations

import json

import pytest
import yaml
from factory_builders import dataset, factory_document, paths_of, write_bundle, write_files

from medomni.core.errors import WriteError
from medotter_bench.bundle import Bundle
from medotter_bench.errors import BundleNotFoundError
from medotter_bench.factory.errors import FreezeError
from medotter_bench.factory.freeze import freeze
from medotter_bench.factory.manifest_hash import mb1

NAMES = [f"c{n}" for n in range(8)]
KEYS = [
    "task",
    "version",
    "split_version",
    "hash_algorithm",
    "hash_full",
    "hash",
    "train",
    "test",
    "per_case",
    "skipped",
    "dropped_cross_split",
]


@pytest.fixture
def data(tmp_path):
    return write_files(tmp_path / "data", [*paths_of(*NAMES), "aa/img/no_mask.nii.gz"])


def manifest_of(bundle):
    return json.loads((bundle / "manifest_test.json").read_text())


def refusal(*args, **kwargs):
    with pytest.raises(FreezeError) as caught:
        freeze(*args, **kwargs)
    return [issue.code for issue in caught.value.issues]


def test_a_frozen_manifest_holds_the_keys_in_order_and_a_hash_that_verifies(tmp_path, data):
    bundle = write_bundle(tmp_path)
    report = freeze(bundle, data_root=data)
    manifest = manifest_of(bundle)
    assert list(manifest) == KEYS
    assert (report.hash, report.hash_full) == (manifest["hash"], manifest["hash_full"]) == mb1(manifest)
    assert (report.n_train, report.n_test, report.n_skipped, report.changed) == (
        len(manifest["train"]),
        len(manifest["test"]),
        1,
        True,
    )
    assert sorted([*manifest["train"], *manifest["test"]]) == [f"AA/{name}" for name in NAMES]
    assert manifest["skipped"] == [
        {"case_id": "AA/no_mask", "reason": "missing: seg (aa/seg/no_mask.nii.gz)"}
    ]


def test_the_bundle_loader_reads_what_was_frozen(tmp_path, data):
    bundle = write_bundle(tmp_path)
    freeze(bundle, data_root=data)
    loaded = Bundle(bundle)
    assert (loaded.task, loaded.version) == ("lesion_ct", "0.1.0")
    for case_id, meta in loaded.cases():
        assert meta["split"] == ("test" if case_id in loaded.test else "train")
        assert list(meta) == ["dataset", "split", "patient_uid", "image", "seg"]


def test_freezing_again_gives_equal_bytes_and_changes_nothing(tmp_path, data):
    bundle = write_bundle(tmp_path)
    freeze(bundle, data_root=data)
    before = {path.name: path.read_bytes() for path in bundle.iterdir()}
    assert not freeze(bundle, data_root=data).changed
    assert {path.name: path.read_bytes() for path in bundle.iterdir()} == before


@pytest.mark.parametrize("version", ["0.1.0", "0.0.9", "0.1.0-rc.1"])
def test_a_change_without_a_higher_version_is_refused_and_nothing_is_written(tmp_path, data, version):
    bundle = write_bundle(tmp_path)
    freeze(bundle, data_root=data)
    before = {path.name: path.read_bytes() for path in bundle.iterdir()}
    write_files(data, paths_of("new"))
    assert refusal(bundle, data_root=data, version=version) == ["freeze-version-not-raised"]
    assert {path.name: path.read_bytes() for path in bundle.iterdir()} == before


def test_a_higher_version_may_change_a_manifest_and_numbers_count_as_numbers(tmp_path, data):
    bundle = write_bundle(tmp_path)
    freeze(bundle, data_root=data, version="0.0.0-dummy")
    freeze(bundle, data_root=data, version="0.0.1")
    freeze(bundle, data_root=data, version="0.9.0")
    write_files(data, paths_of("new"))
    assert freeze(bundle, data_root=data, version="0.10.0").changed
    assert manifest_of(bundle)["version"] == "0.10.0"


def test_an_old_manifest_without_a_readable_version_is_not_overwritten(tmp_path, data):
    bundle = write_bundle(tmp_path)
    for old in ('{"version": "one"}', '{"version": 1}', "[]"):
        (bundle / "manifest_test.json").write_text(old)
        assert refusal(bundle, data_root=data) == ["freeze-version-not-raised"]


def test_out_dir_takes_the_files_and_leaves_the_bundle_alone(tmp_path, data):
    bundle, out = write_bundle(tmp_path), tmp_path / "deep" / "out"
    freeze(bundle, data_root=data, out_dir=out)
    assert sorted(path.name for path in out.iterdir()) == [
        "coverage_report.json",
        "coverage_report.md",
        "manifest_test.json",
    ]
    assert not (bundle / "manifest_test.json").exists()


def test_an_out_dir_that_is_a_file_is_a_write_error(tmp_path, data):
    (tmp_path / "out").write_text("")
    with pytest.raises(WriteError):
        freeze(write_bundle(tmp_path), data_root=data, out_dir=tmp_path / "out")


def test_channels_tiers_regions_and_series_reach_the_manifest_in_order(tmp_path):
    chan = {name: f"aa/{{case}}/{name}.nii.gz" for name in ("t2", "t1", "flair")}
    block = dataset(image=..., chan=chan, seg="aa/{case}/seg.nii.gz", series="s{case}", region="lesion")
    document = factory_document(
        datasets={"AA": block},
        tiers={"AA": "near_ood"},
        split={"policy": "by_dataset", "datasets": {"test": ["AA"]}},
        dummy=None,
    )
    data = write_files(tmp_path / "data", [f"aa/1/{name}.nii.gz" for name in ("t1", "t2", "flair", "seg")])
    bundle = write_bundle(tmp_path, document)
    freeze(bundle, data_root=data)
    meta = manifest_of(bundle)["per_case"]["AA/1"]
    assert meta == {
        "dataset": "AA",
        "split": "test",
        "tier": "near_ood",
        "region": "lesion",
        "patient_uid": "1",
        "series_uid": "s1",
        "chan": {name: f"aa/1/{name}.nii.gz" for name in chan},
        "seg": "aa/1/seg.nii.gz",
    }
    assert list(meta["chan"]) == ["t2", "t1", "flair"]


def test_a_patient_on_both_sides_of_a_fixed_split_is_dropped_from_training(tmp_path, data):
    lists = {"train": ["AA/c0", "AA/c1"], "test": ["AA/c2", "AA/c3"]}
    block = dataset(patient={"from": "{case}", "regex": "^c([0-9])"})
    document = factory_document(
        datasets={"AA": block},
        split={"policy": "fixed", "cases": lists},
        same_patient=[["AA/0", "AA/2"]],
        dummy=None,
    )
    bundle = write_bundle(tmp_path, document)
    report = freeze(bundle, data_root=data)
    manifest = manifest_of(bundle)
    assert (manifest["train"], manifest["test"]) == (["AA/c1"], ["AA/c2", "AA/c3"])
    assert manifest["dropped_cross_split"] == [
        {"case_id": "AA/c0", "reason": "patient AA/0 is in the test split"}
    ]
    assert report.n_dropped == 1
    assert "AA/c0" not in manifest["per_case"]
    assert {"case_id": "AA/c7", "reason": "in neither list of the fixed split"} in manifest["skipped"]


def test_what_cannot_be_frozen_is_refused_with_all_reasons(tmp_path, data):
    bundle = write_bundle(tmp_path)
    write_files(data, paths_of("C1", "x:y"))
    assert sorted(refusal(bundle, data_root=data)) == ["freeze-id-casefold", "freeze-id-unsafe"]
    empty = write_files(tmp_path / "empty", ["readme.txt"])
    assert refusal(bundle, data_root=empty) == ["freeze-no-cases"]
    assert refusal(bundle, data_root=data, version="1") == ["freeze-version"]
    with pytest.raises(BundleNotFoundError) as caught:
        freeze(bundle, data_root=tmp_path / "nowhere")
    assert caught.value.code == "freeze-no-data"


def test_a_split_without_test_cases_is_refused(tmp_path, data):
    document = factory_document(split={"policy": "fixed", "cases": {"train": ["AA/c0"]}})
    assert refusal(write_bundle(tmp_path, document), data_root=data) == ["freeze-no-test"]


def test_empty_datasets_and_idle_skip_rules_are_warnings(tmp_path, data):
    other = dataset(image="bb/{case}.nii.gz", seg="bb/{case}_seg.nii.gz")
    document = factory_document(
        datasets={"AA": dataset(), "BB": other}, skip=[{"case": "AA/gone", "reason": "r"}], dummy=None
    )
    report = freeze(write_bundle(tmp_path, document), data_root=data)
    assert [issue.code for issue in report.warnings] == ["freeze-dataset-empty", "freeze-skip-unused"]


def test_the_coverage_report_counts_what_the_manifest_holds(tmp_path, data):
    bundle = write_bundle(tmp_path)
    freeze(bundle, data_root=data)
    manifest, report = manifest_of(bundle), json.loads((bundle / "coverage_report.json").read_text())
    assert report["schema"] == "medotter/coverage/1"
    assert (report["task"], report["version"], report["hash"]) == ("lesion_ct", "0.1.0", manifest["hash"])
    assert report["totals"] == {
        "cases": 8,
        "train": len(manifest["train"]),
        "test": len(manifest["test"]),
        "patients": 8,
    }
    assert report["datasets"]["AA"]["skipped"] == 1
    assert report["datasets"]["AA"]["regions"] == ["lesion"]
    assert report["datasets"]["AA"]["licence"] == "CC0"
    text = (bundle / "coverage_report.md").read_text()
    assert text.startswith("# Coverage of lesion_ct 0.1.0\n")
    assert "AA/no_mask" in text
    assert "A et al." in text


def test_coverage_says_nothing_of_regions_where_code_decides_and_everything_where_ids_are_canonical(
    tmp_path, data
):
    bundle = write_bundle(tmp_path / "code", specs=False)
    freeze(bundle, data_root=data)
    assert json.loads((bundle / "coverage_report.json").read_text())["datasets"]["AA"]["regions"] is None
    bundle = write_bundle(tmp_path / "canonical")
    task = yaml.safe_load((bundle / "task.yaml").read_text())
    task["label_remap"] = {"AA": {"native": [1, 4], "to": [1, 2]}}
    (bundle / "task.yaml").write_text(yaml.safe_dump(task))
    freeze(bundle, data_root=data)
    assert json.loads((bundle / "coverage_report.json").read_text())["datasets"]["AA"]["regions"] == [
        "lesion",
        "other",
    ]


def test_dropped_cases_and_odd_characters_are_in_the_coverage_tables(tmp_path, data):
    block = dataset(licence="a | b", patient=None)
    lists = {"train": ["AA/c0"], "test": ["AA/c1"]}
    document = factory_document(
        datasets={"AA": block},
        split={"policy": "fixed", "cases": lists},
        same_patient=[["case:AA/c0", "case:AA/c1"]],
        dummy=None,
    )
    bundle = write_bundle(tmp_path, document)
    freeze(bundle, data_root=data)
    text = (bundle / "coverage_report.md").read_text()
    assert "## Dropped: patient on both sides" in text
    assert "a \\| b" in text
