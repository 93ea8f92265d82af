"""Results as CSV: one row per case, region and metric, or the long table that challengeR reads.

UTF-8, a header row, LF line ends, RFC 4180 quoting. Text that a spreadsheet would run as a formula gets a
leading apostrophe; numbers stay as they are, in full precision. Leaves to others: reading the files
(`results_reading`), writing (`cli`).

Source: challengeR's `as.challenge` takes the names of four columns (task, case, algorithm, value), wants each
case once per task and algorithm, `NA` where there is no value, and one direction for all tasks of a table.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from medotter_bench.metric_facts import direction
from medotter_bench.results_reading import LoadedResults, ResultsError, chosen_metrics

CSV_COLUMNS = (
    "case_id",
    "dataset",
    "tier",
    "patient_uid",
    "status",
    "reason",
    "region",
    "metric",
    "value",
    "outcome",
)
COUNTS = ("n_reference", "n_prediction", "tp", "fp", "fn")
CHALLENGER_COLUMNS = ("task", "case", "alg_name", "value")
NOT_AVAILABLE = "NA"
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")

Cell = str | int | float | None


def csv_text(results: LoadedResults, *, metric: str | None = None) -> str:
    """One row per case, region and metric, in the order of the case ids and the protocol.

    Raises:
        ResultsError: `results-metric`.
    """
    metrics = chosen_metrics(results, metric)
    lines: list[Sequence[Cell]] = [(*CSV_COLUMNS, *COUNTS)]
    for row in results.rows:
        about = [row.case_id, *(row.meta[key] for key in ("dataset", "tier", "patient_uid"))]
        for region in results.regions:
            score = row.score.regions[region]
            counts = [score.details.get(name) for name in COUNTS]
            for name in metrics:
                cell = score.metrics[name]
                lines.append([*about, row.status, row.code, region, name, cell.value, cell.outcome, *counts])
    return _text(lines)


def challenger_text(
    results: Sequence[LoadedResults], *, names: Sequence[str], metric: str | None = None
) -> str:
    """challengeR's long table of several results of one bundle; a task is `<region>_<metric>`.

    A region and metric that no case of any result has a value for is left out, as challengeR cannot rank it.

    Args:
        results: Results of one bundle; see `compare.refuse_different`.
        names: The algorithm's name for each of them.
        metric: Only the tasks of this metric.

    Raises:
        ResultsError: `export-names`: not one name for each result, or names that are empty, equal or `NA`;
            `results-metric`.
    """
    _check_names(names, len(results))
    lines: list[Sequence[Cell]] = [CHALLENGER_COLUMNS]
    for region in results[0].regions:
        for name in chosen_metrics(results[0], metric):
            task = [
                (row.case_id, algorithm, row.score.regions[region].metrics[name].value)
                for algorithm, each in zip(names, results, strict=True)
                for row in each.rows
            ]
            if any(value is not None for _, _, value in task):
                lines += [
                    (f"{region}_{name}", case_id, algorithm, NOT_AVAILABLE if value is None else value)
                    for case_id, algorithm, value in task
                ]
    return _text(lines)


def mixed_directions(metrics: Iterable[str]) -> bool:
    """Whether some metrics are better high and others low, which challengeR cannot rank in one table."""
    return len({direction(metric) for metric in metrics}) > 1


def _check_names(names: Sequence[str], n_results: int) -> None:
    if len(names) != n_results:
        what = f"there are {n_results} results and {len(names)} names"
    elif len(set(names)) != len(names):
        what = f"two results bear the same name: {', '.join(names)}"
    elif not all(name.strip() and name != NOT_AVAILABLE for name in names):
        what = f"a name must be text other than {NOT_AVAILABLE}, which means no value"
    else:
        return
    raise ResultsError(what, hint="give one --name per results file, in their order", code="export-names")


def _text(lines: Iterable[Sequence[Cell]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerows([[_cell(cell) for cell in line] for line in lines])
    return buffer.getvalue()


def _cell(cell: Cell) -> str:
    if cell is None:
        return ""
    if not isinstance(cell, str):
        return repr(cell)
    # NUL ends the cell in some readers and a lone CR the row; neither says anything in an id.
    text = cell.replace("\0", "\N{REPLACEMENT CHARACTER}").replace("\r", "\N{REPLACEMENT CHARACTER}")
    return f"'{text}" if cell.startswith(_FORMULA_STARTS) else text
