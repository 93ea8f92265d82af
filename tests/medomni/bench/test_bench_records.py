"""`score`: from a run record to a signed score record, as often as one likes, and what stays inside."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from run_builders import BenchWorkspace, auc_target, mae_target, qwk_target, row

from medomni.bench import attempts, run_reading, score_records, usage
from medomni.bench.answer_file import TargetAnswer
from medomni.bench.errors import ScoreError
from medomni.bench.signed_records import predicate_type, public_agent, write_signed
from medomni.bench.targets import Target
from medomni.core import contracts
from medomni.core.errors import DocumentNotFoundError, WriteError
from medomni.core.issues import IssuesError
from medomni.core.keys import load_or_make_key
from medomni.core.signing import keyring_of, verify_file
from medomni.core.workspace import load_workspace

PAIR = "demo-data_kidney@n12"
TRUTH = {"died": [0, 1] * 6, "stage": [0, 1, 2, 3] * 3, "days": [k / 2 for k in range(12)]}
GOOD = {
    "died": [0.1, 0.8, 0.4, 0.9, 0.3, 0.6, 0.2, 0.3, 0.5, 0.7, 0.1, 0.9],
    "stage": [0, 1, 2, 2, 1, 1, 2, 3, 0, 0, 3, 3],
    "days": [k / 2 + 0.5 for k in range(12)],
}


@pytest.fixture
def place(tmp_path: Path) -> BenchWorkspace:
    return BenchWorkspace(tmp_path / "work")


def built(place: BenchWorkspace) -> list[str]:
    targets = [auc_target(), qwk_target(), mae_target()]
    return place.build(PAIR, targets, TRUTH, strata=[str(k % 4) for k in range(12)])


def scored(place: BenchWorkspace, path: Path, *options: str):
    place.command("score", path, *options)
    return json.loads(Path(str(path).replace(".run.json", ".score.json")).read_text())


def refused(place: BenchWorkspace, path: Path) -> str:
    return place.command("score", path, code=2)


def test_a_score_record_holds_the_scores_and_is_valid(place):
    atoms = built(place)
    record = scored(place, place.run("good", PAIR, atoms, **GOOD))
    assert contracts.validate("score-record", record) == []
    assert record["targets"]["died"]["value"] == 67 / 72
    assert record["targets"]["days"]["value"] == 0.5
    assert record["targets"]["days"]["secondary"]["skill"] == 0.9
    assert record["targets"]["stage"]["n"] == 12
    assert record["usage"]["seconds"] == {"n": 12, "median": 2.0, "p95": 2.0, "total": 24.0}
    assert record["usage"]["cost_usd"]["total"] == 0.12
    assert record["baselines"]["constant"]["days"]["difference"] > 0


def test_scoring_again_gives_the_same_bytes_signature_included(place):
    path = place.run("good", PAIR, built(place), **GOOD)
    files = [Path(str(path).replace(".run.json", f".score.json{end}")) for end in ("", ".dsse")]
    place.command("score", path)
    first = [file.read_bytes() for file in files]
    record = json.loads(path.read_text())
    record["atoms"].reverse()
    path.write_text(json.dumps(record))
    place.command("score", path)
    assert [file.read_bytes() for file in files] == first


def test_the_signature_is_the_workspaces_and_of_these_bytes(place):
    path = place.run("good", PAIR, built(place), **GOOD)
    place.command("score", path)
    public = json.loads(place.command("key", "--json"))["public_key"]
    file = Path(str(path).replace(".run.json", ".score.json"))
    found = verify_file(file, keyring_of({"us": public}), predicate_type=predicate_type("score-record"))
    assert found.signers == ("us",)
    told = place.command("key")
    (place.root / "keyring.yaml").write_text(told)
    assert contracts.load("keyring", place.root / "keyring.yaml")["keys"][0]["public_key"] == public


def test_no_public_file_holds_an_atom_a_patient_or_an_answer(place):
    """RN-10: nothing that leaves the workspace tells who answered what, or what was right."""
    place.build(PAIR, [mae_target()], {"days": [11.25 + k for k in range(12)]})
    atoms = place.build("demo-data_kidney@other", [mae_target()], {"days": [11.25 + k for k in range(12)]})
    del atoms
    place.publish_set()
    for agent, more in (("a", 0.123), ("b", 0.371)):
        for pair in place.tasks:
            content = json.loads((place.root / f"atomtasks/_content/{pair}/content.json").read_text())
            names = [each["atom"] for each in content["atoms"]]
            place.run(agent, pair, names, days=[k + more + 7 for k in range(12)])
    out = place.root / "public"
    place.command("score", place.root / "runs", "--baseline", place.root / "runs" / "a", "--out", out)
    place.command("compare", place.root / "runs" / "a", place.root / "runs" / "b", "--out", out)
    files = [path for path in out.iterdir() if path.suffix == ".json"]
    assert len(files) == 4 + 1 + 2
    for path in files:
        text = path.read_text()
        for pair in place.tasks:
            for atom in json.loads((place.root / f"atomtasks/_content/{pair}/content.json").read_text())[
                "atoms"
            ]:
                assert atom["atom"] not in text
        assert '"001"' not in text
        for k in range(12):
            assert f"{k + 7.123}" not in text
            assert f"{11.25 + k}" not in text


def test_answers_are_joined_by_name_and_never_by_position(place):
    """RN-17."""
    atoms = built(place)
    straight = scored(place, place.run("good", PAIR, atoms, **GOOD))
    turned = {name: list(reversed(values)) for name, values in GOOD.items()}
    again = scored(place, place.run("good", PAIR, list(reversed(atoms)), **turned))
    assert again == straight


def test_equal_answers_have_equal_digests_and_others_have_others(place):
    atoms = built(place)
    first = scored(place, place.run("a", PAIR, atoms, **GOOD))["answers_digest"]
    assert scored(place, place.run("b", PAIR, atoms, **GOOD))["answers_digest"] == first
    other = GOOD | {"days": [0.0, *GOOD["days"][1:]]}
    assert scored(place, place.run("c", PAIR, atoms, **other))["answers_digest"] != first
    shutil.rmtree(place.root / ".medomni")
    assert scored(place, place.run("a", PAIR, atoms, **GOOD))["answers_digest"] != first


def test_errors_of_the_agent_stay_in_the_denominator(place):
    """RN-01."""
    atoms = built(place)
    rows = [
        row(atom, died=float(y), stage=s, days=d)
        for atom, y, s, d in zip(atoms, TRUTH["died"], TRUTH["stage"], TRUTH["days"], strict=True)
    ]
    rows[0] = row(atoms[0], status="agent_error", died=None, stage=None, days=None)
    rows[1] = row(atoms[1], status="timeout", died="a str is no number", stage=1, days=0.5)
    record = scored(place, place.run_record("perfect", PAIR, rows))
    died = record["targets"]["died"]
    assert (died["n"], died["n_answered"], died["n_missing"], died["n_invalid"]) == (12, 10, 1, 1)
    assert died["value"] == 25 / 36
    assert died["secondary"]["answered_only"] == {"value": 1.0, "n": 10}
    assert record["targets"]["stage"]["n_answered"] == 11  # written before the timeout: it counts
    assert "perfect" not in died["flags"]


def test_atoms_that_were_not_run_count_as_missing(place):
    atoms = built(place)
    path = place.run_record("part", PAIR, [row(atoms[0], died=0.2, stage=0, days=0)])
    record = scored(place, path)
    assert record["targets"]["died"]["n_missing"] == 11
    assert record["targets"]["died"]["n"] == 12


def test_an_agent_that_answers_nothing_is_scored_and_flagged(place):
    atoms = built(place)
    record = scored(
        place, place.run("nop", PAIR, atoms, died=[None] * 12, stage=[None] * 12, days=[None] * 12)
    )
    assert record["targets"]["died"]["value"] == 0.0
    assert record["targets"]["days"]["secondary"]["spearman"] is None
    assert all("nothing_answered" in target["flags"] for target in record["targets"].values())
    assert all(target["secondary"]["coverage"] == 0 for target in record["targets"].values())


def test_a_probability_above_one_is_invalid_in_a_record_too(place):
    atoms = place.build(PAIR, [auc_target()], {"died": [0, 1]}, release_class="dummy")
    path = place.run("a", PAIR, atoms, died=[0.5, 1.5])
    assert scored(place, path)["targets"]["died"]["n_invalid"] == 1
    assert "dummy data: not for scores" in place.command("score", path)


def test_a_harness_error_leaves_no_score_and_says_so(place):
    atoms = built(place)
    rows = [row(a, died=0.5, stage=0, days=1) for a in atoms[1:]]
    rows.append(row(atoms[0], status="harness_error", seconds=None, died=None, stage=None, days=None))
    record = scored(place, place.run_record("unlucky", PAIR, rows))
    for target in record["targets"].values():
        assert (target["value"], target["reason"], target["ci"]) == (None, "harness_error", None)
    assert record["baselines"]["constant"]["died"]["reason"] == "harness_error"
    assert record["usage"]["attempts_started"] == 11


def test_a_named_baseline_is_compared_and_another_pairs_is_not(place):
    atoms = built(place)
    others = place.build("demo-data_kidney@n2", [auc_target()], {"died": [0, 1]})
    prior = place.run("Prior 2", PAIR, atoms, died=[0.5] * 12, stage=[1] * 12, days=[6] * 12)
    place.run("Prior 2", "demo-data_kidney@n2", others, died=[0.1, 0.9])
    path = place.run("good", PAIR, atoms, **GOOD)
    record = scored(place, path, "--baseline", str(prior.parent))
    assert list(record["baselines"]) == ["constant", "prior-2"]
    against = record["baselines"]["prior-2"]["died"]
    assert against["difference"] == pytest.approx(67 / 72 - 0.5)
    assert against["p"] < 0.05
    assert against["p_holm"] is None
    assert scored(place, prior, "--baseline", str(prior))["baselines"].keys() == {"constant"}
    shutil.copytree(prior.parent, place.root / "copies")
    copy = place.root / "copies" / prior.name
    told = place.command("score", path, "--baseline", prior, "--baseline", copy, code=2)
    assert "error[score-baseline]" in told


def test_without_a_reference_there_is_no_constant_baseline(place):
    atoms = place.build(PAIR, [mae_target()], {"days": [1.0, 2.0]}, mae_ref=None, median=None)
    record = scored(place, place.run("a", PAIR, atoms, days=[1.0, 3.0]))
    assert record["baselines"] == {}
    assert record["targets"]["days"]["secondary"]["skill"] is None
    assert score_records.median_class(None) is None
    assert [score_records.median_class(s) for s in ((0.5, 0.5), (0.2, 0.3, 0.5), (0.1, 0.2, 0.7))] == [
        0,
        1,
        2,
    ]


# What is refused.


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("version", 2),
        ("data_fingerprint", "rows1:" + "00" * 32),
        ("config_hash", "cfg1:" + "00" * 32),
        ("builder", "medomni-v2"),
        ("arm", "no-perception"),
        ("releases", {"dataset": "demo-data/1.1", "medomni": "medomni/0.3.0"}),
    ],
)
def test_another_build_is_refused_naming_the_field(place, field, value):
    path = place.run("good", PAIR, built(place), **GOOD)
    record = json.loads(path.read_text()) | {field: value}
    path.write_text(json.dumps(record))
    told = refused(place, path)
    assert "error[score-content-differs]" in told
    assert ("config_hash" if field == "arm" else field) in told


@pytest.mark.parametrize("name", ["content.json", "answers.csv"])
def test_edited_content_is_refused(place, name):
    path = place.run("good", PAIR, built(place), **GOOD)
    file = place.root / "atomtasks/_content" / PAIR / name
    file.write_text(file.read_text() + ("\n" if name == "content.json" else ""))
    if name == "answers.csv":
        file.write_text(file.read_text().replace(",0,0,0.0", ",0,1,0.0"))
    assert "error[score-file-changed]" in refused(place, path)


def test_what_no_row_tells_is_left_out_of_the_usage():
    rows = [row("a", seconds=None, died=1.0) | {"cost_usd": None, "tool_calls": None}]
    assert usage.usage_of(rows) == {"attempts_started": 0}


def test_rows_of_other_atoms_and_targets_are_refused(place):
    atoms = built(place)
    stranger = "demo-data_kidney.n12.0123456789"
    told = refused(place, place.run_record("a", PAIR, [row(stranger, died=0.5)]))
    assert "error[score-atoms]" in told
    assert "atoms[0]" in told
    assert "no target of the pair" in refused(place, place.run_record("a", PAIR, [row(atoms[0], dead=0.5)]))


def test_what_is_not_built_is_said_with_the_command(place):
    path = place.run("good", PAIR, built(place), **GOOD)
    shutil.rmtree(place.root / "atomtasks")
    told = refused(place, path)
    assert "error[score-not-built]" in told
    assert f"medomni studio build {PAIR}" in told


def test_imported_results_cannot_be_scored_again(place):
    path = place.run("good", PAIR, built(place), **GOOD)
    changes = {"version": 0, "config_hash": "v0.2:abc", "set": "v0.2-mid"}
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    assert "error[score-imported]" in refused(place, path)


def test_folders_without_records_and_places_without_anything_are_refused(place):
    built(place)
    (place.root / "runs").mkdir()
    assert "error[score-no-run]" in refused(place, place.root / "runs")
    with pytest.raises(DocumentNotFoundError):
        run_reading.find_runs([place.root / "none"])


def test_a_run_that_cannot_be_scored_leaves_nothing_behind(place):
    atoms = built(place)
    place.run("a", PAIR, atoms, **GOOD)
    place.run_record("b", PAIR, [row("demo-data_kidney.n12.0123456789", died=0.5)])
    place.command("score", place.root / "runs", code=2)
    assert list(place.root.rglob("*.score.json")) == []


# Several attempts.


def plan(aggregate: str, attempts: int = 3):
    return {"plan": {"attempts": attempts, "aggregate": aggregate, "seed": 0}}


def test_the_first_attempt_counts_and_the_best_is_only_shown(place):
    atoms = place.build(PAIR, [auc_target()], {"died": [0, 1, 0, 1]})
    tries = [[0.9, 0.1, 0.9, 0.1], [0.1, 0.9, 0.2, 0.8], [0.5] * 4]
    rows = [row(a, attempt=k + 1, died=v[i]) for k, v in enumerate(tries) for i, a in enumerate(atoms)]
    died = scored(place, place.run_record("a", PAIR, rows, **plan("first")))["targets"]["died"]
    assert died["value"] == 0.0
    several = died["secondary"]["attempts"]
    assert (several["n"], several["values"], several["oracle"]) == (3, [0.0, 1.0, 0.5], 1.0)
    assert several["sd"] == 0.5


def test_a_harness_error_of_an_attempt_that_does_not_count_takes_no_score(place):
    atoms = place.build(PAIR, [auc_target()], {"died": [0, 1]})
    rows = [row(a, died=float(k)) for k, a in enumerate(atoms)]
    rows += [row(a, attempt=2, status="harness_error", died=None) for a in atoms]
    died = scored(place, place.run_record("a", PAIR, rows, **plan("first", 2)))["targets"]["died"]
    assert died["value"] == 1.0
    assert "attempts" not in died["secondary"]
    mean = scored(place, place.run_record("a", PAIR, rows, **plan("mean", 2)))["targets"]["died"]
    assert mean["reason"] == "harness_error"


@pytest.mark.parametrize("aggregate", ["mean", "majority"])
def test_an_aggregate_that_makes_no_answer_is_refused(place, aggregate):
    target = {"mean": qwk_target("x"), "majority": auc_target("x")}[aggregate]
    atoms = place.build(PAIR, [target], {"x": [0, 1]})
    path = place.run_record("a", PAIR, [row(a, x=0) for a in atoms], **plan(aggregate))
    assert "error[score-aggregate]" in refused(place, path)


AUC, QWK, MAE = Target("t", "auc"), Target("t", "qwk", classes=4), Target("t", "mae", range=(0.0, 10.0))
NONE = TargetAnswer("missing", None, "nothing")


@pytest.mark.parametrize(
    ("target", "truth", "values", "aggregate", "expected"),
    [
        (AUC, 1, [0.2, 0.4, None], "mean", 0.2),
        (AUC, 0, [0.2, 0.4, None], "mean", pytest.approx(1.6 / 3)),
        (AUC, 1, [0.2, 0.4, None], "median", 0.2),
        (MAE, 9, [9, 99, None], "mean", pytest.approx(19 / 3)),
        (MAE, 9, [8, 9, 2], "median", 8),
        (QWK, 3, [2, 2, None], "majority", 2),
        (QWK, 3, [None, 2, None], "majority", 0),
        (QWK, 3, [3, 1, None], "majority", 3),
        (QWK, 3, [1, 2, 3, 3], "median", 2),
        (QWK, 3, [None, 2], "first", None),
        (AUC, 1, [None, None], "mean", None),
    ],
)
def test_silence_in_one_attempt_is_its_worst_answer(target, truth, values, aggregate, expected):
    answers = [NONE if v is None else TargetAnswer("answered", v, None) for v in values]
    found = attempts.one_answer(answers, target=target, truth=truth, aggregate=aggregate)
    assert found.value == expected
    assert (found.status == "missing") == (expected is None)


def test_an_atom_whose_attempt_has_no_score_has_no_spread(place):
    atoms = place.build(PAIR, [qwk_target()], {"stage": [2, 2]})
    rows = [row(a, attempt=k, stage=2) for a in atoms for k in (1, 2)]
    stage = scored(place, place.run_record("a", PAIR, rows, **plan("first", 2)))["targets"]["stage"]
    assert stage["reason"] == "degenerate"
    assert "attempts" not in stage["secondary"]


# Writing.


def test_bare_digests_in_settings_become_keyed_ones():
    agent = {"name": "s", "version": "1", "model": None, "settings": {"script_sha256": "00", "k": 1}}
    found = public_agent(agent, b"x" * 32)["settings"]
    assert found["k"] == 1
    assert found["script_hmac"].startswith("hmac-sha256:")
    assert "script_sha256" not in found


def test_a_record_that_breaks_its_contract_is_not_written(place):
    workspace = load_workspace(place.root)
    with pytest.raises(IssuesError):
        write_signed(workspace, place.root / "x.json", "score-record", {})
    assert not (place.root / "x.json").exists()
    assert load_or_make_key(workspace.signing_key)
    (place.root / "file").write_text("")
    path = place.run("good", PAIR, built(place), **GOOD)
    place.command("score", path)
    record = json.loads(Path(str(path).replace(".run.json", ".score.json")).read_text())
    with pytest.raises(WriteError):
        write_signed(workspace, place.root / "file" / "x.json", "score-record", record)


def test_errors_name_the_record(place):
    path = place.run("good", PAIR, built(place), **GOOD)
    path.write_text("{}")
    with pytest.raises(IssuesError):
        run_reading.read_record(path)
    with pytest.raises(ScoreError):
        run_reading.find_runs([place.root / "atomtasks"])
