"""`medotter report`: a results file as one self-contained HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medotter_bench.cli.failures import BAD_INPUT, fails_with, refuse_unwritable

if TYPE_CHECKING:
    from medotter_bench.report import Sources
    from medotter_bench.results import Results


@fails_with(BAD_INPUT)
def report(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="A results file of `medotter score`.")],
    out: Annotated[Path, typer.Option("--out", help="The HTML file to write.")] = Path("report.html"),
    bundle: Annotated[Path | None, typer.Option("--bundle", help="The bundle, for its description.")] = None,
    data_root: Annotated[
        Path | None, typer.Option("--data-root", help="Its data, for pictures of the worst cases.")
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option("--predictions", help="The predictions, for pictures of the worst cases.")
    ] = None,
    withheld: Annotated[
        list[str] | None, typer.Option("--withhold-tier", help="Show no single case of this tier.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Write an HTML page about a result: one file, no script, nothing from elsewhere.

    Example: medotter report results.json --bundle B --data-root data --predictions P --out report.html
    """
    from medotter_bench.report import Sources, read_timings, write_report
    from medotter_bench.results_reading import load_results

    if (data_root is None) != (predictions is None) or (data_root is not None and bundle is None):
        raise typer.BadParameter("pictures need --bundle, --data-root and --predictions together")
    refuse_unwritable(out)
    sources = Sources(bundle, data_root, predictions, tuple(withheld or ()))
    write_report(load_results(results), out, sources=sources, timings=read_timings(results))
    if as_json:
        from medomni.core.files import json_text

        typer.echo(json_text({"file": str(out)}), nl=False)
    else:
        typer.echo(f"report: {out}", err=True)


def write_page(results: Results, page: Path, *, sources: Sources, out: Path | None) -> None:
    """Write the page of results that were just scored; timings come from beside `out`, as they do later."""
    from medomni.core.files import parse_json
    from medotter_bench.report import read_timings, write_report
    from medotter_bench.results_reading import checked

    loaded = checked(parse_json(results.to_json(), name=str(out or page)))
    write_report(loaded, page, sources=sources, timings=read_timings(out) if out is not None else None)


def add_commands(app: typer.Typer) -> None:
    """Add this module's command to the program."""
    app.command()(report)
