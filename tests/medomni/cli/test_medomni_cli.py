"""The command `medomni`: what it prints where, its exit codes, and what it must not load."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import medomni
from medomni import cli, terminal
from medomni.cli import app, doctor
from medomni.core import contracts
from medomni.core.errors import ExecutionError, WriteError
from medomni.core.hashing import sha256_file

CONTRACTS = Path(__file__).parents[2] / "contracts"
DATASET = "studio/datasets/demo-data"
TEMPLATE = f"{DATASET}/tasks/demo-data_kidney"
CONTENT = {
    "medomni.toml": 'release = "0.3.0"\n',
    "studio/arms/encoders.yaml": "arm: encoders\n",
    f"{DATASET}/recipes/tables.yaml": "version: 1\n",
    f"{DATASET}/recipes/families.yaml": "version: 1\n",
    f"{DATASET}/labels/stage.yaml": "label: stage\n",
    f"{TEMPLATE}/template.yaml": "targets:\n- {name: a, label: stage}\n",
    f"{TEMPLATE}/cohorts/n20.yaml": "cohort: n20\nrelease: demo-data/1.0\n",
}
PAIR = "demo-data_kidney@n20"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace, with the current folder inside it."""
    for name, text in CONTENT.items():
        (tmp_path / "w" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "w" / name).write_text(text)
    monkeypatch.delenv("MEDOMNI_WORKSPACE", raising=False)
    monkeypatch.chdir(tmp_path / "w" / "studio")
    return tmp_path / "w"


def run(*words: str | Path) -> tuple[int, str, str]:
    """Exit code, stdout, stderr."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


def commands(group: typer.Typer) -> list[list[str]]:
    click = typer.main.get_command(group)
    found: list[list[str]] = []

    def walk(command, words: list[str]) -> None:
        found.append(words)
        for name, inner in getattr(command, "commands", {}).items():
            walk(inner, [*words, name])

    walk(click, [])
    return found


@pytest.mark.parametrize("words", commands(app), ids=" ".join)
def test_every_command_has_help_with_an_example(words: list[str]) -> None:
    code, out, _ = run(*words, "--help")
    assert code == 0
    assert "Example: medomni " in " ".join(out.split())


def test_help_loads_nothing_heavy() -> None:
    heavy = ("duckdb", "sqlglot", "pyarrow", "numpy", "scipy", "pandas", "yaml", "jsonschema", "cryptography")
    program = f"""
import sys
from typer.testing import CliRunner
from medomni.cli import app
assert CliRunner().invoke(app, ["--help"]).exit_code == 0
print([name for name in {heavy} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_version_needs_no_command() -> None:
    assert run("--version") == (0, f"medomni {medomni.__version__}\n", "")


def test_a_malformed_command_line_ends_with_2() -> None:
    for words in (["nonsense"], ["contract", "show"], ["contract", "hash", PAIR], ["doctor", "--loud"]):
        assert run(*words)[0] == 2


def test_contracts_are_listed_and_shown() -> None:
    code, out, _ = run("contract", "list")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == contracts.kinds()
    rows = json.loads(run("contract", "list", "--json")[1])["contracts"]
    assert [row["kind"] for row in rows] == contracts.kinds()
    assert all(row["id"].startswith("urn:medomni:contract:") and row["title"] for row in rows)
    for extra in ([], ["--json"]):
        assert json.loads(run("contract", "show", "task-set", *extra)[1]) == contracts.schema("task-set")


def test_the_contracts_of_the_page_exist(repository: Path) -> None:
    """MO-133, MO-143."""
    for kind in ("benchmark", "task-set"):
        assert (repository / f"src/medomni/core/contracts/schemas/{kind}.schema.json").is_file()
    wanted = """answers benchmark build-manifest built-task bundle-manifest bundle-task comparison-record
    eval-spec release-lock results run-plan run-record score-record task-set withdrawn"""
    assert set(wanted.split()) <= set(contracts.kinds())


@pytest.mark.parametrize("words", [["show", "nonsense"], ["validate", "nonsense", "x.json"]])
def test_an_unknown_contract_is_bad_input_with_those_that_exist(words: list[str]) -> None:
    code, out, err = run("contract", *words)
    assert (code, out) == (2, "")
    assert err.startswith("error[contract-unknown]: ")
    assert "task-set" in err


def test_a_valid_file_passes() -> None:
    """MO-061: built files fulfil their contracts as any file does."""
    file = CONTRACTS / "answers" / "valid" / "two_targets.csv"
    assert run("contract", "validate", "answers", file)[:2] == (
        0,
        f"{file} as answers: 0 errors, 0 warnings\n",
    )
    assert json.loads(run("contract", "validate", "answers", file, "--json")[1]) == {"ok": True, "issues": []}


def test_all_problems_of_a_file_are_told_with_file_line_and_path(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("name: v1\narms: []\ntasks:\n- {task: x@n20, version: true}\n")
    code, out, _ = run("contract", "validate", "task-set", file)
    assert code == 1
    for part in ("builder is missing", f"{file}:2, arms", f"{file}:4, tasks[0].version", "3 errors"):
        assert part in out
    code, out, _ = run("contract", "validate", "task-set", file, "--json")
    found = json.loads(out)
    assert (code, found["ok"], len(found["issues"])) == (1, False, 3)
    assert {"code", "severity", "where", "what", "hint"} == set(found["issues"][0])


@pytest.mark.parametrize("text", [None, "a: [", "a: 1\na: 2\n"])
def test_a_file_that_is_absent_or_unreadable_is_a_failed_check(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "s.yaml"
    if text is not None:
        file.write_text(text)
    code, out, _ = run("contract", "validate", "task-set", file)
    assert code == 1
    assert out.startswith("error[")
    assert str(file) in out
    assert json.loads(run("contract", "validate", "task-set", file, "--json")[1])["ok"] is False


def test_the_hash_is_printed_and_explained(place: Path) -> None:
    """MO-100, MO-107: what `contract hash` prints is what a manifest holds."""
    code, out, err = run("contract", "hash", PAIR, "--arm", "encoders")
    assert (code, err) == (0, "")
    value = out.strip()
    assert value.startswith("cfg1:")
    assert len(value) == 69
    lines = run("contract", "hash", PAIR, "--arm", "encoders", "--explain")[1].splitlines()
    assert lines[-1] == value
    told = {line.split()[3]: line.split()[1:3] for line in lines if line.startswith("file ")}
    expected = {name for name in CONTENT if name != "medomni.toml"}
    assert told == {
        name: [sha256_file(place / name), str((place / name).stat().st_size)] for name in sorted(expected)
    }
    assert [line.split() for line in lines[-4:-1]] == [
        ["builder", "medomni-v1"],
        ["dataset", "demo-data/1.0"],
        ["medomni", "medomni/0.3.0"],
    ]
    found = json.loads(run("contract", "hash", PAIR, "--arm", "encoders", "--json")[1])
    assert found["config_hash"] == value
    assert [row["path"] for row in found["files"]] == sorted(expected)
    assert found["releases"] == {"dataset": "demo-data/1.0", "medomni": "medomni/0.3.0"}


def test_the_workspace_can_be_named(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = run("contract", "hash", PAIR, "--arm", "encoders")
    monkeypatch.chdir(tmp_path)
    assert run("contract", "hash", PAIR, "--arm", "encoders")[0] == 2
    assert run("contract", "hash", PAIR, "--arm", "encoders", "--workspace", place) == here
    monkeypatch.setenv("MEDOMNI_WORKSPACE", str(place))
    assert run("contract", "hash", PAIR, "--arm", "encoders") == here


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["nonsense", "--arm", "encoders"], "pair-invalid"),
        (["demo-data_kidney:full@n20", "--arm", "encoders"], "evidence-variant-unsupported"),
        ([PAIR, "--arm", "other"], "config-file-missing"),
        ([PAIR, "--arm", "../x"], "name-invalid"),
        ([PAIR, "--arm", "encoders", "--variant", "r1"], "arm-variant-unknown"),
    ],
)
def test_what_cannot_be_hashed_is_bad_input(place: Path, words: list[str], code: str) -> None:
    exit_code, out, err = run("contract", "hash", *words)
    assert (exit_code, out) == (2, "")
    assert f"error[{code}]" in err
    assert "Traceback" not in err


def test_a_workspace_is_made_and_hashes_as_this_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = run("init", tmp_path / "new")
    assert code == 0
    assert "content release 0.3.0" in out
    code, out, err = run("init", tmp_path / "new")
    assert (code, out) == (2, "")
    assert "error[workspace-not-empty]" in err
    found = json.loads(run("init", tmp_path / "other", "--json")[1])
    assert found == {"workspace": str(tmp_path / "other"), "release": "0.3.0"}


def test_the_doctor_tells_what_this_machine_can_do(place: Path, tmp_path: Path, monkeypatch) -> None:
    code, out, _ = run("doctor")
    assert code == 0
    assert f"workspace: {place}, content release 0.3.0" in out
    found = json.loads(run("doctor", "--json")[1])
    assert found["workspace"] == {"root": str(place), "release": "0.3.0", "note": ""}
    assert set(found["programs"]) == {"bwrap", "docker", "podman"}
    assert [each["kind"] for each in found["environments"]] == ["docker", "podman", "local"]
    assert found["harbor"]["version"]
    monkeypatch.chdir(tmp_path)
    assert "no workspace here" in run("doctor")[1]
    assert run("doctor", "--workspace", tmp_path)[0] == 2


def test_the_doctor_names_the_install_command_of_a_missing_extra(place: Path, monkeypatch) -> None:
    monkeypatch.setattr(doctor, "EXTRAS", {"studio": ("no_such_module_here",)})
    assert 'missing no_such_module_here: pip install "medomni[studio]"' in run("doctor")[1]


def test_the_extras_of_the_doctor_are_those_of_the_project(repository: Path) -> None:
    declared = tomllib.loads((repository / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(doctor.EXTRAS) - {"studio"} <= set(declared)


def _ending(failure: BaseException):
    @terminal.fails_with(terminal.BAD_INPUT)
    def command() -> None:
        raise failure

    return command


def test_each_way_to_fail_has_its_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    for failure, code in ((WriteError("no"), 2), (ExecutionError("no"), 3), (KeyboardInterrupt(), 130)):
        with pytest.raises(typer.Exit) as caught:
            _ending(failure)()
        assert caught.value.exit_code == code
    assert "interrupted" in capsys.readouterr().err


def test_debug_shows_the_error_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(terminal._STATE, "debug", True)
    with pytest.raises(WriteError):
        _ending(WriteError("no"))()
    monkeypatch.setattr(cli, "app", _ending(ZeroDivisionError("x")))
    with pytest.raises(ZeroDivisionError):
        cli.main()


def test_our_own_fault_ends_with_3_and_without_a_traceback(monkeypatch, capsys) -> None:
    monkeypatch.setitem(terminal._STATE, "debug", False)
    monkeypatch.setattr(cli, "app", _ending(ZeroDivisionError("x")))
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 3
    err = capsys.readouterr().err
    assert err.startswith("error[internal]: ZeroDivisionError: x\n")
    assert len(err.splitlines()) == 3


def test_the_module_runs_as_the_command(place: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "medomni", "contract", "hash", "x", "--arm", "a"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error[pair-invalid]: ")


def test_a_wheel_carries_the_content_and_an_editable_one_does_not(repository: Path, tmp_path: Path) -> None:
    program = "import sys, hatchling.build as b; b.build_wheel(sys.argv[1]); b.build_editable(sys.argv[2])"
    for name in ("wheel", "editable"):
        (tmp_path / name).mkdir()
    subprocess.run(
        [sys.executable, "-c", program, tmp_path / "wheel", tmp_path / "editable"],
        cwd=repository,
        check=True,
        capture_output=True,
    )
    (wheel,) = (tmp_path / "wheel").glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"medomni/_content/medomni.toml", "medomni/core/contracts/schemas/task-set.schema.json"} <= names
    card = "bench/benchmarks/medomni-bench/benchmark.yaml"
    assert f"medomni/_content/{card}" in names
    (editable,) = (tmp_path / "editable").glob("*.whl")
    assert not [name for name in zipfile.ZipFile(editable).namelist() if "_content" in name]
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    program = "import sys; from medomni.core import new_workspace as n; n.make_workspace(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}; print(n.content_source())", tmp_path / "w"],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
    )
    assert Path(done.stdout.strip()) == tmp_path / "site" / "medomni" / "_content"
    assert (tmp_path / "w" / card).read_bytes() == (repository / card).read_bytes()
