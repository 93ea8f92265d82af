"""`medomni bench score-answers`: score a plain folder of answers, without workspace, run or Harbor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medomni.terminal import BAD_INPUT, WRONG, AsJson, fails_with, print_json

if TYPE_CHECKING:
    from medomni.bench.targets import Target


Truth = Annotated[
    Path, typer.Argument(metavar="ANSWERS.csv", help="What is true; the first column is patient or atom.")
]
Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Holds <patient or atom>/answer.json: {target: answer}.")
]
Name = Annotated[
    str | None, typer.Option("--target", metavar="T", help="The target: a column of ANSWERS.csv.")
]
Metric = Annotated[str | None, typer.Option("--metric", help="auc, qwk or mae.")]
Classes = Annotated[
    int | None, typer.Option("--classes", metavar="K", help="For qwk: how many classes there are, from 0.")
]
Range = Annotated[
    tuple[float, float] | None,
    typer.Option("--range", metavar="LO HI", help="For mae: the lowest and the highest answer."),
]
TargetFile = Annotated[
    Path | None,
    typer.Option("--target-file", metavar="FILE", help="Instead: a target.json, or a pair's content.json."),
]
Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the JSON there as well.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit 1 if any answer is missing or invalid.")]


@fails_with(BAD_INPUT)
def score_answers(
    answers: Truth,
    submissions: Folder,
    target: Name = None,
    metric: Metric = None,
    classes: Classes = None,
    number_range: Range = None,
    target_file: TargetFile = None,
    out: Out = None,
    strict: Strict = False,
    as_json: AsJson = False,
) -> None:
    """Score a folder of answers. Whoever is in ANSWERS.csv counts; a missing answer is the worst answer.

    Example: medomni bench score-answers answers.csv submissions/ --target aki --metric auc
    """
    from medomni.bench.answer_folder import score_folder
    from medomni.core.files import write_json

    document = score_folder(
        answers, submissions, _targets(target, metric, classes, number_range, target_file)
    )
    if out is not None:
        write_json(out, document)
    for note in document["notes"]:
        typer.echo(f"note: {note}", err=True)
    if as_json:
        print_json(document)
    else:
        _print_scores(document)
    if strict and any(each["missing"] or each["invalid"] for each in document["targets"].values()):
        raise typer.Exit(WRONG)


def _targets(
    name: str | None,
    metric: str | None,
    classes: int | None,
    number_range: tuple[float, float] | None,
    file: Path | None,
) -> list[Target]:
    from medomni.bench.errors import ScoreError
    from medomni.bench.targets import Target, read_targets

    given = [option for option in (name, metric, classes, number_range) if option is not None]
    if file is not None and given:
        raise ScoreError(
            "--target-file says everything about the target",
            where="--target-file",
            hint="leave out --target, --metric, --classes and --range",
            code="score-target",
        )
    if file is not None:
        return read_targets(file)
    if name is None or metric is None:
        raise ScoreError(
            "it is not said what is scored",
            where="--target, --metric",
            hint="name both, or a --target-file",
            code="score-target",
        )
    return [Target(name, metric, classes=classes, range=number_range)]


def _print_scores(document: dict[str, Any]) -> None:
    from medomni.bench.shown_scores import score_line

    for name, each in document["targets"].items():
        typer.echo(score_line(name, each))
        reasons = document["reasons"][name]
        for status in ("missing", "invalid"):
            for who in each[status]:
                typer.echo(f"  {status} {who}: {reasons[who]}")


def add_commands(app: typer.Typer) -> None:
    """Add the command to `medomni bench`."""
    app.command("score-answers")(score_answers)
