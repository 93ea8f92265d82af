"""A tiny dataset for tests of importing: three tables, its workspace, and its CSV files."""

from __future__ import annotations

import gzip
from pathlib import Path

from medomni.core.workspace import Workspace, load_workspace

DATASET_YAML = """\
dataset: tiny
version: 1
title: Tiny
modules:
  hosp: {files: ["hosp/{file}.csv.gz", "hosp/{file}.csv"]}
  note: {files: ["note/{file}.csv"]}
releases:
  "1.0":
    class: real
    access: credentialed
    licence: none
    terms: [It is made up.]
    modules: {hosp: required, note: optional}
    counts: {hosp.patients: 2}
  demo:
    class: demo
    access: open
    licence: none
    terms: [It is made up.]
    modules: {hosp: required}
    counts: {hosp.patients: [3, 4]}
"""
TABLES_YAML = """\
recipe: tables
version: 1
tables:
  hosp.patients:
    file: patients
    required: [real, demo]
    patient: subject_id
    key: [subject_id]
    ends: [{column: dod}]
    columns: {subject_id: bigint, gender: text, hospital_expire_flag: integer, dod: date}
    sort: {by_patient: [subject_id]}
  hosp.labs:
    file: labs
    required: [real]
    patient: subject_id
    key: [lab_id]
    code: itemid
    time: charttime
    available: [storetime, charttime, {day_end: chartdate}]
    text: [comments]
    columns:
      lab_id: bigint
      subject_id: bigint
      itemid: integer
      charttime: timestamp
      storetime: timestamp
      chartdate: date
      valuenum: "decimal(20,8)"
      rate: {type: "decimal(28,8)", round: true}
      comments: text
    sort: {by_patient: [subject_id, charttime], by_item: [itemid, subject_id, charttime]}
  hosp.codes:
    file: codes
    required: []
    patient: subject_id
    available: [{from: hosp.labs, by: [subject_id], column: charttime, plus: 7d}]
    columns: {subject_id: bigint, icd_code: text}
    sort: {by_patient: [subject_id]}
  note.notes:
    file: notes
    required: []
    patient: subject_id
    columns: {subject_id: bigint, text: text}
    sort: {by_patient: [subject_id]}
"""
FAMILIES_YAML = """\
recipe: families
version: 1
families:
  people: [{table: hosp.patients}, {table: hosp.codes}]
  kidney: [{table: hosp.labs, code: [50912]}]
  labs: [{table: hosp.labs, rest: true}]
  notes: [{table: note.notes}]
"""
PATIENTS = 'subject_id,gender,hospital_expire_flag,dod\n1,F,"1",2150-02-03\n2,M,0,\n'
LAB_HEADER = "lab_id,subject_id,itemid,charttime,storetime,chartdate,valuenum,rate,comments\n"
LABS = (
    LAB_HEADER + "11,2,50912,2150-01-01 10:00:00,2150-01-01 11:30:00,2150-01-01,0.6,1.5,\n"
    '12,1,50912,2150-01-01 10:00:00,,2150-01-01,1.4,0.1234567890123,"two\nlines, ""quoted"""\n'
    "13,1,51006,,,2150-01-02,,,\n"
)


def workspace(root: Path, *, dataset: str = DATASET_YAML, tables: str = TABLES_YAML) -> Workspace:
    """A workspace with the tiny dataset."""
    folder = root / "workspace" / "studio" / "datasets" / "tiny"
    (folder / "recipes").mkdir(parents=True, exist_ok=True)
    (root / "workspace" / "medomni.toml").write_text('release = "0.3.0"\n', encoding="utf-8")
    (folder / "dataset.yaml").write_text(dataset, encoding="utf-8")
    (folder / "recipes" / "tables.yaml").write_text(tables, encoding="utf-8")
    (folder / "recipes" / "families.yaml").write_text(FAMILIES_YAML, encoding="utf-8")
    return load_workspace(root / "workspace")


def files(root: Path, **texts: str | bytes) -> Path:
    """A folder `source` with the tiny release; `labs="…"` replaces a file, and `labs=""` leaves it out."""
    for name, text in ({"patients": PATIENTS, "labs": LABS} | texts).items():
        path = root / "source" / "hosp" / f"{name}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        if text:
            path.write_bytes(text.encode() if isinstance(text, str) else text)
    return root / "source"


def zipped(folder: Path, name: str, *, keep: int | None = None) -> Path:
    """Replace `hosp/<name>.csv` by its gzip form, of which only the first `keep` bytes stay."""
    plain = folder / "hosp" / f"{name}.csv"
    path = plain.with_suffix(".csv.gz")
    path.write_bytes(gzip.compress(plain.read_bytes(), mtime=0)[:keep])
    plain.unlink()
    return path
