"""Semantic segmentation: dice and hd95 of regions, each the union of its canonical ids.

Leaves to others: the formulas (`metrics`), label maps to canonical ids (`label_map`).

Source: docs/explanation/scoring.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from medotter_bench.adapters import scope
from medotter_bench.adapters.base import (
    OK,
    CaseContext,
    CaseInputs,
    CaseScore,
    RegionScore,
    Value,
    not_scored,
)
from medotter_bench.adapters.label_pairs import LabelPair, label_pair, outside_label_space, run_writer
from medotter_bench.errors import SpecError, VolumeError
from medotter_bench.label_map import region_table
from medotter_bench.metrics import dice_from_counts, empty, grid_diagonal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from medotter_bench.inference import LabelMap
    from medotter_bench.label_runs import MakeRunWriter
    from medotter_bench.specs import EvalSpec


class SegAdapter:
    """Adapter of `task_type: seg`."""

    task_type = "seg"
    metrics = ("dice", "hd95")
    prediction_types = ("nifti", "nrrd")

    def run_writer(self) -> MakeRunWriter | None:
        """What to read its label maps with: runs are enough, and far fewer than voxels."""
        return run_writer()

    def check_prediction(self, prediction: LabelMap, *, spec: EvalSpec) -> None:
        """Refuse ids outside `label_space`: predictions are in canonical space already."""
        space = spec.prediction_format.label_space
        outside = outside_label_space(prediction, space)
        if outside:
            listed = ", ".join(f"{i} ({n} voxels)" for i, n in list(outside.items())[:10])
            more = f" and {len(outside) - 10} more" if len(outside) > 10 else ""
            raise VolumeError(
                f"label ids outside the label_space {list(space)}: {listed}{more}",
                hint="write canonical ids; predictions are never remapped",
                code="labels-unknown",
            )

    def score(self, inputs: CaseInputs, *, context: CaseContext) -> CaseScore:
        """Dice and hd95 of every region that the case scores."""
        spec = context.spec
        pair = label_pair(
            inputs.reference,
            inputs.prediction,
            remap=context.remap,
            space=spec.prediction_format.label_space,
        )
        case = _Case(pair, inputs.reference.shape, _spacing(inputs.reference, spec), context)
        return CaseScore({name: case.region(name) for name in spec.regions}, pair.unlisted)


class _Case:
    """One case's two label maps on label-space positions, and what holds for all of its regions."""

    def __init__(
        self, pair: LabelPair, shape: tuple[int, ...], spacing: tuple[float, ...], context: CaseContext
    ) -> None:
        self.table, self.surfaces = pair.table, pair.surfaces
        self.spacing, self.context = spacing, context
        self.space = context.spec.prediction_format.label_space
        self.diagonal = grid_diagonal(shape, spacing=spacing)

    def region(self, name: str) -> RegionScore:
        spec = self.context.spec
        reason = scope.left_out(name, self.context)
        if reason is not None:
            return not_scored(spec.metrics, reason, {"n_reference": None, "n_prediction": None})
        inside = region_table(self.space, spec.regions[name])
        n_reference = int(self.table[inside].sum())
        if self.surfaces is None:
            details = {"n_reference": n_reference, "n_prediction": None}
            return scope.missing(self.context, details, diagonal=self.diagonal, n_reference=n_reference)
        n_prediction = int(self.table[:, inside].sum())
        n_both = int(self.table[inside][:, inside].sum())
        values = {}
        for metric, penalties in spec.penalties.items():
            table = scope.resolved(penalties, self.diagonal)
            stand_in = empty.resolve(metric, n_reference, n_prediction, table)
            if stand_in is not None:
                values[metric] = Value(*stand_in)
            elif metric == "dice":
                values[metric] = Value(dice_from_counts(n_reference, n_prediction, n_both), OK)
            else:
                values[metric] = Value(self._hd95(inside), OK)
        counts: dict[str, float | None] = {"n_reference": n_reference, "n_prediction": n_prediction}
        return RegionScore(values, counts, required=scope.is_required(self.context, n_reference))

    def _hd95(self, inside: NDArray[np.bool_]) -> float | None:
        spec = self.context.spec.hd95
        if spec is None or self.surfaces is None:  # pragma: no cover - asked for only where both exist
            return None
        return self.surfaces.hd95(inside, spacing=self.spacing, spec=spec)


def _spacing(reference: LabelMap, spec: EvalSpec) -> tuple[float, ...]:
    """Edge lengths per axis of the reference for hd95: voxels, the spec's numbers, or the header's.

    Raises:
        SpecError: the spec's numbers do not fit the axes, or the file states no spacing.
    """
    ndim = len(reference.shape)
    if spec.hd95 is None or spec.hd95.unit == "voxel":
        return (1.0,) * ndim
    if not isinstance(spec.hd95.spacing, str):
        if len(spec.hd95.spacing) != ndim:
            raise SpecError(
                f"hd95.spacing has {len(spec.hd95.spacing)} numbers, the reference has {ndim} axes",
                hint="give one number per axis",
                code="spacing-axes",
            )
        return spec.hd95.spacing
    if reference.grid.spacing_mm is None:
        raise SpecError(
            "the reference states no voxel spacing, and hd95.spacing is `header`",
            hint="give hd95.spacing as numbers, or hd95.unit: voxel",
            code="spacing-unknown",
        )
    return reference.grid.spacing_mm
