"""The open MIMIC-IV demo, imported as a user would: counts, types, and the facts that are known of it."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

duckdb = pytest.importorskip("duckdb", reason="importing needs the extra `studio`")

from medomni.core.workspace import load_workspace  # noqa: E402
from medomni.studio.data.importer import import_release  # noqa: E402
from medomni.studio.data.store import Store, open_in  # noqa: E402
from medomni.studio.data.verification import verify  # noqa: E402


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, shared: Path, repository: Path) -> Store:
    root = tmp_path_factory.mktemp("demo")
    (root / "medomni.toml").write_text('release = "0.3.0"\n', encoding="utf-8")
    content = root / "studio" / "datasets" / "mimic-iv"
    (content / "recipes").mkdir(parents=True)
    for name in ("dataset.yaml", "recipes/tables.yaml"):
        shutil.copy(repository / "studio" / "datasets" / "mimic-iv" / name, content / name)
    place = load_workspace(root)
    folders = [shared / "data" / name for name in ("mimic-iv-demo-2.2", "mimic-iv-demo-derived")]
    done = import_release(place, "mimic-iv", folders)
    assert done.record.release == "mimic-iv/demo-2.2"
    assert verify(place, "mimic-iv/demo-2.2") == []
    return open_in(place, "mimic-iv/demo-2.2")


@pytest.fixture(scope="module")
def database(store: Store) -> Iterator[Any]:
    with contextlib.closing(store.connect(threads=2)) as made:
        yield made


def all_of(database: Any, query: str, *values: object) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = database.execute(query, list(values)).fetchall()
    return found


def test_every_table_has_as_many_rows_as_its_file(store: Store, shared: Path) -> None:
    import csv
    import gzip

    for folder in ("mimic-iv-demo-2.2", "mimic-iv-demo-derived"):
        for path in sorted((shared / "data" / folder).glob("*/*.csv.gz")):
            name = f"{path.parent.name}.{path.name.removesuffix('.csv.gz')}"
            with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
                assert store.table(name).n_rows == sum(1 for _ in csv.reader(stream)) - 1, name


def test_tables_that_the_copy_lacks_are_named(store: Store) -> None:
    assert store.record.absent == (
        "hosp.d_icd_procedures", "hosp.emar", "hosp.emar_detail", "hosp.poe", "icu.inputevents",
    )  # fmt: skip
    assert store.record.uncounted == ()


def test_where_the_time_of_storing_is_unknown_the_record_says_what_took_its_place(store: Store) -> None:
    labs, charted = store.table("hosp.labevents"), store.table("icu.chartevents")
    assert labs.availability == (("storetime", 0), ("charttime", 107_549), ("none of them", 0))
    assert "storetime" in labs.empty_columns & charted.empty_columns
    assert {"flag", "comments"} <= labs.empty_columns
    outputs = store.table("icu.outputevents").availability
    assert dict(outputs) == {"storetime": 9_362, "charttime": 0, "none of them": 0}
    cultures = dict(store.table("hosp.microbiologyevents").availability)
    assert cultures["charttime"] == 14
    assert cultures["end of the day of chartdate"] == 2


def test_known_facts_of_the_demo_hold(database: Any) -> None:
    assert all_of(database, 'SELECT gender, count(*) FROM "hosp.patients" GROUP BY 1 ORDER BY 1') == [
        ("F", 43), ("M", 57),
    ]  # fmt: skip
    flags = 'SELECT count(*), sum(hospital_expire_flag) FROM "hosp.admissions"'
    assert all_of(database, flags) == [(275, 15)]
    assert all_of(database, 'SELECT count(*) FROM "icu.icustays"') == [(140,)]
    creatinine = 'SELECT count(*), count(DISTINCT subject_id) FROM "hosp.labevents" WHERE itemid = 50912'
    assert all_of(database, creatinine) == [(2_999, 100)]
    codes = "SELECT count(*) FROM \"hosp.diagnoses_icd\" WHERE icd_code LIKE '0%'"
    assert all_of(database, codes)[0][0] > 0
    milliseconds = 'SELECT count(*) FROM "icu.procedureevents" WHERE storetime IS NULL'
    assert all_of(database, milliseconds) == [(242,)]


def test_results_of_blood_are_those_of_the_event_stream(database: Any, shared: Path) -> None:
    events = str(shared / "data" / "mimic-iv-demo-meds" / "mimic_iv_demo_meds_events.parquet")
    ours = 'SELECT subject_id, itemid, charttime, CAST(valuenum AS FLOAT) FROM "hosp.labevents"'
    # Bedside items have numbers from 220,000 on.
    theirs = """SELECT subject_id, CAST(split_part(code, '//', 2) AS INTEGER) AS item, time, value
                FROM read_parquet(?) WHERE starts_with(code, 'LAB//') AND item < 200000"""
    counts = f"SELECT count(*), count(value) FROM ({theirs})"
    assert all_of(database, counts, events) == [(107_549, 95_132)]
    assert all_of(database, f"({ours}) EXCEPT ALL ({theirs})", events) == []


def test_admissions_are_those_of_the_event_stream(database: Any, shared: Path) -> None:
    events = str(shared / "data" / "mimic-iv-demo-meds" / "mimic_iv_demo_meds_events.parquet")
    ours = 'SELECT subject_id, admittime FROM "hosp.admissions"'
    theirs = "SELECT subject_id, time FROM read_parquet(?) WHERE starts_with(code, 'HOSPITAL_ADMISSION//')"
    assert all_of(database, f"({ours}) EXCEPT ALL ({theirs})", events) == []
    assert all_of(database, f"SELECT count(*) FROM ({theirs})", events) == [(275,)]


def test_both_orders_hold_the_same_rows_in_their_order(store: Store, database: Any) -> None:
    for name in ("hosp.labevents", "icu.chartevents"):
        first, second = f'"{name}@by_item"', f'"{name}@by_patient"'
        assert all_of(database, f"(FROM {first} EXCEPT ALL FROM {second})") == []
        for view, keys in ((first, "itemid, subject_id, charttime"), (second, "subject_id, charttime")):
            found = all_of(database, f"SELECT {keys} FROM {view}")
            assert found == sorted(found), view
        assert all_of(database, f'SELECT count(*) FROM "{name}"') == [(store.table(name).n_rows,)]
