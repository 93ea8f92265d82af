"""What happens to each made-up MIMIC-IV patient: hidden traits, admissions, and their times.

The hidden rule: each trait that a label asks for (kidney class, death, return, …) also shifts some of the
measurements before the prediction time, with noise. Traits are drawn independently of each other, in fixed
numbers. Leaves to others: every row (`mimic_hospital`, `mimic_labs`, `mimic_icu`, `mimic_drugs`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from medomni.studio.dummy.draws import Draws
from medomni.studio.dummy.mimic_kidney import steady_values

SEED = "medomni dummy mimic-iv 1"
PATIENTS = 240
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
# Trait -> how many of the 240 have each of its values.
_SHARES: dict[str, dict[str, int] | dict[int, int] | dict[bool, int]] = {
    "kidney": {0: 48, 1: 48, 2: 48, 3: 48, 4: 48},
    "injury": {0: 90, 1: 60, 2: 45, 3: 45},
    "liver": {0: 130, 1: 22, 2: 22, 3: 22, 4: 22, 5: 22},
    "infection": {"none": 130, "late": 80, "early": 30},
    "dies": {True: 65, False: 175},
    "returns": {True: 130, False: 110},
    "moves": {True: 110, False: 130},
    "dies_later": {True: 80, False: 160},
    "oddity": {
        "": 176, "child": 4, "very old": 6, "dialysed": 8, "comfort before": 6, "comfort after": 6,
        "merged": 6, "hospice": 4, "against advice": 4, "transferred out": 4, "planned unit": 6,
        "psychiatry": 4, "palliative": 6,
    },
}  # fmt: skip
_WARDS = ("Medicine", "Med/Surg", "Medicine/Cardiology", "Neurology", "Transplant", "Vascular")
_UNITS = (
    "Medical Intensive Care Unit (MICU)",
    "Surgical Intensive Care Unit (SICU)",
    "Cardiac Vascular Intensive Care Unit (CVICU)",
    "Trauma SICU (TSICU)",
    "Coronary Care Unit (CCU)",
)
_FIRST_TYPES = ("EW EMER.", "ELECTIVE", "URGENT", "SURGICAL SAME DAY ADMISSION", "DIRECT EMER.")


@dataclass(frozen=True, slots=True)
class Unit:
    """A stay in intensive care."""

    stay_id: int
    name: str
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Admission:
    """A hospital admission.

    Attributes:
        role: `observation`, `first`, `merged`, `ward` or `intensive` (always the last).
        severity: 0 to 9: how ill; decides how long it takes and some laboratory values.
    """

    role: str
    hadm_id: int
    kind: str
    start: datetime
    end: datetime
    ward: str
    severity: int
    leaves_to: str | None
    died: bool = False
    unit: Unit | None = None


@dataclass(frozen=True, slots=True)
class Patient:
    """A made-up patient: traits, admissions in the order of time, and a stream of draws."""

    number: int
    subject_id: int
    female: bool
    age: int
    kidney: int
    injury: int
    liver: int
    infection: str
    dies: bool
    returns: bool
    moves: bool
    dies_later: bool
    oddity: str
    creatinine: tuple[int, ...]
    admissions: tuple[Admission, ...]
    death: date | None
    draws: Draws

    def admission(self, role: str) -> Admission:
        """The admission with a role; every patient has `first`, `ward` and `intensive`."""
        return next(each for each in self.admissions if each.role == role)

    @property
    def last(self) -> Admission:
        """The last admission, which is the one with intensive care."""
        return self.admissions[-1]

    @property
    def anchor_year(self) -> int:
        """The year in which `age` holds."""
        return self.admission("first").start.year


def patients() -> list[Patient]:
    """All 240, always the same."""
    draws = Draws(SEED)
    traits = {
        name: draws.about(name).shuffled([value for value, count in shares.items() for _ in range(count)])
        for name, shares in _SHARES.items()
    }
    ids = draws.about("ids").shuffled(range(19_000_000, 19_000_000 + 4 * PATIENTS))
    return [
        _patient(number, ids[number], {name: values[number] for name, values in traits.items()})
        for number in range(PATIENTS)
    ]


def _patient(number: int, subject_id: int, traits: dict[str, object]) -> Patient:
    draws = Draws(SEED, "patient", number)
    female, age = draws.chance(48), draws.integer(32, 86)
    if traits["oddity"] in ("child", "very old"):
        # The dataset writes 91 for everybody above 89.
        age = 13 if traits["oddity"] == "child" else 91
    if traits["oddity"] == "dialysed":
        traits["kidney"] = 4
    kidney = int(str(traits["kidney"]))
    admissions = tuple(_admissions(number, traits, draws.about("admissions")))
    return Patient(
        number=number,
        subject_id=subject_id,
        female=female,
        age=age,
        creatinine=tuple(steady_values(kidney, age, female=female)),
        admissions=admissions,
        death=_death(admissions[-1], traits, draws.about("death")),
        draws=draws,
        **traits,  # type: ignore[arg-type]
    )


def _admissions(number: int, traits: dict[str, object], draws: Draws) -> list[Admission]:
    found = []
    first_start = datetime(2110 + draws.integer(0, 70), 1, 1) + draws.integer(0, 364) * DAY + _clock(draws)
    if draws.chance(12):
        start = first_start - 60 * DAY
        found.append(
            Admission(
                "observation", _hadm(number, 0), "EU OBSERVATION", start,
                start + 16 * HOUR + draws.integer(0, 36000) * timedelta(seconds=1),
                "Emergency Department Observation", 0, None,
            )
        )  # fmt: skip
    first = _first(number, first_start, traits, draws)
    found.append(first)
    if traits["oddity"] == "merged":
        start = first.end + draws.integer(6, 20) * HOUR
        severity = draws.integer(0, 9)
        end = start + _length(severity, draws)
        found.append(
            Admission("merged", _hadm(number, 2), "URGENT", start, end, first.ward, severity, "HOME")
        )
    ward = _ward(number, first.start + draws.integer(540, 640) * DAY + _clock(draws), traits, draws)
    found.append(ward)
    gap = draws.integer(3, 26) if traits["returns"] else draws.integer(60, 140)
    found.append(_intensive(number, ward.end + gap * DAY + draws.integer(0, 20) * HOUR, traits, draws))
    return found


def _first(number: int, start: datetime, traits: dict[str, object], draws: Draws) -> Admission:
    severity = draws.integer(0, 9)
    places = {"hospice": "HOSPICE", "against advice": "AGAINST ADVICE", "transferred out": "ACUTE HOSPITAL"}
    leaves_to = places.get(str(traits["oddity"])) or draws.choice(("HOME", "HOME HEALTH CARE", "REHAB"))
    end = start + _length(severity, draws)
    return Admission(
        "first",
        _hadm(number, 1),
        draws.choice(_FIRST_TYPES),
        start,
        end,
        draws.choice(_WARDS),
        severity,
        leaves_to,
    )


def _ward(number: int, start: datetime, traits: dict[str, object], draws: Draws) -> Admission:
    severity = draws.integer(0, 9)
    ward = "Psychiatry" if traits["oddity"] == "psychiatry" else draws.choice(_WARDS)
    end, unit = start + _length(severity, draws), None
    if traits["moves"]:
        # Short, so that this stay is no candidate for the labels that start some hours after its begin.
        moved = start + DAY + draws.integer(2 * 60, 68 * 60) * timedelta(minutes=1)
        unit = Unit(_stay(number, 1), draws.choice(_UNITS), moved, moved + draws.integer(8, 11) * HOUR)
        end = max(end, unit.end + DAY + draws.integer(0, 40) * HOUR)
    leaves_to = draws.choice(("HOME", "HOME HEALTH CARE", "SKILLED NURSING FACILITY"))
    return Admission("ward", _hadm(number, 3), "EW EMER.", start, end, ward, severity, leaves_to, unit=unit)


def _intensive(number: int, start: datetime, traits: dict[str, object], draws: Draws) -> Admission:
    severity, dies = draws.integer(0, 9), bool(traits["dies"])
    begin = start + draws.integer(2 * 60, 8 * 60) * timedelta(minutes=1)
    stay = 76 * HOUR + draws.integer(0, 72 * 60) * timedelta(minutes=1)
    end = begin + stay + (draws.integer(0, 4) * HOUR if dies else _length(severity, draws))
    unit = Unit(_stay(number, 2), draws.choice(_UNITS), begin, begin + stay)
    leaves_to = "DIED" if dies else draws.choice(("HOME", "SKILLED NURSING FACILITY", "REHAB"))
    return Admission(
        "intensive",
        _hadm(number, 4),
        "EW EMER.",
        start,
        end,
        draws.choice(_WARDS),
        severity,
        leaves_to,
        dies,
        unit,
    )


def _death(last: Admission, traits: dict[str, object], draws: Draws) -> date | None:
    if last.died:
        return last.end.date()
    if traits["dies_later"]:
        return (last.end + draws.integer(40, 330) * DAY).date()
    return None


def _length(severity: int, draws: Draws) -> timedelta:
    hours = 30 + 20 * severity + max(-6, draws.noise(28))
    return max(26, hours) * HOUR + draws.integer(0, 3599) * timedelta(seconds=1)


def _clock(draws: Draws) -> timedelta:
    return draws.integer(0, 86399) * timedelta(seconds=1)


def _hadm(number: int, place: int) -> int:
    # Not in the order of time: nothing may sort admissions by their ids.
    return 20_000_000 + (number * 5 + (0, 3, 1, 4, 2)[place]) * 7_919 % 5_000_000


def _stay(number: int, place: int) -> int:
    return 30_000_000 + (number * 2 + place) * 6_151 % 4_000_000
