"""Which regions a case scores, and the numbers that stand in where a structure or a prediction is missing.

Shared by the adapters. Leaves to others: the penalty rules themselves (`metrics.empty`).

Source: docs/explanation/scoring.md, partial labels and empty structures.
"""

from __future__ import annotations

from collections.abc import Mapping

from medotter_bench.adapters.base import PENALTY_MISSING, CaseContext, RegionScore, Value
from medotter_bench.metrics import empty
from medotter_bench.specs import Penalty


def left_out(region: str, context: CaseContext) -> str | None:
    """Why a region does not count in this case, or None where it counts."""
    spec, meta = context.spec, context.meta
    own = meta.get("region")
    if own is not None and own != region:
        return "partial_label" if spec.partial_label else "case_region"
    if spec.partial_label and not all(context.remap.can_produce(i) for i in spec.regions[region]):
        return "partial_label"
    return None


def resolved(table: Mapping[str, Penalty], diagonal: float | None) -> dict[str, float | None]:
    """A penalty table with the grid's diagonal in the place of `grid_diagonal`."""
    return {state: diagonal if isinstance(number, str) else number for state, number in table.items()}


def missing(
    context: CaseContext, details: Mapping[str, float | None], *, diagonal: float | None, n_reference: int
) -> RegionScore:
    """A scored region of a case whose prediction is missing or invalid: the worst number per metric."""
    values = {
        metric: Value(empty.worst(metric, resolved(table, diagonal), diagonal=diagonal), PENALTY_MISSING)
        for metric, table in context.spec.penalties.items()
    }
    return RegionScore(values, details, required=is_required(context, n_reference))


def is_required(context: CaseContext, n_reference: int) -> bool:
    """Whether the case must count for the region whatever is predicted.

    It need not where the reference is empty and the table leaves one of the two outcomes out: then an
    honest prediction may well carry no number.
    """
    if n_reference > 0:
        return True
    tables = context.spec.penalties.values()
    return all(table[state] is not None for table in tables for state in empty.STATES[:2])
