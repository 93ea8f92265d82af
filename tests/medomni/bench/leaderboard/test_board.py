"""What compares on a board, who is ranked, and what a board never says."""

from __future__ import annotations

from typing import Any

from board_builders import a_set, agent, as_record, comparison, score, suite, target

from medomni.bench.leaderboard import words
from medomni.bench.leaderboard.board import make_board
from medomni.bench.leaderboard.model import Board, Ranking
from medomni.bench.leaderboard.records import Records
from medomni.bench.task_sets import TaskSet, Withdrawal
from medomni.core import contracts

RULE, PRIOR, SHELL = agent("rule"), agent("prior"), agent("shell", model="m")


def board(task_set: TaskSet, *values: dict[str, Any], **options: Any) -> Board:
    records = Records()
    for number, value in enumerate(values):
        records.add(as_record(value, f"r{number}.json"))
    return make_board(task_set, records, **options)


def only(found: Board) -> Ranking:
    (ranking,) = found.rankings
    return ranking


def ranks(found: Board, ranking: Ranking) -> dict[str, tuple[int, int] | None]:
    return {found.labels[row.agent]: row.rank for row in ranking.rows}


def test_agents_without_a_test_are_not_separated_however_far_apart() -> None:
    s = a_set()
    found = board(
        s,
        score(RULE, s, targets={"died": target("auc", 0.95)}),
        score(PRIOR, s, targets={"died": target("auc", 0.5)}),
    )
    assert ranks(found, only(found)) == {"rule": (1, 2), "prior": (1, 2)}


def test_significant_comparison_separates_and_best_stands_first() -> None:
    s = a_set()
    a, b = (
        score(PRIOR, s, targets={"died": target("auc", 0.5)}),
        score(RULE, s, targets={"died": target("auc", 0.9)}),
    )
    found = board(s, a, b, comparison(a, b, -0.4, 0.001))
    assert ranks(found, only(found)) == {"rule": (1, 1), "prior": (2, 2)}
    assert [found.labels[row.agent] for row in only(found).rows] == ["rule", "prior"]


def test_lower_is_better_for_mae() -> None:
    s = a_set()
    found = board(
        s,
        score(RULE, s, targets={"days": target("mae", 1.5)}),
        score(PRIOR, s, targets={"days": target("mae", 3.0)}),
    )
    assert [found.labels[row.agent] for row in only(found).rows] == ["rule", "prior"]


def test_holm_runs_over_all_tests_of_the_board() -> None:
    s = a_set("t_one@n20", "t_two@n20")
    rows = [(score(RULE, s, pair=p), score(PRIOR, s, pair=p)) for p in s.tasks]
    tests = [comparison(a, b, 0.2, 0.03) for a, b in rows]
    alone = board(s, *rows[0], tests[0])
    assert only(alone).tests[0].better is not None
    both = board(s, *(each for pair in rows for each in pair), *tests)
    assert [test.p_holm for ranking in both.rankings for test in ranking.tests] == [0.06, 0.06]
    assert all(row.rank == (1, 2) for ranking in both.rankings for row in ranking.rows)


def test_same_comparison_in_both_directions_is_one_test() -> None:
    s = a_set()
    a, b = score(RULE, s), score(PRIOR, s)
    found = board(s, a, b, comparison(a, b, 0.4, 0.03), comparison(b, a, -0.4, 0.03))
    assert len(only(found).tests) == 1
    assert ranks(found, only(found))["rule"] == (1, 1)


def test_no_number_never_ranks_and_stands_last() -> None:
    s = a_set()
    found = board(s, score(RULE, s, targets={"died": target("auc", None)}), score(PRIOR, s))
    last = only(found).rows[-1]
    assert found.labels[last.agent] == "rule"
    assert (last.rank, last.value, last.not_ranked) == (None, None, "no score: single_class")
    assert only(found).rows[0].rank == (1, 1)


def test_other_version_data_scorer_arm_or_variant_is_another_ranking() -> None:
    s = a_set(arms=("encoders", "no-perception", "modality-ladder"))
    base = score(RULE, s)
    others = [
        score(PRIOR, s, data_fingerprint="rows1:" + "cd" * 32),
        score(PRIOR, s, scorer_version=2),
        score(PRIOR, s, arm="no-perception"),
        score(PRIOR, s, arm="modality-ladder", variant="r1"),
    ]
    found = board(s, base, *others)
    assert [len(ranking.rows) for ranking in found.rankings] == [1] * 5


def test_record_of_another_version_or_arm_than_the_set_pins_is_left_out_and_told() -> None:
    s = a_set()
    found = board(s, score(RULE, s), score(PRIOR, s, version=2), score(SHELL, s, arm="no-perception"))
    assert len(only(found).rows) == 1
    assert [text.split(" ", 2)[2] for text in found.left_out] == [
        "of t_one@n20 version 2, and the set pins version 1",
        "of the arm no-perception, which the set does not have",
    ]


def test_records_of_other_sets_do_not_count() -> None:
    s, other = a_set(), a_set(name="other")
    assert board(s, score(RULE, other)).rankings == ()


def test_first_started_run_counts_whatever_a_later_one_scored() -> None:
    s = a_set()
    late = score(
        RULE, s, run="a", started_at="2026-02-01T00:00:00+00:00", targets={"died": target("auc", 0.9)}
    )
    early = score(
        RULE, s, run="b", started_at="2026-01-01T00:00:00+00:00", targets={"died": target("auc", 0.6)}
    )
    row = only(board(s, late, early)).rows[0]
    assert (row.run_id, row.value, row.runs_started, row.runs_scored) == ("b", 0.6, 2, 2)


def test_trial_on_some_atoms_does_not_keep_a_later_whole_run_from_counting() -> None:
    s = a_set()
    early = "2026-01-01T00:00:00+00:00"
    trial = score(RULE, s, run="a", started_at=early, integrity=["limited-to-2-atoms"])
    whole = score(RULE, s, run="b", started_at="2026-02-01T00:00:00+00:00")
    row = only(board(s, trial, whole)).rows[0]
    assert (row.run_id, row.rank, row.runs_started) == ("b", (1, 1), 2)


def test_run_that_was_started_and_never_scored_is_counted() -> None:
    s = a_set()
    records = Records()
    records.add(as_record(score(RULE, s, run="a")))
    records.add(as_record(run_record(RULE, s, "zzz")))
    row = only(make_board(s, records)).rows[0]
    assert (row.runs_started, row.runs_scored) == (2, 1)


def run_record(who: dict[str, Any], s: TaskSet, run: str) -> dict[str, Any]:
    kept = score(who, s, run=run)
    shared = set(kept) & set(contracts.schema("run-record")["properties"]) - {"schema", "counts"}
    row = {
        "atom": "t_one.n20.0123456789", "attempt": 1, "status": "ran", "seconds": 1.0, "tokens": None,
        "cost_usd": None, "tool_calls": None, "answer_sha256": None,
        "targets": {"died": {"status": "answered", "value": 0.5, "reason": None}},
    }  # fmt: skip
    return {
        "schema": "medomni/run-record/1",
        **{key: kept[key] for key in shared},
        "started_at": "2026-01-01T00:00:00+00:00",
        "finished_at": None,
        "runner": "harbor 0",
        "terms": [],
        "atoms": [row],
        "counts": {"atoms": 1, "ran": 1, "timeout": 0, "agent_error": 0, "harness_error": 0},
    }


def test_trial_on_some_atoms_an_unsafe_host_and_harness_errors_rank_nobody() -> None:
    s = a_set()
    counts = {"atoms": 20, "ran": 19, "timeout": 0, "agent_error": 0, "harness_error": 1}
    found = board(
        s,
        score(RULE, s, integrity=["limited-to-2-atoms"]),
        score(PRIOR, s, integrity=["unsafe-host"]),
        score(SHELL, s, counts=counts),
    )
    assert all(row.rank is None for row in only(found).rows)
    assert {row.not_ranked.split(" ")[0] for row in only(found).rows} == {"a", "ran", "unresolved"}


def test_withdrawn_pair_stays_and_ranks_nobody_and_weakens_no_other_test() -> None:
    gone = Withdrawal("t_two@n20", 1, "2026-01-01", "a leak", "t_two@n20 version 2")
    s = a_set("t_one@n20", "t_two@n20", withdrawn=[gone])
    rows = [(score(RULE, s, pair=p), score(PRIOR, s, pair=p)) for p in s.tasks]
    found = board(s, *(r for pair in rows for r in pair), *(comparison(a, b, 0.2, 0.03) for a, b in rows))
    one, two = found.rankings
    assert one.tests[0].better is not None
    assert two.withdrawn == gone
    assert [row.rank for row in two.rows] == [None, None]
    assert [row.value for row in two.rows] == [0.7, 0.7]
    assert any(
        "withdrawn on 2026-01-01: a leak" in note and "version 2 instead" in note for note in found.notes
    )


def test_config_hash_that_differs_is_marked() -> None:
    s = a_set()
    other = score(SHELL, s, config_hash="cfg1:" + "0" * 64)
    found = board(s, score(RULE, s), score(PRIOR, s), other)
    assert {found.labels[row.agent]: row.hash_differs for row in only(found).rows} == {
        "rule": False, "prior": False, "shell (m)": True,
    }  # fmt: skip
    right = {("medomni/0.3.0", "t_one@n20", 1, "encoders", ""): "cfg1:" + "0" * 64}
    found = board(s, score(RULE, s), other, expected_hashes=right)
    assert {found.labels[row.agent]: row.hash_differs for row in only(found).rows} == {
        "rule": True, "shell (m)": False,
    }  # fmt: skip


def test_agents_of_one_name_get_labels_that_tell_them_apart() -> None:
    s = a_set()
    found = board(
        s,
        score(agent("rule"), s, run="1"),
        score(agent("rule", version="2"), s, run="2"),
        score(agent("rule", version="2", window=24), s, run="3"),
    )
    labels = [each.label for each in found.agents]
    assert labels[0] == "rule 1"
    assert len(set(labels)) == 3
    assert all(label.startswith("rule 2 #") for label in labels[1:])


def test_suite_skill_needs_every_pair() -> None:
    s = a_set("t_one@n20", "t_two@n20")
    found = board(
        s,
        score(RULE, s, pair="t_one@n20", targets={"died": target("auc", 0.9)}),
        score(RULE, s, pair="t_two@n20", targets={"stage": target("qwk", 0.4)}),
        score(PRIOR, s, pair="t_one@n20"),
    )
    rule, prior = found.suite
    assert rule.skill == (0.8 + 0.4) / 2
    assert (rule.ci, rule.n_atoms) == (None, 40)
    assert prior.skill is None
    assert prior.reason == "no score in 1 of 2 pairs: t_two@n20"
    assert (prior.rank, rule.rank) == (None, (1, 1))


def test_suite_takes_interval_and_tests_only_from_a_record_of_exactly_these_runs() -> None:
    s = a_set("t_one@n20", "t_two@n20")
    a = [score(RULE, s, pair=p) for p in s.tasks]
    b = [score(PRIOR, s, pair=p) for p in s.tasks]
    made = suite(s, [(a, 0.4), (b, 0.0)])
    found = board(s, *a, *b, made)
    assert [(found.labels[row.agent], row.ci, row.rank) for row in found.suite if row.ci] != []
    assert {found.labels[row.agent]: row.rank for row in found.suite} == {"rule": (1, 1), "prior": (2, 2)}
    other = [score(PRIOR, s, pair=p, run=f"other/{p}") for p in s.tasks]
    found = board(s, *a, *other, made)
    assert {found.labels[row.agent]: (row.ci is not None, row.rank) for row in found.suite} == {
        "rule": (True, (1, 2)), "prior": (False, (1, 2)),
    }  # fmt: skip


def test_run_of_the_set_before_it_grew_has_no_suite_skill() -> None:
    s = a_set()
    old = "set1:" + "1" * 64
    (row,) = board(s, score(RULE, s, task_set_hash=old)).suite
    assert (row.skill, row.reason) == (None, "some runs are of the set as it was before it grew")


def test_skill_of_mae_comes_from_the_record_and_is_at_least_minus_1() -> None:
    s = a_set()
    found = board(s, score(RULE, s, targets={"days": target("mae", 9.0, secondary={"skill": -3.0})}))
    assert only(found).rows[0].skill == -1.0
    found = board(s, score(RULE, s, targets={"days": target("mae", 9.0)}))
    assert only(found).rows[0].skill is None
    assert found.suite[0].skill is None


def test_warnings_tell_limits_reach_failures_and_attempts() -> None:
    s = a_set()
    environment = {
        "kind": "local",
        "limits_held": {"memory": False, "no_network": True},
        "widened": ["api.x"],
    }
    plan = {"attempts": 3, "aggregate": "median", "seed": 0}
    counts = {"atoms": 20, "ran": 17, "timeout": 2, "agent_error": 1, "harness_error": 0}
    found = board(s, score(RULE, s, environment=environment, plan=plan, counts=counts, integrity=["odd"]))
    assert only(found).rows[0].warnings == (
        "odd", "limits not held: memory", "could reach: api.x", "timed out on 2 of 20 atoms",
        "agent failed on 1 of 20 atoms", "3 attempts per atom, median of them counts",
    )  # fmt: skip


def test_notes_say_what_the_data_and_n_allow() -> None:
    s = a_set()
    text = "\n".join(board(s, score(RULE, s, release_class="dummy", access="generated")).notes)
    assert "Not for scores: dummy data" in text
    assert "Preliminary: with n = 20" in text
    assert "withdrawn" not in text
    large = {"died": target("auc", 0.7, n=100)}
    counts = {"atoms": 100, "ran": 100, "timeout": 0, "agent_error": 0, "harness_error": 0}
    text = "\n".join(board(s, score(RULE, s, targets=large, counts=counts)).notes)
    assert "Not for scores" not in text
    assert "Preliminary" not in text


def test_order_of_records_changes_nothing() -> None:
    s = a_set("t_one@n20", "t_two@n20")
    rows = [score(who, s, pair=p) for p in s.tasks for who in (RULE, PRIOR, SHELL)]
    tests = [comparison(rows[0], rows[1], 0.3, 0.004), comparison(rows[4], rows[5], -0.3, 0.004)]
    there = board(s, *rows, *tests).as_plain()
    back = board(s, *reversed(rows), *reversed(tests)).as_plain()
    for ranking in (*there["rankings"], *back["rankings"]):
        ranking["tests"].sort(key=str)
    del there["left_out"], back["left_out"]
    assert there == back


def test_remarks_hold_everything_that_a_reader_should_know() -> None:
    s = a_set()
    odd = score(
        RULE, s, targets={"died": target("auc", 0.7, n_invalid=2, flags=["constant"])}, integrity=["odd"]
    )
    again = score(RULE, s, run="zz", config_hash="cfg1:" + "0" * 64)
    other = score(PRIOR, s, config_hash="cfg1:" + "1" * 64)
    found = board(s, odd, again, other)
    row = next(row for row in only(found).rows if found.labels[row.agent] == "rule")
    assert words.remarks(row) == (
        "constant; odd; 2 invalid answers; config hash differs; runs: 2 started, 2 scored"
    )


def test_notes_tell_of_scorer_versions_data_and_few_tests() -> None:
    s = a_set()
    a, b = score(RULE, s), score(PRIOR, s)
    third = score(SHELL, s)
    text = "\n".join(board(s, a, b, third, comparison(a, b, 0.1, 0.2)).notes)
    assert "1 of 3 possible paired tests" in text
    assert "None of the board's 1 tests separates two agents" in text
    other = score(SHELL, s, scorer_version=2, data_fingerprint="rows1:" + "cd" * 32)
    text = "\n".join(board(s, a, b, other).notes)
    assert "different scorer versions" in text
    assert "different data" in text


def test_imported_results_say_that_they_compare_with_nothing_else() -> None:
    s = a_set(name="v0.2-mid")
    found = {**s.tasks}
    old = TaskSet(s.name, s.card, "", "medomni-v0", s.arms, dict.fromkeys(found, 0), s.task_set_hash, {})
    values = {
        "version": 0, "config_hash": "v0.2:1f", "environment": None, "plan": None, "data_fingerprint": None,
        "builder": "medomni-v0",
    }  # fmt: skip
    made = board(old, score(RULE, old, **values))
    assert only(made).rows[0].environment == "imported from v0.2"
    assert "imported results of MedOmni 0.2" in "\n".join(made.notes)


def test_suite_record_with_most_agents_gives_the_tests() -> None:
    s = a_set("t_one@n20", "t_two@n20")
    a, b = ([score(who, s, pair=p) for p in s.tasks] for who in (RULE, PRIOR))
    found = board(s, *a, *b, suite(s, [(a, 0.4)]), suite(s, [(a, 0.4), (b, 0.0)]), suite(s, [(b, 0.0)]))
    assert len(found.suite_tests) == 1
    other = suite(a_set("t_one@n20", "t_two@n20", name="other"), [(a, 0.4)])
    assert board(s, *a, other).suite[0].ci is None


def test_suite_takes_the_newest_scorer_and_then_the_data_with_most_agents() -> None:
    s = a_set()
    old = [score(who, s, targets={"died": target("auc", 0.5)}) for who in (RULE, PRIOR)]
    new = score(RULE, s, run="new", scorer_version=2, targets={"died": target("auc", 0.9)})
    found = board(s, *old, new)
    assert [(found.labels[row.agent], row.skill) for row in found.suite] == [("rule", 0.8)]
