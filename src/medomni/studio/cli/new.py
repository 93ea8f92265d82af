"""`medomni studio new`: files to begin with, which load and say FILL IN where only their author knows."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medomni.terminal import BAD_INPUT, CONTEXT, AsJson, WorkspaceOption, fails_with, print_json

if TYPE_CHECKING:
    from medomni.core.workspace import Workspace

app = typer.Typer(
    name="new",
    help="Begin a template, label, cohort or dataset.",
    epilog="Example: medomni studio new template mimic-iv_new-task --label death_365d",
    no_args_is_help=True,
    context_settings=CONTEXT,
    rich_markup_mode=None,
)
Name = Annotated[str, typer.Argument(metavar="NAME")]


class LabelType(StrEnum):
    """What an answer is."""

    BINARY = "binary"
    ORDINAL = "ordinal"
    NUMBER = "number"


class ReleaseClass(StrEnum):
    """Whether scores on a release count."""

    REAL = "real"
    DEMO = "demo"
    DUMMY = "dummy"


class Access(StrEnum):
    """Who may have the data."""

    CREDENTIALED = "credentialed"
    OPEN = "open"
    GENERATED = "generated"


@app.callback()
def _new() -> None:
    """Begin a template, label, cohort or dataset."""


@app.command()
@fails_with(BAD_INPUT)
def template(
    name: Name,
    label: Annotated[str, typer.Option("--label", metavar="LABEL", help="What is asked: a label.")],
    author: Annotated[str | None, typer.Option("--author", metavar="NAME", help="Your name.")] = None,
    github: Annotated[str | None, typer.Option("--github", metavar="HANDLE", help="With --author.")] = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Begin a template, called <dataset>_<name>, with one target.

    Example: medomni studio new template mimic-iv_new-task --label death_365d
    """
    from medomni.studio.scaffold.making import new_template

    if (author is None) != (github is None):
        raise typer.BadParameter("give both or none", param_hint="--author and --github")
    place = _workspace(workspace)
    person = None if author is None or github is None else (author, github)
    made = new_template(place, name, label=label, author=person)
    _tell(
        place, made, as_json, f"medomni studio new cohort dummy --template {name} --release …/dummy-1 --n 20"
    )


@app.command()
@fails_with(BAD_INPUT)
def label(  # noqa: PLR0913, PLR0917 - one parameter for each option
    name: Name,
    dataset: Annotated[str, typer.Option("--dataset", metavar="DATASET", help="Such as mimic-iv.")],
    trigger: Annotated[
        str, typer.Option("--trigger", metavar="PREDICATE", help="A recipe's predicate: its events.")
    ],
    kind: Annotated[LabelType, typer.Option("--type", help="What an answer is.")] = LabelType.BINARY,
    classes: Annotated[
        list[str] | None, typer.Option("--class", metavar="NAME", help="Of an ordinal label, from 0.")
    ] = None,
    unit: Annotated[str, typer.Option("--unit", help="Of a number.")] = "",
    ends: Annotated[
        tuple[str, str] | None, typer.Option("--range", metavar="LEAST GREATEST", help="Of a number.")
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Begin a label whose candidates are the events of a predicate.

    Example: medomni studio new label long_stay --dataset mimic-iv --trigger icu_stay
    """
    from medomni.studio.scaffold.making import new_label
    from medomni.studio.scaffold.texts import AnswerForm

    place = _workspace(workspace)
    given = {"--class": bool(classes), "--unit": bool(unit), "--range": ends is not None}
    wanted = {"ordinal": {"--class"}, "number": {"--unit", "--range"}}.get(kind.value, set())
    wrong = [option for option, there in given.items() if there != (option in wanted)]
    if wrong:
        needs = f"needs {' and '.join(sorted(wanted))}" if wanted else "needs none of these"
        raise typer.BadParameter(f"a label of type {kind.value} {needs}", param_hint=", ".join(wrong))
    answer = AnswerForm(kind.value, tuple(classes or ()), unit, ends or ("0", "1"))
    made = new_label(place, name, dataset=dataset, trigger=trigger, answer=answer)
    _tell(place, made, as_json, f"medomni studio new template {dataset}_… --label {name}")


@app.command()
@fails_with(BAD_INPUT)
def cohort(
    name: Name,
    of: Annotated[str, typer.Option("--template", metavar="TEMPLATE", help="The template.")],
    release: Annotated[str, typer.Option("--release", metavar="RELEASE", help="Such as mimic-iv/3.1.")],
    n: Annotated[str, typer.Option("--n", metavar="N|all", help="How many patients.")] = "20",
    per: Annotated[int | None, typer.Option("--per", min=1, help="Patients of each stratum.")] = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Begin a cohort of a template, divided by its label's classes or into fifths of its numbers.

    Example: medomni studio new cohort n20 --template mimic-iv_new-task --release mimic-iv/3.1
    """
    from medomni.studio.scaffold.making import new_cohort

    if n != "all" and not (n.isascii() and n.isdigit() and int(n) > 0):
        raise typer.BadParameter(f"{n!r} is neither a number from 1 nor all", param_hint="--n")
    place = _workspace(workspace)
    made = new_cohort(place, name, template=of, release=release, n=None if n == "all" else int(n), per=per)
    _tell(place, made, as_json, f"medomni studio task check {of}@{name}")


@app.command()
@fails_with(BAD_INPUT)
def dataset(
    name: Name,
    title: Annotated[str, typer.Option("--title", help="Its name for people.")],
    release: Annotated[str, typer.Option("--release", metavar="RELEASE", help="Such as 1.0.")],
    kind: Annotated[ReleaseClass, typer.Option("--class", help="Of the release.")] = ReleaseClass.REAL,
    access: Annotated[Access, typer.Option("--access", help="Who may have it.")] = Access.CREDENTIALED,
    licence: Annotated[str, typer.Option("--licence", help="The licence of the data.")] = "",
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Begin a dataset: its release, two tables, their families, and a recipe with one predicate, `event`.

    Example: medomni studio new dataset my-data --title "My data" --release 1.0
    """
    from medomni.studio.scaffold.making import new_dataset

    place = _workspace(workspace)
    made = new_dataset(
        place,
        name,
        title=title,
        release=release,
        release_class=kind.value,
        access=access.value,
        licence=licence,
    )
    _tell(place, made, as_json, f"medomni studio new label … --dataset {name} --trigger event")


def _workspace(named: Path | None) -> Workspace:
    from medomni.core.workspace import find_workspace

    return find_workspace(named=named)


def _tell(workspace: Workspace, made: list[Path], as_json: bool, following: str) -> None:
    paths = [workspace.relative(path) for path in made]
    if as_json:
        print_json({"files": paths})
        return
    for path in paths:
        typer.echo(path)
    typer.echo(f"next: fill in what says FILL IN, then {following}")


def add_commands(program: typer.Typer) -> None:
    """Add these commands to `medomni studio`."""
    program.add_typer(app)
