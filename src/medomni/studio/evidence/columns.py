"""The columns of a table as evidence shows them, and the query for their text.

Suffixes say what a number is: `_h` hours and `_d` days from the prediction time, `_n` a number that only
names (`hadm_n` 2 is the second admission that is seen).

Leaves to others: which rows there are (`staging`), how text is written (`cells`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from medomni.studio.data.definitions import Table
from medomni.studio.evidence import cells
from medomni.studio.evidence.links import ID, NUMBER, link_name
from medomni.studio.evidence.model import Column
from medomni.studio.evidence.staging import AGE_YEAR, FAMILY, SEEN, T0, M, Staged
from medomni.studio.recipe.catalog import is_date
from medomni.studio.recipe.events import Data, table
from medomni.studio.recipe.values import all_of, call, cast, column, number, operate, text

_S = "s"
_BEFORE, _AFTER = "~before", "~after"


@dataclass(frozen=True, slots=True)
class Shown:
    """A column, and its cells over the staged table (alias `s`) and its joins.

    Attributes:
        sql: The text of a cell.
        written: Whether somebody wrote the text, so that dates and ids may stand in it.
    """

    column: Column
    sql: exp.Expr
    written: bool = False


def shown_columns(staged: Staged) -> list[Shown]:
    """What is shown of a table, in the order of its definition, dictionaries behind their codes."""
    found, show = staged.table, staged.table.show
    made = []
    for name in staged.columns:
        made.append(_shown(found, name))
        for place, each in enumerate(show.explain):
            if each.by[-1] == name:
                made += [
                    Shown(Column(other, f"{each.table}.{other}"), column(other, f"d{place}"))
                    for other in each.columns
                ]
    return made


def _shown(found: Table, name: str) -> Shown:
    kind, show = found.columns[name].text, found.show
    cell, now = column(name, _S), column(T0, _S)
    if name in show.links:
        plain = name.removesuffix("_id")
        return Shown(Column(f"{plain}_n", name), cells.plain(column(NUMBER, f"l {name}")))
    if show.age is not None and name == show.age[0]:
        return Shown(Column("age", name), cells.age(cell, column(AGE_YEAR, _S), now))
    if is_date(found, name) or name in show.days:
        return Shown(Column(f"{name}_d", name), cells.days(cell, now))
    if kind == "timestamp":
        return Shown(Column(f"{name}_h", name), cells.hours(cell, now))
    if kind == "text":
        return Shown(Column(name, name), call("nullif", cell, text("")), written=True)
    if found.columns[name].scale:
        return Shown(Column(name, name), cells.decimal(cell))
    return Shown(Column(name, name), cells.plain(cell))


def rows_query(staged: Staged, shown: Sequence[Shown], data: Data) -> exp.Query:
    """The rows that are shown: moment, number of the family, which texts were changed, cells.

    The third is a list with a truth value for each column with `written` text, or missing where none was.
    """
    written = [each.sql for each in shown if each.written]
    outputs = {
        M: column(M, _S),
        FAMILY: column(FAMILY, _S),
        **{f"~order {place}": column(name, _S) for place, name in enumerate(staged.order)},
        _BEFORE: call("list_value", *written),
        _AFTER: cells.texts(call("list_value", *written), column("subject_id", _S))
        if written
        else exp.Null(),
        **{each.column.name: each.sql for each in shown if not each.written},
    }
    select = exp.select(*(_named(sql, name) for name, sql in outputs.items()))
    select = _joined(select.from_(table(staged.relation, _S)), staged, data).where(column(SEEN, _S))
    places = {each.column.name: place for place, each in enumerate((e for e in shown if e.written), start=1)}
    final = [
        _named(call("list_extract", column(_AFTER), number(places[name])), name)
        if (name := each.column.name) in places
        else column(name)
        for each in shown
    ]
    mark = cells.changed(column(_BEFORE), column(_AFTER)) if written else exp.Null()
    outer = exp.select(column(M), column(FAMILY), _named(mark, "~changed"), *final)
    order = [column(M), *(column(f"~order {place}") for place in range(len(staged.order)))]
    return outer.from_(select.subquery("r", copy=False), copy=False).order_by(*order, copy=False)


def _named(sql: exp.Expr, name: str) -> exp.Expr:
    return exp.alias_(sql, name, quoted=True, copy=False)


def _joined(select: exp.Select, staged: Staged, data: Data) -> exp.Select:
    """With the numbers of ids and with dictionaries."""
    for name, link in staged.table.show.links.items():
        if name not in staged.columns:
            continue
        alias = f"l {name}"
        id_text = cast(column(name, _S), "VARCHAR")
        on = [operate(exp.EQ, column(M, alias), column(M, _S)), operate(exp.EQ, column(ID, alias), id_text)]
        select = select.join(table(link_name(link), alias), on=all_of(on), join_type="left", copy=False)
    for place, dictionary in enumerate(staged.table.show.explain):
        alias = f"d{place}"
        same = (operate(exp.EQ, column(name, alias), column(name, _S)) for name in dictionary.by)
        rows = data.rows(dictionary.table, alias)
        select = select.join(rows, on=all_of(same), join_type="left", copy=False)
    return select
