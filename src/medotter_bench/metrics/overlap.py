"""The Dice coefficient, from counts or from two masks.

Leaves to others: empty structures (`empty`), regions as unions of labels, and reading files.
"""

from __future__ import annotations

import operator

import numpy as np

from medotter_bench.errors import SpecError
from medotter_bench.metrics.arrays import Mask, require_mask, require_same_shape


def whole_count(value: object, *, name: str) -> int:
    """`value` as a Python int.

    Raises:
        SpecError: `metric-count` for anything but a whole number of at least 0.
    """
    try:
        count = -1 if isinstance(value, bool | np.bool_) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        count = -1
    if count < 0:
        raise SpecError(f"{name} is {value!r}, not a count of voxels", where=name, code="metric-count")
    return count


def dice_from_counts(n_reference: int, n_prediction: int, n_intersection: int) -> float | None:
    """Dice = 2 |A and B| / (|A| + |B|), from numbers of voxels.

    Source:
        Dice, Ecology 26 (1945) 297; exact integers, one rounded division.

    Args:
        n_reference: Voxels of the reference.
        n_prediction: Voxels of the prediction.
        n_intersection: Voxels of both.

    Returns:
        A number from 0 to 1, or None where both are empty (the penalty table decides).

    Raises:
        SpecError: `metric-count` for negative or contradicting counts.
    """
    reference = whole_count(n_reference, name="n_reference")
    prediction = whole_count(n_prediction, name="n_prediction")
    shared = whole_count(n_intersection, name="n_intersection")
    if shared > min(reference, prediction):
        raise SpecError(
            f"{shared} shared voxels cannot come from {reference} and {prediction}",
            where="n_intersection",
            code="metric-count",
        )
    total = reference + prediction
    return None if total == 0 else 2 * shared / total


def dice(reference: Mask, prediction: Mask) -> float | None:
    """Dice of two masks on one grid.

    Source:
        As `dice_from_counts`.

    Args:
        reference: Boolean array, any axes order (1 to 3 axes).
        prediction: Boolean array of the same shape.

    Returns:
        A number from 0 to 1, or None where both are empty.

    Raises:
        VolumeError: `metric-dtype` or `metric-shape`.
    """
    reference = require_mask(reference, name="reference")
    prediction = require_mask(prediction, name="prediction")
    require_same_shape(reference, prediction)
    return dice_from_counts(
        int(np.count_nonzero(reference)),
        int(np.count_nonzero(prediction)),
        int(np.count_nonzero(reference & prediction)),
    )
