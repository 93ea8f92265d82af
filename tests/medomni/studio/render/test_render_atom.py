"""An atom task as files: what stands where, what an agent can see of it, and equal bytes each time."""

from __future__ import annotations

import os
import stat
import time
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from atom_builders import (
    DAYS,
    ENCODERS,
    LABS,
    LADDER,
    NO_PERCEPTION,
    PAIR,
    PATIENT,
    PATIENTS,
    RISK,
    STAGE,
    atom,
    full_atom,
    pair,
    table,
)
from hypothesis import given
from hypothesis import strategies as st

from medomni.core.errors import WriteError
from medomni.studio.definitions.arms import Arm
from medomni.studio.errors import BuildError
from medomni.studio.render import atom_files, render_atom

# What an agent gets to see: its instruction, what is mounted, and what its image is made from.
SEEN = ("instruction.md", "data/", "environment/")
UNDER = [(NO_PERCEPTION, None), (ENCODERS, None), (LADDER, "r1"), (LADDER, "r2")]


def rendered(folder: Path, arm: Arm = NO_PERCEPTION, variant: str | None = None) -> Path:
    render_atom(pair(), full_atom(), arm, variant, folder)
    return folder


def listing(folder: Path) -> dict[str, tuple[int, int, bytes | None]]:
    """Mode, time and bytes of everything in a folder, itself included."""
    found = {}
    for path in (folder, *folder.rglob("*")):
        about = path.lstat()
        data = path.read_bytes() if path.is_file() else None
        found[path.relative_to(folder).as_posix()] = (about.st_mode, int(about.st_mtime), data)
    return found


def test_an_atom_has_the_files_of_an_atom_task() -> None:
    assert sorted(atom_files(pair(), full_atom(), NO_PERCEPTION, None)) == [
        "data/README.txt",
        "data/record/hosp.labevents.csv",
        "data/record/hosp.patients.csv",
        "environment/Dockerfile",
        "environment/docker-compose.yaml",
        "instruction.md",
        "task.toml",
        "tests/expected.json",
        "tests/form.json",
        "tests/format_check.py",
        "tests/test.sh",
    ]


def test_the_folder_holds_real_files_with_fixed_modes_and_times(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        found = listing(rendered(tmp_path / "atom"))
    finally:
        os.umask(before)
    assert {when for _, when, _ in found.values()} == {315532800}
    for name, (mode, _, data) in found.items():
        assert not stat.S_ISLNK(mode)
        program = name == "tests/test.sh"
        assert stat.S_IMODE(mode) == (0o755 if data is None or program else 0o644), name
    assert all(path.stat().st_nlink == 1 for path in (tmp_path / "atom").rglob("*") if path.is_file())


@pytest.mark.parametrize(("arm", "variant"), UNDER)
def test_equal_atoms_give_equal_folders(tmp_path: Path, arm: Arm, variant: str | None) -> None:
    first = listing(rendered(tmp_path / "first", arm, variant))
    time.sleep(0.01)
    assert listing(rendered(tmp_path / "second" / "deeper", arm, variant)) == first


@pytest.mark.parametrize(("arm", "variant"), UNDER)
def test_nothing_that_an_agent_sees_names_the_atom_or_the_patient(arm: Arm, variant: str | None) -> None:
    one = full_atom()
    files = atom_files(pair(), one, arm, variant)
    seen = {name: data for name, data in files.items() if name.startswith(SEEN)}
    hidden = (PATIENT, one.name, one.name.rpartition(".")[2], one.prediction_time, "2150", "@dummy")
    for name, data in seen.items():
        for secret in hidden:
            assert secret.encode() not in data, f"{secret} in {name}"


def test_the_patient_stands_in_the_host_s_file_alone() -> None:
    files = atom_files(pair(), full_atom(), ENCODERS, None)
    assert [name for name, data in files.items() if PATIENT.encode() in data] == ["task.toml"]


def test_two_patients_with_one_record_differ_in_the_host_s_file_alone() -> None:
    one, other = (
        atom_files(pair(), atom(PATIENTS, LABS, patient=each), ENCODERS, None) for each in ("7", "8")
    )
    assert [name for name in one if one[name] != other[name]] == ["task.toml"]


def test_all_atoms_of_a_pair_share_one_environment() -> None:
    one = atom_files(pair(), full_atom(), ENCODERS, None)
    other = atom_files(pair(), atom(patient="8"), ENCODERS, None)
    names = [name for name in one if name.startswith(("environment/", "tests/"))]
    assert [one[name] for name in names] == [other[name] for name in names]


def test_the_configuration_says_what_harbor_must_hold() -> None:
    files = atom_files(pair(), full_atom(), NO_PERCEPTION, None)
    config = tomllib.loads(files["task.toml"].decode())
    assert config["schema_version"] == "1.4"
    assert config["artifacts"] == ["/workspace/answer.json"]
    assert config["task"]["name"] == f"medomni/{full_atom().name}"
    assert config["task"]["authors"] == [{"name": "MedOmni team"}]
    assert config["agent"] == {"timeout_sec": 600.0, "user": "agent"}
    assert config["verifier"] == {"timeout_sec": 120.0, "environment_mode": "separate"}
    assert config["environment"] == {
        "build_timeout_sec": 600.0,
        "cpus": 2,
        "memory_mb": 1024,
        "storage_mb": 10240,
        "network_mode": "no-network",
        "workdir": "/workspace",
    }


def test_the_configuration_says_whose_atom_it_is() -> None:
    def metadata(arm: Arm, variant: str | None) -> dict[str, Any]:
        text = atom_files(pair(), full_atom(), arm, variant)["task.toml"].decode()
        found: dict[str, Any] = tomllib.loads(text)["metadata"]
        return found

    assert metadata(LADDER, "r2") == {
        "arm": "modality-ladder",
        "variant": "r2",
        "pair": str(PAIR),
        "version": 1,
        "patient": PATIENT,
        "builder": "medomni-v1/0.3.0",
        "release": "mimic-iv/dummy-1",
        "release_class": "dummy",
        "access": "generated",
        "perception": True,
    }
    assert "variant" not in metadata(ENCODERS, None)
    assert metadata(NO_PERCEPTION, None)["perception"] is False


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_any_author_and_patient_survive_the_configuration(text: str) -> None:
    one = replace(full_atom(), patient=text)
    files = atom_files(pair(authors=((text, "x"),)), one, NO_PERCEPTION, None)
    config = tomllib.loads(files["task.toml"].decode())
    assert (config["metadata"]["patient"], config["task"]["authors"][0]["name"]) == (text, text)


def test_a_rung_shows_its_families_in_the_instruction_and_in_the_files() -> None:
    low = atom_files(pair(), full_atom(), LADDER, "r1")
    high = atom_files(pair(), full_atom(), LADDER, "r2")
    assert "data/record/hosp.labevents.csv" not in low
    assert b"Sodium" not in low["instruction.md"]
    assert high["data/record/hosp.labevents.csv"].decode().splitlines()[1:] == [
        "50983,Sodium,-48,140,mEq/L",
        "50983,Sodium,-24,138,mEq/L",
        "50971,Potassium,-2.5,4.1,mEq/L",
    ]
    assert b"Urine" not in b"".join(high.values())
    assert low["data/record/hosp.patients.csv"] == high["data/record/hosp.patients.csv"]


def test_the_files_hold_every_row_that_the_record_leaves_out() -> None:
    rows = [("50983", "Sodium", str(-100 + n), "140", "mEq/L") for n in range(90)]
    long = table("hosp.labevents", [c.name for c in LABS.columns], rows, ["labs_chemistry"] * 90)
    files = atom_files(pair(), atom(long), NO_PERCEPTION, None)
    assert len(files["data/record/hosp.labevents.csv"].decode().splitlines()) == 91
    assert (
        "40 of 90 rows shown; complete table: `/data/record/hosp.labevents.csv`"
        in files["instruction.md"].decode()
    )


def test_an_empty_record_is_said_to_be_empty() -> None:
    files = atom_files(pair(), atom(), NO_PERCEPTION, None)
    assert "Nothing is on record." in files["instruction.md"].decode()
    assert [name for name in files if name.startswith("data/")] == ["data/README.txt"]


@pytest.mark.parametrize(
    ("arm", "variant"), [(LADDER, None), (LADDER, "r9"), (ENCODERS, "r1"), (NO_PERCEPTION, "r1")]
)
def test_a_variant_that_the_arm_lacks_is_refused(arm: Arm, variant: str | None) -> None:
    with pytest.raises(BuildError) as refusal:
        atom_files(pair(), full_atom(), arm, variant)
    assert refusal.value.code == "render-variant"


def test_a_folder_that_is_there_is_never_written_into(tmp_path: Path) -> None:
    (tmp_path / "atom").mkdir()
    with pytest.raises(WriteError, match="could not be written"):
        rendered(tmp_path / "atom")
    assert list((tmp_path / "atom").iterdir()) == []


def test_a_disk_without_room_is_a_failure_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(WriteError) as failure:
        rendered(tmp_path / "file" / "atom")
    assert failure.value.where.endswith("file/atom")


def test_targets_of_every_kind_are_rendered() -> None:
    files = atom_files(pair(STAGE, RISK, DAYS), full_atom(), NO_PERCEPTION, None)
    assert files["tests/expected.json"] == b'[\n  "ckd_stage",\n  "risk",\n  "days"\n]\n'
