"""The command `medotter`. Data goes to stdout, everything else to stderr.

Exit codes: 0 good; 1 a check found something wrong (or `score --strict`); 2 bad input or a malformed command
line; 3 our own fault; 130 interrupted. Leaves to others: everything but reading arguments and printing.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from medotter_bench.cli import bundle as bundle_commands
from medotter_bench.cli import compare, demo, doctor, report, score
from medotter_bench.cli.failures import CONTEXT, set_debug

app = typer.Typer(
    name="medotter",
    help="Score predictions against frozen imaging benchmark bundles.",
    epilog="Example: medotter score benchmarks/thoracic_lesion_ct predictions --data-root data",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=CONTEXT,
    rich_markup_mode=None,
)
app.add_typer(bundle_commands.app, name="bundle")
score.add_commands(app)
compare.add_commands(app)
report.add_commands(app)
doctor.add_commands(app)
demo.add_commands(app)


def _version(asked: bool) -> None:
    if asked:
        import medomni

        typer.echo(f"medotter {medomni.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    set_debug(debug)


def main() -> None:
    """Entry point of the console script."""
    try:
        app()
    except Exception as fault:
        from medotter_bench.cli.failures import is_debug

        if is_debug():
            raise
        typer.echo(f"error[internal]: {type(fault).__name__}: {fault}", err=True)
        typer.echo("  this is a fault of medotter, not of your input", err=True)
        typer.echo("hint: run again as `medotter --debug …` and report what it prints", err=True)
        sys.exit(3)
