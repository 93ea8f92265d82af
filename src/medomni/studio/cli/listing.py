"""`medomni studio list`: the templates, cohorts, labels, families and task sets of the workspace."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from medomni.terminal import BAD_INPUT, AsJson, WorkspaceOption, fails_with, print_json


class What(StrEnum):
    """What can be listed."""

    TEMPLATES = "templates"
    COHORTS = "cohorts"
    LABELS = "labels"
    FAMILIES = "families"
    SETS = "sets"


@fails_with(BAD_INPUT)
def list_content(
    what: Annotated[What, typer.Argument(help="What to list.")] = What.TEMPLATES,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """List templates, cohorts, labels, families or task sets.

    Example: medomni studio list templates --json
    """
    from medomni.core.workspace import find_workspace
    from medomni.studio.opening import listing

    found = listing(find_workspace(named=workspace), what.value)
    if as_json:
        print_json(found)
        return
    for each in found:
        typer.echo(_line(each))


def _line(each: dict[str, Any]) -> str:
    if "template_id" in each:
        targets = ", ".join(f"{target['label']} ({target['metric']})" for target in each["targets"])
        ladder = ", ladder" if each["ladder"] else ""
        return f"{each['template_id']}: {targets}; cohorts {', '.join(each['cohorts']) or 'none'}{ladder}"
    if "task_set_hash" in each:
        return f"{each['set']}: {len(each['tasks'])} pairs under {', '.join(each['arms'])}"
    return ", ".join(" ".join(value) if isinstance(value, list) else str(value) for value in each.values())


def add_commands(app: typer.Typer) -> None:
    """Add this module's command to the program."""
    app.command("list")(list_content)
