"""Labels with guards, moments, and evidence of small releases with inline rows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from recipe_builders import REPOSITORY, TinyRelease, bound_label, dataset, lab, patient

from medomni.core.workspace import load_workspace
from medomni.studio.data.definitions import Table
from medomni.studio.definitions.families import Families, read_families
from medomni.studio.evidence.gather import gather
from medomni.studio.evidence.model import Evidence, EvidenceTable, Moment
from medomni.studio.recipe.binding import Bound
from medomni.studio.recipe.catalog import Catalog

type Rows = Sequence[Mapping[str, Any]]

HEAD = (
    "label: {name}\nversion: 1\nrequires: {{releases: [mimic-iv/demo-2.2]}}\nquestion: How much?\n"
    "type: number\nunit: units\nrange: [0, 1000000]\n"
)
CREATININE = """
predicates:
  creatinine: {table: hosp.labevents, code: {any: [50912]}, value: valuenum}
trigger: creatinine
"""
T0 = datetime(2150, 1, 10, 12)
DICTIONARY = [
    {"itemid": 50912, "label": "Creatinine", "fluid": "Blood", "category": "Chemistry"},
    {"itemid": 51006, "label": "Urea Nitrogen", "fluid": "Blood", "category": "Chemistry"},
    {"itemid": 51082, "label": "Creatinine, Urine", "fluid": "Urine", "category": "Chemistry"},
    {"itemid": 50813, "label": "Lactate", "fluid": "Blood", "category": "Blood Gas"},
]
ITEMS = [
    {"itemid": 220045, "label": "Heart Rate", "linksto": "chartevents"},
    {"itemid": 225441, "label": "Hemodialysis", "linksto": "procedureevents"},
    {"itemid": 224275, "label": "20 Gauge", "linksto": "procedureevents"},
]


@cache
def families() -> Families:
    """The families of the repository's MIMIC-IV."""
    path = load_workspace(REPOSITORY).recipe("mimic-iv", "families")
    return read_families(path, Catalog(dataset().tables))


def guarded(
    folder: Path,
    *guards: str,
    index: str = "{time: trigger}",
    trigger: str = CREATININE,
    value: str = "trigger.value",
    name: str = "it",
) -> Bound:
    """A label with these guards, each a flow mapping of YAML."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = "".join(f"  - {guard}\n" for guard in guards or ("{table: hosp.drgcodes, where: all}",))
    return bound_label(
        folder, f'{trigger}index: {index}\nvalue: "{value}"\nguards:\n{listed}', head=HEAD.format(name=name)
    )


def at(time: datetime | str = T0, *, subject: int = 1, key: str = "") -> Moment:
    """A moment of a patient."""
    when = datetime.fromisoformat(time) if isinstance(time, str) else time
    return Moment(str(subject), subject, when, key)


def tiny(lacking: Mapping[str, frozenset[str]] | None = None, **tables: Rows) -> TinyRelease:
    """A release with patient 1, dictionaries, and these tables (`hosp__labevents=[…]`).

    Where nobody says otherwise, results without a time of storing come from a release that has none.
    """
    rows: dict[str, Rows] = {
        "hosp.patients": [patient()],
        "hosp.d_labitems": DICTIONARY,
        "icu.d_items": ITEMS,
        "hosp.admissions": [],
    }
    rows |= {name.replace("__", "."): given for name, given in tables.items()}
    empty = {
        name: frozenset(
            column for column in definition.columns if all(row.get(column) is None for row in rows[name])
        )
        for name, definition in _definitions().items()
        if name in rows
    }
    return TinyRelease(rows, _definitions(), lacking=empty if lacking is None else lacking)


def _definitions() -> Mapping[str, Table]:
    return dataset().tables


def evidence(
    bound: Bound | Sequence[Bound], store: TinyRelease, *moments: Moment, **options: Any
) -> list[Evidence]:
    """The evidence of the moments; at `T0` of patient 1 if there are none."""
    bounds = [bound] if isinstance(bound, Bound) else bound
    return list(gather(store, bounds, moments or [at()], families=families(), **options))


def table_of(found: Evidence, name: str) -> EvidenceTable | None:
    """A table of the evidence, if it has any row."""
    return next((each for each in found.tables if each.table == name), None)


def cells(found: Evidence, name: str, *columns: str) -> list[Any]:
    """The cells of some columns of a table: tuples, or texts for one column."""
    table = table_of(found, name)
    if table is None:
        return []
    places = [[column.name for column in table.columns].index(each) for each in columns]
    rows = [tuple(row[place] for place in places) for row in table.rows]
    return [row[0] for row in rows] if len(columns) == 1 else rows


def headers(found: Evidence, name: str) -> list[str]:
    """The columns of a table."""
    table = table_of(found, name)
    return [column.name for column in table.columns] if table else []


def shown_bytes(found: Sequence[Evidence]) -> bytes:
    """Everything that agents could see."""
    return json.dumps([each.as_plain() for each in found], ensure_ascii=False).encode()


def canaries_in(data: bytes) -> set[str]:
    """The planted words in some bytes."""
    return set(re.findall(r"CANARY\w*", data.decode()))


def stored_lab(number: int, drawn: str, stored: str | None, value: str, **more: Any) -> dict[str, Any]:
    """A result, of urea unless told, with the time at which it was stored."""
    return lab(number, drawn, value, **{"itemid": 51006, "storetime": stored, **more})
