"""Made-up suspected infections: when a culture was taken and an antibiotic given, and the culture's rows.

Only together do they make a suspicion: patients without an infection have at most one of them.

Leaves to others: the antibiotic's rows (`mimic_drugs`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta

from medomni.studio.dummy.mimic_plan import DAY, HOUR, Patient
from medomni.studio.dummy.tables import Tables

_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What was done in the unit.

    Attributes:
        culture: When it was taken; None if none was.
        only_day: Whether only the culture's day was written down.
        antibiotic: When it was started; None if none was.
    """

    culture: datetime | None
    only_day: bool
    antibiotic: datetime | None


def suspicion(patient: Patient) -> Suspicion:
    """What was done for a patient in the unit of the last admission."""
    draws = patient.draws.about("infection")
    unit = patient.last.unit
    if unit is None:
        return Suspicion(None, only_day=False, antibiotic=None)
    if patient.infection == "none":
        kind = draws.choice(("nothing", "nothing", "culture", "culture", "antibiotic"))
        taken = unit.start + draws.integer(5, 50) * HOUR if kind == "culture" else None
        given = unit.start + 4 * HOUR if kind == "antibiotic" else None
        return Suspicion(taken, kind == "culture" and draws.chance(50), given)
    if patient.infection == "early":
        taken = unit.start + draws.integer(2 * 60, 5 * 60) * _MINUTE
    else:
        taken = unit.start + 12 * HOUR + draws.integer(8 * 60, 40 * 60) * _MINUTE
    return Suspicion(taken, only_day=False, antibiotic=taken + draws.integer(60, 6 * 60) * _MINUTE)


def add_cultures(tables: Tables, patient: Patient) -> None:
    """The culture's rows: one test, with a germ and an antibiogram where there is an infection."""
    found = suspicion(patient)
    if found.culture is None:
        return
    day = datetime.combine(found.culture.date(), time())
    grows = patient.infection != "none"
    for number, drug in enumerate(("CEFTRIAXONE", "VANCOMYCIN") if grows else (None,)):
        tables.add(
            "hosp/microbiologyevents",
            microevent_id=80_000_000 + len(tables.rows["hosp/microbiologyevents"]),
            subject_id=patient.subject_id,
            hadm_id=patient.last.hadm_id,
            micro_specimen_id=81_000_000 + patient.number,
            chartdate=day,
            charttime=None if found.only_day else found.culture,
            spec_itemid=70_012,
            spec_type_desc="BLOOD CULTURE",
            test_seq=1,
            storedate=day + 3 * DAY,
            storetime=day + 3 * DAY + 10 * HOUR,
            test_itemid=90_201,
            test_name="Blood Culture, Routine",
            org_itemid=80_002 if grows else None,
            org_name="ESCHERICHIA COLI" if grows else None,
            isolate_num=1 if grows else None,
            ab_itemid=90_016 + number if drug else None,
            ab_name=drug,
            interpretation=("S", "R")[number] if drug else None,
            comments=None if grows else "NO GROWTH.  ",
        )
