"""Every name and path that the bundle page fixes exists, and means what the page says.

MB-015. The page's names are public: others import them, write them into files and link to them.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import json
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import yaml
from typer.testing import CliRunner

from medomni.core import contracts
from medomni.core.files import Document
from medomni.core.issues import errors_of
from medotter_bench import checks
from medotter_bench.adapters import registry
from medotter_bench.bundle import Bundle
from medotter_bench.cli import app
from medotter_bench.inference import SUFFIXES
from medotter_bench.label_map import IDENTITY, LabelRemap
from medotter_bench.misspellings import EVAL_KEYS, TASK_KEYS
from medotter_bench.specs import EvalSpec, TaskSpec, parse_eval_spec, parse_task

REPOSITORY = Path(__file__).resolve().parent.parent
BUNDLES = [
    "glioma_wt_tc_et", "abdominal_multiorgan_ct", "thoracic_lesion_ct", "vessel_ct", "histopath_nucleus_seg",
    "nucleus_instance_2d", "nucleus_instance_3d",
]  # fmt: skip

# Python.


@pytest.mark.parametrize(
    "name",
    [
        "medotter_bench.bundle.Bundle",
        "medotter_bench.engine.resolve_task_type",
        "medotter_bench.engine.score_predictions",
        "medotter_bench.inference.VolumeLoader",
        "medotter_bench.adapters.registry.register",
        "medotter_bench.adapters.registry.get",
        "medotter_bench.adapters.registry.names",
    ],
)
def test_the_page_names_can_be_imported(name: str) -> None:
    """MB-002, MB-041, MB-072, MB-110, MB-116."""
    module, _, attribute = name.rpartition(".")
    assert callable(getattr(importlib.import_module(module), attribute))


def test_the_accessors_of_a_bundle_have_the_names_of_the_page() -> None:
    """MB-020 to MB-028: four attributes and two lists are values, the rest is called."""
    for name in ("task", "version", "hash", "train", "test"):
        assert isinstance(inspect.getattr_static(Bundle, name), property)
    for name, arguments in {"case_meta": ["case_id"], "cases": [], "task_spec": [], "eval_spec": []}.items():
        assert list(inspect.signature(getattr(Bundle, name)).parameters)[1:] == arguments
    assert list(inspect.signature(Bundle).parameters) == ["path"]


def test_scoring_takes_bundle_predictions_and_data_root_by_position() -> None:
    from medotter_bench.engine import score_predictions

    parameters = inspect.signature(score_predictions).parameters
    assert list(parameters)[:3] == ["bundle", "predictions_dir", "data_root"]
    assert {"executor", "progress"} <= set(parameters)
    kinds = {name: parameter.kind for name, parameter in parameters.items()}
    assert all(kinds[name] is inspect.Parameter.KEYWORD_ONLY for name in list(parameters)[3:])


def test_the_loader_of_volumes_has_its_steps_and_documents_the_slot() -> None:
    """MB-116."""
    from medotter_bench import inference

    for name in ("load_input", "load_label"):
        assert callable(getattr(inference.VolumeLoader, name))
    for text in (inspect.getdoc(inference.VolumeLoader), inspect.getdoc(inference)):
        assert text is not None
        assert "{4: 3}" in text
        assert "`remap`" in text


def test_the_docstring_of_bundle_names_its_files_and_when_they_are_read() -> None:
    """MB-003."""
    text = " ".join((inspect.getdoc(Bundle) or "").split())
    for name in ("task.yaml", "manifest_test.json", "eval_spec.yaml", "coverage_report.{json,md}"):
        assert name in text
    assert "read when the bundle is constructed" in text
    assert "never read" in text


# Paths.


@pytest.mark.parametrize("name", BUNDLES)
def test_each_named_bundle_has_both_its_folders(name: str) -> None:
    """MB-008, MB-012."""
    for folder in ("benchmarks", "evaluation/bundles"):
        assert (REPOSITORY / folder / name / "eval_spec.yaml").is_file()
    assert (REPOSITORY / "evaluation" / "bundles" / name / "manifest_test.json").is_file()


@pytest.mark.parametrize(
    "path",
    [
        "src/medotter_bench/bundle.py",
        "src/medotter_bench/engine.py",
        "src/medotter_bench/adapters/registry.py",
        "src/medotter_bench/adapters/__init__.py",
        "src/medotter_bench/inference",
        "benchmarks/vessel_ct/remap.py",
        "benchmarks/vessel_ct/scoring.py",
        "benchmarks/thoracic_lesion_ct/task.yaml",
        "benchmarks/thoracic_lesion_ct/eval_spec.yaml",
        "benchmarks/thoracic_lesion_ct/manifest_test.json",
        "benchmarks/abdominal_multiorgan_ct/task.yaml",
        "benchmarks/nucleus_instance_2d/eval_spec.yaml",
        "evaluation/bundles/glioma_wt_tc_et/coverage_report.json",
        "evaluation/bundles/glioma_wt_tc_et/coverage_report.md",
    ],
)
def test_each_named_path_is_there(path: str) -> None:
    assert (REPOSITORY / path).exists()


def test_what_the_page_says_is_absent_is_absent() -> None:
    """MB-009, MB-011."""
    assert not (REPOSITORY / "benchmarks/vessel_ct/task.yaml").exists()
    assert not (REPOSITORY / "benchmarks/glioma_wt_tc_et/manifest_test.json").exists()


# Task types, prediction types, contracts.


def test_the_task_types_of_the_page_are_registered() -> None:
    """MB-071, MB-111, MB-112."""
    assert set(registry.names()) >= {"seg", "instance_seg_2d", "instance_seg_3d", "cls", "det", "vlm"}


def test_the_metrics_of_the_page_are_known_to_their_task_types() -> None:
    """MB-081 to MB-083."""
    assert set(registry.get("seg").metrics) == {"dice", "hd95"}
    for name in ("instance_seg_2d", "instance_seg_3d"):
        assert set(registry.get(name).metrics) >= {"f1", "aji", "pq"}
        assert not set(registry.get(name).metrics) & {"dice", "hd95"}


def test_the_prediction_types_have_suffixes_and_an_adapter() -> None:
    """MB-096."""
    assert {"nifti", "instance_mask2d", "instance_mask3d"} <= set(SUFFIXES)
    used = {kind for name in registry.names() for kind in registry.get(name).prediction_types}
    assert used == set(SUFFIXES)


def test_the_contracts_of_the_bundle_files_exist() -> None:
    assert set(contracts.kinds()) >= {"bundle-task", "bundle-manifest", "eval-spec", "results"}


# Keys of task.yaml.

TASK: dict[str, Any] = {
    "task": {"id": "a", "name": "A title", "modality": "CT", "anatomy": "chest", "description": "Free text."},
    "canonical_labels": {"tumor_nodule": [1], "WT": [1, 2, 3]},
    "main_region": "macro_avg",
    "label_remap": {"DS": {1: 1, 4: 3, "note": "free"}, "OLD": {"native": [1, 4], "to": [1, 3]}, "note": "x"},
}


def changed(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy with the value at `a/b/c` replaced; `...` removes the key."""
    result = copy.deepcopy(document)
    *parents, last = path.split("/")
    target = result
    for key in parents:
        target = target[key]
    if value is ...:
        del target[last]
    else:
        target[last] = value
    return result


def task_of(document: dict[str, Any]) -> TaskSpec:
    assert contracts.validate("bundle-task", document) == []
    return parse_task(Document(document, "task.yaml"))


def test_the_keys_of_task_yaml_reach_the_typed_view() -> None:
    """MB-030, MB-032, MB-033, MB-035 to MB-037, MB-043."""
    task = task_of(TASK)
    assert (task.id, task.name, task.modality, task.anatomy, task.description) == tuple(TASK["task"].values())
    assert task.canonical_labels == {"tumor_nodule": (1,), "WT": (1, 2, 3)}
    assert task.main_region == "macro_avg"
    assert task.label_remap == {"DS": LabelRemap({1: 1, 4: 3}), "OLD": IDENTITY}


@pytest.mark.parametrize(
    "path", ["task/id", "task/name", "task/modality", "task/anatomy", "task/description"]
)
def test_each_key_of_the_identity_block_is_read_where_it_stands(path: str) -> None:
    assert task_of(changed(TASK, path, "another")) != task_of(TASK)
    assert path.partition("/")[2] in TASK_KEYS[("task",)]


def test_only_the_description_may_be_absent_from_the_identity_block() -> None:
    """MB-032: the page's own example has none."""
    assert task_of(changed(TASK, "task/description", ...)).description == ""
    for key in ("id", "name", "modality", "anatomy"):
        issues = contracts.validate("bundle-task", changed(TASK, f"task/{key}", ...))
        assert [issue.code for issue in issues] == ["bundle-task-required"]


# Keys of eval_spec.yaml.

SPEC: dict[str, Any] = {
    "task_type": "seg",
    "mode": "3d_volumetric",
    "segmentation_mode": "multi_class",
    "eval_regions": {"tumor_nodule": [1], "WT": [1, 2, 3]},
    "partial_label": True,
    "main_region": "macro_avg",
    "metrics": ["dice", "hd95"],
    "hd95": {"percentile": 95, "spacing": "header", "unit": "mm"},
    "iou_threshold": 0.5,
    "empty_structure": {
        "dice": {"gt_empty_pred_empty": 1, "gt_empty_pred_nonempty": 0, "gt_nonempty_pred_empty": 0},
        "hd95": {
            "gt_empty_pred_empty": 0,
            "gt_empty_pred_nonempty": 373.13,
            "gt_nonempty_pred_empty": 373.13,
        },
    },
    "aggregation": {
        "unit": "patient",
        "reduce": "mean",
        "report_by_region": True,
        "report_by_dataset": True,
        "report_by_tier": True,
        "headline": {"region": "WT", "metric": "dice", "tier": "far_ood"},
    },
    "prediction_format": {
        "type": "nifti",
        "label_space": [0, 1, 2, 3],
        "coordinate_space": "input_volume_grid",
        "note": "free text",
    },
}

# Key -> another value that the contract accepts too. The typed view must tell the two apart.
OTHER: dict[str, Any] = {
    "task_type": "instance_seg_2d",
    "mode": "2d_image",
    "segmentation_mode": "instance",
    "eval_regions": {"WT": [1]},
    "partial_label": False,
    "main_region": "WT",
    "metrics": ["dice"],
    "hd95/percentile": 100,
    "hd95/spacing": [1, 1, 2.5],
    "hd95/unit": "voxel",
    "iou_threshold": 0.3,
    "empty_structure/dice/gt_empty_pred_empty": 0,
    "empty_structure/dice/gt_empty_pred_nonempty": 0.5,
    "empty_structure/dice/gt_nonempty_pred_empty": None,
    "empty_structure/hd95/gt_empty_pred_empty": "exclude",
    "empty_structure/hd95/gt_empty_pred_nonempty": 374,
    "empty_structure/hd95/gt_nonempty_pred_empty": 374,
    "aggregation/unit": "image",
    "aggregation/reduce": "median",
    "aggregation/report_by_region": ["WT"],
    "aggregation/report_by_dataset": ["BTCV"],
    "aggregation/report_by_tier": False,
    "aggregation/headline/region": "tumor_nodule",
    "aggregation/headline/metric": "hd95",
    "aggregation/headline/tier": "near_ood",
    "prediction_format/type": "nrrd",
    "prediction_format/label_space": [0, 1, 2, 3, 4],
    "prediction_format/note": "other text",
}


def spec_of(document: dict[str, Any]) -> EvalSpec:
    assert contracts.validate("eval-spec", document) == []
    return parse_eval_spec(Document(document, "eval_spec.yaml"))


@pytest.mark.parametrize("path", OTHER)
def test_each_key_of_the_spec_is_accepted_and_read(path: str) -> None:
    """MB-070 to MB-099: also what is only for people reaches the typed view, which shows it."""
    assert spec_of(changed(SPEC, path, OTHER[path])) != spec_of(SPEC)


def test_the_one_coordinate_space_is_read_and_another_is_refused() -> None:
    """MB-098."""
    assert spec_of(SPEC).prediction_format.coordinate_space == "input_volume_grid"
    other = changed(SPEC, "prediction_format/coordinate_space", "world_mm")
    assert [issue.code for issue in contracts.validate("eval-spec", other)] == ["eval-spec-enum"]


def test_the_organ_breakdown_is_the_regional_one_under_another_name() -> None:
    """MB-091."""
    moved = changed(SPEC, "aggregation/report_by_region", ...)
    assert spec_of(changed(moved, "aggregation/report_by_organ", True)) == spec_of(SPEC)
    assert spec_of(moved) != spec_of(SPEC)


def test_every_key_of_the_page_is_known_to_the_search_for_misspellings() -> None:
    for path in [*OTHER, "prediction_format/coordinate_space", "aggregation/report_by_organ"]:
        place = tuple(path.split("/"))
        for depth in range(len(place)):
            parent = place[:depth] if place[0] != "empty_structure" or depth < 2 else (place[0], "*")
            assert place[depth] in EVAL_KEYS[parent]


def test_what_is_only_for_people_is_said_to_be_so_in_the_contract() -> None:
    """MB-074, MB-075, MB-099: `mode`, `segmentation_mode`, `note`."""
    schema = contracts.schema("eval-spec")["properties"]
    texts = [schema["mode"], schema["segmentation_mode"], schema["prediction_format"]["properties"]["note"]]
    assert all(text["description"].startswith("For people") for text in texts)


def test_every_key_of_every_contract_of_a_bundle_is_described() -> None:
    def undescribed(schema: Any, path: str) -> list[str]:
        found = []
        for name, part in (schema.get("properties") or {}).items():
            if not part.get("description") and "$ref" not in part:
                found.append(f"{path}.{name}")
            found += undescribed(part, f"{path}.{name}")
        return found

    for kind in ("bundle-task", "bundle-manifest", "eval-spec"):
        assert undescribed(contracts.schema(kind), kind) == []


# Keys of manifest_test.json.

CASE: dict[str, Any] = {
    "dataset": "BTCV",
    "split": "test",
    "tier": "far_ood",
    "region": "WT",
    "patient_uid": "0001",
    "series_uid": None,
    "image": "a/image.nii.gz",
    "seg": "a/seg.nii.gz",
    "remap": {"4": 3},
}
MANIFEST: dict[str, Any] = {
    "task": "vessel_ct",
    "version": "0.1.0",
    "split_version": "vessel_ct/v1",
    "hash": "facbb5f45b72",
    "train": [],
    "test": ["BTCV/0001"],
    "skipped": [{"case_id": "x", "reason": "no seg"}],
    "dropped_cross_split": [],
    "per_case": {"BTCV/0001": CASE},
}


@pytest.mark.parametrize("key", MANIFEST)
def test_each_key_of_the_manifest_is_in_its_contract(key: str) -> None:
    """MB-051 to MB-053."""
    assert contracts.validate("bundle-manifest", MANIFEST) == []
    assert key in contracts.schema("bundle-manifest")["properties"]
    required = ("task", "version", "hash", "train", "test", "per_case")
    issues = contracts.validate("bundle-manifest", changed(MANIFEST, key, ...))
    assert [issue.code for issue in issues] == ["bundle-manifest-required"] * (key in required)


@pytest.mark.parametrize("key", [*CASE, "chan"])
def test_each_field_of_a_case_is_in_the_contract_and_kept(key: str, tmp_path: Path) -> None:
    """MB-055 to MB-066: `chan` stands in place of `image`; unknown fields are kept beside them."""
    case = {**CASE, "scanner": "free"}
    if key == "chan":
        case = {**case, "chan": {"t1": "a/t1.nii.gz", "flair": "a/flair.nii.gz"}}
        del case["image"]
    manifest = {**MANIFEST, "per_case": {"BTCV/0001": case}}
    assert contracts.validate("bundle-manifest", manifest) == []
    (tmp_path / "manifest_test.json").write_text(json.dumps(manifest))
    assert Bundle(tmp_path).case_meta("BTCV/0001") == case
    assert key in contracts.schema("bundle-manifest")["$defs"]["case"]["properties"]
    for value in (3, [1]):
        wrong = {**MANIFEST, "per_case": {"BTCV/0001": {**case, key: value}}}
        assert contracts.validate("bundle-manifest", wrong) != []


def test_the_whole_page_in_one_bundle_has_no_error(tmp_path: Path) -> None:
    """All keys at once: `bundle check` finds nothing wrong, and no key that it does not know."""
    folder = tmp_path / "vessel_ct"
    folder.mkdir()
    task = changed(changed(TASK, "task/id", "vessel_ct"), "label_remap/BTCV", {1: 1, 2: 2, 3: 3})
    texts = {"task.yaml": yaml.safe_dump(task), "eval_spec.yaml": yaml.safe_dump(SPEC)}
    texts["manifest_test.json"] = json.dumps(MANIFEST)
    for name, text in texts.items():
        (folder / name).write_text(text)
    issues = checks.check(Bundle(folder))
    assert errors_of(issues) == []
    assert not {"key-unknown", "key-misspelt"} & {issue.code for issue in issues}


def test_the_typed_views_have_no_field_without_a_type() -> None:
    for view in (TaskSpec, EvalSpec):
        assert set(get_type_hints(view)) == set(view.__slots__)


# Commands and flags.


def help_of(*command: str) -> str:
    done = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "200"})
    assert done.exit_code == 0
    return done.output


@pytest.mark.parametrize(
    ("command", "flags"),
    [
        (("score",), ("--data-root", "--out", "--jobs", "--strict", "--json", "--trust-bundle-code")),
        (("check-predictions",), ("--data-root", "--json")),
        (("bundle", "new"), ("--json",)),
        (("bundle", "list"), ("--json",)),
        (("bundle", "show"), ("--json",)),
        (("bundle", "check"), ("--data-root", "--json")),
        (("bundle", "freeze"), ("--data-root", "--out", "--json")),
        (("bundle", "dummy"), ("--out", "--json")),
        (("bundle", "vendor"), ("--json",)),
        (("doctor",), ("--json",)),
        (("demo",), ("--out", "--jobs", "--json")),
    ],
)
def test_each_command_has_its_flags(command: tuple[str, ...], flags: tuple[str, ...]) -> None:
    text = help_of(*command)
    for flag in flags:
        assert flag in text
    assert command[-1] in help_of(*command[:-1])


def test_the_command_is_called_medotter() -> None:
    import tomllib

    scripts = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts["medotter"] == "medotter_bench.cli:main"
