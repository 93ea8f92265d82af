"""Families: a partition of every table's rows into named parts.

Leaves to others: whether the rows of a release are in exactly one family (`medomni.studio.partition`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medomni.core.files import read_yaml
from medomni.studio.data.definitions import Table
from medomni.studio.definitions.predicates import read_codes, read_column_rule
from medomni.studio.definitions.reading import Reading
from medomni.studio.errors import RecipeError
from medomni.studio.recipe.catalog import Catalog
from medomni.studio.recipe.events import codes_condition, column_condition
from medomni.studio.recipe.model import Codes, ColumnRule


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of a table that belong to a family; `rest` are those that are in no other family."""

    family: str
    table: str
    codes: Codes | None = None
    columns: tuple[ColumnRule, ...] = ()
    rest: bool = False

    @property
    def whole(self) -> bool:
        """Whether it is the whole table."""
        return self.codes is None and not self.columns and not self.rest


@dataclass(frozen=True, slots=True)
class Families:
    """The families of a dataset, in the order of their file."""

    parts: tuple[Part, ...]
    not_evidence: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the families."""
        return tuple(dict.fromkeys(part.family for part in self.parts))

    def of_table(self, table: str) -> tuple[Part, ...]:
        """The parts of one table."""
        return tuple(part for part in self.parts if part.table == table)


def family_names(path: Path) -> frozenset[str]:
    """The names in a families file, without checking it."""
    value = read_yaml(path).value
    found = value.get("families") if isinstance(value, Mapping) else None
    return frozenset(found) if isinstance(found, Mapping) else frozenset()


def read_families(path: Path, catalog: Catalog) -> Families:
    """The families of a dataset: every table once whole, or in parts with one `rest`.

    Raises:
        UnknownDefinitionError: There is no such file.
        DocumentError: It is no readable YAML.
        IssuesError: With every problem of the file.
    """
    reading = Reading("families", path)
    parts: list[Part] = []
    if reading.sound:
        for family, listed in reading.value["families"].items():
            for index, value in enumerate(listed):
                where = ("families", family, index)
                part = reading.part(where, lambda f=family, v=value: _part(f, v, catalog))  # type: ignore[misc]
                if part is not None:
                    parts.append(part)
        if not reading.issues:
            _check_partition(reading, parts, catalog)
    reading.refuse()
    return Families(tuple(parts), tuple(reading.value.get("not_evidence", ())))


def _part(family: str, value: Mapping[str, Any], catalog: Catalog) -> Part:
    table: Table = catalog.table(value["table"])
    part = Part(
        family=family,
        table=table.name,
        codes=read_codes(value["code"]) if "code" in value else None,
        columns=tuple(read_column_rule(column, rule) for column, rule in value.get("other_cols", {}).items()),
        rest=value.get("rest", False),
    )
    if part.rest and (part.codes or part.columns):
        raise RecipeError("`rest` is what no other family has: it takes no conditions", code="families-part")
    if part.codes is not None:
        codes_condition(part.codes, table, catalog)
    for rule in part.columns:
        column_condition(rule, table)
    return part


def _check_partition(reading: Reading, parts: list[Part], catalog: Catalog) -> None:
    outside = set(reading.value.get("not_evidence", ()))
    for name, table in catalog.tables.items():
        mine = [part for part in parts if part.table == name]
        if name in outside:
            if mine or table.patient is not None:
                what = f"{name} holds patients or stands in a family, and is no evidence"
                reading.fault(("not_evidence",), "families-partition", what)
        elif not mine:
            reading.fault(("families",), "families-partition", f"the table {name} is in no family")
        elif len(mine) == 1 and not mine[0].whole:
            reading.fault(("families",), "families-partition", f"rows of {name} may be in no family")
        elif len(mine) > 1 and any(part.whole for part in mine):
            what = f"{name} is in several families, and one of them takes all its rows"
            reading.fault(("families",), "families-partition", what)
        elif len(mine) > 1 and sum(part.rest for part in mine) != 1:
            what = f"{name} is in several families: exactly one of them must have its rest"
            reading.fault(("families",), "families-partition", what)
    for name in sorted(outside - set(catalog.tables)):
        reading.fault(("not_evidence",), "families-partition", f"there is no table {name}")
