"""`medomni studio data`: importing releases of datasets, and looking at what is imported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medomni.terminal import (
    BAD_INPUT,
    CONTEXT,
    WRONG,
    AsJson,
    WorkspaceOption,
    as_issues,
    fails_with,
    print_issues,
    print_json,
)

if TYPE_CHECKING:
    from medomni.core.workspace import Workspace
    from medomni.studio.data.records import ImportRecord

app = typer.Typer(
    name="data",
    help="Import releases of datasets, and look at what is imported.",
    epilog="Example: medomni studio data status",
    no_args_is_help=True,
    context_settings=CONTEXT,
    rich_markup_mode=None,
)
_SHOWN = 8
DatasetName = Annotated[str, typer.Argument(metavar="DATASET", help="Such as mimic-iv.")]


@app.callback()
def _data() -> None:
    """Import releases of datasets, and look at what is imported."""


@app.command("import")
@fails_with(BAD_INPUT)
def import_data(
    dataset: DatasetName,
    folders: Annotated[
        list[Path],
        typer.Option(
            "--from", metavar="DIR", help="A folder with the files; give it again for each further one."
        ),
    ],
    release: Annotated[
        str | None,
        typer.Option("--release", metavar="NAME", help="Such as 3.1; by default, what the files show."),
    ] = None,
    memory_limit: Annotated[
        str | None, typer.Option("--memory-limit", metavar="SIZE", help="What DuckDB may use, such as 8GB.")
    ] = None,
    threads: Annotated[int | None, typer.Option("--threads", min=1, help="By default, all cores.")] = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Import a release of a dataset into the workspace: every row checked and typed, whole or not at all.

    Run it again after an interruption: finished tables are kept.

    Example: medomni studio data import mimic-iv --from mimic-iv-3.1 --from mimic-iv-note-2.2
    """
    from medomni.core import progress as bars
    from medomni.core.workspace import find_workspace
    from medomni.studio.data.importer import import_release

    with bars.for_terminal() as progress:
        done = import_release(
            find_workspace(named=workspace),
            dataset,
            folders,
            release=release,
            memory_limit=memory_limit,
            threads=threads,
            progress=progress,
        )
    if as_json:
        print_json({**done.record.as_dict(), "converted": list(done.converted), "kept": list(done.kept)})
        return
    typer.echo(f"{done.record.release}: {len(done.converted)} tables imported, {len(done.kept)} kept")
    _print_notes(done.record)


@app.command("status")
@fails_with(BAD_INPUT)
def status(workspace: WorkspaceOption = None, as_json: AsJson = False) -> None:
    """Show which releases are imported, and what is particular about them.

    Example: medomni studio data status --json
    """
    from medomni.core.workspace import find_workspace

    found = [_state(found) for found in _releases(find_workspace(named=workspace))]
    if as_json:
        print_json({"releases": found})
        return
    for each in found:
        typer.echo(f"{each['release']} ({each['class']}, {each['access']}): {each['state']}")
        for line in each["notes"]:
            typer.echo(f"  {line}")


@app.command("verify")
@fails_with(WRONG)
def verify_data(
    release: Annotated[str, typer.Argument(metavar="RELEASE", help="Such as mimic-iv/demo-2.2.")],
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Check that an imported release is still what was imported, byte by byte, and each row is in one family.

    The exit code is 1 if not.

    Example: medomni studio data verify mimic-iv/demo-2.2
    """
    from medomni.core import progress as bars
    from medomni.core.errors import MedomniError
    from medomni.core.workspace import find_workspace
    from medomni.studio.data.verification import verify
    from medomni.studio.opening import family_problems

    try:
        place = find_workspace(named=workspace)
        with bars.for_terminal() as progress:
            issues = verify(place, release, progress=progress)
        # What is no longer what was imported says nothing about families.
        issues = issues or family_problems(place, release)
    except MedomniError as failure:
        issues = as_issues(failure)
    print_issues(issues, what=release, as_json=as_json)


def _releases(workspace: Workspace) -> list[tuple[Workspace, Any]]:
    from medomni.studio.data.definitions import load_dataset

    names = sorted(path.parent.name for path in workspace.datasets.glob("*/dataset.yaml"))
    return [(workspace, each) for name in names for each in load_dataset(workspace, name).releases.values()]


def _state(found: tuple[Workspace, Any]) -> dict[str, Any]:
    from medomni.studio.data.errors import StoreError
    from medomni.studio.data.store import open_in

    workspace, release = found
    shown: dict[str, Any] = {
        "release": release.token,
        "class": release.release_class,
        "access": release.access,
        "licence": release.licence,
        "terms": list(release.terms),
        "state": "imported",
        "code": "",
        "tables": {},
        "notes": [],
    }
    try:
        store = open_in(workspace, release.token)
    except StoreError as failure:
        shown |= {"state": failure.what.removeprefix(f"{release.token} is "), "code": failure.code}
        return shown
    shown["tables"] = {name: table.n_rows for name, table in store.tables.items() if table.present}
    shown["notes"] = notes(store.record)
    return shown


def notes(record: ImportRecord) -> list[str]:
    """What is particular about an import, one line each."""
    lines = [f"{sum(table.rows for table in record.tables.values()):,} rows in {len(record.tables)} tables"]
    if record.absent:
        lines.append(f"not there: {', '.join(record.absent)}")
    if record.undeclared:
        lines.append(f"not read, since no table declares it: {', '.join(record.undeclared)}")
    if record.uncounted:
        lines.append(f"rows not checked, since no count is known: {', '.join(record.uncounted)}")
    for table in record.tables.values():
        if table.undeclared_columns:
            lines.append(f"{table.name}: columns not read: {', '.join(table.undeclared_columns)}")
        if table.empty_columns:
            shown = ", ".join(table.empty_columns[:_SHOWN])
            more = len(table.empty_columns) - _SHOWN
            lines.append(f"{table.name}: wholly empty: {shown}{f' and {more} more' if more > 0 else ''}")
        used = [f"{rule} ({rows:,} rows)" for rule, rows in table.availability if rows]
        gone = [
            name
            for name in record.absent
            if any(rule.startswith(f"{name}.") for rule, _ in table.availability)
        ]
        if gone:
            lines.append(
                f"{table.name}: when rows were known stands in {', '.join(gone)}, which is not there"
            )
        if len(table.availability) > 1 and used and not table.availability[0][1]:
            lines.append(f"{table.name}: rows are known from {', '.join(used)}")
    return lines


def _print_notes(record: ImportRecord) -> None:
    for line in notes(record):
        typer.echo(f"  {line}")


def add_commands(program: typer.Typer) -> None:
    """Add these commands to `medomni studio`."""
    program.add_typer(app, name="data")
