"""One table of some patients, staged: every row with what was known of it, and all else emptied.

The three filters stand here in their order: all rows of the patient, what was known by the prediction time,
guards. A row that is not known leaves nothing but its mark, so that counting is all that can be done with it.

Leaves to others: the text of cells (`columns`), numbers for ids (`links`), and the relation of moments.

Source: the rules for evidence of the task definitions: a row counts from the moment at which it could be
known (`available` of the tables' definitions), and what is only final at an end is hidden until then.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp

from medomni.studio.data.definitions import End, Table
from medomni.studio.definitions.families import Families, Part
from medomni.studio.evidence.moments import MOMENTS
from medomni.studio.evidence.placing import MOMENT, ROW, Placed, Span, place, refuse_without_dictionary
from medomni.studio.partition import belongs
from medomni.studio.recipe.binding import Bound
from medomni.studio.recipe.catalog import Catalog, is_date
from medomni.studio.recipe.events import Data, table, times
from medomni.studio.recipe.values import (
    all_of,
    any_of,
    call,
    case,
    cast,
    column,
    is_present,
    known,
    negate,
    number,
    operate,
    shifted,
    text,
)

# Columns of a staged table beside those of the table itself, whose names have no such mark.
M, T0, WHEN, FAMILY, SEEN, LATER, LEFT = "~m", "~t0", "~when", "~family", "~seen", "~later", "~left"
AGE_YEAR = "~age year"
_LAST_OF_DAY = Decimal(86_400) - Decimal("0.000001")
_V = "v"


@dataclass(frozen=True, slots=True)
class Staged:
    """A table that is staged.

    Attributes:
        columns: What may be shown, in the order of the definition.
        dropped: Columns that are never shown: ids, calendar dates, what nobody dated.
        families: Names by the number in the column `FAMILY`.
        guards: In the order of their marks.
        parent: The staged table whose rows decide about this one's, and the column that leads there.
    """

    table: Table
    columns: tuple[str, ...]
    dropped: tuple[str, ...]
    families: tuple[str, ...]
    guards: tuple[Placed, ...]
    parent: tuple[str, str] | None

    @property
    def relation(self) -> str:
        """The name of the relation that it fills."""
        return stage_name(self.table.name)

    def guard_mark(self, index: int) -> str:
        """The column that says which rows a guard touched."""
        return f"~guard {index}"

    def end_mark(self, index: int) -> str:
        """The column that says in which rows an end hid something."""
        return f"~end {index}"

    @property
    def order(self) -> tuple[str, ...]:
        """Columns of the staged table that settle the order of rows: oldest first, then the key."""
        keys = tuple(f"~key {name}" for name in self.table.key)
        return (WHEN, *(keys or self.columns))


def stage_name(name: str) -> str:
    """The name of a staged table."""
    return f"stage {name}"


def plan_stage(
    found: Table,
    bounds: Sequence[Bound],
    *,
    families: Families,
    data: Data,
    homes: dict[str, tuple[str, str]],
) -> Staged:
    """What staging a table takes.

    Args:
        found: The table.
        bounds: The labels whose guards hold.
        families: The dataset's families.
        data: The tables that there are.
        homes: The table and column in which the ids of a link are the key, by the link's name.

    Raises:
        EvidenceError: `evidence-dictionary`.
    """
    _, available, _ = times(found, data, found.time)
    guards = place(found, bounds, families=families, present=data.present, span=_span(found, available))
    always = {name for guard in guards if guard.always for name in guard.columns}
    dropped = [
        name for name in found.columns if name in found.show.hide or name in found.undated or name in always
    ]
    parts = _ordered(families.of_table(found.name))
    for part in parts:
        if part.codes is not None:
            refuse_without_dictionary(f"the family {part.family}", part.codes, found, data.present)
    follows = found.show.follows
    parent = homes.get(found.show.links[follows], ("", "")) if follows is not None else None
    return Staged(
        table=found,
        columns=tuple(name for name in found.columns if name not in (*dropped, found.patient)),
        dropped=tuple(name for name in dropped if name not in always),
        families=tuple(part.family for part in parts),
        guards=tuple(guards),
        parent=(parent[0], str(follows)) if parent is not None else None,
    )


def _ordered(parts: Sequence[Part]) -> list[Part]:
    """The parts with the rest last: it takes what no other has."""
    return sorted(parts, key=lambda part: part.rest)


def _span(found: Table, available: exp.Expr) -> Span:
    """When a row happened; where nothing says so, when it was known."""
    if found.time is None:
        return Span(available, available)
    plain = column(found.time, ROW)
    if not (is_date(found, found.time) or found.time in found.show.days):
        either = exp.Coalesce(this=plain, expressions=[available.copy()])
        return Span(either, either)
    first = call("date_trunc", text("day"), cast(plain, "TIMESTAMP"))
    last = shifted(first, _LAST_OF_DAY)
    return Span(
        exp.Coalesce(this=first, expressions=[available.copy()]),
        exp.Coalesce(this=last, expressions=[available.copy()]),
    )


def stage_query(
    staged: Staged, *, families: Families, data: Data, strict: bool, lacking: Collection[str] = ()
) -> exp.Query:
    """The query that fills a staged table, over the relation of moments and the table itself.

    Args:
        staged: The table.
        families: The dataset's families.
        data: The tables that there are.
        strict: Whether what is known at the very prediction time is too late.
        lacking: Columns of the table without a single value in the release.
    """
    marked = _marked(staged, families, data, by=exp.LT if strict else exp.LTE, lacking=lacking)
    gone = [column(f"~by {index}", _V) for index, each in enumerate(staged.guards) if not each.columns]
    now = column("~now", _V)
    lost = negate(column("~with", _V))
    # Later columns name this one, which DuckDB allows.
    seen = column(SEEN)
    outputs: dict[str, exp.Expr] = {
        M: column(M, _V),
        T0: column(T0, _V),
        "subject_id": column("subject_id", _V),
        FAMILY: column(FAMILY, _V),
        SEEN: all_of([now, negate(any_of(gone)), negate(lost)]),
        LATER: negate(now),
        LEFT: all_of([now, lost]),
    }
    for index, guard in enumerate(staged.guards):
        hit = column(f"~by {index}", _V)
        there = (
            any_of(is_present(column(name, _V)) for name in guard.columns) if guard.columns else exp.true()
        )
        outputs[staged.guard_mark(index)] = all_of([now, hit, there])
    for index, end in enumerate(staged.table.ends):
        shown = [name for name in (end.column, *end.hides) if name in staged.columns]
        hidden = any_of(is_present(column(name, _V)) for name in shown)
        outputs[staged.end_mark(index)] = all_of([seen, column(f"~late {index}", _V), hidden])
    outputs[WHEN] = case([(seen, column(WHEN, _V))])
    if staged.table.show.age is not None:
        outputs[AGE_YEAR] = case([(seen, column(staged.table.show.age[1], _V))])
    for name in staged.table.key:
        outputs[f"~key {name}"] = case([(all_of([seen, *_allowed(staged, name)]), column(name, _V))])
    for name in staged.columns:
        outputs[name] = case([(all_of([seen, *_allowed(staged, name)]), column(name, _V))])
    select = exp.select(*(exp.alias_(sql, name, quoted=True, copy=False) for name, sql in outputs.items()))
    return select.from_(marked.subquery(_V, copy=False), copy=False)


def _allowed(staged: Staged, name: str) -> list[exp.Expr]:
    """What must be true for a cell to be kept in a row that is."""
    conditions = [
        negate(column(f"~by {index}", _V))
        for index, guard in enumerate(staged.guards)
        if name in guard.columns
    ]
    for index, end in enumerate(staged.table.ends):
        if name in (end.column, *end.hides):
            conditions.append(negate(column(f"~late {index}", _V)))
    return conditions


def _marked(
    staged: Staged, families: Families, data: Data, *, by: type[exp.Binary], lacking: Collection[str]
) -> exp.Query:
    """Every row of the patients with its family and what each rule says of it."""
    found, now = staged.table, column("t0", MOMENT)
    _, available, joins = times(found, data, found.time)
    span = _span(found, available)
    # Without the table that they follow, no row can be shown.
    joined = staged.parent is not None and staged.parent[0] in data.present
    outputs: dict[str, exp.Expr] = {
        M: column("m", MOMENT),
        T0: now,
        WHEN: span.first,
        FAMILY: _family(found, families, data.catalog),
        # What has not happened is not known, whatever it was stored at.
        "~now": exp.true()
        if found.timeless
        else known(
            all_of([operate(by, available, now), operate(by, span.first, now), *_stored(found, lacking)])
        ),
        "~with": is_present(column(M, "f")) if joined else exp.Boolean(this=staged.parent is None),
    }
    outputs |= {f"~by {index}": guard.condition for index, guard in enumerate(staged.guards)}
    outputs |= {
        f"~late {index}": negate(known(operate(by, _end(found, end), now)))
        for index, end in enumerate(found.ends)
    }
    outputs |= {name: column(name, ROW) for name in found.columns}
    outputs["subject_id"] = column(str(found.patient), ROW)
    select = exp.select(*(exp.alias_(sql, name, quoted=True, copy=False) for name, sql in outputs.items()))
    same = operate(exp.EQ, column("subject_id", MOMENT), column(str(found.patient), ROW))
    select = select.from_(table(MOMENTS, MOMENT)).join(table(found.name, ROW), on=same, copy=False)
    for join in joins:
        select = select.join(join.this, on=join.args["on"], join_type="left", copy=False)
    return _with_parent(select, *staged.parent) if joined and staged.parent is not None else select


def _stored(found: Table, lacking: Collection[str]) -> list[exp.Expr]:
    """That somebody stored a row, where the release says so of any row."""
    times_there = [name for name in found.stored if name not in lacking]
    return [any_of(is_present(column(name, ROW)) for name in times_there)] if times_there else []


def _with_parent(select: exp.Select, parent: str, follows: str) -> exp.Select:
    shown = exp.select(column(M), column(follows)).from_(table(stage_name(parent)))
    shown = shown.where(all_of([column(SEEN), is_present(column(follows))])).distinct()
    on = all_of(
        [
            operate(exp.EQ, column(M, "f"), column("m", MOMENT)),
            operate(exp.EQ, column(follows, "f"), column(follows, ROW)),
        ]
    )
    return select.join(shown.subquery("f", copy=False), on=on, join_type="left", copy=False)


def _end(found: Table, end: End) -> exp.Expr:
    """The moment of an end; of a day, its last."""
    plain = column(end.column, ROW)
    if not (is_date(found, end.column) or end.column in found.show.days):
        return plain
    return shifted(call("date_trunc", text("day"), cast(plain, "TIMESTAMP")), _LAST_OF_DAY)


def _family(found: Table, families: Families, catalog: Catalog) -> exp.Expr:
    parts = _ordered(families.of_table(found.name))
    *firsts, last = list(enumerate(parts))
    whens = [(belongs(part, families, catalog), number(index)) for index, part in firsts]
    return case(whens, number(last[0])) if whens else number(0)


def counts_query(staged: Staged) -> exp.Query:
    """By moment: rows of the patient, rows shown, and rows that each rule touched."""
    marks = [SEEN, LATER, LEFT]
    marks += [staged.guard_mark(index) for index in range(len(staged.guards))]
    marks += [staged.end_mark(index) for index in range(len(staged.table.ends))]
    counted = [
        exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=column(mark))) for mark in marks
    ]
    return exp.select(column(M), *counted).from_(table(staged.relation)).group_by(column(M))
