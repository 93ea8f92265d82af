"""`medomni studio preview`: a page that shows what an agent will see of an atom, and what was removed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medomni.terminal import BAD_INPUT, AsJson, WorkspaceOption, fails_with, print_json


@fails_with(BAD_INPUT)
def preview(
    pair: Annotated[str, typer.Argument(metavar="PAIR", help="<template>@<cohort>.")],
    atom: Annotated[
        str | None, typer.Option("--atom", metavar="ATOM", help="Its name; the first by default.")
    ] = None,
    arm: Annotated[str | None, typer.Option("--arm", help="The arm; the first by default.")] = None,
    variant: Annotated[
        str | None, typer.Option("--variant", help="The arm's variant; its last by default.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The page; <atom>.html by default.")
    ] = None,
    threads: Annotated[int | None, typer.Option("--threads", min=1, help="By default, all cores.")] = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Write one HTML page: what an agent will see of an atom, and what was removed by which rule.

    Example: medomni studio preview mimic-iv_ckd-staging@dummy --out preview.html
    """
    from medomni.core.files import write_atomic
    from medomni.core.names import Pair
    from medomni.core.workspace import find_workspace
    from medomni.studio.preview.making import make_preview
    from medomni.studio.preview.page import page

    place = find_workspace(named=workspace)
    found = make_preview(place, Pair.parse(pair), atom=atom, arm=arm, variant=variant, threads=threads)
    path = out or Path(f"{found.atom}.html")
    write_atomic(path, page(found))
    if as_json:
        print_json(
            {"path": str(path), "atom": found.atom, "arm": found.arm, "config_hash": found.config_hash}
        )
        return
    typer.echo(f"{path}: {found.atom} under {found.arm} (atom {found.number} of {found.total})")


def add_commands(program: typer.Typer) -> None:
    """Add this command to `medomni studio`."""
    program.command("preview")(preview)
