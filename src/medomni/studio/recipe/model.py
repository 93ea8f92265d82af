"""Labels and what they are made of, as typed objects.

Leaves to others: reading them from files (`definitions`), checking names (`binding`), SQL (`events`, `plan`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from medomni.studio.recipe.syntax import Call, Expr, Ref

type Scalar = str | int | Decimal
type Counts = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class Codes:
    """Which codes a row may have.

    Attributes:
        any_of: These codes. prefixes: Codes that begin so. pattern: Codes that this regular expression
        finds something in. icd: By version (`icd9`, `icd10`, `icd9pcs`, `icd10pcs`): codes without dots;
        `exact` says whether whole. dictionary: Codes of this table's rows whose label fulfils
        `label_pattern` and `labels`. labels: Columns of the dictionary and the values that they may have.
    """

    any_of: tuple[str | int, ...] = ()
    prefixes: tuple[str, ...] = ()
    pattern: str | None = None
    icd: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    exact: bool = False
    dictionary: str | None = None
    label_pattern: str | None = None
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ColumnRule:
    """Values that a column may have, or a pattern that must be found in it.

    Attributes:
        values_of: Table and column: any value that occurs there in the release.
    """

    column: str
    values: tuple[Scalar, ...] = ()
    pattern: str | None = None
    values_of: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Predicate:
    """Rows of one table, each an event of a patient.

    Attributes:
        interval: Columns of start and end, for states that last.
        value: Column with the number or text that `<predicate>.value` means.
        units: Allowed texts of the unit; a row with another is an error, not a miss.
        low: Least value, and whether it is allowed itself; `high` alike.
        time: Column with the moment of the event, where it is not the table's own.
    """

    name: str
    table: str
    codes: Codes | None = None
    where: tuple[Expr, ...] = ()
    interval: tuple[str, str] | None = None
    columns: tuple[ColumnRule, ...] = ()
    value: str | None = None
    units: tuple[str, ...] = ()
    low: tuple[Decimal, bool] | None = None
    high: tuple[Decimal, bool] | None = None
    time: str | None = None


@dataclass(frozen=True, slots=True)
class Combined:
    """Moments at which other predicates have events: one event per patient and moment."""

    name: str
    expr: Expr


@dataclass(frozen=True, slots=True)
class FromLibrary:
    """Events that a function of the library makes: `suspicion_of_infection@1`."""

    name: str
    function: str
    version: int
    time: str | None = None


@dataclass(frozen=True, slots=True)
class FromSql:
    """The candidates and answers that a label's own query gives: the escape hatch `sql:`.

    Attributes:
        text: The query, as it stands in its file.
        kind: Of the label: `binary`, `ordinal` or `number`.
    """

    name: str
    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class Resample:
    """Samples at even moments: each stands for the stretch of `every` seconds that ends with it.

    Attributes:
        how: `last`, `first`, `mean`, `median`, `min` or `max` of the samples in the stretch.
        max_hold: Seconds for which a sample is held where later stretches have none; None: not at all.
    """

    every: Decimal
    how: str
    max_hold: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """Measurements of a predicate as a signal: mapped, cleaned, at even moments.

    Attributes:
        base: The rows; it has a value.
        mapped: Texts that stand for numbers, where the value is text; None where it is a number.
        low: Least value that is kept; `high` alike, both inclusive.
        max_step: Greatest distance from the sample before that is kept.
        dedup: Whether one sample of each moment is kept.
    """

    name: str
    base: Predicate
    mapped: tuple[tuple[str, Decimal], ...] | None = None
    low: Decimal | None = None
    high: Decimal | None = None
    max_step: Decimal | None = None
    resample: Resample | None = None
    dedup: bool = False


type Event = Predicate | Combined | FromLibrary | FromSql | Series


@dataclass(frozen=True, slots=True)
class Grid:
    """Prediction times at even steps of `every` seconds, from `start` to at most `end`."""

    start: Ref
    end: Ref
    every: Decimal


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of time around the prediction, what must be in it, and what is computed from it.

    Attributes:
        has: Predicate to the least and greatest number of its events inside.
        during: The same for intervals that meet the window.
        aggregates: Name to a call such as `min(creatinine.value)`.
        outcome: Whether it may lie after the prediction time.
        same: Id columns that an event must share with the trigger.
        lookahead: Seconds after the end for which a run that began inside may go on.
    """

    name: str
    start: Ref
    end: Ref
    start_inclusive: bool
    end_inclusive: bool
    has: Mapping[str, Counts] = field(default_factory=dict)
    during: Mapping[str, Counts] = field(default_factory=dict)
    aggregates: Mapping[str, Call] = field(default_factory=dict)
    outcome: bool = False
    same: tuple[str, ...] = ()
    lookahead: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition with the name that counts and tables call it by."""

    name: str
    expr: Expr


@dataclass(frozen=True, slots=True)
class Macro:
    """A function that a label defines."""

    parameters: tuple[str, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class Guard:
    """Rows, columns or a whole family that restate the target and are removed from the evidence.

    Attributes:
        after: Only rows after this moment; `before` and `within` alike.
    """

    family: str | None = None
    tables: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    everything: bool = False
    codes: Codes | None = None
    rule_columns: tuple[str, ...] = ()
    pattern: str | None = None
    after: Ref | None = None
    before: Ref | None = None
    within: tuple[Ref, Ref] | None = None


@dataclass(frozen=True, slots=True)
class Label:
    """A label: what is asked, of whom and when, and what would give the answer away.

    Attributes:
        kind: `binary`, `ordinal` or `number`.
        trigger: The predicate whose events are the candidates; `person` for one candidate per patient.
        index: The prediction time; `strict` leaves out what happens at that very moment (`side: before`).
        grid: Several prediction times for each event of the trigger; `index` is then the trigger.
        where: Rules on facts known then; `where_outcome` on the answer's own.
        places: File and line of each part, by its path, for messages.
    """

    name: str
    dataset: str
    version: int
    releases: tuple[str, ...]
    question: str
    kind: str
    trigger: str
    index: Ref
    strict: bool
    value: Expr
    classes: tuple[str, ...] = ()
    unit: str = ""
    range: tuple[Decimal, Decimal] | None = None
    decimals: int | None = None
    imports: tuple[str, ...] = ()
    events: Mapping[str, Event] = field(default_factory=dict)
    definitions: Mapping[str, Expr] = field(default_factory=dict)
    macros: Mapping[str, Macro] = field(default_factory=dict)
    windows: Mapping[str, Window] = field(default_factory=dict)
    where: tuple[Rule, ...] = ()
    where_outcome: tuple[Rule, ...] = ()
    guards: tuple[Guard, ...] = ()
    probes: Mapping[str, Any] = field(default_factory=dict)
    expect: Mapping[str, Any] = field(default_factory=dict)
    file: str = ""
    grid: Grid | None = None
