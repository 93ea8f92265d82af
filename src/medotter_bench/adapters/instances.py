"""Instance segmentation in 2D and 3D: f1, aji, pq (and aji_plus, sq, dq) of whole images or volumes.

Every non-zero id is one object. Leaves to others: the contingency table, matching and formulas (`metrics`).

Source: docs/explanation/scoring.md, instances (their ids are never remapped).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

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
from medotter_bench.metrics import backend, empty, fast
from medotter_bench.metrics import instances as objects

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from medotter_bench.inference import LabelMap
    from medotter_bench.specs import EvalSpec

_FROM_MATCHING: Mapping[str, Callable[[objects.Matching], float | None]] = {
    "f1": objects.f1,
    "pq": objects.pq,
    "sq": objects.sq,
    "dq": objects.dq,
}
_FROM_TABLE: Mapping[str, Callable[[objects.Contingency], float | None]] = {
    "aji": objects.aji,
    "aji_plus": objects.aji_plus,
}


class InstanceAdapter:
    """Adapter of `instance_seg_2d` and `instance_seg_3d`: the same numbers, other files."""

    metrics = ("f1", "aji", "pq", "aji_plus", "sq", "dq")

    def __init__(self, task_type: str, prediction_types: tuple[str, ...]) -> None:
        self.task_type = task_type
        self.prediction_types = prediction_types

    def check_prediction(self, prediction: LabelMap, *, spec: EvalSpec) -> None:
        """Any id is allowed: instance ids are not classes. Class files are checked where they are read."""

    def score(self, inputs: CaseInputs, *, context: CaseContext) -> CaseScore:
        """The metrics of every region that the case scores."""
        return CaseScore({name: _region(name, inputs, context) for name in context.spec.regions})


def _region(name: str, inputs: CaseInputs, context: CaseContext) -> RegionScore:
    spec = context.spec
    details = dict.fromkeys(("tp", "fp", "fn", "sq", "dq", "n_reference", "n_prediction"))
    reason = scope.left_out(name, context)
    if reason is not None:
        return not_scored(spec.metrics, reason, details)
    classes = spec.regions[name]
    reference = _of_classes(inputs.reference.array, inputs.reference_classes, classes)
    if inputs.prediction is None:
        n_reference = len(_contingency(reference, reference).reference_ids)
        details["n_reference"] = n_reference
        return scope.missing(context, details, diagonal=None, n_reference=n_reference)
    prediction = _of_classes(inputs.prediction.array, inputs.prediction_classes, classes)
    return _scored(reference, prediction.reshape(reference.shape), context)


def _scored(reference: NDArray[Any], prediction: NDArray[Any], context: CaseContext) -> RegionScore:
    spec = context.spec
    table = _contingency(reference, prediction)
    matching = objects.match(table, threshold=spec.iou_threshold, rule=spec.match_rule)
    n_reference, n_prediction = len(table.reference_ids), len(table.prediction_ids)
    values = {}
    for metric, penalties in spec.penalties.items():
        stand_in = empty.resolve(metric, n_reference, n_prediction, scope.resolved(penalties, None))
        if stand_in is not None:
            values[metric] = Value(*stand_in)
        elif metric in _FROM_MATCHING:
            values[metric] = Value(_FROM_MATCHING[metric](matching), OK)
        else:
            values[metric] = Value(_FROM_TABLE[metric](table), OK)
    details: dict[str, float | None] = {
        "tp": matching.tp,
        "fp": matching.fp,
        "fn": matching.fn,
        "sq": objects.sq(matching),
        "dq": objects.dq(matching),
        "n_reference": n_reference,
        "n_prediction": n_prediction,
        "disconnected_reference": _disconnected_ids(reference),
        "disconnected_prediction": _disconnected_ids(prediction),
    }
    return RegionScore(values, details, required=scope.is_required(context, n_reference))


def _contingency(reference: NDArray[Any], prediction: NDArray[Any]) -> objects.Contingency:
    if backend.uses_kernels(reference.size):
        return fast.contingency(reference, prediction)
    return objects.contingency(reference, prediction)


def _disconnected_ids(labels: NDArray[Any]) -> int:
    if backend.uses_kernels(labels.size):
        return fast.disconnected_ids(labels)
    return objects.disconnected_ids(labels)


def _of_classes(
    label_map: NDArray[Any], classes: Mapping[int, int] | None, wanted: tuple[int, ...]
) -> NDArray[Any]:
    """Only the objects of a region: all of them where there is no class file."""
    if classes is None:
        return label_map
    import numpy as np

    # A class file may list ids that the map does not hold, also ids that its type cannot hold.
    largest = np.iinfo(label_map.dtype).max
    ids = [i for i, canonical in classes.items() if canonical in wanted and i <= largest]
    kept = label_map.copy()
    kept[~np.isin(label_map, np.array(ids, dtype=label_map.dtype))] = 0
    return kept
