"""Vendored copies are real files, and every difference from the lock is named."""

from __future__ import annotations

import json

import pytest
from factory_builders import paths_of, write_bundle, write_files

from medomni.core.errors import WriteError
from medotter_bench.errors import BundleNotFoundError
from medotter_bench.factory import vendor as vendor_module
from medotter_bench.factory.errors import VendorError
from medotter_bench.factory.freeze import freeze
from medotter_bench.factory.vendor import LOCK, vendor, verify_lock


@pytest.fixture
def bundle(tmp_path):
    data = write_files(tmp_path / "data", paths_of(*(f"c{n}" for n in range(8))))
    made = write_bundle(tmp_path)
    freeze(made, data_root=data)
    (made / "remap.py").write_text("def remap(label_map, meta):\n    return label_map\n")
    (made / "README.md").write_text("# notes\n")
    return made


@pytest.fixture
def target(tmp_path):
    return tmp_path / "evaluation" / "bundles"


def found(target):
    issues = verify_lock(target)
    return [(issue.code, issue.where.rsplit("/", 2)[-2:]) for issue in issues]


def test_a_vendored_copy_holds_equal_bytes_in_files_of_its_own(bundle, target):
    report = vendor(bundle, target)
    copies = sorted(path.name for path in report.target.iterdir())
    assert copies == [
        "coverage_report.json",
        "coverage_report.md",
        "eval_spec.yaml",
        "manifest_test.json",
        "remap.py",
        "task.yaml",
    ]
    assert sorted(report.files) == copies
    for name in copies:
        copy, source = report.target / name, bundle / name
        assert copy.read_bytes() == source.read_bytes()
        assert not copy.is_symlink()
        assert (copy.stat().st_nlink, copy.stat().st_ino == source.stat().st_ino) == (1, False)
    assert verify_lock(target) == []


def test_the_lock_names_version_digests_and_sizes(bundle, target):
    vendor(bundle, target)
    lock = json.loads((target / LOCK).read_text())
    assert lock["schema"] == "medotter/bundles-lock/1"
    entry = lock["bundles"]["lesion_ct"]
    assert entry["version"] == "0.1.0"
    assert entry["files"]["remap.py"] == {
        "sha256": "dbdce108fc32d56783e57b800e386ee946c03ba6dda71b7f5c0428dd96c6350d",
        "size": (bundle / "remap.py").stat().st_size,
    }


def test_a_copy_without_task_and_coverage_is_complete(bundle, target):
    for name in ("task.yaml", "coverage_report.json", "coverage_report.md", "remap.py"):
        (bundle / name).unlink()
    assert vendor(bundle, target).files == ["eval_spec.yaml", "manifest_test.json"]
    assert verify_lock(target) == []


def test_vendoring_again_replaces_the_copy_and_keeps_other_bundles(bundle, target, tmp_path):
    vendor(bundle, target)
    other = tmp_path / "elsewhere" / "zz_other"
    other.mkdir(parents=True)
    for name in ("eval_spec.yaml", "manifest_test.json"):
        (other / name).write_bytes((bundle / name).read_bytes())
    vendor(other, target)
    (bundle / "remap.py").unlink()
    vendor(bundle, target)
    assert not (target / "lesion_ct" / "remap.py").exists()
    assert sorted(path.name for path in target.iterdir()) == [LOCK, "lesion_ct", "zz_other"]
    assert verify_lock(target) == []
    before = (target / LOCK).read_bytes()
    vendor(bundle, target)
    assert (target / LOCK).read_bytes() == before


@pytest.mark.parametrize("name", ["eval_spec.yaml", "manifest_test.json"])
def test_a_bundle_without_a_needed_file_is_not_vendored(bundle, target, name):
    (bundle / name).unlink()
    with pytest.raises(BundleNotFoundError):
        vendor(bundle, target)
    assert not target.exists()


@pytest.mark.parametrize("text", ["[]", "{}", '{"version": 1}'])
def test_a_manifest_without_version_is_not_vendored(bundle, target, text):
    (bundle / "manifest_test.json").write_text(text)
    with pytest.raises(VendorError) as caught:
        vendor(bundle, target)
    assert caught.value.code == "vendor-manifest"


def test_changed_missing_and_extra_files_are_each_named(bundle, target):
    vendor(bundle, target)
    copy = target / "lesion_ct"
    (copy / "eval_spec.yaml").write_text("changed: true\n")
    (copy / "task.yaml").unlink()
    (copy / "scoring.py").write_text("pass\n")
    (copy / "__pycache__").mkdir()
    (copy / "__pycache__" / "x.pyc").write_bytes(b"")
    assert found(target) == [
        ("lock-differs", ["__pycache__", "x.pyc"]),
        ("lock-differs", ["lesion_ct", "eval_spec.yaml"]),
        ("lock-differs", ["lesion_ct", "scoring.py"]),
        ("lock-differs", ["lesion_ct", "task.yaml"]),
    ]


def test_links_in_place_of_files_and_folders_are_named(bundle, target):
    vendor(bundle, target)
    copy = target / "lesion_ct"
    (copy / "task.yaml").unlink()
    (copy / "task.yaml").symlink_to(bundle / "task.yaml")
    (target / "linked").symlink_to(bundle, target_is_directory=True)
    assert found(target) == [
        ("lock-differs", ["lesion_ct", "task.yaml"]),
        ("lock-differs", ["bundles", "linked"]),
    ]


def test_one_changed_byte_of_equal_size_is_named(bundle, target):
    vendor(bundle, target)
    path = target / "lesion_ct" / "remap.py"
    path.write_bytes(path.read_bytes().replace(b"meta", b"mete"))
    assert found(target) == [("lock-differs", ["lesion_ct", "remap.py"])]


@pytest.mark.parametrize(
    "text",
    [
        "not json",
        "[]",
        '{"schema": "x", "bundles": {}}',
        '{"schema": "medotter/bundles-lock/1", "bundles": {"a": 1}}',
        '{"schema": "medotter/bundles-lock/1", "bundles": {"a": {"files": {"b": {"size": 1}}}}}',
    ],
)
def test_a_lock_that_cannot_be_read_is_an_issue_and_stops_vendoring(bundle, target, text):
    target.mkdir(parents=True)
    assert [issue.code for issue in verify_lock(target)] == ["lock-unreadable"]
    (target / LOCK).write_text(text)
    assert [issue.code for issue in verify_lock(target)] == ["lock-unreadable"]
    with pytest.raises((VendorError, ValueError)):
        vendor(bundle, target)


def test_a_copy_that_cannot_be_put_in_place_leaves_the_old_one(bundle, target, monkeypatch):
    vendor(bundle, target)
    before = (target / "lesion_ct" / "eval_spec.yaml").read_bytes()
    (bundle / "eval_spec.yaml").write_text("metrics: [dice, hd95]\n")
    original = vendor_module.Path.rename

    def refuse(self, other):
        if self.name.endswith(".new"):
            raise PermissionError(13, "Permission denied")
        return original(self, other)

    monkeypatch.setattr(vendor_module.Path, "rename", refuse)
    with pytest.raises(WriteError):
        vendor(bundle, target)
    assert (target / "lesion_ct" / "eval_spec.yaml").read_bytes() == before
