"""What a build knows of a pair and of each of its atoms, as plain data.

Whatever renders an atom gets a `BuiltPair` and a `BuiltAtom`, and neither holds an answer or a stratum: what
is not handed over cannot leak. Answers travel beside them, in `BuiltAnswer`.

Leaves to others: making it (`build`), its documents (`content.documents`), rendering (`render`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from medomni.core.names import Pair
from medomni.studio.definitions.templates import Cohort, Template
from medomni.studio.evidence.model import Evidence
from medomni.studio.record.model import Record


@dataclass(frozen=True, slots=True)
class BuiltTarget:
    """One answer that the agent gives.

    Attributes:
        name: Its key in the answer file.
        metric: `auc`, `qwk` or `mae`.
        kind: `binary` (a probability is asked), `ordinal` (a class from 0), or `number`.
        classes: Names of the classes, from 0; none for a number.
        range: Lowest and highest answer of a number, as the label writes them; None for the others.
        unit: Of a number; empty for the others.
        decimals: Of a number's reference answers; None for the others.
        question: The template's, or the label's.
    """

    name: str
    metric: str
    label: str
    label_version: int
    kind: str
    classes: tuple[str, ...]
    range: tuple[str, str] | None
    unit: str
    decimals: int | None
    question: str


@dataclass(frozen=True, slots=True)
class BuiltPair:
    """What all atoms of a pair share; small, since it is sent to a worker with every atom.

    Attributes:
        version: N.
        template: Statement, instruction, environment, submission path, authors.
        release: `<dataset>/<release>`.
        release_class: `real`, `demo` or `dummy`.
        access: `credentialed`, `open` or `generated`.
        release_token: The content release, `medomni/0.3.0`.
    """

    pair: Pair
    version: int
    template: Template
    cohort: Cohort
    targets: tuple[BuiltTarget, ...]
    release: str
    release_class: str
    access: str
    licence: str
    terms: tuple[str, ...]
    release_token: str


@dataclass(frozen=True, slots=True)
class BuiltAtom:
    """One atom.

    Attributes:
        name: The atom's name; for the host, never for the agent.
        patient: The patient's id; for the host, never for the agent.
        prediction_time: In the release's own dates; for the host, never for the agent.
        evidence: Everything that the agent may have: the complete tables of `data/record/`.
        record: The part that the instruction shows, for all families. A rung takes
            `record.only(families)`, and its tables the rows of those families.
    """

    name: str
    patient: str
    prediction_time: str
    evidence: Evidence
    record: Record


@dataclass(frozen=True, slots=True)
class BuiltAnswer:
    """The answer of one atom: target to text, as `answers.csv` has it. Never handed to what renders."""

    atom: str
    patient: str
    stratum: str
    values: Mapping[str, str]
