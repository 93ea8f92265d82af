"""`medomni bench leaderboard` on files: what is read, what is left out, and each form of the board."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from board_builders import a_set, agent, comparison, score, target, write
from typer.testing import CliRunner, Result

from medomni.bench.leaderboard.records import kind_of, read_records
from medomni.bench.leaderboard.tables import HEADER
from medomni.bench.task_sets import read_task_set, set_names
from medomni.cli import app
from medomni.core import contracts
from medomni.core.keys import load_or_make_key
from medomni.core.names import SetName
from medomni.core.signing import sign_file
from medomni.core.workspace import load_workspace

CARD = 'name: b\nversion: "1.0"\nowner: Owner\nlicense: CC-BY-4.0\naccepts: [agent]\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with a set of two pairs, and records of two agents on both, one pair compared."""
    place = tmp_path / "work"
    folder = place / "bench" / "benchmarks" / "b"
    (folder / "sets").mkdir(parents=True)
    (place / "medomni.toml").write_text('release = "0.3.0"\n')
    (folder / "benchmark.yaml").write_text(CARD)
    rows = "".join(f"  - {{task: {pair}, version: 1}}\n" for pair in ("t_one@n20", "t_two@n20"))
    (folder / "sets" / "s.yaml").write_text(f"name: s\nbuilder: medomni-v1\narms: [encoders]\ntasks:\n{rows}")
    s = a_set("t_one@n20", "t_two@n20")
    found = [
        score(agent(name), s, pair=pair, targets={"died": target("auc", value)})
        for name, value in (("rule", 0.9), ("=prior", 0.5))
        for pair in s.tasks
    ]
    write(place / "runs" / "records", *found, comparison(found[0], found[2], 0.4, 0.001))
    return place


def board(root: Path, *options: str) -> Result:
    return CliRunner().invoke(app, ["bench", "leaderboard", "--workspace", str(root), *options])


def test_terminal_shows_ranks_intervals_and_how_to_read_them(root: Path) -> None:
    run = board(root)
    assert run.exit_code == 0, run.output
    lines = [line.split() for line in run.output.splitlines()]
    assert ["1", "rule", "0.90", "0.80", "to", "1.00", "20/20", "–", "–"] in lines
    assert ["2", "=prior", "0.50", "0.40", "to", "0.60", "20/20", "–", "–"] in lines
    assert "How to read this board" in run.output
    assert "mean skill" in run.output


def test_json_is_the_board_and_holds_no_nan(root: Path) -> None:
    (found,) = json.loads(board(root, "--json").stdout)["boards"]
    assert found["schema"] == "medomni/leaderboard/1"
    assert [row["rank"] for row in found["rankings"][0]["rows"]] == [[1, 1], [2, 2]]
    assert found["rankings"][0]["preliminary"] is True


def test_csv_has_a_line_for_each_agent_and_ranking_and_no_formula(root: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(board(root, "--csv").stdout)))
    assert len(rows) == 4
    assert list(rows[0]) == list(HEADER)
    assert {row["agent"] for row in rows} == {"rule", "'=prior"}


def test_html_is_written_and_its_path_printed(root: Path, tmp_path: Path) -> None:
    run = board(root, "--html", str(tmp_path / "board"))
    assert run.stdout.strip() == str(tmp_path / "board" / "index.html")
    assert "Leaderboard of b/s" in (tmp_path / "board" / "index.html").read_text()


def test_board_can_be_made_of_named_records_alone(root: Path) -> None:
    one = sorted((root / "runs" / "records").glob("*.score-record.json"))[0]
    (found,) = json.loads(board(root, str(one), "--json").stdout)["boards"]
    assert len(found["agents"]) == 1


def test_signatures_are_told_and_a_changed_record_is_left_out(root: Path, tmp_path: Path) -> None:
    key = load_or_make_key(tmp_path / "key.pem")
    ring = tmp_path / "keyring.yaml"
    ring.write_text(f"keys:\n  - name: ours\n    public_key: {key.public_key}\n")
    paths = sorted((root / "runs" / "records").glob("*.score-record.json"))
    for path in paths[:2]:
        sign_file(path, key, predicate_type=str(contracts.schema("score-record")["$id"]))
    other = load_or_make_key(tmp_path / "other.pem")
    sign_file(paths[2], other, predicate_type=str(contracts.schema("score-record")["$id"]))
    paths[0].write_text(paths[0].read_text().replace("0.9", "0.99"))
    run = board(root, "--json", "--keyring", str(ring))
    (found,) = json.loads(run.stdout)["boards"]
    told = {row["signature"] for ranking in found["rankings"] for row in ranking["rows"]}
    assert told == {"signed by ours", "not signed", "signer not in the keyring"}
    assert "left out: 000.score-record.json is no score-record that counts" in run.stderr
    assert [len(ranking["rows"]) for ranking in found["rankings"]] == [1, 2]


def test_signature_over_something_else_does_not_count(root: Path, tmp_path: Path) -> None:
    key = load_or_make_key(tmp_path / "key.pem")
    ring = tmp_path / "keyring.yaml"
    ring.write_text(f"keys:\n  - name: ours\n    public_key: {key.public_key}\n")
    path = sorted((root / "runs" / "records").glob("*.score-record.json"))[0]
    sign_file(path, key, predicate_type="urn:another")
    assert "left out" in board(root, "--json", "--keyring", str(ring)).stderr


def test_broken_record_is_left_out_and_told_and_a_copy_counts_once(root: Path) -> None:
    folder = root / "runs" / "records"
    (folder / "broken.json").write_text('{"schema": "medomni/score-record/1"}')
    (folder / "copy.json").write_bytes((folder / "000.score-record.json").read_bytes())
    (folder / "other.json").write_text("{}")
    run = board(root, "--json")
    (found,) = json.loads(run.stdout)["boards"]
    assert [len(ranking["rows"]) for ranking in found["rankings"]] == [2, 2]
    assert [row["runs_scored"] for row in found["rankings"][0]["rows"]] == [1, 1]
    assert len(found["left_out"]) == 1
    assert "broken.json" in run.stderr


def test_what_is_left_out_is_an_issue_with_its_place(root: Path) -> None:
    path = root / "runs" / "records" / "broken.json"
    path.write_text('{"schema": "medomni/score-record/1"}')
    (issue,) = read_records([path]).left_out
    assert (issue.code, issue.where) == ("record-left-out", str(path))
    assert kind_of(root / "runs") is None


def test_record_of_a_set_that_is_not_here_is_told(root: Path) -> None:
    write(root / "runs" / "more", score(agent("rule"), a_set(name="elsewhere")))
    run = board(root, "--json")
    assert "is of the task set b/elsewhere, which this workspace does not have" in run.stderr
    assert "left out" in board(root).stderr


def test_nothing_to_show_an_unknown_set_and_an_absent_folder_are_errors(root: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for options, code in (
        ([str(tmp_path / "empty")], "board-empty"),
        (["--set", "b/none"], "task-set-unknown"),
        ([str(tmp_path / "none")], "file-not-found"),
        (["--json", "--csv"], "board-formats"),
    ):
        run = board(root, *options)
        assert (run.exit_code, f"error[{code}]" in run.stderr) == (2, True), options


def test_sets_of_a_workspace_are_read_with_card_and_withdrawn_pairs(root: Path) -> None:
    place = load_workspace(root)
    folder = root / "bench" / "benchmarks" / "b"
    (folder / "sets" / "Odd.yaml").write_text("")
    assert set_names(place) == [SetName("b", "s")]
    (folder / "withdrawn.yaml").write_text(
        'withdrawn:\n  - {pair: t_one@n20, version: 1, date: "2026-01-01", reason: a leak,'
        " replaced_by: {pair: t_one@n20, version: 2}}\n"
    )
    found = read_task_set(place, SetName("b", "s"))
    assert found.withdrawn["t_one@n20", 1].replaced_by == "t_one@n20 version 2"
    assert found.task_set_hash == a_set("t_two@n20", "t_one@n20").task_set_hash
