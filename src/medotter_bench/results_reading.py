"""Reads `medotter/results/1` files strictly: the contract first, then whether a file agrees with itself.

Leaves to others: making results (`results`), comparing (`compare`), exporting (`export`), showing (`report`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medomni.core import stats
from medomni.core.contracts import validate
from medomni.core.files import Document, read_json
from medomni.core.issues import Issue, IssuesError, error
from medotter_bench.adapters.base import CaseScore, RegionScore, Value
from medotter_bench.aggregation import unit_value, units_of
from medotter_bench.case_scoring import CaseRow
from medotter_bench.errors import MedotterError
from medotter_bench.specs import MACRO_AVG

UNITS = ("patient", "image", "case")
REDUCES = ("mean", "median")


class ResultsError(MedotterError, ValueError):
    """Results that cannot be compared, exported or shown as asked; `code` says why."""

    code = "results-refused"


@dataclass(frozen=True, slots=True)
class LoadedResults:
    """A results document that fulfils its contract and agrees with itself.

    Attributes:
        name: The file's name as given, for messages.
        document: The document as plain data.
        rows: Its cases in the order of their ids, as the aggregation takes them.
    """

    name: str
    document: Mapping[str, Any]
    rows: tuple[CaseRow, ...]

    @property
    def regions(self) -> list[str]:
        """The regions of the protocol, in its order."""
        return list(self.document["effective"]["regions"])

    @property
    def metrics(self) -> list[str]:
        """The metrics of the protocol, in its order."""
        return list(self.document["effective"]["metrics"])

    @property
    def unit(self) -> str:
        """What counts once: `patient`, `image` or `case`."""
        return str(self.document["effective"]["aggregation"]["unit"])

    @property
    def reduce(self) -> Any:
        """What is taken over units: `mean` or `median`."""
        return self.document["effective"]["aggregation"]["reduce"]


def load_results(path: str | Path) -> LoadedResults:
    """Read a results file.

    Raises:
        DocumentNotFoundError: there is no such file.
        DocumentError: it is no readable JSON.
        IssuesError: it breaks the contract `results` or contradicts itself; `issues` name file and path.
    """
    return checked(read_json(path))


def chosen_metrics(results: LoadedResults, metric: str | None) -> list[str]:
    """All metrics of the results, or the one asked for.

    Raises:
        ResultsError: `results-metric`.
    """
    if metric is None:
        return results.metrics
    if metric not in results.metrics:
        raise ResultsError(
            f"the results hold no metric {metric!r}",
            where=results.name,
            hint=f"metrics of this bundle: {', '.join(results.metrics)}",
            code="results-metric",
        )
    return [metric]


def checked(source: Document) -> LoadedResults:
    """The results in a parsed document.

    Raises:
        IssuesError: as `load_results`.
    """
    issues = validate("results", source) or _contradictions(source)
    if issues:
        raise IssuesError(
            f"{source.name} is no valid results document: {len(issues)} problems",
            issues=issues,
            where=source.name,
            hint="use a file that `medotter score --out` wrote, unchanged",
        )
    return LoadedResults(source.name, source.value, _rows(source.value))


def _wrong(source: Document, path: tuple[Any, ...], what: str) -> Issue:
    return error(
        "results-inconsistent", source.where(path), what, "use the file as `medotter score` wrote it"
    )


def _contradictions(source: Document) -> list[Issue]:
    """What the schema cannot say. Later checks need the earlier ones to pass."""
    return _protocol_issues(source) or _case_issues(source) or _aggregate_issues(source)


def _protocol_issues(source: Document) -> list[Issue]:
    effective, head = source.value["effective"], source.value["headline"]
    regions, metrics, rule = (effective.get(key) for key in ("regions", "metrics", "aggregation"))
    found = []
    if not isinstance(regions, dict) or not regions:
        found.append(_wrong(source, ("effective",), "effective.regions must be a mapping of regions"))
    if not isinstance(metrics, list) or not metrics or not all(isinstance(m, str) for m in metrics):
        found.append(_wrong(source, ("effective",), "effective.metrics must be a list of names"))
    rule = rule if isinstance(rule, dict) else {}
    if rule.get("unit") not in UNITS or rule.get("reduce") not in REDUCES:
        what = (
            f"effective.aggregation needs a unit of {', '.join(UNITS)} and a reduce of {', '.join(REDUCES)}"
        )
        found.append(_wrong(source, ("effective",), what))
    if not found and head["region"] not in (MACRO_AVG, *regions):
        found.append(_wrong(source, ("headline", "region"), f"headline.region {head['region']!r} is unknown"))
    if not found and head["metric"] not in metrics:
        found.append(_wrong(source, ("headline", "metric"), f"headline.metric {head['metric']!r} is unknown"))
    return found


def _case_issues(source: Document) -> list[Issue]:
    document = source.value
    regions, metrics = document["effective"]["regions"], document["effective"]["metrics"]
    found, seen = [], set()
    for index, row in enumerate(document["cases"]):
        path = ("cases", index)
        if row["case_id"] in seen:
            found.append(_wrong(source, path, f"the case {row['case_id']!r} stands there twice"))
        seen.add(row["case_id"])
        if (row["status"] == "scored") != (row["reason"] is None):
            found.append(_wrong(source, path, f"status {row['status']} and reason contradict each other"))
        lacking = [
            f"{region}.{metric}"
            for region in regions
            for metric in metrics
            if not isinstance(row["regions"].get(region, {}).get(metric), dict)
        ]
        if lacking:
            what = f"case {row['case_id']!r} has no value of {', '.join(lacking[:5])}"
            found.append(_wrong(source, (*path, "regions"), what))
    for key, listed in (
        ("missing", sorted(document["missing"])),
        ("invalid", sorted(entry["case_id"] for entry in document["invalid"])),
    ):
        if listed != sorted(row["case_id"] for row in document["cases"] if row["status"] == key):
            found.append(_wrong(source, (key,), f"the list `{key}` is not that of the rows with this status"))
    return found


def _aggregate_issues(source: Document) -> list[Issue]:
    """Values and counts over units that do not follow from the rows: an edited file, or a damaged one."""
    document = source.value
    rule, head = document["effective"]["aggregation"], document["headline"]
    regions, metrics = list(document["effective"]["regions"]), document["effective"]["metrics"]
    rows = _rows(document)
    units = units_of(rows, rule["unit"])
    found = []
    for region, cells in document["aggregates"]["regions"].items():
        for metric, cell in cells.items():
            path = ("aggregates", "regions", region, metric)
            if region not in regions or metric not in metrics:
                found.append(_wrong(source, path, f"{region} {metric} is not part of the protocol"))
            elif reduced(units, [region], metric, rule["reduce"]) != (cell["value"], cell["n"]):
                found.append(_wrong(source, path, f"the {metric} of {region} does not follow from the cases"))
    chosen = [row for row in rows if head.get("tier") is None or row.meta["tier"] == head["tier"]]
    wanted = regions if head["region"] == MACRO_AVG else [head["region"]]
    value, n = reduced(units_of(chosen, rule["unit"]), wanted, head["metric"], rule["reduce"])
    # Units that lack a number which must count are taken off the headline's n.
    if value != head["value"] or n < head["n"]:
        found.append(_wrong(source, ("headline",), "the headline does not follow from the cases"))
    return found


def reduced(
    units: Mapping[str, Sequence[CaseRow]], regions: Sequence[str], metric: str, reduce: str
) -> tuple[float | None, int]:
    """The mean over regions of each one's roll-up, and how many units count, as the aggregation has it."""
    columns = [[unit_value(rows, region, metric) for rows in units.values()] for region in regions]
    n = sum(any(value is not None for value in row) for row in zip(*columns, strict=True))
    numbers = [[value for value in column if value is not None] for column in columns]
    if not all(numbers):
        return None, n
    reducer = stats.median if reduce == "median" else stats.mean
    return stats.mean([reducer(column) for column in numbers]), n


def _rows(document: Mapping[str, Any]) -> tuple[CaseRow, ...]:
    metrics = document["effective"]["metrics"]
    return tuple(_row(row, metrics) for row in sorted(document["cases"], key=lambda r: str(r["case_id"])))


def _row(row: Mapping[str, Any], metrics: Sequence[str]) -> CaseRow:
    regions = {}
    for name, cells in row["regions"].items():
        values = {m: Value(cells[m]["value"], cells[m]["outcome"]) for m in metrics if m in cells}
        details = {key: cell for key, cell in cells.items() if not isinstance(cell, dict)}
        regions[name] = RegionScore(values, details)
    reason = row["reason"] or {"code": None, "what": ""}
    meta = {key: row.get(key) for key in ("dataset", "tier", "patient_uid")}
    score = CaseScore(regions, row.get("unlisted_voxels") or 0)
    return CaseRow(row["case_id"], meta, row["status"], reason["code"], reason["what"], score)
