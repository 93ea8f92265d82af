"""The commands `medomni studio …`. How a command ends stands in `medomni.terminal`.

Modules here are imported for every `medomni --help`: what is heavy is imported inside the commands.
"""

from __future__ import annotations

import typer

from medomni.studio.cli import build, cohort, data, dummy, export, label, listing, new, preview, release, task
from medomni.terminal import CONTEXT

app = typer.Typer(
    name="studio",
    help="Datasets, labels, cohorts and built tasks.",
    epilog="Example: medomni studio cohort flow mimic-iv_ckd-staging@demo",
    no_args_is_help=True,
    context_settings=CONTEXT,
    rich_markup_mode=None,
)


@app.callback()
def _studio() -> None:
    """Datasets, labels, cohorts and built tasks."""


data.add_commands(app)
dummy.add_commands(app)
app.add_typer(label.app)
app.add_typer(cohort.app)
listing.add_commands(app)
task.add_commands(app)
build.add_commands(app)
preview.add_commands(app)
new.add_commands(app)
export.add_commands(app)
release.add_commands(app)
