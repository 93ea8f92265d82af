"""Real-world failures from public trackers about hashes and pinned versions: EH-27, EH-28, EH-31.

The inputs are small folders (`../shared/cases`); the tests skip where they are not. The tests of each case's
*kind*, on inputs of their own, stand in `tests/medomni`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from medomni.core.hashing import ConfigFile, cfg1, sha256_file
from medomni.studio.config_files import line_ending_issues
from record_builders import CaseWorkspace, mimic_tables

TOKENS = {"builder": "medomni-v1", "dataset_release": "demo-data/1.0", "medomni_release": "medomni/0.3.0"}


def files_of(folder: Path) -> list[ConfigFile]:
    return [ConfigFile(path.name, path) for path in sorted(folder.iterdir())]


def test_eh_27_line_ends_change_the_hash_and_are_named(shared: Path) -> None:
    folder = shared / "cases" / "EH-27"
    expect = json.loads((folder / "expected.json").read_text())["expect"]
    hashes = set()
    for name in ("lf", "crlf"):
        assert sha256_file(folder / name / "template.yaml") == expect["sha256"][name]
        hashes.add(cfg1(files_of(folder / name), **TOKENS).value)
    assert len(hashes) == 2
    assert line_ending_issues(tuple(files_of(folder / "lf"))) == []
    (issue,) = line_ending_issues(tuple(files_of(folder / "crlf")))
    for word in expect["must_mention"]:
        assert word in str(issue)


def test_a_template_with_other_line_ends_is_refused_by_name(tmp_path: Path) -> None:
    """EH-27, its kind, through a command: the template is as it was but for its line ends."""
    place = CaseWorkspace.of(tmp_path, mimic_tables("hosp.patients", "hosp.admissions"))
    place.label("""
predicates: {admission: {table: hosp.admissions}}
trigger: admission
index: {time: trigger}
value: "age_at(index)"
""")
    place.cohort()
    path = place.home / "tasks" / "case_it" / "template.yaml"
    assert "case_it" in place.run("studio", "list", "templates")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    for words in (("list", "templates"), ("cohort", "flow", "case_it@demo")):
        said = place.run("studio", *words, code=2)
        assert "error[line-endings]: template.yaml has CRLF line endings" in said
        assert f"{path}:1\n" in said


def test_eh_28_bytes_paths_and_lengths_all_count(shared: Path, tmp_path: Path, monkeypatch) -> None:
    folder = shared / "cases" / "EH-28"
    hashes = {name: cfg1(files_of(folder / name), **TOKENS).value for name in ("v1", "v2", "v3", "v4", "v5")}
    assert len(set(hashes.values())) == 5
    copy = tmp_path / "elsewhere"
    copy.mkdir()
    (copy / "cohort.yaml").write_bytes((folder / "v1" / "cohort.yaml").read_bytes())
    monkeypatch.chdir(copy)
    assert cfg1([ConfigFile("cohort.yaml", Path("cohort.yaml"))], **TOKENS).value == hashes["v1"]


@pytest.mark.parametrize("name", ["set_nan", "set_true", "set_text", "set_float"])
def test_eh_31_a_version_is_an_integer_and_nothing_like_one(shared: Path, name: str) -> None:
    file = shared / "cases" / "EH-31" / f"{name}.json"
    command = [sys.executable, "-m", "medomni", "contract", "validate", "task-set", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (1, "")
    assert "tasks[0].version" in done.stdout
    assert "1 errors" in done.stdout
