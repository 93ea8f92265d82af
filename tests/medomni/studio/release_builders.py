"""A small dataset with two templates and a ladder, quick to read: for checks that read it again and again.

With `with_sets`, a benchmark pins its pairs; `frozen_workspace` gives copies whose release is frozen.
"""

from __future__ import annotations

import shutil
from datetime import date, timedelta
from pathlib import Path

import pytest
from studio_builders import REPOSITORY

from medomni.core.workspace import Workspace, load_workspace
from medomni.studio.release.freezing import freeze

STAGE, DEMO, DAYS = "mini_stage@n20", "mini_stage@demo", "mini_days@n20"
LADDER = "mini_stage@ladder"
IMPORTED = "mini_stage@mid"
_frozen: list[Path] = []

_DATASET = """\
dataset: mini
version: 1
title: Mini
modules: {core: {files: ["core/{file}.csv"]}}
releases:
  "1.0": &real {class: real, access: open, licence: L, terms: [T], modules: {core: required}, counts: {}}
  demo-1: {class: demo, access: open, licence: L, terms: [T], modules: {core: required}, counts: {}}
  dummy-1: {class: dummy, access: generated, licence: L, terms: [T], modules: {core: required}, counts: {}}
"""
_TABLES = """\
recipe: tables
version: 1
tables:
  core.patients:
    file: patients
    required: [real]
    patient: subject_id
    key: [subject_id]
    timeless: true
    columns: {subject_id: bigint, sex: text}
    sort: {by_patient: [subject_id]}
  core.events:
    file: events
    required: [real]
    patient: subject_id
    code: code
    time: time
    available: [time]
    columns: {subject_id: bigint, time: timestamp, code: text, value: "decimal(20,8)"}
    sort: {by_patient: [subject_id, time]}
"""
_STAGE = """\
label: stage
version: 1
requires: {releases: [mini/1.0, mini/demo-1, mini/dummy-1]}
question: "Which class?"
type: ordinal
classes: [low, middle, high]
imports: [events]
trigger: event                         # each event is a candidate
index: {time: trigger, side: before}
windows:
  earlier:
    start: trigger - 730d
    end: trigger - 90d
    start_inclusive: true
    end_inclusive: true
    has:
      event: (1, None)
value: "band(trigger.value, [60, 45], desc)"
guards:
  - {table: core.events, columns: [code], where: {column: code, regex: 'secret'}}
probes: {forbid_regex: '(?i)secret'}
"""
_DAYS = """\
label: days
version: 1
requires: {releases: [mini/1.0, mini/demo-1, mini/dummy-1]}
question: "How many days?"
type: number
unit: days
range: [0, 150]
imports: [lengths]
trigger: length
index: {time: trigger}
value: "trigger.value"
guards:
  - {table: core.events, after: index}
"""
# Patients have two events a hundred days apart; the earlier value says nothing of the later.
_LATER = (30, 50, 80)
_LADDER = """\
arm: modality-ladder
version: 1
variants:
  r1: {families: [demographics], perception: false}
  r2: {families: [demographics, events], perception: true}
"""


def _template(name: str, metric: str) -> str:
    return f"""\
template_id: mini_{name}
dataset: mini
authors: [{{name: A, github: a}}]
targets:
  - name: {name}
    label: {name}
    metric: {metric}
input: {{tables: [core.events]}}
agent:
  statement: Judge what teh value is.
  instruction: You stand at an event.
  environment: {{cpus: 1, memory_mb: 256, internet: false, agent_timeout_sec: 60, verifier_timeout_sec: 60}}
  submission_path: /workspace/answer.json
"""


def _cohort(name: str, release: str, *, strata: str = "", n: str = "all", more: str = "") -> str:
    drawn = f"strata: {{{strata}}}\n" if strata else ""
    return (
        f"cohort: {name}\nversion: 1\nrelease: {release}\nunit: subject_id\n"
        f"pick: {{per: subject_id, order: hash}}\n{drawn}n: {n}\norder: hash\n{more}"
    )


def mini(folder: Path) -> Workspace:
    """A workspace with the repository's arms and the dataset `mini`."""
    classes = "by: label, classes: [0, 1, 2], per: 5"
    task, days = "tasks/mini_stage", "tasks/mini_days"
    files = {
        "dataset.yaml": _DATASET.replace("&real ", ""),
        "recipes/tables.yaml": _TABLES,
        "recipes/families.yaml": "recipe: families\nversion: 1\nfamilies:\n"
        "  demographics: [{table: core.patients}]\n  events: [{table: core.events}]\n",
        "recipes/events.yaml": "recipe: events\nversion: 1\npredicates:\n"
        "  event: {table: core.events, value: value, value_max: 150, value_max_inclusive: true}\n",
        "recipes/lengths.yaml": "recipe: lengths\nversion: 1\npredicates:\n"
        "  length: {table: core.events, value: value}\n",
        "recipes/other.yaml": "recipe: other\nversion: 1\npredicates: {any: {table: core.events}}\n",
        "labels/stage.yaml": _STAGE,
        "labels/days.yaml": _DAYS,
        f"{task}/template.yaml": _template("stage", "qwk"),
        f"{task}/README.md": "Words.\n",
        f"{task}/arms/modality-ladder.yaml": _LADDER,
        f"{task}/cohorts/n20.yaml": _cohort("n20", "mini/1.0", strata=classes, n="15"),
        f"{task}/cohorts/ladder.yaml": _cohort(
            "ladder", "mini/1.0", strata=classes, n="15", more="require_families: [events]\n"
        ),
        f"{task}/cohorts/demo.yaml": _cohort("demo", "mini/demo-1"),
        f"{task}/cohorts/dummy.yaml": _cohort("dummy", "mini/dummy-1"),
        f"{days}/template.yaml": _template("days", "mae"),
        f"{days}/cohorts/n20.yaml": _cohort(
            "n20", "mini/1.0", strata="by: value, quantile: 5, per: 4", n="20"
        ),
        f"{days}/cohorts/demo.yaml": _cohort("demo", "mini/demo-1"),
        f"{days}/cohorts/dummy.yaml": _cohort("dummy", "mini/dummy-1"),
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "medomni.toml").write_text('release = "0.3.0"\n', encoding="utf-8")
    shutil.copytree(REPOSITORY / "studio" / "arms", folder / "studio" / "arms")
    for name, text in files.items():
        path = folder / "studio" / "datasets" / "mini" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return load_workspace(folder)


def mini_data(folder: Path, patients: int = 60) -> Path:
    """Files of the release `dummy-1` of `mini`."""
    core = folder / "core"
    core.mkdir(parents=True)
    people, events = ["subject_id,sex"], ["subject_id,time,code,value"]
    for number in range(patients):
        subject = 71_000_000 + number
        people.append(f"{subject},{'FM'[number % 2]}")
        for day, value in ((number, number * 37 % 101), (number + 100, _LATER[number % 3])):
            when = date(2150, 1, 1) + timedelta(days=day)
            events.append(f"{subject},{when} 08:00:00,lab,{value}")
    (core / "patients.csv").write_text("\n".join([*people, ""]), encoding="utf-8")
    (core / "events.csv").write_text("\n".join([*events, ""]), encoding="utf-8")
    return folder


def with_sets(workspace: Workspace) -> Workspace:
    """A benchmark with a set of three pairs, and one of imported results."""
    folder = workspace.benchmark("mine")
    (folder / "sets").mkdir(parents=True)
    (folder / "benchmark.yaml").write_text(
        'name: mine\nversion: "1.0"\nowner: me\nlicense: CC-BY-4.0\naccepts: [agent]\n', encoding="utf-8"
    )
    write_set(workspace, "v1", {STAGE: 1, DEMO: 1, DAYS: 1})
    write_set(workspace, "v0.2-mid", {IMPORTED: 0}, builder="medomni-v0")
    return workspace


def write_set(
    workspace: Workspace,
    name: str,
    tasks: dict[str, int],
    *,
    arms: str = "encoders, no-perception",
    builder: str = "medomni-v1",
) -> Path:
    """Write a task set of the benchmark `mine`."""
    lines = "".join(f"  - {{task: {pair}, version: {version}}}\n" for pair, version in tasks.items())
    path = workspace.benchmark("mine") / "sets" / f"{name}.yaml"
    path.write_text(f"name: {name}\nbuilder: {builder}\narms: [{arms}]\ntasks:\n{lines}", encoding="utf-8")
    return path


def frozen_workspace(factory: pytest.TempPathFactory, folder: Path) -> Workspace:
    """A copy, to edit, of a workspace whose release 0.3.0 is frozen."""
    if not _frozen:
        workspace = with_sets(mini(factory.mktemp("frozen")))
        freeze(workspace, "0.3.0", without_builds=True)
        _frozen.append(workspace.root)
    shutil.copytree(_frozen[0], folder)
    return load_workspace(folder)
