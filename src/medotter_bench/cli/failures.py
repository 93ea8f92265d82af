"""How a command ends: the three-line error on stderr, and the exit code that goes with it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from medomni.core.errors import ExecutionError, MedomniError, WriteError
from medomni.core.issues import Issue, errors_of
from medotter_bench.errors import CasesFailedError

if TYPE_CHECKING:
    from rich.console import Console

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
WRONG, BAD_INPUT, OUR_FAULT, INTERRUPTED = 1, 2, 3, 130
PIPE_WIDTH = 160
_STATE = {"debug": False}


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
                ours = isinstance(failure, ExecutionError | CasesFailedError)
                raise typer.Exit(OUR_FAULT if ours else exit_code) from failure
            except KeyboardInterrupt as interrupt:
                typer.echo("interrupted; no output was written", err=True)
                raise typer.Exit(INTERRUPTED) from interrupt

        return run

    return decorate


def print_issues(issues: Sequence[Issue], *, what: str, as_json: bool) -> None:
    """Print what a check found and end the command: 1 with an error, 0 without."""
    errors = errors_of(issues)
    if as_json:
        from medomni.core.files import json_text

        document: dict[str, Any] = {"ok": not errors, "issues": [issue.as_dict() for issue in issues]}
        typer.echo(json_text(document), nl=False)
    else:
        for issue in issues:
            typer.echo(str(issue))
        warnings = len(issues) - len(errors)
        typer.echo(f"{what}: {len(errors)} errors, {warnings} warnings")
    raise typer.Exit(WRONG if errors else 0)


def console() -> Console:
    """Where tables are printed: as wide as the terminal; in a file or pipe wide enough for every table."""
    from rich.console import Console

    plain = Console()
    return plain if plain.is_terminal else Console(width=PIPE_WIDTH)


def refuse_unwritable(path: Path | None) -> None:
    """Refuse an output path before the work, not after it.

    Raises:
        WriteError: its folder is not there, or a folder stands in its place.
    """
    if path is None:
        return
    if not path.parent.is_dir():
        raise WriteError(
            "the folder of the output is not there", where=str(path.parent), hint="create it first"
        )
    if path.is_dir():
        raise WriteError(
            "the output path is a folder", where=str(path), hint="name a file, such as results.json"
        )
