"""The commands `medomni bench …`. How a command ends stands in `medomni.terminal`.

Modules here are imported for every `medomni --help`: what is heavy is imported inside the commands.
"""

from __future__ import annotations

import typer

from medomni.bench.cli import (
    check,
    compare,
    import_v02,
    leaderboard,
    run,
    score,
    score_answers,
    setup_harbor,
)
from medomni.terminal import CONTEXT

app = typer.Typer(
    name="bench",
    help="Run agents on built tasks, score what they answered, rank them.",
    epilog="Example: medomni bench run medomni-bench/smoke-dummy --agent rule --environment local",
    no_args_is_help=True,
    context_settings=CONTEXT,
    rich_markup_mode=None,
)


@app.callback()
def _bench() -> None:
    """Run agents on built tasks, score what they answered, rank them."""


run.add_commands(app)
setup_harbor.add_commands(app)
score.add_commands(app)
score_answers.add_commands(app)
compare.add_commands(app)
leaderboard.add_commands(app)
check.add_commands(app)
import_v02.add_commands(app)
