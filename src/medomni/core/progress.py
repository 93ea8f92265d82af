"""How long work says how far it is: one callback, shown as a bar on a terminal and as lines elsewhere.

Leaves to others: heartbeats of a worker, and what the steps are.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import Protocol, TextIO

_LINES = 20
_PACE_SECONDS = 2.0


class Progress(Protocol):
    """Told after each item: how many of `total` items of the step `what` are done.

    `what` names the step (`scoring cases`), not the item; `done` rises from 0 or 1 to `total`.
    """

    def __call__(self, done: int, total: int, what: str) -> None:
        """Say that `done` of `total` items of the step `what` are done."""


def silent(done: int, total: int, what: str) -> None:
    """Progress that is shown to nobody."""


@contextlib.contextmanager
def for_terminal(stream: TextIO | None = None) -> Iterator[Progress]:
    """Progress for a person: a bar with the time left on a terminal, else at most 20 lines per step.

    Args:
        stream: Where to; standard error if absent, since data goes to standard output.
    """
    out = sys.stderr if stream is None else stream
    if not out.isatty():
        yield _Lines(out)
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with RichProgress(*columns, console=Console(file=out)) as bars:
        steps = {}

        def show(done: int, total: int, what: str) -> None:
            if what not in steps:
                steps[what] = bars.add_task(escape(what), total=total)
            bars.update(steps[what], completed=done, total=total)

        yield show


class _Lines:
    """A line whenever another twentieth of the step is done."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._step = ""
        self._shown = 0
        self._started = 0.0

    def __call__(self, done: int, total: int, what: str) -> None:
        if what != self._step:
            self._step, self._shown, self._started = what, 0, time.monotonic()
        part = done * _LINES // total if total > 0 else _LINES
        if part > self._shown:
            self._shown = part
            # A reader that went away must not end the work that reports to it.
            with contextlib.suppress(OSError, ValueError):
                self._stream.write(f"{what}: {done} of {total}{self._left(done, total)}\n")
                self._stream.flush()

    def _left(self, done: int, total: int) -> str:
        """How long the rest takes at the pace so far; nothing before a pace can be told."""
        elapsed = time.monotonic() - self._started
        if elapsed < _PACE_SECONDS or not 0 < done < total:
            return ""
        seconds = elapsed / done * (total - done)
        return f", about {seconds:.0f} s left" if seconds < 120 else f", about {seconds / 60:.0f} min left"
