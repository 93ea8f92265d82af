"""`medomni bench score` and `medomni bench key`: score records of runs, and the key that signs them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medomni.terminal import BAD_INPUT, AsJson, WorkspaceOption, fails_with, print_json

if TYPE_CHECKING:
    from medomni.core.workspace import Workspace


Runs = Annotated[
    list[Path], typer.Argument(metavar="RUN…", help="Run records (*.run.json), or their folders.")
]
Baselines = Annotated[
    list[Path] | None,
    typer.Option("--baseline", metavar="RUN", help="Runs to compare each run with, by their agents' names."),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Write the records there; by default beside the run records."),
]


@fails_with(BAD_INPUT)
def score(
    runs: Runs,
    baselines: Baselines = None,
    out: Out = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Score runs from their records and the built answers, as often as you like: the same bytes each time.

    Writes a signed score record for each run and, where agents ran on every pair of a set, a suite record.
    Neither holds an answer or a patient's id.

    Example: medomni bench score runs/ --baseline runs/prior
    """
    from medomni.core.workspace import find_workspace

    written = _write_records(find_workspace(named=workspace), runs, baselines or [], out)
    if as_json:
        rows = [{"file": str(path), "record": record} for path, record in written]
        print_json({"schema": "medomni/scores/1", "written": rows})
        return
    for path, record in written:
        _print_record(record)
        typer.echo(f"written: {path}", err=True)


def _write_records(
    place: Workspace, runs: list[Path], baselines: list[Path], out: Path | None
) -> list[tuple[Path, dict[str, Any]]]:
    """Every record is made before the first one is written: a run that cannot be scored leaves nothing."""
    from medomni.bench.run_reading import find_runs, open_run
    from medomni.bench.score_records import score_path, score_record
    from medomni.bench.signed_records import answers_secret, write_signed
    from medomni.bench.suites import suite_file_name, suite_records

    opened = [open_run(place, path) for path in find_runs(runs)]
    compared = [open_run(place, path) for path in find_runs(baselines)]
    secret = answers_secret(place)
    made = []
    for run in opened:
        others = [each for each in compared if each.path != run.path]
        made.append(
            (score_path(run, out), "score-record", score_record(run, secret=secret, baselines=others))
        )
    folder = out if out is not None else place.runs / "suites"
    for suite in suite_records(place, opened, secret=secret):
        made.append((folder / suite_file_name(suite), "suite-record", suite))
    return [(write_signed(place, path, kind, record), record) for path, kind, record in made]


def _print_record(record: dict[str, Any]) -> None:
    from medomni.bench.shown_scores import paired_line, score_line

    if "agents" in record:
        _print_suite(record)
        return
    under = " ".join(filter(None, (record["arm"], record["variant"])))
    typer.echo(f"{record['agent']['name']} on {record['pair']} v{record['version']}, {under}")
    if record["release_class"] != "real":
        typer.echo(f"  {record['release_class']} data: not for scores")
    for name, each in record["targets"].items():
        typer.echo(f"  {score_line(name, each)}")
    for baseline, results in record["baselines"].items():
        for name, each in results.items():
            typer.echo(f"  against {baseline}: {paired_line(name, each)}")


def _print_suite(record: dict[str, Any]) -> None:
    under = " ".join(filter(None, (record["arm"], record["variant"])))
    name = f"{record['benchmark']}/{record['set']}"
    typer.echo(f"{name}, {under}: mean skill over {len(record['pairs'])} pairs")
    for each in record["agents"]:
        value = f"none ({each['reason']})" if each["skill"] is None else f"{each['skill']:+.4f}"
        ends = "" if each["ci"] is None else f" [{each['ci'][0]:+.4f}, {each['ci'][1]:+.4f}]"
        typer.echo(f"  {each['agent']['name']}  {value}{ends}")


@fails_with(BAD_INPUT)
def key(workspace: WorkspaceOption = None, as_json: AsJson = False) -> None:
    """Print the public key that this workspace signs with, as a keyring has it; it is made at first use.

    Example: medomni bench key > keyring.yaml
    """
    from medomni.core.keys import load_or_make_key
    from medomni.core.workspace import find_workspace

    found = load_or_make_key(find_workspace(named=workspace).signing_key)
    if as_json:
        print_json({"key_id": found.key_id, "public_key": found.public_key})
        return
    typer.echo(f"keys:\n  - name: workspace-{found.key_id[:8]}\n    public_key: {found.public_key}")


def add_commands(app: typer.Typer) -> None:
    """Add the commands to `medomni bench`."""
    app.command("score")(score)
    app.command("key")(key)
