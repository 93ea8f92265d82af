"""What the bundle page demands, shown through whole bundles: files, remap, protocol, task types.

`tests/requirements_shown.py` says which test shows which requirement.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
import tifffile
import yaml
from PIL import Image
from typer.testing import CliRunner

from bundle_builders import BundleBuilder, box, cell_of, instance_builder, value_of, write_nifti
from medomni.core.issues import IssuesError
from medotter_bench import checks
from medotter_bench.bundle import Bundle
from medotter_bench.cli import app
from medotter_bench.engine import resolve_task_type, score_predictions
from medotter_bench.factory.dummy import make_dummy
from medotter_bench.factory.freeze import freeze
from medotter_bench.factory.manifest_hash import mb1
from medotter_bench.factory.vendor import vendor
from medotter_bench.inference import VolumeLoader
from medotter_bench.metrics import METRICS

REPOSITORY = Path(__file__).resolve().parents[2]
BENCHMARKS = REPOSITORY / "benchmarks"
SOURCE = REPOSITORY / "src"


def score(builder: BundleBuilder) -> dict[str, Any]:
    builder.write()
    return score_predictions(builder.bundle, builder.predictions, builder.data).document


@pytest.fixture
def builder(tmp_path: Path) -> BundleBuilder:
    return BundleBuilder(tmp_path)


# The one loader, and where bundles live.

FILES = {"manifest_test.json", "task.yaml", "eval_spec.yaml"}
READERS = {"read_json", "read_yaml", "read_text", "read_bytes", "open", "load", "loads", "safe_load"}
# Who reads one of the three files past `Bundle`, and why it must.
OTHER_READERS = {
    "medotter_bench/overview.py": "lists folders whose manifest is not frozen yet",
    "medotter_bench/factory/vendor.py": "copies bundles as they are",
    "medotter_bench/factory/coverage.py": "reports on the specs of a bundle that has no manifest yet",
    "medotter_bench/factory/dummy_predictions.py": "takes the remap as the files of a data root have it",
}


def test_nobody_but_the_loader_and_the_factory_opens_the_three_files() -> None:
    """MB-002: no call of a reader holds one of the names, or a constant with one of them, elsewhere."""
    paths = [path for path in sorted(SOURCE.rglob("*.py")) if path.name != "bundle.py" or "cli" in path.parts]
    assert {str(path.relative_to(SOURCE)) for path in paths if reads_one(path)} == set(OTHER_READERS)


def reads_one(path: Path) -> bool:
    tree = ast.parse(path.read_text())
    names = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value in FILES
        for target in node.targets
        if isinstance(target, ast.Name)
    } | {"MANIFEST", "TASK", "EVAL_SPEC"}
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        function = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        inside = list(ast.walk(call))
        literal = any(isinstance(node, ast.Constant) and node.value in FILES for node in inside)
        constant = any(isinstance(node, ast.Name) and node.id in names for node in inside)
        if function in READERS and (literal or constant):
            return True
    return False


def test_tracked_manifests_are_not_ignored_by_git() -> None:
    """MB-010: a clone holds the five, and no rule leaves a bundle's files out."""
    if not (REPOSITORY / ".git").exists() or shutil.which("git") is None:
        pytest.skip("this copy is no git repository")
    files = [path for folder in ("benchmarks", "evaluation") for path in (REPOSITORY / folder).rglob("*")]
    paths = [str(path.relative_to(REPOSITORY)) for path in files if path.is_file()]
    done = subprocess.run(
        ["git", "check-ignore", *paths], cwd=REPOSITORY, capture_output=True, text=True, timeout=60
    )
    assert [line for line in done.stdout.splitlines() if "__pycache__" not in line] == []


@pytest.mark.parametrize("name", ["glioma_wt_tc_et", "abdominal_multiorgan_ct"])
def test_a_bundle_without_manifest_constructs_once_the_factory_has_run(name: str, tmp_path: Path) -> None:
    """MB-011: before that, constructing raises `FileNotFoundError`, and says what to run."""
    folder = tmp_path / name
    shutil.copytree(BENCHMARKS / name, folder)
    with pytest.raises(FileNotFoundError, match="bundle freeze"):
        Bundle(folder)
    make_dummy(folder, tmp_path / "data")
    report = freeze(folder, data_root=tmp_path / "data")
    bundle = Bundle(folder)
    assert (bundle.task, bundle.hash, len(bundle.test)) == (name, report.hash, report.n_test)
    assert {"skipped", "dropped_cross_split", "split_version"} <= set(bundle.manifest)
    assert all((folder / f"coverage_report.{suffix}").is_file() for suffix in ("json", "md"))


# The page's example of the loader, as it is printed there.
EXAMPLE = """
from medotter_bench.bundle import Bundle

b = Bundle("benchmarks/thoracic_lesion_ct")
b.task      # manifest["task"]     -> "thoracic_lesion_ct"
b.version   # manifest["version"]
b.hash      # manifest["hash"]
b.train     # manifest["train"]    -> list of case ids
b.test      # manifest["test"]     -> list of case ids
b.case_meta("COVID_19_20/volume-covid19-A-0003")   # manifest["per_case"][case_id]
list(b.cases())                          # (case_id, meta) for every case, train+test
b.task_spec()   # yaml.safe_load(task.yaml)   — lazy, re-parsed each call
b.eval_spec()    # yaml.safe_load(eval_spec.yaml) — lazy, re-parsed each call
"""


@pytest.mark.parametrize("path", ['"benchmarks/thoracic_lesion_ct"', 'Path("benchmarks/thoracic_lesion_ct")'])
def test_the_example_of_the_page_runs_from_the_root_of_the_repository(path: str, monkeypatch: Any) -> None:
    """MB-020 to MB-029."""
    monkeypatch.chdir(REPOSITORY)
    names: dict[str, Any] = {"Path": Path}
    code = EXAMPLE.replace('"benchmarks/thoracic_lesion_ct"', path)
    values = {}
    for line in code.strip().splitlines():
        if line.startswith(("from", "b = ")):
            exec(line, names)
        elif line:
            expression = line.partition("#")[0].strip()
            values[expression] = eval(expression, names)
    folder = BENCHMARKS / "thoracic_lesion_ct"
    manifest = json.loads((folder / "manifest_test.json").read_text())
    case_id = "COVID_19_20/volume-covid19-A-0003"
    assert list(values.values()) == [
        "thoracic_lesion_ct",
        manifest["version"],
        manifest["hash"],
        manifest["train"],
        manifest["test"],
        manifest["per_case"][case_id],
        [(c, manifest["per_case"][c]) for c in [*manifest["train"], *manifest["test"]]],
        yaml.safe_load((folder / "task.yaml").read_text()),
        yaml.safe_load((folder / "eval_spec.yaml").read_text()),
    ]


def test_the_trimmed_manifest_of_the_page_loads_and_its_gaps_are_told(tmp_path: Path) -> None:
    """MB-054: the printed lists end in "..."; `bundle check` names each id without an entry."""
    folder = tmp_path / "vessel_ct"
    folder.mkdir()
    entry = {"dataset": "BTCV", "split": "test", "image": "a.nii.gz", "seg": "b.nii.gz"}
    manifest = {"task": "vessel_ct", "version": "0.1.0", "hash": "facbb5f45b72"}
    manifest |= {"train": ["FLARE22/FLARE22_Tr_0001", "..."], "test": ["BTCV/0001", "..."]}
    (folder / "manifest_test.json").write_text(json.dumps({**manifest, "per_case": {"BTCV/0001": entry}}))
    bundle = Bundle(folder)
    assert bundle.test == ["BTCV/0001", "..."]
    told = [issue.what for issue in checks.check(bundle) if issue.code == "case-without-entry"]
    assert sorted(re.findall("'(.*?)'", " ".join(told))) == ["...", "...", "FLARE22/FLARE22_Tr_0001"]


# Inputs, channels, references.


def test_inputs_have_the_shapes_of_a_ct_and_of_a_colour_tile(tmp_path: Path) -> None:
    """MB-060, MB-063, MB-067."""
    write_nifti(tmp_path / "ct/a.nii.gz", np.zeros((5, 6, 7), np.int16), spacing=(0.8, 0.8, 2.5))
    write_nifti(tmp_path / "ct/a_seg.nii.gz", box((5, 6, 7), at=1, size=2), spacing=(0.8, 0.8, 2.5))
    Image.fromarray(np.zeros((9, 11, 3), np.uint8)).save(tmp_path / "tile.png")
    loader = VolumeLoader(tmp_path)
    volume = loader.load_input({"image": "ct/a.nii.gz"})
    assert (volume.array.shape, volume.spacing_mm) == ((5, 6, 7), (0.8, 0.8, 2.5))
    assert loader.load_input({"image": "tile.png"}).array.shape == (9, 11, 3)
    assert int(loader.load_label("ct/a_seg.nii.gz").array.sum()) == 8


def test_channel_order_is_that_of_the_manifest_all_the_way(builder: BundleBuilder, tmp_path: Path) -> None:
    """MB-061, MB-062: through file, accessor, loader and vendored copy; another order is another hash."""
    order = ("t2", "flair", "t1")
    case = builder.case("001", box(), box())
    meta = builder.manifest["per_case"][case]
    del meta["image"]
    meta["chan"] = {name: f"DS_A/001_{name}.nii.gz" for name in order}
    for value, name in enumerate(order):
        write_nifti(builder.data / meta["chan"][name], np.full((8, 8, 8), value, np.uint8))
    builder.write()
    copy = vendor(builder.bundle, tmp_path / "vendored").target
    for folder in (builder.bundle, copy):
        bundle = Bundle(folder)
        assert tuple(bundle.case_meta(case)["chan"]) == order
        volume = VolumeLoader(builder.data).load_input(bundle.case_meta(case))
        assert volume.channels == order
        assert volume.array.mean(axis=(1, 2, 3)).tolist() == [0, 1, 2]
    before = mb1(builder.manifest)
    meta["chan"] = {name: meta["chan"][name] for name in sorted(order)}
    assert mb1(builder.manifest) != before


def test_the_frozen_glioma_manifest_keeps_the_channel_order_of_its_factory(tmp_path: Path) -> None:
    """MB-062: the order is that of factory.yaml, which is no alphabetical one."""
    folder = tmp_path / "glioma_wt_tc_et"
    shutil.copytree(BENCHMARKS / "glioma_wt_tc_et", folder)
    factory = yaml.safe_load((folder / "factory.yaml").read_text())
    expected = {name: tuple(entry["chan"]) for name, entry in factory["datasets"].items()}
    make_dummy(folder, tmp_path / "data", cases_per_dataset=2)
    freeze(folder, data_root=tmp_path / "data")
    metas = [meta for _, meta in Bundle(folder).cases()]
    assert metas
    for meta in metas:
        order = tuple(meta["chan"])
        assert order == expected[meta["dataset"]] != tuple(sorted(order))


# Label remap.


def remapped(builder: BundleBuilder, label_remap: dict[Any, Any], n_labels: int = 2) -> BundleBuilder:
    regions = {f"r{i}": [i] for i in range(1, n_labels + 1)}
    builder.task |= {"canonical_labels": regions, "main_region": "macro_avg", "label_remap": label_remap}
    builder.spec |= {"eval_regions": regions, "main_region": "macro_avg"}
    builder.spec["aggregation"]["headline"] = {"region": "macro_avg", "metric": "dice"}
    builder.spec["prediction_format"]["label_space"] = list(range(n_labels + 1))
    return builder


def corners(*labels: int) -> np.ndarray:
    """A volume with one block of eight voxels per label."""
    array = np.zeros((8, 8, 8), np.uint8)
    for i, label in enumerate(labels):
        array[2 * i : 2 * i + 2, :2, :2] = label
    return array


def test_two_datasets_of_one_bundle_have_maps_of_their_own(builder: BundleBuilder) -> None:
    """MB-036, MB-055: the same native ids mean two things; a dataset without a map is taken as canonical."""
    remapped(builder, {"DS_A": {1: 1, 2: 2}, "DS_B": {1: 2, 2: 1}})
    for dataset, prediction in (("DS_A", (1, 2)), ("DS_B", (2, 1)), ("DS_C", (1, 2))):
        builder.case("001", corners(1, 2), corners(*prediction), dataset=dataset)
    document = score(builder)
    assert document["headline"]["value"] == 1.0
    assert document["effective"]["label_remap"] == {"DS_A": {"1": 1, "2": 2}, "DS_B": {"1": 2, "2": 1}}
    assert "label_remap.DS_C=identity" in document["effective"]["defaults_used"]
    assert "dataset-identity" in {issue.code for issue in checks.check(Bundle(builder.bundle))}


def test_a_map_that_swaps_is_applied_in_one_pass_and_several_ids_may_merge(builder: BundleBuilder) -> None:
    """MB-039."""
    remapped(builder, {"DS_A": {1: 2, 2: 1}, "DS_B": {1: 2, 2: 2, 3: 2, 4: 1}})
    builder.case("001", corners(1, 2), corners(2, 1))
    builder.case("001", corners(1, 2, 3, 4), corners(2, 2, 2, 1), dataset="DS_B")
    document = score(builder)
    assert document["headline"]["value"] == 1.0
    assert [row["unlisted_voxels"] for row in document["cases"]] == [0, 0]


def test_unlisted_native_ids_are_background_and_no_miss_and_their_voxels_are_in_the_row(
    builder: BundleBuilder,
) -> None:
    """MB-038: with the map of the page, native 4, 5 and 6 drop."""
    remapped(builder, {"DS_A": {1: 2, 2: 2, 3: 2}, "DS_B": {1: 1}})
    case = builder.case("001", corners(3, 4, 5, 6), corners(2))
    builder.case("001", corners(1), corners(1), dataset="DS_B")
    document = score(builder)
    assert value_of(document, case, "r2", "dice") == 1.0
    row = document["cases"][0]
    assert (row["unlisted_voxels"], row["regions"]["r2"]["n_reference"]) == (24, 8)


def test_notes_are_stripped_at_both_levels_and_are_in_no_effective_map(builder: BundleBuilder) -> None:
    """MB-037."""
    remapped(builder, {"note": "about all", "DS_A": {1: 1, 2: 2, "note": "about one"}})
    builder.case("001", corners(1, 2), corners(1, 2))
    document = score(builder)
    assert document["effective"]["label_remap"] == {"DS_A": {"1": 1, "2": 2}}
    assert document["headline"]["value"] == 1.0


def test_a_prediction_in_native_ids_is_invalid_and_its_ids_are_named(builder: BundleBuilder) -> None:
    """MB-040, MB-042: predictions are never remapped."""
    remapped(builder, {"DS_A": {4: 1, 7: 2}})
    native = builder.case("001", corners(4, 7), corners(4, 7))
    builder.case("002", corners(4, 7), corners(1, 2))
    document = score(builder)
    assert document["invalid"][0]["case_id"] == native
    assert all(
        text in document["invalid"][0]["what"] for text in ("4 (8 voxels)", "7 (8 voxels)", "[0, 1, 2]")
    )
    assert document["headline"]["value"] == 0.5


def test_lists_of_native_and_to_ids_document_and_change_nothing(builder: BundleBuilder) -> None:
    """MB-043: the form of glioma; 4 in the lists is not applied, 3 in the reference stays 3."""
    remapped(builder, {"DS_A": {"native": [1, 2, 4], "to": [1, 2, 3]}}, n_labels=3)
    builder.case("001", corners(1, 2, 3), corners(1, 2, 3))
    document = score(builder)
    assert document["headline"]["value"] == 1.0
    assert document["effective"]["label_remap"] == {}
    assert document["effective"]["defaults_used"][-1] == "label_remap.DS_A=identity"


def test_the_slot_of_a_case_refines_the_map_and_its_absence_changes_nothing(builder: BundleBuilder) -> None:
    """MB-065, with the page's example: 4 becomes 3, and 1 and 2 stay what the dataset's map says."""
    remapped(builder, {"DS_A": {1: 1, 2: 2}}, n_labels=3)
    with_slot = builder.case("001", corners(1, 2, 4), corners(1, 2, 3), remap={"4": 3})
    without = builder.case("002", corners(1, 2, 4), corners(1, 2, 3))
    document = score(builder)
    rows = {row["case_id"]: row for row in document["cases"]}
    assert [value_of(document, with_slot, r, "dice") for r in ("r1", "r2", "r3")] == [1.0, 1.0, 1.0]
    assert [value_of(document, without, r, "dice") for r in ("r1", "r2", "r3")] == [1.0, 1.0, 0.0]
    assert (rows[with_slot]["unlisted_voxels"], rows[without]["unlisted_voxels"]) == (0, 8)


# The protocol.


def test_the_spec_alone_decides_which_adapter_scores(tmp_path: Path) -> None:
    """MB-070: the same files, once as semantic labels and once as instances."""
    reference, prediction = corners(1, 2), corners(1, 2)
    prediction[3] = 0
    documents = {}
    for task_type in ("seg", "instance_seg_3d"):
        builder = remapped(BundleBuilder(tmp_path / task_type), {})
        if task_type != "seg":
            builder.spec = instance_builder(tmp_path / "spec").spec
            builder.spec |= {"task_type": task_type, "prediction_format": {"type": "nifti"}}
            builder.task["canonical_labels"] = {"nucleus": [1]}
        builder.case("001", reference, prediction)
        documents[task_type] = score(builder)
    assert documents["seg"]["headline"]["metric"] == "dice"
    assert documents["seg"]["headline"]["value"] == pytest.approx((1 + 2 / 3) / 2)
    row = documents["instance_seg_3d"]["cases"][0]["regions"]["nucleus"]
    assert (row["tp"], row["fp"], row["fn"], row["f1"]["value"]) == (1, 1, 1, 0.5)


def test_where_the_two_files_differ_the_protocol_decides_the_headline(builder: BundleBuilder) -> None:
    """MB-035: and the check says so."""
    remapped(builder, {"DS_A": {1: 1, 2: 2}})
    builder.task["main_region"], builder.spec["main_region"] = "r1", "r2"
    del builder.spec["aggregation"]["headline"]
    builder.case("001", corners(1, 2), corners(1))
    document = score(builder)
    assert (document["headline"]["region"], document["headline"]["value"]) == ("r2", 0.0)
    assert "main-region-differs" in {issue.code for issue in checks.check(Bundle(builder.bundle))}


def test_a_missed_structure_is_in_the_mean_at_its_penalty(builder: BundleBuilder) -> None:
    """MB-087: over all cases, 373.13 included."""
    builder.spec["aggregation"]["headline"]["metric"] = "hd95"
    builder.case("001", box(), box())
    builder.case("002", box(), np.zeros((8, 8, 8), np.uint8))
    document = score(builder)
    assert document["headline"]["value"] == pytest.approx(373.13 / 2, abs=1e-12)
    assert document["headline"]["n"] == 2


NOTHING = np.zeros((8, 8, 8), np.uint8)
STATES = {
    "gt_empty_pred_empty": (NOTHING, NOTHING),
    "both_empty": (NOTHING, NOTHING),
    "gt_empty_pred_nonempty": (NOTHING, box()),
    "gt_nonempty_pred_empty": (box(), NOTHING),
}


@pytest.mark.parametrize("key", STATES)
@pytest.mark.parametrize("metric", ["dice", "hd95", "f1", "aji", "pq"])
def test_each_key_of_the_penalty_table_works_for_each_metric(metric: str, key: str, tmp_path: Path) -> None:
    """MB-086: the literal number stands in, and the outcome names the key."""
    builder = BundleBuilder(tmp_path)
    region = "lesion"
    if metric not in ("dice", "hd95"):
        builder.spec = instance_builder(tmp_path).spec
        builder.spec |= {"task_type": "instance_seg_3d", "prediction_format": {"type": "nifti"}}
        region = "nucleus"
        builder.task["canonical_labels"] = {region: [1]}
    number = 374.5 if metric == "hd95" else 0.25
    table = builder.spec.setdefault("empty_structure", {}).setdefault(metric, {})
    if key == "both_empty":
        table.pop("gt_empty_pred_empty", None)
    table[key] = number
    case = builder.case("001", *STATES[key])
    name = "gt_empty_pred_empty" if key == "both_empty" else key
    assert cell_of(score(builder), case, region, metric) == {"value": number, "outcome": f"penalty:{name}"}


@pytest.mark.parametrize(
    ("key", "value"), [("reduce", "max"), ("unit", "study"), ("report_by_region", "all"), ("headline", {})]
)
def test_an_unknown_rule_of_aggregation_is_an_error(builder: BundleBuilder, key: str, value: Any) -> None:
    """MB-088 to MB-090."""
    builder.spec["aggregation"][key] = value
    builder.case("001", box(), box())
    with pytest.raises(IssuesError, match=f"aggregation.{key}"):
        score(builder)


def test_any_name_of_a_tier_is_accepted_and_broken_down(builder: BundleBuilder) -> None:
    """MB-057: also where some cases have none."""
    for name, tier in (("1", "test"), ("2", "far_ood"), ("3", "scanner B, 2019")):
        builder.case(name, box(), box(), tier=tier)
    untiered = builder.case("4", box(), None)
    del builder.manifest["per_case"][untiered]["tier"]
    document = score(builder)
    assert set(document["aggregates"]["by_tier"]) == {"test", "far_ood", "scanner B, 2019"}
    assert document["headline"]["value"] == 0.75
    assert document["cases"][3]["tier"] is None


def test_the_headline_is_the_aggregate_that_it_names_value_for_value(builder: BundleBuilder) -> None:
    """MB-079, MB-094, MB-095."""
    remapped(builder, {"DS_A": {1: 1, 2: 2}})
    builder.case("001", corners(1, 2), corners(1, 2), tier="a")
    builder.case("002", corners(1, 2), corners(1), tier="b")
    builder.case("003", corners(1, 2), corners(2, 1), tier="b")
    for region in ("macro_avg", "r1", "r2"):
        for metric in ("dice", "hd95"):
            builder.spec["aggregation"]["headline"] = {"region": region, "metric": metric}
            document = score(builder)
            table = document["aggregates"]
            cell = (table["macro_avg"] if region == "macro_avg" else table["regions"][region])[metric]
            head = document["headline"]
            assert all(head[key] == cell[key] for key in ("value", "n", "ci", "reason"))
            if region != "macro_avg":
                builder.spec["aggregation"]["headline"]["tier"] = "b"
                document = score(builder)
                cell = document["aggregates"]["by_tier"]["b"][region][metric]
                assert all(document["headline"][key] == cell[key] for key in ("value", "n", "ci", "reason"))


def test_a_threshold_below_one_half_pairs_objects_one_to_one(tmp_path: Path) -> None:
    """MB-085: both halves of an object pass 0.3, and only one of them may be its match."""
    builder = instance_builder(tmp_path, iou_threshold=0.3)
    reference, prediction = np.zeros((8, 8), np.uint16), np.zeros((8, 8), np.uint16)
    reference[1:5, 1:5], prediction[1:3, 1:5], prediction[3:5, 1:5] = 1, 5, 9
    case = builder.case("001", reference, prediction)
    document = score(builder)
    row = document["cases"][0]["regions"]["nucleus"]
    assert (row["tp"], row["fp"], row["fn"]) == (1, 1, 0)
    assert value_of(document, case, "nucleus", "pq") == pytest.approx(0.5 / 1.5)
    assert document["effective"]["iou_threshold"] == 0.3


def test_the_format_note_is_shown_by_bundle_show(builder: BundleBuilder) -> None:
    """MB-032, MB-099."""
    builder.spec["prediction_format"]["note"] = "Same <grid> as the input."
    builder.task["task"]["description"] = "What is measured & how."
    builder.write()
    text = CliRunner().invoke(app, ["bundle", "show", str(builder.bundle)]).output
    document = json.loads(CliRunner().invoke(app, ["bundle", "show", str(builder.bundle), "--json"]).stdout)
    for shown in ("Same <grid> as the input.", "What is measured & how.", "Demo", "CT", "none"):
        assert shown in text
        assert shown in json.dumps(document)


# Files of predictions.


def write_array(path: Path, array: np.ndarray) -> None:
    """In the format that the suffix names."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.name.endswith((".nii", ".nii.gz")):
        write_nifti(path, array)
    elif path.suffix == ".png":
        Image.fromarray(array).save(path)
    elif path.suffix in (".tif", ".tiff"):
        tifffile.imwrite(path, array, photometric="minisblack")
    elif path.suffix == ".npy":
        np.save(path, array)
    elif path.suffix == ".npz":
        np.savez_compressed(path, instances=array)
    else:
        itk = pytest.importorskip("SimpleITK")
        # SimpleITK takes (Z, Y, X) arrays; LPS, so that both sides state the same grid.
        image = itk.GetImageFromArray(array.transpose())
        image.SetDirection((-1, 0, 0, 0, -1, 0, 0, 0, 1))
        itk.WriteImage(image, str(path))


@pytest.mark.parametrize(
    ("task_type", "kind", "suffix"),
    [
        ("seg", "nifti", ".nii.gz"),
        ("seg", "nifti", ".nii"),
        ("seg", "nrrd", ".nrrd"),
        ("seg", "nrrd", ".mha"),
        ("instance_seg_2d", "instance_mask2d", ".png"),
        ("instance_seg_2d", "instance_mask2d", ".tif"),
        ("instance_seg_2d", "instance_mask2d", ".tiff"),
        ("instance_seg_2d", "instance_mask2d", ".npy"),
        ("instance_seg_3d", "instance_mask3d", ".nii.gz"),
        ("instance_seg_3d", "instance_mask3d", ".tif"),
        ("instance_seg_3d", "instance_mask3d", ".npy"),
        ("instance_seg_3d", "instance_mask3d", ".npz"),
    ],
)
def test_each_suffix_of_each_prediction_type_is_read(
    task_type: str, kind: str, suffix: str, tmp_path: Path
) -> None:
    """MB-096, MB-111: and each implemented task type scores."""
    if task_type == "seg":
        builder, reference = BundleBuilder(tmp_path), box()
        builder.spec["prediction_format"]["type"] = kind
    else:
        builder = instance_builder(tmp_path, task_type=task_type, prediction_format={"type": kind})
        reference = box((8, 7) if task_type.endswith("2d") else (8, 7, 6), label=300, at=1, size=3)
    case = builder.case("001", reference, None)
    write_array(builder.predictions / f"{case}{suffix}", reference)
    document = score(builder)
    assert (document["headline"]["value"], document["extra"], document["invalid"]) == (1.0, [], [])


def test_a_file_of_another_type_is_extra_and_the_case_is_missing(builder: BundleBuilder) -> None:
    """MB-096."""
    builder.case("001", box(), box())
    case = builder.case("002", box(), None)
    write_array(builder.predictions / f"{case}.npy", box())
    document = score(builder)
    assert (document["missing"], document["extra"]) == ([case], [f"{case}.npy"])


@pytest.mark.parametrize(
    ("task_type", "kind"),
    [
        ("seg", "instance_mask2d"),
        ("instance_seg_2d", "nifti"),
        ("instance_seg_2d", "instance_mask3d"),
        ("instance_seg_3d", "instance_mask2d"),
        ("seg", "dicom"),
    ],
)
def test_a_prediction_type_of_another_task_type_is_refused(task_type: str, kind: str, tmp_path: Path) -> None:
    """MB-096."""
    builder = BundleBuilder(tmp_path) if task_type == "seg" else instance_builder(tmp_path)
    builder.spec["prediction_format"]["type"] = kind
    builder.spec["task_type"] = task_type
    builder.case("001", box(), box())
    with pytest.raises(IssuesError, match="prediction type"):
        score(builder)


# The page's trimmed specs, as they are printed there.

THORACIC_TASK = """\
# benchmarks/thoracic_lesion_ct/task.yaml — trimmed
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
THORACIC_SPEC = """\
# benchmarks/thoracic_lesion_ct/eval_spec.yaml — semantic seg, task_type
# absent (implicitly "seg")
mode: 3d_volumetric
segmentation_mode: multi_class
eval_regions:
  tumor_nodule: [1]
  infection: [2]
partial_label: true
main_region: macro_avg
metrics: [dice, hd95]
"""
NUCLEUS_SPEC = """\
# benchmarks/nucleus_instance_2d/eval_spec.yaml — instance seg, task_type
# explicit
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


def score_texts(builder: BundleBuilder, name: str, texts: dict[str, str]) -> dict[str, Any]:
    """Score with the YAML files exactly as given, in a folder of that name; the check finds no error."""
    builder.manifest["task"] = name
    builder.write()
    folder = builder.bundle.rename(builder.root / name)
    (folder / "task.yaml").unlink()
    for file, text in texts.items():
        (folder / file).write_text(text)
    issues = checks.check(Bundle(folder))
    assert [issue for issue in issues if str(issue).startswith("error")] == []
    return score_predictions(folder, builder.predictions, builder.data).document


def test_the_pages_thoracic_files_score_as_printed_with_stated_defaults(builder: BundleBuilder) -> None:
    """MB-046, MB-072, MB-100, reading A 9."""
    first, second = "NSCLC_Radiomics_Interobserver1", "MIDRC_RICORD_1a"
    builder.case("1", corners(1), corners(1), dataset=first, patient_uid="p")
    builder.case("2", corners(1), corners(2), dataset=first, patient_uid="p")
    builder.case("3", corners(1, 2, 3, 4, 5)[:, :, :6], corners(2, 2, 2)[:, :, :6], dataset=second)
    document = score_texts(
        builder, "thoracic_lesion_ct", {"task.yaml": THORACIC_TASK, "eval_spec.yaml": THORACIC_SPEC}
    )
    assert resolve_task_type(yaml.safe_load(THORACIC_SPEC)) == document["task_type"] == "seg"
    regions = document["aggregates"]
    head = document["headline"]
    assert (head["region"], head["metric"], head["tier"]) == ("macro_avg", "dice", None)
    # The unit is the case: the two scans of one patient count as two.
    assert (head["value"], head["n"], head["n_required"]) == (0.75, 3, 3)
    assert regions["macro_avg"]["hd95"]["value"] == pytest.approx((192**0.5 / 2 + 0) / 2)
    rows = {row["case_id"]: row for row in document["cases"]}
    assert rows[f"{first}/1"]["regions"]["infection"]["dice"]["outcome"] == "not_scored:partial_label"
    assert rows[f"{second}/3"]["unlisted_voxels"] == 8
    assert set(document["effective"]["defaults_used"]) == {
        "task_type=seg",
        "hd95.percentile=95.0",
        "hd95.spacing=header",
        "hd95.unit=mm",
        "hd95.method=directed_max",
        "empty_structure.dice.gt_empty_pred_empty=1.0",
        "empty_structure.dice.gt_empty_pred_nonempty=0.0",
        "empty_structure.dice.gt_nonempty_pred_empty=0.0",
        "empty_structure.hd95.gt_empty_pred_empty=0.0",
        "empty_structure.hd95.gt_empty_pred_nonempty=grid diagonal",
        "empty_structure.hd95.gt_nonempty_pred_empty=grid diagonal",
        "aggregation.unit=case",
        "aggregation.reduce=mean",
        "aggregation.headline.region=macro_avg",
        "aggregation.headline.metric=dice",
        "prediction_format.label_space=[0, 1, 2]",
        "prediction_format.type=nifti",
        "prediction_format.coordinate_space=input_volume_grid",
    }


def test_the_pages_nucleus_spec_scores_as_printed_with_stated_defaults(tmp_path: Path) -> None:
    """MB-100, reading A 9: without a task.yaml, too."""
    builder = instance_builder(tmp_path)
    reference = np.zeros((12, 12), np.uint16)
    reference[1:4, 1:4], reference[6:9, 6:9] = 7, 1000
    builder.case("1", reference, np.where(reference == 7, 2, 0).astype(np.uint16), patient_uid="p")
    builder.case("2", reference, reference, patient_uid="p")
    builder.case("3", reference * 0, reference * 0)
    document = score_texts(builder, "nucleus_instance_2d", {"eval_spec.yaml": NUCLEUS_SPEC})
    head = document["headline"]
    assert (head["region"], head["metric"]) == ("nucleus", "f1")
    assert (head["value"], head["n"]) == (pytest.approx((2 / 3 + 1) / 2), 2)
    defaults = document["effective"]["defaults_used"]
    assert "prediction_format.type=instance_mask2d" in defaults
    assert "match_rule=gt" in defaults
    assert "aggregation.unit=case" in defaults
    assert not any(default.startswith(("task_type", "iou_threshold")) for default in defaults)
    for metric in ("f1", "aji", "pq"):
        assert f"empty_structure.{metric}.gt_empty_pred_empty=not scored" in defaults


# What bundles share.


def test_every_metric_says_what_it_is_and_where_it_comes_from() -> None:
    """MB-115: the metrics are public functions, and every adapter's metric is one of them."""
    from medotter_bench import metrics
    from medotter_bench.adapters import registry

    used = {metric for name in registry.names() for metric in registry.get(name).metrics}
    assert used == set(METRICS)
    for name in METRICS:
        text = getattr(metrics, name).__doc__ or ""
        assert "Source:" in text
        assert METRICS[name].description


def test_the_dice_of_a_result_is_the_public_functions_number(builder: BundleBuilder) -> None:
    """MB-115: one definition for scoring and for whoever calls it."""
    from medotter_bench.metrics import dice, hd95

    case = builder.case("001", box(), box(at=3), spacing=(0.8, 0.8, 2.5))
    document = score(builder)
    reference, prediction = (
        np.asarray(nib.load(path).dataobj) == 1
        for path in (builder.data / f"{case}_seg.nii.gz", builder.predictions / f"{case}.nii.gz")
    )
    assert value_of(document, case, "lesion", "dice") == dice(reference, prediction)
    assert value_of(document, case, "lesion", "hd95") == hd95(reference, prediction, spacing=(0.8, 0.8, 2.5))
