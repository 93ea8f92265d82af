"""`medomni doctor`: what this machine can do, where agents can run on it, and which workspace this is."""

from __future__ import annotations

import os
import platform
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from medomni.terminal import BAD_INPUT, AsJson, WorkspaceOption, fails_with, print_json

if TYPE_CHECKING:
    from medomni.bench.environments import Survey

EXTRAS = {
    "studio": ("duckdb", "sqlglot"),
    "imaging": ("scipy", "nibabel", "PIL", "tifffile", "imagecodecs"),
    "nrrd": ("SimpleITK",),
}
PROGRAMS = ("bwrap", "docker", "podman")


def report(workspace: Path | None) -> dict[str, Any]:
    """Python, extras, cores, memory, programs, environments of agents, the workspace, as plain data."""
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
        "environments": [each.as_dict() for each in _environments(workspace)],
        "harbor": _harbor(workspace),
        "workspace": _workspace(workspace),
    }


def _environments(workspace: Path | None) -> list[Survey]:
    """Where agents can run here, and which limits are held there, found by trying."""
    from medomni.bench.environments import DOCKER, LOCAL, PODMAN, rootfs_of, survey
    from medomni.core.errors import WorkspaceNotFoundError
    from medomni.core.workspace import find_workspace

    try:
        rootfs = rootfs_of(find_workspace(named=workspace))
    except WorkspaceNotFoundError:
        rootfs = None
    return [survey(kind, rootfs) for kind in (DOCKER, PODMAN, LOCAL)]


def _harbor(workspace: Path | None) -> dict[str, Any]:
    from medomni.bench.errors import RunRefusedError
    from medomni.bench.harbor_program import VERSION, find_python

    try:
        python = find_python(Path(_workspace(workspace)["root"] or "."))
    except RunRefusedError as failure:
        return {"version": VERSION, "installed": False, "why": f"{failure.what}: {failure.hint}"}
    return {"version": VERSION, "installed": True, "why": str(python)}


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
    """Print what this machine can do: Python, extras, memory, where agents can run, the workspace.

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
    harbor = found["harbor"]
    typer.echo(f"harbor {harbor['version']}: {'installed' if harbor['installed'] else harbor['why']}")
    for each in found["environments"]:
        typer.echo(f"environment {each['kind']}: {_told(each)}")
    here = found["workspace"]
    typer.echo(
        f"workspace: {here['root']}, content release {here['release']}" if here["root"] else here["note"]
    )


def _told(environment: dict[str, Any]) -> str:
    from medomni.bench.environments import FLOOR

    if not environment["works"]:
        return f"cannot run agents: {environment['why']}"
    not_held = [name for name, holds in environment["held"].items() if not holds]
    enough = "can run agents" if not set(not_held) & set(FLOOR) else "holds too little to run agents"
    return f"{enough}{'; not held: ' + ', '.join(not_held) if not_held else ''}"


def add_commands(app: typer.Typer) -> None:
    """Add this module's command to the program."""
    app.command()(doctor)
