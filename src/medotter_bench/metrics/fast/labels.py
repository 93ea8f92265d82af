"""One pass over two label maps: voxels per pair of ids, and what hd95 of any region needs.

Leaves to others: what the ids mean, label-space positions and penalties (`adapters`, `label_map`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from medotter_bench.label_runs import ID_BITS, LabelRuns
from medotter_bench.metrics.fast import label_kernels
from medotter_bench.metrics.fast.arrays import Flat, Layout, flat, lists_runs, reordered, runs_room, takes
from medotter_bench.metrics.fast.surfaces import Crop, Runs, Scratch, region_hd95
from medotter_bench.metrics.surface import squeeze_spacing

Counts = npt.NDArray[np.int64]
Inside = npt.NDArray[np.bool_]
Maps = tuple[Flat, Flat]

# Ids below this are counted in a table; larger ones are left to the reference implementation.
ID_LIMIT = 1 << 16
_NAMES = 256


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
    _maps: Callable[[], Maps] = field(repr=False)
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


def label_scan(
    reference: npt.NDArray[Any] | LabelRuns, prediction: npt.NDArray[Any] | LabelRuns
) -> LabelScan | None:
    """Scan two label maps; None where they are left to the reference implementation.

    That is: other types than integers, ids of 65536 and more, negative ids, more than 256 different ids
    in a map of more than 8 bits, more than three axes of more than one voxel, different shapes.
    """
    if isinstance(reference, LabelRuns) and isinstance(prediction, LabelRuns):
        found = _scan_of_runs(reference, prediction)
        if found is not None:
            return found
    return _scan_of_arrays(_array(reference), _array(prediction))


def _array(labels: npt.NDArray[Any] | LabelRuns) -> npt.NDArray[Any]:
    return labels.array() if isinstance(labels, LabelRuns) else labels


def _scan_of_arrays(reference: npt.NDArray[Any], prediction: npt.NDArray[Any]) -> LabelScan | None:
    if not (takes(reference) and takes(prediction)) or reference.shape != prediction.shape:
        return None
    first, second = _named(reference), _named(prediction)
    if first is None or second is None:
        return None
    (left, left_ids, layout), (right, right_ids, own_layout) = first, second
    right = reordered(right, own_layout, layout)
    room = _Room(layout)
    count = label_kernels.scan(left, right, room.lengths, room.table, room.boxes, room.runs, room.rows)
    scan = room.scan(reference.shape, (left_ids, right_ids), count, lambda: (left, right))
    if scan.reference_ids[-1] >= _limit(reference) or scan.prediction_ids[-1] >= _limit(prediction):
        return None
    return scan


def _scan_of_runs(reference: LabelRuns, prediction: LabelRuns) -> LabelScan | None:
    """The same from lists of runs; None where pairs of ids have too many of them."""
    if reference.shape != prediction.shape:
        return None
    first, second = _named_runs(reference), _named_runs(prediction)
    if first is None or second is None:
        return None
    (left, left_ids), (right, right_ids) = first, second
    lengths = tuple(length for length in reference.shape if length > 1) or (1,)
    layout = Layout(lengths, reversed=True)
    if not lists_runs(layout):
        return None
    room = _Room(layout)
    count = label_kernels.join(left, right, room.lengths, room.table, room.boxes, room.runs, room.rows)
    if count > room.runs.size:
        return None

    def maps() -> Maps:
        named = (LabelRuns(runs, reference.shape, np.dtype(np.uint8)).array() for runs in (left, right))
        first, second = (voxels.ravel(order="K") for voxels in named)
        return first, second

    return room.scan(reference.shape, (left_ids, right_ids), count, maps)


class _Room:
    """What a scan fills."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.lengths = np.array(layout.memory_shape, dtype=np.int64)
        self.table = np.zeros((_NAMES, _NAMES), dtype=np.int64)
        self.boxes = np.zeros((2, _NAMES, 6), dtype=np.int64)
        self.boxes[:, :, ::2] = max(layout.shape)
        self.boxes[:, 0, 1::2], self.boxes[:, 0, ::2] = self.lengths, 0
        deep, tall, _ = layout.memory_shape
        listed = lists_runs(layout)
        self.runs = np.empty(runs_room(layout) if listed else 0, dtype=np.int64)
        self.rows = np.empty(deep * tall + 1 if listed else 0, dtype=np.int64)

    def scan(
        self, shape: tuple[int, ...], ids: tuple[Counts, Counts], count: int, maps: Callable[[], Maps]
    ) -> LabelScan:
        """The result, of `count` runs; `ids` are those that the names of either side stand for."""
        names = np.flatnonzero(self.table.any(axis=1)), np.flatnonzero(self.table.any(axis=0))
        runs = Runs(self.runs, self.rows) if 0 < count <= self.runs.size else None
        return LabelScan(
            ids[0][names[0]],
            ids[1][names[1]],
            self.table[np.ix_(*names)],
            shape,
            self.layout,
            maps,
            names,
            self.boxes,
            runs,
            Scratch(),
        )


def id_counts(labels: npt.NDArray[Any] | LabelRuns) -> tuple[Counts, Counts] | None:
    """The ids of one label map, ascending, and the voxels of each; None as for `label_scan`."""
    if isinstance(labels, LabelRuns):
        return labels.counts()
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


def _named_runs(labels: LabelRuns) -> tuple[Counts, Counts] | None:
    """As `_named`: runs with ids below 256, and which ids these stand for."""
    ids = labels.ids
    if ids.max() < _NAMES:
        return labels.changes, np.arange(_NAMES)
    occurring = np.flatnonzero(np.bincount(ids))
    if len(occurring) > _NAMES:
        return None
    names = np.zeros(ID_LIMIT, dtype=np.int64)
    names[occurring] = np.arange(len(occurring))
    return (labels.changes >> ID_BITS << ID_BITS) | names[ids], occurring
