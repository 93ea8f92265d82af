"""Label `unplanned_readmit_30d`: an unplanned return within 30 days. One candidate per admission.

Admissions less than a day apart are one episode; every member of it has the episode's t0 and value.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime

from .clinical import adult_at, within
from .mimic_tables import DAY, Admission, Candidate, MimicTables

RULES = {
    "adult": "age at admission is 18 or more",
    "discharge_location": "the episode did not end in hospice, a hospital or against advice (empty passes)",
    "last_discharge_of_merged_episode": "the admission is the one whose discharge ends its episode",
    "no_death_without_readmission": "not (dod - date(t0) <= 30 days and label 0)",
    "not_observation_only": "the episode's last admission is not a pure observation stay",
    "survived": "hospital_expire_flag of the episode's last admission is 0",
}
NOT_APPLIED: tuple[str, ...] = ()

UNPLANNED = frozenset({"EW EMER.", "DIRECT EMER.", "URGENT", "OBSERVATION ADMIT"})
OBSERVATION = frozenset({"EU OBSERVATION", "AMBULATORY OBSERVATION", "DIRECT OBSERVATION"})
LEFT_OUT = frozenset({"HOSPICE", "ACUTE HOSPITAL", "AGAINST ADVICE"})


@dataclass(slots=True)
class Episode:
    members: list[Admission] = field(default_factory=list)

    @property
    def first(self) -> Admission:
        return self.members[0]

    @property
    def last(self) -> Admission:
        return max(self.members, key=lambda member: (member.dischtime, member.admittime))

    @property
    def end(self) -> datetime:
        return self.last.dischtime


def episodes(admissions: list[Admission]) -> list[Episode]:
    found: list[Episode] = []
    for admission in sorted(admissions, key=lambda row: (row.admittime, row.hadm_id)):
        if not found or admission.admittime - max(episode.end for episode in found) >= DAY:
            found.append(Episode())
        found[-1].members.append(admission)
    return found


def of_patient(tables: MimicTables, subject_id: int, admissions: list[Admission]) -> list[Candidate]:
    found = []
    merged = episodes(admissions)
    for place, episode in enumerate(merged):
        t0 = episode.end
        value = int(
            any(
                within(t0, later.first.admittime, 30 * DAY) and later.first.admission_type in UNPLANNED
                for later in merged[place + 1 :]
            )
        )
        dod = tables.patients[subject_id].dod
        died = dod is not None and (dod - t0.date()).days <= 30
        for member in episode.members:
            rules = {
                "adult": adult_at(tables, subject_id, member.admittime),
                "discharge_location": episode.last.discharge_location not in LEFT_OUT,
                "last_discharge_of_merged_episode": member is episode.last,
                "no_death_without_readmission": not (died and value == 0),
                "not_observation_only": episode.last.admission_type not in OBSERVATION,
                "survived": episode.last.hospital_expire_flag == 0,
            }
            found.append(Candidate(subject_id, member.hadm_id, t0, value, rules))
    return found


def candidates(tables: MimicTables) -> list[Candidate]:
    by_patient: dict[int, list[Admission]] = defaultdict(list)
    for admission in tables.admissions.values():
        by_patient[admission.subject_id].append(admission)
    return [row for subject_id, rows in by_patient.items() for row in of_patient(tables, subject_id, rows)]
