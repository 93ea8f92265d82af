"""A new bundle's files to start from; generated data and a freeze work on them as they are.

Leaves to others: generating the data (`dummy`) and freezing (`freeze`).
"""

from __future__ import annotations

import re
from pathlib import Path

from medomni.core.files import write_atomic
from medotter_bench.factory.errors import NewBundleError
from medotter_bench.factory.folders import make_folder

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_LONGEST = 64

_TASK = """\
# What is measured, and how each dataset's own label ids become this bundle's.
task:
  id: "{name}"
  name: "{title}"
  modality: CT
  anatomy: abdomen
  description: Say what is measured and how.
canonical_labels:
  lesion: [1]
main_region: lesion
label_remap:
  # Native id -> canonical id. An id that is not listed becomes background.
  EXAMPLE: {{1: 1}}
"""

_EVAL_SPEC = """\
# How predictions are scored.
mode: 3d_volumetric
segmentation_mode: multi_class
eval_regions:
  lesion: [1]
partial_label: false
main_region: lesion
metrics: [dice, hd95]
hd95: {percentile: 95, spacing: header, unit: mm, method: directed_max}
# One-sided hd95 penalties are left out: the diagonal of each case's grid applies.
empty_structure:
  dice: {gt_empty_pred_empty: 1.0, gt_empty_pred_nonempty: 0.0, gt_nonempty_pred_empty: 0.0}
  hd95: {gt_empty_pred_empty: 0.0}
aggregation:
  unit: patient
  reduce: mean
  report_by_region: true
  report_by_dataset: true
  headline: {region: lesion, metric: dice}
prediction_format:
  type: nifti
  label_space: [0, 1]
  coordinate_space: input_volume_grid
  note: One label map per case on the grid of its input, in canonical ids.
"""

_FACTORY = """\
# Where the source datasets lie below a data root, and how cases are split.
schema: medotter/factory/1
version: 0.1.0
split_version: NAME/v1
datasets:
  EXAMPLE:
    licence: state the dataset's licence
    citation: state how to cite the dataset
    image: "EXAMPLE/images/{case}.nii.gz"
    seg: "EXAMPLE/labels/{case}.nii.gz"
    case: "{case}"
    patient: "{case}"
split:
  policy: by_patient
  seed: 1
  test_fraction: 0.5
skip: []
dummy:
  EXAMPLE:
    cases: 8
    fields: {case: "example_{index:4}"}
    shape: [24, 20, 12]
    spacing: [0.8, 0.8, 2.5]
    modality: ct
    labels: [1]
    absent: {1: [2]}
"""

_README = """\
# {title}

Say what this bundle measures, on which datasets, under which licences, and how to cite them.

```
medotter bundle dummy benchmarks/{name} --out data/{name}
medotter bundle freeze benchmarks/{name} --data-root data/{name}
medotter bundle check benchmarks/{name}
```
"""


def new_bundle(name: str, parent: str | Path) -> Path:
    """Lays out `task.yaml`, `eval_spec.yaml`, `factory.yaml` and `README.md` in `parent/name`.

    Raises:
        NewBundleError: the name is no lower-case name with underscores (`new-name`), or something of
            that name is there already (`new-exists`).
    """
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        hint = "use lower-case letters, digits and single underscores, such as liver_lesion_ct"
        raise NewBundleError(f"{name!r} cannot name a bundle", hint=hint, code="new-name")
    folder = Path(parent) / name
    if folder.exists():
        raise NewBundleError(f"{name} exists already", where=str(folder), code="new-exists")
    make_folder(folder)
    title = name.replace("_", " ").capitalize()
    write_atomic(folder / "task.yaml", _TASK.format(name=name, title=title))
    write_atomic(folder / "eval_spec.yaml", _EVAL_SPEC)
    write_atomic(folder / "factory.yaml", _FACTORY.replace("NAME", name))
    write_atomic(folder / "README.md", _README.format(name=name, title=title))
    return folder
