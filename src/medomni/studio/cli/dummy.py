"""`medomni studio dummy`: made-up data in the form of a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medomni.terminal import BAD_INPUT, AsJson, fails_with, print_json


@fails_with(BAD_INPUT)
def dummy(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="mimic-iv.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="An empty or new folder.")],
    as_json: AsJson = False,
) -> None:
    """Write made-up data of 240 patients in a dataset's own files, for `data import … --release dummy-1`.

    Example: medomni studio dummy mimic-iv --out dummy-mimic-iv
    """
    from medomni.studio.dummy import write_dummy

    rows = write_dummy(dataset, out)
    if as_json:
        print_json({"dataset": dataset, "tables": rows})
        return
    typer.echo(f"{dataset}: {sum(rows.values()):,} rows in {len(rows)} files")
    typer.echo(f"next: medomni studio data import {dataset} --from {out}")


def add_commands(program: typer.Typer) -> None:
    """Add this command to `medomni studio`."""
    program.command("dummy")(dummy)
