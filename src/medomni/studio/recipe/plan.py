"""A bound label as steps of SQL: events, candidates, windows, definitions, and the table of every candidate.

Each step fills one temporary relation; the last gives the rows. All SQL is SQLGlot trees in DuckDB's dialect.

Leaves to others: running the steps (`labels`), and choosing among the candidates (`select`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from medomni.studio.recipe.aggregates import event_column
from medomni.studio.recipe.binding import Bound
from medomni.studio.recipe.catalog import Kind
from medomni.studio.recipe.events import Data, events_query, relation, table
from medomni.studio.recipe.library.shape import query
from medomni.studio.recipe.model import Combined
from medomni.studio.recipe.moments import any_event, members, moments_query, views
from medomni.studio.recipe.scope import LibraryCall
from medomni.studio.recipe.sources import ANY_EVENT
from medomni.studio.recipe.values import Value, all_of, call, case, cast, column, operate, shifted, text
from medomni.studio.recipe.windows import (
    CANDIDATES,
    aggregate_value,
    count_value,
    reading_query,
    readings,
    with_bounds,
)

RESULT = "label rows"
_C = "c"
_E = "e"
# Columns of the result before the rules; a rule's column is `rule <name>`.
FIXED = ("subject_id", "prediction_time", "key", "value")


@dataclass(frozen=True, slots=True)
class Step:
    """A relation to fill before the next step."""

    name: str
    query: exp.Query

    def sql(self) -> str:
        """The statement of the step."""
        statement = exp.Create(
            this=table(self.name),
            kind="TABLE",
            replace=True,
            expression=self.query,
            properties=exp.Properties(expressions=[exp.TemporaryProperty()]),
        )
        return sql_text(statement)


def sql_text(tree: exp.Expr) -> str:
    """The text of a tree, in DuckDB's dialect."""
    return tree.sql(dialect="duckdb", identify=True)


def steps(bound: Bound, data: Data, *, extra: Mapping[str, Value] | None = None) -> list[Step]:
    """Every step of a label; the last fills `RESULT`.

    Args:
        bound: The label.
        data: The tables that there are, and the patient if only one is wanted.
        extra: Further values to give out, by the name of their column.
    """
    found = [*_event_steps(bound, data), Step(CANDIDATES, with_bounds(_candidates(bound, data), bound))]
    reading_list = list(readings(bound))
    found += [Step(reading.name, reading_query(reading, bound)) for reading in reading_list]
    stage: exp.Query = _wide(bound)
    for name, made in bound.scope.columns.items():
        if isinstance(made, exp.Expr):
            stage = _over(stage).select(exp.alias_(made, name, quoted=True), copy=False)
            continue
        base, arguments = f"stage {name}", f"arguments {name}"
        found.append(Step(base, stage))
        found.append(Step(arguments, _arguments(made, base)))
        found.append(Step(f"results {name}", _called(made, data, arguments)))
        stage = _with_results(base, name)
    found.append(Step(RESULT, _result(bound, stage, extra or {})))
    return found


def _event_steps(bound: Bound, data: Data) -> list[Step]:
    label, used = bound.label, bound.scope.used.events
    wanted = _needed(bound)
    found = []
    if ANY_EVENT in wanted:
        found.append(Step(relation(ANY_EVENT), any_event(data)))
    ids = {name for window in label.windows.values() for name in window.same}
    for name in views(label.events):
        if name not in wanted:
            continue
        columns = set(used.get(name, set()))
        if name == label.trigger:
            columns |= set(bound.scope.used.trigger)
        plain = sorted(columns - {"value", "time", "start", "end", "available"})
        event = label.events[name]
        if isinstance(event, Combined):
            found.append(Step(relation(name), moments_query(event)))
            continue
        made = events_query(event, data, plain, sorted(ids))
        found.append(Step(relation(name), made))
    return found


def _needed(bound: Bound) -> set[str]:
    """The predicates that the label reads, and those that they are made of."""
    label, wanted = bound.label, set[str]()
    waiting = [label.trigger, *bound.scope.used.events]
    for window in label.windows.values():
        waiting += [str(ref.predicate) for ref in (window.start, window.end) if ref.arrow]
    while waiting:
        name = waiting.pop()
        if name in wanted:
            continue
        wanted.add(name)
        event = label.events.get(name)
        if isinstance(event, Combined):
            waiting += members(event.expr)
    return wanted


# Candidates.


def _candidates(bound: Bound, data: Data) -> exp.Query:
    scope, label = bound.scope, bound.label
    plain = column("time", _E)
    index = shifted(plain, label.index.seconds)
    if len(label.index.anchor) == 2:
        index = shifted(column(event_column(label.index.anchor[1]), _E), label.index.seconds)
    outputs = {
        # Only a handle: what comes out is ordered by patient, time and key.
        "cand_id": exp.Window(this=call("row_number")),
        "subject_id": column("subject_id", _E),
        "index": index,
        "key": _key_text(scope.trigger.keys),
        "trigger.time": plain,
    }
    for name in scope.used.trigger:
        real = "time" if name == "start" else name
        outputs.setdefault(f"trigger.{name}", column(event_column(real), _E))
    select = exp.select(*(exp.alias_(sql, name, quoted=True) for name, sql in outputs.items()))
    select = select.from_(table(relation(label.trigger), _E))
    for owner, columns in scope.used.owners.items():
        select = _join_owner(select, bound, data, owner, columns)
    return select.where(exp.Not(this=exp.Is(this=index.copy(), expression=exp.Null())))


def row_order() -> list[exp.Expr]:
    """The order of a label's rows: patient, prediction time, key (a shorter number first)."""
    key = column("key")
    return [column("subject_id"), column("prediction_time"), call("length", key), key]


def _key_text(keys: tuple[str, ...]) -> exp.Expr:
    """The primary key of the trigger's row as text; its time where there is none."""
    if not keys:
        return exp.Coalesce(this=column("tie", _E), expressions=[iso(column("time", _E))])
    parts = [cast(column(f"key.{key}", _E), "VARCHAR") for key in keys]
    return parts[0] if len(parts) == 1 else call("concat_ws", text(","), *parts)


def iso(moment: exp.Expr) -> exp.Expr:
    """A time as ISO text, `2180-05-07T00:19:00`, with microseconds only where there are some."""
    whole = call("strftime", moment, text("%Y-%m-%dT%H:%M:%S"))
    fraction = call("strftime", moment, text("%Y-%m-%dT%H:%M:%S.%f"))
    exact = operate(exp.EQ, moment, call("date_trunc", text("second"), moment))
    return case([(exact, whole)], fraction)


def _join_owner(
    select: exp.Select, bound: Bound, data: Data, owner: str, columns: Mapping[str, Kind]
) -> exp.Select:
    scope = bound.scope
    owners = scope.catalog.owners(scope.trigger.table) if scope.trigger.table else {}
    found, key = owners.get(owner, (scope.catalog.patients, str(scope.catalog.patients.patient)))
    mine = column("subject_id", _E) if key == found.patient else column(event_column(key), _E)
    on = operate(exp.EQ, mine, column(key, owner))
    select = select.join(data.rows(found.name, owner), on=on, join_type="left", copy=False)
    for name in columns:
        plain: exp.Expr = column(name, owner)
        if found.columns[name].text == "date":
            plain = cast(plain, "TIMESTAMP")
        select = select.select(exp.alias_(plain, f"{owner}.{name}", quoted=True), copy=False)
    return select


# Windows and definitions.


def _wide(bound: Bound) -> exp.Query:
    """The candidates with every count and aggregate."""
    select = exp.select(_star()).from_(table(CANDIDATES, _C))
    for reading in readings(bound):
        on = operate(exp.EQ, column("cand_id", _C), column("cand_id", reading.name))
        select = select.join(table(reading.name), on=on, join_type="left", copy=False)
        if reading.counted:
            select = select.select(exp.alias_(count_value(reading), reading.name, quoted=True), copy=False)
        for name, found in reading.aggregates:
            value = aggregate_value(reading, name, found)
            select = select.select(exp.alias_(value, name, quoted=True), copy=False)
    return select


def _star() -> exp.Expr:
    return exp.Column(this=exp.Star(), table=exp.to_identifier(_C, quoted=True))


def _over(stage: exp.Query) -> exp.Select:
    return exp.select(exp.Star()).from_(stage.subquery("s"))


def _arguments(library: LibraryCall, base: str) -> exp.Query:
    outputs: list[exp.Expr] = [
        column("cand_id"),
        column("subject_id"),
        exp.alias_(column("index"), "t0", quoted=True),
    ]
    outputs += [exp.alias_(column(f"trigger.{name}"), name, quoted=True) for name in library.function.ids]
    for number, arg in enumerate(library.args, start=1):
        outputs.append(exp.alias_(arg.sql, f"a{number}", quoted=True))
    return exp.select(*outputs).from_(table(base))


def _called(library: LibraryCall, data: Data, arguments: str) -> exp.Query:
    found = query(library.function.sql, data.catalog, data.present)
    for each in list(found.find_all(exp.Table)):
        if each.name == CANDIDATES:
            each.set("this", exp.to_identifier(arguments, quoted=True))
    return found


def _with_results(base: str, name: str) -> exp.Query:
    on = operate(exp.EQ, column("cand_id", _C), column("cand_id", "r"))
    select = exp.select(_star(), exp.alias_(column("value", "r"), name, quoted=True)).from_(table(base, _C))
    return select.join(table(f"results {name}", "r"), on=on, join_type="left", copy=False)


# The result.


def _result(bound: Bound, stage: exp.Query, extra: Mapping[str, Value]) -> exp.Query:
    outputs: dict[str, exp.Expr] = {
        "cand_id": column("cand_id"),
        "subject_id": column("subject_id"),
        "prediction_time": column("index"),
        "key": column("key"),
        "value": _answer(bound),
        **{f"extra {name}": value.sql for name, value in extra.items()},
        **{f"rule {rule.name}": rule.sql for rule in bound.rules},
    }
    inner = exp.select(*(exp.alias_(sql, name, quoted=True) for name, sql in outputs.items()))
    inner = inner.from_(stage.subquery("s"))
    eligible = all_of(column(f"rule {rule.name}") for rule in bound.rules)
    outer = exp.select(exp.Star(), exp.alias_(eligible, "eligible", quoted=True))
    return outer.from_(inner.subquery("r"))


def _answer(bound: Bound) -> exp.Expr:
    label, value = bound.label, bound.value
    if label.kind in ("binary", "ordinal"):
        return cast(value.sql, "INTEGER")
    if label.decimals is not None:
        return call("round", value.sql, exp.Literal.number(str(label.decimals)))
    return value.sql
