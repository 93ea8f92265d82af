"""Names and counts that the page on tasks fixes, for the datasets here: templates, cohorts, arms, sets."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import yaml

from medomni.core import contracts

REPOSITORY = Path(__file__).resolve().parent.parent
MIMIC = REPOSITORY / "studio" / "datasets" / "mimic-iv"
SETS = REPOSITORY / "bench" / "benchmarks" / "medomni-bench" / "sets"
TEMPLATES = {
    "mimic-iv_aki-kdigo": ("aki_stage_48h", "qwk"),
    "mimic-iv_ckd-staging": ("ckd_g_stage", "qwk"),
    "mimic-iv_icu-transfer": ("icu_transfer_24_96h", "auc"),
    "mimic-iv_in-hospital-mortality": ("hospital_death", "auc"),
    "mimic-iv_length-of-stay": ("remaining_los_days", "mae"),
    "mimic-iv_meld-na": ("meld_na", "mae"),
    "mimic-iv_one-year-mortality": ("death_365d", "auc"),
    "mimic-iv_readmission-30d": ("unplanned_readmit_30d", "auc"),
    "mimic-iv_sepsis3": ("sepsis3_onset_12_60h", "auc"),
}
LADDERS = ("mimic-iv_ckd-staging", "mimic-iv_in-hospital-mortality")
ARMS = ("encoders", "modality-ladder", "no-perception")


def read(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return value


def test_there_are_nine_templates_of_mimic_iv_by_their_names() -> None:
    """MO-011, MO-014, MO-020, MO-031."""
    folders = sorted(path for path in (MIMIC / "tasks").iterdir() if path.is_dir())
    assert [path.name for path in folders] == sorted(TEMPLATES)
    for folder in folders:
        template = read(folder / "template.yaml")
        assert template["template_id"] == folder.name
        assert template["dataset"] == "mimic-iv"
        assert list((folder / "cohorts").glob("*.yaml"))
        (target,) = template["targets"]
        assert (target["label"], target["metric"]) == TEMPLATES[folder.name]


def test_the_schema_of_templates_is_where_it_must_be_and_in_the_package() -> None:
    """MO-003."""
    name = "schemas/task-template.schema.json"
    assert (REPOSITORY / "src" / "medomni" / "studio" / name).is_file()
    schema = json.loads((resources.files("medomni.studio") / name).read_text(encoding="utf-8"))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_the_schema_of_templates_asks_for_what_the_page_asks_for() -> None:
    """MO-033 to MO-047."""
    text = (resources.files("medomni.studio") / "schemas/task-template.schema.json").read_text()
    schema = json.loads(text)
    needed = {"template_id", "dataset", "authors", "targets", "input", "agent"}
    assert set(schema["required"]) == needed
    assert set(schema["properties"]) == needed | {"evidence", "exclude"}
    parts = schema["properties"]
    assert set(parts["authors"]["items"]["required"]) == {"name", "github"}
    target = parts["targets"]["items"]
    assert (set(target["required"]), set(target["properties"]) - set(target["required"])) == (
        {"name", "label", "metric"},
        {"question"},
    )
    assert target["properties"]["metric"]["enum"] == ["auc", "qwk", "mae"]
    agent = parts["agent"]
    assert set(agent["required"]) == {"statement", "instruction", "environment", "submission_path"}
    limits = {"cpus", "memory_mb", "internet", "agent_timeout_sec", "verifier_timeout_sec"}
    assert set(agent["properties"]["environment"]["required"]) == limits


@pytest.mark.parametrize("template", TEMPLATES)
def test_every_template_has_twenty_patients_at_n20_and_a_cohort_for_each_release(template: str) -> None:
    """MO-017."""
    cohorts = MIMIC / "tasks" / template / "cohorts"
    names = {"n20", "demo", "dummy", *(["ladder"] if template in LADDERS else [])}
    assert {path.stem for path in cohorts.glob("*.yaml")} == names
    assert read(cohorts / "n20.yaml")["n"] == 20
    releases = {name: read(cohorts / f"{name}.yaml")["release"] for name in names}
    assert releases.pop("demo") == "mimic-iv/demo-2.2"
    assert releases.pop("dummy") == "mimic-iv/dummy-1"
    assert set(releases.values()) == {"mimic-iv/3.1"}


@pytest.mark.parametrize("template", TEMPLATES)
def test_rungs_stand_in_each_template_of_the_ladder_and_in_no_other(template: str) -> None:
    """MO-018, MO-019."""
    path = MIMIC / "tasks" / template / "arms" / "modality-ladder.yaml"
    assert path.is_file() == (template in LADDERS)
    if template in LADDERS:
        rungs = read(path)["variants"]
        assert list(rungs) == [f"r{number}" for number in range(1, len(rungs) + 1)]
        known = set(read(MIMIC / "recipes" / "families.yaml")["families"])
        assert all(set(rung["families"]) <= known for rung in rungs.values())


def test_there_are_three_arms_by_their_names() -> None:
    """MO-157."""
    folder = REPOSITORY / "studio" / "arms"
    assert sorted(path.name for path in folder.iterdir()) == [f"{name}.yaml" for name in ARMS]
    assert [read(folder / f"{name}.yaml")["perception"] for name in ARMS] == [True, False, False]


def test_the_smoke_set_pins_every_template_that_is_here_on_generated_data() -> None:
    """MO-152: each template once, at its dummy cohort, under encoders."""
    found = contracts.load("task-set", SETS / "smoke-dummy.yaml")
    assert found["name"] == "smoke-dummy"
    assert found["builder"] == "medomni-v1"
    assert found["arms"] == ["encoders"]
    pinned = [entry["task"] for entry in found["tasks"] if entry["task"].startswith("mimic-iv_")]
    assert sorted(pinned) == sorted(f"{template}@dummy" for template in TEMPLATES)
    for entry in found["tasks"]:
        template, _, which = entry["task"].partition("@")
        dataset = template.partition("_")[0]
        folder = REPOSITORY / "studio" / "datasets" / dataset / "tasks" / template / "cohorts"
        assert entry["version"] == read(folder / f"{which}.yaml")["version"]


def test_a_set_for_scores_is_here_whole_or_not_at_all() -> None:
    """A set never changes what it says: v1, vitaldb and modality-ladder wait for all of their pairs."""
    whole = {"v1": 30, "vitaldb": 3, "modality-ladder": 5}
    for path in SETS.glob("*.yaml"):
        count = len(contracts.load("task-set", path)["tasks"])
        assert count == whole.get(path.stem, count), path.name


def test_names_of_datasets_hold_no_underscore() -> None:
    """MO-020: a template's name tells its dataset."""
    for path in (REPOSITORY / "studio" / "datasets").iterdir():
        assert path.name in ("ai-readi", "mimic-iv", "bdsp", "vitaldb")
        assert re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", path.name)


def test_what_a_template_only_records_reaches_no_evidence() -> None:
    """MO-039, MO-042: evidence is gathered without the template, so `input` and `exclude` decide nothing."""
    folder = REPOSITORY / "src" / "medomni" / "studio"
    modules = [*(folder / "evidence").rglob("*.py"), *(folder / "record").rglob("*.py")]
    assert len(modules) > 3
    for path in modules:
        assert "definitions.templates" not in path.read_text(encoding="utf-8"), path.name
