"""Reads the MIMIC-IV demo's CSV files into small typed rows, with the standard library alone.

It leaves every clinical rule to the label modules. Laboratory and chart values are `decimal.Decimal`, made
from the text of the file; times are `datetime`; ids are `int`; codes stay text.
"""

from __future__ import annotations

import csv
import gzip
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import Path

FOLDERS = ("mimic-iv-demo-2.2", "mimic-iv-demo-derived")

MISSING_TABLES = ("hosp.emar", "hosp.emar_detail", "hosp.poe", "icu.inputevents", "hosp.d_icd_procedures")
"""Tables of MIMIC-IV that the shared copy of the demo does not have."""

EMPTY_FIELDS: Mapping[str, frozenset[str]] = {
    "hosp.labevents": frozenset(
        [
            "specimen_id",
            "order_provider_id",
            "storetime",
            "ref_range_lower",
            "ref_range_upper",
            "flag",
            "priority",
            "comments",
        ]
    ),
    "icu.chartevents": frozenset({"caregiver_id", "storetime", "warning"}),
    "hosp.microbiologyevents": frozenset({"quantity"}),
}
"""Columns of the tables read here that hold nothing in any row. Beyond them: labevents and chartevents have
no text values (52033, the specimen of a blood gas, is an empty row; 223758, code status, has no row)."""

DIALYSIS_ITEMS = frozenset({225441, 225802, 225803, 225805, 225809, 225955})
CONTINUOUS_DIALYSIS_ITEMS = frozenset({225802, 225803, 225809})
CREATININE = 50912

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One candidate event: `value` is exact (None = cannot be computed); a rule is true when it is passed."""

    subject_id: int
    key: int | str
    prediction_time: datetime
    value: int | Fraction | None
    rules: Mapping[str, bool]

    @property
    def eligible(self) -> bool:
        return self.value is not None and all(self.rules.values())


@dataclass(frozen=True, slots=True)
class Patient:
    subject_id: int
    gender: str
    anchor_age: int
    anchor_year: int
    dod: date | None

    def age_at(self, moment: datetime) -> int:
        return self.anchor_age + moment.year - self.anchor_year


@dataclass(frozen=True, slots=True)
class Admission:
    subject_id: int
    hadm_id: int
    admittime: datetime
    dischtime: datetime
    deathtime: datetime | None
    admission_type: str
    discharge_location: str
    hospital_expire_flag: int


@dataclass(frozen=True, slots=True)
class Stay:
    subject_id: int
    hadm_id: int
    stay_id: int
    first_careunit: str
    intime: datetime
    outtime: datetime


@dataclass(frozen=True, slots=True)
class Transfer:
    eventtype: str
    careunit: str
    intime: datetime
    outtime: datetime | None


@dataclass(frozen=True, slots=True)
class Measured:
    """A laboratory, chart or output row that has a number."""

    time: datetime
    row: int
    value: Decimal
    text: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    hadm_id: int
    code: str
    version: int


@dataclass(frozen=True, slots=True)
class Procedure:
    stay_id: int
    itemid: int
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Order:
    start: datetime
    drug_type: str
    drug: str
    route: str


@dataclass(frozen=True, slots=True)
class Culture:
    specimen: int
    day: date
    time: datetime | None


@dataclass(frozen=True, slots=True)
class Series:
    """Rows in order of (time, row number); windows are cut by bisection."""

    rows: tuple[Measured, ...]
    times: tuple[datetime, ...] = field(default=())

    @classmethod
    def of(cls, rows: Sequence[Measured]) -> Series:
        ordered = tuple(sorted(rows, key=lambda row: (row.time, row.row)))
        return cls(ordered, tuple(row.time for row in ordered))

    def closed(self, start: datetime, end: datetime) -> tuple[Measured, ...]:
        """Rows in [start, end]."""
        return self.rows[bisect_left(self.times, start) : bisect_right(self.times, end)]

    def after(self, start: datetime, end: datetime) -> tuple[Measured, ...]:
        """Rows in (start, end]."""
        return self.rows[bisect_right(self.times, start) : bisect_right(self.times, end)]

    def before(self, start: datetime, end: datetime) -> tuple[Measured, ...]:
        """Rows in [start, end)."""
        return self.rows[bisect_left(self.times, start) : bisect_left(self.times, end)]


NOTHING = Series(())


def time_of(text: str) -> datetime:
    return datetime.fromisoformat(text)


def time_or_none(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


class MimicTables:
    """The demo's tables, each read when it is first asked for."""

    def __init__(self, data: Path) -> None:
        self.data = data

    def path(self, table: str) -> Path:
        module, name = table.split(".")
        for folder in FOLDERS:
            path = self.data / folder / module / f"{name}.csv.gz"
            if path.is_file():
                return path
        raise FileNotFoundError(table)

    def raw(self, table: str) -> Iterator[dict[str, str]]:
        with gzip.open(self.path(table), "rt", encoding="utf-8", newline="") as stream:
            yield from csv.DictReader(stream)

    def empty_fields(self, table: str) -> frozenset[str]:
        filled: set[str] = set()
        names: set[str] = set()
        for row in self.raw(table):
            names |= row.keys()
            filled |= {name for name, text in row.items() if text}
        return frozenset(names - filled)

    @cached_property
    def patients(self) -> dict[int, Patient]:
        return {
            int(row["subject_id"]): Patient(
                int(row["subject_id"]),
                row["gender"],
                int(row["anchor_age"]),
                int(row["anchor_year"]),
                date.fromisoformat(row["dod"][:10]) if row["dod"] else None,
            )
            for row in self.raw("hosp.patients")
        }

    @cached_property
    def admissions(self) -> dict[int, Admission]:
        return {
            int(row["hadm_id"]): Admission(
                int(row["subject_id"]),
                int(row["hadm_id"]),
                time_of(row["admittime"]),
                time_of(row["dischtime"]),
                time_or_none(row["deathtime"]),
                row["admission_type"],
                row["discharge_location"],
                int(row["hospital_expire_flag"]),
            )
            for row in self.raw("hosp.admissions")
        }

    @cached_property
    def stays(self) -> list[Stay]:
        return [
            Stay(
                int(row["subject_id"]),
                int(row["hadm_id"]),
                int(row["stay_id"]),
                row["first_careunit"],
                time_of(row["intime"]),
                time_of(row["outtime"]),
            )
            for row in self.raw("icu.icustays")
        ]

    @cached_property
    def stays_of(self) -> dict[int, list[Stay]]:
        found: dict[int, list[Stay]] = defaultdict(list)
        for stay in self.stays:
            found[stay.subject_id].append(stay)
        return found

    @cached_property
    def first_stays(self) -> frozenset[int]:
        """stay_id of the earliest ICU stay of each admission."""
        first: dict[int, Stay] = {}
        for stay in sorted(self.stays, key=lambda stay: (stay.intime, stay.stay_id)):
            first.setdefault(stay.hadm_id, stay)
        return frozenset(stay.stay_id for stay in first.values())

    @cached_property
    def transfers_of(self) -> dict[int, list[Transfer]]:
        """Transfers by hadm_id, in order of intime."""
        found: dict[int, list[Transfer]] = defaultdict(list)
        for row in self.raw("hosp.transfers"):
            if row["hadm_id"]:
                found[int(row["hadm_id"])].append(
                    Transfer(
                        row["eventtype"],
                        row["careunit"],
                        time_of(row["intime"]),
                        time_or_none(row["outtime"]),
                    )
                )
        return {hadm_id: sorted(rows, key=lambda row: row.intime) for hadm_id, rows in found.items()}

    @cached_property
    def diagnoses_of(self) -> dict[int, list[Diagnosis]]:
        found: dict[int, list[Diagnosis]] = defaultdict(list)
        for row in self.raw("hosp.diagnoses_icd"):
            found[int(row["subject_id"])].append(
                Diagnosis(int(row["hadm_id"]), row["icd_code"].strip(), int(row["icd_version"]))
            )
        return found

    @cached_property
    def _labs(self) -> dict[tuple[int, int], Series]:
        found: dict[tuple[int, int], list[Measured]] = defaultdict(list)
        for row in self.raw("hosp.labevents"):
            if row["valuenum"]:
                found[int(row["subject_id"]), int(row["itemid"])].append(
                    Measured(
                        time_of(row["charttime"]),
                        int(row["labevent_id"]),
                        Decimal(row["valuenum"]),
                        row["value"],
                    )
                )
        return {key: Series.of(rows) for key, rows in found.items()}

    def labs(self, subject_id: int, itemid: int) -> Series:
        return self._labs.get((subject_id, itemid), NOTHING)

    @cached_property
    def _chart(self) -> tuple[dict[tuple[int, int], Series], dict[int, datetime]]:
        found: dict[tuple[int, int], list[Measured]] = defaultdict(list)
        first: dict[int, datetime] = {}
        with gzip.open(self.path("icu.chartevents"), "rt", encoding="utf-8", newline="") as stream:
            reader = csv.reader(stream)
            at = {name: place for place, name in enumerate(next(reader))}
            hadm, stay, when, item = at["hadm_id"], at["stay_id"], at["charttime"], at["itemid"]
            number, text = at["valuenum"], at["value"]
            for place, row in enumerate(reader):
                time = time_of(row[when])
                if row[hadm]:
                    hadm_id = int(row[hadm])
                    first[hadm_id] = min(first.get(hadm_id, time), time)
                if row[stay] and row[number]:
                    found[int(row[stay]), int(row[item])].append(
                        Measured(time, place, Decimal(row[number]), row[text])
                    )
        return {key: Series.of(rows) for key, rows in found.items()}, first

    def chart(self, stay_id: int, itemid: int) -> Series:
        return self._chart[0].get((stay_id, itemid), NOTHING)

    @property
    def first_chart_time(self) -> dict[int, datetime]:
        """The earliest chartevents row of each hadm_id."""
        return self._chart[1]

    @cached_property
    def _outputs(self) -> dict[tuple[int, int], Series]:
        found: dict[tuple[int, int], list[Measured]] = defaultdict(list)
        for place, row in enumerate(self.raw("icu.outputevents")):
            if row["value"]:
                found[int(row["stay_id"]), int(row["itemid"])].append(
                    Measured(time_of(row["charttime"]), place, Decimal(row["value"]), row["value"])
                )
        return {key: Series.of(rows) for key, rows in found.items()}

    def outputs(self, stay_id: int, itemid: int) -> Series:
        return self._outputs.get((stay_id, itemid), NOTHING)

    @cached_property
    def procedures_of(self) -> dict[int, list[Procedure]]:
        found: dict[int, list[Procedure]] = defaultdict(list)
        for row in self.raw("icu.procedureevents"):
            found[int(row["subject_id"])].append(
                Procedure(
                    int(row["stay_id"]),
                    int(row["itemid"]),
                    time_of(row["starttime"]),
                    time_of(row["endtime"]),
                )
            )
        return found

    def dialysis(self, subject_id: int) -> list[Procedure]:
        rows = self.procedures_of.get(subject_id, [])
        return [row for row in rows if row.itemid in DIALYSIS_ITEMS]

    @cached_property
    def orders_of(self) -> dict[int, list[Order]]:
        """Prescriptions by hadm_id."""
        found: dict[int, list[Order]] = defaultdict(list)
        for row in self.raw("hosp.prescriptions"):
            if row["starttime"]:
                found[int(row["hadm_id"])].append(
                    Order(
                        time_of(row["starttime"]),
                        row["drug_type"],
                        row["drug"],
                        row["route"],
                    )
                )
        return found

    @cached_property
    def cultures_of(self) -> dict[int, list[Culture]]:
        """One entry per micro_specimen_id, by subject_id."""
        found: dict[int, dict[int, Culture]] = defaultdict(dict)
        for row in self.raw("hosp.microbiologyevents"):
            specimen = int(row["micro_specimen_id"])
            culture = Culture(
                specimen, date.fromisoformat(row["chartdate"][:10]), time_or_none(row["charttime"])
            )
            known = found[int(row["subject_id"])].setdefault(specimen, culture)
            if known != culture:
                raise ValueError(f"specimen {specimen} has two draw times")
        return {subject_id: list(cultures.values()) for subject_id, cultures in found.items()}
