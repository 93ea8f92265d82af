"""Dice and hd95 of the three vessels of one case.

Dice = 2|A and B| / (|A| + |B|). hd95: distances between the centres of surface voxels (foreground with a face
neighbour outside; outside the array is background; axes of length 1 are dropped) in float64 from integer
offsets; the 95th percentile by linear interpolation in each direction, then the larger of the two.
Where a vessel is empty on both sides dice is 1 and hd95 is 0; where it is on one side only dice is 0 and hd95
is the diagonal of the grid. Leaves to others: native ids (`remap.py`), aggregation over cases.

Source: Huttenlocher et al. 1993 for the Hausdorff distance; percentile and directions as in eval_spec.yaml.
"""

import numpy as np

REGIONS = {"aorta": 1, "inferior_vena_cava": 2, "portal_splenic_vein": 3}
UNLABELLED = {"FLARE22": ("portal_splenic_vein",)}  # a vessel that a dataset does not label has no number
PERCENTILE = 95.0
_CHUNK = 1 << 22
_REACH = 4


def score_case(reference, prediction, spacing_mm, meta):
    """`{region: {metric: value}}` of one case; None where the case's dataset does not label the region.

    Args:
        reference: Integer array (X, Y, Z) in canonical ids, after `remap`.
        prediction: Integer array of the same shape in canonical ids.
        spacing_mm: Size of a voxel per axis, in mm.
        meta: The case's entry in the manifest.

    Raises:
        ValueError: the shapes differ, or the spacing is not one positive number per axis.
    """
    reference, prediction = np.asarray(reference), np.asarray(prediction)
    spacing = np.asarray(spacing_mm, dtype=np.float64)
    if reference.shape != prediction.shape:
        raise ValueError(f"reference {reference.shape} and prediction {prediction.shape} differ in shape")
    if spacing.shape != (reference.ndim,) or not (np.isfinite(spacing).all() and (spacing > 0).all()):
        raise ValueError(f"spacing {spacing_mm} is not one positive number of mm per axis")
    scores = {}
    for region, label in REGIONS.items():
        if region in UNLABELLED.get(meta.get("dataset"), ()):
            scores[region] = {"dice": None, "hd95": None}
        else:
            a, b = reference == label, prediction == label
            scores[region] = {"dice": dice(a, b), "hd95": hd95(a, b, spacing)}
    return scores


def dice(a, b):
    """2|A and B| / (|A| + |B|) of two masks; 1 where both are empty."""
    total = int(a.sum()) + int(b.sum())
    return 2.0 * int((a & b).sum()) / total if total else 1.0


def hd95(a, b, spacing):
    """The larger directed 95th percentile, in mm; 0 or the grid's diagonal where a mask is empty."""
    if not a.any() and not b.any():
        return 0.0
    if not a.any() or not b.any():
        return float(np.sqrt(((np.array(a.shape) * spacing) ** 2).sum()))
    kept = [axis for axis, length in enumerate(a.shape) if length > 1] or [0]
    shape = [a.shape[axis] for axis in kept]
    a, b, spacing = surface(a.reshape(shape)), surface(b.reshape(shape)), spacing[kept]
    there = np.percentile(nearest(a, b, spacing), PERCENTILE)
    back = np.percentile(nearest(b, a, spacing), PERCENTILE)
    return float(max(there, back))


def surface(mask):
    """The voxels of a mask that have a face neighbour outside it, as a mask."""
    padded = np.pad(mask, 1)
    inner = mask.copy()
    for axis in range(mask.ndim):
        for step in (-1, 1):
            moved = np.roll(padded, step, axis)
            inner &= moved[(slice(1, -1),) * mask.ndim]
    return mask & ~inner


def nearest(sources, targets, spacing):
    """For each voxel of `sources` the distance in mm to the nearest voxel of `targets`; both are masks.

    Near neighbours are looked up by offset, nearest first; the few voxels without one are compared with all.
    An offset box of `_REACH` voxels holds every offset up to `_REACH` times the smallest spacing, so that a
    hit within that length is the nearest.
    """
    points, goals = np.argwhere(sources), np.argwhere(targets)
    padded = np.pad(targets, _REACH)
    found = np.full(len(points), np.inf)
    box = np.meshgrid(*[np.arange(-_REACH, _REACH + 1)] * points.shape[1], indexing="ij")
    offsets = np.stack(box, axis=-1).reshape(-1, points.shape[1])
    lengths = np.sqrt(((offsets * spacing) ** 2).sum(axis=1))
    left = np.arange(len(points))
    for place in np.argsort(lengths, kind="stable"):
        if lengths[place] > _REACH * spacing.min() or not left.size:
            break
        hit = padded[tuple((points[left] + offsets[place] + _REACH).T)]
        found[left[hit]] = lengths[place]
        left = left[~hit]
    rows = max(1, _CHUNK // len(goals))
    for start in range(0, len(left), rows):
        part = left[start : start + rows]
        steps = (points[part][:, None, :] - goals[None, :, :]) * spacing
        found[part] = np.sqrt((steps**2).sum(axis=2).min(axis=1))
    return found
