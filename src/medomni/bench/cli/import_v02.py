"""`medomni bench import-v02`: results of MedOmni 0.2."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medomni.terminal import BAD_INPUT, AsJson, WorkspaceOption, fails_with, print_json


@fails_with(BAD_INPUT)
def import_v02(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder with result records, *.jsonl.")],
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Import results of v0.2 as run records of version 0, and write the task sets that they belong to.

    Nothing is written unless every line is right. They never stand beside later results.

    Example: medomni bench import-v02 old-results
    """
    from medomni.bench.legacy import import_v02 as imported
    from medomni.core.workspace import find_workspace

    found = imported(find_workspace(named=workspace), folder)
    for issue in found.issues:
        typer.echo(str(issue), err=True)
    if as_json:
        print_json(
            {
                "lines": found.n_lines,
                "records": [str(path) for path in found.records],
                "sets": {name: str(path) for name, path in found.sets.items()},
            }
        )
        return
    for name, path in found.sets.items():
        typer.echo(f"{name}: {path}")
    typer.echo(f"{found.n_lines} lines became {len(found.records)} run records")


def add_commands(app: typer.Typer) -> None:
    """Add the command to `medomni bench`."""
    app.command("import-v02")(import_v02)
