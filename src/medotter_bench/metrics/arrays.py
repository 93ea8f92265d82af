"""Checks that every metric makes of its arrays and of the voxel spacing.

Leaves to others: reading files, label maps' meaning, and every number.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from medomni.core.errors import MissingExtraError
from medotter_bench.errors import SpecError, VolumeError

Mask = npt.NDArray[np.bool_]
Ids = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]
Distances = npt.NDArray[np.float64]
LabelArray = npt.NDArray[Any]

# Squares of distances must stay normal float64 numbers: outside these bounds they vanish or overflow.
SMALLEST_SPACING = 1e-100
LARGEST_SPACING = 1e100


def require_array(array: object, *, name: str) -> npt.NDArray[Any]:
    """`array` itself, if it is a NumPy array of 1 to 3 axes with at least one element.

    Raises:
        VolumeError: `metric-dtype` for anything but a NumPy array, `metric-shape` for the wrong axes.
    """
    if not isinstance(array, np.ndarray):
        raise VolumeError(
            f"the {name} is a {type(array).__name__}, not a NumPy array", where=name, code="metric-dtype"
        )
    if not 1 <= array.ndim <= 3 or array.size == 0:
        raise VolumeError(
            f"the {name} has shape {array.shape}; metrics take 1 to 3 axes, none of length 0",
            where=name,
            hint="pass one channel of one image",
            code="metric-shape",
        )
    return array


def require_mask(mask: object, *, name: str) -> Mask:
    """`mask` itself, if it is a boolean array of 1 to 3 axes.

    Raises:
        VolumeError: `metric-dtype` for another element type, `metric-shape` for the wrong axes.
    """
    array = require_array(mask, name=name)
    if array.dtype != np.bool_:
        raise VolumeError(
            f"the {name} mask holds {array.dtype}, not booleans",
            where=name,
            hint="say which labels are meant: np.isin(labels, region)",
            code="metric-dtype",
        )
    return array


def require_label_map(labels: object, *, name: str) -> LabelArray:
    """`labels` itself, if it is an array of whole numbers, none negative, of 1 to 3 axes.

    Raises:
        VolumeError: `metric-dtype`, `metric-shape` or `metric-negative-id`.
    """
    array = require_array(labels, name=name)
    if array.dtype.kind not in "iu":
        raise VolumeError(
            f"the {name} instance map holds {array.dtype}, not integers",
            where=name,
            hint="instance ids are whole numbers; 0 is background",
            code="metric-dtype",
        )
    if array.dtype.kind == "i" and int(array.min()) < 0:
        raise VolumeError(
            f"the {name} instance map holds the negative id {int(array.min())}",
            where=name,
            hint="ids start at 1; a negative id is usually an overflowed unsigned one",
            code="metric-negative-id",
        )
    return array


def require_same_shape(reference: npt.NDArray[Any], prediction: npt.NDArray[Any]) -> None:
    """Nothing, if both arrays have one shape; broadcasting never happens.

    Raises:
        VolumeError: `metric-shape`, with both shapes.
    """
    if reference.shape != prediction.shape:
        raise VolumeError(
            f"the reference has shape {reference.shape}, the prediction {prediction.shape}",
            hint="score a prediction on the grid of its reference",
            code="metric-shape",
        )


def require_spacing(spacing: Sequence[float], *, ndim: int) -> tuple[float, ...]:
    """The spacing as `ndim` floats, axis 0 first.

    Raises:
        SpecError: `metric-spacing` for the wrong length, or an entry that is not a finite positive number.
    """
    values = np.asarray(spacing, dtype=object)
    if values.shape != (ndim,):
        raise SpecError(
            f"the spacing {spacing!r} does not give one number for each of {ndim} axes",
            where="spacing",
            hint="spacing[k] belongs to axis k of the array",
            code="metric-spacing",
        )
    checked = []
    for value in values.tolist():
        number = real_number(value)
        if number is None or not SMALLEST_SPACING <= number <= LARGEST_SPACING:
            raise SpecError(
                f"the spacing {spacing!r} holds {value!r}, which is no finite number above 0",
                where="spacing",
                hint="give the voxel size per axis, such as (0.8, 0.8, 2.5)",
                code="metric-spacing",
            )
        checked.append(number)
    return tuple(checked)


def real_number(value: object) -> float | None:
    """`value` as a float, or None where it is no finite real number (booleans and text are none)."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def require_scipy(purpose: str) -> None:
    """Nothing, if scipy can be imported.

    Raises:
        MissingExtraError: `extra-missing`, with the command that installs it.
    """
    if importlib.util.find_spec("scipy") is None:
        raise MissingExtraError.for_extra("imaging", "scipy", purpose)
