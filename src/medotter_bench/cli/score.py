"""`medotter score` and `medotter check-predictions`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medotter_bench.cli.failures import BAD_INPUT, WRONG, console, fails_with, print_issues, refuse_unwritable

if TYPE_CHECKING:
    from medomni.core.execution import Workers
    from medomni.core.journal import Journal
    from medotter_bench.results import Results

BundleDir = Annotated[Path, typer.Argument(metavar="BUNDLE", help="Folder of the bundle.")]
Predictions = Annotated[
    Path, typer.Argument(metavar="PREDICTIONS", help="Folder of <case_id><suffix> files.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]


@fails_with(BAD_INPUT)
def score(
    bundle: BundleDir,
    predictions: Predictions,
    data_root: Annotated[
        Path, typer.Option("--data-root", help="Folder that the manifest's paths start from.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="Write results.json here (and timings beside it).")
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="Also write an HTML page about the result here.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="At most so many processes; default: all cores.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", metavar="ADDRESS", help="Score on this Dask cluster instead.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where an interrupted run with the same --out stopped.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 1 if a prediction is missing or invalid.")
    ] = False,
    trust: Annotated[
        bool, typer.Option("--trust-bundle-code", help="Let the bundle's own code run.")
    ] = False,
    as_json: Json = False,
    labels: Annotated[bool, typer.Option("--labels", hidden=True)] = False,
    extra: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
) -> None:
    """Score a folder of predictions against a bundle.

    Example: medotter score benchmarks/nucleus_instance_2d predictions --data-root data --out results.json
    """
    if labels or extra:
        refuse_labels(labels, extra)
    from medomni.core import progress as bars
    from medotter_bench.engine import score_predictions

    refuse_unwritable(out)
    refuse_unwritable(report)
    with (
        bars.for_terminal() as progress,
        _journal(out, resume=resume) as journal,
        _cluster(scheduler, jobs) as cluster,
    ):
        results = score_predictions(
            bundle,
            predictions,
            data_root,
            executor=cluster,
            jobs=jobs,
            journal=journal,
            progress=progress,
            trust_bundle_code=trust,
        )
        if out is not None and journal is not None:
            results.write(out)
            journal.discard()
    if report is not None:
        from medotter_bench.cli.report import write_page
        from medotter_bench.report import Sources

        write_page(results, report, sources=Sources(bundle, data_root, predictions), out=out)
    if as_json:
        typer.echo(results.to_json(), nl=False)
    else:
        _print_summary(results, out)
    if strict and not results.is_complete:
        typer.echo("strict: predictions are missing or invalid", err=True)
        raise typer.Exit(WRONG)


@contextmanager
def _journal(out: Path | None, *, resume: bool) -> Iterator[Journal | None]:
    """The journal beside the results; without results to write there is none."""
    from medomni.core.journal import Journal, journal_path

    if out is None:
        if resume:
            raise typer.BadParameter("--resume needs --out: the journal of a run lies beside its results")
        yield None
        return
    with Journal(journal_path(out), resume=resume, say=_say) as journal:
        try:
            yield journal
        except BaseException:
            if journal.count:
                _say(
                    f"{journal.count} finished cases are kept in {journal.path}; --resume goes on from there"
                )
            raise


def _say(sentence: str) -> None:
    typer.echo(sentence, err=True)


def _cluster(scheduler: str | None, jobs: int | None) -> AbstractContextManager[Workers | None]:
    from medomni.core.execution import dask

    if scheduler is None:
        return nullcontext()
    if jobs is not None:
        raise typer.BadParameter("--jobs and --scheduler exclude each other: the cluster has its own workers")
    return dask(scheduler)


def refuse_labels(labels: bool, extra: list[str] | None) -> None:
    """Labels and regions come from the bundle alone; a list given here would make another benchmark."""
    if labels:
        raise typer.BadParameter("labels and regions come from eval_spec.yaml only; drop --labels")
    raise typer.BadParameter(f"unexpected arguments: {' '.join(extra or [])}")


@fails_with(WRONG)
def check_predictions(
    bundle: BundleDir,
    predictions: Predictions,
    data_root: Annotated[
        Path | None, typer.Option("--data-root", help="Where the inputs are, to compare grids.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check the format of predictions: names, readability, labels, grids. Needs no reference, gives no score.

    Example: medotter check-predictions benchmarks/nucleus_instance_2d predictions --data-root data
    """
    from medomni.core import progress as bars
    from medotter_bench.bundle import Bundle
    from medotter_bench.data_checks import check_predictions as run
    from medotter_bench.engine import protocol_of

    loaded = Bundle(bundle)
    spec = protocol_of(loaded).spec
    with bars.for_terminal() as progress:
        issues = run(loaded, spec, predictions, data_root=data_root, progress=progress)
    print_issues(issues, what=f"{len(loaded.test)} expected predictions", as_json=as_json)


def _print_summary(results: Results, out: Path | None) -> None:
    from rich.table import Table

    out_console = console()
    document, head = results.document, results.headline
    out_console.print(headline_text(head), highlight=False, markup=False)
    table = Table(box=None, pad_edge=False)
    for column in ("region", "metric", "value", "95% interval", "n"):
        table.add_column(column, justify="left" if column in ("region", "metric") else "right")
    shown = {**document["aggregates"]["regions"], "macro_avg": document["aggregates"]["macro_avg"]}
    for region, metrics in shown.items():
        for metric, cell in metrics.items():
            table.add_row(region, metric, number(cell["value"]), interval(cell["ci"]), str(cell["n"]))
    out_console.print(table)
    counts = (
        len(document["cases"]),
        len(document["missing"]),
        len(document["invalid"]),
        len(document["extra"]),
    )
    line = "{} cases, {} missing, {} invalid, {} extra files".format(*counts)
    out_console.print(line, highlight=False, markup=False)
    for entry in document["invalid"][:10]:
        out_console.print(
            f"  invalid {entry['case_id']}: {entry['what']}", highlight=False, markup=False, soft_wrap=True
        )
    for case_id in document["missing"][:10]:
        out_console.print(f"  missing {case_id}", highlight=False, markup=False, soft_wrap=True)
    unlisted = [row["case_id"] for row in document["cases"] if row["unlisted_voxels"]]
    if unlisted:
        line = (
            f"{len(unlisted)} references hold ids that no map lists; they count as background: {unlisted[0]}"
        )
        out_console.print(
            line + (" …" if len(unlisted) > 1 else ""), highlight=False, markup=False, soft_wrap=True
        )
    if out is not None:
        out_console.print(f"results: {out}", highlight=False, markup=False, soft_wrap=True)


def headline_text(head: dict[str, Any]) -> str:
    """The headline in one line: what, value, interval, n, and whether it may rank."""
    tier = f" ({head['tier']})" if head["tier"] else ""
    text = f"{head['region']} {head['metric']}{tier} = {number(head['value'])}"
    if head["ci"]:
        text += f"  95% interval {interval(head['ci'])}"
    text += f"  n = {head['n']}"
    if head["value"] is None:
        text += f"  ({head['reason']})"
    if head["n"] < head["n_required"]:
        text += f" of {head['n_required']} required: this result cannot rank"
    return text


def number(value: float | None) -> str:
    """Four decimals, or a dash for no number."""
    return "–" if value is None else f"{value:.4f}"


def interval(ci: list[float] | None) -> str:
    """An interval in brackets, or a dash."""
    return "–" if ci is None else f"[{ci[0]:.4f}, {ci[1]:.4f}]"


def add_commands(app: typer.Typer) -> None:
    """Add this module's commands to the program."""
    app.command()(score)
    app.command("check-predictions")(check_predictions)
