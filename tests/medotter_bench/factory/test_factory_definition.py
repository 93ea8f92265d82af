"""`factory.yaml` is read strictly: what it says is what happens, and every problem is reported at once."""

from __future__ import annotations

import pytest
from factory_builders import dataset, factory_document, factory_of, write_bundle

from medotter_bench.errors import BundleNotFoundError, MedotterError
from medotter_bench.factory.definition import read_factory
from medotter_bench.factory.errors import FactoryError


def codes(folder, document):
    with pytest.raises(FactoryError) as caught:
        factory_of(folder, document)
    return [issue.code for issue in caught.value.issues]


def with_dataset(**changes):
    return factory_document(datasets={"AA": dataset(**changes)}, dummy=None)


def with_dummy(**changes):
    block = {"cases": 2, "fields": {"case": "c{index}"}, "shape": [12, 12, 12], "labels": [1]}
    block = {key: value for key, value in {**block, **changes}.items() if value is not ...}
    return factory_document(dummy={"AA": block})


def test_a_minimal_file_gives_typed_values(tmp_path):
    factory = factory_of(tmp_path)
    assert (factory.name, factory.version, factory.split_version) == ("lesion_ct", "0.1.0", "lesion_ct/v1")
    assert list(factory.datasets["AA"].roles) == ["image", "seg"]
    assert factory.split.test_fraction == 0.5
    assert factory.dummy["AA"].spacing == (1.0, 1.0, 1.0)


def test_channels_keep_their_order(tmp_path):
    chan = {name: f"{{case}}/{name}.nii.gz" for name in ("t2", "t1", "flair")}
    factory = factory_of(tmp_path, with_dataset(image=..., chan=chan, seg="{case}/seg.nii.gz"))
    assert list(factory.datasets["AA"].roles) == ["chan t2", "chan t1", "chan flair", "seg"]


def test_a_missing_file_is_a_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        read_factory(tmp_path)
    assert isinstance(caught.value, BundleNotFoundError)


def test_all_problems_are_reported_at_once_with_their_lines(tmp_path):
    document = factory_document(version=0.1, tires={}, split={"policy": "by_patient", "sed": 1})
    with pytest.raises(FactoryError) as caught:
        factory_of(tmp_path, document)
    assert isinstance(caught.value, MedotterError)
    issues = caught.value.issues
    assert {issue.code for issue in issues} == {"factory-type", "factory-unknown-key", "factory-required"}
    assert len(issues) == 5
    assert all("factory.yaml:" in issue.where for issue in issues)
    assert "5 problems" in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"schema": "medotter/factory/2"}, "factory-schema"),
        ({"version": "1.0"}, "factory-version"),
        ({"version": " "}, "factory-type"),
        ({"split_version": None}, "factory-required"),
        ({"split": None}, "factory-required"),
        ({"datasets": None, "dummy": None}, "factory-required"),
        ({"datasets": {}, "dummy": None}, "factory-required"),
        ({"datasets": [], "dummy": None}, "factory-type"),
        ({"split": {"policy": "random"}}, "factory-choice"),
        ({"split": {"policy": "by_patient", "seed": 1, "test_fraction": 0}}, "factory-range"),
        ({"split": {"policy": "by_patient", "seed": 1, "test_fraction": True}}, "factory-range"),
        ({"split": {"policy": "by_patient", "seed": -1, "test_fraction": 0.5}}, "factory-range"),
        ({"split": {"policy": "by_dataset", "seed": 1, "datasets": {"test": ["AA"]}}}, "factory-unknown-key"),
        ({"split": {"policy": "by_dataset", "datasets": {"test": ["BB", "AA"]}}}, "factory-split"),
        ({"split": {"policy": "by_dataset", "datasets": {"test": []}}}, "factory-split"),
        ({"split": {"policy": "fixed", "cases": {"test": ["AA/1"], "train": ["AA/1"]}}}, "factory-split"),
        ({"split": {"policy": "fixed", "cases": {"test": [1]}}}, "factory-type"),
        ({"tiers": {"BB": "test", "AA": "test"}}, "factory-name"),
        ({"tiers": {"AA": 1}}, "factory-type"),
        ({"skip": [{"case": "BB/1", "reason": "r"}]}, "factory-name"),
        ({"skip": [{"case": "AA/1", "reason": "r"}] * 2}, "factory-split"),
        ({"skip": [{"case": "AA/1"}]}, "factory-required"),
        ({"skip": {"AA/1": "r"}}, "factory-type"),
        ({"same_patient": [["AA/1"]]}, "factory-type"),
        ({"dummy": {"BB": {"fields": {"case": "c"}, "shape": [9, 9], "labels": [1]}}}, "factory-name"),
    ],
)  # fmt: skip
def test_each_fault_of_the_file_has_its_code(tmp_path, changes, code):
    assert code in codes(tmp_path, factory_document(**changes))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"licence": ...}, "factory-required"),
        ({"image": ...}, "factory-required"),
        ({"chan": {"t1": "aa/{case}.nii.gz"}}, "factory-required"),
        ({"seg": ...}, "factory-required"),
        ({"seg": "/aa/{case}.nii.gz"}, "factory-pattern"),
        ({"seg": "aa/{other}.nii.gz"}, "factory-fields"),
        ({"seg": "aa/seg.nii.gz"}, "factory-fields"),
        ({"case": ...}, "factory-required"),
        ({"case": "{number}"}, "factory-fields"),
        ({"case": "{"}, "factory-pattern"),
        ({"patient": ...}, "factory-required"),
        ({"patient": 3}, "factory-type"),
        ({"patient": {"from": "{case}", "regex": "("}}, "factory-pattern"),
        ({"patient": {"from": "{case}", "regex": "a"}}, "factory-pattern"),
        ({"patient": {"from": "{case}", "regexp": "(a)"}}, "factory-unknown-key"),
        ({"only": {"number": "1"}}, "factory-unknown-key"),
        ({"only": {"case": "["}}, "factory-pattern"),
        ({"region": 1}, "factory-type"),
    ],
)  # fmt: skip
def test_each_fault_of_a_dataset_has_its_code(tmp_path, changes, code):
    assert code in codes(tmp_path, with_dataset(**changes))


def test_a_dataset_name_that_cannot_be_a_folder_is_refused(tmp_path):
    assert "factory-name" in codes(tmp_path, factory_document(datasets={"A/A": dataset()}, dummy=None))


def test_a_dataset_without_a_tier_is_refused_where_others_have_one(tmp_path):
    document = factory_document(datasets={"AA": dataset(), "BB": dataset()}, tiers={"AA": "test"}, dummy=None)
    assert codes(tmp_path, document) == ["factory-required"]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"shape": [12]}, "factory-range"),
        ({"shape": [2, 12, 12]}, "factory-range"),
        ({"shape": ["12", 12, 12]}, "factory-type"),
        ({"shape": ...}, "factory-required"),
        ({"spacing": [1, 1]}, "factory-range"),
        ({"spacing": [1, 1, -1]}, "factory-range"),
        ({"labels": ...}, "factory-required"),
        ({"instances": 3}, "factory-required"),
        ({"labels": [1, 1]}, "factory-range"),
        ({"labels": [0]}, "factory-range"),
        ({"labels": [300]}, "factory-range"),
        ({"labels": ..., "instances": 9, "id_step": 40}, "factory-range"),
        ({"absent": {2: [0]}}, "factory-range"),
        ({"absent": {1: "some"}}, "factory-type"),
        ({"absent": [1]}, "factory-type"),
        ({"canonical": {1: "a"}}, "factory-type"),
        ({"canonical": [1]}, "factory-type"),
        ({"nested": "yes"}, "factory-type"),
        ({"modality": "xray"}, "factory-choice"),
        ({"fields": {"number": "{index}"}}, "factory-fields"),
        ({"fields": {"case": "{number}"}}, "factory-pattern"),
        ({"fields": ...}, "factory-required"),
        ({"cases": 0}, "factory-range"),
    ],
)  # fmt: skip
def test_each_fault_of_a_dummy_block_has_its_code(tmp_path, changes, code):
    assert code in codes(tmp_path, with_dummy(**changes))


def test_keys_that_yaml_turns_into_something_else_are_errors(tmp_path):
    bundle = write_bundle(tmp_path)
    text = (bundle / "factory.yaml").read_text().replace("AA:", "7:")
    (bundle / "factory.yaml").write_text(text)
    with pytest.raises(FactoryError) as caught:
        read_factory(bundle)
    assert "factory-type" in {issue.code for issue in caught.value.issues}
