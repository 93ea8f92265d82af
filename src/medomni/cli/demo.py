"""`medomni demo`: from made-up data to a leak-checked task and a leaderboard, in a workspace of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medomni.terminal import BAD_INPUT, fails_with

if TYPE_CHECKING:
    from medomni.core.workspace import Workspace
    from medomni.studio.building.pair import BuildReport

_DATASET, _RELEASE = "mimic-iv", "mimic-iv/dummy-1"
_PAIR, _ARM = "mimic-iv_ckd-staging@dummy", "encoders"
_SET, _AGENTS = "medomni-bench/smoke-dummy", ("prior", "rule")


@fails_with(BAD_INPUT)
def demo(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder to write to; made where it is not there.")
    ] = Path("demo-output/medomni"),
) -> None:
    """Make up data in the form of MIMIC-IV, build a task of it, run two agents, and rank them.

    Prints who was left out by which rule, and the hash that pins the task. The agents run in sandboxes
    without a network. Without bubblewrap they run on this machine as it is, and the board says so; without
    Harbor the demo ends with the task.

    Example: medomni demo --out demo-output/medomni
    """
    workspace = _workspace(out / "workspace")
    _imported(workspace, out / "dummy-mimic-iv")
    report = _built(workspace)
    _show(workspace, report)
    environment = _environment(workspace)
    if environment is None:
        return
    runs = [_run(workspace, agent, environment) for agent in _AGENTS]
    typer.echo(f"leaderboard: {_ranked(workspace, runs, out / 'board')}")


def _workspace(folder: Path) -> Workspace:
    from medomni.core.new_workspace import make_workspace
    from medomni.core.workspace import MARKER, load_workspace

    return load_workspace(folder) if (folder / MARKER).is_file() else make_workspace(folder)


def _imported(workspace: Workspace, files: Path) -> None:
    from medomni.core import progress as bars
    from medomni.studio.data.importer import import_release
    from medomni.studio.dummy import write_dummy

    if not files.exists():
        rows = write_dummy(_DATASET, files)
        typer.echo(f"made up {sum(rows.values()):,} rows in {len(rows)} files of {_DATASET}", err=True)
    with bars.for_terminal() as progress:
        import_release(workspace, _DATASET, [files], release=None, progress=progress)


def _built(workspace: Workspace) -> BuildReport:
    from medomni.core import progress as bars
    from medomni.core.execution import local
    from medomni.core.names import Pair
    from medomni.studio.building.pair import Limits, Means, build_pair

    with local(1) as workers, bars.for_terminal() as progress:
        means = Means(workers, Limits(None, None), progress)
        return build_pair(workspace, Pair.parse(_PAIR), arms=(_ARM,), means=means)


def _show(workspace: Workspace, report: BuildReport) -> None:
    from medomni.studio.flow import flow_table

    found = report.selection
    typer.echo(f"{found.pair} v{found.version} on {found.release}, made-up data, not for scores")
    typer.echo(flow_table(found))
    for (arm, variant), value in report.hashes.items():
        typer.echo(f"{arm if variant is None else f'{arm}/{variant}'}: {value}")
    typer.echo(f"{report.atoms} atom tasks: {workspace.root / 'atomtasks' / _ARM}")


def _environment(workspace: Workspace) -> str | None:
    """Where the agents run; None, with the reason on stderr, where none can.

    Without bubblewrap they run on the host: both are ours, and the records and the board say so.
    """
    from medomni.bench.environments import require, rootfs_of
    from medomni.bench.errors import BenchError
    from medomni.bench.harbor_program import find_python

    try:
        find_python(workspace.root)
    except BenchError as refusal:
        typer.echo(f"no agent was run: {refusal.what} ({refusal.hint})", err=True)
        return None
    try:
        require("local", rootfs_of(workspace))
    except BenchError as refusal:
        typer.echo(f"the agents run without a sandbox: {refusal.what} ({refusal.hint})", err=True)
        return "unsafe-host"
    return "local"


def _run(workspace: Workspace, agent: str, environment: str) -> Path:
    """Run a built-in agent on the pair, and return the run's folder."""
    from medomni.bench.agents import parse_agent
    from medomni.bench.planning import Wish, make_run
    from medomni.bench.running import Means, run_atoms
    from medomni.core import progress as bars
    from medomni.core.names import Pair, SetName

    wish = Wish(
        SetName.parse(_SET),
        parse_agent(agent, model=None, base_url=None, key_name=None),
        only=(Pair.parse(_PAIR),),
        environment=environment,
    )
    with bars.for_terminal() as progress:
        return run_atoms(
            workspace, make_run(workspace, wish), workspace.runs, Means(2, None, progress)
        ).folder


def _ranked(workspace: Workspace, runs: list[Path], board: Path) -> str:
    """Score the runs, compare them, and write the page."""
    from medomni.bench.cli import compare, leaderboard, score

    score.score(runs, workspace=workspace.root)
    first, second = runs
    compare.compare(first, second, workspace=workspace.root)
    leaderboard.leaderboard(task_set=_SET, workspace=workspace.root)
    leaderboard.leaderboard(html=board, workspace=workspace.root)
    return str(board)


def add_commands(app: typer.Typer) -> None:
    """Add this command to the program."""
    app.command()(demo)
