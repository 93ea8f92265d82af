"""`medomni studio label`: a label's table over all candidates, and why a patient's rows say what they say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medomni.terminal import BAD_INPUT, CONTEXT, AsJson, WorkspaceOption, fails_with, print_json

if TYPE_CHECKING:
    from medomni.studio.recipe.binding import Bound
    from medomni.studio.tables import StoredTables

app = typer.Typer(
    name="label",
    help="Compute labels, and explain them.",
    epilog="Example: medomni studio label table ckd_g_stage --out ckd.csv",
    no_args_is_help=True,
    context_settings=CONTEXT,
    rich_markup_mode=None,
)
LabelName = Annotated[
    str, typer.Argument(metavar="LABEL", help="Such as ckd_g_stage, or mimic-iv/ckd_g_stage.")
]
ReleaseOption = Annotated[
    str | None,
    typer.Option(
        "--release", metavar="RELEASE", help="Such as mimic-iv/demo-2.2; by default, the imported one."
    ),
]
Threads = Annotated[int | None, typer.Option("--threads", min=1, help="By default, all cores.")]


@app.callback()
def _label() -> None:
    """Compute labels, and explain them."""


def _open(name: str, release: str | None, workspace: Path | None) -> tuple[StoredTables, Bound]:
    from medomni.core.workspace import find_workspace
    from medomni.studio.opening import open_label

    return open_label(find_workspace(named=workspace), name, release)


@app.command("table")
@fails_with(BAD_INPUT)
def table(
    label: LabelName,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="A CSV file; stdout by default.")
    ] = None,
    release: ReleaseOption = None,
    threads: Threads = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Write every candidate event of every patient: prediction time, value, and each rule's truth.

    Example: medomni studio label table ckd_g_stage --out ckd.csv
    """
    import tempfile

    from medomni.studio.labels import label_table

    store, bound = _open(label, release, workspace)
    with label_table(store, bound, threads=threads) as rows:
        for note in rows.notes:
            typer.echo(f"note: {note}", err=True)
        if out is not None:
            count = rows.write_csv(out)
            typer.echo(f"{out}: {count} candidates of {rows.release}", err=True)
            return
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "table.csv"
            rows.write_csv(file)
            with file.open(encoding="utf-8") as stream:
                for line in stream:
                    typer.echo(line, nl=False)


@app.command("explain")
@fails_with(BAD_INPUT)
def explain(
    label: LabelName,
    patient: Annotated[int, typer.Option("--patient", metavar="ID", help="The patient's subject_id.")],
    release: ReleaseOption = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Show each candidate of a patient: which rules hold, and the events in every window.

    Example: medomni studio label explain ckd_g_stage --patient 10000032
    """
    from medomni.studio import labels

    store, bound = _open(label, release, workspace)
    found = labels.explain(store, bound, subject=patient)
    if as_json:
        print_json(
            {
                "label": bound.label.name,
                "release": store.token,
                "candidates": [_plain(each) for each in found],
            }
        )
        return
    typer.echo(f"{bound.label.name} v{bound.label.version} on {store.token}, patient {patient}")
    for each in found:
        _print(each)


def _print(candidate: dict[str, Any]) -> None:
    failed = [name for name, truth in candidate["rules"].items() if not truth]
    state = "eligible" if candidate["eligible"] else f"not eligible: {', '.join(failed)}"
    typer.echo(
        f"{candidate['prediction_time']} (key {candidate['key']}): value {_told(candidate['value'])}, {state}"
    )
    for window, events in candidate["windows"].items():
        typer.echo(f"  {window}:")
        for event in events:
            end = f" to {event['end']}" if "end" in event else ""
            value = "" if event["value"] is None else f"  {_told(event['value'])}"
            typer.echo(f"    {event['time']}{end}{value}")


def _told(value: Any) -> str:
    """A value for people: a decimal without the zeros of its column's scale."""
    from decimal import Decimal

    if not isinstance(value, Decimal):
        return str(value)
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _plain(value: Any) -> Any:
    """Plain data for JSON: times as ISO text, decimals as text, so that no digit is lost."""
    import datetime
    from decimal import Decimal

    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value
