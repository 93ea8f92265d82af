"""One pass over two label maps: voxels per pair of ids, and what hd95 of any region needs.

Leaves to others: what the ids mean, label-space positions and penalties (`adapters`, `label_map`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from medotter_bench.metrics.fast import label_kernels
from medotter_bench.metrics.fast.arrays import Flat, Layout, flat, reordered, takes
from medotter_bench.metrics.fast.surfaces import Crop, Runs, Scratch, region_hd95
from medotter_bench.metrics.surface import squeeze_spacing

Counts = npt.NDArray[np.int64]
Inside = npt.NDArray[np.bool_]

# Ids below this are counted in a table; larger ones are left to the reference implementation.
ID_LIMIT = 1 << 16
_NAMES = 256
# Runs are listed while there is less than one per so many voxels, in rows at least as long.
_SPARSE = 32
_LONGEST_ROW = 1 << 23


@dataclass(frozen=True, slots=True, eq=False)
class LabelScan:
    """What two label maps on one grid hold.

    Attributes:
        reference_ids: (R,) ids of the reference, ascending.
        prediction_ids: (P,) ids of the prediction, ascending.
        table: (R, P) voxels per pair of ids.
    """

    reference_ids: Counts
    prediction_ids: Counts
    table: Counts
    _shape: tuple[int, ...] = field(repr=False)
    _layout: Layout = field(repr=False)
    _maps: tuple[Flat, Flat] = field(repr=False)
    _names: tuple[Counts, Counts] = field(repr=False)
    _boxes: npt.NDArray[np.int64] = field(repr=False)
    _runs: Runs | None = field(repr=False)
    _scratch: Scratch = field(repr=False)

    def hd95(
        self,
        reference_inside: Inside,
        prediction_inside: Inside,
        *,
        spacing: Sequence[float],
        percentile: float = 95.0,
        method: str = "directed_max",
    ) -> float | None:
        """`metrics.hd95` of one region, with the same bits.

        Source:
            As `metrics.surface.hd95`.

        Args:
            reference_inside: (R,) which of `reference_ids` belong to the region.
            prediction_inside: (P,) the same for `prediction_ids`.
            spacing: Per axis of the arrays that were scanned.
            percentile: From 1 to 100.
            method: One of `metrics.METHODS`.

        Returns:
            A distance in the unit of `spacing`, or None where either side is empty.

        Raises:
            SpecError: `metric-spacing`, `metric-percentile` or `metric-method`.
        """
        _, sizes = squeeze_spacing(self._shape, spacing=spacing)
        codes = np.zeros((2, _NAMES), dtype=np.uint8)
        codes[0, self._names[0][reference_inside]] = 1
        codes[1, self._names[1][prediction_inside]] = 2
        crop = None
        if codes[0].any() and codes[1].any():
            boxes = self._boxes[codes.astype(bool)]
            box = np.stack([boxes[:, ::2].min(axis=0), boxes[:, 1::2].max(axis=0)], axis=1)
            crop = Crop(self._maps, codes, box, self._layout, self._runs, self._scratch)
        return region_hd95(crop, sizes, percentile=percentile, method=method)


def label_scan(reference: npt.NDArray[Any], prediction: npt.NDArray[Any]) -> LabelScan | None:
    """Scan two label maps; None where they are left to the reference implementation.

    That is: other types than integers, ids of 65536 and more, negative ids, more than 256 different ids
    in a map of more than 8 bits, more than three axes of more than one voxel, different shapes.
    """
    if not (takes(reference) and takes(prediction)) or reference.shape != prediction.shape:
        return None
    first, second = _named(reference), _named(prediction)
    if first is None or second is None:
        return None
    (left, left_ids, layout), (right, right_ids, own_layout) = first, second
    right = reordered(right, own_layout, layout)
    table = np.zeros((_NAMES, _NAMES), dtype=np.int64)
    boxes = np.zeros((2, _NAMES, 6), dtype=np.int64)
    boxes[:, :, ::2] = max(layout.shape)
    lengths = np.array(layout.memory_shape, dtype=np.int64)
    boxes[:, 0, 1::2], boxes[:, 0, ::2] = lengths, 0
    runs = _room_for_runs(layout)
    count = label_kernels.scan(left, right, lengths, table, boxes, runs.runs, runs.rows)
    names = np.flatnonzero(table.any(axis=1)), np.flatnonzero(table.any(axis=0))
    if left_ids[names[0][-1]] >= _limit(reference) or right_ids[names[1][-1]] >= _limit(prediction):
        return None
    return LabelScan(
        left_ids[names[0]],
        right_ids[names[1]],
        table[np.ix_(*names)],
        reference.shape,
        layout,
        (left, right),
        names,
        boxes,
        runs if 0 < count <= runs.runs.size else None,
        Scratch(),
    )


def _room_for_runs(layout: Layout) -> Runs:
    deep, tall, length = layout.memory_shape
    if not _SPARSE <= length <= _LONGEST_ROW:
        return Runs(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    rows = deep * tall
    return Runs(np.empty(rows * length // _SPARSE, dtype=np.int64), np.empty(rows + 1, dtype=np.int64))


def id_counts(labels: npt.NDArray[Any]) -> tuple[Counts, Counts] | None:
    """The ids of one label map, ascending, and the voxels of each; None as for `label_scan`."""
    if not takes(labels):
        return None
    return _counted(flat(labels)[0], limit=_limit(labels))


def _limit(labels: npt.NDArray[Any]) -> int:
    """Ids from here on are not read. A negative id of a signed type looks like one of these."""
    return min(ID_LIMIT, int(np.iinfo(labels.dtype).max) + 1)


def _counted(voxels: Flat, *, limit: int) -> tuple[Counts, Counts] | None:
    counts = np.zeros(limit, dtype=np.int64)
    if not label_kernels.count_ids(voxels, counts):
        return None
    ids = np.flatnonzero(counts)
    return ids, counts[ids]


def _named(labels: npt.NDArray[Any]) -> tuple[Flat, Counts, Layout] | None:
    """The map in 8 bits: its own ids, or for wider types their places among the ids that occur."""
    voxels, layout = flat(labels)
    if voxels.dtype == np.uint8:
        return voxels, np.arange(_NAMES), layout
    counted = _counted(voxels, limit=_limit(labels))
    if counted is None or len(counted[0]) > _NAMES:
        return None
    names = np.zeros(ID_LIMIT, dtype=np.uint8)
    names[counted[0]] = np.arange(len(counted[0]))
    renamed = np.empty(voxels.size, dtype=np.uint8)
    label_kernels.rename(voxels, names, renamed)
    return renamed, counted[0], layout
