"""A pair and an atom with made-up evidence, ready to be rendered, and ways to change them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from medomni.core.names import Pair, atom_name
from medomni.studio.content.model import BuiltAtom, BuiltPair, BuiltTarget
from medomni.studio.definitions.arms import Arm, Variant
from medomni.studio.definitions.templates import Cohort, Target, Template
from medomni.studio.evidence.model import Column, Evidence, EvidenceTable, Moment
from medomni.studio.record.choice import choose

PAIR = Pair("mimic-iv_ckd-staging", "dummy")
PATIENT = "10004235"
FAMILIES = ("demographics", "labs_chemistry", "labs_urine_other", "omr")
NO_PERCEPTION = Arm("no-perception", 1)
ENCODERS = Arm("encoders", 1, perception=True)
LADDER = Arm(
    "modality-ladder",
    1,
    variants={
        "r1": Variant("r1", ("demographics", "omr"), False),
        "r2": Variant("r2", ("demographics", "omr", "labs_chemistry"), True),
    },
)
STAGE = BuiltTarget(
    name="ckd_stage",
    metric="qwk",
    label="ckd_g_stage",
    label_version=1,
    kind="ordinal",
    classes=("eGFR>=60", "45-59", "30-44", "15-29", "<15"),
    range=None,
    unit="",
    decimals=None,
    question="Which class?",
)
RISK = replace(
    STAGE, name="risk", metric="auc", kind="binary", classes=("no", "yes"), question="Probability of death?"
)
DAYS = replace(
    STAGE, name="days", metric="mae", kind="number", classes=(), range=("0", "30"), unit="d", question="Days?"
)


def template(**changes: Any) -> Template:
    """A template; `environment` may hold only what differs."""
    limits = {"cpus": 2, "memory_mb": 1024, "internet": False}
    limits |= {"agent_timeout_sec": 600, "verifier_timeout_sec": 120, **changes.pop("environment", {})}
    made = Template(
        name=PAIR.template,
        dataset="mimic-iv",
        authors=(("MedOmni team", "medomni"),),
        targets=(Target("ckd_stage", "ckd_g_stage", "qwk"),),
        tables=(),
        families=(),
        exclude=(),
        statement="Judge how well the kidneys filter.",
        instruction="You stand just before a blood draw.",
        environment=limits,
        submission_path="/workspace/answer.json",
    )
    return replace(made, **changes)


def pair(*targets: BuiltTarget, **changes: Any) -> BuiltPair:
    """A pair with these targets, or one ordinal target; `changes` go into its template."""
    return BuiltPair(
        pair=PAIR,
        version=1,
        template=template(**changes),
        cohort=Cohort("dummy", 1, "mimic-iv/dummy-1", "subject_id", 20),
        targets=targets or (STAGE,),
        release="mimic-iv/dummy-1",
        release_class="dummy",
        access="generated",
        licence="CC0-1.0",
        terms=(),
        release_token="medomni/0.3.0",
    )


def table(
    name: str, columns: Sequence[str], rows: Sequence[tuple[str | None, ...]], families: Sequence[str]
) -> EvidenceTable:
    """A table of evidence."""
    return EvidenceTable(name, tuple(Column(c, c) for c in columns), tuple(rows), tuple(families))


LABS = table(
    "hosp.labevents",
    ("itemid", "label", "charttime_h", "valuenum", "valueuom"),
    [
        ("50983", "Sodium", "-48", "140", "mEq/L"),
        ("51478", "Glucose, Urine", "-30", None, "mg/dL"),
        ("50983", "Sodium", "-24", "138", "mEq/L"),
        ("50971", "Potassium", "-2.5", "4.1", "mEq/L"),
    ],
    ["labs_chemistry", "labs_urine_other", "labs_chemistry", "labs_chemistry"],
)
PATIENTS = table("hosp.patients", ("gender", "age"), [("F", "61")], ["demographics"])


def atom(*tables: EvidenceTable, patient: str = PATIENT) -> BuiltAtom:
    """An atom with these tables as its evidence."""
    time = datetime(2150, 3, 4, 5, 6)
    evidence = Evidence(Moment(patient, int(patient), time, "1"), tables, ())
    return BuiltAtom(
        name=atom_name(PAIR, version=1, patient=patient),
        patient=patient,
        prediction_time=time.isoformat(),
        evidence=evidence,
        record=choose(evidence, families=FAMILIES),
    )


def full_atom() -> BuiltAtom:
    """An atom with somebody's age and laboratory values."""
    return atom(PATIENTS, LABS)
