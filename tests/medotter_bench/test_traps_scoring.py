"""Known traps of scoring, each through whole bundles: files in, results out.

Numbers of traps are those of the table in `tests/traps_shown.py`. What readers and metrics do alone stands in
`inference/test_traps_loading.py` and `metrics/test_traps_metrics.py`.
"""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
import tifffile
from PIL import Image

from bundle_builders import BundleBuilder, box, cell_of, instance_builder, value_of, write_nifti, write_tiff
from medomni.core.errors import MedomniError
from medomni.core.issues import IssuesError
from medotter_bench.engine import score_predictions

SOURCE = Path(__file__).resolve().parents[2] / "src"
NOTHING = np.zeros((8, 8, 8), np.uint8)


def score(builder: BundleBuilder) -> dict[str, Any]:
    builder.write()
    return score_predictions(builder.bundle, builder.predictions, builder.data).document


@pytest.fixture
def builder(tmp_path: Path) -> BundleBuilder:
    return BundleBuilder(tmp_path)


# Empty structures and aggregation.


def test_trap_6_a_distance_above_the_penalty_is_neither_clipped_nor_hidden(builder: BundleBuilder) -> None:
    """A penalty below the grid's diagonal lets a miss cost less; the numbers stay what they are."""
    for state in ("gt_empty_pred_nonempty", "gt_nonempty_pred_empty"):
        builder.spec["empty_structure"]["hd95"][state] = 3.0
    far = np.zeros((8, 8, 8), np.uint8)
    far[7, 7, 7] = 1
    near = np.zeros((8, 8, 8), np.uint8)
    near[0, 0, 0] = 1
    bad, miss = builder.case("001", near, far), builder.case("002", near, NOTHING)
    document = score(builder)
    assert value_of(document, bad, "lesion", "hd95") == pytest.approx(147**0.5)
    assert value_of(document, miss, "lesion", "hd95") == 3.0


def test_trap_7_the_mean_runs_over_the_declared_cases_and_every_reason_is_counted(
    builder: BundleBuilder,
) -> None:
    cases = [("1", box(), box()), ("2", box(), NOTHING), ("3", NOTHING, NOTHING), ("4", box(), None)]
    for name, reference, prediction in cases:
        builder.case(name, reference, prediction)
    document = score(builder)
    cell = document["aggregates"]["regions"]["lesion"]["dice"]
    assert (cell["value"], cell["n"]) == (0.5, 4)
    outcomes = [row["regions"]["lesion"]["dice"]["outcome"] for row in document["cases"]]
    assert outcomes == [
        "ok",
        "penalty:gt_nonempty_pred_empty",
        "penalty:gt_empty_pred_empty",
        "penalty:missing",
    ]


def test_trap_8_an_unlabelled_region_is_neither_missed_nor_a_false_positive(builder: BundleBuilder) -> None:
    regions = {"a": [1], "b": [2]}
    builder.task |= {"canonical_labels": regions, "label_remap": {"DS_A": {1: 1}, "DS_B": {1: 1, 2: 2}}}
    builder.task["main_region"] = builder.spec["main_region"] = "b"
    builder.spec |= {"eval_regions": regions, "partial_label": True}
    builder.spec["aggregation"]["headline"]["region"] = "b"
    builder.spec["prediction_format"]["label_space"] = [0, 1, 2]
    both = box()
    both[2:4, 2:4, 2:4] = 2
    partial = builder.case("1", box(), both)
    builder.case("2", both, both, dataset="DS_B")
    document = score(builder)
    assert cell_of(document, partial, "b", "dice") == {"value": None, "outcome": "not_scored:partial_label"}
    assert (document["headline"]["value"], document["headline"]["n"]) == (1.0, 1)


# Distances.


def test_traps_9_and_10_spacing_of_the_file_reaches_the_axis_that_it_belongs_to(
    builder: BundleBuilder,
) -> None:
    reference = np.zeros((9, 9, 9), np.uint8)
    reference[4, 4, 4] = 1
    spacing = (0.5, 1.5, 4.0)
    for axis in range(3):
        builder.case(str(axis), reference, np.roll(reference, 2, axis=axis), spacing=spacing)
    document = score(builder)
    values = [row["regions"]["lesion"]["hd95"]["value"] for row in document["cases"]]
    assert values == [1.0, 3.0, 8.0]


def test_trap_11_no_distance_of_itk_is_used_anywhere() -> None:
    """Its filter is wrong for anisotropic spacing: only the image reader is used of SimpleITK."""
    texts = {path: path.read_text() for path in SOURCE.rglob("*.py")}
    assert not [path for path, text in texts.items() if "Hausdorff" in text and "SimpleITK" in text]
    assert not [path for path, text in texts.items() if "HausdorffDistanceImageFilter" in text]


def test_trap_12_the_convention_is_part_of_the_result(builder: BundleBuilder) -> None:
    reference, prediction = box((12, 12, 12), size=4), box((12, 12, 12), size=4)
    prediction[11, 11, 9:12] = 1
    case = builder.case("1", reference, prediction)
    values = {}
    for method in ("directed_max", "pooled"):
        builder.spec["hd95"]["method"] = method
        document = score(builder)
        assert document["effective"]["hd95"]["method"] == method
        values[method] = value_of(document, case, "lesion", "hd95")
    assert values["pooled"] < values["directed_max"]


def test_trap_17_a_volume_of_one_slice_scores_as_the_plane_that_it_is(builder: BundleBuilder) -> None:
    """In 3D every voxel of a slice would be surface, and the moved edge fewer than 5% of them."""
    reference = box((30, 30), size=24)[..., None]
    case = builder.case("1", reference, np.roll(reference, 1, axis=1), spacing=(0.5, 2.0, 7.0))
    assert value_of(score(builder), case, "lesion", "hd95") == 2.0


@pytest.mark.parametrize("percentile", [0, None, False, "", 0.95, 101, float("nan")])
def test_trap_18_a_percentile_of_nothing_is_refused_and_never_the_maximum(
    builder: BundleBuilder, percentile: Any
) -> None:
    builder.spec["hd95"]["percentile"] = percentile
    builder.case("1", box(), box())
    with pytest.raises(MedomniError, match=r"hd95\.percentile"):
        score(builder)


# What a NIfTI may hold.


def header_of(array: np.ndarray, dtype: Any, **fields: Any) -> bytes:
    """A NIfTI-1 file of the stored values, with header fields overwritten."""
    image = nib.Nifti1Image(array.astype(dtype), np.eye(4), dtype=dtype)
    image.set_sform(np.eye(4), 1)
    image.set_qform(np.eye(4), 1)
    raw = bytearray(image.to_bytes())
    for name, value in fields.items():
        offset, form = nib.Nifti1Header.template_dtype.fields[name][1], "<f"
        raw[offset : offset + 4] = struct.pack(form, value)
    return bytes(raw)


def float_behind_uint8(path: Path, array: np.ndarray) -> None:
    """What nibabel writes for float values and a header of 8 bits: a slope of 1/255 of the range."""
    header = nib.Nifti1Header()
    header.set_data_dtype(np.uint8)
    image = nib.Nifti1Image(array.astype(np.float64) + 1e-9, np.eye(4), header)
    nib.save(image, path)


def big_endian(path: Path, array: np.ndarray) -> None:
    image = nib.Nifti1Image(array.astype(">i2"), np.eye(4), nib.Nifti1Header(endianness=">"))
    nib.save(image, path)


def with_bytes(change: Any) -> Any:
    """A writer that changes the bytes of the plain file before they are compressed."""

    def write(path: Path, array: np.ndarray) -> None:
        path.write_bytes(gzip.compress(change(array), mtime=0))

    return write


def shifted_by(amount: float) -> Any:
    def write(path: Path, array: np.ndarray) -> None:
        affine = np.eye(4)
        affine[0, 3] = amount
        nib.save(nib.Nifti1Image(array, affine), path)

    return write


RIGHT = {
    "21 float behind uint8": float_behind_uint8,
    "22 slope 0": with_bytes(lambda a: header_of(a, np.uint8, scl_slope=0.0)),
    "22 slope nan": with_bytes(lambda a: header_of(a, np.uint8, scl_slope=float("nan"))),
    "23 almost whole": with_bytes(lambda a: header_of(a * 0.9995, np.float32)),
    "26 int64": with_bytes(lambda a: header_of(a, np.int64)),
    "26 uint64": with_bytes(lambda a: header_of(a, np.uint64)),
    "27 big-endian": big_endian,
    "29 rounding in the affine": shifted_by(2e-4),
    "33 trailing axis": lambda path, a: write_nifti(path, a[..., None]),
    "38 two members": lambda path, a: path.write_bytes(
        gzip.compress(header_of(a, np.uint8)[:600]) + gzip.compress(header_of(a, np.uint8)[600:])
    ),
    "39 zero padding": lambda path, a: path.write_bytes(gzip.compress(header_of(a, np.uint8)) + b"\0" * 512),
    "42 plain under .gz": lambda path, a: path.write_bytes(header_of(a, np.uint8)),
}


@pytest.mark.parametrize("how", RIGHT)
def test_traps_of_files_an_odd_but_right_file_scores_in_full(how: str, builder: BundleBuilder) -> None:
    """Traps 21 to 23, 26, 27, 29, 33, 38, 39, 42."""
    case = builder.case("1", box(), None)
    path = builder.predictions / f"{case}.nii.gz"
    path.parent.mkdir(parents=True)
    RIGHT[how](path, box())
    document = score(builder)
    assert document["invalid"] == []
    assert (value_of(document, case, "lesion", "dice"), value_of(document, case, "lesion", "hd95")) == (1, 0)


def oblique(path: Path, array: np.ndarray) -> None:
    image = nib.Nifti1Image(array, np.eye(4))
    image.set_sform(np.eye(4), 1)
    image.set_qform(np.diag([1, -1, -1, 1]), 1)
    nib.save(image, path)


WRONG: dict[str, tuple[Any, str]] = {
    "24 probabilities": (with_bytes(lambda a: header_of(a * 0.7, np.float32)), "labels-not-integer"),
    "24 nan": (with_bytes(lambda a: header_of(np.where(a, np.nan, 0.0), np.float32)), "labels-not-finite"),
    "25 native id": (lambda path, a: write_nifti(path, a * 4), "labels-unknown"),
    "28 mirrored": (
        lambda path, a: nib.save(nib.Nifti1Image(a, np.diag([-1.0, -1, 1, 1])), path),
        "grid-affine",
    ),
    "28 other spacing": (lambda path, a: write_nifti(path, a, spacing=(1, 1, 1.1)), "grid-affine"),
    "30 forms disagree": (oblique, "geometry-contradiction"),
    "32 spacing 0": (
        with_bytes(lambda a: header_of(a, np.uint8, srow_x=0.0)),
        "geometry-spacing",
    ),
    "33 four axes": (lambda path, a: write_nifti(path, np.stack([a, a], axis=-1)), "volume-axes"),
    "33 leading axis": (lambda path, a: write_nifti(path, a[:1]), "grid-shape"),
    "35 other shape": (lambda path, a: write_nifti(path, a[:, :, ::2]), "grid-shape"),
    "37 truncated": (
        lambda path, a: path.write_bytes(gzip.compress(header_of(a, np.uint8))[:-20]),
        "volume-",
    ),
    "37 checksum": (
        lambda path, a: path.write_bytes(gzip.compress(header_of(a, np.uint8))[:-8] + b"\0" * 8),
        "volume-",
    ),
    "39 junk": (lambda path, a: path.write_bytes(gzip.compress(header_of(a, np.uint8)) + b"junk"), "volume-"),
    "40 bomb": (
        lambda path, a: path.write_bytes(gzip.compress(header_of(a, np.uint8) + b"\0" * 50_000_000, 1)),
        "volume-",
    ),
    "empty file": (lambda path, a: path.write_bytes(b""), "volume-truncated"),
    "a folder": (lambda path, a: path.mkdir(), "prediction-missing"),
}


@pytest.mark.parametrize("how", WRONG)
def test_traps_of_files_a_wrong_file_is_invalid_takes_the_penalty_and_stops_nothing(
    how: str, builder: BundleBuilder
) -> None:
    """Traps 24, 25, 28, 30, 32, 33, 35, 37, 39, 40: the run goes on, and the case stays in the mean."""
    write, code = WRONG[how]
    builder.case("0", box(), box())
    case = builder.case("1", box(), None)
    path = builder.predictions / f"{case}.nii.gz"
    write(path, box())
    document = score(builder)
    row = document["cases"][1]
    assert row["status"] == ("missing" if code == "prediction-missing" else "invalid")
    assert row["reason"]["code"].startswith(code)
    assert cell_of(document, case, "lesion", "hd95") == {"value": 373.13, "outcome": "penalty:missing"}
    assert document["headline"]["value"] == 0.5


def test_trap_35_both_shapes_are_told(builder: BundleBuilder) -> None:
    builder.case("1", box(), box((8, 8, 9)))
    told = score(builder)["invalid"][0]["what"]
    assert "(8, 8, 9)" in told
    assert "(8, 8, 8)" in told


def test_trap_41_a_header_bomb_is_refused_from_its_header(builder: BundleBuilder) -> None:
    case = builder.case("1", box(), None)
    raw = bytearray(header_of(box(), np.uint8))
    raw[40:56] = struct.pack("<8h", 7, *[32767] * 7)
    path = builder.predictions / f"{case}.nii.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(bytes(raw)))
    assert score(builder)["invalid"][0]["code"] in ("volume-axes", "volume-too-large", "grid-shape")


def test_trap_36_a_prediction_behind_an_extension_is_found_where_vox_offset_says(
    builder: BundleBuilder,
) -> None:
    case = builder.case("1", box(), None)
    image = nib.Nifti1Image(box(), np.eye(4))
    image.header.extensions.append(nib.nifti1.Nifti1Extension("comment", b"written by a tool" * 9))
    path = builder.predictions / f"{case}.nii.gz"
    path.parent.mkdir(parents=True)
    nib.save(image, path)
    assert value_of(score(builder), case, "lesion", "dice") == 1.0


# Names.


@pytest.mark.parametrize(
    "name",
    ["ds_a/1.nii.gz", "DS_A/1.NII.GZ", "__MACOSX/DS_A/1.nii.gz", "pred/DS_A/1.nii.gz", "DS_A/1.nii.gz.gz"],
)
def test_trap_43_a_name_that_only_resembles_the_case_is_extra_and_never_taken(
    builder: BundleBuilder, name: str
) -> None:
    builder.case("0", box(), box())
    case = builder.case("1", box(), None)
    path = builder.predictions / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(header_of(box(), np.uint8)))
    document = score(builder)
    assert document["missing"] == [case]
    assert document["extra"] == [name]


def test_trap_43_case_ids_that_differ_in_case_alone_are_refused(builder: BundleBuilder) -> None:
    builder.case("a", box(), box())
    builder.case("A", box(), box())
    with pytest.raises(IssuesError, match="equal but for upper and lower case"):
        score(builder)


# Instances.


def nuclei(builder: BundleBuilder, write: Any, suffix: str) -> dict[str, Any]:
    """Scores two objects against a prediction that `write` makes of them."""
    reference = np.zeros((12, 12), np.uint16)
    reference[1:4, 1:4], reference[6:10, 6:10] = 1, 300
    case = builder.case("1", reference, None)
    path = builder.predictions / f"{case}{suffix}"
    path.parent.mkdir(parents=True)
    write(path, reference)
    return score(builder)


def test_trap_44_ids_cut_to_8_bits_lose_their_object_and_never_join_another(tmp_path: Path) -> None:
    """256 becomes 0 in 8 bits: a lost object, not a match."""
    builder = instance_builder(tmp_path)
    reference = np.zeros((12, 12), np.uint16)
    reference[1:4, 1:4], reference[6:10, 6:10] = 1, 256
    case = builder.case("1", reference, reference.astype(np.uint8))
    document = score(builder)
    row = document["cases"][0]["regions"]["nucleus"]
    assert (row["tp"], row["fp"], row["fn"]) == (1, 0, 1)
    assert value_of(document, case, "nucleus", "f1") == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("trap", "suffix", "write"),
    [
        ("45: 16 bits", ".png", lambda path, a: Image.fromarray(a).save(path)),
        (
            "46: grey as colours",
            ".png",
            lambda path, a: Image.fromarray(np.stack([np.minimum(a, 2)] * 3, -1).astype(np.uint8)).save(path),
        ),
        ("49: gaps", ".tif", lambda path, a: write_tiff(path, np.where(a, a + 7000, 0).astype(np.uint16))),
        ("26: int32", ".tif", lambda path, a: write_tiff(path, a.astype(np.int32) * 100_000)),
        ("44: 64 bits", ".npy", lambda path, a: np.save(path, a.astype(np.uint64) << 40)),
        ("layout", ".npy", lambda path, a: np.save(path, np.asfortranarray(a))),
    ],
)
def test_traps_of_masks_any_lossless_way_of_writing_the_ids_scores_in_full(
    trap: str, suffix: str, write: Any, tmp_path: Path
) -> None:
    """Traps 26, 44 to 46, 49."""
    document = nuclei(instance_builder(tmp_path), write, suffix)
    assert document["invalid"] == [], trap
    assert document["aggregates"]["regions"]["nucleus"]["pq"]["value"] == 1.0


def jpeg_in_tiff(path: Path, array: np.ndarray) -> None:
    tifffile.imwrite(path, array.astype(np.uint8), compression="jpeg", photometric="minisblack")


@pytest.mark.parametrize(
    ("trap", "suffix", "write", "code"),
    [
        (
            "46: ids in colours",
            ".png",
            lambda path, a: Image.fromarray(np.stack([a % 256, a // 256, a * 0], -1).astype(np.uint8)).save(
                path
            ),
            "volume-mode",
        ),
        (
            "47: jpeg",
            ".png",
            lambda path, a: Image.fromarray(a.astype(np.uint8)).save(path, format="JPEG"),
            "volume-lossy",
        ),
        ("47: jpeg in a TIFF", ".tif", jpeg_in_tiff, "volume-lossy"),
        ("24: probabilities", ".npy", lambda path, a: np.save(path, a / 7), "labels-not-integer"),
        ("negative ids", ".npy", lambda path, a: np.save(path, -a.astype(np.int32)), "labels-negative"),
    ],
)
def test_traps_of_masks_what_cannot_hold_ids_is_invalid(
    trap: str, suffix: str, write: Any, code: str, tmp_path: Path
) -> None:
    """Traps 24, 46, 47."""
    document = nuclei(instance_builder(tmp_path), write, suffix)
    assert [entry["code"] for entry in document["invalid"]] == [code], trap
    assert document["headline"]["value"] == 0.0


def test_trap_48_a_mat_file_is_extra_and_its_case_missing(tmp_path: Path) -> None:
    """Not supported, and never guessed at."""
    builder = instance_builder(tmp_path)
    builder.case("0", box((12, 12)), box((12, 12)))
    case = builder.case("1", box((12, 12)), None)
    (builder.predictions / f"{case}.mat").write_bytes(b"MATLAB 5.0 MAT-file" + b" " * 200)
    document = score(builder)
    assert (document["missing"], document["extra"]) == ([case], [f"{case}.mat"])


def test_trap_50_one_id_in_two_places_is_one_object_and_is_counted(tmp_path: Path) -> None:
    builder = instance_builder(tmp_path)
    reference = np.zeros((12, 12), np.uint16)
    reference[1:4, 1:4], reference[6:10, 6:10] = 1, 2
    joined = np.where(reference > 0, 5, 0).astype(np.uint16)
    builder.case("1", reference, joined)
    row = score(builder)["cases"][0]["regions"]["nucleus"]
    assert (row["n_reference"], row["n_prediction"], row["disconnected_prediction"]) == (2, 1, 1)
    assert (row["tp"], row["fp"], row["fn"]) == (1, 0, 1)


def test_trap_52_two_halves_never_both_match_one_object(tmp_path: Path) -> None:
    builder = instance_builder(tmp_path, match_rule="ge")
    reference, prediction = np.zeros((6, 6), np.uint16), np.zeros((6, 6), np.uint16)
    reference[1:5, 1:5], prediction[1:3, 1:5], prediction[3:5, 1:5] = 1, 2, 3
    builder.case("1", reference, prediction)
    row = score(builder)["cases"][0]["regions"]["nucleus"]
    assert (row["tp"], row["fp"], row["fn"]) == (1, 1, 0)


def test_trap_55_objects_on_one_side_only_score_0_for_every_metric(tmp_path: Path) -> None:
    builder = instance_builder(tmp_path)
    empty = np.zeros((12, 12), np.uint16)
    builder.case("1", empty, box((12, 12)))
    builder.case("2", box((12, 12)), empty)
    for row in score(builder)["cases"]:
        assert [row["regions"]["nucleus"][m]["value"] for m in ("f1", "aji", "pq")] == [0.0, 0.0, 0.0]


def test_trap_60_the_unit_decides_the_mean_and_the_counts_to_pool_are_in_the_rows(tmp_path: Path) -> None:
    """Per tile, per patient, and pooled counts are three numbers; the first two are what the spec says."""
    builder = instance_builder(tmp_path)
    builder.spec["aggregation"]["headline"] = {"region": "nucleus", "metric": "f1"}
    few, many = np.zeros((12, 24), np.uint16), np.zeros((12, 24), np.uint16)
    few[1:4, 1:4] = 1
    for i in range(6):
        many[1:4, 4 * i : 4 * i + 3] = i + 1
    builder.case("1", few, few, patient_uid="p")
    builder.case("2", many, np.where(many <= 3, many, 0).astype(np.uint16), patient_uid="p")
    builder.case("3", few, few * 0, patient_uid="q")
    document = score(builder)
    f1 = 2 * 3 / (2 * 3 + 3)
    assert document["headline"]["value"] == pytest.approx((1 + f1 + 0) / 3)
    rows = [row["regions"]["nucleus"] for row in document["cases"]]
    tp, fp, fn = (sum(row[key] for row in rows) for key in ("tp", "fp", "fn"))
    assert (tp, fp, fn) == (4, 0, 4)
    assert 2 * tp / (2 * tp + fp + fn) != pytest.approx(document["headline"]["value"])
    builder.spec["aggregation"]["unit"] = "patient"
    assert score(builder)["headline"]["value"] == pytest.approx(((1 + f1) / 2 + 0) / 2)


def test_trap_61_a_stack_is_scored_as_one_volume(tmp_path: Path) -> None:
    """An object whose id differs from slice to slice is found once at most."""
    builder = instance_builder(
        tmp_path, task_type="instance_seg_3d", prediction_format={"type": "instance_mask3d"}
    )
    reference = np.zeros((6, 8, 8), np.uint16)
    reference[1:5, 2:6, 2:6] = 9
    by_slice = reference + np.arange(6, dtype=np.uint16)[:, None, None] * (reference > 0)
    builder.case("1", reference, by_slice.astype(np.uint16))
    row = score(builder)["cases"][0]["regions"]["nucleus"]
    assert (row["n_reference"], row["n_prediction"], row["tp"]) == (1, 4, 0)


def test_trap_62_background_is_no_region_and_adds_nothing_to_any_mean(tmp_path: Path) -> None:
    builder = instance_builder(tmp_path, eval_regions={"nucleus": [1], "background": [0]})
    builder.case("1", box((12, 12)), box((12, 12)))
    with pytest.raises(IssuesError, match=r"eval_regions\.background"):
        score(builder)


def test_no_result_of_any_trap_holds_nan(builder: BundleBuilder) -> None:
    """Traps 1 to 4: every combination of empty, missing and wrong in one folder."""
    nan = np.full((8, 8, 8), np.nan, np.float32)
    for i, (reference, prediction) in enumerate(
        (r, p) for r in (box(), NOTHING) for p in (box(), NOTHING, None, nan, box(label=7))
    ):
        builder.case(str(i), reference, prediction)
    for row in json.loads(json.dumps(score(builder), allow_nan=False))["cases"]:
        for cell in (row["regions"]["lesion"][metric] for metric in ("dice", "hd95")):
            assert isinstance(cell["value"], float)
            assert cell["outcome"] == "ok" or cell["outcome"].startswith("penalty:")
