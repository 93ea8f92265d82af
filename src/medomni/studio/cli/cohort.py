"""`medomni studio cohort`: who is in a cohort, and who was left out by which rule."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from medomni.terminal import BAD_INPUT, CONTEXT, AsJson, WorkspaceOption, fails_with, print_json

app = typer.Typer(
    name="cohort",
    help="Draw cohorts, and show who was left out.",
    epilog="Example: medomni studio cohort flow mimic-iv_ckd-staging@demo --svg flow.svg",
    no_args_is_help=True,
    context_settings=CONTEXT,
    rich_markup_mode=None,
)


@app.callback()
def _cohort() -> None:
    """Draw cohorts, and show who was left out."""


@app.command("flow")
@fails_with(BAD_INPUT)
def flow(
    pair: Annotated[str, typer.Argument(metavar="PAIR", help="<template>@<cohort>.")],
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Write the picture there too.")
    ] = None,
    threads: Annotated[int | None, typer.Option("--threads", min=1, help="By default, all cores.")] = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Count the events and people after every step from the candidates to the cohort.

    Example: medomni studio cohort flow mimic-iv_ckd-staging@demo
    """
    from medomni.core.files import write_atomic
    from medomni.core.names import Pair
    from medomni.core.workspace import find_workspace
    from medomni.studio.flow import flow_svg, flow_table, strata_counts
    from medomni.studio.opening import open_selection

    found = open_selection(find_workspace(named=workspace), Pair.parse(pair), threads=threads)
    if svg is not None:
        write_atomic(svg, flow_svg(found).encode())
    for note in found.notes:
        typer.echo(f"note: {note}", err=True)
    for warning in found.warnings:
        typer.echo(f"warning: {warning}", err=True)
    if as_json:
        print_json(_document(found))
        return
    typer.echo(f"{found.pair} v{found.version} on {found.release}")
    typer.echo(flow_table(found))
    strata = strata_counts(found.atoms)
    if set(strata) != {""}:
        typer.echo("strata: " + ", ".join(f"{name}: {count}" for name, count in strata.items()))


def _document(found: Any) -> dict[str, Any]:
    from dataclasses import asdict

    from medomni.studio.flow import strata_counts

    return {
        "pair": str(found.pair),
        "version": found.version,
        "release": found.release,
        "n": len(found.atoms),
        "steps": [asdict(step) for step in found.steps],
        "strata": strata_counts(found.atoms),
        "warnings": list(found.warnings),
    }
