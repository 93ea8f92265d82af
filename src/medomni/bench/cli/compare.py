"""`medomni bench compare`: two agents on the same atoms, paired."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medomni.terminal import BAD_INPUT, WRONG, AsJson, WorkspaceOption, fails_with, print_json


@fails_with(BAD_INPUT)
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="A run record, or a folder with one agent's.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="The same of the other agent.")],
    fail: Annotated[
        bool, typer.Option("--fail-on-difference", help="Exit 1 if any answer or score differs.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write the records there; by default runs/comparisons."),
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Compare two agents on the same pair, N and arm, or on all pairs of two folders. Positive: A is better.

    Writes a signed comparison record for each pair, corrected over all tests of this comparison.

    Example: medomni bench compare runs/rule runs/prior
    """
    from medomni.bench.comparing import compare_runs
    from medomni.bench.shown_scores import paired_line
    from medomni.bench.signed_records import answers_secret, write_signed
    from medomni.core.workspace import find_workspace

    place = find_workspace(named=workspace)
    found = compare_runs(place, [first], [second], secret=answers_secret(place))
    folder = out if out is not None else place.runs / "comparisons"
    files = [write_signed(place, folder / each.file_name, "comparison-record", each.record) for each in found]
    if as_json:
        rows = [{"file": str(file), "record": each.record} for file, each in zip(files, found, strict=True)]
        print_json(
            {"schema": "medomni/comparisons/1", "differs": any(e.differs for e in found), "written": rows}
        )
    else:
        for file, each in zip(files, found, strict=True):
            a, b = (each.record[side]["agent"]["name"] for side in ("a", "b"))
            typer.echo(f"{a} against {b} on {each.record['pair']} v{each.record['version']}")
            for flag in each.record["flags"]:
                typer.echo(f"  note: {flag}")
            for name, result in each.record["targets"].items():
                typer.echo(f"  {paired_line(name, result)}")
            typer.echo(f"written: {file}", err=True)
    if fail and any(each.differs for each in found):
        raise typer.Exit(WRONG)


def add_commands(app: typer.Typer) -> None:
    """Add the command to `medomni bench`."""
    app.command("compare")(compare)
