"""`medotter compare` and `medotter export`: what is done with results files after scoring."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from medotter_bench.cli.failures import BAD_INPUT, WRONG, console, fails_with, refuse_unwritable

Metric = Annotated[str | None, typer.Option("--metric", help="Only this metric.")]
_MOST_DATASETS = 20


@fails_with(BAD_INPUT)
def compare(
    first: Annotated[Path, typer.Argument(metavar="A.json", help="Results of A.")],
    second: Annotated[Path, typer.Argument(metavar="B.json", help="Results of B, of the same bundle.")],
    metric: Metric = None,
    fail: Annotated[
        bool, typer.Option("--fail-on-difference", help="Exit 1 if any value or outcome differs.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")] = False,
) -> None:
    """Compare two results of one bundle, paired over the same units. Differences are B minus A.

    Example: medotter compare baseline.json mine.json --metric dice
    """
    from medotter_bench.compare import compare as run
    from medotter_bench.results_reading import load_results

    found = run(load_results(first), load_results(second), metric=metric)
    if as_json:
        from medomni.core.files import json_text

        typer.echo(json_text(found), nl=False)
    else:
        _print(found)
    if fail and not found["identical"]:
        typer.echo("the two results differ", err=True)
        raise typer.Exit(WRONG)


def _print(found: Mapping[str, Any]) -> None:
    from rich.table import Table

    out = console()

    def say(line: str) -> None:
        out.print(line, highlight=False, markup=False, soft_wrap=True)

    def table(title: str, rows: Iterator[tuple[str, str, Mapping[str, Any]]]) -> None:
        shown = Table(box=None, pad_edge=False)
        for column in (
            "region",
            "metric",
            "A",
            "B",
            "B - A",
            "95% interval",
            "n",
            "better A/=/B",
            "p (Holm)",
        ):
            shown.add_column(column, justify="left" if column in ("region", "metric") else "right")
        for region, name, cell in rows:
            shown.add_row(region, name, *_row(cell))
        say(title)
        out.print(shown)

    say(found["answer"])
    for side in ("a", "b"):
        say(_side(side.upper(), found[side]))
    table("", _rows({**found["regions"], "macro_avg": found["macro_avg"]}))
    datasets = found["by_dataset"] if len(found["by_dataset"]) > 1 else {}
    for name in list(datasets)[:_MOST_DATASETS]:
        table(f"\ndataset {name}", _rows(datasets[name]))
    if len(datasets) > _MOST_DATASETS:
        say(f"and {len(datasets) - _MOST_DATASETS} more datasets: see --json")
    say(f"difference: {found['method']['difference']}; p: {found['method']['test']}")
    for name, (first, second) in found["software_differs"].items():
        say(f"software differs: {name} {first} and {second}")


def _rows(regions: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for region, metrics in regions.items():
        for metric, cell in metrics.items():
            yield region, metric, cell


def _side(letter: str, side: Mapping[str, Any]) -> str:
    counts = f"{side['cases']} cases, {side['missing']} missing, {side['invalid']} invalid"
    rank = "; this result cannot rank" if side["cannot_rank"] else ""
    return f"{letter}: {side['file']} ({counts}{rank})"


def _row(cell: Mapping[str, Any]) -> tuple[str, ...]:
    from medotter_bench.cli.score import interval, number

    p = cell["p_holm"] if cell["p_holm"] is not None else cell["p"]
    difference = "–" if cell["difference"] is None else f"{cell['difference']:+.4f}"
    tally = [cell["a_better"], cell["equal"], cell["b_better"]]
    counts = "/".join("–" if count is None else str(count) for count in tally)
    shown_p = "–" if p is None else ("<0.0001" if p < 0.0001 else f"{p:.4f}")
    return (
        number(cell["a"]),
        number(cell["b"]),
        difference,
        interval(cell["ci"]),
        str(cell["n"]),
        counts,
        shown_p,
    )


@fails_with(BAD_INPUT)
def export(
    results: Annotated[list[Path], typer.Argument(metavar="RESULTS...", help="Results files.")],
    form: Annotated[
        Literal["csv", "challenger-csv"],
        typer.Option("--format", help="csv: every value of one file. challenger-csv: challengeR's table."),
    ],
    names: Annotated[
        list[str] | None,
        typer.Option(
            "--name", help="Name of each file's algorithm, in their order; default: the files' names."
        ),
    ] = None,
    metric: Metric = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write here instead of to stdout.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Write results as CSV.

    Example: medotter export a.json b.json --format challenger-csv --name A --name B --out table.csv
    """
    if as_json and out is None:
        raise typer.BadParameter("--json says what was written; it needs --out")
    refuse_unwritable(out)
    text = _exported(results, form, names, metric)
    if out is None:
        typer.echo(text, nl=False)
        return
    from medomni.core.files import json_text, write_atomic

    write_atomic(out, text)
    if as_json:
        typer.echo(json_text({"file": str(out), "format": form}), nl=False)
    else:
        typer.echo(f"{out}: {form}", err=True)


def _exported(paths: list[Path], form: str, names: list[str] | None, metric: str | None) -> str:
    from medotter_bench.compare import refuse_different
    from medotter_bench.export import challenger_text, csv_text, mixed_directions
    from medotter_bench.results_reading import chosen_metrics, load_results

    if form == "csv" and (len(paths) != 1 or names):
        raise typer.BadParameter("--format csv takes one results file and no --name")
    loaded = [load_results(path) for path in paths]
    if form == "csv":
        return csv_text(loaded[0], metric=metric)
    for other in loaded[1:]:
        refuse_different(loaded[0], other)
    text = challenger_text(loaded, names=names or [path.stem for path in paths], metric=metric)
    if mixed_directions(chosen_metrics(loaded[0], metric)):
        typer.echo(
            "note: challengeR takes one smallBetter for all tasks of a table, and these metrics differ in it;"
            " export each with --metric",
            err=True,
        )
    return text


def add_commands(app: typer.Typer) -> None:
    """Add this module's commands to the program."""
    app.command()(compare)
    app.command()(export)
