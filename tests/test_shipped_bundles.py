"""The bundles of this repository say what the bundle page says, and their frozen copies are up to date."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from medomni.core.files import read_yaml
from medomni.core.issues import errors_of
from medotter_bench.bundle import Bundle
from medotter_bench.checks import check, read_specs
from medotter_bench.data_checks import check_data
from medotter_bench.engine import score_predictions
from medotter_bench.factory.definition import read_factory
from medotter_bench.factory.dummy import dummy_predictions, make_dummy
from medotter_bench.factory.freeze import build_manifest
from medotter_bench.factory.manifest_hash import mb1
from medotter_bench.factory.scan import list_files
from medotter_bench.factory.vendor import verify_lock
from medotter_bench.metrics import dice, hd95

REPOSITORY = Path(__file__).resolve().parent.parent
BENCHMARKS, VENDORED = REPOSITORY / "benchmarks", REPOSITORY / "evaluation" / "bundles"
TRACKED = [
    "vessel_ct", "thoracic_lesion_ct", "histopath_nucleus_seg", "nucleus_instance_2d", "nucleus_instance_3d",
]  # fmt: skip
UNTRACKED = ["glioma_wt_tc_et", "abdominal_multiorgan_ct"]
ALL = [*TRACKED, *UNTRACKED]
SEMANTIC = ["glioma_wt_tc_et", "abdominal_multiorgan_ct", "thoracic_lesion_ct", "vessel_ct"]
SCORABLE = [name for name in ALL if name != "vessel_ct"]

THORACIC_TASK = """
task:
  id: thoracic_lesion_ct
  name: Unified Thoracic Lesion Segmentation (CT)
  modality: CT
  anatomy: thorax / lung
canonical_labels:
  tumor_nodule: [1]
  infection:    [2]
main_region: macro_avg
label_remap:
  NSCLC_Radiomics_Interobserver1: {1: 1}
  MIDRC_RICORD_1a: {1: 2, 2: 2, 3: 2}   # native 4/5/6, not listed, drop to bg
"""
THORACIC_SPEC = """
mode: 3d_volumetric
segmentation_mode: multi_class
eval_regions:
  tumor_nodule: [1]
  infection: [2]
partial_label: true
main_region: macro_avg
metrics: [dice, hd95]
"""
NUCLEUS_SPEC = """
task_type: instance_seg_2d
mode: 2d_image
segmentation_mode: instance
eval_regions:
  nucleus: [1]
partial_label: false
main_region: nucleus
metrics: [f1, aji, pq]
iou_threshold: 0.5
"""
# Label orders as the datasets publish them, by name, so that a slip in the numbers shows.
NATIVE = {
    "BTCV": "spleen right_kidney left_kidney gallbladder esophagus liver stomach aorta inferior_vena_cava "
    "portal_splenic_vein pancreas right_adrenal_gland left_adrenal_gland",
    "AMOS22": "spleen right_kidney left_kidney gallbladder esophagus liver stomach aorta inferior_vena_cava "
    "pancreas right_adrenal_gland left_adrenal_gland duodenum",
    "FLARE22": "liver right_kidney spleen pancreas aorta inferior_vena_cava right_adrenal_gland "
    "left_adrenal_gland gallbladder esophagus stomach duodenum left_kidney",
}


def document(name, file):
    return read_yaml(BENCHMARKS / name / file).value


def eval_spec(name):
    return document(name, "eval_spec.yaml")


def vessel_module(name):
    """A module of vessel_ct, run from its source so that no compiled copy is left beside it."""
    path = BENCHMARKS / "vessel_ct" / f"{name}.py"
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(f"vessel_{name}", loader=None))
    exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
    return module


@pytest.fixture(scope="module")
def data_roots(tmp_path_factory):
    """A data root with generated data, made once per bundle."""
    made = {}

    def root(name):
        if name not in made:
            made[name] = tmp_path_factory.mktemp(name) / "data"
            make_dummy(BENCHMARKS / name, made[name])
        return made[name]

    return root


# What is there.


@pytest.mark.parametrize("name", ALL)
def test_every_bundle_has_its_factory_side(name):
    files = {path.name for path in (BENCHMARKS / name).iterdir() if path.is_file()}
    expected = {"eval_spec.yaml", "factory.yaml", "README.md"}
    expected |= {"remap.py", "scoring.py"} if name == "vessel_ct" else {"task.yaml"}
    expected |= {"manifest_test.json"} if name in TRACKED else set()
    assert files == expected


@pytest.mark.parametrize("name", TRACKED)
def test_five_manifests_are_tracked_and_construct(name):
    bundle = Bundle(BENCHMARKS / name)
    assert (bundle.task, bundle.version) == (name, "0.0.0-dummy")
    assert bundle.train
    assert bundle.test


@pytest.mark.parametrize("name", UNTRACKED)
def test_glioma_and_abdominal_track_none_and_raise_file_not_found(name):
    with pytest.raises(FileNotFoundError):
        Bundle(BENCHMARKS / name)


def test_vessel_has_no_task_yaml():
    with pytest.raises(FileNotFoundError):
        Bundle(BENCHMARKS / "vessel_ct").task_spec()


@pytest.mark.parametrize(
    ("folder", "other"),
    [(BENCHMARKS, "bench/benchmarks/"), *((BENCHMARKS / name, "0.0.0-dummy") for name in ALL)],
)
def test_each_readme_says_what_must_be_known(folder, other):
    text = (folder / "README.md").read_text()
    assert other in text
    if folder == BENCHMARKS:
        first = " ".join(line for line in text.splitlines()[1:4] if line).partition(".")[0]
        assert "bench/benchmarks/" in first
    else:
        assert "generated data" in text
        assert all(name in text.replace(" ", "_").replace("-", "_") for name in ("icence", "itation"))


# What the page says.


def test_the_thoracic_task_says_what_the_page_says():
    shipped, page = document("thoracic_lesion_ct", "task.yaml"), yaml.safe_load(THORACIC_TASK)
    assert shipped["label_remap"].items() >= page.pop("label_remap").items()
    assert shipped["task"].items() >= page.pop("task").items()
    assert {key: shipped[key] for key in page} == page


@pytest.mark.parametrize(
    ("name", "block"), [("thoracic_lesion_ct", THORACIC_SPEC), ("nucleus_instance_2d", NUCLEUS_SPEC)]
)
def test_the_specs_say_what_the_page_says(name, block):
    page = yaml.safe_load(block)
    assert {key: eval_spec(name)[key] for key in page} == page


def test_the_case_of_the_pages_example_is_in_the_thoracic_manifest():
    bundle = Bundle(BENCHMARKS / "thoracic_lesion_ct")
    case_id = "COVID_19_20/volume-covid19-A-0003"
    assert case_id in [*bundle.train, *bundle.test]
    assert bundle.case_meta(case_id)["dataset"] == "COVID_19_20"
    assert case_id in dict(bundle.cases())


def test_the_vessel_manifest_has_the_shape_of_the_page():
    manifest = Bundle(BENCHMARKS / "vessel_ct").manifest
    assert manifest["split_version"] == "vessel_ct/v1"
    assert manifest["train"][0] == "FLARE22/FLARE22_Tr_0001"
    assert manifest["test"][0] == "BTCV/0001"
    assert manifest["per_case"]["BTCV/0001"] == {
        "dataset": "BTCV",
        "split": "test",
        "tier": "test",
        "patient_uid": "0001",
        "image": "btcv/RawData/Training/img/img0001.nii.gz",
        "seg": "btcv/RawData/Training/label/label0001.nii.gz",
    }
    tiers = {meta["tier"] for meta in manifest["per_case"].values()}
    assert tiers == {"train", "test", "near_ood", "far_ood"}


@pytest.mark.parametrize("name", SEMANTIC)
def test_older_specs_have_no_task_type(name):
    assert "task_type" not in eval_spec(name)
    assert eval_spec(name)["metrics"] == ["dice", "hd95"]
    assert eval_spec(name)["hd95"] == {
        "percentile": 95,
        "spacing": "header",
        "unit": "mm",
        "method": "directed_max",
    }


@pytest.mark.parametrize(
    ("name", "task_type", "kind"),
    [
        ("histopath_nucleus_seg", "instance_seg_2d", "instance_mask2d"),
        ("nucleus_instance_2d", "instance_seg_2d", "instance_mask2d"),
        ("nucleus_instance_3d", "instance_seg_3d", "instance_mask3d"),
    ],
)
def test_instance_specs_name_their_type_and_never_dice_or_hd95(name, task_type, kind):
    spec = eval_spec(name)
    assert (spec["task_type"], spec["prediction_format"]["type"]) == (task_type, kind)
    assert (spec["metrics"], spec["iou_threshold"]) == (["f1", "aji", "pq"], 0.5)
    assert spec["aggregation"]["unit"] == "image"
    assert "hd95" not in spec
    regions = {meta["region"] for _, meta in Bundle(BENCHMARKS / name).cases()}
    assert regions == {"nucleus"}


@pytest.mark.parametrize("name", [name for name in ALL if name != "glioma_wt_tc_et"])
def test_only_glioma_uses_the_penalty_of_its_grid(name):
    assert "373.13" not in (BENCHMARKS / name / "eval_spec.yaml").read_text()


def test_gliomas_regions_penalty_and_channel_order():
    spec, task = eval_spec("glioma_wt_tc_et"), document("glioma_wt_tc_et", "task.yaml")
    assert spec["eval_regions"] == task["canonical_labels"] == {"WT": [1, 2, 3], "TC": [1, 3], "ET": [3]}
    penalty = spec["empty_structure"]["hd95"]["gt_nonempty_pred_empty"]
    assert penalty == spec["empty_structure"]["hd95"]["gt_empty_pred_nonempty"] == 373.13
    assert penalty == round((240**2 + 240**2 + 155**2) ** 0.5, 2)
    assert "240 x 240 x 155" in spec["hd95_penalty_note"]
    assert all(list(entry) == ["native", "to"] for entry in task["label_remap"].values())
    orders = {tuple(meta["chan"]) for _, meta in Bundle(VENDORED / "glioma_wt_tc_et").cases()}
    assert orders == {("t1n", "t1c", "t2w", "t2f")}


def test_abdominal_maps_each_published_name_to_the_region_of_that_name():
    spec, task = eval_spec("abdominal_multiorgan_ct"), document("abdominal_multiorgan_ct", "task.yaml")
    assert spec["partial_label"] is True
    assert spec["aggregation"]["report_by_organ"] is True
    assert len(spec["eval_regions"]) == 14
    for dataset, names in NATIVE.items():
        remap = {key: value for key, value in task["label_remap"][dataset].items() if key != "note"}
        expected = {n: spec["eval_regions"][name][0] for n, name in enumerate(names.split(), start=1)}
        assert remap == expected


def test_every_dataset_of_a_factory_is_in_the_remap():
    for name in ("thoracic_lesion_ct", "abdominal_multiorgan_ct", "glioma_wt_tc_et"):
        remap = document(name, "task.yaml")["label_remap"]
        assert {key for key in remap if key != "note"} == set(read_factory(BENCHMARKS / name).datasets)


# What is frozen.


@pytest.mark.parametrize("name", ALL)
def test_the_manifest_follows_from_generated_data_and_its_hash_verifies(name, data_roots):
    manifest, warnings = build_manifest(
        read_factory(BENCHMARKS / name), list_files(data_roots(name)), version="0.0.0-dummy"
    )
    vendored = json.loads((VENDORED / name / "manifest_test.json").read_text())
    assert not warnings
    assert vendored == manifest
    assert (vendored["hash"], vendored["hash_full"]) == mb1(manifest)
    assert list(vendored) == list(manifest)


def test_regenerating_gives_the_tracked_bytes(tmp_path):
    path = REPOSITORY / "tools" / "refreeze_dummy_bundles.py"
    spec = importlib.util.spec_from_file_location("refreeze_dummy_bundles", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    written = module.refreeze(tmp_path)
    hint = "run tools/refreeze_dummy_bundles.py"
    for file in [*written, tmp_path / "evaluation" / "bundles" / "bundles.lock.json"]:
        assert (REPOSITORY / file.relative_to(tmp_path)).read_bytes() == file.read_bytes(), hint
    vendored = {p.relative_to(VENDORED) for p in VENDORED.rglob("*") if p.is_file()}
    regenerated = tmp_path / "evaluation" / "bundles"
    assert vendored == {p.relative_to(regenerated) for p in regenerated.rglob("*") if p.is_file()}
    assert sorted(p.parent.name for p in written if p.is_relative_to(tmp_path / "benchmarks")) == sorted(
        TRACKED
    )


def test_vendored_copies_are_whole_and_only_glioma_has_its_coverage():
    assert verify_lock(VENDORED) == []
    assert sorted(path.name for path in VENDORED.iterdir() if path.is_dir()) == sorted(ALL)
    three = {"task.yaml", "eval_spec.yaml", "manifest_test.json"}
    for name in ALL:
        files = {path.name for path in (VENDORED / name).iterdir()}
        if name == "vessel_ct":
            assert files == {"eval_spec.yaml", "manifest_test.json", "remap.py", "scoring.py"}
        elif name == "glioma_wt_tc_et":
            assert files == three | {"coverage_report.json", "coverage_report.md"}
        else:
            assert files == three


@pytest.mark.parametrize("name", ALL)
def test_vendored_copies_pass_the_checks(name):
    assert errors_of(check(Bundle(VENDORED / name))) == []


@pytest.mark.parametrize("name", ALL)
def test_each_shipped_bundle_is_checked_with_generated_data(name, data_roots):
    bundle = Bundle(VENDORED / name)
    task, spec, issues = read_specs(bundle)
    assert errors_of(issues) == []
    assert errors_of(check_data(bundle, task, spec, data_root=data_roots(name))) == []


@pytest.mark.parametrize("name", SCORABLE)
def test_each_shipped_bundle_scores_generated_predictions(name, data_roots, tmp_path):
    dummy_predictions(VENDORED / name, data_roots(name), tmp_path / "pred")
    results = score_predictions(VENDORED / name, tmp_path / "pred", data_roots(name))
    document = json.loads(json.dumps(getattr(results, "document", results)))
    assert document["missing"] == []
    assert document["invalid"] == []
    assert 0.3 < document["headline"]["value"] < 1
    assert document["headline"]["n"] == document["headline"]["n_required"] > 0


# The code of vessel_ct.


def test_vessel_remap_keeps_the_three_vessels_and_drops_the_rest():
    remap = vessel_module("remap")
    native = np.arange(70).reshape(7, 10, 1)
    for dataset, expected in {"BTCV": {8: 1, 9: 2, 10: 3}, "FLARE22": {5: 1, 6: 2}}.items():
        canonical = remap.remap(native, {"dataset": dataset})
        assert {int(n): int(c) for n, c in zip(native.flat, canonical.flat, strict=True) if c} == expected
    assert {name: ids[0] for name, ids in eval_spec("vessel_ct")["eval_regions"].items()} == remap.CANONICAL
    with pytest.raises(ValueError, match="AMOS22"):
        remap.remap(native, {"dataset": "AMOS22"})


def test_vessel_remap_and_factory_agree():
    factory = read_factory(BENCHMARKS / "vessel_ct")
    listed = {name: dict(spec.canonical) for name, spec in factory.dummy.items()}
    assert listed == vessel_module("remap").NATIVE_TO_CANONICAL


@pytest.mark.parametrize("seed", range(4))
def test_vessel_scoring_gives_the_numbers_of_the_metrics(seed):
    draws = np.random.default_rng(seed)
    shape, spacing = (12, 11, 9), (0.8, 0.7, 2.5)
    reference = draws.integers(0, 4, shape) * (draws.random(shape) < 0.3)
    prediction = np.where(draws.random(shape) < 0.8, reference, 0)
    prediction[:, :6] = 0 if seed == 3 else prediction[:, :6]
    scores = vessel_module("scoring").score_case(reference, prediction, spacing, {"dataset": "BTCV"})
    for label, region in enumerate(("aorta", "inferior_vena_cava", "portal_splenic_vein"), start=1):
        a, b = reference == label, prediction == label
        assert scores[region]["dice"] == pytest.approx(dice(a, b), abs=1e-12)
        assert scores[region]["hd95"] == pytest.approx(hd95(a, b, spacing=spacing), abs=1e-9)


def test_vessel_scoring_of_empty_vessels_and_of_unlabelled_ones():
    scoring = vessel_module("scoring")
    reference, prediction = np.zeros((3, 4, 12), int), np.zeros((3, 4, 12), int)
    reference[1, 1, 1] = 1
    prediction[1, 1, 1] = 2
    scores = scoring.score_case(reference, prediction, (1, 1, 1), {"dataset": "FLARE22"})
    assert scores == {
        "aorta": {"dice": 0.0, "hd95": 13.0},
        "inferior_vena_cava": {"dice": 0.0, "hd95": 13.0},
        "portal_splenic_vein": {"dice": None, "hd95": None},
    }
    scores = scoring.score_case(reference, prediction, (1, 1, 1), {"dataset": "BTCV"})
    assert scores["portal_splenic_vein"] == {"dice": 1.0, "hd95": 0.0}


@pytest.mark.parametrize(
    ("shape", "spacing"),
    [((3, 3, 4), (1, 1, 1)), ((3, 3, 3), (1, 1)), ((3, 3, 3), (1, 1, 0)), ((3, 3, 3), (1, 1, np.nan))],
)
def test_vessel_scoring_refuses_other_grids_and_spacings(shape, spacing):
    with pytest.raises(ValueError, match=r"shape|spacing"):
        vessel_module("scoring").score_case(
            np.zeros((3, 3, 3)), np.zeros(shape), spacing, {"dataset": "BTCV"}
        )
