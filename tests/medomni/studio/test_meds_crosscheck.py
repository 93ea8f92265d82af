"""The demo's CSV files against the same demo as a stream of MEDS events: counts, times and values.

The laboratory rows were rebuilt from these events, admissions and stays were not: those come from the
official files, so that the two sources meet here for the first time.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

import pytest
from independent.mimic_tables import MimicTables

duckdb = pytest.importorskip("duckdb", reason="reading Parquet needs the extra `studio`")

Event = tuple[int, datetime, str]


@pytest.fixture(scope="module")
def tables(shared: Path) -> MimicTables:
    return MimicTables(shared / "data")


@pytest.fixture(scope="module")
def events(shared: Path) -> Path:
    return shared / "data" / "mimic-iv-demo-meds" / "mimic_iv_demo_meds_events.parquet"


def stream(events: Path, prefix: str) -> list[tuple[int, datetime, str, str | None]]:
    """(subject_id, time, code, value as its shortest text) of the events whose code begins so."""
    with duckdb.connect() as connection:
        rows = connection.execute(
            "select subject_id, time, code, value::varchar from read_parquet(?) where starts_with(code, ?)",
            [str(events), prefix],
        ).fetchall()
    return list(rows)


def without_value(rows: Iterable[tuple[int, datetime, str, str | None]]) -> Counter[Event]:
    return Counter((subject, time, code) for subject, time, code, _ in rows)


def single(text: str | None) -> float | None:
    """The number in single precision, in which the events hold it."""
    return None if not text else float(struct.unpack("f", struct.pack("f", float(text)))[0])


def known(text: str) -> str:
    return text or "UNK"


def test_every_laboratory_row_has_its_event_with_the_same_value_and_unit(
    tables: MimicTables, events: Path
) -> None:
    ours = Counter(
        (
            int(row["subject_id"]),
            datetime.fromisoformat(row["charttime"]),
            f"LAB//{row['itemid']}//{known(row['valueuom'])}",
            single(row["valuenum"]),
        )
        for row in tables.raw("hosp.labevents")
    )
    theirs = Counter(
        (subject, time, code, single(value)) for subject, time, code, value in stream(events, "LAB//5")
    )
    assert ours.total() == 107_549
    assert ours == theirs


@pytest.mark.parametrize(("item", "rows", "people"), [(50912, 2999, 100), (50852, 117, 44), (50813, 758, 83)])
def test_an_item_has_as_many_rows_and_people_in_both(
    item: int, rows: int, people: int, tables: MimicTables, events: Path
) -> None:
    ours = [row["subject_id"] for row in tables.raw("hosp.labevents") if row["itemid"] == str(item)]
    theirs = [subject for subject, *_ in stream(events, f"LAB//{item}//")]
    assert (len(ours), len(set(ours))) == (len(theirs), len(set(theirs))) == (rows, people)


def test_every_admission_begins_and_ends_at_the_same_moment_in_both(
    tables: MimicTables, events: Path
) -> None:
    begins: Counter[Event] = Counter()
    ends: Counter[Event] = Counter()
    for row in tables.raw("hosp.admissions"):
        subject = int(row["subject_id"])
        kind = f"{row['admission_type']}//{known(row['admission_location'])}"
        begins[subject, datetime.fromisoformat(row["admittime"]), f"HOSPITAL_ADMISSION//{kind}"] += 1
        place = known(row["discharge_location"])
        ends[subject, datetime.fromisoformat(row["dischtime"]), f"HOSPITAL_DISCHARGE//{place}"] += 1
    assert begins.total() == 275
    assert begins == without_value(stream(events, "HOSPITAL_ADMISSION//"))
    assert ends == without_value(stream(events, "HOSPITAL_DISCHARGE//"))


def test_every_icu_stay_begins_and_ends_at_the_same_moment_in_both(tables: MimicTables, events: Path) -> None:
    begins: Counter[Event] = Counter()
    ends: Counter[Event] = Counter()
    for row in tables.raw("icu.icustays"):
        subject = int(row["subject_id"])
        begins[subject, datetime.fromisoformat(row["intime"]), f"ICU_ADMISSION//{row['first_careunit']}"] += 1
        ends[subject, datetime.fromisoformat(row["outtime"]), f"ICU_DISCHARGE//{row['last_careunit']}"] += 1
    assert begins.total() == 140
    assert begins == without_value(stream(events, "ICU_ADMISSION//"))
    assert ends == without_value(stream(events, "ICU_DISCHARGE//"))


def test_diagnoses_transfers_and_deaths_are_as_many_in_both(tables: MimicTables, events: Path) -> None:
    assert len(list(tables.raw("hosp.diagnoses_icd"))) == len(stream(events, "DIAGNOSIS//")) == 4506
    assert len(list(tables.raw("hosp.transfers"))) == len(stream(events, "TRANSFER_TO//")) == 1190
    dead = {subject for subject, *_ in stream(events, "MEDS_DEATH")}
    assert dead == {patient.subject_id for patient in tables.patients.values() if patient.dod}
    assert len(dead) == 31
