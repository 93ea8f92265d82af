"""The labels of a template's targets computed side by side, for the same moments of the same patients.

Each label has a session of its own in one database. The rules before the pick are counted label after
label; the pick is one for all, and whoever stays in fulfils the rules of every label.

Leaves to others: one label (`labels`), and which moment is picked (`select`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from medomni.studio.labels import Begun, LabelTable, RuleColumn, Tables, begin
from medomni.studio.queries import explained
from medomni.studio.recipe.binding import Bound
from medomni.studio.recipe.events import table
from medomni.studio.recipe.plan import EARLY, RESULT, Step, sql_text
from medomni.studio.recipe.values import Value, all_of, case, column, operate

if TYPE_CHECKING:
    import duckdb

_NEXT, _IDS = "early rows of all", "picked of all"
_SAME = ("subject_id", "prediction_time", "key", "turn")


@dataclass(frozen=True, slots=True)
class _Beside:
    """A release in a further session of an open database."""

    store: Tables
    connection: duckdb.DuckDBPyConnection = field(repr=False)

    @property
    def token(self) -> str:
        return self.store.token

    @property
    def present(self) -> frozenset[str]:
        return self.store.present

    def empty_columns(self, name: str) -> frozenset[str]:
        return self.store.empty_columns(name)

    def connect(
        self, *, memory_limit: str | None = None, threads: int | None = None
    ) -> duckdb.DuckDBPyConnection:
        return self.connection.cursor()


@dataclass(slots=True)
class Together:
    """Labels whose candidates are there, as `labels.Begun` is for one of them; the first leads."""

    _begun: list[Begun]
    _bounds: Sequence[Bound]

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The session of the first label."""
        return self._begun[0].connection

    @property
    def past_rules(self) -> list[str]:
        """The names of the rules before the pick, in the order in which they are counted."""
        return [
            _named(rule.name, bound, at)
            for at, bound in enumerate(self._bounds)
            for rule in bound.rules
            if not rule.outcome
        ]

    def early(self) -> None:
        """Compute the rules before the pick, as the relation `recipe.plan.EARLY` of the first session.

        Raises:
            LabelError: `label-query`, `label-memory`.
        """
        for at, begun in enumerate(self._begun):
            begun.early()
            if at:
                _share(begun.connection, f"early {at}", _with_turns())
        if len(self._begun) > 1:
            self._run(Step(_NEXT, self._joined()))
            self._run(Step(EARLY, exp.select(exp.Star()).from_(table(_NEXT))))

    def late(self, picked: exp.Query, extra: Mapping[str, Value]) -> LabelTable:
        """Compute everything of the candidates whose `cand_id` a query gives.

        The rows have the first label's answer as `value`, and `answer <label>` for each other one.

        Raises:
            LabelError: As `labels.label_table`.
        """
        if len(self._begun) == 1:
            return self._begun[0].late(picked, extra)
        chosen = exp.select(exp.Star()).from_(table(EARLY))
        self._run(Step(_IDS, chosen.where(exp.In(this=column("cand_id"), query=picked.subquery()))))
        for at in range(1, len(self._begun)):
            mine = exp.alias_(column(f"cand_id {at}"), "cand_id", quoted=True)
            _share(self.connection, f"picked {at}", exp.select(mine).from_(table(_IDS)))
        rows = self._begun[0].late(exp.select(column("cand_id")).from_(table(_IDS)), extra)
        notes = list(rows.notes)
        for at, (begun, bound) in enumerate(zip(self._begun[1:], self._bounds[1:], strict=True), start=1):
            ids = exp.select(column("cand_id")).from_(table(f"picked {at}"))
            with begun.late(ids, {}) as other:
                _share(other.connection, f"result {at}", _answers(bound, at))
                notes += other.notes
        self._run(Step(_NEXT, self._result()))
        self._run(Step(RESULT, exp.select(exp.Star()).from_(table(_NEXT))))
        rules = [
            RuleColumn(_named(rule.name, bound, at), rule.outcome)
            for at, bound in enumerate(self._bounds)
            for rule in bound.rules
        ]
        return LabelTable(
            rows.bound, rows.release, tuple(rules), tuple(dict.fromkeys(notes)), rows.connection
        )

    def _joined(self) -> exp.Query:
        """The candidates of all labels, with how many of all their rules before the pick they fulfil."""
        counts = [sum(not rule.outcome for rule in bound.rules) for bound in self._bounds]
        whens, before = [], 0
        for at, count in enumerate(counts):
            found = column("fulfilled", f"l{at}")
            total = operate(exp.Add, found, exp.Literal.number(str(before)))
            whens.append((operate(exp.LT, found, exp.Literal.number(str(count))), total))
            before += count
        fulfilled = case(whens, exp.Literal.number(str(before)))
        ids = [
            exp.alias_(column("cand_id", f"l{at}"), f"cand_id {at}", quoted=True)
            for at in range(1, len(counts))
        ]
        names = [column(name, "l0") for name in ("cand_id", "subject_id", "prediction_time", "key")]
        select = exp.select(*names, exp.alias_(fulfilled, "fulfilled", quoted=True), *ids)
        select = select.from_(_with_turns().subquery("l0"))
        for at in range(1, len(counts)):
            same = all_of(operate(exp.EQ, column(name, "l0"), column(name, f"l{at}")) for name in _SAME)
            select = select.join(table(f"early {at}", f"l{at}"), on=same, copy=False)
        return select

    def _result(self) -> exp.Query:
        """The rows of the first label with the answers and rules of the others; one row per patient."""
        several = range(1, len(self._bounds))
        star = exp.Star(except_=[exp.to_identifier("eligible", quoted=True)])
        outputs: list[exp.Expr] = [exp.Column(this=star, table=exp.to_identifier("l0", quoted=True))]
        for at in several:
            left_out = [exp.to_identifier(name, quoted=True) for name in ("subject_id", "eligible")]
            rest = exp.Star(except_=left_out)
            outputs.append(exp.Column(this=rest, table=exp.to_identifier(f"l{at}", quoted=True)))
        fits = all_of(column("eligible", f"l{at}") for at in range(len(self._bounds)))
        select = exp.select(*outputs, exp.alias_(fits, "eligible", quoted=True)).from_(table(RESULT, "l0"))
        for at in several:
            same = operate(exp.EQ, column("subject_id", "l0"), column("subject_id", f"l{at}"))
            select = select.join(table(f"result {at}", f"l{at}"), on=same, copy=False)
        return select

    def _run(self, step: Step) -> None:
        with explained(f"the labels of several targets, step {step.name!r}"):
            self.connection.execute(step.sql())

    def __enter__(self) -> Together:
        return self

    def __exit__(self, *_: object) -> None:
        # Further sessions first; the first one stays open if a table was made of it.
        for begun in reversed(self._begun):
            begun.__exit__()


def begin_together(
    store: Tables,
    bounds: Sequence[Bound],
    *,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> Together:
    """Find the candidates of labels that have the same ones.

    Args:
        store: The imported release.
        bounds: The labels; the first leads, and only its own names can be drawn by.
        memory_limit: What DuckDB may use.
        threads: How many.

    Raises:
        LabelError: As `labels.begin`.
    """
    together = Together([begin(store, bounds[0], memory_limit=memory_limit, threads=threads)], bounds)
    try:
        for bound in bounds[1:]:
            together._begun.append(begin(_Beside(store, together.connection), bound))
    except BaseException:
        together.__exit__()
        raise
    return together


def _named(rule: str, bound: Bound, at: int) -> str:
    return f"{bound.label.name}: {rule}" if at else rule


def _with_turns() -> exp.Select:
    """The early rows, and the how manyth each is of those that are alike."""
    turn = exp.Window(
        this=exp.Anonymous(this="row_number"),
        partition_by=[column(name) for name in _SAME[:-1]],
        order=exp.Order(expressions=[exp.Ordered(this=column("cand_id"))]),
    )
    return exp.select(exp.Star(), exp.alias_(turn, "turn", quoted=True)).from_(table(EARLY))


def _answers(bound: Bound, at: int) -> exp.Query:
    outputs: dict[str, exp.Expr] = {
        "subject_id": column("subject_id"),
        "eligible": column("eligible"),
        f"answer {bound.label.name}": column("value"),
        **{f"rule {_named(rule.name, bound, at)}": column(f"rule {rule.name}") for rule in bound.rules},
    }
    select = exp.select(*(exp.alias_(sql, name, quoted=True) for name, sql in outputs.items()))
    return select.from_(table(RESULT))


def _share(connection: duckdb.DuckDBPyConnection, name: str, query: exp.Query) -> None:
    """Keep rows where every session sees them."""
    made = exp.Create(this=table(name), kind="TABLE", replace=True, expression=query)
    with explained(f"the labels of several targets, step {name!r}"):
        connection.execute(sql_text(made))
