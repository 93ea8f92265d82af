"""The demonstration: a bundle over a real brain image that ships in a Python package, and a plain baseline.

The image is the skull-stripped MNI152 T1 template (ICBM 2009a, 1 mm), the reference its own grey and white
matter probability maps cut at one half, and the baseline clusters T1 intensities. All three ship in the wheel
of nilearn, which is read as files and never imported. Leaves to others: scoring (`engine`).

Source: Fonov et al., Unbiased nonlinear average age-appropriate brain templates, NeuroImage 47 (2009) S102.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medomni.core.errors import MissingExtraError
from medomni.core.files import write_atomic, write_json
from medotter_bench.errors import ScoringError
from medotter_bench.factory.manifest_hash import mb1

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TASK = "mni152_tissue_t1"
CASE = "MNI152/icbm2009a"
CLASSES = {"grey_matter": 1, "white_matter": 2}
_FILES = {
    "t1": "mni_icbm152_t1_tal_nlin_sym_09a_converted.nii.gz",
    "gm": "mni_icbm152_gm_tal_nlin_sym_09a_converted.nii.gz",
    "wm": "mni_icbm152_wm_tal_nlin_sym_09a_converted.nii.gz",
}
_TASK_YAML = f"""\
task:
  id: {TASK}
  name: Brain tissue of the MNI152 template (T1)
  modality: MRI
  anatomy: brain
  description: >-
    Grey and white matter of one skull-stripped T1 template. A demonstration: one case, no benchmark.
canonical_labels:
  grey_matter: [1]
  white_matter: [2]
main_region: macro_avg
label_remap:
  MNI152: {{1: 1, 2: 2}}
"""
_EVAL_YAML = """\
mode: 3d_volumetric
segmentation_mode: multi_class
eval_regions:
  grey_matter: [1]
  white_matter: [2]
partial_label: false
main_region: macro_avg
metrics: [dice, hd95]
hd95: {percentile: 95, spacing: header, unit: mm, method: directed_max}
aggregation:
  unit: patient
  reduce: mean
  report_by_region: true
  headline: {region: macro_avg, metric: dice}
prediction_format:
  type: nifti
  label_space: [0, 1, 2]
  coordinate_space: input_volume_grid
  note: 0 background, 1 grey matter, 2 white matter
"""


@dataclass(frozen=True, slots=True)
class DemoPaths:
    """Where the demonstration put its files."""

    bundle: Path
    data_root: Path
    predictions: Path
    results: Path
    picture: Path


def prepare(out: Path, *, say: Callable[[str], None]) -> DemoPaths:
    """Write the bundle, the data root, the baseline's prediction and a picture below `out`.

    Args:
        out: Folder to write to; made if absent.
        say: Called with a line before each step.

    Raises:
        MissingExtraError: the package that holds the image is not installed.
    """
    import nibabel as nib
    import numpy as np

    sources = _sources()
    paths = DemoPaths(
        out / TASK, out / "data", out / "predictions", out / "results.json", out / "overlay.png"
    )
    say("reading the MNI152 T1 template and its tissue maps")
    image = nib.load(sources["t1"])
    t1 = np.asarray(image.dataobj)
    grey, white = (np.asarray(nib.load(sources[k]).dataobj) for k in ("gm", "wm"))
    reference = np.zeros(t1.shape, dtype=np.uint8)
    reference[grey >= 128] = CLASSES["grey_matter"]
    reference[white >= 128] = CLASSES["white_matter"]
    say("clustering T1 intensities into three tissues (the baseline)")
    prediction = cluster(t1)
    for path, array in (
        (paths.data_root / "MNI152" / "t1.nii.gz", t1),
        (paths.data_root / "MNI152" / "tissue.nii.gz", reference),
        (paths.predictions / f"{CASE}.nii.gz", prediction),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, nifti_bytes(array, image.affine))
    _write_bundle(paths.bundle)
    write_atomic(paths.picture, picture(t1, reference, prediction))
    return paths


def _sources() -> dict[str, Path]:
    try:
        files = distribution("nilearn").files or []
    except PackageNotFoundError:
        raise MissingExtraError(
            "the demonstration reads a brain image from the package nilearn, which is not installed",
            hint="pip install --no-deps nilearn",
        ) from None
    found = {file.name: Path(str(file.locate())) for file in files}
    lacking = [name for name in _FILES.values() if name not in found or not found[name].is_file()]
    if lacking:
        raise ScoringError(
            f"the installed nilearn does not hold {', '.join(lacking)}",
            hint="pip install --no-deps nilearn==0.14.1",
            code="demo-image-missing",
        )
    return {key: found[name] for key, name in _FILES.items()}


def cluster(t1: NDArray[Any], *, rounds: int = 50) -> NDArray[np.uint8]:
    """The baseline: k-means with three centres on the intensities of the brain, no smoothing, no prior.

    Args:
        t1: (X, Y, Z) skull-stripped T1 image, 0 outside the brain.
        rounds: Most updates of the centres.

    Returns:
        (X, Y, Z) 0 for background and fluid (the darkest centre), 1 grey matter, 2 white matter.
    """
    import numpy as np

    inside = t1 > 0
    histogram = np.bincount(t1[inside].ravel(), minlength=256).astype(float)
    levels = np.arange(len(histogram))
    centres = np.quantile(t1[inside], [0.1, 0.5, 0.9])
    for _ in range(rounds):
        nearest = np.abs(levels[:, None] - centres).argmin(axis=1)
        moved = np.array(
            [np.average(levels[nearest == k], weights=histogram[nearest == k]) for k in range(3)]
        )
        if np.array_equal(moved, centres):
            break
        centres = moved
    table = np.abs(levels[:, None] - centres).argmin(axis=1).astype(np.uint8)
    table[0] = 0
    tissues: NDArray[np.uint8] = table[t1]
    return tissues


def nifti_bytes(array: NDArray[Any], affine: NDArray[Any]) -> bytes:
    """A gzipped NIfTI-1 file: the same bytes for the same array (no time stamp in the gzip header)."""
    import gzip

    import nibabel as nib

    image = nib.Nifti1Image(array, affine)
    image.set_qform(affine, code=1)
    image.set_sform(affine, code=1)
    return gzip.compress(image.to_bytes(), compresslevel=1, mtime=0)


def _write_bundle(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    meta = {
        "dataset": "MNI152",
        "split": "test",
        "tier": "test",
        "patient_uid": "icbm2009a",
        "image": "MNI152/t1.nii.gz",
        "seg": "MNI152/tissue.nii.gz",
    }
    manifest: dict[str, Any] = {
        "task": TASK,
        "version": "1.0.0",
        "split_version": f"{TASK}/v1",
        "hash_algorithm": "mb1",
        "hash_full": "",
        "hash": "",
        "train": [],
        "test": [CASE],
        "per_case": {CASE: meta},
    }
    manifest["hash"], manifest["hash_full"] = mb1(manifest)
    write_json(folder / "manifest_test.json", manifest)
    write_atomic(folder / "task.yaml", _TASK_YAML)
    write_atomic(folder / "eval_spec.yaml", _EVAL_YAML)


def picture(t1: NDArray[Any], reference: NDArray[Any], prediction: NDArray[Any]) -> bytes:
    """A PNG of the middle axial slice: the image, the reference's tissues, the baseline's tissues."""
    import io

    import numpy as np
    from PIL import Image, ImageDraw

    middle = t1.shape[2] // 2
    grey = np.repeat(np.rot90(t1[:, :, middle])[..., None], 3, axis=2).astype(float)
    panels = [grey]
    colours = np.array([[0, 0, 0], [86, 180, 233], [230, 159, 0]], dtype=float)
    for label_map in (reference, prediction):
        labels = np.rot90(label_map[:, :, middle])
        tinted = np.where((labels > 0)[..., None], 0.45 * grey + 0.55 * colours[labels], grey)
        panels.append(tinted)
    strip = Image.fromarray(np.hstack(panels).clip(0, 255).astype(np.uint8))
    width, height = strip.size[0] * 2, strip.size[1] * 2
    canvas = Image.new("RGB", (width, height + 56), "white")
    canvas.paste(strip.resize((width, height), Image.Resampling.NEAREST), (0, 28))
    draw = ImageDraw.Draw(canvas)
    titles = ("MNI152 T1, middle axial slice", "reference", "prediction (intensity clusters)")
    for index, title in enumerate(titles):
        draw.text((index * width // 3 + 8, 8), title, fill="black")
    for index, (name, place) in enumerate(CLASSES.items()):
        left = 8 + index * 140
        draw.rectangle(
            (left, height + 36, left + 12, height + 48), fill=tuple(int(c) for c in colours[place])
        )
        draw.text((left + 18, height + 36), name.replace("_", " "), fill="black")
    buffer = io.BytesIO()
    canvas.save(buffer, format="PNG")
    return buffer.getvalue()
