"""Compares two results of one bundle, paired over the same units. Every difference is B minus A.

A unit is what the bundle's aggregation counts once; of a unit's cases only those count that carry a number in
both results. A missing or invalid prediction is in with its penalty. Leaves to others: reading the files
(`results_reading`), the statistics (`medomni.core.paired`), printing (`cli`).

Source: docs/explanation/scoring.md, aggregation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medomni.core import stats
from medomni.core.paired import (
    FEWEST_DIFFERENCES,
    PAIRED_METHOD,
    SIGNED_RANK_METHOD,
    differences,
    holm,
    paired_interval,
    paired_interval_of_regions,
    signed_rank_p,
)
from medomni.core.stats import Reduce
from medotter_bench.aggregation import units_of
from medotter_bench.case_scoring import CaseRow
from medotter_bench.compare_words import answer
from medotter_bench.metric_facts import direction, unit
from medotter_bench.results_reading import LoadedResults, ResultsError, chosen_metrics
from medotter_bench.specs import MACRO_AVG

SCHEMA = "medotter/comparison/1"
Pair = tuple[float, float]
Units = Mapping[str, Sequence[tuple[CaseRow, CaseRow]]]


def compare(first: LoadedResults, second: LoadedResults, *, metric: str | None = None) -> dict[str, Any]:
    """The comparison of A (`first`) and B (`second`) as a `medotter/comparison/1` document.

    Args:
        first: A.
        second: B, of the same bundle.
        metric: Only this metric; the headline's region is then compared by it.

    Raises:
        ResultsError: `results-differ`, naming each field in which the two bundles differ; `results-metric`.
    """
    refuse_different(first, second)
    metrics = chosen_metrics(first, metric)
    pairs = list(zip(first.rows, second.rows, strict=True))
    head, effective, regions = first.document["headline"], first.document["effective"], first.regions
    names = sorted({str(row.meta["dataset"]) for row in first.rows})

    def table(chosen: Sequence[tuple[CaseRow, CaseRow]]) -> dict[str, dict[str, Any]]:
        return _table(_units(chosen, first.unit), regions, metrics, first.reduce)

    all_regions = table(pairs)
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "a": _side(first),
        "b": _side(second),
        "answer": "",
        "identical": all(_cells(a, metrics) == _cells(b, metrics) for a, b in pairs),
        "bundle": first.document["bundle"],
        "scoring_version": first.document["scoring_version"],
        "task_type": first.document["task_type"],
        "software_differs": _software_differs(first, second),
        "method": {
            "difference": f"{first.reduce} over units of B minus A",
            "unit": first.unit,
            "reduce": first.reduce,
            "interval": PAIRED_METHOD,
            "test": SIGNED_RANK_METHOD,
            "p_holm": "Holm over the regions of one metric",
        },
        "units_of_metrics": {m: unit(m, effective) for m in metrics},
        "headline": _headline(pairs, first, metric or head["metric"]),
        "regions": all_regions,
        "macro_avg": {m: _macro(_units(pairs, first.unit), regions, m, first.reduce) for m in metrics},
        # One dataset is the whole: its intervals need not be drawn again.
        "by_dataset": {names[0]: all_regions}
        if len(names) == 1
        else {n: table([p for p in pairs if str(p[0].meta["dataset"]) == n]) for n in names},
    }
    document["answer"] = answer(document)
    return document


def refuse_different(first: LoadedResults, second: LoadedResults) -> None:
    """Refuse two results that do not answer the same question.

    Raises:
        ResultsError: `results-differ`, with every field that differs.
    """
    ours, theirs = _identity(first), _identity(second)
    fields = [key for key in {**ours, **theirs} if ours.get(key) != theirs.get(key)]
    if not fields:
        return
    told = []
    for key in fields:
        a, b = ours.get(key), theirs.get(key)
        # Long values say no more than that they differ.
        shown = f" ({_short(a)} and {_short(b)})" if not isinstance(a, (dict, list)) else ""
        told.append(f"{key}{shown}")
    raise ResultsError(
        f"the two results differ in {', '.join(told)}, so their numbers do not compare",
        where=f"{first.name} and {second.name}",
        hint="score both prediction folders against the same bundle with the same version of medotter",
        code="results-differ",
    )


def _short(value: Any) -> str:
    text = "absent" if value is None else str(value)
    return text if len(text) <= 40 else f"{text[:12]}…"


def _identity(results: LoadedResults) -> dict[str, Any]:
    document = results.document
    bundle = document["bundle"]
    fields = {f"bundle.{key}": bundle[key] for key in ("task", "version", "hash", "spec_hash")}
    fields |= {f"bundle.files.{name}": digest for name, digest in sorted(bundle["files"].items())}
    fields |= {key: document[key] for key in ("scoring_version", "task_type", "effective")}
    fields["cases"] = [row.case_id for row in results.rows]
    for key in ("dataset", "tier", "patient_uid"):
        fields[f"cases[*].{key}"] = {row.case_id: row.meta[key] for row in results.rows}
    return fields


def _side(results: LoadedResults) -> dict[str, Any]:
    document = results.document
    return {
        "file": results.name,
        "cases": len(results.rows),
        "missing": len(document["missing"]),
        "invalid": len(document["invalid"]),
        "n_required": document["headline"]["n_required"],
        "cannot_rank": document["headline"]["n"] < document["headline"]["n_required"],
    }


def _software_differs(first: LoadedResults, second: LoadedResults) -> dict[str, list[str | None]]:
    ours, theirs = first.document["software"], second.document["software"]
    names = sorted({*ours, *theirs})
    return {name: [ours.get(name), theirs.get(name)] for name in names if ours.get(name) != theirs.get(name)}


def _cells(row: CaseRow, metrics: Sequence[str]) -> Any:
    cells = {(r, m): s.metrics.get(m) for r, s in row.score.regions.items() for m in metrics}
    return row.status, cells


def _units(pairs: Sequence[tuple[CaseRow, CaseRow]], unit_name: str) -> Units:
    partner = {a.case_id: (a, b) for a, b in pairs}
    groups = units_of([a for a, _ in pairs], unit_name)
    return {key: [partner[row.case_id] for row in rows] for key, rows in groups.items()}


def _unit_pair(cases: Sequence[tuple[CaseRow, CaseRow]], region: str, metric: str) -> Pair | None:
    """A unit's two values: means over those of its cases that carry a number in both results."""
    both = [
        (x.value, y.value)
        for x, y in (
            (a.score.regions[region].metrics[metric], b.score.regions[region].metrics[metric])
            for a, b in cases
        )
        if x.value is not None and y.value is not None
    ]
    return (stats.mean([x for x, _ in both]), stats.mean([y for _, y in both])) if both else None


def _counts(units: Units, regions: Sequence[str], metric: str) -> dict[str, int]:
    """Numbers that only one result has, and penalties in each, over cases and regions."""
    found = {"only_a": 0, "only_b": 0, "penalties_a": 0, "penalties_b": 0}
    cells = [
        (a.score.regions[region].metrics[metric], b.score.regions[region].metrics[metric])
        for cases in units.values()
        for a, b in cases
        for region in regions
    ]
    for a, b in cells:
        found["only_a"] += a.value is not None and b.value is None
        found["only_b"] += b.value is not None and a.value is None
        found["penalties_a"] += a.outcome.startswith("penalty:")
        found["penalties_b"] += b.outcome.startswith("penalty:")
    return found


def _reduce(values: Sequence[float], reduce: Reduce) -> float:
    return stats.median(values) if reduce == "median" else stats.mean(values)


def _better(difference: float | None, metric: str) -> str | None:
    want = direction(metric)
    if not difference or want is None:
        return None
    return "B" if (difference > 0) == (want == "higher") else "A"


def _tally(found: Sequence[float], metric: str) -> dict[str, int | None]:
    """In how many units each side is better; unknown for a metric whose direction is."""
    up, down = sum(d > 0 for d in found), sum(d < 0 for d in found)
    want = direction(metric)
    if want is None:
        return {"b_better": None, "equal": len(found) - up - down, "a_better": None}
    better, worse = (up, down) if want == "higher" else (down, up)
    return {"b_better": better, "equal": len(found) - up - down, "a_better": worse}


def _result(
    pairs: Sequence[Pair] | None, metric: str, reduce: Reduce, counts: Mapping[str, int], **given: Any
) -> dict[str, Any]:
    """One comparison; `given` replaces what a macro average computes otherwise."""
    found = None if pairs is None else differences([a for a, _ in pairs], [b for _, b in pairs])
    p = None if found is None else signed_rank_p(found)
    few = f"fewer than {FEWEST_DIFFERENCES} units differ, too few for p < 0.05"
    result: dict[str, Any] = {"direction": direction(metric), "n": len(pairs or ()), **counts}
    if pairs:
        result["a"] = _reduce([a for a, _ in pairs], reduce)
        result["b"] = _reduce([b for _, b in pairs], reduce)
        result["difference"] = _reduce(found or (), reduce)
        interval = paired_interval(found or (), reduce=reduce)
        result["ci"] = None if interval is None else list(interval)
    result |= {"p": p, "p_holm": None, "p_reason": None if p is not None else few}
    result |= _tally(found, metric) if found is not None else dict.fromkeys(("b_better", "equal", "a_better"))
    result |= given
    if not result["n"]:
        empty = dict.fromkeys(("a", "b", "difference", "ci"))
        result |= {**empty, "p_reason": "no pair", "reason": "no unit carries a number in both results"}
    result.setdefault("reason", None)
    result["better"] = _better(result["difference"], metric)
    return result


def _one(units: Units, region: str, metric: str, reduce: Reduce) -> dict[str, Any]:
    found = [_unit_pair(cases, region, metric) for cases in units.values()]
    pairs = [pair for pair in found if pair is not None]
    return _result(pairs, metric, reduce, _counts(units, [region], metric))


def _table(
    units: Units, regions: Sequence[str], metrics: Sequence[str], reduce: Reduce
) -> dict[str, dict[str, Any]]:
    table = {region: {m: _one(units, region, m, reduce) for m in metrics} for region in regions}
    for metric in metrics:
        adjusted = holm([table[region][metric]["p"] for region in regions])
        for region, p in zip(regions, adjusted, strict=True):
            table[region][metric]["p_holm"] = p
    return table


def _macro(units: Units, regions: Sequence[str], metric: str, reduce: Reduce) -> dict[str, Any]:
    """The mean over regions of each one's difference. A unit has a value of its own only with all regions."""
    import numpy as np

    grid = [[_unit_pair(cases, region, metric) for region in regions] for cases in units.values()]
    grid = [row for row in grid if any(row)]
    counts = _counts(units, regions, metric)
    columns = [[row[place] for row in grid] for place in range(len(regions))]
    kept = [[pair for pair in column if pair is not None] for column in columns]
    if not all(kept):
        bare = [region for region, column in zip(regions, kept, strict=True) if not column]
        empty: dict[str, Any] = dict.fromkeys(("a", "b", "difference", "ci"))
        reason = f"no pair of values in region {', '.join(bare)}"
        return _result(None, metric, reduce, counts, **empty, n=len(grid), p_reason=reason, reason=reason)
    whole = [[pair for pair in row if pair is not None] for row in grid]
    complete = all(len(row) == len(regions) for row in whole)
    means = [(stats.mean([a for a, _ in row]), stats.mean([b for _, b in row])) for row in whole]
    found = [differences([a for a, _ in column], [b for _, b in column]) for column in kept]
    matrix = np.array([[0.0 if p is None else round(p[1] - p[0], 12) for p in row] for row in grid])
    present = np.array([[pair is not None for pair in row] for row in grid])
    interval = paired_interval_of_regions(matrix, present=present, reduce=reduce)
    given: dict[str, Any] = {
        "a": stats.mean([_reduce([a for a, _ in column], reduce) for column in kept]),
        "b": stats.mean([_reduce([b for _, b in column], reduce) for column in kept]),
        "difference": stats.mean([_reduce(column, reduce) for column in found]),
        "ci": None if interval is None else list(interval),
        "n": len(grid),
    }
    if not complete:
        given["p_reason"] = "not every unit has every region, so units have no macro average of their own"
    return _result(means if complete else None, metric, reduce, counts, **given)


def _headline(
    pairs: Sequence[tuple[CaseRow, CaseRow]], results: LoadedResults, metric: str
) -> dict[str, Any]:
    head = results.document["headline"]
    tier = head.get("tier")
    units = _units([p for p in pairs if tier is None or p[0].meta["tier"] == tier], results.unit)
    if head["region"] == MACRO_AVG:
        found = _macro(units, results.regions, metric, results.reduce)
    else:
        found = _one(units, head["region"], metric, results.reduce)
    return {"region": head["region"], "metric": metric, "tier": tier, **found}
