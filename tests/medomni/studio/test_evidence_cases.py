"""The known failures of evidence, each with rows made here and with the shared case's files where they are.

EH-18: the time of drawing used instead of the time of the result. EH-19: a day taken for its midnight.
EH-21: a window of observation that depends on the answer.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from gathering_builders import at, cells, evidence, guarded, shown_bytes, tiny
from recipe_builders import TinyRelease, patient

from medomni.studio.data.column_types import ColumnType
from medomni.studio.data.definitions import AvailableFrom, Table
from medomni.studio.definitions.families import Families, Part
from medomni.studio.evidence.gather import gather
from medomni.studio.evidence.model import Evidence, Moment
from medomni.studio.recipe.catalog import Catalog

type Row = Mapping[str, Any]
ITEMS = {"lactate": 50813, "troponin": 51003, "lab": 51006}


def results(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Rows of a case as rows of `hosp.labevents`; times of storing only where the case has them."""
    return [
        {
            "labevent_id": number,
            "subject_id": int(row["subject_id"]),
            "itemid": ITEMS[row["item"]],
            "charttime": row.get("charttime") or row["time"],
            "storetime": row.get("storetime") or None,
            "value": row["value"],
            "valuenum": row["value"],
        }
        for number, row in enumerate(rows)
    ]


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def moment(atom: Mapping[str, str]) -> Moment:
    return at(atom["prediction_time"], subject=int(atom["subject_id"]))


def case(shared: Path, name: str) -> Path:
    folder = shared / "cases" / name
    if not folder.is_dir():
        pytest.skip(f"{name} is not there")
    return folder


# EH-18.


def eh18(folder: Path, rows: Sequence[Row], who: Moment) -> Evidence:
    store = tiny(hosp__patients=[patient(who.subject)], hosp__labevents=results(rows))
    return evidence(guarded(folder), store, who)[0]


def test_a_result_that_was_drawn_before_and_stored_after_is_hidden(tmp_path: Path) -> None:
    rows = [
        {
            "subject_id": 5,
            "item": "lactate",
            "charttime": "2140-03-01 07:00:00",
            "storetime": drawn,
            "value": v,
        }
        for drawn, v in (("2140-03-01 07:30:00", "2.5"), ("2140-03-01 08:00:01", "7.5"), ("", "4.5"))
    ]
    found = eh18(tmp_path, rows, at("2140-03-01 08:00:00", subject=5))
    assert cells(found, "hosp.labevents", "valuenum") == ["2.5"]


def test_the_shared_case_of_results_is_answered(shared: Path, tmp_path: Path) -> None:
    folder = case(shared, "EH-18")
    expect = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["expect"]
    atom = json.loads((folder / "atom.json").read_text(encoding="utf-8"))
    found = eh18(tmp_path, read_rows(folder / "labevents.csv"), moment(atom))
    names = {number: name for name, number in ITEMS.items()}
    kept = [
        [names[int(item)], float(value)]
        for item, value in cells(found, "hosp.labevents", "itemid", "valuenum")
    ]
    assert kept == expect["evidence"]
    assert str(expect["never"]["evidence_contains"]) not in shown_bytes([found]).decode()


# EH-19.

NOTES = Table(
    name="note.notes",
    file="notes",
    required=frozenset(),
    columns={
        "subject_id": ColumnType("bigint"),
        "name": ColumnType("text"),
        "category": ColumnType("text"),
        "chartdate": ColumnType("timestamp"),
        "charttime": ColumnType("timestamp"),
        "text": ColumnType("text"),
    },
    sort={"by_patient": ("subject_id",)},
    patient="subject_id",
    time="charttime",
    available=(AvailableFrom("charttime"), AvailableFrom("chartdate", day_end=True)),
)


def eh19(folder: Path, rows: Sequence[Row], who: Moment) -> list[Any]:
    bound = guarded(folder)
    tables = {"hosp.patients": bound.scope.catalog.patients, NOTES.name: NOTES}
    bound.scope.catalog = Catalog(tables)
    made = [
        {
            "subject_id": int(row["subject_id"]),
            "name": row["note_id"],
            **{key: row[key] or None for key in ("category", "chartdate", "charttime", "text")},
        }
        for row in rows
    ]
    store = TinyRelease({"hosp.patients": [patient(who.subject)], NOTES.name: made}, tables)
    parts = (Part("demographics", "hosp.patients"), Part("notes", NOTES.name))
    (found,) = gather(store, [bound], [who], families=Families(parts, ()))
    return cells(found, NOTES.name, "name")


def test_a_note_that_knows_its_day_alone_is_not_of_that_mornings_past(tmp_path: Path) -> None:
    rows = [
        {"subject_id": 5, "note_id": name, "category": "x", "chartdate": day, "charttime": time, "text": name}
        for name, day, time in (
            ("same day", "2140-03-02 00:00:00", ""),
            ("day before", "2140-03-01 00:00:00", ""),
            ("this morning", "2140-03-02 00:00:00", "2140-03-02 05:00:00"),
        )
    ]
    kept = eh19(tmp_path, rows, at("2140-03-02 06:00:00", subject=5))
    assert sorted(kept) == ["day before", "this morning"]


def test_the_shared_case_of_days_is_answered(shared: Path, tmp_path: Path) -> None:
    folder = case(shared, "EH-19")
    expect = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["expect"]
    atom = json.loads((folder / "atom.json").read_text(encoding="utf-8"))
    kept = eh19(tmp_path, read_rows(folder / "notes.csv"), moment(atom))
    assert sorted(kept) == sorted(expect["evidence_notes"])


# EH-21.


def eh21(
    folder: Path, rows: Sequence[Row], died: Mapping[int, bool], who: Sequence[Moment]
) -> list[Evidence]:
    people = [{**patient(each.subject), "dod": "2160-01-01" if died[each.subject] else None} for each in who]
    stays = [
        {
            "subject_id": each.subject,
            "hadm_id": 100 + each.subject,
            "admittime": str(min(row["time"] for row in rows)),
            "dischtime": "2160-01-01 00:00:00",
            "deathtime": "2160-01-01 00:00:00" if died[each.subject] else None,
            "discharge_location": "DIED" if died[each.subject] else "HOME",
            "hospital_expire_flag": int(died[each.subject]),
        }
        for each in who
    ]
    store = tiny(hosp__patients=people, hosp__admissions=stays, hosp__labevents=results(rows))
    return evidence(guarded(folder), store, *who)


def test_two_patients_with_the_same_past_look_the_same_whoever_died(tmp_path: Path) -> None:
    rows = [
        {"subject_id": each, "item": "lab", "time": f"2140-03-0{day} 00:00:00", "value": str(day)}
        for each in (5, 6)
        for day in (1, 2, 3, 4)
    ]
    who = [at("2140-03-02 12:00:00", subject=each) for each in (5, 6)]
    one, other = eh21(tmp_path, rows, {5: True, 6: False}, who)
    assert shown_bytes([one]) == shown_bytes([other])
    assert len(cells(one, "hosp.labevents", "valuenum")) == 2


def test_the_shared_case_of_windows_is_answered(shared: Path, tmp_path: Path) -> None:
    folder = case(shared, "EH-21")
    expect = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["expect"]
    atoms = json.loads((folder / "atoms.json").read_text(encoding="utf-8"))
    died = {int(row["subject_id"]): row["died"] == "1" for row in read_rows(folder / "outcome.csv")}
    found = eh21(tmp_path, read_rows(folder / "events.csv"), died, [moment(each) for each in atoms])
    assert shown_bytes([found[0]]) == shown_bytes([found[1]])
    for each in found:
        assert len(cells(each, "hosp.labevents", "valuenum")) == expect["evidence_rows_each"]
