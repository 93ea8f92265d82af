"""Whether the definitions of tables say enough to show them safely; a build refuses what they leave open.

Leaves to others: whether columns exist (`data.definitions`), and families (`definitions.families`).
"""

from __future__ import annotations

from collections.abc import Iterator

from medomni.core.issues import Issue, error
from medomni.studio.data.definitions import Table
from medomni.studio.definitions.families import Families
from medomni.studio.evidence.links import homes
from medomni.studio.recipe.catalog import Catalog


def evidence_problems(catalog: Catalog, families: Families) -> list[Issue]:
    """What evidence could not be made from, in the order of the tables.

    Codes: `evidence-time-missing` (nothing says when a row was known), `evidence-column-unsafe` (a column
    that looks like an id is neither hidden nor a link), `evidence-dictionary-unknown`, `evidence-follows`.
    """
    found: list[Issue] = []
    home_of = homes(catalog.tables.values())
    for table in catalog.tables.values():
        if table.patient is None or table.name in families.not_evidence:
            continue
        if not (table.available or table.time or table.timeless):
            what = f"nothing says when a row of {table.name} was known"
            hint = "name its `time` or `available`, or write `timeless: true` if it was known always"
            found.append(error("evidence-time-missing", table.name, what, hint))
        found += _unsafe(table)
        found += _unexplained(table, catalog)
        follows = table.show.follows
        if follows is not None and table.show.links.get(follows) not in home_of:
            what = f"{table.name} follows {follows}, and no table has it as its key and link"
            found.append(error("evidence-follows", table.name, what, "name a column of `links`"))
    return found


def _unsafe(table: Table) -> Iterator[Issue]:
    show = table.show
    told = {*show.hide, *show.links, *table.undated, table.patient}
    for name, kind in table.columns.items():
        if (kind.text == "bigint" or name.endswith(("_id", "_seq"))) and name not in told:
            what = f"{table.name}.{name} looks like an id, which would tell who a patient is"
            hint = "name it under `show: hide`, or under `show: links` to show small numbers"
            yield error("evidence-column-unsafe", table.name, what, hint)


def _unexplained(table: Table, catalog: Catalog) -> Iterator[Issue]:
    for each in table.show.explain:
        other = catalog.tables.get(each.table)
        shown = set(table.columns) - {*table.show.hide, *table.undated}
        good = (
            other is not None and set(other.key) == set(each.by) and set(each.columns) <= set(other.columns)
        )
        if not good or not set(each.by) <= shown:
            what = f"{each.table} explains nothing of {table.name}"
            hint = "its key must be `by`, shown columns of the table, and `columns` its own"
            yield error("evidence-dictionary-unknown", table.name, what, hint)
