"""The commands `medomni studio data` and `medomni studio dummy`: output, exit codes, three-line errors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("duckdb", reason="importing needs the extra `studio`")

from data_builders import LABS, PATIENTS, files, workspace

from medomni.cli import app


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    return result.exit_code, result.stdout, result.stderr


def test_import_status_and_verify_of_a_release(tmp_path: Path) -> None:
    place, folder = workspace(tmp_path), files(tmp_path, codes="subject_id,icd_code,more\n1,,x\n")
    (folder / "hosp" / "other.csv").write_text("a\n", encoding="utf-8")
    here = ("--workspace", place.root)
    code, out, err = run("studio", "data", "import", "tiny", "--from", folder, *here)
    assert code == 0, err
    assert out.startswith("tiny/1.0: 3 tables imported, 0 kept\n")
    assert "importing tables" in err
    for words in (
        "not there: note.notes", "no table declares it: hosp/other.csv", "hosp.codes: columns not read: more",
        "hosp.codes: wholly empty: icd_code", "no count is known: hosp.labs, hosp.codes",
    ):  # fmt: skip
        assert words in out
    code, out, _ = run("studio", "data", "status", *here)
    assert code == 0
    assert "tiny/1.0 (real, credentialed): imported" in out
    assert "tiny/demo (demo, open): not imported" in out
    assert run("studio", "data", "verify", "tiny/1.0", *here)[0] == 0


def test_verify_tells_rows_in_two_families_and_what_is_wrong_with_the_families(tmp_path: Path) -> None:
    place, folder = workspace(tmp_path), files(tmp_path)
    here = ("--workspace", place.root)
    run("studio", "data", "import", "tiny", "--from", folder, *here)
    path = place.recipe("tiny", "families")
    text = path.read_text()
    path.write_text(
        text.replace("kidney:", "creatinine: [{table: hosp.labs, code: [50912, 51006]}]\n  kidney:")
    )
    code, out, _ = run("studio", "data", "verify", "tiny/1.0", *here)
    assert code == 1
    assert out.startswith("error[families-overlap]: 2 rows of hosp.labs are in several families\n")
    path.write_text(text.replace(", {table: hosp.codes}", ""))
    code, out, _ = run("studio", "data", "verify", "tiny/1.0", *here)
    assert code == 1
    assert "error[families-partition]: the table hosp.codes is in no family\n" in out
    assert "families.yaml:3" in out
    path.unlink()
    code, out, _ = run("studio", "data", "verify", "tiny/1.0", *here)
    assert code == 1
    assert "there is no file families.yaml" in out


def test_the_availability_rule_that_is_used_is_told_where_it_is_not_the_first(tmp_path: Path) -> None:
    place, folder = workspace(tmp_path), files(tmp_path, labs=LABS.replace("2150-01-01 11:30:00", ""))
    _, out, _ = run("studio", "data", "import", "tiny", "--from", folder, "--workspace", place.root)
    assert "hosp.labs: rows are known from charttime (2 rows), end of the day of chartdate (1 rows)" in out


def test_a_rule_that_needs_a_table_that_is_not_there_is_told(tmp_path: Path) -> None:
    folder = files(tmp_path, labs="", patients=PATIENTS + "3,F,0,\n", codes="subject_id,icd_code\n1,042\n")
    place = workspace(tmp_path)
    _, out, _ = run("studio", "data", "import", "tiny", "--from", folder, "--workspace", place.root)
    assert "hosp.codes: when rows were known stands in hosp.labs, which is not there" in out


def test_json_is_the_only_thing_on_stdout(tmp_path: Path) -> None:
    place, folder = workspace(tmp_path), files(tmp_path)
    here = ("--workspace", place.root, "--json")
    done = json.loads(run("studio", "data", "import", "tiny", "--from", folder, *here)[1])
    assert (done["release"], done["converted"]) == ("tiny/1.0", ["hosp.patients", "hosp.labs"])
    states = json.loads(run("studio", "data", "status", *here)[1])["releases"]
    assert [each["state"] for each in states] == ["imported", "not imported"]
    assert states[0]["tables"] == {"hosp.patients": 2, "hosp.labs": 3}
    assert json.loads(run("studio", "data", "verify", "tiny/1.0", *here)[1]) == {"ok": True, "issues": []}


def test_bad_input_is_exit_2_and_a_failed_check_exit_1(tmp_path: Path) -> None:
    place, folder = workspace(tmp_path), files(tmp_path, labs=LABS + "14,1,x,,,,,,\n")
    here = ("--workspace", place.root)
    code, out, err = run("studio", "data", "import", "tiny", "--from", folder, *here)
    lines = [line for line in err.splitlines() if "MiB" not in line]
    assert (code, out) == (2, "")
    assert lines[0] == 'error[value-invalid]: hosp.labs, line 6: itemid is "x"'
    assert lines[1].endswith("labs.csv:6")
    assert lines[2].startswith("hint: ")
    assert len(lines) == 3
    code, out, _ = run("studio", "data", "verify", "tiny/1.0", *here)
    assert (code, "import-unfinished" in out) == (1, True)
    assert run("studio", "data", "import", "tiny", *here)[0] == 2


def test_a_missing_database_names_the_extra(tmp_path: Path) -> None:
    place, folder = workspace(tmp_path), files(tmp_path)
    script = (
        "import sys\nsys.modules['duckdb'] = None\nfrom medomni.cli import main\n"
        f"sys.argv = ['medomni', 'studio', 'data', 'import', 'tiny', '--from', {str(folder)!r},"
        f" '--workspace', {str(place.root)!r}]\nmain()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "error[extra-missing]" in done.stderr
    assert 'pip install "medomni[studio]"' in done.stderr


def test_dummy_refuses_other_datasets_and_full_folders(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("", encoding="utf-8")
    code, _, err = run("studio", "dummy", "mimic-iv", "--out", tmp_path / "full")
    assert (code, "error[write-failed]" in err) == (2, True)
    code, _, err = run("studio", "dummy", "bdsp", "--out", tmp_path / "new")
    assert (code, "error[dummy-unknown]" in err) == (2, True)
    assert not (tmp_path / "new").exists()
