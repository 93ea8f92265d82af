"""The candidates of the trigger `person`: every patient once, at a first or last event or at a column.

Leaves to others: whether the moment may be one (`index`).
"""

from __future__ import annotations

from sqlglot import exp

from medomni.studio.recipe.events import Data
from medomni.studio.recipe.model import Label
from medomni.studio.recipe.values import all_of, cast, column, is_present, number, operate
from medomni.studio.recipe.windows import edges

_T = "t"


def persons_query(label: Label, data: Data) -> exp.Query:
    """The query of a label's persons, with the moment that its prediction time counts from."""
    patients = data.catalog.patients
    mine = column(str(patients.patient), _T)
    edge = label.index.edge is not None
    time: exp.Expr = column("time", "n") if edge else cast(column(label.index.anchor[1], _T), "TIMESTAMP")
    outputs = {
        "subject_id": mine,
        "time": time,
        "available": time,
        **{f"key.{key}": column(key, _T) for key in patients.key},
    }
    select = exp.select(*(exp.alias_(sql, name, quoted=True) for name, sql in outputs.items()))
    select = select.from_(data.rows(patients.name, _T))
    if edge:
        on = operate(exp.EQ, mine, column("subject_id", "n"))
        select = select.join(edges(label.index).subquery("n"), on=on, copy=False)
    conditions = [is_present(time)]
    if data.subject is not None:
        conditions.append(operate(exp.EQ, mine, number(data.subject)))
    return select.where(all_of(conditions))
