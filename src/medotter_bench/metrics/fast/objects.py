"""The contingency table and the connected parts of instance maps, from runs of equal pixels.

Leaves to others: the metrics made of them, and the order of ids and pairs (`metrics.instances`).
"""

from __future__ import annotations

import numpy as np

from medotter_bench.metrics import instances
from medotter_bench.metrics.arrays import LabelArray, require_label_map, require_same_shape
from medotter_bench.metrics.fast import instance_kernels
from medotter_bench.metrics.fast.arrays import Flat, flat, reordered
from medotter_bench.metrics.instances import Contingency, from_runs


def contingency(reference: LabelArray, prediction: LabelArray) -> Contingency:
    """`metrics.contingency`, equal in every entry.

    Source:
        As `metrics.instances.contingency`.

    Args:
        reference: Integer array, any axes order, 0 = background.
        prediction: Integer array of the same shape; its type may differ.

    Raises:
        VolumeError: `metric-dtype`, `metric-shape` or `metric-negative-id`.
    """
    reference = _native(require_label_map(reference, name="reference"))
    prediction = _native(require_label_map(prediction, name="prediction"))
    require_same_shape(reference, prediction)
    left, layout = flat(reference)
    right, own_layout = flat(prediction)
    right = reordered(right, own_layout, layout)
    common = np.result_type(left.dtype, right.dtype, np.uint16)
    pairs, counts = instance_kernels.count_pairs(_as(left, common), _as(right, common))
    used = np.count_nonzero(counts)
    if used == 0:
        return instances.contingency(reference, prediction)
    return from_runs(pairs[:used, 0], pairs[:used, 1], counts[:used])


def disconnected_ids(label_map: LabelArray) -> int:
    """`metrics.disconnected_ids`: how many ids have more than one face-connected part.

    Source:
        As `metrics.instances.disconnected_ids`.

    Raises:
        VolumeError: `metric-dtype`, `metric-shape` or `metric-negative-id`.
    """
    voxels, layout = flat(_native(require_label_map(label_map, name="label map")))
    shape = np.array(layout.memory_shape, dtype=np.int64)
    names, parents = instance_kernels.parts(_as(voxels, np.result_type(voxels.dtype, np.uint16)), shape)
    part_ids = names[parents == np.arange(len(parents))]
    return int(np.count_nonzero(np.unique(part_ids, return_counts=True)[1] > 1))


def _native(labels: LabelArray) -> LabelArray:
    return labels if labels.dtype.isnative else labels.astype(labels.dtype.newbyteorder("="))


def _as(voxels: Flat, dtype: np.dtype[np.unsignedinteger]) -> Flat:
    return voxels.astype(dtype, copy=False)
