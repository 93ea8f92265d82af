"""`medomni doctor`: what this machine can do, and which workspace this is."""

from __future__ import annotations

import os
import platform
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer

from medomni.terminal import BAD_INPUT, AsJson, WorkspaceOption, fails_with, print_json

EXTRAS = {
    "studio": ("duckdb", "sqlglot"),
    "imaging": ("scipy", "nibabel", "PIL", "tifffile", "imagecodecs"),
    "nrrd": ("SimpleITK",),
}
PROGRAMS = ("bwrap", "docker", "podman", "harbor")


def report(workspace: Path | None) -> dict[str, Any]:
    """Python, extras, cores and memory, programs and the workspace, as plain data."""
    import medomni
    from medomni.core.cores import available_memory

    extras = {}
    for extra, modules in EXTRAS.items():
        lacking = [module for module in modules if find_spec(module) is None]
        extras[extra] = {"installed": not lacking, "missing": lacking}
    return {
        "medomni": medomni.__version__,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "memory_available_bytes": available_memory(),
        "extras": extras,
        "programs": {name: shutil.which(name) is not None for name in PROGRAMS},
        "sandbox": {"kinds": [], "note": "this release runs no agents, so it needs and has no sandbox"},
        "workspace": _workspace(workspace),
    }


def _workspace(named: Path | None) -> dict[str, Any]:
    from medomni.core.errors import WorkspaceNotFoundError
    from medomni.core.workspace import find_workspace

    try:
        found = find_workspace(named=named)
    except WorkspaceNotFoundError as failure:
        if named is not None:
            raise
        return {"root": None, "release": None, "note": failure.what}
    return {"root": str(found.root), "release": found.release, "note": ""}


@fails_with(BAD_INPUT)
def doctor(workspace: WorkspaceOption = None, as_json: AsJson = False) -> None:
    """Print what this machine can do: Python, extras, cores, memory, programs, the workspace.

    Example: medomni doctor --json
    """
    found = report(workspace)
    if as_json:
        print_json(found)
        return
    typer.echo(f"medomni {found['medomni']}, Python {found['python']}")
    typer.echo(
        f"{found['cores']} cores, {found['memory_available_bytes'] / 2**30:.1f} GiB of memory available"
    )
    for extra, state in found["extras"].items():
        lacking = f'missing {", ".join(state["missing"])}: pip install "medomni[{extra}]"'
        typer.echo(f"extra {extra}: {'installed' if state['installed'] else lacking}")
    for name, there in found["programs"].items():
        typer.echo(f"program {name}: {'found' if there else 'not found'}")
    typer.echo(f"sandbox: none ({found['sandbox']['note']})")
    here = found["workspace"]
    typer.echo(
        f"workspace: {here['root']}, content release {here['release']}" if here["root"] else here["note"]
    )


def add_commands(app: typer.Typer) -> None:
    """Add this module's command to the program."""
    app.command()(doctor)
