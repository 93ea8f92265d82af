"""The evidence of moments: all rows of the patients, minus what came later and what the guards remove.

Patients are read in batches, each table once per batch, from the copies that lie in the order of patients:
a large table is read where the patients are, and never twice. Answers are no input: what is gathered for a
patient and a moment cannot depend on them.

Leaves to others: who is asked and when (`select`), showing it (`record`), writing it (`content`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import batched

from sqlglot import exp

from medomni.core.issues import IssuesError
from medomni.studio.data.definitions import Table
from medomni.studio.definitions.families import Families
from medomni.studio.draw import Drawn
from medomni.studio.evidence.cells import MACROS
from medomni.studio.evidence.checking import evidence_problems
from medomni.studio.evidence.columns import Shown
from medomni.studio.evidence.errors import EvidenceError
from medomni.studio.evidence.model import Evidence, EvidenceTable, Moment, Removal
from medomni.studio.evidence.moments import make_moments
from medomni.studio.evidence.planning import EvidencePlan, TablePlan, plan_evidence
from medomni.studio.evidence.session import Session
from medomni.studio.evidence.staging import Staged
from medomni.studio.labels import Tables
from medomni.studio.recipe.binding import Bound
from medomni.studio.recipe.events import table
from medomni.studio.recipe.values import column, number

BATCH = 64


def moment_of(drawn: Drawn) -> Moment:
    """The moment of a drawn patient, without the answer."""
    return Moment(str(drawn.subject), drawn.subject, datetime.fromisoformat(drawn.prediction_time), drawn.key)


def gather(
    store: Tables,
    bounds: Sequence[Bound],
    moments: Sequence[Moment],
    *,
    families: Families,
    memory_limit: str | None = None,
    threads: int | None = None,
    batch: int = BATCH,
) -> Iterator[Evidence]:
    """The evidence of each moment, in their order.

    Args:
        store: The imported release.
        bounds: The labels of all targets: the guards of each hold, and if one of them stands strictly before
            its prediction time, so does all evidence.
        moments: Who and when.
        families: The dataset's families.
        memory_limit: What DuckDB may use.
        threads: How many.
        batch: How many moments are gathered at once.

    Raises:
        EvidenceError: `evidence-labels`: no label, so nobody knows the guards; `evidence-patient-unknown`;
            `evidence-moment-unknown`, `evidence-guard-moment`, `evidence-dictionary`, `evidence-memory`,
            `evidence-query`.
        IssuesError: The definitions of tables leave open what may be shown.
    """
    if not bounds:
        raise EvidenceError("there is no label, whose guards say what is removed", code="evidence-labels")
    catalog = bounds[0].scope.catalog
    issues = evidence_problems(catalog, families)
    if issues:
        raise IssuesError("the tables cannot be shown as they are defined", issues=issues)
    plan = plan_evidence(store, bounds, families=families, catalog=catalog)
    return _run(store, plan, moments, memory_limit=memory_limit, threads=threads, batch=batch)


def _run(
    store: Tables,
    plan: EvidencePlan,
    moments: Sequence[Moment],
    *,
    memory_limit: str | None,
    threads: int | None,
    batch: int,
) -> Iterator[Evidence]:
    with contextlib.closing(store.connect(memory_limit=memory_limit, threads=threads)) as connection:
        session = Session(connection)
        session.define(MACROS)
        for some in batched(moments, batch):
            yield from _batch(session, plan, some, store.token)


def _batch(
    session: Session, plan: EvidencePlan, moments: Sequence[Moment], release: str
) -> Iterator[Evidence]:
    session.drop_all()
    subjects = sorted({each.subject for each in moments})
    for found in plan.patient_tables:
        # From here on the table's name means the rows of these patients alone.
        session.make(found.name, _rows_of(found, subjects))
    _refuse_unknown(session, plan, moments, release)
    make_moments(session, moments, plan.bounds, plan.data)
    for each in plan.by_need:
        session.execute(each.staged.relation, each.filling)
    for name, filling in plan.links:
        session.execute(name, filling)
    tables: list[list[EvidenceTable]] = [[] for _ in moments]
    removed: list[list[Removal]] = [[] for _ in moments]
    for each in plan.tables:
        _read(session, each, tables, removed)
    for m, moment in enumerate(moments):
        yield Evidence(moment, tuple(tables[m]), tuple(removed[m]))


def _refuse_unknown(session: Session, plan: EvidencePlan, moments: Sequence[Moment], release: str) -> None:
    patients = plan.data.catalog.patients
    query = exp.select(column(str(patients.patient))).from_(table(patients.name))
    known = {row[0] for row in session.rows(query, what="patients")}
    for each in moments:
        if each.subject not in known:
            raise EvidenceError(f"{release} has no patient {each.patient}", code="evidence-patient-unknown")


def _read(
    session: Session,
    each: TablePlan,
    tables: Sequence[list[EvidenceTable]],
    removed: Sequence[list[Removal]],
) -> None:
    """The rows of one table and what was removed of it, given to their moments."""
    staged, name = each.staged, each.staged.table.name
    cells: dict[int, list[tuple[str | None, ...]]] = {}
    families: dict[int, list[str]] = {}
    changed: dict[int, list[Sequence[bool]]] = {}
    for m, family, marks, *row in session.rows(each.rows, what=name):
        cells.setdefault(m, []).append(tuple(row))
        families.setdefault(m, []).append(staged.families[family])
        if marks is not None:
            changed.setdefault(m, []).append(marks)
    columns = tuple(shown.column for shown in each.shown)
    for m, rows in cells.items():
        tables[m].append(EvidenceTable(name, columns, tuple(rows), tuple(families[m])))
    for m, *counts in session.rows(each.counts, what=name):
        removed[m].extend(_removals(staged, counts))
        if m in changed:
            removed[m].append(_redacted(name, each.shown, changed[m]))


def _rows_of(found: Table, subjects: Sequence[int]) -> exp.Query:
    plain = column(str(found.patient))
    listed = exp.In(this=plain, expressions=[number(each) for each in subjects])
    columns = (column(name) for name in found.columns)
    return exp.select(*columns).from_(table(f"{found.name}@by_patient")).where(listed)


def _removals(staged: Staged, counts: Sequence[int]) -> Iterator[Removal]:
    seen, later, left, *rules = counts
    name = staged.table.name
    if later:
        yield Removal(name, "later", "not known by the prediction time, or without any time", (), later)
    if left and staged.parent is not None:
        yield Removal(name, "guard", f"its row in {staged.parent[0]} is not shown", (), left)
    for guard, touched in zip(staged.guards, rules, strict=False):
        if touched:
            yield Removal(name, "guard", guard.words, guard.columns, touched)
    for end, touched in zip(staged.table.ends, rules[len(staged.guards) :], strict=True):
        shown = tuple(each for each in (end.column, *end.hides) if each in staged.columns)
        if touched:
            yield Removal(name, "end", f"only final at {end.column}", shown, touched)
    if seen and staged.dropped:
        yield Removal(name, "always", "ids, calendar dates, and what nobody dated", staged.dropped, seen)


def _redacted(name: str, shown: Sequence[Shown], marks: Sequence[Sequence[bool]]) -> Removal:
    written = [each.column.name for each in shown if each.written]
    columns = tuple(each for each, *touched in zip(written, *marks, strict=True) if any(touched))
    return Removal(name, "always", "dates and ids inside text are replaced", columns, len(marks))
