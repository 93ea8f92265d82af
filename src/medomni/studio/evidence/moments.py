"""The relation of moments: who is asked and when, and the moments of the trigger that guards stand at.

Leaves to others: which moments there are (`select`), and the guards (`placing`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from medomni.studio.evidence.errors import EvidenceError
from medomni.studio.evidence.model import Moment
from medomni.studio.evidence.placing import is_computed, reference_column, references
from medomni.studio.evidence.session import Session
from medomni.studio.recipe.binding import Bound
from medomni.studio.recipe.events import Data, table
from medomni.studio.recipe.plan import Plan
from medomni.studio.recipe.values import (
    all_of,
    any_of,
    call,
    cast,
    column,
    is_missing,
    number,
    operate,
    text,
)
from medomni.studio.recipe.windows import CANDIDATES

MOMENTS = "moments"
_ASKED = "moments asked"
_P = "p"
_ISO = "%Y-%m-%dT%H:%M:%S.%f"


def make_moments(session: Session, moments: Sequence[Moment], bounds: Sequence[Bound], data: Data) -> None:
    """Fill the relation `moments`: `m` (the place in `moments`), `subject_id`, `t0`, and what guards need.

    Args:
        session: Where the tables hold the patients of the moments.
        moments: Who and when.
        bounds: The labels whose guards will be placed.
        data: The tables.

    Raises:
        EvidenceError: `evidence-moment-unknown`: no event of a label's trigger belongs to a moment;
            `evidence-guard-moment`: the event lacks a time that a guard stands at.
    """
    session.make(_ASKED, _asked(moments))
    query = exp.select(*(column(name, _P) for name in ("m", "subject_id", "t0"))).from_(table(_ASKED, _P))
    for place, bound in enumerate(bounds):
        anchors = _anchors(bound, place)
        if not anchors:
            continue
        for step in Plan(bound, data).start():
            session.take(step)
        found = f"moments of label {place}"
        session.make(found, _found(anchors))
        _refuse_missing(session, moments, found, bound, anchors)
        on = operate(exp.EQ, column("m", _P), column("m", f"c{place}"))
        query = query.join(table(found, f"c{place}"), on=on, copy=False)
        query = query.select(*(column(name, f"c{place}") for name in anchors), copy=False)
    session.make(MOMENTS, query)


def _anchors(bound: Bound, place: int) -> dict[str, tuple[str, ...]]:
    """What the guards of a label stand at, beyond the prediction time: by the column that will hold it."""
    refs = [ref for guard in bound.label.guards for ref in references(guard)]
    return {reference_column(ref, place): ref.anchor for ref in refs if not is_computed(ref, bound)}


def _found(anchors: Mapping[str, tuple[str, ...]]) -> exp.Query:
    """Each moment with the number of its trigger's rows (a key names one), and the anchors."""
    same = [("subject_id", "subject_id"), ("t0", "index"), ("key", "key")]
    on = all_of(operate(exp.EQ, column(mine, _P), column(other, "c")) for mine, other in same)
    outputs: dict[str, exp.Expr] = {"rows": exp.Count(this=column("subject_id", "c"))}
    for name, anchor in anchors.items():
        where = "trigger.time" if anchor == ("trigger",) else ".".join(anchor)
        outputs[name] = call("min", column(where, "c"))
    select = exp.select(
        column("m", _P), *(exp.alias_(sql, name, quoted=True) for name, sql in outputs.items())
    )
    select = select.from_(table(_ASKED, _P)).join(table(CANDIDATES, "c"), on=on, join_type="left", copy=False)
    return select.group_by(column("m", _P))


def _refuse_missing(
    session: Session,
    moments: Sequence[Moment],
    found: str,
    bound: Bound,
    anchors: Mapping[str, tuple[str, ...]],
) -> None:
    lacking = any_of(is_missing(column(name)) for name in anchors)
    query = exp.select(column("m"), column("rows")).from_(table(found)).where(lacking)
    for m, rows in session.rows(query.order_by(column("m")).limit(1), what=found):
        who = f"patient {moments[m].patient} at {moments[m].time.isoformat()}"
        if rows:
            names = ", ".join(".".join(anchor) for anchor in anchors.values())
            raise EvidenceError(
                f"{who} lacks a time that a guard of {bound.label.name!r} stands at: {names}",
                hint="let a rule of the label leave such events out",
                code="evidence-guard-moment",
            )
        raise EvidenceError(
            f"{who} is no candidate of the label {bound.label.name!r}",
            hint="the key of a moment is that of its trigger's row, as `select` gives it",
            code="evidence-moment-unknown",
        )


def _asked(moments: Sequence[Moment]) -> exp.Query:
    rows = [
        exp.Tuple(
            expressions=[number(m), number(each.subject), text(each.time.strftime(_ISO)), text(each.key)]
        )
        for m, each in enumerate(moments)
    ]
    listed = exp.Values(
        expressions=rows,
        alias=exp.TableAlias(
            this=exp.to_identifier("v", quoted=True),
            columns=[exp.to_identifier(name, quoted=True) for name in ("m", "subject_id", "t0", "key")],
        ),
    )
    return exp.select(
        exp.alias_(cast(column("m"), "INTEGER"), "m", quoted=True),
        exp.alias_(cast(column("subject_id"), "BIGINT"), "subject_id", quoted=True),
        exp.alias_(cast(column("t0"), "TIMESTAMP"), "t0", quoted=True),
        column("key"),
    ).from_(listed)
