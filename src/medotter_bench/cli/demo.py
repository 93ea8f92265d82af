"""`medotter demo`: a bundle over a real brain image, predictions made on the spot, and their score."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medotter_bench.cli.failures import BAD_INPUT, fails_with


@fails_with(BAD_INPUT)
def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder to write to.")] = Path("demo-output"),
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="At most so many processes.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON on stdout.")] = False,
) -> None:
    """Segment grey and white matter of the MNI152 template by clustering, and score it against its maps.

    The image ships in the package nilearn; nothing is downloaded.

    Example: medotter demo --out demo-output
    """
    from medomni.core import progress as bars
    from medotter_bench import demo as run
    from medotter_bench.cli.score import _print_summary
    from medotter_bench.engine import score_predictions

    paths = run.prepare(out, say=lambda line: typer.echo(line, err=True))
    with bars.for_terminal() as progress:
        results = score_predictions(
            paths.bundle, paths.predictions, paths.data_root, jobs=jobs, progress=progress
        )
    results.write(paths.results)
    if as_json:
        typer.echo(results.to_json(), nl=False)
        return
    _print_summary(results, paths.results)
    typer.echo(f"overlay: {paths.picture}")


def add_commands(app: typer.Typer) -> None:
    """Add this module's command to the program."""
    app.command()(demo)
