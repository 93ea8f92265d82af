"""Instance metrics from one sparse table of overlaps: F1, PQ, SQ, DQ, AJI and AJI+.

Leaves to others: maps in which nobody has an object (`empty`), the solver of one-to-one assignments
(`assignment`), how ids are packed in files, and classes of objects.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from medotter_bench.errors import SpecError
from medotter_bench.metrics.arrays import (
    Counts,
    Ids,
    LabelArray,
    real_number,
    require_label_map,
    require_same_shape,
    require_scipy,
)
from medotter_bench.metrics.assignment import assign

RULES = ("gt", "ge")


@dataclass(frozen=True, slots=True, eq=False)
class Contingency:
    """Overlaps of two instance maps. Background (0) is left out; ids ascend.

    Attributes:
        reference_ids: Ids of the reference's objects.
        reference_areas: Pixels of each.
        prediction_ids: Ids of the predicted objects.
        prediction_areas: Pixels of each.
        pair_reference: Index into `reference_ids` of each overlapping pair.
        pair_prediction: Index into `prediction_ids` of each overlapping pair.
        pair_intersection: Pixels that the two objects of each pair share, above 0.
    """

    reference_ids: Ids
    reference_areas: Counts
    prediction_ids: Ids
    prediction_areas: Counts
    pair_reference: Counts
    pair_prediction: Counts
    pair_intersection: Counts

    @property
    def pair_union(self) -> Counts:
        """Pixels in either object of each pair."""
        areas = self.reference_areas[self.pair_reference] + self.prediction_areas[self.pair_prediction]
        return areas - self.pair_intersection


@dataclass(frozen=True, slots=True)
class Matching:
    """Which predicted objects count as found reference objects.

    Attributes:
        tp: Matched pairs.
        fp: Predicted objects without a partner.
        fn: Reference objects without a partner.
        iou_sum: Sum of IoU over the matched pairs.
        pairs: Matched ids, `(reference, prediction)`, in ascending order of the reference.
    """

    tp: int
    fp: int
    fn: int
    iou_sum: float
    pairs: tuple[tuple[int, int], ...]


def contingency(reference: LabelArray, prediction: LabelArray) -> Contingency:
    """The overlap table of two instance maps, in time linear in pixels plus overlapping pairs.

    Each non-zero id is one object, whatever its connectivity, gaps and size of ids mean nothing, and
    the whole volume is one table.

    Source:
        Kirillov et al., CVPR 2019, section 4.1: segments and their overlaps.

    Args:
        reference: Integer array, any axes order, 0 = background.
        prediction: Integer array of the same shape; its type may differ.

    Raises:
        VolumeError: `metric-dtype`, `metric-shape` or `metric-negative-id`.
    """
    reference = require_label_map(reference, name="reference")
    prediction = require_label_map(prediction, name="prediction")
    require_same_shape(reference, prediction)
    return from_runs(*_runs(reference, prediction))


def from_runs(left: LabelArray, right: LabelArray, lengths: Counts) -> Contingency:
    """The overlap table from stretches of pixels in which neither map changes.

    Source:
        As `contingency`.

    Args:
        left: (N,) id of the reference in each stretch; pairs may repeat, in any order.
        right: (N,) id of the prediction in each stretch.
        lengths: (N,) pixels of each stretch, above 0.
    """
    left_ids, left_index = _compact(left)
    right_ids, right_index = _compact(right)
    # Keys are made of compacted indices (ids of 64 bits would overflow): below runs squared.
    keys = left_index * len(right_ids) + right_index
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    shared = np.add.reduceat(lengths[order], starts)
    pair_left, pair_right = np.divmod(keys[order][starts], len(right_ids))
    objects = (pair_left > 0) & (pair_right > 0)
    return Contingency(
        reference_ids=left_ids[1:],
        reference_areas=_totals(pair_left, shared, len(left_ids)),
        prediction_ids=right_ids[1:],
        prediction_areas=_totals(pair_right, shared, len(right_ids)),
        pair_reference=pair_left[objects] - 1,
        pair_prediction=pair_right[objects] - 1,
        pair_intersection=shared[objects],
    )


def match(table: Contingency, *, threshold: float = 0.5, rule: str = "gt") -> Matching:
    """Matches objects by their IoU, each object at most once.

    `gt`: IoU above the threshold. `ge`: at or above it. Where two pairs of one object can both pass
    (thresholds below 0.5, and `ge` at 0.5), the one-to-one assignment with most matches is taken,
    and of these the one with the largest IoU sum.

    Source:
        Kirillov et al., CVPR 2019, section 4.1: IoU strictly above 0.5, so that matches are unique.

    Args:
        table: Overlaps of the two maps.
        threshold: IoU above 0 and up to 1 (below 1 for `gt`, which nothing could pass at 1).
        rule: One of `RULES`.

    Raises:
        SpecError: `metric-threshold` or `metric-rule`.
    """
    limit = _check_threshold(threshold, rule)
    chosen, sums = _choose(table, limit, rule)
    found = table.reference_ids[table.pair_reference[chosen]].tolist()
    partners = table.prediction_ids[table.pair_prediction[chosen]].tolist()
    return Matching(
        tp=len(chosen),
        fp=len(table.prediction_ids) - len(chosen),
        fn=len(table.reference_ids) - len(chosen),
        iou_sum=math.fsum(sums),
        pairs=tuple(sorted(zip(found, partners, strict=True))),
    )


def f1(matching: Matching) -> float | None:
    """F1 = 2 TP / (2 TP + FP + FN); None where there is no object in either map.

    Source:
        Dice's coefficient on counts of objects; the detection quality of Kirillov et al., CVPR 2019.
    """
    objects = 2 * matching.tp + matching.fp + matching.fn
    return 2 * matching.tp / objects if objects else None


def dq(matching: Matching) -> float | None:
    """Detection quality, TP / (TP + FP/2 + FN/2), which is `f1`; None without any object.

    Source:
        Kirillov et al., CVPR 2019, equation 2 (there "recognition quality").
    """
    return f1(matching)


def sq(matching: Matching) -> float | None:
    """Segmentation quality: mean IoU of the matches, 0 without a match, None without any object.

    Source:
        Kirillov et al., CVPR 2019, equation 2.
    """
    if matching.tp + matching.fp + matching.fn == 0:
        return None
    return matching.iou_sum / matching.tp if matching.tp else 0.0


def pq(matching: Matching) -> float | None:
    """Panoptic quality: sum of IoU / (TP + FP/2 + FN/2); None without any object.

    Source:
        Kirillov et al., CVPR 2019, equation 1; no epsilon, one rounded division.
    """
    halves = 2 * matching.tp + matching.fp + matching.fn
    return 2 * matching.iou_sum / halves if halves else None


def aji(table: Contingency) -> float | None:
    """Aggregated Jaccard Index: sum of intersections / sum of unions over best partners.

    Each reference object takes the prediction with the largest IoU (ties: larger intersection, then
    smaller id); a prediction may be taken more than once. Reference objects without any overlap and
    predictions that nobody took add their pixels to the denominator. Not symmetric.

    Source:
        Kumar et al., IEEE Trans Med Imaging 36 (2017) 1550.

    Args:
        table: Overlaps of the two maps.

    Returns:
        A number from 0 to 1, or None without any object.
    """
    union = table.pair_union
    # Equal fractions round to equal floats, and different ones to different floats up to unions of
    # 2^26 pixels; beyond, two IoU that agree in all 53 bits count as tied.
    iou = table.pair_intersection / union
    order = np.lexsort((table.pair_prediction, -table.pair_intersection, -iou, table.pair_reference))
    owners = table.pair_reference[order]
    best = order[np.flatnonzero(np.diff(owners, prepend=-1))]
    missed = np.ones(len(table.reference_ids), dtype=np.bool_)
    missed[table.pair_reference[best]] = False
    unused = np.ones(len(table.prediction_ids), dtype=np.bool_)
    unused[table.pair_prediction[best]] = False
    shared = int(table.pair_intersection[best].sum())
    total = int(union[best].sum())
    total += int(table.reference_areas[missed].sum()) + int(table.prediction_areas[unused].sum())
    return shared / total if total else None


def aji_plus(table: Contingency) -> float | None:
    """AJI with one-to-one partners: the assignment of overlapping pairs with the largest IoU sum.

    Objects without a partner add their pixels to the denominator. Of several such assignments the
    one with the largest total intersection counts, which gives the largest index.

    Source:
        Graham et al., Med Image Anal 58 (2019) 101563 (HoVer-Net), whose evaluation names it AJI+.

    Args:
        table: Overlaps of the two maps.

    Returns:
        A number from 0 to 1, or None without any object.
    """
    picked, _ = assign(
        table.pair_reference,
        table.pair_prediction,
        table.pair_intersection,
        table.pair_union,
        most_pairs=False,
    )
    shared = int(table.pair_intersection[picked].sum())
    total = int(table.reference_areas.sum()) + int(table.prediction_areas.sum()) - shared
    return shared / total if total else None


def disconnected_ids(label_map: LabelArray) -> int:
    """How many ids have more than one face-connected part. For reports: no metric splits them.

    Source:
        Connectivity as in `surface.surface`: 4 neighbours in 2D, 6 in 3D.

    Args:
        label_map: Integer array, any axes order, 0 = background.

    Raises:
        VolumeError: `metric-dtype`, `metric-shape` or `metric-negative-id`.
    """
    labels = np.ascontiguousarray(require_label_map(label_map, name="label map"))
    # A run of one id along the last axis is one node; runs are joined across the other axes.
    starts = np.ones(labels.shape, dtype=np.bool_)
    starts[..., 1:] = labels[..., 1:] != labels[..., :-1]
    run_of = np.cumsum(starts.ravel()).reshape(labels.shape) - 1
    joined = [_joins(labels, starts, run_of, axis) for axis in range(labels.ndim - 1)]
    run_ids = labels[starts]
    parts = _parts(len(run_ids), np.concatenate(joined) if joined else np.empty((0, 2), dtype=np.int64))
    first_run = np.unique(parts, return_index=True)[1]
    part_ids = run_ids[first_run]
    return int(np.count_nonzero(np.unique(part_ids[part_ids != 0], return_counts=True)[1] > 1))


def _runs(reference: LabelArray, prediction: LabelArray) -> tuple[LabelArray, LabelArray, Counts]:
    fortran = reference.flags.f_contiguous and prediction.flags.f_contiguous
    left, right = (array.ravel(order="F" if fortran else "C") for array in (reference, prediction))
    changes = (left[1:] != left[:-1]) | (right[1:] != right[:-1])
    starts = np.concatenate([[0], np.flatnonzero(changes) + 1])
    return left[starts], right[starts], np.diff(starts, append=left.size)


def _compact(ids: LabelArray) -> tuple[Ids, Counts]:
    # A background run is put in front, so that index 0 is the background in every map.
    background = np.zeros(1, dtype=np.uint64)
    unique, index = np.unique(np.concatenate([background, ids.astype(np.uint64)]), return_inverse=True)
    return unique, index[1:].astype(np.int64)


def _totals(index: Counts, counts: Counts, size: int) -> Counts:
    totals = np.zeros(size, dtype=np.int64)
    np.add.at(totals, index, counts)
    return totals[1:]


def _check_threshold(threshold: float, rule: str) -> float:
    if rule not in RULES:
        raise SpecError(
            f"match rule {rule!r} is unknown",
            where="match_rule",
            hint=f"one of {', '.join(RULES)}",
            code="metric-rule",
        )
    limit = real_number(threshold)
    if limit is None or not 0 < limit <= 1 or (limit == 1 and rule == "gt"):
        raise SpecError(
            f"the IoU threshold {threshold!r} cannot be used with rule {rule!r}",
            where="iou_threshold",
            hint="a number above 0 and up to 1; at 1 only with rule 'ge', since no IoU is above 1",
            code="metric-threshold",
        )
    return limit


def _passes(table: Contingency, limit: float, rule: str) -> npt.NDArray[np.bool_]:
    shared, union = table.pair_intersection, table.pair_union
    if limit == 0.5:
        return 2 * shared >= union if rule == "ge" else 2 * shared > union
    # One rounded division: an IoU equal to the decimal that was written compares as equal.
    iou = shared / union
    return iou >= limit if rule == "ge" else iou > limit


def _choose(table: Contingency, limit: float, rule: str) -> tuple[Counts, list[float]]:
    passing = np.flatnonzero(_passes(table, limit, rule))
    shared, union = table.pair_intersection[passing], table.pair_union[passing]
    if limit > 0.5 or (limit == 0.5 and rule == "gt"):
        # Two objects that each share more than half of their union with a third cannot both exist.
        return passing, (shared / union).tolist()
    left, right = table.pair_reference[passing], table.pair_prediction[passing]
    picked, sums = assign(left, right, shared, union, most_pairs=True)
    return passing[picked], sums


def _joins(
    labels: LabelArray, starts: npt.NDArray[np.bool_], run_of: Counts, axis: int
) -> npt.NDArray[np.int64]:
    near = (slice(None),) * axis + (slice(1, None),)
    far = (slice(None),) * axis + (slice(None, -1),)
    # Inside both runs the pair has been seen one voxel before.
    touching = (labels[near] == labels[far]) & (starts[near] | starts[far])
    return np.stack([run_of[near][touching], run_of[far][touching]], axis=1)


def _parts(n_runs: int, joined: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    require_scipy("counting disconnected ids")
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ones = np.ones(len(joined), dtype=np.int8)
    graph = coo_array((ones, (joined[:, 0], joined[:, 1])), shape=(n_runs, n_runs))
    parts: npt.NDArray[np.int32] = connected_components(graph, directed=False)[1]
    return parts
