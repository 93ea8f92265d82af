"""Reference and prediction of one case on label-space positions: the counts, and hd95 of a region.

Made by the compiled kernels or by the reference implementation, with equal numbers. Leaves to others: the
formulas (`metrics`), what ids mean (`label_map`), and penalties (`seg`).

Source: design page 02, Label remap, Metrics.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from medotter_bench.label_map import (
    IDENTITY,
    LabelRemap,
    joint_histogram,
    label_space_index,
    positions,
    to_canonical,
)
from medotter_bench.metrics import backend, fast, hd95

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from medotter_bench.inference import LabelMap
    from medotter_bench.label_runs import MakeRunWriter
    from medotter_bench.metrics.fast.labels import LabelScan
    from medotter_bench.specs import HausdorffSpec

Positions = tuple[int, ...]


class Surfaces(Protocol):
    """Anything that measures hd95 of a region, given as (K,) label-space positions."""

    def hd95(
        self, inside: NDArray[np.bool_], *, spacing: tuple[float, ...], spec: HausdorffSpec
    ) -> float | None:
        """hd95 in the unit of `spacing`, None where either side is empty."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelPair:
    """The two maps of one case.

    Attributes:
        table: (K, K) voxels per pair of label-space positions, reference first. Without a prediction only
            its row sums mean something.
        unlisted: Foreground voxels of the reference that no map lists.
        surfaces: Measures hd95; None without a prediction.
    """

    table: NDArray[np.int64]
    unlisted: int
    surfaces: Surfaces | None


def run_writer() -> MakeRunWriter | None:
    """What to read label maps with, so that `label_pair` need not look at every voxel; None for arrays."""
    return fast.run_writer if backend.uses_loaded_kernels() else None


def label_pair(
    reference: LabelMap, prediction: LabelMap | None, *, remap: LabelRemap, space: Positions
) -> LabelPair:
    """The pair of a reference in native ids and a prediction in canonical ids, or None for no prediction.

    Source:
        Design page 02, Label remap: predictions are never remapped.
    """
    if backend.uses_kernels(math.prod(reference.shape)):
        found = _scanned(reference, prediction, remap, space)
        if found is not None:
            return found
    canonical, unlisted = to_canonical(reference.array, remap, label_space=space)
    if prediction is None:
        return LabelPair(joint_histogram(canonical, canonical, len(space)), unlisted, None)
    predicted, _ = label_space_index(prediction.array.reshape(reference.shape), space)
    table = joint_histogram(canonical, predicted, len(space))
    return LabelPair(table, unlisted, _Canonical(canonical, predicted))


def outside_label_space(prediction: LabelMap, space: Positions) -> dict[int, int]:
    """`{id outside: voxels}` of a prediction, by ascending id; empty if all are inside.

    Source:
        As `label_map.label_space_index`.
    """
    if prediction.highest is not None and _holds_all_up_to(prediction.highest, space):
        return {}
    uses_kernels = backend.uses_kernels(math.prod(prediction.shape))
    counted = fast.id_counts(prediction.voxels) if uses_kernels else None
    if counted is None:
        return label_space_index(prediction.array, space)[1]
    pairs = zip(counted[0].tolist(), counted[1].tolist(), strict=True)
    return {name: count for name, count in pairs if name not in {0, *space}}


def _holds_all_up_to(highest: int, space: Positions) -> bool:
    """Whether 0 to `highest` are all allowed, so that which of them occur need not be looked up."""
    allowed = {0, *space}
    return highest < len(allowed) and allowed.issuperset(range(highest + 1))


def _scanned(
    reference: LabelMap, prediction: LabelMap | None, remap: LabelRemap, space: Positions
) -> LabelPair | None:
    """The pair by the compiled kernels; None where they leave it to the reference implementation."""
    table = np.zeros((len(space), len(space)), dtype=np.int64)
    if prediction is None:
        counted = fast.id_counts(reference.voxels)
        if counted is None:
            return None
        index, listed = positions(counted[0].tolist(), remap, label_space=space)
        np.add.at(table, (index, index), counted[1])
        return LabelPair(table, int(counted[1][~listed].sum()), None)
    scan = fast.label_scan(reference.voxels, prediction.voxels.reshape(reference.shape))
    if scan is None:
        return None
    index, listed = positions(scan.reference_ids.tolist(), remap, label_space=space)
    predicted, _ = positions(scan.prediction_ids.tolist(), IDENTITY, label_space=space)
    np.add.at(table, np.ix_(index, predicted), scan.table)
    return LabelPair(table, int(scan.table[~listed].sum()), _Scanned(scan, index, predicted))


@dataclass(frozen=True, slots=True, eq=False)
class _Scanned:
    """Regions of a scan: which of its ids lie on which position."""

    scan: LabelScan
    reference: NDArray[Any]
    prediction: NDArray[Any]

    def hd95(
        self, inside: NDArray[np.bool_], *, spacing: tuple[float, ...], spec: HausdorffSpec
    ) -> float | None:
        return self.scan.hd95(
            inside[self.reference],
            inside[self.prediction],
            spacing=spacing,
            percentile=spec.percentile,
            method=spec.method,
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Canonical:
    """Regions of two maps of label-space positions."""

    reference: NDArray[Any]
    prediction: NDArray[Any]

    def hd95(
        self, inside: NDArray[np.bool_], *, spacing: tuple[float, ...], spec: HausdorffSpec
    ) -> float | None:
        return hd95(
            inside[self.reference],
            inside[self.prediction],
            spacing=spacing,
            percentile=spec.percentile,
            method=spec.method,
        )
