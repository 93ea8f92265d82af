"""`Bundle`: what it reads and when, what its accessors give, how it fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from bundle_builders import BundleBuilder, box
from medotter_bench.bundle import Bundle, ManifestError
from medotter_bench.errors import MedotterError

# The manifest of the bundle page, trimmed as it is printed there.
PAGE = {
    "task": "vessel_ct",
    "version": "0.1.0",
    "split_version": "vessel_ct/v1",
    "hash": "facbb5f45b72",
    "train": ["FLARE22/FLARE22_Tr_0001", "..."],
    "test": ["BTCV/0001", "..."],
    "per_case": {
        "BTCV/0001": {
            "dataset": "BTCV",
            "split": "test",
            "tier": "test",
            "patient_uid": "0001",
            "image": "btcv/RawData/Training/img/img0001.nii.gz",
            "seg": "btcv/RawData/Training/label/label0001.nii.gz",
        }
    },
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    bundle = tmp_path / "vessel_ct"
    bundle.mkdir()
    (bundle / "manifest_test.json").write_text(json.dumps(PAGE))
    return bundle


def test_the_manifest_of_the_page_loads_with_the_values_printed_there(folder):
    """MB-020 to MB-025, MB-052, MB-054."""
    b = Bundle(folder)
    assert (b.task, b.version, b.hash) == ("vessel_ct", "0.1.0", "facbb5f45b72")
    assert b.train == ["FLARE22/FLARE22_Tr_0001", "..."]
    assert b.test == ["BTCV/0001", "..."]
    assert b.case_meta("BTCV/0001") == PAGE["per_case"]["BTCV/0001"]
    assert b.manifest["split_version"] == "vessel_ct/v1"


def test_a_text_path_and_a_path_both_work(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    assert Bundle("vessel_ct").test == Bundle(Path("vessel_ct")).test


def test_the_docstring_names_the_four_files():
    """MB-003."""
    for name in ("task.yaml", "manifest_test.json", "eval_spec.yaml", "coverage_report.{json,md}"):
        assert name in (Bundle.__doc__ or "")


def test_a_missing_manifest_is_a_file_not_found_error_at_construction(tmp_path):
    """MB-005."""
    with pytest.raises(FileNotFoundError) as caught:
        Bundle(tmp_path)
    assert isinstance(caught.value, MedotterError)
    assert "manifest_test.json" in str(caught.value)


def test_the_manifest_is_read_at_construction_and_not_again(folder):
    """MB-004."""
    b = Bundle(folder)
    (folder / "manifest_test.json").unlink()
    assert b.test[0] == "BTCV/0001"
    assert b.case_meta("BTCV/0001")["dataset"] == "BTCV"


def test_the_yaml_files_are_read_only_when_asked(folder):
    """MB-006, MB-009."""
    b = Bundle(folder)
    with pytest.raises(FileNotFoundError):
        b.task_spec()
    with pytest.raises(FileNotFoundError):
        b.eval_spec()
    (folder / "task.yaml").write_text("task: [unclosed")
    b = Bundle(folder)
    with pytest.raises(ValueError, match=r"task\.yaml"):
        b.task_spec()


def test_specs_equal_safe_load_and_are_parsed_anew(folder):
    """MB-027, MB-028."""
    text = "task: {id: vessel_ct}\nlabel_remap:\n  DS: {1: 1, 2: 2}  # note\n"
    for name, read in (("task.yaml", Bundle.task_spec), ("eval_spec.yaml", Bundle.eval_spec)):
        (folder / name).write_text(text)
        b = Bundle(folder)
        first = read(b)
        assert first == yaml.safe_load(text)
        assert read(b) is not first
        (folder / name).write_text("task: {id: other}\n")
        assert read(b) == {"task": {"id": "other"}}


def test_coverage_reports_are_never_read(folder, monkeypatch):
    """MB-007."""
    (folder / "coverage_report.json").write_bytes(b"\xff not json")
    (folder / "coverage_report.md").mkdir()
    (folder / "eval_spec.yaml").write_text("metrics: [dice]\n")
    opened: list[str] = []
    real = Path.open
    monkeypatch.setattr(
        Path, "open", lambda self, *a, **k: (opened.append(self.name), real(self, *a, **k))[1]
    )
    b = Bundle(folder)
    b.eval_spec()
    assert b.case_meta("BTCV/0001")
    assert not [name for name in opened if name.startswith("coverage_report")]


def test_cases_walks_train_then_test_in_file_order_once_per_id(tmp_path):
    """MB-026, reading A 3."""
    builder = BundleBuilder(tmp_path)
    for name in ("b", "a"):
        builder.case(name, box(), None)
    builder.manifest["train"] = ["DS_A/z"]
    builder.manifest["per_case"]["DS_A/z"] = {"dataset": "DS_A", "extra": 1}
    b = Bundle(builder.write().bundle)
    assert [case_id for case_id, _ in b.cases()] == ["DS_A/z", "DS_A/b", "DS_A/a"]
    assert dict(b.cases())["DS_A/z"] == {"dataset": "DS_A", "extra": 1}


def test_a_listed_case_without_an_entry_raises_at_that_point_naming_it(folder):
    with pytest.raises(KeyError, match="has no entry") as caught:
        list(Bundle(folder).cases())
    assert "FLARE22/FLARE22_Tr_0001" in str(caught.value)


def test_an_unknown_case_is_a_lookup_error(folder):
    """MB-025."""
    with pytest.raises(LookupError) as caught:
        Bundle(folder).case_meta("nobody/1")
    assert "nobody/1" in str(caught.value)


def test_unknown_keys_are_kept(folder):
    """MB-053, MB-066."""
    changed = json.loads(json.dumps(PAGE)) | {"skipped": [{"case_id": "x", "reason": "no seg"}]}
    changed["per_case"]["BTCV/0001"]["sex"] = "F"
    (folder / "manifest_test.json").write_text(json.dumps(changed))
    b = Bundle(folder)
    assert b.case_meta("BTCV/0001")["sex"] == "F"
    assert b.manifest["skipped"] == [{"case_id": "x", "reason": "no seg"}]


def test_every_missing_key_is_one_problem_and_all_are_told_together(folder):
    """MB-051."""
    (folder / "manifest_test.json").write_text("{}")
    with pytest.raises(ManifestError) as caught:
        Bundle(folder)
    assert len(caught.value.issues) == 6
    for key in ("task", "version", "hash", "train", "test", "per_case"):
        assert repr(key) in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("version", 1.0),
        ("hash", 123),
        ("train", "BTCV/0001"),
        ("test", [1]),
        ("per_case", []),
        ("per_case", {"BTCV/0001": 3}),
    ],
)
def test_the_wrong_kind_of_value_is_told_with_its_key(folder, key, value):
    (folder / "manifest_test.json").write_text(json.dumps({**PAGE, key: value}))
    with pytest.raises(ManifestError) as caught:
        Bundle(folder)
    assert key in str(caught.value)
    assert caught.value.issues[0].code == "bundle-manifest-type"


@pytest.mark.parametrize(
    "text", ["[]", "", '{"task": "a", "task": "b"}', '{"task": NaN}', "\ufeff{}", '{"task": 1} x']
)
def test_a_manifest_that_is_no_strict_json_object_is_refused(folder, text):
    (folder / "manifest_test.json").write_text(text)
    with pytest.raises(ValueError, match=r"manifest_test\.json"):
        Bundle(folder)
