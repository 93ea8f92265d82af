"""`medomni studio build`: from pairs and task sets to atom tasks that agents can run."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medomni.terminal import BAD_INPUT, AsJson, WorkspaceOption, as_issues, fails_with, print_json

if TYPE_CHECKING:
    from medomni.core.errors import MedomniError
    from medomni.core.execution import Workers
    from medomni.core.workspace import Workspace
    from medomni.studio.building.pair import BuildReport, Means
    from medomni.studio.building.requests import Request

_SHOWN = 10


@fails_with(BAD_INPUT)
def build(
    names: Annotated[
        list[str], typer.Argument(metavar="PAIR|SET…", help="<template>@<cohort>, or <benchmark>/<set>.")
    ],
    arm: Annotated[
        str | None,
        typer.Option("--arm", metavar="ARM", help="Only under this arm; by default under every one."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Processes that render atoms; by default 1.")
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="ADDRESS", help="Render on this Dask cluster instead."),
    ] = None,
    memory_limit: Annotated[
        str | None, typer.Option("--memory-limit", metavar="SIZE", help="What DuckDB may use, such as 8GB.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Of DuckDB; by default, all cores.")
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Build the atom tasks of pairs or task sets: draw the cohort, gather the evidence, probe it for leaks.

    A pair is replaced as a whole, or, if anything is wrong, left as it was. Of several pairs, one that cannot
    be built does not keep the others from it; the exit code is then 2.

    Example: medomni studio build mimic-iv_ckd-staging@dummy --arm encoders
    """
    from medomni.core import progress as bars
    from medomni.core.workspace import find_workspace
    from medomni.studio.building.pair import Limits, Means
    from medomni.studio.building.requests import requests_of

    place = find_workspace(named=workspace)
    requests = [each for name in names for each in requests_of(place, name, arm=arm)]
    with _workers(jobs, scheduler) as workers, bars.for_terminal() as progress:
        means = Means(workers, Limits(memory_limit, threads), progress)
        built, failed = _build_each(place, requests, means)
    _show(built, failed, as_json=as_json)


def _build_each(
    place: Workspace, requests: list[Request], means: Means
) -> tuple[list[tuple[Request, BuildReport]], list[tuple[Request, MedomniError]]]:
    """Build one after the other; of several, one that fails does not keep the others from it."""
    from medomni.core.errors import ExecutionError, MedomniError
    from medomni.studio.building.pair import build_pair

    built: list[tuple[Request, BuildReport]] = []
    failed: list[tuple[Request, MedomniError]] = []
    for each in requests:
        try:
            report = build_pair(place, each.pair, arms=each.arms, version=each.version, means=means)
        except ExecutionError:
            raise
        except MedomniError as failure:
            if len(requests) == 1:
                raise
            failed.append((each, failure))
        else:
            built.append((each, report))
    return built, failed


def _workers(jobs: int | None, scheduler: str | None) -> AbstractContextManager[Workers]:
    from medomni.core.execution import dask, local

    if scheduler is None:
        return local(jobs or 1, preload=("medomni.studio.building.rendering",))
    if jobs is not None:
        raise typer.BadParameter("--jobs and --scheduler exclude each other: the cluster has its own workers")
    return dask(scheduler)


def _show(
    built: list[tuple[Request, BuildReport]],
    failed: list[tuple[Request, MedomniError]],
    *,
    as_json: bool,
) -> None:
    if as_json:
        issues = [
            {"pair": str(request.pair), "issues": [issue.as_dict() for issue in as_issues(failure)]}
            for request, failure in failed
        ]
        print_json({"built": [_document(report) for _, report in built], "failed": issues})
    else:
        for _, report in built:
            _print(report)
    for request, failure in failed:
        typer.echo(f"{request.pair} was not built:\n{failure}", err=True)
    if failed:
        typer.echo(f"{len(built)} of {len(built) + len(failed)} pairs were built", err=True)
        raise typer.Exit(BAD_INPUT)


def _document(report: BuildReport) -> dict[str, Any]:
    from medomni.studio.content.documents import step_counts

    return {
        "pair": str(report.selection.pair),
        "version": report.selection.version,
        "release": report.selection.release,
        "atoms": report.atoms,
        "files": report.files,
        "config_hashes": [
            {"arm": arm, "variant": variant, "config_hash": value}
            for (arm, variant), value in report.hashes.items()
        ],
        "arms_removed": list(report.removed),
        "data_fingerprint": report.fingerprint,
        "step_counts": step_counts(report.selection.steps),
        "warnings": [issue.as_dict() for issue in report.warnings],
    }


def _print(report: BuildReport) -> None:
    from medomni.studio.flow import flow_table

    found = report.selection
    typer.echo(
        f"{found.pair} v{found.version} on {found.release}: {report.atoms} atoms, {report.files} files"
    )
    typer.echo(flow_table(found))
    for (arm, variant), value in report.hashes.items():
        typer.echo(f"{arm if variant is None else f'{arm}/{variant}'}: {value}")
    if report.removed:
        typer.echo(
            f"note: atoms of {', '.join(report.removed)} were made from something else, and are gone;"
            " build them again",
            err=True,
        )
    for note in found.notes:
        typer.echo(f"note: {note}", err=True)
    for issue in report.warnings[:_SHOWN]:
        typer.echo(str(issue), err=True)
    if len(report.warnings) > _SHOWN:
        typer.echo(f"and {len(report.warnings) - _SHOWN} more warnings (--json shows all)", err=True)


def add_commands(program: typer.Typer) -> None:
    """Add this command to `medomni studio`."""
    program.command("build")(build)
