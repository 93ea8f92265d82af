"""Generated data for any bundle: the right layout, grids, ids, empty structures and partial labels.

So that a bundle runs end to end without its data. Leaves to others: shapes (`dummy_shapes`), file formats
(`dummy_files`), freezing a manifest from the result (`freeze`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from medomni.core.files import resolve_under
from medotter_bench.factory.definition import Dataset, Factory, read_factory
from medotter_bench.factory.dummy_files import NIFTI, affine_ras, write_array
from medotter_bench.factory.dummy_predictions import PredictionsReport, dummy_predictions
from medotter_bench.factory.dummy_shapes import Draws, image, label_map
from medotter_bench.factory.dummy_spec import DummySpec
from medotter_bench.factory.errors import DummyError
from medotter_bench.factory.folders import claim_folder
from medotter_bench.factory.patterns import render_counter

__all__ = ["DummyReport", "PredictionsReport", "dummy_predictions", "make_dummy"]


@dataclass(frozen=True, slots=True)
class DummyReport:
    """The data root that was written: its folder, cases per dataset, files as relative paths."""

    root: Path
    cases: dict[str, int]
    files: list[str]


def make_dummy(
    bundle_dir: str | Path, out_dir: str | Path, *, cases_per_dataset: int | None = None, seed: int = 0
) -> DummyReport:
    """Writes a small data root for a bundle, as the `dummy` block of its `factory.yaml` says.

    Equal arguments give equal bytes.

    Args:
        bundle_dir: Holds `factory.yaml`.
        out_dir: The data root to write; must not exist, or be empty.
        cases_per_dataset: In place of the number that each dataset names.
        seed: Other seeds give other shapes under the same names.

    Raises:
        BundleNotFoundError: no `factory.yaml`.
        FactoryError: `factory.yaml` is malformed.
        DummyError: the folder is not empty (`dummy-not-empty`), a dataset has no dummy block
            (`dummy-undescribed`), its names do not fit its patterns (`dummy-name`), or a shape or format
            cannot be made (`dummy-shape`, `dummy-format`).
        MissingExtraError: the extra `imaging` is not installed.
    """
    factory, root = read_factory(bundle_dir), Path(out_dir)
    claim_folder(root)
    _check(factory, cases_per_dataset)
    counts: dict[str, int] = {}
    files: list[str] = []
    for name, dataset in factory.datasets.items():
        spec = factory.dummy[name]
        counts[name] = spec.cases if cases_per_dataset is None else cases_per_dataset
        for position in range(counts[name]):
            files += _write_case(root, dataset, spec, position, seed)
    return DummyReport(root, counts, files)


def _check(factory: Factory, cases_per_dataset: int | None) -> None:
    if cases_per_dataset is not None and cases_per_dataset < 1:
        raise DummyError(f"{cases_per_dataset} cases per dataset are too few", code="dummy-range")
    for name in factory.datasets:
        if name not in factory.dummy:
            hint = f"describe it under dummy.{name} in factory.yaml"
            raise DummyError(
                f"nothing says how generated data of {name} look", hint=hint, code="dummy-undescribed"
            )


def _write_case(root: Path, dataset: Dataset, spec: DummySpec, position: int, seed: int) -> Iterator[str]:
    fields = _fields(dataset, spec, position)
    draws = Draws(seed, dataset.name, position)
    labels = label_map(spec, position, draws)
    affine = affine_ras(spec.spacing, spec.orientation) if len(spec.shape) == 3 else None
    roles = dataset.roles
    for channel, role in enumerate(role for role in roles if role != "seg"):
        path = roles[role].render(fields)
        write_array(resolve_under(root, path), image(spec, labels, channel, draws), affine=affine)
        yield path
    if position not in spec.without_seg:
        path = roles["seg"].render(fields)
        write_array(resolve_under(root, path), labels.astype(spec.label_dtype), affine=affine)
        yield path


def _fields(dataset: Dataset, spec: DummySpec, position: int) -> dict[str, str]:
    counters = {
        "index": spec.first + position,
        "patient": spec.first + position // spec.cases_per_patient,
        "visit": position % spec.cases_per_patient,
    }
    fields = {key: render_counter(template, counters) for key, template in spec.fields.items()}
    for pattern in dataset.roles.values():
        if len(spec.shape) == 2 and pattern.text.endswith(NIFTI):
            raise DummyError(f"{dataset.name}: NIfTI files need three sides of shape", code="dummy-shape")
        if pattern.match(pattern.render(fields)) != fields:
            what = f"generated names {fields} of {dataset.name} do not fit the pattern {pattern.text!r}"
            raise DummyError(what, code="dummy-name")
    for name, regex in dataset.only.items():
        if not regex.fullmatch(fields[name]):
            what = f"generated {name} {fields[name]!r} of {dataset.name} does not fit `only`"
            raise DummyError(what, code="dummy-name")
    return fields
