"""Times a whole cohort with its label against the query that a person would write, in one run on one release.

`python benchmarks-perf/studio.py [--scale S] [--threads N …] [--rounds N] [--folder DIR] [--keep]` makes a
release (`studio_release`; scale 1 has the 158,374,764 laboratory rows of MIMIC-IV 3.1) and draws
`mimic-iv_ckd-staging@n20` through the recipe language and by hand (`studio_by_hand`), in turns, with the same
connection settings. Events, counts and answers must be equal, else the status is 1. Times are never asserted;
a missed target is said in the table. Leaves to others: how times are taken (`timing`) and shown (`table`).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import memory
import studio_by_hand as by_hand
import studio_release
from table import Row, Section, Target
from timing import Span, local, take_turns

from medomni.core.names import Pair
from medomni.core.workspace import Workspace, load_workspace
from medomni.studio.data.store import open_in
from medomni.studio.definitions.library import Library
from medomni.studio.definitions.templates import Cohort, Template, read_cohort, read_template
from medomni.studio.labels import label_table
from medomni.studio.opening import open_pair
from medomni.studio.recipe.plan import RESULT
from medomni.studio.select import Selection, select
from medomni.studio.tables import StoredTables

PAIR = Pair.parse("mimic-iv_ckd-staging@n20")
COHORT, PICKED = "cohort by the recipe language", "cohort by hand"
TABLE, EVERY = "label table by the recipe language", "cohort by hand, by way of a table of every candidate"
# Of what a release takes at scale 1, with room for what it is made of.
_DISK = 8 << 30


@dataclass(frozen=True, slots=True)
class Bench:
    """The cohort and the release, opened once: reading definitions is not what is timed."""

    store: StoredTables
    library: Library
    template: Template
    cohort: Cohort
    memory_limit: str

    @classmethod
    def of(cls, workspace: Workspace, memory_limit: str) -> Bench:
        """What a workspace holds."""
        library = open_pair(workspace, PAIR)
        template = read_template(library, PAIR.template)
        cohort = read_cohort(library, PAIR, library.label(template.targets[0].label).label)
        store = StoredTables(open_in(workspace, cohort.release))
        return cls(store, library, template, cohort, memory_limit)

    def cohort_by_recipe(self, threads: int) -> Selection:
        """The cohort as `medomni studio cohort flow` draws it."""
        return select(
            self.store,
            self.library,
            PAIR,
            self.template,
            self.cohort,
            release_class="real",
            memory_limit=self.memory_limit,
            threads=threads,
        )

    def table_by_recipe(self, threads: int) -> tuple[int, int]:
        """Every candidate with each rule: how many there are, and how many are eligible."""
        bound = self.library.label(self.template.targets[0].label)
        query = f'SELECT count(*), count(*) FILTER (eligible) FROM "{RESULT}"'  # noqa: S608 - our own name
        with label_table(self.store, bound, memory_limit=self.memory_limit, threads=threads) as found:
            counts = found.connection.execute(query).fetchall()[0]
            return int(counts[0]), int(counts[1])

    def by_hand(self, threads: int, *, every: bool) -> tuple[list[tuple[Any, ...]], tuple[int, ...]]:
        """The eligible picks of patient, time, key and class; with `every`, also the counts of its table."""
        with self.store.connect(memory_limit=self.memory_limit, threads=threads) as connection:
            for macro in by_hand.MACROS:
                connection.execute(macro)
            if not every:
                connection.execute(by_hand.PICKED)
                return connection.execute("SELECT * FROM by_hand").fetchall(), ()
            connection.execute(by_hand.EVERY)
            connection.execute(by_hand.PICKED_OF_EVERY)
            counts = connection.execute(by_hand.COUNTS).fetchall()[0]
            return connection.execute("SELECT * FROM by_hand").fetchall(), tuple(map(int, counts))

    def competitors(self, threads: int) -> dict[str, Callable[[], None]]:
        """What is timed."""
        return {
            COHORT: lambda: _nothing(self.cohort_by_recipe(threads)),
            PICKED: lambda: _nothing(self.by_hand(threads, every=False)),
            TABLE: lambda: _nothing(self.table_by_recipe(threads)),
            EVERY: lambda: _nothing(self.by_hand(threads, every=True)),
        }


def _nothing(_: object) -> None:
    """Timed functions give no numbers."""


def compare(bench: Bench, threads: int) -> Iterator[tuple[str, bool]]:
    """What must be equal, and whether it is."""
    drawn = bench.cohort_by_recipe(threads)
    picked, _ = bench.by_hand(threads, every=False)
    same, counts = bench.by_hand(threads, every=True)
    rows, eligible = bench.table_by_recipe(threads)
    where = [step for step in drawn.steps if step.step in ("candidates", "where")]
    first, last = where[0], where[-1]
    left = [step for step in drawn.steps if step.step == "where_outcome"][-1]
    ours = (first.events_after, first.people_after, last.events_after, last.people_after)
    yield (
        f"{ours[0]:,} candidates of {ours[1]:,} people, {ours[2]:,} of {ours[3]:,} pickable",
        ours == counts[:4],
    )
    yield f"{eligible:,} of {rows:,} events eligible", (rows, eligible) == (counts[0], counts[4])
    yield f"{left.people_after:,} people eligible after the pick", left.people_after == len(picked)
    yield "the two queries by hand pick the same events", sorted(picked) == sorted(same)
    found = {row[0]: (row[1].isoformat(), str(row[2]), row[3]) for row in picked}
    atoms = [(each.subject, (each.prediction_time, each.key, each.value)) for each in drawn.atoms]
    yield (
        f"{len(atoms)} drawn people with their moment and class",
        all(found.get(subject) == rest for subject, rest in atoms),
    )
    shares = {str(each): sum(row[3] == each for row in picked) / len(picked) for each in range(5)}
    told = drawn.reference[bench.template.targets[0].name]["share"]
    yield "shares of the classes: " + ", ".join(f"{share:.4f}" for share in told.values()), told == shares


def section(bench: Bench, threads: int, rounds: int) -> Section:
    """Times with a number of threads, and whether the results are equal."""
    competitors = {name: local(action) for name, action in bench.competitors(threads).items()}
    times = take_turns(competitors, rounds)
    rows = bench.store.connect().execute('SELECT count(*) FROM "hosp.labevents"').fetchall()[0][0]
    found = Section(f"{rows:,} laboratory rows, {threads} threads", "over the query by hand, by cpu")
    for name, base, limit in ((COHORT, PICKED, 2), (TABLE, EVERY, None)):
        ratios = times.ratios(name, base)
        target = Target("<=", limit) if limit else None
        found.rows.append(Row(name, *times.seconds(name), None, *ratios, target))
        found.rows.append(Row(f"  {base}", *times.seconds(base)))
    for what, same in compare(bench, threads):
        found.numbers_differ |= not same
        found.notes.append(f"{'equal' if same else 'DIFFERENT'}: {what}")
    return found


def peaks(folder: Path, memory_limit: str, threads: int) -> Section:
    """Peak memory of each, in a process of its own."""
    found = Section(f"peak memory, {threads} threads, limit {memory_limit}", "over the query by hand")
    sizes = {}
    for name in (COHORT, PICKED, TABLE, EVERY):
        command = [sys.executable, __file__, "--peak", name, "--folder", str(folder)]
        command += ["--memory-limit", memory_limit, "--threads", str(threads)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
        sizes[name] = int(done.stdout)
    for name, size in sizes.items():
        ratio = {COHORT: PICKED, TABLE: EVERY}.get(name)
        span = Span.of([size / sizes[ratio]]) if ratio else None
        found.rows.append(Row(name, mebibytes=size / 2**20, ratio=span))
    return found


def _peak(options: argparse.Namespace) -> int:
    bench = Bench.of(load_workspace(options.folder), options.memory_limit)
    bench.competitors(options.threads[0])[options.peak]()
    sys.stdout.write(f"{memory.resident('VmHWM')}\n")
    return 0


def release(options: argparse.Namespace) -> tuple[Path, bool]:
    """The folder with the release, and whether it was made now."""
    if options.folder and (options.folder / "medomni.toml").is_file():
        return options.folder, False
    folder = options.folder or Path(tempfile.mkdtemp(prefix="medomni-bench-"))
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise SystemExit(f"{folder} holds something else")
    free, needed = shutil.disk_usage(folder).free, int(_DISK * options.scale)
    if free < needed:
        raise SystemExit(f"{folder} has {free >> 20} MiB free, and the release needs {needed >> 20}")
    started = time.perf_counter()
    try:
        studio_release.make_release(folder, scale=options.scale, memory_limit=options.memory_limit)
    except BaseException:
        shutil.rmtree(folder)
        raise
    sys.stdout.write(f"making the release took {time.perf_counter() - started:.0f} s\n")
    return folder, True


def surroundings() -> dict[str, Any]:
    """What the figures depend on."""
    versions = {name: metadata.version(name) for name in ("duckdb", "sqlglot")}
    load = round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None
    return {"cores": os.cpu_count(), "load": load, "python": platform.python_version(), "packages": versions}


def measure(folder: Path, options: argparse.Namespace) -> list[Section]:
    """Every table, printed as soon as it is there."""
    bench = Bench.of(load_workspace(folder), options.memory_limit)
    found = []
    for threads in options.threads:
        found.append(section(bench, threads, options.rounds))
        sys.stdout.write(found[-1].text() + "\n")
        sys.stdout.flush()
    if Path("/proc/self/status").exists():
        found.append(peaks(folder, options.memory_limit, options.threads[-1]))
        sys.stdout.write(found[-1].text() + "\n")
    return found


def arguments() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=0.05, help="share of the real size (default: 0.05)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds that count (default: 5)")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="(default: 1 2)")
    parser.add_argument("--memory-limit", default="12GB", help="of DuckDB (default: 12GB)")
    parser.add_argument("--folder", type=Path, help="where the release is made, or was made before")
    parser.add_argument("--keep", action="store_true", help="leave the release where it is")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--peak", choices=(COHORT, PICKED, TABLE, EVERY), help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    """Measure and print."""
    options = arguments()
    if options.peak:
        return _peak(options)
    around = surroundings()
    sys.stdout.write(f"{json.dumps(around)}\n")
    folder, made = release(options)
    try:
        found = measure(folder, options)
    finally:
        if made and not options.keep:
            shutil.rmtree(folder)
    missed = [f"{section.title}: {row.name}" for section in found for row in section.rows if row.missed]
    sys.stdout.write("".join(f"target missed: {line}\n" for line in missed) or "no target missed\n")
    if options.json:
        report = {"surroundings": around, "sections": [section.data() for section in found]}
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return int(any(section.numbers_differ for section in found))


if __name__ == "__main__":
    sys.exit(main())
