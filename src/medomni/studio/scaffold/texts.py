"""The texts of new files, from parameters.

Leaves to others: whether names exist (`making`), and writing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from medomni.studio.checking.definitions import FILL_IN
from medomni.studio.definitions.templates import METRIC_OF

_ENVIRONMENT = (
    "{cpus: 4, memory_mb: 16384, internet: false, agent_timeout_sec: 1800, verifier_timeout_sec: 120}"
)


def text(value: str) -> str:
    """A text as YAML, whatever it holds: in double quotes, as JSON writes it."""
    return json.dumps(value, ensure_ascii=False)


def listed(names: Sequence[str]) -> str:
    """A list in one line."""
    return f"[{', '.join(names)}]"


def template_text(
    name: str, dataset: str, *, label: str, kind: str, table: str, author: tuple[str, str] | None
) -> str:
    """A `template.yaml` with one target."""
    person, handle = author or (f"{FILL_IN}: your name", f"{FILL_IN}: your GitHub handle")
    return f"""\
template_id: {name}
dataset: {dataset}
authors: [{{name: {text(person)}, github: {text(handle)}}}]
targets:
  - name: {label}
    label: {label}
    metric: {METRIC_OF[kind]}
# A record of what was proposed; the evidence is the whole record minus the label's guards.
input:
  tables: [{table}]
evidence: [default]
agent:
  # The clinical question alone; every instruction opens with it.
  statement: >-
    {FILL_IN}: the clinical question, in a sentence or two.
  # When the agent stands, and what it has.
  instruction: >-
    {FILL_IN}: which moment hour 0 is. Everything in the record was available by then; times are hours
    relative to this moment (negative = past). Rows that state the answer were removed; do not look for them.
    Answer even if unsure.
  environment: {_ENVIRONMENT}
  submission_path: /workspace/answer.json
"""


def readme_text(name: str, label: str) -> str:
    """A template's README."""
    return f"""\
# {name}

{FILL_IN}: what is asked, in one line.

**Prediction time.** {FILL_IN}

**Who.** {FILL_IN}

**Answer.** {FILL_IN} The rules, in the order in which they are counted, and what is removed from the record
stand in [{label}](../../labels/{label}.yaml).

## Traps

- {FILL_IN}: what would give the answer away, and what keeps it out.
"""


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """What an answer is: `binary`, `ordinal` with its classes, or `number` with its unit and range."""

    kind: str
    classes: tuple[str, ...] = ()
    unit: str = ""
    ends: tuple[str, str] = ("0", "1")

    @property
    def lines(self) -> str:
        """The lines of a label that say it."""
        if self.kind == "ordinal":
            return f"classes: [{', '.join(map(text, self.classes))}]\n"
        return f"unit: {text(self.unit)}\nrange: {listed(self.ends)}\n" if self.kind == "number" else ""

    @property
    def some(self) -> str:
        """An answer that is possible."""
        return {"binary": '"1 == 1"', "ordinal": '"0"'}.get(self.kind, f'"{self.ends[0]}"')


def label_text(
    name: str, *, answer: AnswerForm, releases: Sequence[str], recipe: str, trigger: str, table: str
) -> str:
    """A label whose candidates are the events of a predicate."""
    return f"""\
label: {name}
version: 1
requires: {{releases: {listed(releases)}}}
question: "{FILL_IN}: what is asked, with the unit or the classes."
type: {answer.kind}
{answer.lines}imports: [{recipe}]
trigger: {trigger}                     # each of these events is a candidate
index: {{time: trigger}}                # the prediction time, such as trigger + 24h
# What must have been known at the prediction time, as named rules:
# where:
#   - adult: "age_at(index) >= 18"
# Rules on what came later stand under where_outcome; they never choose another event.
# {FILL_IN}: the answer. This one is the same for everybody.
value: {answer.some}
guards:
  # {FILL_IN}: everything that states the answer, or restates it.
  - {{table: {table}, after: index}}
probes: {{max_single_feature: 0.95}}
notes: "{FILL_IN}: where the definition comes from. Remove this line when value and guards are written."
"""


def cohort_text(
    name: str, *, release: str, unit: str, n: int | None, strata: str, per: int | None, note: str
) -> str:
    """A cohort; `strata` is what stands before `per`."""
    drawn = f"strata: {{{strata}{f', per: {per}' if per else ''}}}\n" if strata else ""
    return f"""\
cohort: {name}
version: 1
release: {release}
unit: {unit}
pick: {{per: {unit}, order: hash}}
{drawn}n: {n or "all"}
order: hash
report: [eligible_n, natural_share, excluded_by_rule]
{f"notes: {text(note)}{chr(10)}" if note else ""}"""


_FAMILIES = """\
recipe: families
version: 1
# Every row of a patient is in exactly one family.
families:
  demographics: [{table: core.patients}]
  events: [{table: core.events}]
"""
_EVENTS = """\
recipe: events
version: 1
predicates:
  event: {table: core.events, value: value}
"""


def dataset_texts(
    name: str, *, title: str, release: str, release_class: str, access: str, licence: str
) -> dict[str, str]:
    """The files of a dataset of two tables, by their paths below its folder."""
    dataset = f"""\
dataset: {name}
version: 1
title: {text(title)}
modules:
  core: {{files: ["core/{{file}}.csv.gz", "core/{{file}}.csv"]}}
releases:
  {text(release)}:
    class: {release_class}
    access: {access}
    licence: {text(licence)}
    terms:
      - "{FILL_IN}: what a user of the data accepts, one sentence each."
    modules: {{core: required}}
    # Rows that a table must have, so that half a download is refused: {{core.patients: 240}}
    counts: {{}}
"""
    return {
        "dataset.yaml": dataset,
        "recipes/tables.yaml": _tables(release_class),
        "recipes/families.yaml": _FAMILIES,
        "recipes/events.yaml": _EVENTS,
    }


def _tables(release_class: str) -> str:
    return f"""\
# Every table and column that is read; what is not declared is never read.
# {FILL_IN}: the dataset's own tables in place of these two.
recipe: tables
version: 1
tables:
  core.patients:
    file: patients
    required: [{release_class}]
    patient: subject_id
    key: [subject_id]
    timeless: true
    columns:
      subject_id: bigint
      sex: text
    sort: {{by_patient: [subject_id]}}

  core.events:
    file: events
    required: [{release_class}]
    patient: subject_id
    code: code
    time: time
    available: [time]
    columns:
      subject_id: bigint
      time: timestamp
      code: text
      value: decimal(20,8)
    sort: {{by_patient: [subject_id, time], by_item: [code, subject_id, time]}}
"""
