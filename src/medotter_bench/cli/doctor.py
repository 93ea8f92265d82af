"""`medotter doctor`: what this machine can do."""

from __future__ import annotations

import os
import platform
import shutil
from importlib.util import find_spec
from typing import Annotated, Any

import typer

from medotter_bench.cli.failures import BAD_INPUT, fails_with

EXTRAS = {
    "imaging": ("scipy", "nibabel", "PIL", "tifffile", "imagecodecs"),
    "nrrd": ("SimpleITK",),
    "fast": ("numba",),
    "report": ("jinja2",),
    "dask": ("distributed",),
}
ENGINES = ("bwrap", "docker", "podman")


def report() -> dict[str, Any]:
    """Python, extras, cores and memory, container programs, adapters, as plain data."""
    import medomni
    from medomni.core.cores import available_memory
    from medotter_bench.results import SCORING_VERSION

    extras = {}
    for extra, modules in EXTRAS.items():
        lacking = [module for module in modules if find_spec(module) is None]
        extras[extra] = {"installed": not lacking, "missing": lacking}
    adapters = []
    if extras["imaging"]["installed"]:
        from medotter_bench.adapters import registry

        adapters = registry.names()
    return {
        "medomni": medomni.__version__,
        "python": platform.python_version(),
        "scoring_version": SCORING_VERSION,
        "cores": os.cpu_count(),
        "memory_available_bytes": available_memory(),
        "extras": extras,
        "task_types": adapters,
        "sandbox": {
            "kinds": [],
            "programs_found": [name for name in ENGINES if shutil.which(name)],
            "note": "this release runs no submitted code, so it needs and has no sandbox",
        },
    }


@fails_with(BAD_INPUT)
def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")] = False) -> None:
    """Print what this machine can do: Python, extras, cores, memory, sandboxes.

    Example: medotter doctor --json
    """
    found = report()
    if as_json:
        from medomni.core.files import json_text

        typer.echo(json_text(found), nl=False)
        return
    typer.echo(
        f"medomni {found['medomni']}, Python {found['python']}, scoring version {found['scoring_version']}"
    )
    typer.echo(
        f"{found['cores']} cores, {found['memory_available_bytes'] / 2**30:.1f} GiB of memory available"
    )
    for extra, state in found["extras"].items():
        lacking = (
            "installed"
            if state["installed"]
            else f'missing {", ".join(state["missing"])}: pip install "medomni[{extra}]"'
        )
        typer.echo(f"extra {extra}: {lacking}")
    typer.echo(f"task types: {', '.join(found['task_types']) or 'none without the imaging extra'}")
    typer.echo(f"sandbox: none ({found['sandbox']['note']})")


def add_commands(app: typer.Typer) -> None:
    """Add this module's command to the program."""
    app.command()(doctor)
