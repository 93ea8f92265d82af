"""What the recipe language needs to know of tables: kinds of columns, owners, when a value is final.

Leaves to others: reading `tables.yaml` (`data.definitions`), and the rows themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum

from medomni.studio.data.definitions import Table
from medomni.studio.errors import RecipeError

_UNIT_COLUMNS = {"valuenum": "valueuom", "value": "valueuom", "amount": "amountuom", "rate": "rateuom"}


class Kind(StrEnum):
    """What a value is; `EXACT` ones never become binary fractions."""

    BOOL = "true or false"
    INTEGER = "a whole number"
    DECIMAL = "a decimal number"
    FLOAT = "a number"
    TEXT = "text"
    TIME = "a time"


EXACT = (Kind.INTEGER, Kind.DECIMAL)
NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT)
_KINDS = {"text": Kind.TEXT, "integer": Kind.INTEGER, "bigint": Kind.INTEGER, "timestamp": Kind.TIME}


def column_kind(table: Table, column: str) -> Kind:
    """The kind of a declared column; a date is the time of its midnight.

    Raises:
        RecipeError: `recipe-column-unknown`.
    """
    known = table.columns.get(column)
    if known is None:
        raise unknown("column", column, table.columns, inside=table.name)
    return Kind.TIME if known.text == "date" else _KINDS.get(known.text, Kind.DECIMAL)


def is_date(table: Table, column: str) -> bool:
    """Whether a column knows the day alone."""
    return table.columns[column].text == "date"


def final_at(table: Table, column: str) -> str | None:
    """The column with the time at which a value is final; "" if there is none; None if from the start."""
    if column in table.undated:
        return ""
    for end in table.ends:
        if column == end.column or column in end.hides:
            return end.column
    return None


def unit_column(table: Table, value: str) -> str:
    """The column with the unit of a value column.

    Raises:
        RecipeError: `recipe-unit`: there is none.
    """
    column = _UNIT_COLUMNS.get(value, "")
    if column not in table.columns:
        raise RecipeError(f"{table.name} has no column with the unit of {value!r}", code="recipe-unit")
    return column


def unknown(
    what: str, name: str, known: Mapping[str, object] | list[str], *, inside: str = ""
) -> RecipeError:
    """The error for a name that does not exist, with the nearest that does."""
    near = get_close_matches(name, list(known), n=1)
    listed = ", ".join(sorted(known)[:20])
    place = f" in {inside}" if inside else ""
    return RecipeError(
        f"there is no {what} {name!r}{place}",
        hint=f"did you mean {near[0]!r}?" if near else f"known: {listed or 'none'}",
        code=f"recipe-{what.replace(' ', '-')}-unknown",
    )


@dataclass(frozen=True, slots=True)
class Catalog:
    """The declared tables of a dataset."""

    tables: Mapping[str, Table]

    def table(self, name: str) -> Table:
        """The table of that name.

        Raises:
            RecipeError: `recipe-table-unknown`.
        """
        if name not in self.tables:
            raise unknown("table", name, self.tables)
        return self.tables[name]

    @property
    def patients(self) -> Table:
        """The table with one row per patient.

        Raises:
            RecipeError: `recipe-table-unknown`: there is none.
        """
        for table in self.tables.values():
            if table.patient is not None and table.key == (table.patient,):
                return table
        raise RecipeError("no table has one row per patient", code="recipe-table-unknown")

    def owners(self, table: Table) -> dict[str, tuple[Table, str]]:
        """The tables with one row for each row of `table`, by the word for one (`patient`, `admission`).

        The second part is the column that leads there.
        """
        found = {}
        for other in self.tables.values():
            is_owner = len(other.key) == 1 and other.patient is not None and other.key[0] in table.columns
            if is_owner and (other is self.patients or other.key != table.key):
                found[other.name.rpartition(".")[2].removesuffix("s")] = (other, other.key[0])
        return found
