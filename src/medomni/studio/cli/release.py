"""`medomni studio release`: fix what a content release holds."""

from __future__ import annotations

from typing import Annotated

import typer

from medomni.terminal import BAD_INPUT, CONTEXT, AsJson, WorkspaceOption, fails_with, print_json

app = typer.Typer(
    name="release",
    help="Fix content releases.",
    epilog="Example: medomni studio release freeze 0.3.0",
    no_args_is_help=True,
    context_settings=CONTEXT,
    rich_markup_mode=None,
)


@app.callback()
def _release() -> None:
    """Fix content releases."""


@app.command()
@fails_with(BAD_INPUT)
def freeze(
    version: Annotated[str, typer.Argument(metavar="VERSION", help="The release in medomni.toml.")],
    without_builds: Annotated[
        bool,
        typer.Option(
            "--without-builds",
            help="Do without the digests of built dummy pairs; a changed renderer then shows nowhere.",
        ),
    ] = False,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Check every pinned pair against the last release, then write bench/releases/VERSION.lock.json.

    Example: medomni studio release freeze 0.3.0
    """
    from dataclasses import asdict

    from medomni.core.workspace import find_workspace
    from medomni.studio.release.freezing import freeze as write_lock

    place = find_workspace(named=workspace)
    frozen = write_lock(place, version, without_builds=without_builds)
    path = place.relative(frozen.path)
    if as_json:
        print_json({**asdict(frozen), "path": path})
        return
    typer.echo(f"{path}: {frozen.sets} task sets, {frozen.pairs} pairs, {frozen.builds} dummy builds")
    if without_builds:
        typer.echo("warning: the lock knows no built bytes; a changed renderer shows nowhere", err=True)


def add_commands(program: typer.Typer) -> None:
    """Add these commands to `medomni studio`."""
    program.add_typer(app)
