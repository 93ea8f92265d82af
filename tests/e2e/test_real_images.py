"""Real images through the whole way, against numbers from plain scipy and from sets of pixels.

The images are shared material beside the repository; the tests skip where it is not. The twins share nothing
with the package: they read the files with nibabel and tifffile and compute from the definitions.
"""

from __future__ import annotations

import itertools
import json
import math
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
import tifffile
from scipy import ndimage

from bundle_builders import BundleBuilder, cell_of, instance_builder
from medomni.core import contracts
from medotter_bench.engine import score_predictions

EXACT = {"rel": 1e-9, "abs": 1e-9}
CT = {
    "spleen": [1],
    "kidneys": [2, 3],
    "liver": [5],
    "adrenal_glands": [8, 9],
    "lung_middle_lobe_right": [13],
    "urinary_bladder": [21],
    "colon": [20],
    "aorta": [52],
    "abdomen": [1, 2, 3, 4, 5, 6, 7],
}


@pytest.fixture
def imaging(shared: Path) -> Path:
    return shared / "data" / "imaging"


# Dice and hd95 a second time: scipy's own distance transform, erosion and percentile.


def slow_dice(a: Any, b: Any) -> float:
    return 2 * float((a & b).sum()) / float(a.sum() + b.sum())


def slow_hd95(a: Any, b: Any, spacing: tuple[float, ...]) -> float:
    surfaces = [m & ~ndimage.binary_erosion(m, ndimage.generate_binary_structure(3, 1)) for m in (a, b)]
    directed = []
    for here, there in (surfaces, surfaces[::-1]):
        distance = ndimage.distance_transform_edt(~there, sampling=spacing)
        directed.append(float(np.percentile(distance[here], 95)))
    return max(directed)


def semantic_bundle(root: Path, name: str, image: Path, reference: Path, regions: dict[str, Any]) -> Any:
    """A bundle over one real case, whose files are copies."""
    builder = BundleBuilder(root)
    ids = sorted({i for group in regions.values() for i in group})
    builder.task["canonical_labels"] = builder.spec["eval_regions"] = regions
    builder.task["main_region"] = builder.spec["main_region"] = "macro_avg"
    builder.task["label_remap"] = {name: {i: i for i in ids}}
    builder.spec["aggregation"]["headline"] = {"region": "macro_avg", "metric": "dice"}
    builder.spec["prediction_format"]["label_space"] = [0, *ids]
    del builder.spec["empty_structure"]
    paths = {"image": f"{name}/image.nii.gz", "seg": f"{name}/seg.nii.gz"}
    for key, source in (("image", image), ("seg", reference)):
        (builder.data / name).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, builder.data / paths[key])
    meta = {"dataset": name, "split": "test", "tier": "test", "patient_uid": "1", **paths}
    builder.manifest["test"].append(f"{name}/1")
    builder.manifest["per_case"][f"{name}/1"] = meta
    (builder.predictions / name).mkdir(parents=True)
    return builder.write()


def scored(builder: BundleBuilder) -> dict[str, Any]:
    builder.write()
    document = score_predictions(builder.bundle, builder.predictions, builder.data).document
    assert contracts.validate("results", document) == []
    assert (document["missing"], document["invalid"], document["extra"]) == ([], [], [])
    return document


def assert_semantic(
    document: dict[str, Any], case_id: str, reference: Any, prediction: Any, spacing: tuple[float, ...]
) -> None:
    """Every region of the case, and the macro average over them, from the two arrays."""
    dices = []
    rows = {row["case_id"]: row for row in document["cases"]}
    for name, ids in document["effective"]["regions"].items():
        a, b = np.isin(reference, ids), np.isin(prediction, ids)
        row = rows[case_id]["regions"][name]
        assert (row["n_reference"], row["n_prediction"]) == (int(a.sum()), int(b.sum()))
        dice, hd95 = (cell_of(document, case_id, name, metric) for metric in ("dice", "hd95"))
        if a.any() and b.any():
            assert dice == {"value": pytest.approx(slow_dice(a, b), **EXACT), "outcome": "ok"}
            assert hd95 == {"value": pytest.approx(slow_hd95(a, b, spacing), **EXACT), "outcome": "ok"}
        elif a.any() or b.any():
            diagonal = math.sqrt(sum((n * s) ** 2 for n, s in zip(a.shape, spacing, strict=True)))
            outcome = f"penalty:gt_{'non' * bool(a.any())}empty_pred_{'non' * bool(b.any())}empty"
            assert dice == {"value": 0.0, "outcome": outcome}
            assert hd95 == {"value": pytest.approx(diagonal, **EXACT), "outcome": outcome}
        else:
            assert (dice["value"], hd95["value"]) == (1.0, 0.0)
        dices.append(dice["value"])
    assert document["headline"]["value"] == pytest.approx(sum(dices) / len(dices), **EXACT)


def test_ct_organs_of_two_models_score_as_plain_scipy_says(tmp_path: Path, imaging: Path) -> None:
    """With a structure of one voxel that the second model misses, and one that neither has."""
    folder = imaging / "ct_totalsegmentator"
    files = [folder / name for name in ("example_seg.nii.gz", "example_seg_fast.nii.gz")]
    reference, prediction = (np.asarray(nib.load(path).dataobj) for path in files)
    builder = semantic_bundle(tmp_path, "CT", folder / "example_ct_sm.nii.gz", files[0], CT)
    ids = [i for group in CT.values() for i in group]
    kept = np.where(np.isin(prediction, ids), prediction, 0).astype(np.uint8)
    nib.save(nib.Nifti1Image(kept, nib.load(files[1]).affine), builder.predictions / "CT/1.nii.gz")
    document = scored(builder)
    assert_semantic(document, "CT/1", reference, prediction, (3.0, 3.0, 3.0))
    outcomes = {name: cell_of(document, "CT/1", name, "dice")["outcome"] for name in CT}
    assert outcomes["lung_middle_lobe_right"] == "penalty:gt_nonempty_pred_empty"
    assert outcomes["urinary_bladder"] == "penalty:gt_empty_pred_empty"
    assert document["cases"][0]["unlisted_voxels"] == int((~np.isin(reference, [0, *ids])).sum())


def test_ids_of_organs_outside_the_label_space_make_the_real_prediction_invalid(
    tmp_path: Path, imaging: Path
) -> None:
    folder = imaging / "ct_totalsegmentator"
    reference = folder / "example_seg.nii.gz"
    builder = semantic_bundle(tmp_path, "CT", folder / "example_ct_sm.nii.gz", reference, {"liver": [5]})
    shutil.copyfile(folder / "example_seg_fast.nii.gz", builder.predictions / "CT/1.nii.gz")
    builder.write()
    document = score_predictions(builder.bundle, builder.predictions, builder.data).document
    assert document["invalid"][0]["code"] == "labels-unknown"
    assert document["headline"]["value"] == 0.0


def test_a_prediction_on_the_whole_scan_is_on_another_grid_than_its_part(
    tmp_path: Path, imaging: Path
) -> None:
    folder = imaging / "ct_totalsegmentator"
    reference = folder / "example_seg.nii.gz"
    builder = semantic_bundle(tmp_path, "CT", folder / "example_ct_sm.nii.gz", reference, CT)
    shutil.copyfile(folder / "example_seg_fast_force_split.nii.gz", builder.predictions / "CT/1.nii.gz")
    builder.write()
    document = score_predictions(builder.bundle, builder.predictions, builder.data).document
    assert document["invalid"][0]["code"] == "grid-shape"
    assert "(122, 101, 112)" in document["invalid"][0]["what"]
    assert "(122, 101, 30)" in document["invalid"][0]["what"]


def perturbed(labels: Any) -> Any:
    """Every structure eroded on one side and shifted, one of them lost, one with a far island."""
    moved = np.roll(labels, (2, -1, 1), axis=(0, 1, 2))
    moved = np.where(ndimage.binary_erosion(moved > 0), moved, 0)
    moved[moved == 46] = 0
    moved[2:5, 2:4, 1:3] = 5
    return moved.astype(labels.dtype)


@pytest.mark.parametrize("spacing", [(3.0, 3.0, 3.0), (0.8, 0.8, 2.5)])
def test_mr_organs_with_a_perturbed_prediction_score_as_plain_scipy_says(
    tmp_path: Path, imaging: Path, spacing: tuple[float, ...]
) -> None:
    """On its own affine, which mirrors two axes, and on an anisotropic one."""
    folder = imaging / "mr_totalsegmentator"
    source = nib.load(folder / "example_seg_mr.nii.gz")
    reference = np.asarray(source.dataobj)
    names = {"spleen": [1], "kidneys": [2, 3], "liver": [5], "adrenals": [8, 9], "label_46": [46]}
    names["everything"] = sorted(int(i) for i in np.unique(reference) if i)
    builder = semantic_bundle(
        tmp_path, "MR", folder / "example_mr_sm.nii.gz", folder / "example_seg_mr.nii.gz", names
    )
    affine = source.affine @ np.diag([*(s / 3 for s in spacing), 1.0])
    prediction = perturbed(reference)
    for path, array in (
        (builder.data / "MR/image.nii.gz", reference),
        (builder.data / "MR/seg.nii.gz", reference),
        (builder.predictions / "MR/1.nii.gz", prediction),
    ):
        nib.save(nib.Nifti1Image(array, affine), path)
    document = scored(builder)
    assert_semantic(document, "MR/1", reference, prediction, spacing)
    assert 0.3 < document["headline"]["value"] < 0.95


# Instances a second time: objects as sets of pixels, every pair compared, sums of fractions.


def objects(labels: Any) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for place, name in enumerate(labels.ravel().tolist()):
        if name:
            found.setdefault(name, set()).add(place)
    return found


def slow_instances(reference: Any, prediction: Any) -> dict[str, Any]:
    a, b = objects(reference), objects(prediction)
    shared = {(i, j): len(a[i] & b[j]) for i, j in itertools.product(a, b)}
    iou = {(i, j): Fraction(n, len(a[i]) + len(b[j]) - n) for (i, j), n in shared.items() if n}
    matched = [pair for pair, value in iou.items() if value > Fraction(1, 2)]
    tp, fp, fn = len(matched), len(b) - len(matched), len(a) - len(matched)
    inter = union = 0
    used = set()
    for i, own in a.items():
        partners = [j for j in b if (i, j) in iou]
        if not partners:
            union += len(own)
            continue
        best = max(partners, key=lambda j: (iou[i, j], shared[i, j], -j))
        used.add(best)
        inter += shared[i, best]
        union += len(own | b[best])
    union += sum(len(b[j]) for j in b if j not in used)
    half = Fraction(2 * tp + fp + fn, 2)
    quality = sum((iou[pair] for pair in matched), Fraction(0))
    return {
        "tp": tp,
        "fp": fp,
        "fn": fn,
        "f1": tp / half,
        "pq": quality / half,
        "aji": Fraction(inter, union),
    }


def shifted(labels: Any) -> Any:
    return np.roll(labels, (1, 2), axis=(-2, -1))


def dropped(labels: Any) -> Any:
    ids = np.unique(labels)[1:]
    return np.where(np.isin(labels, ids[::3]), 0, labels)


def merged(labels: Any) -> Any:
    """Each object takes the id of a touching neighbour, where it has one with a smaller id."""
    result = labels.copy()
    for axis in range(labels.ndim):
        first, second = (np.moveaxis(labels, axis, 0)[s] for s in (slice(None, -1), slice(1, None)))
        touching = (first != second) & (first > 0) & (second > 0)
        for one, other in set(zip(first[touching].tolist(), second[touching].tolist(), strict=True)):
            result[result == max(one, other)] = min(one, other)
    return result


def split(labels: Any) -> Any:
    """Each third object is cut in two along the last axis, its right part with an id of its own."""
    result = labels.astype(np.uint16)
    for name in np.unique(labels)[1::3]:
        columns = np.nonzero(labels == name)[-1]
        right = (labels == name) & (np.arange(labels.shape[-1]) > columns.mean())
        result[right] = 60_000 - name
    return result


def renamed(labels: Any) -> Any:
    names = np.unique(labels)
    return (65_535 - np.searchsorted(names, labels) * 300).astype(np.uint16) * (labels > 0)


CHANGES: dict[str, Callable[[Any], Any]] = {
    "shift": shifted,
    "drop": dropped,
    "merge": merged,
    "split": split,
    "rename": renamed,
    "all": lambda labels: shifted(split(merged(dropped(labels)))),
}


@pytest.mark.parametrize(
    ("file", "image", "task_type"),
    [
        ("nucleus2d_stardist/mask2d.tif", "nucleus2d_stardist/img2d.tif", "instance_seg_2d"),
        ("nucleus3d_stardist/mask3d.tif", "nucleus3d_stardist/img3d.tif", "instance_seg_3d"),
    ],
)
def test_real_nuclei_with_each_kind_of_error_score_as_sets_of_pixels_say(
    tmp_path: Path, imaging: Path, file: str, image: str, task_type: str
) -> None:
    kind = {"instance_seg_2d": "instance_mask2d", "instance_seg_3d": "instance_mask3d"}[task_type]
    builder = instance_builder(tmp_path, task_type=task_type, prediction_format={"type": kind})
    reference = tifffile.imread(imaging / file)
    expected = {}
    for name, change in CHANGES.items():
        prediction = change(reference)
        case = builder.case(name, reference, prediction.astype(np.uint16))
        shutil.copyfile(imaging / image, builder.data / f"{case}_img.tif")
        shutil.copyfile(imaging / file, builder.data / f"{case}_seg.tif")
        expected[case] = slow_instances(reference, prediction)
    document = scored(builder)
    rows = {row["case_id"]: row["regions"]["nucleus"] for row in document["cases"]}
    for case, twin in expected.items():
        assert [rows[case][key] for key in ("tp", "fp", "fn")] == [twin[key] for key in ("tp", "fp", "fn")]
        for metric in ("f1", "pq", "aji"):
            assert rows[case][metric]["value"] == pytest.approx(float(twin[metric]), **EXACT), (case, metric)
    assert rows["DS_A/rename"]["pq"]["value"] == 1.0
    assert all(rows[case]["pq"]["value"] < 1 for case in rows if case != "DS_A/rename")
    assert rows["DS_A/drop"]["fn"] > 0
    assert rows["DS_A/split"]["fp"] > 0
    mean = math.fsum(float(twin["f1"]) for twin in expected.values()) / len(expected)
    assert document["headline"]["value"] == pytest.approx(mean, **EXACT)
    assert json.loads(json.dumps(document)) == document
