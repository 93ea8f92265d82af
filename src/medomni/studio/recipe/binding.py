"""A label checked against its dataset's tables: names resolved, rules placed before or after the pick.

Rules on facts known at the prediction time come first (`where`, conditions of past windows), those on the
answer's own facts after the pick (`where_outcome`). An outcome's name among the former is refused: the
label could choose its moments by its answers. All problems of a label are found at once.

Leaves to others: what may be told (`scope`), SQL of windows (`windows`) and of the whole (`plan`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp

from medomni.studio.errors import RecipeError
from medomni.studio.recipe.aggregates import check_series_use
from medomni.studio.recipe.catalog import NUMBERS, Catalog, Kind
from medomni.studio.recipe.events import predicate_conditions
from medomni.studio.recipe.model import (
    Combined,
    Counts,
    Event,
    FromSql,
    Guard,
    Label,
    Predicate,
    Rule,
    Series,
    Window,
)
from medomni.studio.recipe.moments import combination_problem, members, views
from medomni.studio.recipe.naming import check_name, named_needs
from medomni.studio.recipe.own_query import check_query
from medomni.studio.recipe.reach import after_the_last
from medomni.studio.recipe.scope import Scope
from medomni.studio.recipe.sources import source_of
from medomni.studio.recipe.syntax import Ref, show, show_ref
from medomni.studio.recipe.values import (
    Need,
    Value,
    all_of,
    column,
    is_present,
    known,
    number,
    operate,
)

type Path = tuple[str | int, ...]
type Report = Callable[[Path, RecipeError], None]


@dataclass(frozen=True, slots=True)
class BoundRule:
    """A rule as SQL over the candidates; `outcome` rules come after the pick."""

    name: str
    sql: exp.Expr
    outcome: bool


@dataclass(slots=True)
class Bound:
    """A label whose names are all resolved."""

    label: Label
    scope: Scope
    rules: list[BoundRule]
    value: Value


def bind(label: Label, catalog: Catalog, report: Report) -> Bound | None:
    """The checked label; None if anything was reported.

    Args:
        label: The label.
        catalog: The dataset's tables.
        report: Is told each problem, with the path of the part that it is in.
    """
    reported = False

    def tell(path: Path, error: RecipeError) -> None:
        nonlocal reported
        reported = True
        report(path, error)

    try:
        scope = Scope(label, catalog)
    except RecipeError as error:
        tell(("index",) if "index" in error.code else ("trigger",), error)
        for path, problem in _predicate_problems(label, catalog):
            tell(path, problem)
        return None
    binder = _Binder(scope, tell)
    binder.everything()
    if reported or binder.value is None:
        return None
    return Bound(label, scope, binder.rules(), binder.value)


def _predicate_problems(label: Label, catalog: Catalog) -> Iterator[tuple[Path, RecipeError]]:
    try:
        views(label.events)
    except RecipeError as error:
        yield ("predicates",), error
    for name, event in label.events.items():
        try:
            _check_event(name, event, label, catalog)
        except RecipeError as error:
            part = "series" if isinstance(event, Series) else "predicates"
            yield ("sql",) if isinstance(event, FromSql) else (part, name), error


def _check_event(name: str, event: Event, label: Label, catalog: Catalog) -> None:
    """Refuse an event that cannot be computed.

    Raises:
        RecipeError: What is wrong with it.
    """
    if isinstance(event, FromSql):
        check_query(event, catalog)
        return
    check_name(name)
    source_of(event, catalog)
    rows = event.base if isinstance(event, Series) else event
    if isinstance(rows, Predicate):
        predicate_conditions(rows, catalog.table(rows.table), catalog)
    if isinstance(event, Combined):
        combination_problem(event, label.events)
        for member in members(event.expr):
            if isinstance(label.events.get(member), Series):
                raise RecipeError(f"{member!r} is a series, and no predicate", code="recipe-series")


class _Binder:
    def __init__(self, scope: Scope, tell: Report) -> None:
        self._scope = scope
        self._label = scope.label
        self._tell = tell
        self._past: dict[str, exp.Expr] = {}
        self._later: dict[str, exp.Expr] = {}
        self.value: Value | None = None

    def everything(self) -> None:
        """Check and place every part of the label."""
        for path, problem in _predicate_problems(self._label, self._scope.catalog):
            self._tell(path, problem)
        self._names()
        for name, window in self._label.windows.items():
            self._try(("windows", name), lambda window=window: self._window(window))  # type: ignore[misc]
        for name in self._label.definitions:
            self._try(("let", name), lambda name=name: self._scope.definition(name))  # type: ignore[misc]
        for index, rule in enumerate(self._label.where):
            self._try(("where", index), lambda rule=rule: self._where(rule))  # type: ignore[misc]
        for index, rule in enumerate(self._label.where_outcome):
            self._try(("where_outcome", index), lambda rule=rule: self._rule(rule, outcome=True))  # type: ignore[misc]
        self._try(("value",), self._value)
        for index, guard in enumerate(self._label.guards):
            self._try(("guards", index), lambda guard=guard: self._guard(guard))  # type: ignore[misc]

    def rules(self) -> list[BoundRule]:
        """The rules in their order: those before the pick first."""
        past = [BoundRule(name, sql, False) for name, sql in self._past.items()]
        return past + [BoundRule(name, sql, True) for name, sql in self._later.items()]

    def _try(self, path: Path, step: Callable[[], object]) -> None:
        try:
            step()
        except RecipeError as error:
            self._tell(path, error)

    def _names(self) -> None:
        label, seen = self._label, dict[str, str]()
        owners = self._scope.catalog.owners(self._scope.trigger.table) if self._scope.trigger.table else {}
        groups: list[tuple[str, list[str]]] = [
            ("let", list(label.definitions)),
            ("functions", list(label.macros)),
            ("windows", list(label.windows)),
            *(("windows", list(window.aggregates)) for window in label.windows.values()),
        ]
        for part, names in groups:
            for name in names:
                try:
                    check_name(name)
                    if name in seen or name in owners:
                        raise RecipeError(
                            f"the name {name!r} is used twice: {part}, {seen.get(name, 'tables')}",
                            code="recipe-name-reserved",
                        )
                    seen[name] = part
                except RecipeError as error:
                    self._tell((part, name) if part != "windows" or name in label.windows else (part,), error)

    # Windows.

    def _window(self, window: Window) -> None:
        scope, name = self._scope, window.name
        _check_bounds(window, scope)
        last = scope.last(window)
        if scope.prediction.closing and (last is None or last > 0):
            raise after_the_last(f"the window {name!r}")
        if not window.outcome and (last is None or last > 0):
            raise RecipeError(
                f"the window {name!r} reaches past the prediction time",
                hint="write `role: outcome`, and use what comes of it in where_outcome and value only",
                code="recipe-outcome-undeclared",
            )
        outcome = scope.window_outcome(window)
        for id_column in window.same:
            scope.used.trigger[id_column] = scope.trigger.kind(id_column)
        for bound, ref in (("start", window.start), ("end", window.end)):
            self._bound(window, bound, ref, outcome)
        for aggregate in window.aggregates:
            scope.aggregated(window, aggregate)
            found = scope.aggregates[aggregate][1]
            scope.used.events[found.predicate] |= found.reads
        check_series_use(window, [scope.aggregates[each][1] for each in window.aggregates])
        rules = [("has", key, pair) for key, pair in window.has.items()]
        rules += [("during", key, pair) for key, pair in window.during.items()]
        for part, predicate, pair in rules:
            self._counted(window, part, predicate, pair, alone=len(rules) == 1)

    def _bound(self, window: Window, bound: str, ref: Ref, outcome: str) -> None:
        for predicate in (ref.predicate, ref.edge):
            if predicate is not None:
                self._scope.source(predicate)
        may_lack = ref.arrow is not None or len(ref.anchor) > 1
        if len(ref.anchor) == 2 and ref.anchor[0] not in self._label.windows:
            kind = self._scope.resolve(ref.anchor).kind
            if kind is not Kind.TIME:
                raise RecipeError(f"{show_ref(ref)} is {kind}, and no moment", code="recipe-type")
        if may_lack:
            name = f"{window.name}.{bound}"
            self._need(Need(name, is_present(column(name)), outcome))

    def _counted(self, window: Window, part: str, predicate: str, pair: Counts, *, alone: bool) -> None:
        scope = self._scope
        source = scope.source(predicate)
        if part == "during" and not source.lasting:
            raise RecipeError(
                f"`during` needs intervals, and {predicate!r} has moments",
                hint="give the predicate `interval: [start, end]`",
                code="recipe-type",
            )
        for id_column in window.same:
            source.kind(id_column)
        outcome = scope.window_outcome(window)
        if part == "during" and not window.outcome:
            # Whether an interval that has begun still lasts is known at the prediction time itself.
            last = scope.last(window)
            outcome = "" if last is not None and last <= 0 else outcome
        outcome = outcome or scope.late_predicate(predicate)
        name = window.name if alone else f"{window.name}_{predicate}"
        count = column(count_column(window.name, predicate, part))
        low, high = pair
        parts = [operate(exp.GTE, count, number(low))] if low is not None else []
        parts += [operate(exp.LTE, count, number(high))] if high is not None else []
        self._place(name, all_of(parts), outcome=bool(outcome))

    # Rules.

    def _where(self, rule: Rule) -> None:
        self._rule(rule, outcome=False)

    def _rule(self, rule: Rule, *, outcome: bool) -> None:
        value = self._scope.compiler.condition(rule.expr)
        if value.outcome and not outcome:
            raise RecipeError(
                f"`{show(rule.expr)}` tells what is not known yet: {value.outcome}",
                hint="a rule on the answer's own facts belongs under where_outcome",
                code="recipe-outcome-early",
            )
        for need in named_needs(value.needs, rule.name):
            self._need(need)
        self._place(rule.name, value.sql, outcome=outcome)

    def _value(self) -> None:
        label, value = self._label, self._scope.compiler.compile(self._label.value)
        suits = {"binary": (Kind.BOOL, Kind.INTEGER), "ordinal": (Kind.INTEGER,), "number": NUMBERS}[
            label.kind
        ]
        if value.items or value.kind not in suits:
            raise RecipeError(
                f"the value of a label of type {label.kind} is {value.kind}", code="recipe-type"
            )
        for need in named_needs(value.needs, "value"):
            self._need(need)
        if value.nullable:
            self._need(Need("value", is_present(value.sql), "the value"))
        self.value = value

    def _need(self, need: Need) -> None:
        name = f"null:{need.name}"
        old = self._later.pop(name, None)
        outcome = bool(need.outcome) or old is not None
        earlier = old if old is not None else self._past.pop(name, None) if outcome else self._past.get(name)
        conditions = [need.present] if earlier is None else [earlier, need.present]
        target = self._later if outcome else self._past
        target[name] = known(all_of(dict.fromkeys(conditions)))

    def _place(self, name: str, sql: exp.Expr, *, outcome: bool) -> None:
        if name in self._past or name in self._later:
            raise RecipeError(f"two rules are called {name!r}", code="recipe-name-reserved")
        (self._later if outcome else self._past)[name] = sql

    def _guard(self, guard: Guard) -> None:
        refs = [guard.after, guard.before, *(guard.within or ())]
        for ref in (ref for ref in refs if ref is not None):
            anchor = ref.anchor
            if anchor in (("null",), ("index",), ("trigger",)) and ref.arrow is None:
                continue
            value = self._scope.resolve(anchor) if len(anchor) == 2 and ref.arrow is None else None
            if value is None or value.kind is not Kind.TIME:
                raise RecipeError(f"a guard cannot stand at {show_ref(ref)}", code="recipe-type")
            if value.outcome:
                raise RecipeError(
                    f"a guard at {show_ref(ref)} tells the answer: {value.outcome}",
                    code="recipe-outcome-early",
                )


def count_column(window: str, predicate: str, part: str) -> str:
    """The name of the column that counts a predicate's events in a window."""
    return f"{part} {window} {predicate}"


def _check_bounds(window: Window, scope: Scope) -> None:
    """Refuse a window that nothing can be in.

    Raises:
        RecipeError: `recipe-window-impossible` or `recipe-window-empty`.
    """
    if window.start.anchor == ("start",) or window.end.anchor == ("end",):
        raise RecipeError(f"a bound of {window.name!r} is its own anchor", code="recipe-circle")
    start, end = _position(window, window.start, scope), _position(window, window.end, scope)
    # A single moment is enough for intervals, and an open side asks that they go on.
    moment = window.during and not window.has and not window.aggregates
    if start is None or end is None or start[0] != end[0]:
        return
    if start[1] > end[1]:
        raise RecipeError(
            f"the window {window.name!r} ends before it starts", code="recipe-window-impossible"
        )
    if start[1] == end[1] and not moment and not (window.start_inclusive and window.end_inclusive):
        raise RecipeError(
            f"the window {window.name!r} has no length, and leaves out its own moment",
            code="recipe-window-empty",
        )


def _position(window: Window, ref: Ref, scope: Scope) -> tuple[tuple[str, ...], Decimal] | None:
    """A bound as an anchor and exact seconds from it; None where only the data tell."""
    seconds = Decimal(0)
    for _ in range(2 * len(scope.label.windows) + 3):
        if ref.arrow is not None or ref.anchor == ("null",):
            return None
        seconds += ref.seconds
        anchor = ref.anchor
        offset = scope.prediction.offset
        if anchor == ("trigger",) and offset is not None:
            return ("index",), seconds - offset
        if anchor in (("start",), ("end",)):
            ref = window.start if anchor == ("start",) else window.end
        elif len(anchor) == 2 and anchor[0] in scope.label.windows and anchor[1] in ("start", "end"):
            window = scope.label.windows[anchor[0]]
            ref = window.start if anchor[1] == "start" else window.end
        else:
            return anchor, seconds
    raise RecipeError(f"the bounds of {window.name!r} are a circle", code="recipe-circle")
