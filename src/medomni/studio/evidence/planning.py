"""What gathering evidence takes, worked out once: the statements for every table, whoever is asked.

Leaves to others: running them (`gather`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from medomni.studio.data.definitions import Table
from medomni.studio.definitions.families import Families
from medomni.studio.evidence.columns import Shown, rows_query, shown_columns
from medomni.studio.evidence.links import homes, link_queries
from medomni.studio.evidence.staging import Staged, counts_query, plan_stage, stage_query
from medomni.studio.labels import Tables
from medomni.studio.recipe.binding import Bound
from medomni.studio.recipe.catalog import Catalog
from medomni.studio.recipe.events import Data
from medomni.studio.recipe.plan import Step, sql_text


@dataclass(frozen=True, slots=True)
class TablePlan:
    """One table: its columns, and the statements that fill its stage, read its rows, and count."""

    staged: Staged
    shown: tuple[Shown, ...]
    filling: str
    rows: str
    counts: str


@dataclass(frozen=True, slots=True)
class EvidencePlan:
    """Everything that does not depend on the patients.

    Attributes:
        patient_tables: Every table of the release with rows of patients.
        tables: Those that are evidence, in the order of their definitions.
        by_need: The same, those first that others follow.
        links: The relations with the numbers of ids, with the statements that fill them.
    """

    bounds: tuple[Bound, ...]
    data: Data
    patient_tables: tuple[Table, ...]
    tables: tuple[TablePlan, ...]
    by_need: tuple[TablePlan, ...]
    links: tuple[tuple[str, str], ...]


def plan_evidence(
    store: Tables, bounds: Sequence[Bound], *, families: Families, catalog: Catalog
) -> EvidencePlan:
    """Work out the statements.

    Args:
        store: The imported release.
        bounds: The labels of all targets.
        families: The dataset's families.
        catalog: The dataset's tables.

    Raises:
        EvidenceError: `evidence-dictionary`.
    """
    data = Data(catalog, store.present)
    strict = any(bound.label.strict for bound in bounds)
    home_of = homes(catalog.tables.values())
    patient_tables = [
        each for each in catalog.tables.values() if each.name in store.present and each.patient is not None
    ]
    plans = []
    for found in patient_tables:
        if found.name in families.not_evidence:
            continue
        staged = plan_stage(found, bounds, families=families, data=data, homes=home_of)
        shown = shown_columns(staged)
        lacking = store.empty_columns(found.name)
        filling = stage_query(staged, families=families, data=data, strict=strict, lacking=lacking)
        plans.append(
            TablePlan(
                staged=staged,
                shown=tuple(shown),
                filling=Step(staged.relation, filling).sql(),
                rows=sql_text(rows_query(staged, shown, data)),
                counts=sql_text(counts_query(staged)),
            )
        )
    links = link_queries([each.staged for each in plans], home_of)
    return EvidencePlan(
        bounds=tuple(bounds),
        data=data,
        patient_tables=tuple(patient_tables),
        tables=tuple(plans),
        by_need=tuple(sorted(plans, key=lambda each: each.staged.parent is not None)),
        links=tuple((name, Step(name, query).sql()) for name, query in links),
    )
