"""Bad definitions, cohorts that cannot be drawn, full disks, kills: through the command line, in processes.

An error says what, with a code; where, with its line; and gives a hint. Nothing is half built, and the same
command goes on once the cause is gone.
"""

from __future__ import annotations

import hashlib
import random
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from record_builders import RELEASE, CaseWorkspace, mimic_tables

pytest.importorskip("duckdb", reason="importing needs the extra `studio`")

NAMES = ("hosp.patients", "hosp.admissions", "hosp.labevents", "hosp.d_labitems")
BODY = """
predicates:
  lab: {table: hosp.labevents, code: {any: [50912]}, value: valuenum, unit: mg/dL}
trigger: lab
index: {time: trigger}
windows:
  week: {start: index - 7d, end: index, start_inclusive: true, end_inclusive: true, agg: {n: count(lab)}}
where: [{some: "n >= 1"}]
value: "trigger.value"
"""
PREDICATE, WINDOW, RULE, VALUE = 9, 13, 14, 15
BACK = "start: index - 7d, end: index"
DIED = "admission.hospital_expire_flag == 1"
STRATA = {"strata": {"by": "label", "classes": [0, 1], "per": 2}, "n": 4}


def medomni(place: CaseWorkspace, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "medomni", "studio", *arguments, "--workspace", str(place.root / "work")]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)


def refused(done: subprocess.CompletedProcess[str], code: str) -> list[str]:
    """The lines of the one error of a command that ended with 2 and printed nothing."""
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert "Traceback" not in done.stderr
    progress = ("checking", "importing", "note:")
    lines = [line for line in done.stderr.splitlines() if not line.startswith(progress)]
    assert lines[0].startswith(f"error[{code}]: ")
    assert sum(line.startswith("error[") for line in lines) == 1
    return lines


def people() -> dict[str, list[dict[str, str]]]:
    ids = [str(each) for each in range(1, 5)]
    person = {"gender": "F", "anchor_age": "60", "anchor_year": "2150"}
    stay = {"admittime": "2150-01-01 00:00:00", "dischtime": "2150-01-05 00:00:00"}
    lab = {"itemid": "50912", "charttime": "2150-01-02 00:00:00", "valuenum": "1.2", "valueuom": "mg/dL"}
    item = {"itemid": "50912", "label": "Creatinine", "fluid": "Blood", "category": "Chemistry"}
    admitted = [{"subject_id": each, "hadm_id": f"1{each}"} for each in ids]
    died = ["1", "0", "0", "0"]
    return {
        "hosp__patients": [{"subject_id": each} | person for each in ids],
        "hosp__admissions": [
            each | stay | {"hospital_expire_flag": flag} for each, flag in zip(admitted, died, strict=True)
        ],
        "hosp__labevents": [each | {"labevent_id": each["subject_id"]} | lab for each in admitted],
        "hosp__d_labitems": [item],
    }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> CaseWorkspace:
    tables = mimic_tables(*NAMES, "icu.procedureevents")
    tables["hosp.procedureevents"] = tables.pop("icu.procedureevents")
    root = tmp_path_factory.mktemp("bad-input")
    found = CaseWorkspace.of(root, tables, optional=["hosp.procedureevents"])
    found.import_rows(**people())
    return found


# Definitions.


@pytest.mark.parametrize(
    ("old", "new", "code", "line", "words"),
    [
        ("value: valuenum", "value: valuenumm", "recipe-column-unknown", PREDICATE, "mean 'valuenum'?"),
        ("any: [50912]", "dict: hosp.d_lab, fluid: [Blood]", "recipe-table-unknown", PREDICATE, "d_labitems"),
        ('"n >= 1"', "\"n == 'one'\"", "recipe-type", RULE, "compares a whole number with text"),
        ("unit: mg/dL", "unit: umol/L", "label-unit", PREDICATE, "'mg/dL' (4 rows)"),
        ("hosp.labevents", "hosp.labs", "recipe-table-unknown", PREDICATE, "'hosp.labs'"),
        (BACK, "start: index, end: index - 7d", "recipe-window-impossible", WINDOW, "week"),
        (f"{BACK}, start_inclusive: true", "start: index, end: index, start_inclusive: false",
         "recipe-window-empty", WINDOW, "no length"),
        ('"n >= 1"', '"patient.dod >= date(index)"', "recipe-outcome-early", RULE, "where_outcome"),
        ('"trigger.value"', '"trigger.value * 5000"', "label-value-range", VALUE, "patient 1 at"),
    ],
)  # fmt: skip
def test_a_wrong_definition_is_told_with_its_file_and_line(
    place: CaseWorkspace, old: str, new: str, code: str, line: int, words: str
) -> None:
    assert BODY.count(old) == 1
    place.label(BODY.replace(old, new))
    lines = refused(medomni(place, "label", "table", "it", "--out", str(place.root / "it.csv")), code)
    assert len(lines) <= 3
    assert re.search(rf"labels/it\.yaml:{line}\b", lines[1])
    assert words in "\n".join(lines)
    assert not (place.root / "it.csv").exists()


def test_a_table_that_the_release_lacks_is_told_and_gives_nobody(place: CaseWorkspace) -> None:
    trigger = "  dialysis: {table: hosp.procedureevents}\ntrigger: dialysis"
    place.label(BODY.replace("trigger: lab", trigger).replace("trigger.value", "n"))
    place.cohort()
    done = medomni(place, "cohort", "flow", "case_it@demo")
    lines = refused(done, "cohort-empty")
    assert "  candidates dialysis: 0 events, 0 people" in lines
    done = medomni(place, "label", "table", "it")
    assert f"dialysis: {RELEASE} has no table hosp.procedureevents; no such events" in done.stderr
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1)


# Cohorts.


@pytest.mark.parametrize(
    ("rule", "answer", "draw", "code", "words"),
    [
        ("n >= 2", DIED, {}, "cohort-empty", "where some: 0 events, 0 people"),
        ("n >= 1", DIED, STRATA, "cohort-short-stratum", "1 has 1 of 2"),
        ("n >= 1", "1 == 1", STRATA, "cohort-one-class", "has the answer 1"),
    ],
)
def test_a_cohort_that_cannot_be_drawn_is_told_with_the_counts_of_every_rule(
    place: CaseWorkspace, rule: str, answer: str, draw: dict[str, Any], code: str, words: str
) -> None:
    body = BODY.replace("n >= 1", rule).replace('"trigger.value"', f'"{answer}"')
    place.label(body, kind="type: binary\n")
    place.cohort(draw=draw)
    picture = place.root / "flow.svg"
    lines = refused(medomni(place, "cohort", "flow", "case_it@demo", "--svg", str(picture)), code)
    assert words in "\n".join(lines)
    assert "  candidates lab: 4 events, 4 people" in "\n".join(lines)
    assert not picture.exists()


# A full disk, and kills.


def unimported(root: Path) -> CaseWorkspace:
    """Files of which one table takes a while to import, and some are small."""
    place = CaseWorkspace.of(root, mimic_tables(*NAMES))
    lab = {"itemid": "50912", "charttime": "2150-01-02 00:00:00", "valueuom": "mg/dL"}
    labs = [
        {"subject_id": str(at % 4 + 1), "labevent_id": str(at), "valuenum": f"{at % 977}.{at % 7}"} | lab
        for at in range(30_000)
    ]
    place.write_rows(**people() | {"hosp__labevents": labs})
    return place


def import_of(place: CaseWorkspace) -> tuple[str, ...]:
    files = str(place.root / "files")
    return ("data", "import", "case", "--from", files, "--release", "it", "--threads", "1")


def release_of(place: CaseWorkspace) -> Path:
    return place.root / "work" / ".medomni" / "data" / "case" / "it"


def stored(place: CaseWorkspace) -> dict[str, str]:
    """Digest of every file of the import but its memory of inspections, which holds times."""
    folder = release_of(place)
    found = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "inspections.json"]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def spilled(place: CaseWorkspace) -> list[Path]:
    return list((place.root / "work" / ".medomni" / "spill").iterdir())


def no_file_above(size: int) -> Callable[[], None]:
    def limit() -> None:
        # Python ignores the signal, so that a write beyond the limit fails as on a full disk.
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


def test_a_full_disk_ends_the_import_and_the_next_run_goes_on(tmp_path: Path) -> None:
    place = unimported(tmp_path)
    done = medomni(place, *import_of(place), preexec_fn=no_file_above(30_000))
    lines = refused(done, "disk-full")
    assert len(lines) == 3
    assert "hosp.labevents could not be finished" in lines[0]
    assert sorted(path.name for path in release_of(place).iterdir()) == ["inspections.json", "lock", "tables"]
    assert not list(release_of(place).rglob("*labevents*"))
    assert not spilled(place)
    place.label(BODY)
    refused(medomni(place, "label", "table", "it", "--release", RELEASE), "import-unfinished")
    done = medomni(place, *import_of(place))
    assert done.stdout.startswith(f"{RELEASE}: 2 tables imported, 2 kept\n"), done.stderr
    out = str(place.root / "it.csv")
    done = medomni(place, "label", "table", "it", "--out", out, preexec_fn=no_file_above(30_000))
    assert len(refused(done, "write-failed")) == 3
    assert not list(place.root.glob("*it.csv*"))


def test_an_import_killed_at_any_moment_goes_on_and_ends_as_one_that_was_not(tmp_path: Path) -> None:
    whole, killed = unimported(tmp_path / "whole"), unimported(tmp_path / "killed")
    assert medomni(whole, *import_of(whole)).returncode == 0
    moments = random.Random(4)
    command = [sys.executable, "-m", "medomni", "studio", *import_of(killed)]
    command += ["--workspace", str(killed.root / "work")]
    for _ in range(3):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and not (release_of(killed) / "building").is_dir():
            time.sleep(0.005)
        time.sleep(moments.uniform(0, 0.4))
        process.kill()
        if process.wait() == -signal.SIGKILL:
            assert not (release_of(killed) / "import.json").exists()
    (release_of(killed) / ".0123456789abcdef.tmp").touch()
    assert medomni(killed, *import_of(killed)).returncode == 0
    assert stored(killed) == stored(whole)
    assert not spilled(killed)
    assert medomni(killed, "data", "verify", RELEASE).returncode == 0
