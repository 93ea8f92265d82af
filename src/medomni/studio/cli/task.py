"""`medomni studio task check`: what is wrong with a pair; what changed in pinned pairs since a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medomni.terminal import CONTEXT, WRONG, AsJson, WorkspaceOption, fails_with, print_json

if TYPE_CHECKING:
    from medomni.core.workspace import Workspace

app = typer.Typer(
    name="task",
    help="Check tasks.",
    epilog="Example: medomni studio task check mimic-iv_ckd-staging@dummy",
    no_args_is_help=True,
    context_settings=CONTEXT,
    rich_markup_mode=None,
)


@app.callback()
def _task() -> None:
    """Check tasks."""


@app.command()
def check(
    pairs: Annotated[list[str] | None, typer.Argument(metavar="[PAIR]…", help="<template>@<cohort>.")] = None,
    release: Annotated[
        bool,
        typer.Option("--release", help="Compare every pair that a task set pins with the last release."),
    ] = False,
    require_build: Annotated[
        bool, typer.Option("--require-build", help="A pair that is not built is wrong.")
    ] = False,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Check template, cohort, labels, recipes, arms, and what was built of them; exit 1 if anything is wrong.

    With --release, check instead that no pinned pair has changed its cohort, labels, targets, scoring or data
    release since the last release without a higher N.

    Example: medomni studio task check mimic-iv_ckd-staging@n20 mimic-iv_ckd-staging@dummy
    """
    if release == bool(pairs):
        raise typer.BadParameter("name one pair or more, or give --release", param_hint="PAIR")
    if release and require_build:
        raise typer.BadParameter("--release looks at no builds", param_hint="--require-build")
    place = _workspace(workspace)
    if release:
        _check_release(place, as_json)
    else:
        _check_pairs(place, pairs or [], require_build=require_build, as_json=as_json)


@fails_with(WRONG)
def _workspace(named: Path | None) -> Workspace:
    from medomni.core.workspace import find_workspace

    return find_workspace(named=named)


@fails_with(WRONG)
def _check_pairs(workspace: Workspace, pairs: list[str], *, require_build: bool, as_json: bool) -> None:
    from medomni.studio.checking.pair import Checker
    from medomni.studio.release.bytes import released_bytes

    checker = Checker(workspace, require_build=require_build, also=released_bytes(workspace))
    found = []
    for pair in dict.fromkeys(pairs):
        each = checker.check(pair)
        found.append(each)
        if as_json:
            continue
        typer.echo(f"{each.pair}: {'ok' if each.ok else 'wrong'}")
        for part in each.parts:
            typer.echo(f"  {part}")
        for issue in each.issues:
            typer.echo(str(issue))
    ok = all(each.ok for each in found)
    if as_json:
        print_json({"ok": ok, "pairs": [each.as_plain() for each in found]})
    raise typer.Exit(0 if ok else WRONG)


@fails_with(WRONG)
def _check_release(workspace: Workspace, as_json: bool) -> None:
    from medomni.core.issues import errors_of
    from medomni.studio.release.check import check_release

    found = check_release(workspace)
    if as_json:
        print_json(found.as_plain())
        raise typer.Exit(0 if found.ok else WRONG)
    typer.echo(f"against {found.against}" if found.against else "no release is frozen yet: this is the first")
    for each in found.pairs:
        version = f" v{each.parts.version}" if each.parts else ""
        typer.echo(f"  {each.pair}{version}: {each.state}")
    for entry in found.skipped:
        typer.echo(f"  {entry}: skipped, since N = 0 (imported results)")
    for issue in found.issues:
        typer.echo(str(issue))
    errors = len(errors_of(found.issues))
    typer.echo(f"{len(found.sets)} task sets, {len(found.pairs)} pinned pairs: {errors} errors")
    raise typer.Exit(0 if found.ok else WRONG)


def add_commands(program: typer.Typer) -> None:
    """Add these commands to `medomni studio`."""
    program.add_typer(app)
