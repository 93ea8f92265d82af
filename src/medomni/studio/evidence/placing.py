"""Guards placed on tables: which rows each removes, or which cells it empties, as conditions.

A guard holds at any time unless it says when. Where only a row's day is known, the row counts as any moment
of that day, so that a guard rather removes too much.

Leaves to others: applying the conditions (`staging`), and the moments that guards stand at (`moments`).

Source: the rules for guards of the task definitions (label files, `guards:`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from medomni.studio.data.definitions import Table
from medomni.studio.definitions.families import Families
from medomni.studio.evidence.errors import EvidenceError
from medomni.studio.partition import belongs
from medomni.studio.recipe.binding import Bound
from medomni.studio.recipe.catalog import Catalog
from medomni.studio.recipe.events import codes_condition
from medomni.studio.recipe.model import Codes, Guard
from medomni.studio.recipe.syntax import Ref, show_ref
from medomni.studio.recipe.values import all_of, any_of, call, column, known, operate, shifted, text

ROW, MOMENT = "t", "p"


@dataclass(frozen=True, slots=True)
class Span:
    """When a row happened: its moment twice, or the first and last moment of its day."""

    first: exp.Expr
    last: exp.Expr


@dataclass(frozen=True, slots=True)
class Placed:
    """A guard on one table.

    Attributes:
        words: The guard for people.
        columns: The columns that it empties; none where it removes rows.
        condition: Whether a row (alias `t`) of a moment (alias `p`) is meant; never missing.
        always: Whether it empties its columns in every row.
    """

    words: str
    columns: tuple[str, ...]
    condition: exp.Expr
    always: bool


def place(
    found: Table,
    bounds: Sequence[Bound],
    *,
    families: Families,
    present: Collection[str],
    span: Span,
) -> list[Placed]:
    """Every guard of the labels that concerns a table.

    Args:
        found: The table.
        bounds: The labels.
        families: The dataset's families.
        present: Tables of the release.
        span: When a row of the table happened.

    Raises:
        EvidenceError: `evidence-dictionary`: a guard needs a dictionary that the release lacks.
        RecipeError: A guard does not fit the table, which its label's check tells before.
    """
    placed = []
    for number, bound in enumerate(bounds):
        for guard in bound.label.guards:
            rows = _rows_meant(guard, found, families, bound.scope.catalog, present)
            if rows is None:
                continue
            times = list(_times(guard, bound, number, span))
            plain = guard.everything and not times
            placed.append(
                Placed(
                    words=f"{bound.label.name}: {guard_words(guard)}",
                    columns=guard.columns,
                    condition=known(all_of([*rows, *times])),
                    always=plain and bool(guard.columns),
                )
            )
    return placed


def _rows_meant(
    guard: Guard, found: Table, families: Families, catalog: Catalog, present: Collection[str]
) -> list[exp.Expr] | None:
    """Conditions on the rows, whatever their time; None where the guard does not concern the table."""
    if guard.family is not None:
        parts = [part for part in families.of_table(found.name) if part.family == guard.family]
        return [any_of(belongs(part, families, catalog) for part in parts)] if parts else None
    if found.name not in guard.tables:
        return None
    conditions = []
    if guard.codes is not None:
        refuse_without_dictionary("a guard", guard.codes, found, present)
        conditions.append(codes_condition(guard.codes, found, catalog))
    if guard.pattern is not None:
        columns = [each for each in guard.rule_columns if each in found.columns]
        pattern = text(guard.pattern)
        conditions.append(
            any_of(known(call("regexp_matches", column(each, ROW), pattern)) for each in columns)
        )
    return conditions


def refuse_without_dictionary(who: str, codes: Codes, found: Table, present: Collection[str]) -> None:
    """Refuse codes that a dictionary explains which is not there.

    Raises:
        EvidenceError: `evidence-dictionary`.
    """
    if codes.dictionary is not None and codes.dictionary not in present:
        raise EvidenceError(
            f"{who} needs {codes.dictionary} for {found.name}, and the release lacks it",
            hint="import the dictionary too: without it nobody knows which rows are meant",
            code="evidence-dictionary",
        )


def _times(guard: Guard, bound: Bound, number: int, span: Span) -> Iterator[exp.Expr]:
    low, high = guard.within or (None, None)
    for ref, node, side in (
        (guard.after, exp.GT, span.last),
        (guard.before, exp.LT, span.first),
        (low, exp.GTE, span.last),
        (high, exp.LTE, span.first),
    ):
        moment = reference(ref, bound, number) if ref is not None else None
        if moment is not None:
            yield operate(node, side, moment)


def references(guard: Guard) -> tuple[Ref, ...]:
    """The moments that a guard names."""
    refs = (guard.after, guard.before, *(guard.within or ()))
    return tuple(ref for ref in refs if ref is not None)


def reference(ref: Ref, bound: Bound, number: int) -> exp.Expr | None:
    """A moment of a guard over the relation of moments; None for the record's edge."""
    if ref.anchor == ("null",):
        return None
    if ref.anchor == ("index",):
        return shifted(column("t0", MOMENT), ref.seconds)
    offset = bound.scope.offset
    if ref.anchor == ("trigger",) and offset is not None:
        return shifted(column("t0", MOMENT), ref.seconds - offset)
    return shifted(column(reference_column(ref, number), MOMENT), ref.seconds)


def is_computed(ref: Ref, bound: Bound) -> bool:
    """Whether the prediction time alone tells a moment."""
    plain = ref.anchor in (("null",), ("index",))
    return plain or (ref.anchor == ("trigger",) and bound.scope.offset is not None)


def reference_column(ref: Ref, number: int) -> str:
    """The column of the relation of moments that holds what a reference starts from."""
    return f"ref {number} {'.'.join(ref.anchor)}"


def guard_words(guard: Guard) -> str:
    """A guard for people: `hosp.labevents, code 50912, 52546, at any time`."""
    parts = [f"family {guard.family}" if guard.family else ", ".join(guard.tables)]
    if guard.columns:
        parts.append(f"columns {', '.join(guard.columns)}")
    if guard.codes is not None:
        parts.append(f"code {_code_words(guard.codes)}")
    if guard.pattern is not None:
        parts.append(f"{' or '.join(guard.rule_columns)} like {guard.pattern}")
    for word, ref in (("after", guard.after), ("before", guard.before)):
        if ref is not None:
            parts.append(f"{word} {show_ref(ref)}")
    if guard.within is not None:
        parts.append(f"from {show_ref(guard.within[0])} to {show_ref(guard.within[1])}")
    elif guard.after is None and guard.before is None:
        parts.append("at any time")
    return "; ".join(parts)


def _code_words(codes: Codes) -> str:
    parts = [", ".join(map(str, codes.any_of))] if codes.any_of else []
    if codes.prefixes:
        parts.append(f"beginning with {', '.join(codes.prefixes)}")
    if codes.pattern is not None:
        parts.append(f"like {codes.pattern}")
    parts += [f"{system} {', '.join(listed)}" for system, listed in codes.icd.items()]
    explained = [f"{name} is {' or '.join(values)}" for name, values in codes.labels.items()]
    if codes.label_pattern is not None:
        explained.insert(0, f"label is like {codes.label_pattern}")
    if explained:
        parts.append(f"whose {' and whose '.join(explained)}")
    return " or ".join(parts)
