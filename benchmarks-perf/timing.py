"""Takes times in turns: every competitor once per round, the first round does not count.

On a shared machine a second can hold more or less work than the last one. So ratios are taken within each
round, where both sides met the same neighbours, and shown as median, smallest and largest. Processor time
(user and system) is taken beside wall time, since waiting for a core is not work. Leaves to others: what is
timed, and tables.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Values = Mapping[str, list[float | None]]
_SHORTEST_TURN_SEC = 0.05


@dataclass(frozen=True, slots=True)
class Reading:
    """Seconds that one run took, and the numbers that it gave."""

    wall_sec: float
    cpu_sec: float
    values: Values = field(default_factory=dict)


Competitor = Callable[[], Reading]


@dataclass(frozen=True, slots=True)
class Span:
    """A median, with the smallest and the largest of what it is a median of."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, numbers: list[float]) -> Span:
        """The span of some numbers."""
        return cls(statistics.median(numbers), min(numbers), max(numbers))


@dataclass(slots=True)
class Times:
    """What the rounds gave, by competitor."""

    readings: dict[str, list[Reading]]
    failed: dict[str, str] = field(default_factory=dict)

    def seconds(self, name: str) -> tuple[float, float]:
        """Median wall and processor seconds."""
        found = self.readings[name]
        return statistics.median(r.wall_sec for r in found), statistics.median(r.cpu_sec for r in found)

    def ratios(self, name: str, to: str, *, scale: float = 1.0) -> tuple[Span, Span]:
        """`name` over `to` round by round, times `scale`: by processor time, and by wall time."""
        pairs = list(zip(self.readings[name], self.readings[to], strict=True))
        return (
            Span.of([scale * a.cpu_sec / b.cpu_sec for a, b in pairs]),
            Span.of([scale * a.wall_sec / b.wall_sec for a, b in pairs]),
        )

    def values(self, name: str) -> Values:
        """The numbers that a competitor computed."""
        return self.readings[name][-1].values


def local(action: Callable[[], Values | None]) -> Competitor:
    """Times a function of this process; a short one is repeated until the clock is no matter."""

    def run() -> Reading:
        repeats, wall, cpu = 0, time.perf_counter(), time.process_time()
        while True:
            values = action()
            repeats += 1
            taken = time.perf_counter() - wall
            if taken >= _SHORTEST_TURN_SEC:
                return Reading(taken / repeats, (time.process_time() - cpu) / repeats, values or {})

    return run


class CompetitorError(Exception):
    """A competitor cannot do this; the others go on."""


def take_turns(competitors: Mapping[str, Competitor], rounds: int) -> Times:
    """Run all of them in turns, `rounds` times and once before.

    Each round begins with another one: what comes after a pause or after a competitor that hardly uses memory
    may have to fetch memory anew that the system has given away meanwhile, and pays several times as much.
    """
    times = Times({name: [] for name in competitors})
    names = list(competitors)
    for number in range(rounds + 1):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            if name in times.failed:
                continue
            competitor = competitors[name]
            try:
                reading = competitor()
            except CompetitorError as failure:
                times.failed[name] = str(failure)
                del times.readings[name]
                continue
            if number:
                times.readings[name].append(reading)
    return times
