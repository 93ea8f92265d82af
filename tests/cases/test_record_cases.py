"""Real-world failures from public trackers in cohorts and labels of clinical records: EH-01 to EH-14.

Every case runs twice through the commands `data import` and `label table`: on rows of this file, with ids and
values of their own, and on the files of the case itself (`../shared/cases`), where those are there.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from record_builders import CaseWorkspace, mimic_tables

type Rows = list[dict[str, str]]
BINARY = "type: binary\n"
ADMITTED = "2150-01-01 00:00:00"


def case(shared: Path, name: str) -> tuple[Path, dict[str, Any]]:
    """The folder of a case, and what it expects."""
    folder = shared / "cases" / name
    return folder, json.loads((folder / "expected.json").read_text(encoding="utf-8"))["expect"]


def rows_of(path: Path) -> Rows:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def rows(header: str, *lines: str) -> Rows:
    return [dict(zip(header.split(","), line.split(","), strict=True)) for line in lines]


def people(*ids: str) -> Rows:
    return [{"subject_id": each, "gender": "F", "anchor_age": "60", "anchor_year": "2150"} for each in ids]


def with_people(given: Rows) -> Rows:
    return people(*dict.fromkeys(row["subject_id"] for row in given))


def numbers(values: dict[str, str]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items()}


# EH-01: ages count from the anchor pair.


def ages(tmp_path: Path, patients: Rows, admissions: Rows) -> dict[str, float]:
    place = CaseWorkspace.of(tmp_path, mimic_tables("hosp.patients", "hosp.admissions"))
    place.import_rows(hosp__patients=patients, hosp__admissions=admissions)
    place.label("""
predicates: {admission: {table: hosp.admissions}}
trigger: admission
index: {time: trigger}
where: [{adult: "age_at(trigger.admittime) >= 18"}]
value: "age_at(trigger.admittime)"
""")
    place.cohort()
    found = numbers(place.eligible())
    flow = json.loads(place.run("studio", "cohort", "flow", "case_it@demo", "--json"))
    assert flow["n"] == len(found)
    return found


def test_the_age_at_an_admission_counts_from_the_anchor_pair(tmp_path: Path) -> None:
    """EH-01, its kind: neither the anchor age itself nor a birth in the anchor year."""
    patients = rows("subject_id,gender,anchor_age,anchor_year", "1,F,40,2130", "2,M,17,2155", "3,F,18,2160")
    admissions = rows(
        "subject_id,hadm_id,admittime,dischtime",
        "1,11,2141-01-01 00:00:00,2141-01-02 00:00:00",
        "2,12,2155-12-31 23:59:59,2156-01-02 00:00:00",
        "3,13,2159-07-01 00:00:00,2159-07-02 00:00:00",
    )
    assert ages(tmp_path, patients, admissions) == {"1": 51}


def test_eh_01_ages_and_the_adult_cohort(shared: Path, tmp_path: Path) -> None:
    folder, expect = case(shared, "EH-01")
    found = ages(tmp_path, rows_of(folder / "patients.csv"), rows_of(folder / "admissions.csv"))
    assert found == expect["age_at_admission"]
    assert sorted(found) == expect["cohort"]


# EH-02: an age that stands for "over 89" is no number to predict.


def stated_ages(tmp_path: Path, patients: Rows, admissions: Rows) -> tuple[dict[str, Any], list[str]]:
    """Age and whether it is top-coded, by patient; and who remains for a target that predicts it."""
    place = CaseWorkspace.of(tmp_path, mimic_tables("hosp.patients", "hosp.admissions"))
    known = place.tables["hosp.patients"]["columns"]
    place.import_rows(
        hosp__patients=[{key: row[key] for key in row if key in known} for row in patients],
        hosp__admissions=admissions,
    )
    place.label("""
predicates: {admission: {table: hosp.admissions}}
trigger: admission
index: {time: trigger}
let: {age: "min(age_at(trigger.admittime), 91)"}
where: [{not_top_coded: "age < 90"}]
value: "age"
""")
    found = place.table()
    told = {
        row["subject_id"]: {"value": float(row["value"]), "top_coded": row["not_top_coded"] == "false"}
        for row in found
    }
    return told, [row["subject_id"] for row in found if row["eligible"] == "true"]


def test_ages_above_the_highest_stated_one_are_left_out_of_a_target_of_age(tmp_path: Path) -> None:
    """EH-02, its kind: 91 means "over 89", and a birth date moved by centuries means the same."""
    patients = rows("subject_id,gender,anchor_age,anchor_year", "1,F,89,2150", "2,M,91,2150", "3,F,310,2150")
    admissions = [
        {"subject_id": each, "hadm_id": each, "admittime": ADMITTED, "dischtime": "2150-01-02 00:00:00"}
        for each in ("1", "2", "3")
    ]
    told, kept = stated_ages(tmp_path, patients, admissions)
    assert told == {
        "1": {"value": 89, "top_coded": False},
        "2": {"value": 91, "top_coded": True},
        "3": {"value": 91, "top_coded": True},
    }
    assert kept == ["1"]


def test_eh_02_top_coded_ages(shared: Path, tmp_path: Path) -> None:
    folder, expect = case(shared, "EH-02")
    found, kept = stated_ages(tmp_path, rows_of(folder / "patients.csv"), rows_of(folder / "admissions.csv"))
    assert found == expect["age"]
    assert kept == expect["target_age_mae_cohort"]


# EH-04: codes are text.


def coded(tmp_path: Path, diagnoses: Rows, codes: list[str]) -> list[list[str]]:
    """Who has each of the codes."""
    place = CaseWorkspace.of(tmp_path, mimic_tables("hosp.patients", "hosp.admissions", "hosp.diagnoses_icd"))
    place.import_rows(
        hosp__patients=with_people(diagnoses),
        hosp__admissions=[
            {**row, "admittime": ADMITTED, "dischtime": "2150-01-03 00:00:00"}
            for row in (
                {key: each[key] for key in ("subject_id", "hadm_id")}
                for each in {each["hadm_id"]: each for each in diagnoses}.values()
            )
        ],
        hosp__diagnoses_icd=[{"seq_num": str(at), **row} for at, row in enumerate(diagnoses, start=1)],
    )
    found = []
    for code in codes:
        place.label(f"""
predicates: {{coded: {{table: hosp.diagnoses_icd, code: {{icd9: ['{code}'], match: exact}}}}}}
trigger: coded
index: {{time: trigger}}
value: "1"
""")
        found.append(sorted(place.eligible()))
    return found


def test_codes_that_differ_in_zeros_are_two_codes(tmp_path: Path) -> None:
    """EH-04, its kind: from the file through the store to the cohort."""
    diagnoses = rows(
        "subject_id,hadm_id,icd_code,icd_version", "1,11,00845,9", "2,12,0845,9", "3,13,845,9", "4,14,8450,9"
    )
    assert coded(tmp_path, diagnoses, ["0845", "845", "8450"]) == [["2"], ["3"], ["4"]]


def test_eh_04_two_diseases_stay_two(shared: Path, tmp_path: Path) -> None:
    folder, expect = case(shared, "EH-04")
    hiv, bladder = coded(tmp_path, rows_of(folder / "diagnoses_icd.csv"), ["042", "1882"])
    assert (hiv, bladder) == (expect["cohort_hiv"], expect["cohort_bladder_ca"])


# EH-07: a birth is no clinical event.

EVENTS: dict[str, Any] = {
    "meds.subjects": {
        "file": "subjects",
        "patient": "subject_id",
        "key": ["subject_id"],
        "columns": {"subject_id": "bigint"},
        "sort": {"by_patient": ["subject_id"]},
    },
    "meds.events": {
        "file": "events",
        "patient": "subject_id",
        "code": "code",
        "time": "timestamp",
        "available": ["timestamp"],
        "columns": {"subject_id": "bigint", "timestamp": "timestamp", "code": "text"},
        "sort": {"by_patient": ["subject_id", "timestamp"]},
    },
}


def counted(tmp_path: Path, events: Rows, until: str, least: int) -> tuple[dict[str, float], list[str]]:
    """Clinical events of each patient up to a moment, and who has enough."""
    place = CaseWorkspace.of(tmp_path, {name: dict(table) for name, table in EVENTS.items()})
    at_end = [
        {"subject_id": each["subject_id"], "timestamp": until, "code": "GATE"} for each in with_people(events)
    ]
    place.import_rows(
        meds__subjects=[{"subject_id": each["subject_id"]} for each in with_people(events)],
        meds__events=[*events, *at_end],
    )
    place.label(f"""
predicates:
  gate: {{table: meds.events, code: {{any: [GATE]}}}}
  clinical: {{table: meds.events, where: ["not (code in ['MEDS_BIRTH', 'MEDS_DEATH', 'GATE'])"]}}
trigger: gate
index: {{time: trigger}}
windows:
  record: {{start: NULL, end: index, start_inclusive: true, end_inclusive: true, agg: {{n: count(clinical)}}}}
where: [{{enough: "n >= {least}"}}]
value: "n"
guards: [{{table: meds.events, where: {{code: {{any: [MEDS_DEATH]}}}}}}]
""")
    found = place.table()
    events_of = {row["subject_id"]: float(row["value"]) for row in found}
    return events_of, [row["subject_id"] for row in found if row["eligible"] == "true"]


def test_a_birth_row_passes_no_gate_of_event_counts(tmp_path: Path) -> None:
    """EH-07, its kind: two events and a birth are two events."""
    events = rows(
        "subject_id,timestamp,code",
        "1,2080-01-01 00:00:00,MEDS_BIRTH", "1,2150-01-01 01:00:00,LAB//A", "1,2150-01-01 02:00:00,LAB//B",
        "2,2150-01-01 01:00:00,LAB//A", "2,2150-01-01 01:00:00,LAB//A", "2,2150-01-01 02:00:00,DRUG//A",
    )  # fmt: skip
    assert counted(tmp_path, events, "2150-01-02 00:00:00", 3) == ({"1": 2, "2": 3}, ["2"])


def test_eh_07_the_birth_row_does_not_count(shared: Path, tmp_path: Path) -> None:
    folder, expect = case(shared, "EH-07")
    found, kept = counted(tmp_path, rows_of(folder / "events.csv"), "2150-01-02 00:00:00", 5)
    assert found == expect["n_events"]
    assert kept == expect["cohort"]


# EH-09: a readmission counts from the discharge, in the order of time.


def readmitted(tmp_path: Path, admissions: Rows) -> dict[str, float]:
    """Answer by admission."""
    place = CaseWorkspace.of(tmp_path, mimic_tables("hosp.patients", "hosp.admissions"))
    full = {"admission_type": "URGENT", "hospital_expire_flag": "0", "discharge_location": "HOME"}
    place.import_rows(
        hosp__patients=with_people(admissions), hosp__admissions=[{**full, **row} for row in admissions]
    )
    place.label(
        """
predicates: {episode: {function: merged_admissions@1}}
trigger: episode
index: {time: trigger.episode_end}
windows:
  month:
    {start: index, end: index + 30d, start_inclusive: false, end_inclusive: true, role: outcome,
     agg: {returns: "count(episode, is_first == 1)"}}
value: "returns >= 1"
""",
        kind=BINARY,
    )
    ends = {(row["subject_id"], row["dischtime"]): row["hadm_id"] for row in admissions}
    return {
        ends[(row["subject_id"], row["prediction_time"].replace("T", " "))]: float(row["value"])
        for row in place.table()
    }


def test_the_gap_to_the_next_stay_counts_from_the_discharge(tmp_path: Path) -> None:
    """EH-09, its kind: a long stay, ids against the order of time, and exactly thirty days."""
    admissions = rows(
        "subject_id,hadm_id,admittime,dischtime",
        "1,9,2150-01-01 00:00:00,2150-03-01 00:00:00", "1,4,2150-03-31 00:00:00,2150-04-01 00:00:00",
        "1,7,2150-05-01 00:00:01,2150-05-02 00:00:00",
    )  # fmt: skip
    assert readmitted(tmp_path, admissions) == {"9": 1, "4": 0, "7": 0}


def test_eh_09_readmissions(shared: Path, tmp_path: Path) -> None:
    folder, expect = case(shared, "EH-09")
    assert readmitted(tmp_path, rows_of(folder / "admissions.csv")) == expect["labels"]


# EH-11: a flag that arrives as text.

DIED = """
predicates: {discharge: {table: hosp.admissions, time: dischtime}}
trigger: discharge
index: {time: trigger}
value: "trigger.hospital_expire_flag == 1"
"""


def deaths(tmp_path: Path, admissions: Rows) -> CaseWorkspace:
    place = CaseWorkspace.of(tmp_path, mimic_tables("hosp.patients", "hosp.admissions"))
    times = {"admittime": ADMITTED, "dischtime": "2150-01-02 00:00:00"}
    place.import_rows(
        hosp__patients=with_people(admissions), hosp__admissions=[{**row, **times} for row in admissions]
    )
    place.label(DIED, kind=BINARY)
    return place


def test_a_quoted_flag_is_the_number_that_it_says(tmp_path: Path) -> None:
    """EH-11, its kind; a label with one class is told where it is drawn from."""
    header = "subject_id,hadm_id,hospital_expire_flag"
    place = deaths(tmp_path / "two", rows(header, "1,11,0", "2,12,1"))
    path = place.root / "files" / "hosp" / "admissions.csv"
    quoted = [line.rpartition(",") for line in path.read_text(encoding="utf-8").splitlines()]
    path.write_text("".join(f'{before},"{flag.strip()}"\n' for before, _, flag in quoted), encoding="utf-8")
    place.run("studio", "data", "import", "case", "--from", str(place.root / "files"), "--release", "it")
    assert numbers(place.eligible()) == {"1": 0, "2": 1}
    one = deaths(tmp_path / "one", rows(header, "1,11,0", "2,12,0"))
    one.cohort()
    assert "only one class" in one.run("studio", "cohort", "flow", "case_it@demo")


def test_eh_11_a_text_flag_gives_both_classes(shared: Path, tmp_path: Path) -> None:
    folder, expect = case(shared, "EH-11")
    found = numbers(deaths(tmp_path, rows_of(folder / "admissions.csv")).eligible())
    assert found == expect["label"]
    assert sum(found.values()) == expect["n_positive"]


# EH-12: stages from rises, never from one value alone.


def stages(tmp_path: Path, labs: Rows) -> dict[str, float]:
    """KDIGO stage of each patient over the record, against the lowest value of the week before each value."""
    tables = mimic_tables("hosp.patients", "hosp.admissions", "hosp.labevents", "icu.procedureevents")
    place = CaseWorkspace.of(tmp_path, tables)
    creatinine = [
        {
            "labevent_id": str(at),
            "subject_id": row["subject_id"],
            "itemid": "50912",
            "charttime": row["charttime"],
            "valuenum": row["creatinine_mg_dl"],
            "valueuom": "mg/dL",
        }
        for at, row in enumerate(labs, start=1)
    ]
    place.import_rows(
        hosp__patients=with_people(labs),
        hosp__admissions=[],
        hosp__labevents=creatinine,
        icu__procedureevents=[],
    )
    place.label(
        """
predicates: {creatinine: {table: hosp.labevents, code: {any: [50912]}, value: valuenum, unit: mg/dL}}
trigger: creatinine
index: {time: trigger}
windows:
  week:
    {start: index - 7d, end: index, start_inclusive: true, end_inclusive: true,
     agg: {lowest: min(creatinine.value), n: count(creatinine)}}
let: {stage: "kdigo_creatinine@1(lowest, index - 7d, index, true)"}
where: [{second: "n == 2"}]
value: "stage"
""",
        kind="type: ordinal\nclasses: [none, one, two, three]\n",
    )
    return numbers(place.eligible())


def test_stages_come_from_rises_at_any_level(tmp_path: Path) -> None:
    """EH-12, its kind: 4.0 and more without a rise is no stage, and a rise of exactly 0.3 is one."""
    labs = rows(
        "subject_id,charttime,creatinine_mg_dl",
        "1,2150-01-01 00:00:00,6.1", "1,2150-01-02 00:00:00,6.3", "2,2150-01-01 00:00:00,6.1",
        "2,2150-01-02 00:00:00,6.4", "3,2150-01-01 00:00:00,1.1", "3,2150-01-02 00:00:00,1.4",
        "4,2150-01-01 00:00:00,0.9", "4,2150-01-02 00:00:00,1.8",
    )  # fmt: skip
    assert stages(tmp_path, labs) == {"1": 0, "2": 3, "3": 1, "4": 2}


def test_eh_12_stages(shared: Path, tmp_path: Path) -> None:
    folder, expect = case(shared, "EH-12")
    assert stages(tmp_path, rows_of(folder / "labevents.csv")) == expect["stage"]


# EH-14: codes for "unknown" are no measurements.


def measured(tmp_path: Path, measurements: Rows) -> dict[str, float]:
    place = CaseWorkspace.of(tmp_path, mimic_tables("hosp.patients", "hosp.labevents"))
    place.import_rows(
        hosp__patients=people(*(row["person_id"] for row in measurements)),
        hosp__labevents=[
            {
                "labevent_id": str(at),
                "subject_id": row["person_id"],
                "itemid": "50852",
                "charttime": ADMITTED,
                "valuenum": row["value"],
                "valueuom": "%",
            }
            for at, row in enumerate(measurements, start=1)
        ],
    )
    place.label("""
predicates:
  hba1c: {table: hosp.labevents, code: {any: [50852]}, value: valuenum, unit: '%',
    value_min: 3, value_min_inclusive: true, value_max: 20, value_max_inclusive: true}
trigger: hba1c
index: {time: trigger}
value: "trigger.value"
""")
    return numbers(place.eligible())


def test_codes_for_unknown_are_no_answers(tmp_path: Path) -> None:
    """EH-14, its kind: what lies outside the plausible range, or is empty, has no answer."""
    measurements = rows("person_id,value", "1,5.5", "2,888", "3,-9", "4,", "5,20", "6,20.1")
    assert measured(tmp_path, measurements) == {"1": 5.5, "5": 20}


def test_eh_14_only_measurements_are_answers(shared: Path, tmp_path: Path) -> None:
    folder, expect = case(shared, "EH-14")
    found = measured(tmp_path, rows_of(folder / "measurement.csv"))
    assert found == expect["answers"]
    assert sum(abs(value - 7) for value in found.values()) / len(found) == pytest.approx(
        expect["mae_of_constant_7"]
    )
