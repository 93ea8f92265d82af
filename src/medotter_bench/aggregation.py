"""Rolls case values up: units, regions, macro average, breakdowns, the headline, each with its n.

Pure functions on rows. Leaves to others: the interval's arithmetic (`medomni.core.stats`) and the document
(`results`).

Source: docs/explanation/scoring.md, aggregation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from medomni.core import stats
from medotter_bench.case_scoring import CaseRow
from medotter_bench.specs import MACRO_AVG, EvalSpec, Reporting

Aggregate = dict[str, Any]
Units = dict[str, list[CaseRow]]


def units_of(rows: Iterable[CaseRow], unit: str) -> Units:
    """Rows grouped into the units that count once each.

    `patient`: dataset and `patient_uid` together; a case without a `patient_uid` is its own unit. Sorted, so
    that no order of cases moves a digit.
    """
    groups: Units = {}
    for row in sorted(rows, key=lambda r: r.case_id):
        patient = row.meta.get("patient_uid")
        key = f"case\0{row.case_id}"
        if unit == "patient" and patient is not None:
            key = f"patient\0{row.meta.get('dataset')}\0{patient}"
        groups.setdefault(key, []).append(row)
    return dict(sorted(groups.items()))


def unit_value(rows: Sequence[CaseRow], region: str, metric: str) -> float | None:
    """A unit's value: the mean of its cases that carry a number; None if none does."""
    found = [row.score.regions[region].metrics[metric].value for row in rows]
    numbers = [value for value in found if value is not None]
    return stats.mean(numbers) if numbers else None


def _reducer(reduce: str) -> Callable[[Sequence[float]], float]:
    return stats.median if reduce == "median" else stats.mean


def aggregate(values: Sequence[float], reduce: Any, *, empty_reason: str) -> Aggregate:
    """One roll-up over units: value, n and 95% interval; null with the reason where n is 0."""
    if not values:
        return {"value": None, "n": 0, "ci": None, "reason": empty_reason}
    interval = stats.bootstrap_interval(values, reduce=reduce)
    return {
        "value": _reducer(reduce)(values),
        "n": len(values),
        "ci": None if interval is None else list(interval),
        "reason": None,
    }


def region_aggregate(units: Units, region: str, metric: str, reduce: Any) -> Aggregate:
    """The roll-up of one metric over one region."""
    values = [unit_value(rows, region, metric) for rows in units.values()]
    numbers = [value for value in values if value is not None]
    return aggregate(numbers, reduce, empty_reason=f"no case scores region {region}")


def macro_aggregate(units: Units, regions: Sequence[str], metric: str, reduce: Any) -> Aggregate:
    """The mean of the regions' roll-ups (never of all pairs); null where a region has n = 0."""
    columns = {r: [unit_value(rows, r, metric) for rows in units.values()] for r in regions}
    n = sum(any(columns[r][u] is not None for r in regions) for u in range(len(units)))
    bare = [r for r in regions if all(value is None for value in columns[r])]
    if bare:
        reason = f"no case scores region {', '.join(bare)}"
        return {"value": None, "n": n, "ci": None, "reason": reason}
    per_region = [_reducer(reduce)([v for v in columns[r] if v is not None]) for r in regions]
    matrix = np.array([[0.0 if v is None else v for v in columns[r]] for r in regions]).T
    present = np.array([[v is not None for v in columns[r]] for r in regions]).T
    interval = stats.bootstrap_interval_of_regions(matrix, present=present, reduce=reduce)
    return {
        "value": stats.mean(per_region),
        "n": n,
        "ci": None if interval is None else list(interval),
        "reason": None,
    }


def _selected(reporting: Reporting, names: Iterable[str]) -> list[str]:
    if isinstance(reporting, bool):
        return sorted(names) if reporting else []
    return [name for name in sorted(names) if name in reporting]


def aggregates(rows: Sequence[CaseRow], spec: EvalSpec) -> dict[str, Any]:
    """The `aggregates` block of a result: regions, macro average, and the breakdowns asked for."""
    rule = spec.aggregation
    units = units_of(rows, rule.unit)
    regions = list(spec.regions)
    shown = [r for r in regions if rule.by_region is True or (rule.by_region and r in rule.by_region)]

    def table(subset: Units, names: Sequence[str]) -> dict[str, dict[str, Aggregate]]:
        return {
            region: {m: region_aggregate(subset, region, m, rule.reduce) for m in spec.metrics}
            for region in names
        }

    def breakdown(key: str, reporting: Reporting) -> dict[str, Any]:
        names = {str(row.meta[key]) for row in rows if row.meta.get(key) is not None}
        return {
            name: table(units_of(_where(rows, key, name), rule.unit), regions)
            for name in _selected(reporting, names)
        }

    return {
        "regions": table(units, shown),
        "macro_avg": {m: macro_aggregate(units, regions, m, rule.reduce) for m in spec.metrics},
        "by_dataset": breakdown("dataset", rule.by_dataset),
        "by_tier": breakdown("tier", rule.by_tier),
    }


def _where(rows: Sequence[CaseRow], key: str, name: str) -> list[CaseRow]:
    return [row for row in rows if row.meta.get(key) is not None and str(row.meta[key]) == name]


def headline(rows: Sequence[CaseRow], spec: EvalSpec) -> dict[str, Any]:
    """The one number of the leaderboard, with its n and the n that it needs to rank."""
    want = spec.aggregation.headline
    chosen = list(rows) if want.tier is None else _where(rows, "tier", want.tier)
    units = units_of(chosen, spec.aggregation.unit)
    regions = list(spec.regions) if want.region == MACRO_AVG else [want.region]
    if want.region == MACRO_AVG:
        result = macro_aggregate(units, regions, want.metric, spec.aggregation.reduce)
    else:
        result = region_aggregate(units, want.region, want.metric, spec.aggregation.reduce)
    return {
        "region": want.region,
        "metric": want.metric,
        "tier": want.tier,
        "value": result["value"],
        "n": result["n"] - n_incomplete(units, regions, want.metric),
        "n_required": n_required(units, regions),
        "ci": result["ci"],
        "ci_method": stats.BOOTSTRAP_METHOD,
        "reason": result["reason"],
    }


def n_incomplete(units: Mapping[str, Sequence[CaseRow]], regions: Sequence[str], metric: str) -> int:
    """Units that have a number and lack another that must count.

    Such a unit carries a gap (a table that leaves a missed structure out) behind the number of another
    region or scan. It does not count towards the headline's n, so that the result cannot rank.
    """
    counted = 0
    for rows in units.values():
        scores = [row.score.regions[region] for row in rows for region in regions]
        has_number = any(score.metrics[metric].value is not None for score in scores)
        counted += has_number and any(s.required and s.metrics[metric].value is None for s in scores)
    return counted


def n_required(units: Mapping[str, Sequence[CaseRow]], regions: Sequence[str]) -> int:
    """How many units must count: those with a case that counts for some region whatever is predicted."""
    return sum(
        any(row.score.regions[region].required for row in rows for region in regions)
        for rows in units.values()
    )
