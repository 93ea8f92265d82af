"""A cohort drawn from a label: candidates, rules, the pick of one event per patient, strata, the draw.

The order is fixed: rules on facts known at the prediction time, then the pick by hash, then the rules on
outcomes (a patient whose picked event fails is out; another of that patient's events is not taken), then
strata. Every step is counted, in events and in people.

Leaves to others: the label itself (`labels`), what the agent sees (evidence), pictures (`flow`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from sqlglot import exp

from medomni.core.names import Pair
from medomni.studio.definitions.families import Families, read_families
from medomni.studio.definitions.library import Library
from medomni.studio.definitions.templates import Cohort, Template
from medomni.studio.draw import Drawn, Row, draw, reference
from medomni.studio.errors import CohortError
from medomni.studio.labels import LabelTable, Tables
from medomni.studio.partition import with_family
from medomni.studio.queries import run
from medomni.studio.recipe.binding import Bound
from medomni.studio.recipe.candidates import iso
from medomni.studio.recipe.catalog import NUMBERS, Kind, unknown
from medomni.studio.recipe.events import Data, table
from medomni.studio.recipe.origins import origin
from medomni.studio.recipe.plan import EARLY, RESULT, Step
from medomni.studio.recipe.values import Value, all_of, call, cast, column, operate, text
from medomni.studio.several import Together, begin_together

_PICKED, _NEXT = "picked", "picked next"
# Releases whose cohorts count; the others are for trying out.
FOR_SCORES = ("real",)


@dataclass(frozen=True, slots=True)
class StepCount:
    """How many events and people were there before and after a step."""

    step: str
    rule: str
    events_before: int
    events_after: int
    people_before: int
    people_after: int


@dataclass(frozen=True, slots=True)
class Selection:
    """A drawn cohort.

    Attributes:
        atoms: Patients with their moment, answer and stratum, in the order of patients.
        steps: Counts of every step.
        reference: What everybody may know of the eligible: number, shares or quantiles.
        notes: Rules that could not be applied.
        warnings: Why no score over the cohort means anything.
        eligible: Everybody who could have been drawn, in the order of their hash, for probes of the build.
    """

    pair: Pair
    version: int
    release: str
    atoms: tuple[Drawn, ...]
    steps: tuple[StepCount, ...]
    reference: dict[str, Any]
    notes: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    eligible: tuple[Row, ...] = field(default=(), repr=False)


def select(
    store: Tables,
    library: Library,
    pair: Pair,
    template: Template,
    cohort: Cohort,
    *,
    release_class: str,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> Selection:
    """Draw a cohort.

    Args:
        store: The imported release that the cohort names.
        library: The dataset's labels.
        pair: Template and cohort.
        template: The template.
        cohort: The cohort.
        release_class: `real`, `demo` or `dummy`.
        memory_limit: What DuckDB may use.
        threads: How many.

    Raises:
        CohortError: `cohort-release`, `cohort-empty`, `cohort-one-class`, `cohort-short-stratum`,
            `cohort-eligible`, with the counts of every rule; `cohort-draw`, `cohort-family-unknown`,
            `cohort-unsupported`.
        LabelError: As `label_table`.
    """
    if store.token != cohort.release:
        raise CohortError(f"{pair} is of {cohort.release}, and {store.token} is open", code="cohort-release")
    bounds = _labels(template, cohort, library)
    bound = bounds[0]
    extra = _extra(bound, cohort)
    families = _families(library, cohort)
    prefix = f"{pair.template}|{pair.cohort}|v{cohort.version}|"
    with begin_together(store, bounds, memory_limit=memory_limit, threads=threads) as begun:
        begun.early()
        steps = _past_steps(begun, bound)
        rows = begun.late(_picked(len(begun.past_rules), prefix), extra)
    with rows:
        rows.connection.execute(Step(_PICKED, exp.select(exp.Star()).from_(table(RESULT))).sql())
        steps += _later_steps(rows, steps[-1])
        steps += _family_steps(rows, families, cohort, Data(library.catalog, store.present), steps[-1])
        eligible = _eligible(rows, prefix, list(extra), bounds)
        notes = rows.notes
    told_only = cohort.n is None and release_class not in FOR_SCORES
    warnings: tuple[str, ...] = ()
    for each in bounds:
        warnings += _check_classes(eligible, each, pair, steps, told_only=told_only)
        _check_eligible(eligible, each, pair, steps, release_class)
    atoms = draw(eligible, cohort, bound.label, release_class=release_class, counts=counts_text(steps))
    people = len(eligible)
    steps.append(StepCount("draw", f"n: {cohort.n or 'all'}", people, len(atoms), people, len(atoms)))
    labels = {each.label.name: each.label for each in bounds}
    told = {target.name: reference(eligible, labels[target.label]) for target in template.targets}
    drawn = (tuple(_named(atoms, template)), tuple(steps), told, notes, warnings, tuple(eligible))
    return Selection(pair, cohort.version, store.token, *drawn)


def _labels(template: Template, cohort: Cohort, library: Library) -> list[Bound]:
    """The labels of the targets, each once; the one that the strata go by leads."""
    names = dict.fromkeys(target.label for target in template.targets)
    leading = cohort.strata_label or next(iter(names))
    bounds = [library.label(name) for name in (leading, *(name for name in names if name != leading))]
    for other in bounds[1:]:
        if origin(other.label) != origin(bounds[0].label):
            raise CohortError(
                f"{leading!r} and {other.label.name!r} are not asked at the same moments",
                hint="the labels of one template need the same trigger and the same index",
                code="cohort-unsupported",
            )
    return bounds


def _named(atoms: Sequence[Drawn], template: Template) -> list[Drawn]:
    """The drawn with their answers by target."""
    return [
        replace(each, answers={target.name: each.answers[target.label] for target in template.targets})
        for each in atoms
    ]


def _families(library: Library, cohort: Cohort) -> Families | None:
    if not cohort.require_families:
        return None
    found = read_families(library.workspace.recipe(library.dataset.name, "families"), library.catalog)
    for name in cohort.require_families:
        if name not in found.names:
            problem = unknown("family", name, list(found.names))
            raise CohortError(problem.what, hint=problem.hint, code="cohort-family-unknown")
    return found


def _family_steps(
    rows: LabelTable, families: Families | None, cohort: Cohort, data: Data, before: StepCount
) -> list[StepCount]:
    """Leave out patients who have nothing of a required family at their prediction time."""
    steps: list[StepCount] = []
    if families is None:
        return steps
    for name in cohort.require_families:
        there = with_family(families, name, data, _PICKED, strict=rows.bound.label.strict)
        inside = exp.In(this=column("cand_id"), query=there.subquery())
        query = exp.select(exp.Star()).from_(table(_PICKED)).where(all_of([inside, column("eligible")]))
        rows.connection.execute(Step(_NEXT, query).sql())
        rows.connection.execute(Step(_PICKED, exp.select(exp.Star()).from_(table(_NEXT))).sql())
        people = _count(rows, _PICKED, [])[0][1]
        last = steps[-1] if steps else before
        steps.append(StepCount("family", name, last.events_after, people, last.people_after, people))
    return steps


def _extra(bound: Bound, cohort: Cohort) -> dict[str, Value]:
    """Values that the draw reads; they must have been known at the prediction time."""
    names = [each[0] for each in (cohort.match, cohort.prefer) if each is not None]
    found = {}
    for name in names:
        value = bound.scope.resolve(tuple(name.split(".")))
        if value.outcome:
            raise CohortError(f"the draw may not read {name!r}: {value.outcome}", code="recipe-outcome-early")
        found[name] = value
    _check_kinds(found, cohort)
    return found


def _check_kinds(values: Mapping[str, Value], cohort: Cohort) -> None:
    """Refuse distances between values that are no numbers, and preferred values that cannot occur."""
    if cohort.match is not None and values[cohort.match[0]].kind not in NUMBERS:
        name = cohort.match[0]
        raise CohortError(
            f"patients cannot be matched on {name!r}, which is {values[name].kind}",
            hint="match on a number",
            code="cohort-draw",
        )
    if cohort.prefer is not None:
        name, order = cohort.prefer
        kind = values[name].kind
        fitting = (str,) if kind is Kind.TEXT else (int, float, Decimal) if kind in NUMBERS else ()
        wrong = [each for each in order if not isinstance(each, fitting)]
        if wrong:
            raise CohortError(
                f"{name!r} is {kind}, and is never {wrong[0]!r}",
                hint="prefer values that can occur: of a text or a number",
                code="cohort-draw",
            )


# Counting.


def _count(rows: LabelTable, relation: str, rules: Sequence[str]) -> list[tuple[int, int]]:
    """Events and people that fulfil the first 0, 1, 2 … rules, in one pass."""
    outputs: list[exp.Expr] = []
    for length in range(len(rules) + 1):
        there = exp.Where(this=all_of(column(f"rule {name}") for name in rules[:length]))
        people = exp.Count(this=exp.Distinct(expressions=[column("subject_id")]))
        outputs.append(exp.Filter(this=exp.Count(this=exp.Star()), expression=there))
        outputs.append(exp.Filter(this=people, expression=there.copy()))
    found = rows.fetch(exp.select(*outputs).from_(table(relation)))[0]
    return [(int(found[2 * index]), int(found[2 * index + 1])) for index in range(len(rules) + 1)]


def _past_steps(begun: Together, bound: Bound) -> list[StepCount]:
    """How many events, and how many people with one, fulfil the first 0, 1, 2 … rules before the pick."""
    names = begun.past_rules
    events, people = ([0] * (len(names) + 1) for _ in range(2))
    best = exp.select(exp.alias_(call("max", column("fulfilled")), "fulfilled", quoted=True))
    best = best.from_(table(EARLY)).group_by(column("subject_id"))
    for counts, source in ((events, table(EARLY)), (people, best.subquery("b"))):
        levels = exp.select(column("fulfilled"), exp.Count(this=exp.Star())).from_(source)
        for level, count in run(begun.connection, levels.group_by(column("fulfilled"))):
            for length in range(level + 1):
                counts[length] += count
    first = StepCount("candidates", bound.label.trigger, events[0], events[0], people[0], people[0])
    return [first, *_steps("where", names, list(zip(events, people, strict=True)))]


def _later_steps(rows: LabelTable, before: StepCount) -> list[StepCount]:
    names = [rule.name for rule in rows.rules if rule.outcome]
    counts = _count(rows, _PICKED, names)
    events, people = counts[0]
    pick = StepCount(
        "pick", "one event per patient", before.events_after, events, before.people_after, people
    )
    return [pick, *_steps("where_outcome", names, counts)]


def _steps(step: str, names: Sequence[str], counts: Sequence[tuple[int, int]]) -> list[StepCount]:
    return [
        StepCount(step, name, counts[at][0], counts[at + 1][0], counts[at][1], counts[at + 1][1])
        for at, name in enumerate(names)
    ]


def counts_text(steps: Sequence[StepCount]) -> str:
    """The counts of every step in one line each."""
    return "\n".join(
        f"  {each.step} {each.rule}: {each.events_after} events, {each.people_after} people" for each in steps
    )


# The pick.


def _picked(whole: int, prefix: str) -> exp.Query:
    """One event of each patient that fulfils all rules so far, by the lowest hash: no outcome is read."""
    subject, bar = cast(column("subject_id"), "VARCHAR"), text("|")
    named = call("concat", text(prefix), subject, bar, iso(column("prediction_time")), bar, column("key"))
    # Events of one name are alike in every column.
    chosen = call("arg_min", column("cand_id"), call("sha256", named))
    query = exp.select(exp.alias_(chosen, "cand_id", quoted=True)).from_(table(EARLY))
    fulfilled = operate(exp.EQ, column("fulfilled"), exp.Literal.number(str(whole)))
    return query.where(fulfilled).group_by(column("subject_id"))


def _eligible(rows: LabelTable, prefix: str, extra: Sequence[str], bounds: Sequence[Bound]) -> list[Row]:
    """The picked events that fulfil every rule, in the order of the draw."""
    digest = call("sha256", call("concat", text(prefix), cast(column("subject_id"), "VARCHAR")))
    outputs = [
        column("subject_id"),
        iso(column("prediction_time")),
        column("key"),
        column("value"),
        exp.alias_(digest, "digest", quoted=True),
        *(column(f"answer {each.label.name}") for each in bounds[1:]),
        *(column(f"extra {name}") for name in extra),
    ]
    labels = [each.label.name for each in bounds]
    query = exp.select(*outputs).from_(table(_PICKED)).where(column("eligible"))
    found = rows.fetch(query.order_by(column("digest"), column("subject_id")))
    rest = 4 + len(bounds)
    return [
        Row(
            int(row[0]),
            *(row[1], row[2], row[3], row[4]),
            dict(zip(extra, row[rest:], strict=True)),
            dict(zip(labels, (row[3], *row[5:rest]), strict=True)),
        )
        for row in found
    ]


def _check_classes(
    eligible: Sequence[Row], bound: Bound, pair: Pair, steps: Sequence[StepCount], *, told_only: bool
) -> tuple[str, ...]:
    """Refuse a cohort of nobody or of one class; with `told_only`, one class is a warning."""
    counts = counts_text(steps)
    if not eligible:
        raise CohortError(f"{pair} has no eligible patient", hint=f"counts:\n{counts}", code="cohort-empty")
    values = {row.answers[bound.label.name] for row in eligible}
    if bound.label.kind == "number" or len(values) > 1:
        return ()
    what = f"every eligible patient of {pair} has the answer {values.pop()} to {bound.label.name!r}"
    if told_only:
        return (f"{what}: only one class occurs, and a score over it means nothing",)
    raise CohortError(
        what, hint=f"a score over one class means nothing; counts:\n{counts}", code="cohort-one-class"
    )


def _check_eligible(
    eligible: Sequence[Row], bound: Bound, pair: Pair, steps: Sequence[StepCount], release_class: str
) -> None:
    label, counts = bound.label, counts_text(steps)
    expected = label.expect.get(release_class, {})
    least = expected.get("eligible_min", 0)
    if len(eligible) < least:
        raise CohortError(
            f"{pair} has {len(eligible)} eligible patients, and the label expects {least} or more",
            hint=f"look at the rules, or at what was imported; counts:\n{counts}",
            code="cohort-eligible",
        )
    share = expected.get("class_share_min", 0)
    classes = range(2 if label.kind == "binary" else len(label.classes)) if label.kind != "number" else ()
    for each in classes:
        found = sum(row.answers[label.name] == each for row in eligible)
        if found < share * len(eligible):
            raise CohortError(
                f"class {each} of {label.name!r} has {found} of {len(eligible)} eligible patients,"
                f" and the label expects a share of {share} or more",
                hint=f"counts:\n{counts}",
                code="cohort-eligible",
            )
