"""A bound label as steps of SQL: events, candidates, windows, definitions, and the table of every candidate.

Each step fills or names one temporary relation; the last gives the rows. All SQL is SQLGlot trees in DuckDB's
dialect. Nothing is computed that no rule, answer or wanted value reads. A predicate that is read once is
never stored, so that even one over a whole big table costs a single pass over few of its columns.

A cohort needs the answers of the picked candidates alone: `Plan.early` computes the rules before the pick,
`Plan.late` the rest.

Leaves to others: running the steps (`labels`), and choosing among the candidates (`select`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from medomni.studio.recipe.binding import Bound
from medomni.studio.recipe.candidates import candidates_query
from medomni.studio.recipe.events import Data, Reads, events_query, relation, table
from medomni.studio.recipe.library import events_function
from medomni.studio.recipe.model import Combined, FromLibrary, FromSql, Predicate, Series
from medomni.studio.recipe.moments import any_event, members, moments_query, views
from medomni.studio.recipe.own_query import own_events
from medomni.studio.recipe.persons import persons_query
from medomni.studio.recipe.scope import LibraryCall
from medomni.studio.recipe.series import series_query
from medomni.studio.recipe.sources import ANY_EVENT, PERSON
from medomni.studio.recipe.values import Value, all_of, call, case, cast, column, known, operate
from medomni.studio.recipe.windows import (
    CANDIDATES,
    Reading,
    aggregate_value,
    count_value,
    on_reading,
    reading_query,
    readings,
    with_bounds,
)

RESULT = "label rows"
# Every candidate with how many of the rules before the pick it fulfils, in their order, until one fails.
EARLY = "early rows"
_BASE, _BOUNDED, _PICKED = "candidates base", "candidates bounded", "candidates picked"
_C = "c"
# Columns of the result before the rules; a rule's column is `rule <name>`.
FIXED = ("subject_id", "prediction_time", "key", "value")


@dataclass(frozen=True, slots=True)
class Step:
    """A relation to make before the next step: filled, or only named (`stored` is false)."""

    name: str
    query: exp.Query
    stored: bool = True

    def sql(self) -> str:
        """The statement of the step."""
        statement = exp.Create(
            this=table(self.name),
            kind="TABLE" if self.stored else "VIEW",
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
    plan = Plan(bound, data)
    return [*plan.start(), *plan.whole(extra or {})]


def candidate_steps(bound: Bound, data: Data) -> list[Step]:
    """The steps to `CANDIDATES` with the bounds of their windows, and to nothing else.

    Args:
        bound: The label.
        data: The tables that there are.
    """
    wanted = _with_members(bound, [bound.label.trigger, *_bound_predicates(bound)])
    return [
        *_library_steps(bound, data, wanted, []),
        *_event_steps(bound, data, wanted, []),
        *_placed(bound, data),
    ]


class Plan:
    """The steps of one label over one release, in the order in which they are asked for.

    Args:
        bound: The label.
        data: The tables that there are, and the patient if only one is wanted.
    """

    def __init__(self, bound: Bound, data: Data) -> None:
        self._bound = bound
        self._data = data
        self._readings = list(readings(bound))
        self._done: set[str] = set()

    def start(self) -> Iterator[Step]:
        """The events, and the candidates with the bounds of their windows."""
        wanted = _needed(self._bound)
        calls = [each for each in self._bound.scope.columns.values() if isinstance(each, LibraryCall)]
        yield from _library_steps(self._bound, self._data, wanted, calls)
        yield from _event_steps(self._bound, self._data, wanted, self._readings)
        yield from _placed(self._bound, self._data)

    def whole(self, extra: Mapping[str, Value]) -> Iterator[Step]:
        """Every rule and the answer of every candidate that there is now."""
        wanted = [_answer(self._bound), *(rule.sql for rule in self._bound.rules)]
        wanted += [value.sql for value in extra.values()]
        computed, stage = self._computed(wanted)
        yield from computed
        yield Step(RESULT, _result(self._bound, stage, extra))

    def early(self) -> Iterator[Step]:
        """The rules before the pick alone; the last step fills `EARLY`."""
        rules = [rule.sql for rule in self._bound.rules if not rule.outcome]
        computed, stage = self._computed(rules)
        yield from computed
        failing = [
            (exp.Not(this=exp.Paren(this=known(rule))), exp.Literal.number(str(index)))
            for index, rule in enumerate(rules)
        ]
        whole = exp.Literal.number(str(len(rules)))
        outputs: dict[str, exp.Expr] = {
            "cand_id": column("cand_id"),
            "subject_id": column("subject_id"),
            "prediction_time": column("index"),
            "key": column("key"),
            "fulfilled": cast(case(failing, whole) if failing else whole, "SMALLINT"),
        }
        select = exp.select(*(exp.alias_(sql, name, quoted=True) for name, sql in outputs.items()))
        yield Step(EARLY, select.from_(stage.subquery("s")))

    def late(self, picked: exp.Query, extra: Mapping[str, Value]) -> Iterator[Step]:
        """Everything else, for the candidates whose `cand_id` is in `picked`."""
        inside = exp.In(this=column("cand_id"), query=picked.subquery())
        yield Step(_PICKED, exp.select(exp.Star()).from_(table(CANDIDATES)).where(inside))
        yield Step(CANDIDATES, exp.select(exp.Star()).from_(table(_PICKED)), stored=False)
        yield from self.whole(extra)

    def _computed(self, wanted: Iterable[exp.Expr]) -> tuple[list[Step], exp.Query]:
        """The steps for what some expressions read, and the candidates with all of it."""
        names, found = self._names(wanted), []
        used = [each for each in self._readings if _is_read(each, names)]
        for reading in used:
            if reading.name not in self._done:
                found.append(Step(reading.name, reading_query(reading, self._bound)))
        self._done |= {reading.name for reading in used}
        stage: exp.Query = _wide(used, names)
        for name, made in self._bound.scope.columns.items():
            if name not in names:
                continue
            if isinstance(made, exp.Expr):
                stage = _over(stage).select(exp.alias_(made, name, quoted=True), copy=False)
                continue
            base, results = f"stage {name}", f"results {name}"
            found.append(Step(base, stage))
            if results not in self._done:
                found.append(Step(f"arguments {name}", _arguments(made, base)))
                found.append(Step(results, _called(made, self._data, f"arguments {name}")))
            self._done.add(results)
            stage = _with_results(base, name)
        return found, stage

    def _names(self, wanted: Iterable[exp.Expr]) -> set[str]:
        """The columns that expressions read, and those that these are made of."""
        names, waiting = set[str](), list(wanted)
        while waiting:
            for each in waiting.pop().find_all(exp.Column):
                if each.name in names:
                    continue
                names.add(each.name)
                made = self._bound.scope.columns.get(each.name)
                waiting += [arg.sql for arg in made.args] if isinstance(made, LibraryCall) else []
                waiting += [made] if isinstance(made, exp.Expr) else []
        return names


def _is_read(reading: Reading, names: set[str]) -> bool:
    return reading.name in names or any(name in names for name, _ in reading.aggregates)


# Events.


def _library_steps(
    bound: Bound, data: Data, wanted: Iterable[str], calls: Iterable[LibraryCall]
) -> Iterator[Step]:
    """The events of the library's functions, each computed once for all who read them."""
    events = [bound.label.events.get(name) for name in wanted]
    functions = [
        events_function(event.function, event.version) for event in events if isinstance(event, FromLibrary)
    ]
    functions += [function for each in calls for function in each.function.uses]
    for name, function in sorted({each.relation: each for each in functions}.items()):
        yield Step(name, data.library(function.sql))


def _event_steps(bound: Bound, data: Data, wanted: set[str], found: list[Reading]) -> Iterator[Step]:
    label = bound.label
    if ANY_EVENT in wanted:
        yield Step(relation(ANY_EVENT), any_event(data))
    for name in views(label.events):
        if name not in wanted:
            continue
        event = label.events[name]
        if isinstance(event, Combined):
            yield Step(relation(name), moments_query(event))
            continue
        made = _made(event, data, _reads(bound, data, name, found))
        yield Step(relation(name), made, stored=_times_read(bound, name, found) > 1)
    if label.trigger == PERSON:
        yield Step(relation(PERSON), persons_query(label, data))


def _made(event: Predicate | FromLibrary | FromSql | Series, data: Data, reads: Reads) -> exp.Query:
    if isinstance(event, FromSql):
        return own_events(event, data)
    return series_query(event, data, reads) if isinstance(event, Series) else events_query(event, data, reads)


def _reads(bound: Bound, data: Data, name: str, found: list[Reading]) -> Reads:
    columns = set(bound.scope.used.events.get(name, set()))
    trigger = name == bound.label.trigger
    if trigger:
        columns |= set(bound.scope.used.trigger)
    mine = [reading for reading in found if reading.predicate == name]
    ids = {each for window in bound.label.windows.values() for each in window.same}
    # Who asks for an explanation sees the events in their order.
    ordered = data.subject is not None or any(reading.ordered for reading in mine)
    return Reads(columns, ids, ordered, trigger)


def _times_read(bound: Bound, name: str, found: list[Reading]) -> int:
    """How many steps read a predicate's events."""
    label = bound.label
    events = [event for event in label.events.values() if isinstance(event, Combined)]
    return (
        # The candidates are read again and again.
        2 * (name == label.trigger)
        + sum(reading.predicate == name for reading in found)
        + _bound_predicates(bound).count(name)
        + sum(members(event.expr).count(name) for event in events)
    )


def _needed(bound: Bound) -> set[str]:
    """The predicates that the label reads, and those that they are made of."""
    read = [bound.label.trigger, *bound.scope.used.events, *_bound_predicates(bound)]
    return _with_members(bound, read)


def _bound_predicates(bound: Bound) -> list[str]:
    refs = [ref for window in bound.label.windows.values() for ref in (window.start, window.end)]
    edges = [ref.edge for ref in (*refs, bound.label.index) if ref.edge is not None]
    return [*edges, *(str(ref.predicate) for ref in refs if ref.arrow)]


def _with_members(bound: Bound, names: Iterable[str]) -> set[str]:
    waiting, wanted = list(names), set[str]()
    while waiting:
        name = waiting.pop()
        if name in wanted:
            continue
        wanted.add(name)
        event = bound.label.events.get(name)
        if isinstance(event, Combined):
            waiting += members(event.expr)
    return wanted


def _placed(bound: Bound, data: Data) -> Iterator[Step]:
    """The candidates, and the bounds of their windows, computed when read unless they stand at events."""
    yield Step(_BASE, candidates_query(bound, data))
    # Only a handle: what comes out is ordered by patient, time and key.
    handle = exp.alias_(column("rowid"), "cand_id", quoted=True)
    base = with_bounds(exp.select(handle, exp.Star()).from_(table(_BASE)), bound)
    if _bound_predicates(bound):
        yield Step(_BOUNDED, base)
        base = exp.select(exp.Star()).from_(table(_BOUNDED))
    yield Step(CANDIDATES, base, stored=False)


def row_order() -> list[exp.Expr]:
    """The order of a label's rows: patient, prediction time, key (a shorter number first)."""
    key = column("key")
    return [column("subject_id"), column("prediction_time"), call("length", key), key]


# Windows and definitions.


def _wide(found: Iterable[Reading], names: set[str]) -> exp.Query:
    """The candidates with the counts and aggregates of some readings."""
    select = exp.select(_star()).from_(table(CANDIDATES, _C))
    for reading in found:
        select = select.join(table(reading.name), on=on_reading(reading), join_type="left", copy=False)
        if reading.counted:
            select = select.select(exp.alias_(count_value(reading), reading.name, quoted=True), copy=False)
        for name, aggregate in reading.aggregates:
            if name in names:
                value = aggregate_value(reading, name, aggregate)
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
    found = data.library(library.function.sql)
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
