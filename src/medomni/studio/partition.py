"""Families against the rows of a release: that each row is in exactly one, and who has something of one.

Leaves to others: reading the families (`definitions.families`), evidence.
"""

from __future__ import annotations

from sqlglot import exp

from medomni.core.issues import Issue, error
from medomni.studio.definitions.families import Families, Part
from medomni.studio.labels import Tables, run
from medomni.studio.recipe.catalog import Catalog
from medomni.studio.recipe.events import Data, codes_condition, column_condition, table, times
from medomni.studio.recipe.values import all_of, any_of, case, column, known, negate, operate

_T = "t"


def partition_problems(store: Tables, families: Families, catalog: Catalog) -> list[Issue]:
    """Tables of a release with rows in several families; `rest` takes those in none."""
    data = Data(catalog, store.present)
    connection = store.connect()
    try:
        found: list[Issue] = []
        for name in catalog.tables:
            query = _overlaps(name, families, data) if name in store.present else None
            count = run(connection, query)[0][0] if query is not None else 0
            if count:
                what = f"{count} rows of {name} are in several families"
                hint = "take the codes out of all families but one"
                found.append(error("families-overlap", name, what, hint))
        return found
    finally:
        connection.close()


def _overlaps(name: str, families: Families, data: Data) -> exp.Query | None:
    """How many rows of a table are in several families; None where that cannot be."""
    parts = [part for part in families.of_table(name) if not part.rest]
    if len(parts) < 2:
        return None
    total: exp.Expr = exp.Literal.number("0")
    for part in parts:
        one, zero = exp.Literal.number("1"), exp.Literal.number("0")
        total = operate(exp.Add, total, case([(_condition(part, data.catalog), one)], zero))
    twice = operate(exp.GT, total, exp.Literal.number("1"))
    return exp.select(exp.Count(this=exp.Star())).from_(data.rows(name, _T)).where(twice)


def _condition(part: Part, catalog: Catalog) -> exp.Expr:
    found = catalog.table(part.table)
    conditions = [] if part.codes is None else [codes_condition(part.codes, found, catalog)]
    conditions += [column_condition(rule, found) for rule in part.columns]
    return known(all_of(conditions))


def belongs(part: Part, families: Families, catalog: Catalog) -> exp.Expr:
    """Whether a row of the part's table (under the alias `t`) belongs to it."""
    if not part.rest:
        return _condition(part, catalog)
    others = [each for each in families.of_table(part.table) if not each.rest]
    return negate(any_of(_condition(each, catalog) for each in others))


def with_family(families: Families, name: str, data: Data, picked: str, *, strict: bool) -> exp.Query:
    """The `cand_id` of those in the relation `picked` who have a row of a family at their prediction time."""
    queries: list[exp.Query] = []
    for part in families.parts:
        if part.family != name:
            continue
        found = data.catalog.table(part.table)
        if found.patient is None:
            continue
        _, available, joins = times(found, data, found.time)
        now = column("prediction_time", "p")
        in_time = operate(exp.LT if strict else exp.LTE, available, now)
        conditions = [belongs(part, families, data.catalog)]
        if found.time is not None or found.available:
            conditions.append(in_time)
        same = operate(exp.EQ, column("subject_id", "p"), column(found.patient, _T))
        select = exp.select(column("cand_id", "p")).from_(table(picked, "p"))
        select = select.join(data.rows(part.table, _T), on=same, copy=False)
        for join in joins:
            select = select.join(join.this, on=join.args["on"], join_type="left", copy=False)
        queries.append(select.where(all_of(conditions)))
    union = queries[0]
    for each in queries[1:]:
        union = exp.union(union, each, distinct=True)
    return union
