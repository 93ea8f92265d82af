"""The events of a predicate as a query: `subject_id`, `time`, `available`, `value`, its keys and columns.

Filters stand directly over the table, so that DuckDB pushes them down; dictionary rules are semi-joins.

Leaves to others: which columns are read (`scope`), windows (`windows`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp

from medomni.studio.data.definitions import AvailableFrom, Table
from medomni.studio.errors import RecipeError
from medomni.studio.recipe.aggregates import event_column
from medomni.studio.recipe.catalog import NUMBERS, Catalog, Kind, column_kind, is_date, unit_column
from medomni.studio.recipe.expressions import Compiler
from medomni.studio.recipe.functions import check_pattern
from medomni.studio.recipe.library import events_function
from medomni.studio.recipe.library.shape import empty_table, query
from medomni.studio.recipe.model import Codes, ColumnRule, FromLibrary, Predicate, Scalar
from medomni.studio.recipe.sources import source_of
from medomni.studio.recipe.values import (
    Value,
    all_of,
    any_of,
    call,
    cast,
    column,
    is_present,
    negate,
    number,
    operate,
    shifted,
    text,
    wrong_kind,
)

_DAY = Decimal(86_400)
_MICROSECOND = Decimal("0.000001")
_T = "t"


@dataclass(frozen=True, slots=True)
class Data:
    """Where the rows come from.

    Attributes:
        present: Tables that the release has.
        subject: One patient only; None for all.
    """

    catalog: Catalog
    present: Collection[str]
    subject: int | None = None

    def library(self, sql: str) -> exp.Query:
        """A query of the library over these tables."""
        return query(sql, self.catalog, self.present, subject=self.subject)

    def rows(self, name: str, alias: str) -> exp.Expr:
        """A table under an alias; empty where the release lacks it."""
        if name not in self.present:
            return empty_table(name, self.catalog).subquery(alias)
        view = f"{name}@by_patient" if self.subject is not None else name
        return table(view, alias)


@dataclass(frozen=True, slots=True)
class Reads:
    """What a label reads of a predicate's events.

    Attributes:
        columns: Columns of it.
        ids: Id columns (admission, stay) that windows compare; the table may lack them.
        ordered: Whether a first or last event is wanted, so that ties must be settled.
        trigger: Whether the events are the label's candidates, each with a key of its own.
    """

    columns: Collection[str] = ()
    ids: Collection[str] = ()
    ordered: bool = False
    trigger: bool = False


def table(name: str, alias: str = "") -> exp.Table:
    """A relation by its quoted name."""
    found = exp.Table(this=exp.to_identifier(name, quoted=True))
    if alias:
        found.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    return found


def relation(predicate: str) -> str:
    """The name of the relation with a predicate's events."""
    return f"events {predicate}"


def events_query(event: Predicate | FromLibrary, data: Data, reads: Reads) -> exp.Query:
    """The query of a predicate's events, with no more columns than are read.

    Args:
        event: The predicate.
        data: The tables.
        reads: What is read of the events.

    Raises:
        RecipeError: What is wrong with its conditions.
    """
    if isinstance(event, FromLibrary):
        return _from_library(event, reads)
    found = data.catalog.table(event.table)
    source = source_of(event, data.catalog)
    time, available, joins = times(found, data, source.time_column)
    outputs: dict[str, exp.Expr] = {
        "subject_id": column(str(found.patient), _T),
        "time": time,
        **_ordering(reads, available, source.keys),
    }
    if source.lasting:
        outputs["end"] = column(str(source.end_column), _T)
    if event.value is not None:
        outputs["value"] = column(event.value, _T)
    for name in _named(reads, found.columns):
        if event_column(name) not in outputs:
            source.kind(name)
            outputs[event_column(name)] = column(name, _T)
    if not source.keys and (reads.trigger or reads.ordered):
        outputs["tie"] = _tie(found, outputs, whole=reads.trigger)
    conditions = predicate_conditions(event, found, data.catalog)
    select = exp.select(*(exp.alias_(sql, name, quoted=True) for name, sql in outputs.items()))
    select = select.from_(data.rows(found.name, _T))
    for join in joins:
        select = select.join(join.this, on=join.args["on"], join_type="left", copy=False)
    if data.subject is not None:
        conditions.append(operate(exp.EQ, column(str(found.patient), _T), number(data.subject)))
    return _without_absent(select.where(all_of([*conditions, is_present(time)])), data)


def _without_absent(select: exp.Select, data: Data) -> exp.Select:
    """Empty tables for those that conditions read and the release lacks."""
    for each in list(select.find_all(exp.Table)):
        if each.name in data.catalog.tables and each.name not in data.present:
            each.replace(empty_table(each.name, data.catalog).subquery(each.alias))
    return select


def _ordering(reads: Reads, available: exp.Expr, keys: tuple[str, ...]) -> dict[str, exp.Expr]:
    """The columns that settle which of two events at one moment is the later, where that matters."""
    found: dict[str, exp.Expr] = {}
    if reads.ordered or reads.trigger:
        found |= {f"key.{key}": column(key, _T) for key in keys}
    if reads.ordered or "available" in reads.columns:
        found["available"] = available
    return found


def _named(reads: Reads, known: Collection[str]) -> list[str]:
    """The columns of the table itself that are read."""
    plain = sorted(set(reads.columns) - {"value", "time", "start", "end", "available"})
    return [*plain, *(each for each in sorted(reads.ids) if each in known)]


def _tie(found: Table, outputs: Mapping[str, exp.Expr], *, whole: bool) -> exp.Expr:
    """The last word on ties where a table promises no key.

    Events that are alike in all that is read can stand for each other. A candidate must have a name that
    does not depend on that: its whole row as text.
    """
    if whole:
        return cast(call("row", *(column(name, _T) for name in found.columns)), "VARCHAR")
    read = [sql for name, sql in outputs.items() if name not in ("subject_id", "time", "available")]
    return call("row", *read) if read else exp.Null()


def _from_library(event: FromLibrary, reads: Reads) -> exp.Query:
    """The events of a function, from the relation in which they were computed."""
    function = events_function(event.function, event.version)
    outputs = {
        "subject_id": column("subject_id", _T),
        "time": column(event.time or "time", _T),
        **_ordering(reads, column("time", _T), function.keys),
    }
    if function.value is not None:
        outputs["value"] = column("value", _T)
    for name in _named(reads, function.columns):
        if event_column(name) not in outputs:
            outputs[event_column(name)] = column(name, _T)
    select = exp.select(*(exp.alias_(sql, name, quoted=True) for name, sql in outputs.items()))
    select = select.from_(table(function.relation, _T))
    return select.where(is_present(column(event.time or "time", _T)))


# When a row happened, and when it could be known.


def times(found: Table, data: Data, time_column: str | None) -> tuple[exp.Expr, exp.Expr, list[exp.Join]]:
    """The moment of a row, the moment from which it was known, and the joins that this takes.

    A day without an hour counts as its end; a row without any time of its own happens when it is known.
    """
    joins: list[exp.Join] = []
    options = [_option(found, each, index, data, joins) for index, each in enumerate(found.available)]
    time = moment(found, time_column) if time_column else None
    if not options:
        known = time if time is not None else exp.Null()
    else:
        known = exp.Coalesce(this=options[0], expressions=options[1:]) if len(options) > 1 else options[0]
    return (time.copy() if time is not None else known.copy()), known, joins


def moment(found: Table, name: str) -> exp.Expr:
    """A time column; for a date the end of its day."""
    plain = column(name, _T)
    if not is_date(found, name):
        return plain
    return shifted(cast(plain, "TIMESTAMP"), _DAY - _MICROSECOND)


def _option(found: Table, each: AvailableFrom, index: int, data: Data, joins: list[exp.Join]) -> exp.Expr:
    if each.table is None:
        plain = column(each.column, _T)
        if each.day_end:
            day = call("date_trunc", text("day"), cast(plain, "TIMESTAMP"))
            return shifted(day, _DAY - _MICROSECOND + each.plus_seconds)
        return shifted(plain, Decimal(each.plus_seconds))
    alias = f"a{index}"
    on = all_of(operate(exp.EQ, column(name, _T), column(name, alias)) for name in each.by)
    joins.append(exp.Join(this=data.rows(each.table, alias), on=on))
    return shifted(column(each.column, alias), Decimal(each.plus_seconds))


# Conditions on rows.


def predicate_conditions(event: Predicate, found: Table, catalog: Catalog) -> list[exp.Expr]:
    """Every condition of a predicate but its unit.

    Raises:
        RecipeError: What is wrong with one of them.
    """
    conditions = [] if event.codes is None else [codes_condition(event.codes, found, catalog)]
    for rule in event.columns:
        listed = rule.values_of is not None
        conditions.append(
            _listed_condition(rule, found, catalog) if listed else column_condition(rule, found)
        )

    def resolve(parts: tuple[str, ...]) -> Value:
        name = ".".join(parts)
        return Value(column(name, _T), column_kind(found, name), name=name, nullable=True)

    for expr in event.where:
        compiler = Compiler(resolve, lambda _: None, listed=lambda parts: _values_of(parts, catalog))
        value = compiler.condition(expr)
        conditions += [value.sql, *(need.present for need in value.needs)]
    if event.value is None:
        if event.low is not None or event.high is not None or event.units:
            raise RecipeError(
                f"{event.name!r} limits a value and names no `value:` column", code="recipe-column-unknown"
            )
        return conditions
    kind = column_kind(found, event.value)
    if (event.low or event.high) and kind not in NUMBERS:
        raise wrong_kind(f"{event.name!r} limits {found.name}.{event.value}, which is {kind}")
    for limit, closed, opened in ((event.low, exp.GTE, exp.GT), (event.high, exp.LTE, exp.LT)):
        if limit is not None:
            node = closed if limit[1] else opened
            conditions.append(operate(node, column(event.value, _T), number(limit[0])))
    if event.units:
        unit_column(found, event.value)
    return conditions


def units_query(event: Predicate, data: Data) -> exp.Select | None:
    """Units other than the allowed ones among a predicate's rows, with how often; None if any is allowed."""
    if not event.units or event.value is None or event.table not in data.present:
        return None
    found = data.catalog.table(event.table)
    unit = column(unit_column(found, event.value), _T)
    other = negate(any_of(operate(exp.EQ, unit, text(each)) for each in event.units))
    conditions = [*predicate_conditions(event, found, data.catalog), is_present(unit), other]
    count = exp.Count(this=exp.Star())
    select = exp.select(unit, count).from_(data.rows(found.name, _T)).where(all_of(conditions))
    return _without_absent(select.group_by(unit.copy()).order_by(unit.copy()), data)


def codes_condition(codes: Codes, found: Table, catalog: Catalog) -> exp.Expr:
    """Whether a row has one of the codes.

    Raises:
        RecipeError: The table has no such codes, or they are of the wrong kind.
    """
    if found.code is None:
        raise RecipeError(f"{found.name} has no column of codes", code="recipe-column-unknown")
    code, kind = column(found.code, _T), column_kind(found, found.code)
    options = []
    if codes.any_of:
        rule = ColumnRule(found.code, codes.any_of)
        options.append(column_condition(rule, found))
    if (codes.prefixes or codes.pattern or codes.icd) and kind is not Kind.TEXT:
        raise wrong_kind(f"{found.name}.{found.code} is {kind}: its codes have no beginnings or patterns")
    options += [call("starts_with", code, text(each)) for each in codes.prefixes]
    if codes.pattern is not None:
        check_pattern(codes.pattern)
        options.append(call("regexp_matches", code, text(codes.pattern)))
    options += _icd_options(codes, found, code)
    if codes.dictionary is not None:
        options.append(_in_dictionary(codes, found, code, catalog))
    if not options:
        raise RecipeError("a list of codes is empty", code="recipe-codes-empty")
    return any_of(options)


_ICD_VERSIONS = {"icd9": 9, "icd10": 10, "icd9pcs": 9, "icd10pcs": 10}


def _icd_options(codes: Codes, found: Table, code: exp.Expr) -> list[exp.Expr]:
    if codes.icd and "icd_version" not in found.columns:
        raise RecipeError(f"{found.name} holds no ICD codes", code="recipe-column-unknown")
    options = []
    for system, listed in codes.icd.items():
        version: exp.Expr = number(_ICD_VERSIONS[system])
        if column_kind(found, "icd_version") is Kind.TEXT:
            version = text(str(_ICD_VERSIONS[system]))
        same = [
            operate(exp.EQ, code, text(each)) if codes.exact else call("starts_with", code, text(each))
            for each in listed
        ]
        options.append(all_of([operate(exp.EQ, column("icd_version", _T), version), any_of(same)]))
    return options


def _in_dictionary(codes: Codes, found: Table, code: exp.Expr, catalog: Catalog) -> exp.Expr:
    other = catalog.table(str(codes.dictionary))
    if found.code not in other.columns or "label" not in other.columns:
        raise RecipeError(f"{other.name} explains no codes of {found.name}", code="recipe-table-unsuitable")
    conditions = []
    if codes.label_pattern is not None:
        check_pattern(codes.label_pattern)
        conditions.append(call("regexp_matches", column("label", "d"), text(codes.label_pattern)))
    for name, values in codes.labels.items():
        column_kind(other, name)
        conditions.append(any_of(operate(exp.EQ, column(name, "d"), text(each)) for each in values))
    listed = exp.select(column(str(found.code), "d")).from_(table(other.name, "d")).where(all_of(conditions))
    return exp.In(this=code.copy(), query=listed.subquery())


def column_condition(rule: ColumnRule, found: Table) -> exp.Expr:
    """Whether a column has one of the values, or holds the pattern.

    Raises:
        RecipeError: An unknown column, or values of another kind than the column's.
    """
    kind, plain = column_kind(found, rule.column), column(rule.column, _T)
    if rule.pattern is not None:
        if kind is not Kind.TEXT:
            raise wrong_kind(f"{found.name}.{rule.column} is {kind}, and a pattern needs text")
        check_pattern(rule.pattern)
        return call("regexp_matches", plain, text(rule.pattern))
    return any_of(operate(exp.EQ, plain, _scalar(each, kind, found, rule.column)) for each in rule.values)


def _values_of(parts: tuple[str, ...], catalog: Catalog) -> tuple[exp.Query, Kind]:
    """Every value that a column has in the release, and its kind."""
    other = catalog.table(".".join(parts[:-1]))
    kind, plain = column_kind(other, parts[-1]), column(parts[-1], "v")
    return exp.select(plain).from_(table(other.name, "v")).where(is_present(plain)), kind


def _listed_condition(rule: ColumnRule, found: Table, catalog: Catalog) -> exp.Expr:
    """Whether a column has a value that occurs elsewhere in the release."""
    query, kind = _values_of(rule.values_of or (), catalog)
    mine = column_kind(found, rule.column)
    if mine is not kind:
        raise wrong_kind(
            f"{found.name}.{rule.column} is {mine}, and {'.'.join(rule.values_of or ())} is {kind}"
        )
    return exp.In(this=column(rule.column, _T), query=query.subquery())


def _scalar(value: Scalar, kind: Kind, found: Table, name: str) -> exp.Expr:
    is_text = isinstance(value, str)
    if is_text is not (kind is Kind.TEXT) or kind is Kind.TIME:
        hint = "write text in quotes and numbers without"
        what = f"{value!r} is no value of {found.name}.{name}, which is {kind}"
        raise RecipeError(what, hint=hint, code="recipe-type")
    return text(value) if isinstance(value, str) else number(value)
