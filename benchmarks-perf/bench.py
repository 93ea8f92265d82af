"""Times scores, intervals and records of Bench, as ratios against the same loops over scikit-learn.

`python benchmarks-perf/bench.py [--rounds N] [--resamples R] [--json FILE]` scores 20 atoms with 10,000
resamples both ways, in turns; the loop over scikit-learn runs R of them and is scaled up. It then scores 30
pairs of 20 atoms for two agents with records, signatures and the suite, in seconds. Times are never asserted;
a missed target is said in the table. Numbers that differ make the status 1. Needs scikit-learn.

Leaves to others: how times are taken (`timing`) and shown (`table`).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import cohen_kappa_score, mean_absolute_error, roc_auc_score
from table import Row, Section, Target
from timing import local, take_turns

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "medomni" / "bench"))

from run_builders import BenchWorkspace, auc_target, mae_target, qwk_target

from medomni.bench import draws, metrics
from medomni.bench.answer_file import TargetAnswer
from medomni.bench.intervals import qwk_interval
from medomni.bench.joining import Joined, Truth, join
from medomni.bench.paired_agents import Scorer, compare_target
from medomni.bench.targets import Target as ScoredTarget

ATOMS, RESAMPLES = 20, draws.RESAMPLES
OURS, THEIRS = "medomni.bench", "the same loop over scikit-learn"
FASTER = Target(">=", 20)


def joined(target: ScoredTarget, truth: list[float], answers: list[float]) -> Joined:
    """Truth and answers of one agent; the classes are the strata."""
    names = tuple(f"{k:04}" for k in range(len(truth)))
    given = {name: TargetAnswer("answered", a, None) for name, a in zip(names, answers, strict=True)}
    return join(target, Truth(names, None, {"t": tuple(truth)}), given)


def examples(n: int = ATOMS) -> dict[str, tuple[Joined, Joined]]:
    """Two agents for each metric."""
    random = np.random.default_rng(0)
    classes = [k % 4 for k in range(n)]
    binary = [k % 2 for k in range(n)]
    near = [[int(np.clip(round(y + random.normal()), 0, 3)) for y in classes] for _ in "ab"]
    sure = [[float(np.clip(y * 0.3 + random.random() * 0.7, 0, 1)) for y in binary] for _ in "ab"]
    days = np.round(random.uniform(0, 30, n), 1)
    about = [np.clip(np.round(days + random.normal(0, 4, n), 1), 0, 30).tolist() for _ in "ab"]
    auc, qwk = ScoredTarget("t", "auc"), ScoredTarget("t", "qwk", classes=4)
    mae = ScoredTarget("t", "mae", range=(0.0, 30.0))
    return {
        "auc": (joined(auc, binary, sure[0]), joined(auc, binary, sure[1])),
        "qwk": (joined(qwk, classes, near[0]), joined(qwk, classes, near[1])),
        "mae": (joined(mae, days.tolist(), about[0]), joined(mae, days.tolist(), about[1])),
    }


def theirs(metric: str, truth: np.ndarray, answers: np.ndarray) -> float:
    """scikit-learn's score; mae negated, so that more is better."""
    if metric == "auc":
        return float(roc_auc_score(truth, answers))
    if metric == "qwk":
        return float(cohen_kappa_score(truth, answers, weights="quadratic", labels=range(4)))
    return -float(mean_absolute_error(truth, answers))


def loop(metric: str, side: Joined, drawn: np.ndarray) -> list[float]:
    """One score of scikit-learn for each resample."""
    truth, answers = np.array(side.truth), np.array(side.filled)
    return [theirs(metric, truth[rows], answers[rows]) for rows in drawn]


def ours(side: Joined, resamples: int) -> np.ndarray:
    """The same scores, drawn and counted here."""
    scorer = Scorer(side, side)
    blocks = draws.weights(side.strata, resamples=resamples, seed=1)
    return np.concatenate([scorer.resampled(block)[0] for block in blocks])


def resampling(options: argparse.Namespace) -> list[Section]:
    """A table for each metric: the scores of 10,000 resamples."""
    sections = []
    for metric, (side, _) in examples().items():
        some = min(options.resamples, RESAMPLES)
        drawn = np.concatenate(list(draws.indices(side.strata, resamples=some, seed=1)))
        gap = np.abs(ours(side, some) - np.array(loop(metric, side, drawn))).max()
        section = Section(
            f"{metric}, {RESAMPLES} stratified resamples of {ATOMS} atoms", f"{THEIRS} / {OURS}"
        )
        times = take_turns(
            {
                OURS: local(lambda side=side: ours(side, RESAMPLES) is None or None),
                THEIRS: local(lambda m=metric, side=side, drawn=drawn: loop(m, side, drawn) is None or None),
            },
            options.rounds,
        )
        scale = RESAMPLES / some
        ratio, ratio_wall = times.ratios(THEIRS, OURS, scale=scale)
        wall, cpu = times.seconds(OURS)
        section.rows.append(Row(OURS, wall, cpu))
        wall, cpu = times.seconds(THEIRS)
        row = Row(THEIRS, wall * scale, cpu * scale, ratio=ratio, ratio_wall=ratio_wall, target=FASTER)
        section.rows.append(row)
        section.numbers_differ = bool(gap > 1e-12)
        section.notes.append(f"{'NUMBERS DIFFER' if gap > 1e-12 else 'equal'}, largest gap {gap:.1e}")
        sections.append(section)
    return sections


def whole() -> Section:
    """Seconds for what a board needs: 600 atoms, two agents, every record and the suite."""
    section = Section("30 pairs of 20 atoms, two agents: everything in seconds", "")
    with tempfile.TemporaryDirectory() as folder:
        place = BenchWorkspace(Path(folder) / "work")
        made = list(examples().values())
        targets = [auc_target("t"), qwk_target("t"), mae_target("t")]
        for number in range(30):
            pair = f"demo-data_t{number:02}@n20"
            first, second = made[number % 3]
            place.build(pair, [targets[number % 3]], {"t": list(first.truth)}, strata=list(first.strata))
        for number, pair in enumerate(place.tasks):
            first, second = made[number % 3]
            atoms = [row["atom"] for row in _atoms(place, pair)]
            place.run("a", pair, atoms, t=[each.value for each in first.given])
            place.run("b", pair, atoms, t=[each.value for each in second.given])
        place.publish_set()
        runs = place.root / "runs"
        for name, command in (
            ("score, 60 runs with records and the suite", ("score", runs)),
            ("compare, 30 pairs", ("compare", runs / "a", runs / "b")),
        ):
            began, used = time.perf_counter(), time.process_time()
            place.command(*command)
            section.rows.append(Row(name, time.perf_counter() - began, time.process_time() - used))
    return section


def _atoms(place: BenchWorkspace, pair: str) -> list[dict[str, str]]:
    path = place.root / "atomtasks" / "_content" / pair / "content.json"
    found: list[dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))["atoms"]
    return found


def single() -> Section:
    """One score with all that stands beside it."""
    section = Section("one target of 20 and of 600 atoms", "")
    for n in (ATOMS, 600):
        made = examples(n)
        first, second = made["qwk"]
        truth, answers = [int(y) for y in first.truth], [int(a) for a in first.filled or ()]
        jobs = {
            f"qwk, {n} atoms": lambda y=truth, a=answers: metrics.qwk(y, a, classes=4) and None,
            f"its interval, {n} atoms": lambda y=truth, a=answers, s=first.strata: (
                qwk_interval(y, a, classes=4, strata=s, seed=1) and None
            ),
            f"compared with another agent, {n} atoms": lambda a=first, b=second: (
                compare_target(a, b, seed=1) and None
            ),
        }
        for name, job in jobs.items():
            reading = local(job)()
            section.rows.append(Row(name, reading.wall_sec, reading.cpu_sec))
    return section


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds that count (default: 5)")
    parser.add_argument("--resamples", type=int, default=500, help="of scikit-learn's loop (default: 500)")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    sections = [*resampling(options), single(), whole()]
    for section in sections:
        sys.stdout.write(section.text() + "\n")
    if options.json:
        data = [section.data() for section in sections]
        options.json.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    return int(any(section.numbers_differ for section in sections))


if __name__ == "__main__":
    sys.exit(main())
