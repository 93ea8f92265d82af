"""The emergency department's module, which neither the demo nor the made-up release has."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from studio_builders import REPOSITORY

from medomni.core.workspace import load_workspace
from medomni.studio.data.definitions import load_dataset
from record_builders import RELEASE, CaseWorkspace, Rows, mimic_tables

ED = ("ed.edstays", "ed.diagnosis", "ed.medrecon", "ed.pyxis", "ed.triage", "ed.vitalsign")
STAY = {"subject_id": "1", "stay_id": "31"}
FILES: dict[str, Rows] = {
    "ed__edstays": [
        STAY | {"intime": "2150-01-01 10:00:00", "outtime": "2150-01-01 18:30:00", "gender": "F"}
        | {"race": "UNKNOWN", "arrival_transport": "WALK IN", "disposition": "HOME"},
    ],
    "ed__diagnosis": [
        STAY | {"seq_num": "1", "icd_code": "0042", "icd_version": "9", "icd_title": "HIV, LATE"},
    ],
    "ed__medrecon": [
        STAY | {"charttime": "2150-01-01 10:20:00", "name": "aspirin", "gsn": "004380", "ndc": "00536330501"}
        | {"etc_rn": "1", "etccode": "00000574", "etcdescription": "Analgesic, \"mild\"\nsecond line"},
    ],
    "ed__pyxis": [
        STAY | {"charttime": "2150-01-01 11:00:00", "med_rn": "1", "name": "Heparin", "gsn_rn": "1"}
        | {"gsn": "006549"},
    ],
    "ed__triage": [
        STAY | {"temperature": "98.60000000000001", "heartrate": "112.0", "resprate": "16.0", "o2sat": "97"}
        | {"sbp": "140.0", "dbp": "80", "pain": "unable", "acuity": "3.0", "chiefcomplaint": "CHEST PAIN"},
    ],
    "ed__vitalsign": [
        STAY | {"charttime": "2150-01-01 12:00:00", "temperature": "", "heartrate": "99.0", "resprate": "18"}
        | {"o2sat": "98", "sbp": "131", "dbp": "78", "rhythm": "Sinus Rhythm", "pain": "5-6"},
    ],
}  # fmt: skip
LABEL = """
predicates:
  vital: {table: ed.vitalsign, value: heartrate}
  coded: {table: ed.diagnosis, code: {icd9: ['0042'], match: exact}}
  triaged: {table: ed.triage, where: ["pain == 'unable'"], value: heartrate}
trigger: vital
index: {time: trigger}
windows:
  past: {start: NULL, end: index, start_inclusive: true, end_inclusive: true,
    agg: {known: count(coded), before: last(triaged.value)}}
  month: {start: index, end: index + 30d, start_inclusive: false, end_inclusive: true, role: outcome,
    agg: {later: count(coded)}}
where: [{rise: "trigger.value < before"}]
value: "1000 * known + 100 * later + trigger.value"
"""


def place(tmp_path: Path, *, optional: tuple[str, ...] = ED) -> CaseWorkspace:
    return CaseWorkspace.of(tmp_path, mimic_tables("hosp.patients", *ED), optional=optional)


def people() -> dict[str, Rows]:
    return {"hosp__patients": [{"subject_id": "1", "gender": "F", "anchor_age": "60", "anchor_year": "2150"}]}


def test_the_files_of_the_module_are_looked_for_in_a_folder_of_their_own() -> None:
    dataset = load_dataset(load_workspace(REPOSITORY), "mimic-iv")
    assert dataset.patterns["ed"] == ("ed/{file}.csv.gz", "ed/{file}.csv")
    assert dataset.release("3.1").modules["ed"] is False
    assert {name for name in dataset.tables if name.startswith("ed.")} == set(ED)


@pytest.mark.parametrize("compressed", [False, True])
def test_its_tables_are_read_and_known_when_they_were(tmp_path: Path, compressed: bool) -> None:
    here = place(tmp_path)
    here.write_rows(**people(), **FILES)
    if compressed:
        for path in (tmp_path / "files" / "ed").glob("*.csv"):
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
    out = here.run("studio", "data", "import", "case", "--from", str(tmp_path / "files"), "--release", "it")
    assert f"{RELEASE}: 7 tables imported" in out
    assert "not there" not in out
    here.label(LABEL)
    # The heart rate at triage counts from the arrival, and the code from a week after the end.
    assert here.eligible() == {"1": "199.00000000"}
    assert here.run("studio", "data", "verify", RELEASE).endswith(f"{RELEASE}: 0 errors, 0 warnings\n")


def test_missing_optional_tables_are_named_and_a_missing_module_too(tmp_path: Path) -> None:
    here = place(tmp_path)
    some = {name: rows for name, rows in FILES.items() if name not in ("ed__pyxis", "ed__medrecon")}
    assert "not there: ed.medrecon, ed.pyxis" in here.import_rows(**people(), **some)
    for path in (tmp_path / "files" / "ed").iterdir():
        path.unlink()
    out = here.import_rows(**people())
    assert f"not there: {', '.join(ED)}" in out


def test_missing_required_tables_are_refused_all_at_once(tmp_path: Path) -> None:
    here = place(tmp_path, optional=("ed.pyxis",))
    here.write_rows(**people(), ed__edstays=FILES["ed__edstays"], ed__triage=FILES["ed__triage"])
    out = here.run("studio", "data", "import", "case", "--from", str(tmp_path / "files"), code=2)
    assert "release-unclear" in out
    files = str(tmp_path / "files")
    out = here.run("studio", "data", "import", "case", "--from", files, "--release", "it", code=2)
    assert out.count("error[table-missing]") == 3
    for name in ("diagnosis", "medrecon", "vitalsign"):
        assert f"needs the table ed.{name}\n" in out
        assert f"looked for ed/{name}.csv.gz or ed/{name}.csv" in out
    for path in (tmp_path / "files" / "ed").iterdir():
        path.unlink()
    out = here.run("studio", "data", "import", "case", "--from", files, "--release", "it", code=2)
    assert "error[module-missing]: case/it needs the module ed, and no file of it is there" in out
    assert not (here.root / "work" / ".medomni" / "data" / "case" / "it" / "tables").exists()
