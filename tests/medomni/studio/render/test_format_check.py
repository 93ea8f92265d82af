"""The format check that travels with every atom task: strict about form, blind to answers."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from atom_builders import DAYS, NO_PERCEPTION, RISK, STAGE, full_atom, pair

from medomni.studio.render import atom_files, format_check

NAMES = ["ckd_stage", "risk", "days"]
GOOD = '{"ckd_stage": 2, "risk": 0.25, "days": 3.5}'


def forms() -> list[dict[str, Any]]:
    made = atom_files(pair(STAGE, RISK, DAYS), full_atom(), NO_PERCEPTION, None)["tests/form.json"]
    found: list[dict[str, Any]] = json.loads(made)["targets"]
    return found


def problems(folder: Path, text: str | bytes) -> list[str]:
    answer = folder / "answer.json"
    answer.write_bytes(text if isinstance(text, bytes) else text.encode())
    return format_check.problems(str(answer), NAMES, forms())


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        '{"days": 30, "risk": 1, "ckd_stage": 0}',
        '{"days": 0.0, "risk": 0, "ckd_stage": 4}',
        '{"days": 1e1, "risk": 5e-324, "ckd_stage": 4}\n\n',
    ],
)
def test_a_well_formed_answer_passes(tmp_path: Path, text: str) -> None:
    assert problems(tmp_path, text) == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "no strict JSON"),
        ("2", "no JSON object"),
        ("[]", "no JSON object"),
        ("{", "no strict JSON"),
        ('{"ckd_stage": 2, "risk": 0.2}', "days: there is no answer"),
        ('{"ckd_stage": 2, "risk": 0.2, "days": 1, "why": 1}', "there is no target 'why'"),
        ('{"ckd_stage": 2, "ckd_stage": 3, "risk": 0.2, "days": 1}', "'ckd_stage' is there twice"),
        ('{"ckd_stage": 2.0, "risk": 0.2, "days": 1}', "2.0 is no whole number"),
        ('{"ckd_stage": 5, "risk": 0.2, "days": 1}', "5 is not from 0 to 4"),
        ('{"ckd_stage": -1, "risk": 0.2, "days": 1}', "-1 is not from 0 to 4"),
        ('{"ckd_stage": true, "risk": 0.2, "days": 1}', "true is no number"),
        ('{"ckd_stage": "2", "risk": 0.2, "days": 1}', '"2" is no number'),
        ('{"ckd_stage": null, "risk": 0.2, "days": 1}', "null is no number"),
        ('{"ckd_stage": [2], "risk": 0.2, "days": 1}', "[2] is no number"),
        ('{"ckd_stage": 2, "risk": 1.01, "days": 1}', "1.01 is not from 0 to 1"),
        ('{"ckd_stage": 2, "risk": 0.2, "days": 30.5}', "30.5 is not from 0.0 to 30.0"),
        ('{"ckd_stage": 2, "risk": NaN, "days": 1}', "NaN is no number"),
        ('{"ckd_stage": 2, "risk": 0.2, "days": Infinity}', "Infinity is no number"),
        ('{"ckd_stage": 2, "risk": 0.2, "days": 1e999}', "the number is not finite"),
        (f'{{"ckd_stage": 2, "risk": 0.2, "days": 1{"0" * 400}}}', "is not from 0.0 to 30.0"),
        (f'{{"ckd_stage": 2, "risk": 0.2, "days": {"9" * 5000}}}', "no strict JSON"),
        ("[" * 50_000, "no strict JSON"),
        (" " * 70_000, "more than 65536 bytes"),
        (b"\xff\xfe", "not UTF-8"),
        ("\ufeff" + GOOD, "no strict JSON"),
    ],
)
def test_a_malformed_answer_is_named(tmp_path: Path, text: str | bytes, what: str) -> None:
    assert any(what in each for each in problems(tmp_path, text))


def test_only_a_plain_file_is_an_answer(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text(GOOD, encoding="utf-8")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "folder.json").mkdir()
    for name in ("none.json", "link.json", "pipe.json", "folder.json"):
        assert len(format_check.problems(str(tmp_path / name), NAMES, forms())) == 1, name


def verifier_folder(folder: Path, answer: Path) -> Path:
    """The folder `tests/` of an atom task, on this machine."""
    for name, data in atom_files(pair(STAGE, RISK, DAYS), full_atom(), NO_PERCEPTION, None).items():
        if name.startswith("tests/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data.replace(b"/workspace/answer.json", str(answer).encode()))
    return folder / "tests"


@pytest.mark.parametrize(
    ("text", "reward"),
    [
        (GOOD, {"format_ok": 1}),
        ('{"ckd_stage": 4, "risk": 0.75, "days": 30}', {"format_ok": 1}),
        ("x", {"format_ok": 0}),
        (None, {"format_ok": 0}),
    ],
)
def test_the_reward_says_well_formed_or_not_and_no_more(
    tmp_path: Path, text: str | None, reward: dict[str, int]
) -> None:
    answer = tmp_path / "answer.json"
    if text is not None:
        answer.write_text(text, encoding="utf-8")
    program = verifier_folder(tmp_path, answer) / "format_check.py"
    done = subprocess.run(
        [sys.executable, "-I", str(program), str(tmp_path / "reward.json")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "reward.json").read_text(encoding="utf-8")) == reward
    assert done.stdout


def test_the_program_writes_its_reward_in_process_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = tmp_path / "answer.json"
    answer.write_text(GOOD, encoding="utf-8")
    monkeypatch.setattr(format_check, "__file__", str(verifier_folder(tmp_path, answer) / "format_check.py"))
    assert format_check.main([str(tmp_path / "reward.json")]) == 0
    assert capsys.readouterr().out == "well-formed\n"


def test_the_check_needs_python_3_11_and_its_standard_library_alone() -> None:
    source = Path(format_check.__file__).read_text(encoding="utf-8")
    tree = ast.parse(source, feature_version=(3, 11))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= sys.stdlib_module_names


def test_the_script_ends_in_a_reward_whatever_happens(tmp_path: Path) -> None:
    folder = verifier_folder(tmp_path, tmp_path / "answer.json")
    script = (folder / "test.sh").read_text(encoding="utf-8")
    (folder / "test.sh").write_text(
        script.replace("/logs/verifier", str(tmp_path / "logs")), encoding="utf-8"
    )
    (folder / "form.json").unlink()
    bash = shutil.which("bash") or pytest.skip("no bash")
    done = subprocess.run([bash, str(folder / "test.sh")], capture_output=True, text=True)
    assert done.returncode != 0
    assert json.loads((tmp_path / "logs/reward.json").read_text(encoding="utf-8")) == {"format_ok": 0}
