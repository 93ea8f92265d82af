"""The command `medomni`. Data goes to stdout, everything else to stderr.

Exit codes: 0 good; 1 a check found something wrong; 2 bad input or a malformed command line; 3 our own fault;
130 interrupted. Leaves to others: everything but reading arguments and printing.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from medomni.bench import cli as bench
from medomni.cli import contract, demo, doctor, init
from medomni.studio import cli as studio
from medomni.terminal import CONTEXT, OUR_FAULT, is_debug, set_debug

app = typer.Typer(
    name="medomni",
    help="Clinical tasks for AI agents: definitions, built tasks, and the contracts between the parts.",
    epilog="Example: medomni studio cohort flow mimic-iv_ckd-staging@demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=CONTEXT,
    rich_markup_mode=None,
)
init.add_commands(app)
doctor.add_commands(app)
demo.add_commands(app)
app.add_typer(contract.app, name="contract")
app.add_typer(studio.app, name="studio")
app.add_typer(bench.app, name="bench")


def _print_version(asked: bool) -> None:
    if asked:
        import medomni

        typer.echo(f"medomni {medomni.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
    # Eager: without a command nothing later than the options is looked at.
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop."),
    ] = False,
) -> None:
    set_debug(debug)


def main() -> None:
    """Entry point of the console script."""
    try:
        app()
    except Exception as fault:
        if is_debug():
            raise
        typer.echo(f"error[internal]: {type(fault).__name__}: {fault}", err=True)
        typer.echo("  this is a fault of medomni, not of your input", err=True)
        typer.echo("hint: run again as `medomni --debug …` and report what it prints", err=True)
        sys.exit(OUR_FAULT)
