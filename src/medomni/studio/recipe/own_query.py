"""The escape hatch `sql:`: a label's own query, checked before it ever runs.

It is one SELECT over declared tables, with functions from a list: none that read files, reach a network, or
give another result every time. It is then prepared against empty tables in a database that may open nothing,
which finds unknown columns and tells the kinds of what comes out.

Leaves to others: whether its prediction times look ahead. Nobody can tell that from SQL, so that no label of
this repository uses it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import sqlglot
from sqlglot import exp

from medomni.studio.errors import RecipeError
from medomni.studio.recipe.catalog import Catalog, unknown
from medomni.studio.recipe.events import Data, relation, table
from medomni.studio.recipe.library.shape import empty_table, query
from medomni.studio.recipe.model import FromSql
from medomni.studio.recipe.values import any_of, cast, column, is_missing, number, operate

COLUMNS = ("subject", "index_time", "value")
_S = "s"
# Names of SQLGlot's nodes; whatever is not here is refused, so that a new kind of function is too.
_NODES = """
    Abs And ArgMax ArgMin Array Avg Case Cast Ceil Coalesce Concat Contains Corr Count CountIf CovarPop
    CovarSamp CumeDist DateBin DateDiff DateFromParts DateTrunc Day DayOfMonth DayOfWeek DayOfYear DenseRank
    EndsWith Exists Exp Extract FirstValue Floor Greatest Hour If Lag LastValue Lead Least Left Length Ln Log
    LogicalAnd LogicalOr Lower Max Median Min Minute Month NthValue Ntile Nullif Or PercentRank
    PercentileCont PercentileDisc Pow Quantile Quarter Rank RegexpExtract RegexpILike RegexpLike
    RegexpReplace RegrIntercept RegrSlope Replace Right Round RowNumber Second Sign SplitPart Sqrt StartsWith
    Stddev StddevPop StddevSamp Substring Sum TimeToStr TimeToUnix TimestampFromParts TimestampTrunc ToDays
    Trim TryCast TsOrDsToDate Upper Variance VariancePop Week Xor Year
"""
_NAMES = """
    date_part epoch_ms epoch_us isfinite suffix to_hours to_microseconds to_milliseconds to_minutes
    to_seconds trunc
"""
_FUNCTIONS, _BY_NAME = frozenset(_NODES.split()), frozenset(_NAMES.split())
_REFUSED_PARTS = (
    exp.TableSample,
    exp.Placeholder,
    exp.Parameter,
    exp.SessionParameter,
    exp.Into,
    exp.Command,
)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WHOLE = ("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_SUBJECTS = _WHOLE[1:]


def read_query(event: FromSql, catalog: Catalog) -> exp.Query:
    """The tree of a label's query, over the views of the declared tables.

    Raises:
        RecipeError: `recipe-sql`: not one SELECT; `recipe-sql-function`; `recipe-table-unknown`.
    """
    try:
        trees = [tree for tree in sqlglot.parse(event.text, dialect="duckdb") if tree is not None]
    except sqlglot.errors.SqlglotError as failure:
        first = re.sub(r"\x1b\[\d*m", "", str(failure)).splitlines()[0]
        raise RecipeError(f"the query cannot be read: {first}", code="recipe-sql") from failure
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise RecipeError("the file must hold one SELECT, and nothing else", code="recipe-sql")
    tree = trees[0]
    for node in tree.find_all(*_REFUSED_PARTS):
        raise RecipeError(f"`{node.sql(dialect='duckdb')}` is not allowed in a query", code="recipe-sql")
    _check_functions(tree)
    _place_tables(tree, catalog)
    return tree


def _check_functions(tree: exp.Query) -> None:
    for node in tree.find_all(exp.Func):
        plain = isinstance(node, exp.Anonymous)
        name = str(node.this).lower() if plain else type(node).__name__
        if name not in (_BY_NAME if plain else _FUNCTIONS):
            shown = name if plain else node.sql_name().lower()
            raise RecipeError(
                f"the function {shown} is not allowed in a query",
                hint="a query may compute; it may read no file, setting, clock or chance",
                code="recipe-sql-function",
            )


def _place_tables(tree: exp.Query, catalog: Catalog) -> None:
    own = {each.alias.lower() for each in tree.find_all(exp.CTE)}
    for name in sorted(own):
        # DuckDB would look for a file of a name with a dot, wherever the query's own name does not reach.
        if not _PLAIN.fullmatch(name):
            raise RecipeError(f"{name!r} is no plain name for a part of a query", code="recipe-sql")
    for each in list(tree.find_all(exp.Table)):
        if not isinstance(each.this, exp.Identifier) or each.catalog:
            raise RecipeError(
                f"`{each.sql(dialect='duckdb')}` is no declared table",
                hint="write <module>.<table>, such as hosp.labevents",
                code="recipe-sql",
            )
        name = (f"{each.db}.{each.name}" if each.db else each.name).lower()
        if name in catalog.tables:
            alias = each.alias or name.rpartition(".")[2]
            each.set("db", None)
            each.set("this", exp.to_identifier(name, quoted=True))
            each.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
        elif each.db or name not in own:
            raise unknown("table", name, catalog.tables)
    for used in tree.find_all(exp.Column):
        used.set("db", None)


def check_query(event: FromSql, catalog: Catalog) -> None:
    """Refuse a query that cannot be prepared, or gives something other than candidates.

    Raises:
        RecipeError: As `read_query`; `recipe-sql` for what DuckDB says of it; `recipe-sql-columns`.
    """
    found = _described(read_query(event, catalog), catalog)
    if sorted(found) != sorted(COLUMNS):
        raise RecipeError(
            f"the query gives {', '.join(found)}, and must give {', '.join(COLUMNS)}",
            hint="name the three columns, in any order",
            code="recipe-sql-columns",
        )
    value = found["value"]
    numbers = value in (*_SUBJECTS, "DOUBLE") or value.startswith("DECIMAL")
    suits = {"binary": value in _WHOLE, "ordinal": value in _SUBJECTS, "number": numbers}[event.kind]
    for name, fits, wanted in (
        ("subject", found["subject"] in _SUBJECTS, "a whole number"),
        ("index_time", found["index_time"] == "TIMESTAMP", "a TIMESTAMP"),
        ("value", suits, "a number" if event.kind == "number" else "true or false, or a whole number"),
    ):
        if not fits:
            raise RecipeError(
                f"{name} of the query is {found[name]}, and must be {wanted}", code="recipe-sql-columns"
            )


def _described(tree: exp.Query, catalog: Catalog) -> dict[str, str]:
    """Name and type of what a query gives, by DuckDB, over empty tables."""
    import duckdb

    config = {"enable_external_access": "false", "python_enable_replacements": "false", "threads": "1"}
    with duckdb.connect(config=config) as connection:
        for name in {each.name for each in tree.find_all(exp.Table)} & set(catalog.tables):
            made = exp.Create(this=table(name), kind="TABLE", expression=empty_table(name, catalog))
            connection.execute(made.sql(dialect="duckdb", identify=True))
        try:
            rows = connection.execute(f"DESCRIBE {tree.sql(dialect='duckdb')}").fetchall()
        except duckdb.Error as failure:
            first = str(failure).splitlines()[0]
            raise RecipeError(f"the query cannot be run: {first}", code="recipe-sql") from failure
    return {str(name).lower(): str(kind) for name, kind, *_ in rows}


def own_events(event: FromSql, data: Data) -> exp.Query:
    """The rows of a label's query as events."""
    tree = read_query(event, data.catalog)
    found = query(tree.sql(dialect="duckdb"), data.catalog, data.present)
    value = column("value", _S)
    outputs = {
        "subject_id": cast(column("subject", _S), "BIGINT"),
        "time": column("index_time", _S),
        "available": column("index_time", _S),
        "value": value if event.kind == "number" else cast(value, "INTEGER"),
        "tie": cast(exp.Null(), "VARCHAR"),
    }
    select = exp.select(*(exp.alias_(sql, name, quoted=True) for name, sql in outputs.items()))
    select = select.from_(found.subquery(_S))
    if data.subject is None:
        return select
    return select.where(operate(exp.EQ, column("subject", _S), number(data.subject)))


def own_faults(event: FromSql, data: Data) -> Iterator[tuple[str, exp.Query]]:
    """What may be wrong with the rows of a label's query, each with a query for the patients and times."""
    rows, who = table(relation(event.name), "e"), [column("subject_id", "e"), column("time", "e")]
    missing = any_of(is_missing(each) for each in who)
    yield "rows have no patient or no prediction time", exp.select(*who).from_(rows.copy()).where(missing)
    several = operate(exp.GT, exp.Count(this=exp.Star()), number(1))
    twice = exp.select(*who).from_(rows.copy()).group_by(*(each.copy() for each in who)).having(several)
    yield "a patient has two rows with one prediction time", twice
    patients = data.catalog.patients
    known = exp.select(column(str(patients.patient), "p")).from_(data.rows(patients.name, "p"))
    strange = exp.Not(this=exp.In(this=who[0].copy(), query=known.subquery()))
    yield "rows are of nobody among the patients", exp.select(*who).from_(rows.copy()).where(strange)
