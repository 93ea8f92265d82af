"""Two agents on the same atoms, alone and over a set: laws, a brute-force count, and what is refused."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from run_builders import BenchWorkspace, auc_target, mae_target, qwk_target, row

from medomni.bench import draws, metrics, paired_agents, suites
from medomni.bench.answer_file import TargetAnswer
from medomni.bench.joining import Truth, join
from medomni.bench.targets import Target
from medomni.core import contracts

AUC, QWK, MAE = Target("t", "auc"), Target("t", "qwk", classes=4), Target("t", "mae", range=(0.0, 30.0))


def joined(target, truth, answers, strata=None):
    names = tuple(f"p{k:03}" for k in range(len(truth)))
    given = {
        n: TargetAnswer("answered", a, None) for n, a in zip(names, answers, strict=True) if a is not None
    }
    return join(target, Truth(names, strata, {"t": tuple(truth)}), given)


def paired(target, truth, first, second, **more):
    sides = (joined(target, truth, first), joined(target, truth, second))
    return paired_agents.compare_target(*sides, seed=1, **more)


def cases(seed: int):
    random = np.random.default_rng(seed)
    y = [0, 1] * 5
    yield AUC, y, *(np.round(random.random(10), 1).tolist() for _ in "ab")
    k = random.integers(0, 4, 10).tolist()
    yield QWK, [0, 1, 2, 3, *k[4:]], *(random.integers(0, 4, 10).tolist() for _ in "ab")
    yield (
        MAE,
        np.round(random.uniform(0, 30, 10), 1).tolist(),
        *(np.round(random.uniform(0, 30, 10), 1).tolist() for _ in "ab"),
    )


def score(target, truth, answers):
    if target.metric == "auc":
        return metrics.auc(truth, answers)
    if target.metric == "qwk":
        return metrics.qwk(truth, answers, classes=4)
    return -metrics.mae(truth, answers)


@pytest.mark.parametrize("seed", range(3))
def test_swapping_is_what_it_says_for_every_way_to_swap(seed):
    for target, truth, first, second in cases(seed):
        scorer = paired_agents.Scorer(joined(target, truth, first), joined(target, truth, second))
        every = np.array(list(itertools.product([False, True], repeat=10)))
        a, b = scorer.swapped(every)
        ranked = [first, second]
        if target.metric == "auc":
            ranked = [paired_agents.doubled_midranks(side).tolist() for side in ranked]
        for place in (0, 1, 77, 512, 1023):
            bits = every[place]
            sides = [[ranked[int(bit) ^ side][k] for k, bit in enumerate(bits)] for side in (0, 1)]
            assert a[place] == pytest.approx(score(target, truth, sides[0]), abs=1e-12)
            assert b[place] == pytest.approx(score(target, truth, sides[1]), abs=1e-12)
        observed = a[0] - b[0]
        exact = np.mean(np.abs(a - b) >= abs(observed) - 1e-12)
        found = paired(target, truth, first, second)
        assert found.p == pytest.approx(exact, abs=0.02)
        assert found.difference == pytest.approx(observed, abs=1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_resampling_is_what_it_says(seed):
    for target, truth, first, second in cases(seed):
        scorer = paired_agents.Scorer(joined(target, truth, first), joined(target, truth, second))
        (weights,) = draws.weights([str(y) for y in truth], resamples=20, seed=3)
        a, b = scorer.resampled(weights)
        for place, counts in enumerate(weights):
            again = np.repeat(np.arange(10), counts)
            for found, side in ((a, first), (b, second)):
                expected = score(target, [truth[k] for k in again], [side[k] for k in again])
                assert found[place] == pytest.approx(expected, abs=1e-12)


def test_turning_the_two_around_turns_the_sign_and_nothing_else():
    for target, truth, first, second in cases(5):
        one, other = paired(target, truth, first, second), paired(target, truth, second, first)
        assert one.difference == -other.difference
        assert one.p == other.p
        assert (one.better, one.equal, one.worse) == (other.worse, other.equal, other.better)
        assert one.ci == pytest.approx((-other.ci[1], -other.ci[0]), abs=1e-9)


def test_an_agent_against_itself_differs_in_nothing():
    for target, truth, first, _ in cases(6):
        found = paired(target, truth, first, first)
        assert (found.difference, found.p, found.ci) == (0.0, 1.0, (0.0, 0.0))
        assert (found.better, found.equal, found.worse) == (0, 10, 0)


def test_another_scale_of_probabilities_is_no_difference():
    truth, answers = [0, 1] * 10, np.random.default_rng(0).random(20).tolist()
    found = paired(AUC, truth, answers, [a**4 / 10 for a in answers])
    assert (found.difference, found.p) == (0.0, 1.0)


def test_a_clear_difference_is_found():
    truth = [0, 1] * 10
    found = paired(AUC, truth, [0.1 + 0.8 * y for y in truth], [0.5] * 20)
    assert found.difference == 0.5
    assert found.p < 0.001
    assert (found.better, found.worse) == (20, 0)


def test_missing_answers_lose_their_atoms():
    for target, truth, first, _ in cases(7):
        found = paired(target, truth, first, [*first[:-2], None, None])
        assert found.difference >= 0
        assert found.worse == 0


def test_what_has_no_score_has_no_difference():
    assert paired(AUC, [1, 1], [0.1, 0.2], [0.3, 0.4]).reason == "single_class"
    assert paired(QWK, [1, 1], [1, 1], [1, 2]).reason == "degenerate"
    assert paired(QWK, [1, 1], [1, 2], [1, 3]).reason == "degenerate"
    assert paired(Target("t", "mae"), [1.0, 2.0], [1.0, None], [1.0, 2.0]).reason == "no_range"
    found = paired(AUC, [0, 1], [0.1, 0.2], [0.3, 0.4], failed=True)
    assert found.figures(None) == {
        "n": 2, "difference": None, "ci": None, "p": None, "p_holm": None,
        "better": 0, "equal": 0, "worse": 0, "reason": "harness_error",
    }  # fmt: skip


def test_too_many_empty_resamples_leave_no_interval():
    values = np.array([math.nan] * 6 + [1.0] * 4)
    assert paired_agents.percentiles(values, 10) is None
    assert paired_agents.percentiles(values[4:], 6) == (1.0, 1.0)


# The command.

TRUTH = {"died": [0, 1] * 6, "stage": [0, 1, 2, 3] * 3, "days": [k / 2 for k in range(12)]}
SHARP = {"died": [float(y) for y in TRUTH["died"]], "stage": TRUTH["stage"], "days": TRUTH["days"]}
DULL = {"died": [0.5] * 12, "stage": [1] * 12, "days": [6] * 12}
PAIRS = ("demo-data_heart@n12", "demo-data_kidney@n12")


@pytest.fixture
def place(tmp_path: Path) -> BenchWorkspace:
    made = BenchWorkspace(tmp_path / "work")
    targets = [auc_target(), qwk_target(), mae_target()]
    atoms = {pair: made.build(pair, targets, TRUTH, strata=[str(k % 4) for k in range(12)]) for pair in PAIRS}
    made.publish_set()
    for pair in PAIRS:
        made.run("sharp", pair, atoms[pair], **SHARP)
        made.run("dull", pair, atoms[pair], **DULL)
    return made


def runs(place: BenchWorkspace, agent: str, pair: str | None = None) -> Path:
    folder = place.root / "runs" / agent
    return folder if pair is None else folder / f"{pair}.run.json"


def test_two_folders_compare_pair_by_pair_corrected_over_all_of_them(place):
    told = json.loads(place.command("compare", runs(place, "sharp"), runs(place, "dull"), "--json"))
    assert told["differs"] is True
    records = [each["record"] for each in told["written"]]
    assert [record["pair"] for record in records] == list(PAIRS)
    for record in records:
        assert contracts.validate("comparison-record", record) == []
        assert record["tests"] == 6
        for result in record["targets"].values():
            assert result["difference"] > 0
            assert result["p"] <= result["p_holm"] <= 6 * result["p"]
    for each in told["written"]:
        assert Path(each["file"]).is_file()
        assert Path(each["file"] + ".dsse").is_file()


def test_comparing_again_gives_the_same_bytes(place):
    out = place.root / "out"
    made = []
    for _ in range(2):
        place.command("compare", runs(place, "sharp"), runs(place, "dull"), "--out", out)
        made.append({path.name: path.read_bytes() for path in out.iterdir()})
    assert made[0] == made[1]
    assert len(made[0]) == 4


def test_one_pair_prints_both_ends_and_counts(place):
    told = place.command("compare", runs(place, "sharp", PAIRS[0]), runs(place, "dull", PAIRS[0]))
    assert "sharp against dull on demo-data_heart@n12 v1" in told
    assert "better 12, equal 0, worse 0" in told
    assert "Holm" in told


def test_exit_codes_tell_a_difference_only_when_asked(place):
    same, other = runs(place, "sharp", PAIRS[0]), runs(place, "dull", PAIRS[0])
    place.command("compare", same, other)
    place.command("compare", same, other, "--fail-on-difference", code=1)
    place.command("compare", same, same, "--fail-on-difference")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("version", 2),
        ("arm", "other"),
        ("variant", "r1"),
        ("data_fingerprint", "rows1:" + "00" * 32),
    ],
)
def test_runs_that_differ_in_more_than_the_agent_are_refused_naming_the_field(place, field, value):
    path = runs(place, "dull", PAIRS[0])
    path.write_text(json.dumps(json.loads(path.read_text()) | {field: value}))
    told = place.command("compare", runs(place, "sharp", PAIRS[0]), path, code=2)
    assert "error[compare-differs]" in told
    assert f"{field} differs" in told
    assert not (place.root / "runs" / "comparisons").exists()


def test_other_pairs_and_several_runs_of_one_are_refused(place):
    told = place.command("compare", runs(place, "sharp", PAIRS[0]), runs(place, "dull", PAIRS[1]), code=2)
    assert "pair differs" in told
    told = place.command("compare", runs(place, "sharp"), runs(place, "dull", PAIRS[1]), code=2)
    assert "error[compare-pairs]" in told
    assert "B has no run of demo-data_heart@n12" in told
    told = place.command("compare", place.root / "runs", runs(place, "dull"), code=2)
    assert "error[compare-ambiguous]" in told


def test_what_else_differs_is_said(place):
    path = runs(place, "dull", PAIRS[0])
    changes = {"plan": {"attempts": 1, "aggregate": "first", "seed": 7}, "task_set_hash": "set1:" + "0" * 64}
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    told = place.command("compare", runs(place, "sharp", PAIRS[0]), path)
    assert "note: task_set_hash_differs" in told
    assert "note: plan_differs" in told


# A whole set.


def suite(place: BenchWorkspace):
    told = json.loads(place.command("score", place.root / "runs", "--json"))
    found = [
        each["record"] for each in told["written"] if each["record"]["schema"].startswith("medomni/suite")
    ]
    assert all(contracts.validate("suite-record", record) == [] for record in found)
    return found


def test_agents_on_every_pair_of_a_set_have_a_mean_skill_and_a_test(place):
    (record,) = suite(place)
    assert [each["agent"]["name"] for each in record["agents"]] == ["dull", "sharp"]
    dull, sharp = record["agents"]
    assert sharp["skill"] == 1.0
    assert sharp["ci"] == [1.0, 1.0]
    assert dull["skill"] == pytest.approx((0 + 0 + 1 - (36.5 / 12) / 5) / 3, abs=0.1)
    assert dull["ci"][0] <= dull["skill"] <= dull["ci"][1]
    (test,) = record["tests"]
    assert test["difference"] == pytest.approx(dull["skill"] - 1)
    assert (test["n"], test["better"], test["worse"]) == (24, 0, 2)
    assert test["p"] == test["p_holm"] < 0.001
    told = place.command("score", place.root / "runs")
    assert "mean skill over 2 pairs" in told


def test_an_agent_that_lacks_a_pair_is_not_in_the_suite(place):
    runs(place, "dull", PAIRS[1]).unlink()
    (record,) = suite(place)
    assert [each["agent"]["name"] for each in record["agents"]] == ["sharp"]
    runs(place, "sharp", PAIRS[1]).unlink()
    assert suite(place) == []


def test_a_pair_without_a_skill_leaves_no_mean_and_no_test(place):
    path = runs(place, "dull", PAIRS[1])
    record = json.loads(path.read_text())
    record["atoms"][0] = row(record["atoms"][0]["atom"], status="harness_error", died=None)
    record["counts"] |= {"ran": 11, "harness_error": 1}
    path.write_text(json.dumps(record))
    (found,) = suite(place)
    dull = found["agents"][0]
    assert (dull["skill"], dull["ci"], dull["reason"]) == (None, None, "a pair has no skill")
    assert dull["skills"][1] is None
    assert found["tests"][0]["reason"] == "harness_error"
    assert "none (a pair has no skill)" in place.command("score", place.root / "runs")


def test_withdrawn_pairs_do_not_count(place):
    path = place.root / "bench/benchmarks/my-bench/withdrawn.yaml"
    path.write_text(f'withdrawn:\n  - {{pair: {PAIRS[0]}, version: 1, date: "2026-01-01", reason: a leak}}\n')
    (record,) = suite(place)
    assert [each["pair"] for each in record["pairs"]] == [PAIRS[1]]


def test_sets_that_are_not_defined_here_or_grew_since_have_no_suite(place):
    path = place.root / "bench/benchmarks/my-bench/sets/v1.yaml"
    text = path.read_text()
    path.write_text(text + "- {task: demo-data_lung@n12, version: 1}\n")
    assert suite(place) == []
    path.unlink()
    assert suite(place) == []


def test_of_several_runs_the_first_that_was_started_counts(place):
    path = runs(place, "dull", PAIRS[0])
    later = json.loads(path.read_text()) | {"started_at": "2027-01-01T00:00:00+00:00", "run_id": "again"}
    (path.parent / "again.run.json").write_text(json.dumps(later))
    (record,) = suite(place)
    assert record["agents"][0]["run_ids"][0] == f"dull-1/{PAIRS[0]}"


def test_a_suite_of_one_pair_is_that_pair(place):
    random = np.random.default_rng(3)
    table = random.random((50, 1))
    run = type("Run", (), {"record": {"benchmark": "b", "set": "s"}})()
    assert (suites.over_pairs(table, run) == table[:, 0]).all()
