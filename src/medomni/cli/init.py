"""`medomni init`: a new workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medomni.terminal import BAD_INPUT, AsJson, fails_with, print_json


@fails_with(BAD_INPUT)
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    as_json: AsJson = False,
) -> None:
    """Make a workspace with the content that comes with this release.

    Example: medomni init my-workspace
    """
    from medomni.core.new_workspace import make_workspace

    made = make_workspace(folder)
    if as_json:
        print_json({"workspace": str(made.root), "release": made.release})
    else:
        typer.echo(f"{made.root}: a workspace of content release {made.release}")


def add_commands(app: typer.Typer) -> None:
    """Add this module's command to the program."""
    app.command()(init)
