"""`medomni bench setup-harbor`: Harbor in a Python environment of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medomni.terminal import BAD_INPUT, fails_with


@fails_with(BAD_INPUT)
def setup_harbor(
    into: Annotated[
        Path | None, typer.Option("--into", metavar="DIR", help="Where; by default below your home folder.")
    ] = None,
) -> None:
    """Install Harbor, exactly the version that was tested, with the digest of every file checked.

    Example: medomni bench setup-harbor
    """
    from medomni.bench.harbor_setup import install

    folder = install(into)
    typer.echo(f"Harbor is in {folder}")


def add_commands(app: typer.Typer) -> None:
    """Add this module's command to the program."""
    app.command("setup-harbor")(setup_harbor)
