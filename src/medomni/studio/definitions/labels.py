"""Recipes and labels from files to typed objects.

Leaves to others: names, kinds and outcomes (`recipe.binding`), which the library of a dataset asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from medomni.studio.definitions.predicates import ICD_SYSTEMS, read_codes, read_event
from medomni.studio.definitions.reading import Reading
from medomni.studio.definitions.series import read_series
from medomni.studio.errors import RecipeError
from medomni.studio.recipe.model import Counts, Event, FromSql, Grid, Guard, Label, Macro, Rule, Window
from medomni.studio.recipe.parser import (
    parse_duration,
    parse_expression,
    parse_pair,
    parse_ref,
    parse_signature,
)
from medomni.studio.recipe.sources import PERSON
from medomni.studio.recipe.syntax import Call, Expr, Ref, show

type Imports = Callable[[str], Mapping[str, Event]]


def read_recipe(path: Path) -> dict[str, Event]:
    """The predicates of a recipe.

    Raises:
        UnknownDefinitionError: There is no such file.
        DocumentError: It is no readable YAML.
        IssuesError: With every problem of the file.
    """
    reading = Reading("recipe", path)
    if reading.sound:
        reading.named("recipe", path.stem)
    events = _events(reading, {}) if reading.sound else {}
    reading.refuse()
    return events


def _events(reading: Reading, imported: Mapping[str, Event]) -> dict[str, Event]:
    """The predicates and series of a file; a series may name a predicate of the file or an imported one."""
    found: dict[str, Event] = {}
    for name, value in reading.value.get("predicates", {}).items():
        event = reading.part(("predicates", name), lambda n=name, v=value: read_event(n, v))  # type: ignore[misc]
        if event is not None:
            found[name] = event
    known = {**imported, **found}
    for name, value in reading.value.get("series", {}).items():
        path = ("series", name)
        made = reading.part(path, lambda n=name, v=value: read_series(n, v, known))  # type: ignore[misc]
        if name in found:
            reading.fault(path, "recipe-name-reserved", f"a predicate is called {name!r} too")
        elif made is not None:
            found[name] = made
    return found


class LabelReading(Reading):
    """A label file while it is read; `label` is None where its form is not right."""

    def __init__(self, path: Path, dataset: str, imports: Imports) -> None:
        super().__init__("label", path)
        self.label: Label | None = None
        if not self.sound:
            return
        self.named("label", path.stem)
        self._dataset = dataset
        found = self._read(imports)
        if not self.issues:
            self.label = found

    def _read(self, imports: Imports) -> Label | None:
        value = self.value
        self._answer(value)
        self._parts(value)
        events = self._all_events(imports)
        grid = self._grid()
        index = self._index()
        answer = self.part(("value",), lambda: parse_expression(value.get("value", "trigger.value")))
        parts = {
            "definitions": self._expressions("let"),
            "macros": self._macros(),
            "windows": self._windows(),
            "where": self._rules("where"),
            "where_outcome": self._rules("where_outcome"),
            "guards": self._guards(),
        }
        if index is None or answer is None or self.issues:
            return None
        return Label(
            name=value["label"],
            dataset=self._dataset,
            version=value["version"],
            releases=tuple(value["requires"]["releases"]),
            question=value["question"],
            kind=value["type"],
            trigger=value.get("trigger", "sql"),
            index=index,
            grid=grid,
            strict=value.get("index", {}).get("side") == "before",
            value=answer,
            **_answer_form(value),
            imports=tuple(value.get("imports", ())),
            events=events,
            probes=value.get("probes", {}),
            expect=value.get("expect", {}),
            file=str(self.path),
            **parts,  # type: ignore[arg-type]
        )

    def _answer(self, value: Mapping[str, Any]) -> None:
        kind = value["type"]
        wanted = {"ordinal": ("classes",), "number": ("unit", "range"), "binary": ()}[kind]
        allowed = {"ordinal": ("classes",), "number": ("unit", "range", "decimals"), "binary": ()}[kind]
        for key in wanted:
            if key not in value:
                self.fault(("type",), "label-answer", f"a label of type {kind} needs {key}")
        for key in ("classes", "unit", "range", "decimals"):
            if key in value and key not in allowed:
                self.fault((key,), "label-answer", f"a label of type {kind} has no {key}")
        bounds = value.get("range")
        if bounds and not bounds[0] < bounds[1]:
            self.fault(("range",), "label-answer", "the range must rise")
        for index, release in enumerate(value["requires"]["releases"]):
            if not release.startswith(f"{self._dataset}/"):
                where = ("requires", "releases", index)
                self.fault(where, "label-release", f"{release} is no release of {self._dataset}")

    def _parts(self, value: Mapping[str, Any]) -> None:
        """A query of the label's own stands for the trigger, its moment, and the answer."""
        own = "sql" in value
        for key in ("trigger", "index", "value"):
            if not own and key not in value:
                self.fault((), "label-required", f"{key} is missing", "a label without `sql:` needs it")
            elif own and key in value and (key != "index" or set(value[key]) - {"side"}):
                what = f"{key} comes from the query of `sql:`"
                self.fault((key,), "label-sql", what, "remove it; of index only `side` may stand there")

    def _query(self, name: str) -> str:
        path = self.path.parent / name
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as failure:
            self.fault(("sql",), "label-sql", f"{name} beside the label cannot be read: {failure}")
            return ""

    def _all_events(self, imports: Imports) -> dict[str, Event]:
        found: dict[str, Event] = {}
        for index, recipe in enumerate(self.value.get("imports", ())):
            for name, event in imports(recipe).items():
                if name in found:
                    what = f"two imported recipes have a predicate {name!r}"
                    self.fault(("imports", index), "recipe-name-reserved", what)
                found[name] = event
        if "sql" in self.value:
            found["sql"] = FromSql("sql", self._query(self.value["sql"]), self.value["type"])
        for name, event in _events(self, found).items():
            if name in found:
                what = f"an imported recipe has a predicate {name!r} too"
                self.fault(("predicates", name), "recipe-name-reserved", what)
            found[name] = event
        return found

    def _index(self) -> Ref | None:
        index = self.value.get("index", {})
        if "grid" in index or "sql" in self.value:
            return parse_ref("trigger")
        if index.get("time") is None:
            person = self.value.get("trigger") == PERSON
            hint = "write {time: first(predicate.time)}" if person else "write {time: trigger}"
            self.fault(("index",), "recipe-index-missing", "index.time is missing", hint)
            return None
        return self.part(("index", "time"), lambda: parse_ref(index["time"]))

    def _grid(self) -> Grid | None:
        index = self.value.get("index", {})
        if ("grid" in index) is not ("pick" in index):
            what = "a grid and `pick: hash` belong together: one of its moments is used"
            self.fault(("index",), "recipe-grid", what)
        if "grid" not in index:
            return None
        if "time" in index or self.value.get("trigger") == PERSON:
            what = "a grid lies around a trigger with moments of its own, and takes no time"
            self.fault(("index",), "recipe-grid", what, "remove `time`; let a predicate be the trigger")
        value = index["grid"]
        return self.part(("index", "grid"), lambda: _read_grid(value))

    def _expressions(self, key: str) -> dict[str, Expr]:
        found = {}
        for name, text in self.value.get(key, {}).items():
            expr = self.part((key, name), lambda text=text: parse_expression(text))  # type: ignore[misc]
            if expr is not None:
                found[name] = expr
        return found

    def _macros(self) -> dict[str, Macro]:
        found: dict[str, Macro] = {}
        for signature, text in self.value.get("functions", {}).items():
            read = self.part(
                ("functions", signature),
                lambda s=signature, t=text: (parse_signature(s), parse_expression(t)),  # type: ignore[misc]
            )
            if read is None:
                continue
            (name, parameters), body = read
            if name in found:
                self.fault(
                    ("functions", signature), "recipe-name-reserved", f"two functions are called {name!r}"
                )
            found[name] = Macro(parameters, body)
        return found

    def _rules(self, key: str) -> tuple[Rule, ...]:
        found = []
        for index, rule in enumerate(self.value.get(key, ())):
            name, text = next(iter(rule.items())) if isinstance(rule, Mapping) else ("", rule)
            expr = self.part((key, index), lambda text=text: parse_expression(text))  # type: ignore[misc]
            if expr is not None:
                found.append(Rule(name or show(expr), expr))
        return tuple(found)

    def _windows(self) -> dict[str, Window]:
        found = {}
        for name, value in self.value.get("windows", {}).items():
            window = self.part(("windows", name), lambda n=name, v=value: _window(n, v))  # type: ignore[misc]
            if window is not None:
                found[name] = window
        return found

    def _guards(self) -> tuple[Guard, ...]:
        found = []
        for index, value in enumerate(self.value.get("guards", ())):
            guard = self.part(("guards", index), lambda value=value: read_guard(value))  # type: ignore[misc]
            if guard is not None:
                found.append(guard)
        return tuple(found)


def _answer_form(value: Mapping[str, Any]) -> dict[str, Any]:
    bounds = value.get("range")
    return {
        "classes": tuple(str(each) for each in value.get("classes", ())),
        "unit": value.get("unit", ""),
        "range": (Decimal(str(bounds[0])), Decimal(str(bounds[1]))) if bounds else None,
        "decimals": value.get("decimals"),
    }


def _read_grid(value: Mapping[str, Any]) -> Grid:
    every = parse_duration(value["every"])
    if every < 1 or every * 1_000_000 != int(every * 1_000_000):
        raise RecipeError(f"a grid cannot go every {value['every']}", code="recipe-grid")
    return Grid(parse_ref(value["start"]), parse_ref(value["end"]), every)


def _window(name: str, value: Mapping[str, Any]) -> Window:
    aggregates: dict[str, Call] = {}
    for key, text in value.get("agg", {}).items():
        call = parse_expression(text)
        if not isinstance(call, Call) or call.version is not None:
            raise RecipeError(
                f"`{text}` is no computation such as min(creatinine.value)", code="recipe-syntax"
            )
        aggregates[key] = call
    return Window(
        name=name,
        start=parse_ref(value["start"]),
        end=parse_ref(value["end"]),
        start_inclusive=value["start_inclusive"],
        end_inclusive=value["end_inclusive"],
        has=_counts(value.get("has", {})),
        during=_counts(value.get("during", {})),
        aggregates=aggregates,
        outcome=value.get("role") == "outcome",
        same=tuple(value.get("same", ())),
        lookahead=parse_duration(value["lookahead"]) if "lookahead" in value else Decimal(0),
    )


def _counts(value: Mapping[str, Any]) -> dict[str, Counts]:
    return {name: parse_pair(pair) for name, pair in value.items()}


def read_guard(value: Mapping[str, Any]) -> Guard:
    """A guard.

    Raises:
        RecipeError: What is wrong with one of its parts.
    """
    tables = value.get("table", ())
    where = value.get("where", "all" if "table" in value else {})
    if isinstance(where, str) and where != "all":
        raise RecipeError(f"where is {where!r}, and must be all or say which rows", code="recipe-guard")
    rule: Mapping[str, Any] = {} if isinstance(where, str) else where
    within = value.get("within")
    return Guard(
        family=value.get("family"),
        tables=(tables,) if isinstance(tables, str) else tuple(tables),
        columns=tuple(value.get("columns", ())),
        everything=where == "all",
        codes=_guard_codes(rule),
        rule_columns=_rule_columns(rule),
        pattern=rule.get("regex"),
        after=parse_ref(value["after"]) if "after" in value else None,
        before=parse_ref(value["before"]) if "before" in value else None,
        within=(parse_ref(within[0]), parse_ref(within[1])) if within else None,
    )


def _guard_codes(rule: Mapping[str, Any]) -> Any:
    keys = ("dict", "label_regex", "fluid", "category", "match", *ICD_SYSTEMS)
    plain = {key: rule[key] for key in keys if key in rule}
    if "code" in rule and plain:
        raise RecipeError("`code` and further code lists cannot stand side by side", code="recipe-guard")
    if "code" in rule:
        return read_codes(rule["code"])
    return read_codes(plain) if plain else None


def _rule_columns(rule: Mapping[str, Any]) -> tuple[str, ...]:
    columns = tuple(rule.get("column_any", ())) or ((rule["column"],) if "column" in rule else ())
    if bool(columns) is not ("regex" in rule):
        raise RecipeError("`column` (or `column_any`) and `regex` belong together", code="recipe-guard")
    return columns
