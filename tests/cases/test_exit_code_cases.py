"""A check that finds something wrong, or finds nothing to check, never ends with exit code 0 (case RN-20)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from medomni.core.new_workspace import make_workspace

TASK = "mimic-iv_ckd-staging"
CHECK = [sys.executable, "-m", "medomni", "studio", "task", "check"]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_workspace(tmp_path_factory.mktemp("exit") / "w").root
    task = root / "studio/datasets/mimic-iv/tasks" / TASK
    dummy = (task / "cohorts/dummy.yaml").read_text()
    for name in ("good", "bad"):
        (task / f"cohorts/{name}.yaml").write_text(dummy.replace("cohort: dummy", f"cohort: {name}"))
    bad = task / "cohorts/bad.yaml"
    bad.write_text(bad.read_text().replace("\nn: 20\n", "\nn: twenty\n"))
    other = task.with_name("mimic-iv_other")
    (other / "cohorts").mkdir(parents=True)
    (other / "cohorts/good.yaml").write_text((task / "cohorts/good.yaml").read_text())
    template = (task / "template.yaml").read_text().replace(TASK, "mimic-iv_other")
    (other / "template.yaml").write_text(template.replace("label: ckd_g_stage", "label: no_such_label"))
    return root


def check(workspace: Path, *pairs: str) -> tuple[int, str]:
    done = subprocess.run(
        [*CHECK, *pairs, "--workspace", str(workspace)], capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("pairs", "code", "named"),
    [
        ((f"{TASK}@good",), 0, ()),
        ((f"{TASK}@bad",), 1, ("cohorts/bad.yaml:7, n",)),
        (("mimic-iv_other@good",), 1, ("no_such_label",)),
        ((f"{TASK}@no_such_file",), 1, ("no_such_file.yaml",)),
        ((f"{TASK}@good", f"{TASK}@bad"), 1, ("cohorts/bad.yaml",)),
        ((f"{TASK}@bad", f"{TASK}@good"), 1, ("cohorts/bad.yaml",)),
    ],
)
def test_a_check_exits_1_for_anything_wrong_and_names_it(
    workspace: Path, pairs: tuple[str, ...], code: int, named: tuple[str, ...]
) -> None:
    found, said = check(workspace, *pairs)
    assert found == code, said
    for words in named:
        assert words in said


def test_a_pipe_hides_no_exit_code(workspace: Path) -> None:
    command = " ".join([*CHECK, f"{TASK}@bad", "--workspace", str(workspace)])
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{command} | cat"], capture_output=True, timeout=120
    )
    assert done.returncode == 1
