"""How a command of `medomni` ends: the three-line error on stderr, and the exit code that goes with it.

Every part's commands (`medomni.cli`, `medomni.studio.cli`) share it. `medotter_bench` has its own, since it
imports nothing of `medomni` but the core.

Leaves to others: what the commands do.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from medomni.core.errors import ExecutionError, MedomniError
from medomni.core.issues import Issue, IssuesError, Severity, errors_of

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
WRONG, BAD_INPUT, OUR_FAULT, INTERRUPTED = 1, 2, 3, 130
_STATE = {"debug": False}

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
WorkspaceOption = Annotated[
    Path | None,
    typer.Option(
        "--workspace",
        metavar="DIR",
        help="The workspace; by default the nearest folder with a medomni.toml, or MEDOMNI_WORKSPACE.",
    ),
]


def set_debug(debug: bool) -> None:
    """Whether errors show their traceback."""
    _STATE["debug"] = debug


def is_debug() -> bool:
    """Whether `--debug` was given."""
    return _STATE["debug"]


def fails_with[**P, R](exit_code: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A command whose errors end with `exit_code` (checks 1, operations 2), or 3 if the work failed."""

    def decorate(command: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(command)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return command(*args, **kwargs)
            except MedomniError as failure:
                if is_debug():
                    raise
                typer.echo(str(failure), err=True)
                code = OUR_FAULT if isinstance(failure, ExecutionError) else exit_code
                raise typer.Exit(code) from failure
            except KeyboardInterrupt as interrupt:
                typer.echo("interrupted; no output was written", err=True)
                raise typer.Exit(INTERRUPTED) from interrupt

        return run

    return decorate


def as_issues(failure: MedomniError) -> list[Issue]:
    """The issues of a check that could not even begin: what the error says, in their form."""
    if isinstance(failure, IssuesError):
        return failure.issues
    return [Issue(failure.code, Severity.ERROR, failure.where, failure.what, failure.hint)]


def print_json(document: Any) -> None:
    """Print plain data as JSON on stdout."""
    from medomni.core.files import json_text

    typer.echo(json_text(document), nl=False)


def print_issues(issues: Sequence[Issue], *, what: str, as_json: bool) -> None:
    """Print what a check found and end the command: 1 with an error, 0 without."""
    errors = errors_of(issues)
    if as_json:
        print_json({"ok": not errors, "issues": [issue.as_dict() for issue in issues]})
    else:
        for issue in issues:
            typer.echo(str(issue))
        typer.echo(f"{what}: {len(errors)} errors, {len(issues) - len(errors)} warnings")
    raise typer.Exit(WRONG if errors else 0)
