"""What a metric is worth where the reference, the prediction or both hold nothing: the penalty table.

Leaves to others: reading the table from `eval_spec.yaml`, and computing metrics of non-empty pairs.
"""

from __future__ import annotations

from collections.abc import Mapping

from medotter_bench.errors import SpecError
from medotter_bench.metrics.arrays import real_number
from medotter_bench.metrics.overlap import whole_count

BOTH_EMPTY, PREDICTION_ONLY, REFERENCE_ONLY = STATES = (
    "gt_empty_pred_empty",
    "gt_empty_pred_nonempty",
    "gt_nonempty_pred_empty",
)

HIGHER_IS_BETTER: Mapping[str, bool] = {
    "dice": True,
    "hd95": False,
    "f1": True,
    "aji": True,
    "aji_plus": True,
    "pq": True,
    "sq": True,
    "dq": True,
}

Penalties = Mapping[str, float | None]

GRID_DIAGONAL = "grid_diagonal"
# What a penalty table that says nothing means; hd95's one-sided entries need the case's grid.
DEFAULT_PENALTIES: Mapping[str, Mapping[str, float | str | None]] = {
    "dice": dict(zip(STATES, (1.0, 0.0, 0.0), strict=True)),
    "hd95": dict(zip(STATES, (0.0, GRID_DIAGONAL, GRID_DIAGONAL), strict=True)),
}
DEFAULT_INSTANCE_PENALTIES: Mapping[str, float | str | None] = dict(
    zip(STATES, (None, 0.0, 0.0), strict=True)
)


def state(n_reference: int, n_prediction: int) -> str | None:
    """Which of `STATES` two counts (voxels or objects) are in; None where neither is 0.

    Raises:
        SpecError: `metric-count` for anything but whole numbers of at least 0.
    """
    reference = whole_count(n_reference, name="n_reference")
    prediction = whole_count(n_prediction, name="n_prediction")
    if reference and prediction:
        return None
    if reference:
        return REFERENCE_ONLY
    return PREDICTION_ONLY if prediction else BOTH_EMPTY


def resolve(
    metric: str, n_reference: int, n_prediction: int, penalties: Penalties
) -> tuple[float | None, str] | None:
    """The number and outcome that the table gives for an empty structure.

    Source:
        The convention of BraTS and of `eval_spec.yaml`'s `empty_structure`: a missed structure takes
        a stated number and stays in the mean.

    Args:
        metric: A key of `HIGHER_IS_BETTER`.
        n_reference: Voxels (or objects) of the reference.
        n_prediction: Voxels (or objects) of the prediction.
        penalties: A number or None (not scored) for each of `STATES`.

    Returns:
        None where both hold something (compute the metric); else `(number, "penalty:<state>")`, or
        `(None, "not_scored:<state>")` where the table says None.

    Raises:
        SpecError: `metric-unknown`, `metric-count`, or `metric-penalty` where the table is silent on
            this state or holds something else than a finite number or None.
    """
    _check_metric(metric)
    found = state(n_reference, n_prediction)
    if found is None:
        return None
    if found not in penalties:
        raise SpecError(
            f"the penalties of {metric} say nothing about {found}",
            where=f"empty_structure.{metric}",
            hint="give a number, or null for not scored",
            code="metric-penalty",
        )
    number = _number(metric, found, penalties[found])
    return (None, f"not_scored:{found}") if number is None else (number, f"penalty:{found}")


def default_penalties(metric: str, *, diagonal: float) -> dict[str, float | None]:
    """The table of a metric on which the spec is silent.

    dice 1, 0, 0; hd95 0, diagonal, diagonal; instance metrics not scored, 0, 0 (order of `STATES`).

    Args:
        metric: A key of `HIGHER_IS_BETTER`.
        diagonal: Length of the grid's diagonal in the unit of hd95.

    Raises:
        SpecError: `metric-unknown`, or `metric-penalty` for a diagonal that is no positive number.
    """
    _check_metric(metric)
    table = DEFAULT_PENALTIES.get(metric, DEFAULT_INSTANCE_PENALTIES)
    # The only text in a table is `GRID_DIAGONAL`.
    return {state: _diagonal(diagonal) if isinstance(n, str) else n for state, n in table.items()}


def worst(metric: str, penalties: Penalties, *, diagonal: float | None = None) -> float:
    """What a missing or invalid prediction takes: the worst one-sided number of the table.

    Only the two one-sided states count, since a missing prediction is a failure whatever the
    reference holds. A state that is absent or None is passed over; where both are, the default of
    `default_penalties` stands (0, or `diagonal` for hd95).

    Args:
        metric: A key of `HIGHER_IS_BETTER`.
        penalties: A number or None for each of `STATES`.
        diagonal: Length of the grid's diagonal in the unit of hd95; needed only for that default.

    Raises:
        SpecError: `metric-unknown`, or `metric-penalty` for a table entry that is neither a finite
            number nor None, or where the diagonal is needed and is no positive number.
    """
    _check_metric(metric)
    numbers = []
    for one_sided in (PREDICTION_ONLY, REFERENCE_ONLY):
        number = _number(metric, one_sided, penalties.get(one_sided))
        if number is not None:
            numbers.append(number)
    if numbers:
        return min(numbers) if HIGHER_IS_BETTER[metric] else max(numbers)
    return 0.0 if HIGHER_IS_BETTER[metric] else _diagonal(diagonal)


def _check_metric(metric: str) -> None:
    if metric not in HIGHER_IS_BETTER:
        raise SpecError(
            f"metric {metric!r} is unknown",
            where="metrics",
            hint=f"one of {', '.join(HIGHER_IS_BETTER)}",
            code="metric-unknown",
        )


def _number(metric: str, key: str, value: float | None) -> float | None:
    if value is None:
        return None
    number = real_number(value)
    if number is None:
        raise SpecError(
            f"the penalty of {metric} for {key} is {value!r}, not a finite number",
            where=f"empty_structure.{metric}.{key}",
            hint="give a number, or null for not scored",
            code="metric-penalty",
        )
    return number


def _diagonal(diagonal: float | None) -> float:
    number = real_number(diagonal)
    if number is None or number <= 0:
        raise SpecError(
            f"the default penalty of hd95 needs the grid's diagonal, not {diagonal!r}",
            where="empty_structure.hd95",
            hint="give both one-sided penalties in the table, or pass the diagonal",
            code="metric-penalty",
        )
    return number
