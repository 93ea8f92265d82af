"""Small numbers for ids: they count from 1 within a patient, in the order in which the ids are first seen.

Only ids in rows that are shown take a number, so that no number tells how much is still to come. Where a
table is the home of an id (it is that table's key), it takes one only if its row there is shown: a result
that already bears the id of an admission must not tell that the admission will follow.

Leaves to others: the rows (`staging`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from medomni.studio.data.definitions import Table
from medomni.studio.evidence.staging import SEEN, WHEN, M, Staged, stage_name
from medomni.studio.recipe.events import table
from medomni.studio.recipe.values import all_of, call, cast, column, is_present, operate

ID, NUMBER = "id", "n"


def link_name(link: str) -> str:
    """The name of the relation with the numbers of a link."""
    return f"numbers of {link}"


def homes(tables: Iterable[Table]) -> dict[str, tuple[str, str]]:
    """The table and column whose key the ids of a link are, by the link's name."""
    found = {}
    for each in tables:
        for name, link in each.show.links.items():
            if each.key == (name,):
                found[link] = (each.name, name)
    return found


def link_queries(
    stages: Sequence[Staged], home_of: dict[str, tuple[str, str]]
) -> list[tuple[str, exp.Query]]:
    """The relations of all links: `~m`, `id` as text, and its number."""
    uses: dict[str, list[tuple[Staged, str]]] = {}
    for staged in stages:
        for name, link in staged.table.show.links.items():
            if name in staged.columns:
                uses.setdefault(link, []).append((staged, name))
    staged_names = {each.table.name for each in stages}
    return [
        (link_name(link), _numbers(found, home_of.get(link), staged_names))
        for link, found in sorted(uses.items())
    ]


def _numbers(
    uses: Sequence[tuple[Staged, str]], home: tuple[str, str] | None, staged_names: set[str]
) -> exp.Query:
    parts = [_ids(staged.relation, name, exp.select()) for staged, name in uses]
    union: exp.Query = parts[0]
    for part in parts[1:]:
        union = exp.union(union, part, distinct=False, copy=False)
    first = call("min", column(WHEN, "u"))
    rank = exp.Window(
        this=call("row_number"),
        partition_by=[column(M, "u")],
        order=exp.Order(expressions=[first, call("length", column(ID, "u")), column(ID, "u")]),
    )
    select = exp.select(column(M, "u"), column(ID, "u"), exp.alias_(rank, NUMBER, quoted=True))
    select = select.from_(union.subquery("u", copy=False), copy=False)
    if home is not None:
        shown = _shown(home, staged_names)
        on = all_of(operate(exp.EQ, column(name, "u"), column(name, "h")) for name in (M, ID))
        select = select.join(shown.subquery("h", copy=False), on=on, copy=False)
    return select.group_by(column(M, "u"), column(ID, "u"))


def _ids(relation: str, name: str, select: exp.Select) -> exp.Select:
    plain = exp.alias_(cast(column(name), "VARCHAR"), ID, quoted=True)
    there = all_of([column(SEEN), is_present(column(name))])
    return select.select(column(M), plain, column(WHEN)).from_(table(relation)).where(there)


def _shown(home: tuple[str, str], staged_names: set[str]) -> exp.Query:
    """The ids whose own row is shown; none where the release lacks their table."""
    name, key = home
    if name not in staged_names:
        nothing = exp.alias_(cast(exp.Null(), "VARCHAR"), ID, quoted=True)
        return exp.select(exp.alias_(cast(exp.Null(), "INTEGER"), M, quoted=True), nothing).where(exp.false())
    plain = exp.alias_(cast(column(key), "VARCHAR"), ID, quoted=True)
    there = all_of([column(SEEN), is_present(column(key))])
    return exp.select(column(M), plain).from_(table(stage_name(name))).where(there).distinct()
