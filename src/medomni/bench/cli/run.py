"""`medomni bench run`: an agent on the atoms of a task set, and the run records that come of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medomni.terminal import BAD_INPUT, INTERRUPTED, WRONG, AsJson, WorkspaceOption, fails_with, print_json

if TYPE_CHECKING:
    from medomni.bench.planning import Run
    from medomni.bench.running import Outcome


@fails_with(BAD_INPUT)
def run(
    task_set: Annotated[str, typer.Argument(metavar="BENCHMARK/SET", help="The task set.")],
    agent: Annotated[
        str,
        typer.Option("--agent", help="nop, prior, rule, scripted:FILE, shell[:SETTINGS], or module:Class."),
    ],
    model: Annotated[str | None, typer.Option("--model", help="The model, for agents that ask one.")] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="Where the model answers.")] = None,
    key_name: Annotated[
        str | None,
        typer.Option("--key-name", metavar="NAME", help="Name of the environment variable with the key."),
    ] = None,
    arm: Annotated[str | None, typer.Option("--arm", help="The arm; by default the set's only one.")] = None,
    variant: Annotated[str | None, typer.Option("--variant", help="The arm's variant, such as r1.")] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="PAIR", help="Only this pair; may be repeated.")
    ] = None,
    limit_atoms: Annotated[
        int | None, typer.Option("--limit-atoms", min=1, help="Only so many atoms of each pair.")
    ] = None,
    environment: Annotated[
        str, typer.Option("--environment", help="docker, podman, local (bubblewrap) or unsafe-host.")
    ] = "docker",
    attempts: Annotated[
        int | None, typer.Option("--attempts", min=1, help="Runs per atom; else the plan says.")
    ] = None,
    concurrency: Annotated[int, typer.Option("-n", "--concurrency", min=1, help="Atoms at once.")] = 2,
    max_cost: Annotated[
        float | None, typer.Option("--max-cost", min=0, metavar="USD", help="Begin nothing more beyond this.")
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option("--plan", metavar="FILE", help="Attempts, aggregate, seed, terms: a plan.yaml."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, start nothing.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Where runs lie; by default the workspace's runs/."),
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Run an agent on a task set, and write a run record for each pair.

    Everything is checked before anything starts. The same command again goes on with a run that was stopped
    or killed, and otherwise begins a new one. Exit code 1: an atom could not be run, for no fault of the
    agent.

    Example: medomni bench run medomni-bench/smoke-dummy --agent rule --environment local
    """
    from medomni.bench.agents import check_limits, parse_agent
    from medomni.bench.planning import Wish, make_run
    from medomni.bench.running import Means, run_atoms
    from medomni.core import progress as bars
    from medomni.core.names import Pair, SetName
    from medomni.core.workspace import find_workspace

    place = find_workspace(named=workspace)
    wish = Wish(
        SetName.parse(task_set),
        parse_agent(agent, model=model, base_url=base_url, key_name=key_name),
        arm=arm,
        variant=variant,
        only=tuple(Pair.parse(name) for name in only or ()),
        limit_atoms=limit_atoms,
        environment=environment,
        attempts=attempts,
        plan=plan,
    )
    check_limits(wish.agent, environment=environment, max_cost=max_cost)
    planned = make_run(place, wish)
    if dry_run:
        _show_plan(planned, as_json=as_json)
        return
    try:
        with bars.for_terminal() as progress:
            means = Means(concurrency, max_cost, progress)
            outcome = run_atoms(place, planned, (out or place.runs).absolute(), means)
    except KeyboardInterrupt as interrupt:
        typer.echo("interrupted; the same command goes on where it was", err=True)
        raise typer.Exit(INTERRUPTED) from interrupt
    _show(outcome, as_json=as_json)


def _show_plan(planned: Run, *, as_json: bool) -> None:
    if as_json:
        print_json({**planned.request(), "held": dict(planned.held.held)})
        return
    attempts = planned.plan["attempts"]
    for pair in planned.pairs:
        count = sum(atom.pair == str(pair.pair) for atom in planned.atoms)
        typer.echo(f"{pair.pair} v{pair.content['version']}  {count} atoms  {pair.config_hash}")
    typer.echo(
        f"{len(planned.atoms)} atoms, {attempts} attempt{'s' if attempts > 1 else ''} each, with"
        f" {planned.wish.agent.name} in {planned.wish.environment}; nothing was started"
    )
    not_held = [name for name, holds in planned.held.held.items() if not holds]
    if not_held:
        typer.echo(f"not held here: {', '.join(not_held)}")


def _show(outcome: Outcome, *, as_json: bool) -> None:
    rows: list[dict[str, Any]] = [
        {
            "pair": each.pair,
            "record": str(each.path),
            "counts": dict(each.counts),
            "answered": each.answered,
            "publishable": each.publishable,
        }
        for each in outcome.records
    ]
    if as_json:
        print_json({"folder": str(outcome.folder), "stopped": outcome.stopped, "records": rows})
    else:
        for each in outcome.records:
            ended = ", ".join(
                f"{count} {name}" for name, count in each.counts.items() if count and name != "atoms"
            )
            typer.echo(f"{each.pair}  {each.answered} of {each.counts['atoms']} answered  ({ended})")
        typer.echo(f"records: {outcome.folder}")
    if outcome.stopped:
        typer.echo(f"{outcome.stopped}; the same command with a higher one goes on", err=True)
    if not all(each.publishable for each in outcome.records):
        typer.echo("some atoms could not be run: these records are not publishable", err=True)
        raise typer.Exit(WRONG)


def add_commands(app: typer.Typer) -> None:
    """Add this module's command to the program."""
    app.command()(run)
