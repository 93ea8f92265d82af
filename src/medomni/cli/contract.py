"""`medomni contract`: the contracts, checks against them, and config hashes with everything that goes in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from medomni.terminal import (
    BAD_INPUT,
    CONTEXT,
    AsJson,
    WorkspaceOption,
    as_issues,
    fails_with,
    print_issues,
    print_json,
)

app = typer.Typer(
    name="contract",
    help="What files that several programs read must hold.",
    epilog="Example: medomni contract validate task-set sets/v1.yaml",
    no_args_is_help=True,
    context_settings=CONTEXT,
    rich_markup_mode=None,
)
Kind = Annotated[str, typer.Argument(metavar="KIND", help="Name of a contract, as `contract list` has it.")]


@app.command("list")
@fails_with(BAD_INPUT)
def list_kinds(as_json: AsJson = False) -> None:
    """List the contracts.

    Example: medomni contract list
    """
    from medomni.core import contracts

    found = {kind: contracts.schema(kind) for kind in contracts.kinds()}
    if as_json:
        rows = [{"kind": kind, "id": s["$id"], "title": s["title"]} for kind, s in found.items()]
        print_json({"contracts": rows})
        return
    width = max(map(len, found))
    for kind, schema in found.items():
        typer.echo(f"{kind:{width}}  {schema['title']}")


@app.command()
@fails_with(BAD_INPUT)
def show(kind: Kind, as_json: AsJson = False) -> None:
    """Print a contract's JSON Schema; `--json` changes nothing, since it is JSON.

    Example: medomni contract show task-set
    """
    from medomni.core import contracts

    print_json(contracts.schema(kind))


@app.command()
def validate(
    kind: Kind,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .json, .yaml or .csv file.")],
    as_json: AsJson = False,
) -> None:
    """Check a file against a contract and print all of its problems; exit 1 if there are any.

    Example: medomni contract validate answers atomtasks/_content/mimic-iv_ckd-staging@n20/answers.csv
    """
    _require_kind(kind)
    from medomni.core import contracts
    from medomni.core.errors import MedomniError

    issues = []
    try:
        contracts.load(kind, file)
    except MedomniError as failure:
        issues = as_issues(failure)
    print_issues(issues, what=f"{file} as {kind}", as_json=as_json)


@fails_with(BAD_INPUT)
def _require_kind(kind: str) -> None:
    """A contract that does not exist is a malformed command line, and nothing wrong with the file."""
    from medomni.core import contracts

    contracts.schema(kind)


@app.command("hash")
@fails_with(BAD_INPUT)
def config_hash(
    pair: Annotated[str, typer.Argument(metavar="PAIR", help="<template>@<cohort>.")],
    arm: Annotated[str, typer.Option("--arm", help="The arm.")],
    variant: Annotated[str | None, typer.Option("--variant", help="The arm's variant, such as r1.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print everything that goes in.")] = False,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Print the config hash of a pair under an arm, computed from the workspace's files.

    Example: medomni contract hash mimic-iv_ckd-staging@n20 --arm encoders --explain
    """
    from medomni.core.names import Pair
    from medomni.core.workspace import find_workspace
    from medomni.studio.config_files import hash_pair

    place = find_workspace(named=workspace)
    found = hash_pair(place, Pair.parse(pair), arm=arm, variant=variant)
    if as_json:
        document: dict[str, Any] = {"pair": pair, "arm": arm, "variant": variant, "config_hash": found.value}
        document |= {"builder": found.builder, "files": [file.as_dict() for file in found.files]}
        document["releases"] = {"dataset": found.dataset_release, "medomni": found.medomni_release}
        print_json(document)
        return
    if explain:
        for file in found.files:
            typer.echo(f"file     {file.sha256}  {file.size:>8}  {file.path}")
        typer.echo(f"builder  {found.builder}")
        typer.echo(f"dataset  {found.dataset_release}")
        typer.echo(f"medomni  {found.medomni_release}")
    typer.echo(found.value)
