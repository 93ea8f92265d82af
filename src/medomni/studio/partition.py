"""Families against the rows of a release: that each row is in exactly one, and who has something of one.

Leaves to others: reading the families (`definitions.families`), evidence.
"""

from __future__ import annotations

import contextlib

from sqlglot import exp

from medomni.core.errors import MedomniError
from medomni.core.issues import Issue, IssuesError, Severity, error
from medomni.studio.definitions.families import Families, Part, read_families
from medomni.studio.definitions.library import Library
from medomni.studio.labels import Tables
from medomni.studio.queries import run
from medomni.studio.recipe.catalog import Catalog
from medomni.studio.recipe.events import Data, codes_condition, column_condition, table, times
from medomni.studio.recipe.values import all_of, any_of, case, column, known, negate, operate

_T = "t"


def check_partition(store: Tables, library: Library) -> list[Issue]:
    """What is wrong with the families of a dataset, by themselves and against the rows of a release.

    A build asks it before anything is gathered, and `data verify` too.

    Raises:
        LabelError: A query fails.
    """
    try:
        families = read_families(library.workspace.recipe(library.dataset.name, "families"), library.catalog)
    except IssuesError as failure:
        return failure.issues
    except MedomniError as failure:
        return [Issue(failure.code, Severity.ERROR, failure.where, failure.what, failure.hint)]
    return partition_problems(store, families, library.catalog)


def partition_problems(store: Tables, families: Families, catalog: Catalog) -> list[Issue]:
    """Tables of a release with rows in several families or in none.

    Raises:
        LabelError: A query fails.
    """
    data = Data(catalog, store.present)
    found: list[Issue] = []
    with contextlib.closing(store.connect()) as connection:
        for name in catalog.tables:
            if name not in store.present or name in families.not_evidence:
                continue
            query = _misplaced(name, families, data)
            several, none = run(connection, query)[0] if query is not None else (0, 0)
            if several:
                what = f"{several} rows of {name} are in several families"
                hint = "take the codes out of all families but one"
                found.append(error("families-overlap", name, what, hint))
            if none:
                what = f"{none} rows of {name} are in no family"
                hint = "name the table in a family, or give its rest to one: {table: …, rest: true}"
                found.append(error("families-none", name, what, hint))
    return found


def _misplaced(name: str, families: Families, data: Data) -> exp.Query | None:
    """How many rows of a table are in several families and how many in none; None where neither can be."""
    parts = families.of_table(name)
    own = [part for part in parts if not part.rest]
    taken = any(part.rest or part.whole for part in parts)
    if taken and len(own) < 2:
        return None
    one, zero = exp.Literal.number("1"), exp.Literal.number("0")
    total: exp.Expr = zero
    for part in own:
        total = operate(exp.Add, total, case([(_condition(part, data.catalog), one)], zero))
    none = exp.false() if taken else operate(exp.EQ, total, zero)
    outputs = [
        exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=condition.copy()))
        for condition in (operate(exp.GT, total, one), none)
    ]
    return exp.select(*outputs).from_(data.rows(name, _T))


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
