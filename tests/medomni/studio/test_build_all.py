"""All nine templates of MIMIC-IV, built from made-up data and from the open demo, and checked as users do."""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from imported_demo import demo_workspace
from studio_builders import REPOSITORY, beside, dummy_workspace
from typer.testing import CliRunner

from medomni.cli import app
from medomni.core.names import Pair
from medomni.core.workspace import Workspace

pytestmark = pytest.mark.slow

TEMPLATES = sorted(path.name for path in (REPOSITORY / "studio/datasets/mimic-iv/tasks").iterdir())
LADDERS = ("mimic-iv_ckd-staging", "mimic-iv_in-hospital-mortality")
# Eligible people of the demo, as the flows count them.
DEMO = {
    "mimic-iv_aki-kdigo": 56,
    "mimic-iv_ckd-staging": 30,
    "mimic-iv_icu-transfer": 45,
    "mimic-iv_in-hospital-mortality": 86,
    "mimic-iv_length-of-stay": 88,
    "mimic-iv_meld-na": 4,
    "mimic-iv_one-year-mortality": 90,
    "mimic-iv_readmission-30d": 90,
    "mimic-iv_sepsis3": 37,
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return beside(dummy_workspace(tmp_path_factory), tmp_path_factory.mktemp("all") / "workspace")


def run(root: Path, *arguments: str) -> dict[str, object]:
    result = CliRunner().invoke(app, ["studio", *arguments, "--workspace", str(root), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def arms_of(template: str, cohort: str) -> list[tuple[str, str | None]]:
    rungs = [("modality-ladder", f"r{number}") for number in range(1, 6)]
    ladder = rungs if template in LADDERS and cohort == "dummy" else []
    return [("encoders", None), *ladder, ("no-perception", None)]


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_template_builds_on_made_up_data_and_passes_its_check(template: str, place: Workspace) -> None:
    built = run(place.root, "build", f"{template}@dummy")["built"][0]
    assert built["atoms"] == 20
    arms = [(row["arm"], row["variant"]) for row in built["config_hashes"]]
    assert arms == arms_of(template, "dummy")
    assert run(place.root, "task", "check", f"{template}@dummy", "--require-build")


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_template_builds_on_the_open_demo_and_passes_its_check(
    template: str, tmp_path_factory: pytest.TempPathFactory, shared: Path
) -> None:
    root = demo_workspace(tmp_path_factory, shared, REPOSITORY)
    built = run(root, "build", f"{template}@demo", "--arm", "no-perception")["built"][0]
    assert built["atoms"] == DEMO[template]
    assert run(root, "task", "check", f"{template}@demo", "--require-build")


def test_builds_that_are_killed_leave_the_old_one_the_new_one_or_none(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    place = beside(dummy_workspace(tmp_path_factory), tmp_path_factory.mktemp("killed") / "workspace")
    pair, draws = Pair("mimic-iv_meld-na", "dummy"), random.Random(20)
    command = [sys.executable, "-m", "medomni", "studio", "build", str(pair), "--arm", "no-perception"]
    start = time.monotonic()
    subprocess.run(command, cwd=place.root, check=True, capture_output=True)
    takes, whole = time.monotonic() - start, tree(place)
    for number in range(20):
        with subprocess.Popen(command, cwd=place.root, stderr=subprocess.DEVNULL) as child:
            # Every fourth near the end, where folders are moved.
            time.sleep(takes * (draws.uniform(0.85, 1.1) if number % 4 == 0 else draws.uniform(0.1, 1)))
            child.kill()
        if place.content(pair).exists():
            assert tree(place) == whole
    subprocess.run(command, cwd=place.root, check=True, capture_output=True)
    assert tree(place) == whole
    assert [path.suffix for path in (place.atomtasks / ".build").iterdir()] == [".lock"]


def tree(place: Workspace) -> dict[str, bytes]:
    """Digests of everything below `atomtasks/` but what is being made."""
    return {
        path.relative_to(place.atomtasks).as_posix(): hashlib.sha256(path.read_bytes()).digest()
        for path in place.atomtasks.rglob("*")
        if path.is_file() and ".build" not in path.parts
    }
