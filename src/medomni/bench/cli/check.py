"""`medomni bench check` and `medomni bench verify`: benchmarks and records are what they must be."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medomni.terminal import (
    BAD_INPUT,
    AsJson,
    WorkspaceOption,
    as_issues,
    fails_with,
    print_issues,
    print_json,
)


@fails_with(BAD_INPUT)
def check(workspace: WorkspaceOption = None, as_json: AsJson = False) -> None:
    """Check every benchmark of the workspace: cards, task sets, withdrawn pairs; sets may only have grown.

    Exit 1 for anything wrong. Every set of the last release's lock is compared with what is there now.

    Example: medomni bench check
    """
    from medomni.bench.checking import check_benchmarks
    from medomni.core.workspace import find_workspace

    found = check_benchmarks(find_workspace(named=workspace))
    if not as_json:
        for name, count in found.sets.items():
            typer.echo(f"{name}: {count} pairs")
        before = "no release yet" if found.against is None else f"release {found.against}"
        typer.echo(f"compared with {before}")
    print_issues(found.issues, what="benchmarks", as_json=as_json)


def verify(
    record: Annotated[Path, typer.Argument(metavar="RECORD", help="A score, comparison or suite record.")],
    keyring: Annotated[
        Path, typer.Option("--keyring", metavar="FILE", help="The public keys that you trust.")
    ],
    as_json: AsJson = False,
) -> None:
    """Check that a record keeps its contract, and that a key of your keyring signed exactly these bytes.

    Exit 1 if not. A key that comes with a record proves nothing: get it from somebody whom you trust.

    Example: medomni bench verify a.score.json --keyring keyring.yaml
    """
    from medomni.bench.verifying import verify_record
    from medomni.core.errors import MedomniError
    from medomni.core.signing import read_keyring

    try:
        found = verify_record(record, read_keyring(keyring))
    except MedomniError as failure:
        print_issues(as_issues(failure), what=str(record), as_json=as_json)
        return
    if as_json:
        print_json({"ok": True, "kind": found.kind, "signers": list(found.signers), "issues": []})
    else:
        typer.echo(f"{record}: a {found.kind.replace('-', ' ')}, signed by {', '.join(found.signers)}")


def add_commands(app: typer.Typer) -> None:
    """Add the commands to `medomni bench`."""
    app.command("check")(check)
    app.command("verify")(verify)
