"""A result as the tables and drawings of a page, in the page's order. Pure: plain data in, plain data out.

Leaves to others: text and escaping (the template), pictures of cases (`pictures`), geometry (`distribution`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from medomni.core import stats
from medotter_bench.case_scoring import CaseRow
from medotter_bench.metric_facts import unit
from medotter_bench.report import distribution
from medotter_bench.report.layout import DASH, Table, better_words, interval, metric_name, number, plain
from medotter_bench.report.pictures import Picture, Worst
from medotter_bench.results_reading import LoadedResults

Drawn = Sequence[tuple[Worst, Picture | str]]
_UNITS = {"patient": "patients", "image": "images", "case": "cases"}
_SLOWEST = 10


def headline(results: LoadedResults) -> dict[str, Any]:
    """The headline's words and numbers."""
    head = results.document["headline"]
    metric = head["metric"]
    return {
        "title": f"{head['region']} {metric}" + (f", tier {head['tier']}" if head.get("tier") else ""),
        "value": number(head["value"], metric),
        "unit": unit(metric, results.document["effective"]),
        "interval": None if head["ci"] is None else interval(head["ci"], metric),
        "n": head["n"],
        "n_required": head["n_required"],
        "units": _UNITS[results.unit],
        "better": better_words(metric),
        "reason": head.get("reason"),
        "ci_method": head["ci_method"],
        "cannot_rank": head["n"] < head["n_required"] or head["value"] is None,
        "reduce": results.reduce,
    }


def scored_table(results: LoadedResults, about: Mapping[str, str]) -> Table:
    """What was scored, against what, by what."""
    document = results.document
    bundle = document["bundle"]
    rows = [[name, text] for name, text in about.items()]
    rows += [
        ["task", bundle["task"]],
        ["version", bundle["version"]],
        ["manifest hash", bundle["hash"]],
        ["specification hash", bundle["spec_hash"]],
    ]
    rows += [[f"SHA-256 of {name}", digest] for name, digest in bundle["files"].items()]
    rows += [["task type", document["task_type"]], ["scoring version", str(document["scoring_version"])]]
    rows += [[f"software: {name}", plain(version)] for name, version in document["software"].items()]
    rows += [["sandbox", plain(document["sandbox"])]]
    return Table("t-scored", "Bundle, hashes and software", ("what", "value"), rows)


def status_table(results: LoadedResults) -> Table:
    """How many cases were scored, missing, invalid, penalised; and files of no case."""
    rows = results.rows
    by_status = Counter(row.status for row in rows)
    kinds = Counter(
        value.outcome
        for row in rows
        for region in row.score.regions.values()
        for value in region.metrics.values()
        if value.outcome != "ok"
    )
    lines = [
        ["cases of the test split", str(len(rows))],
        ["scored", str(by_status["scored"])],
        ["missing prediction (worst number of the penalty table)", str(by_status["missing"])],
        ["invalid prediction (worst number of the penalty table)", str(by_status["invalid"])],
        ["cases with at least one penalty", str(sum(map(is_penalised, rows)))],
        [
            "cases whose reference holds ids that no map lists",
            str(sum(bool(r.score.unlisted_voxels) for r in rows)),
        ],
        ["files that belong to no case", str(len(results.document["extra"]))],
    ]
    lines += [[f"values with outcome {outcome}", str(count)] for outcome, count in sorted(kinds.items())]
    return Table(
        "t-status", "Counts of what is not an ordinary score", ("what", "number"), lines, frozenset({1})
    )


def is_penalised(row: CaseRow) -> bool:
    """Whether a penalty stands in for some value of the case."""
    return any(
        value.outcome.startswith("penalty:")
        for region in row.score.regions.values()
        for value in region.metrics.values()
    )


def problem_table(rows: Sequence[CaseRow], extra: Sequence[str]) -> Table:
    """Each missing, invalid or penalised case, and each extra file, with the reason."""
    lines = []
    for row in rows:
        if row.status != "scored":
            lines.append([row.case_id, row.status, row.code or DASH, row.what or DASH])
        elif is_penalised(row):
            what = "; ".join(
                f"{name} {metric}: {value.outcome.removeprefix('penalty:')}"
                for name, region in row.score.regions.items()
                for metric, value in region.metrics.items()
                if value.outcome.startswith("penalty:")
            )
            lines.append([row.case_id, "penalised", "penalty", what])
    lines += [[path, "extra file", DASH, "belongs to no case; not read"] for path in extra]
    order = {"missing": 0, "invalid": 1, "penalised": 2, "extra file": 3}
    lines.sort(key=lambda line: (order[line[1]], line[0]))
    columns = ("case or file", "kind", "code", "reason")
    return Table("t-problems", "Missing, invalid and penalised cases, and extra files", columns, lines)


def figures(results: LoadedResults, rows: Sequence[CaseRow]) -> list[dict[str, Any]]:
    """One figure per metric with its table twin; regions without a number have no strip."""
    return [_figure(results, rows, metric, place) for place, metric in enumerate(results.metrics)]


def _figure(results: LoadedResults, rows: Sequence[CaseRow], metric: str, place: int) -> dict[str, Any]:
    marks = {region: _marks(rows, region, metric) for region in results.regions}
    axis = distribution.axis_of(metric, [mark for each in marks.values() for mark in each])
    name = metric_name(metric, unit(metric, results.document["effective"]))
    strips = [
        {"region": region, "drawing": distribution.strip(each, axis), "words": _words(each, metric)}
        for region, each in marks.items()
        if each
    ]
    columns = (
        "region",
        "cases",
        "penalised",
        "mean",
        "least",
        "quartile 1",
        "median",
        "quartile 3",
        "largest",
    )
    lines = [[region, *_summary(each, metric)] for region, each in marks.items()]
    caption = f"Distribution of {name} over cases"
    return {
        "key": f"f{place}",
        "title": name,
        "strips": strips,
        "ticks": [f"{tick:g}" for tick in (round(t, 6) for t in axis.ticks)],
        "beyond": any(axis.x(m.value) > distribution.WIDTH for each in marks.values() for m in each),
        "penalties": any(mark.is_penalty for each in marks.values() for mark in each),
        "table": Table(f"t-f{place}", caption, columns, lines, frozenset(range(1, len(columns)))),
        "better": better_words(metric),
    }


def _marks(rows: Sequence[CaseRow], region: str, metric: str) -> list[distribution.Mark]:
    cells = [row.score.regions[region].metrics[metric] for row in rows]
    return [
        distribution.Mark(cell.value, cell.outcome.startswith("penalty:"))
        for cell in cells
        if cell.value is not None
    ]


def _summary(marks: Sequence[distribution.Mark], metric: str) -> list[str]:
    values = [mark.value for mark in marks]
    counts = [str(len(values)), str(sum(mark.is_penalty for mark in marks))]
    if not values:
        return [*counts, *([DASH] * 6)]
    return [
        *counts,
        number(stats.mean(values), metric),
        *(number(q, metric) for q in distribution.quartiles(values)),
    ]


def _words(marks: Sequence[distribution.Mark], metric: str) -> str:
    """The drawing in a sentence."""
    values = [mark.value for mark in marks]
    least, _, median, _, most = (number(q, metric) for q in distribution.quartiles(values))
    penalties = sum(mark.is_penalty for mark in marks)
    return f"{len(values)} cases from {least} to {most}, median {median}, {penalties} penalised"


def aggregate_table(
    key: str,
    caption: str,
    groups: Sequence[tuple[str, str, Mapping[str, Any]]],
    effective: Mapping[str, Any],
    *,
    group: str = "",
) -> Table:
    """Values with interval and n. `groups`: name of the group, region, metric -> aggregate."""
    lines = []
    for name, region, metrics in groups:
        for metric, cell in metrics.items():
            start = [name, region] if group else [region]
            value = number(cell["value"], metric)
            if cell["value"] is None and cell.get("reason"):
                value = f"{value} ({cell['reason']})"
            shown = metric_name(metric, unit(metric, effective))
            lines.append([*start, shown, value, interval(cell["ci"], metric), str(cell["n"])])
    columns = [*([group] if group else []), "region", "metric", "value", "95% interval", "n"]
    return Table(key, caption, columns, lines, frozenset(range(len(columns) - 3, len(columns))))


def aggregate_tables(results: LoadedResults) -> list[Table]:
    """Regions with the macro average, then datasets, then tiers, as far as the bundle reports them."""
    found, effective = results.document["aggregates"], results.document["effective"]
    unit_words = f"{results.reduce} over {_UNITS[results.unit]}"
    regions = [("", region, cells) for region, cells in found["regions"].items()]
    regions.append(("", "macro_avg", found["macro_avg"]))
    tables = [aggregate_table("t-regions", f"Regions ({unit_words})", regions, effective)]
    for key, group in (("by_dataset", "dataset"), ("by_tier", "tier")):
        groups = [
            (n, region, cells) for n, table in found.get(key, {}).items() for region, cells in table.items()
        ]
        if groups:
            caption = f"By {group} ({unit_words})"
            tables.append(aggregate_table(f"t-{group}", caption, groups, effective, group=group))
    return tables


def worst_table(drawn: Drawn, metric: str) -> Table:
    """The twin of the pictures: the same cases with their numbers, and why a picture is absent."""
    lines = []
    for worst, picture in drawn:
        details = worst.row.score.regions[worst.region].details
        counts = [_count(details.get(key)) for key in ("n_reference", "n_prediction")]
        shown, differing = (
            (picture, DASH) if isinstance(picture, str) else (picture.where, str(picture.differing))
        )
        if isinstance(picture, str):
            shown = f"no picture: {picture}"
        start = [worst.row.case_id, worst.region, number(worst.value, metric), worst.outcome]
        lines.append([*start, *counts, differing, shown])
    columns = (
        "case",
        "region",
        metric,
        "outcome",
        "in reference",
        "in prediction",
        "pixels that differ",
        "picture",
    )
    return Table("t-worst", f"Worst cases by {metric}", columns, lines, frozenset({2, 4, 5, 6}))


def _count(value: float | None) -> str:
    return DASH if value is None else f"{value:g}" if value != int(value) else str(int(value))


def timing_table(timings: Mapping[str, float], hidden: Sequence[str]) -> Table:
    """Seconds of all cases together and of the slowest."""
    shown = {case: seconds for case, seconds in timings.items() if case not in hidden}
    values = list(timings.values())
    lines = [
        ["all cases, one after the other", f"{sum(values):.2f}"],
        ["median case", f"{stats.median(values):.2f}"],
    ]
    slowest = sorted(shown.items(), key=lambda item: (-item[1], item[0]))[:_SLOWEST]
    lines += [[f"case {case}", f"{seconds:.2f}"] for case, seconds in slowest]
    return Table(
        "t-timings", "Seconds for scoring; the slowest cases", ("what", "seconds"), lines, frozenset({1})
    )


def case_table(results: LoadedResults, rows: Sequence[CaseRow]) -> Table:
    """Every value of every case; what is not an ordinary score says so beside its number."""
    metrics, effective = results.metrics, results.document["effective"]
    lines = []
    for row in rows:
        for region in results.regions:
            score = row.score.regions[region]
            cells = [_cell(score.metrics[m].value, score.metrics[m].outcome, m) for m in metrics]
            counts = [_count(score.details.get(key)) for key in ("n_reference", "n_prediction")]
            about = [plain(row.meta[key]) for key in ("dataset", "tier")]
            lines.append([row.case_id, *about, row.status, region, *cells, *counts])
    names = [metric_name(m, unit(m, effective)) for m in metrics]
    columns = ["case", "dataset", "tier", "status", "region", *names, "in reference", "in prediction"]
    return Table("t-cases", "Every case", columns, lines, frozenset(range(5, len(columns))))


def _cell(value: float | None, outcome: str, metric: str) -> str:
    shown = number(value, metric)
    return shown if outcome == "ok" else f"{shown} ({outcome.replace('_', ' ')})"


def protocol_table(effective: Mapping[str, Any]) -> Table:
    """The protocol in force; nested settings with dots."""
    lines = []
    for key, value in effective.items():
        if key in ("defaults_used", "label_remap"):
            continue
        if isinstance(value, Mapping) and value:
            lines += [[f"{key}.{name}", plain(item)] for name, item in value.items()]
        else:
            lines.append([key, plain(value)])
    return Table("t-protocol", "Effective protocol", ("setting", "value"), lines)


def defaults_table(effective: Mapping[str, Any]) -> Table:
    """What the bundle left out and was filled in."""
    pairs = [plain(entry).partition("=") for entry in effective["defaults_used"]]
    lines = [[name, value] for name, _, value in pairs]
    return Table("t-defaults", "Defaults used where the bundle is silent", ("setting", "default"), lines)


def remap_table(effective: Mapping[str, Any]) -> Table:
    """Native to canonical ids of each dataset."""
    lines = [
        [dataset, native, str(canonical)]
        for dataset, ids in effective["label_remap"].items()
        for native, canonical in ids.items()
    ]
    columns = ("dataset", "id in the reference file", "counts as")
    return Table("t-remap", "Label map of the references", columns, lines, frozenset({1, 2}))
