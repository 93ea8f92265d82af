"""How long a new process takes until it does something useful, against one that does nothing.

Leaves to others: rounds (`timing`) and tables (`table`).
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Sequence

from table import Row, Section
from timing import Competitor, Reading, take_turns

NOTHING = "python -c pass"


def _start(arguments: Sequence[str]) -> Competitor:
    """Runs an interpreter to its end."""

    def run() -> Reading:
        before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        wall, after = time.perf_counter() - wall, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Reading(wall, cpu)

    return run


def start_up(rounds: int) -> Section:
    """Import, help, and loading the compiled kernels from their cache."""
    load = "from medotter_bench.metrics import backend; backend.prepare()"
    times = take_turns(
        {
            NOTHING: _start(["-c", "pass"]),
            "import medotter_bench": _start(["-c", "import medotter_bench"]),
            "medotter --help": _start(["-m", "medotter_bench", "--help"]),
            "loading the compiled kernels": _start(["-c", load]),
        },
        rounds,
    )
    section = Section("start-up of a new process", f"over `{NOTHING}`, by cpu")
    for name in times.readings:
        ratios = (None, None) if name == NOTHING else times.ratios(name, NOTHING)
        section.rows.append(Row(name, *times.seconds(name), None, *ratios))
    return section
