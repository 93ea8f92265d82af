"""Types of columns: the SQL that types all rows and the Python that finds the first bad one say the same."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

duckdb = pytest.importorskip("duckdb", reason="typing columns needs the extra `studio`")

from medomni.studio.data.column_types import ColumnType, parse_type, round_half_up  # noqa: E402

TYPES = [
    ColumnType("text"),
    ColumnType("integer"),
    ColumnType("bigint"),
    ColumnType("timestamp"),
    ColumnType("date"),
    ColumnType("decimal(20,8)"),
    ColumnType("decimal(6,0)"),
    ColumnType("decimal(28,8)", rounds=True),
]


@pytest.fixture(scope="module")
def connection() -> Iterator[Any]:
    with contextlib.closing(duckdb.connect()) as made:
        yield made


def typed(connection: Any, kind: ColumnType, text: str | None, *, required: bool = False) -> Any:
    query = f"SELECT {kind.sql('v', required=required)} FROM (SELECT CAST(? AS VARCHAR) AS v)"
    return connection.execute(query, [text]).fetchall()[0][0]


def accepted(connection: Any, kind: ColumnType, text: str) -> bool:
    try:
        typed(connection, kind, text)
    except duckdb.Error:
        return False
    return True


NUMBERS = st.from_regex(r"[-+]?[0-9]{0,15}(\.[0-9]{0,20})?([eE][-+]?[0-9]{1,3})?", fullmatch=True)
TIMES = st.from_regex(
    r"2[0-9]{3}-[01][0-9]-[0-3][0-9]([ T][0-2][0-9]:[0-6][0-9]:[0-6][0-9](\.[0-9]{1,7})?)?", fullmatch=True
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e11, max_value=1e11).map(repr)


@settings(max_examples=400)
@given(
    st.sampled_from(TYPES), st.one_of(NUMBERS, TIMES, FLOATS, st.sampled_from(["nan", "inf", "0x1", "1_000"]))
)
@example(ColumnType("integer"), "2147483648")
@example(ColumnType("bigint"), "9223372036854775807")
@example(ColumnType("decimal(20,8)"), "0.59999999999999998")
@example(ColumnType("decimal(20,8)"), "999999999999.999999999")
@example(ColumnType("timestamp"), "2150-02-30 10:00:00")
def test_sql_and_python_accept_the_same_texts(connection: Any, kind: ColumnType, text: str) -> None:
    if text:
        assert accepted(connection, kind, text) == kind.accepts(text), (kind, text)


@settings(max_examples=200)
@given(st.decimals(min_value=-(10**11), max_value=10**11, allow_nan=False, places=8))
def test_a_decimal_of_eight_places_is_kept_exactly(connection: Any, value: Decimal) -> None:
    assert typed(connection, ColumnType("decimal(20,8)"), f"{value:f}") == value


@settings(max_examples=100)
@given(FLOATS)
def test_a_rounding_column_rounds_half_away_from_zero(connection: Any, text: str) -> None:
    assert typed(connection, ColumnType("decimal(28,8)", rounds=True), text) == round_half_up(text, 8)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("integer", "1.5"),
        ("integer", "1.0"),
        ("integer", " 7"),
        ("integer", "1e3"),
        ("bigint", "True"),
        ("timestamp", "2150-01-01"),
        ("timestamp", "2150-01-01 24:00:00"),
        ("timestamp", "2150-01-01 10:00:00+02"),
        ("timestamp", "2150-01-01T10:00:00"),
        ("date", "2150-01-01 10:00:00"),
        ("date", "01/02/2150"),
        ("decimal(20,8)", "0.123456789"),
        ("decimal(20,8)", "1,5"),
        ("decimal(20,8)", "NaN"),
        ("decimal(20,8)", "<0.1"),
        ("decimal(20,8)", "1234567890123"),
    ],
)
def test_what_the_database_would_have_bent_is_refused(connection: Any, kind: str, text: str) -> None:
    parsed = parse_type(kind)
    assert parsed is not None
    assert not parsed.accepts(text)
    assert not accepted(connection, parsed, text)


def test_digits_of_a_printed_binary_fraction_are_no_more_precision(connection: Any) -> None:
    kind = ColumnType("decimal(20,8)")
    assert typed(connection, kind, "0.59999999999999998") == Decimal("0.6")
    assert typed(connection, kind, "0.40000000000000002") * Decimal("1.5") <= Decimal("0.6")


def test_text_keeps_every_letter(connection: Any) -> None:
    for text in ("0042", " 42 ", "1e5", "NULL", "nan", "+"):
        assert typed(connection, ColumnType("text"), text) == text


def test_a_missing_value_is_null_unless_the_column_must_have_one(connection: Any) -> None:
    for kind in TYPES:
        assert typed(connection, kind, None) is None
        with pytest.raises(duckdb.Error, match="medomni-missing-value"):
            typed(connection, kind, None, required=True)


def test_unknown_types_are_none() -> None:
    for text in ("int", "float", "decimal", "decimal(39,1)", "decimal(5,6)", "varchar", ""):
        assert parse_type(text) is None
    assert parse_type("integer", rounds=True) is None
    assert "rounded" in ColumnType("decimal(28,8)", rounds=True).meaning


def test_a_number_that_no_decimal_holds_is_none() -> None:
    assert round_half_up("1e400", 8) is None
    assert ColumnType("text").meaning == "text"
