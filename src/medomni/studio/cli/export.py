"""`medomni studio export`: a pair's answers in the forms of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medomni.terminal import BAD_INPUT, CONTEXT, AsJson, WorkspaceOption, fails_with, print_json

app = typer.Typer(
    name="export",
    help="Write answers in the forms of other tools.",
    epilog="Example: medomni studio export meds-labels mimic-iv_ckd-staging@demo --out labels.parquet",
    no_args_is_help=True,
    context_settings=CONTEXT,
    rich_markup_mode=None,
)


@app.callback()
def _export() -> None:
    """Write answers in the forms of other tools."""


@app.command("meds-labels")
@fails_with(BAD_INPUT)
def meds_labels(
    pair: Annotated[str, typer.Argument(metavar="PAIR", help="<template>@<cohort>.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="A new Parquet file.")],
    target: Annotated[
        str | None, typer.Option("--target", metavar="NAME", help="Needed where there are several.")
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Write the cohort's answers in the label schema of MEDS: patient, prediction time, and the answer.

    The file holds answers and patients' ids: it must not come near an agent.

    Example: medomni studio export meds-labels mimic-iv_ckd-staging@demo --out labels.parquet
    """
    from medomni.core.names import Pair
    from medomni.core.workspace import find_workspace
    from medomni.studio.definitions.templates import read_template
    from medomni.studio.exporting import target_of, write_meds_labels
    from medomni.studio.opening import open_pair, open_selection

    place, named = find_workspace(named=workspace), Pair.parse(pair)
    library = open_pair(place, named)
    chosen = target_of(read_template(library, named.template), target)
    label = library.label(chosen.label).label
    written = write_meds_labels(place, open_selection(place, named), label, chosen.name, out)
    if as_json:
        print_json(
            {
                "path": str(out),
                "target": written.target,
                "rows": written.rows,
                "columns": list(written.columns),
            }
        )
        return
    typer.echo(f"{out}: {written.rows} labels of {written.target} ({', '.join(written.columns[2:])})")


def add_commands(program: typer.Typer) -> None:
    """Add these commands to `medomni studio`."""
    program.add_typer(app)
