"""Text of the recipe language to trees and back."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medomni.studio.errors import RecipeError
from medomni.studio.recipe.parser import (
    parse_combination,
    parse_duration,
    parse_expression,
    parse_pair,
    parse_ref,
    parse_signature,
)
from medomni.studio.recipe.syntax import (
    Binary,
    Call,
    Compare,
    Duration,
    Expr,
    Items,
    Member,
    Name,
    Number,
    Ref,
    Text,
    Unary,
    show,
    show_ref,
)

names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True).filter(
    lambda name: name not in ("and", "or", "not", "in")
)
numbers = st.decimals(0, 10**9, places=3, allow_nan=False).map(Number)
durations = st.integers(1, 10**6).map(lambda n: Duration(Decimal(n), f"{n}s"))
leaves = st.one_of(
    numbers,
    durations,
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=8).map(Text),
    names.map(lambda name: Name((name,))),
    st.tuples(names, names).map(Name),
)


def grow(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    pairs = st.tuples(st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), inner)
    return st.one_of(
        st.builds(Binary, st.sampled_from(["+", "-", "*", "/", "and", "or"]), inner, inner),
        st.builds(Unary, st.sampled_from(["-", "not"]), inner),
        st.builds(Compare, inner, st.lists(pairs, min_size=1, max_size=2).map(tuple)),
        st.builds(Call, names, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Call, names, st.lists(inner, max_size=1).map(tuple), version=st.integers(1, 9)),
        st.builds(Member, inner, st.lists(inner, max_size=2).map(lambda each: Items(tuple(each)))),
    )


trees = st.recursive(leaves, grow, max_leaves=12)


@settings(max_examples=150)
@given(trees)
def test_the_text_of_a_tree_parses_to_the_same_text(expr: Expr) -> None:
    shown = show(expr)
    assert show(parse_expression(shown)) == shown


@settings(max_examples=100)
@given(st.text(max_size=40))
def test_any_text_is_a_tree_or_a_recipe_error(text: str) -> None:
    for parse in (
        parse_expression,
        parse_ref,
        parse_duration,
        parse_pair,
        parse_signature,
        parse_combination,
    ):
        try:
            parse(text)  # type: ignore[operator]
        except RecipeError as error:
            assert error.code == "recipe-syntax"


def test_operators_bind_as_in_arithmetic() -> None:
    assert parse_expression("1 + 2 * 3 - 4") == parse_expression("(1 + (2 * 3)) - 4")
    assert parse_expression("a - b - c") != parse_expression("a - (b - c)")
    assert parse_expression("not a and b or c") == parse_expression("((not a) and b) or c")
    assert parse_expression("-a * b") == parse_expression("(-a) * b")


def test_comparisons_can_be_chained() -> None:
    found = parse_expression("70 <= value < 180")
    assert isinstance(found, Compare)
    assert [op for op, _ in found.rest] == ["<=", "<"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("24h", 86400),
        ("30 days", 2592000),
        ("1 d", 86400),
        ("90min", 5400),
        ("2 weeks", 1209600),
        ("0.5h", 1800),
    ],
)
def test_durations_are_exact_seconds(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["1y", "2 years", "3 months", "5m"])
def test_lengths_without_a_fixed_number_of_seconds_are_refused(text: str) -> None:
    with pytest.raises(RecipeError, match="not a fixed length of time") as caught:
        parse_expression(text)
    assert "days" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("trigger", Ref(("trigger",))),
        ("trigger.time", Ref(("trigger",))),
        ("index - 7d", Ref(("index",), Decimal(-604800))),
        ("trigger + 1d - 2h", Ref(("trigger",), Decimal(79200))),
        ("start -> discharge", Ref(("start",), Decimal(0), "->", "discharge")),
        ("end <- admission", Ref(("end",), Decimal(0), "<-", "admission")),
        ("earlier.end", Ref(("earlier", "end"))),
        ("first(glucose.time) + 1h", Ref(("first", "glucose", "time"), Decimal(3600))),
        ("last(glucose.time) -> meal", Ref(("last", "glucose", "time"), Decimal(0), "->", "meal")),
        ("NULL", Ref(("null",))),
        ("_RECORD_START", Ref(("null",))),
    ],
)
def test_references_name_an_anchor_a_distance_and_an_arrow(text: str, ref: Ref) -> None:
    assert parse_ref(text) == ref
    assert parse_ref(show_ref(ref)) == ref


def test_yaml_null_is_the_edge_of_the_record() -> None:
    assert parse_ref(None) == Ref(("null",))


@pytest.mark.parametrize(
    "text",
    [
        "NULL + 1d",
        "a.b.c",
        "trigger + 1",
        "1d",
        "trigger ->",
        "max(glucose.time)",
        "first(glucose)",
        "first(glucose.value)",
        "first(glucose.time",
        "a.first(glucose.time)",
    ],
)
def test_references_that_are_no_moment_are_refused(text: str) -> None:
    with pytest.raises(RecipeError):
        parse_ref(text)


@pytest.mark.parametrize(
    ("value", "pair"),
    [("(1, None)", (1, None)), ("(None, 0)", (None, 0)), ("(2,3)", (2, 3)), ([1, None], (1, None))],
)
def test_pairs_of_counts_are_read_from_text_and_lists(
    value: object, pair: tuple[int | None, int | None]
) -> None:
    assert parse_pair(value) == pair


@pytest.mark.parametrize(
    "value", ["(None, None)", "(3, 2)", "(1)", "1", 1, None, "(-1, 2)", [1], "(1, 2, 3)"]
)
def test_pairs_that_mean_nothing_are_refused(value: object) -> None:
    with pytest.raises(RecipeError):
        parse_pair(value)


def test_a_pair_that_yaml_has_cut_says_how_to_write_it() -> None:
    with pytest.raises(RecipeError) as caught:
        parse_pair("(1")
    assert "a line of its own" in caught.value.hint


def test_signatures_have_a_name_and_different_parameters() -> None:
    assert parse_signature("egfr(scr, age)") == ("egfr", ("scr", "age"))
    assert parse_signature("one()") == ("one", ())
    for text in ("egfr", "egfr(a, a)", "egfr(a", "1(a)", "egfr(a b)"):
        with pytest.raises(RecipeError):
            parse_signature(text)


def test_combinations_nest_and_take_what_is_negated_last() -> None:
    assert parse_combination("and(not(a), b)") == parse_combination("and(b, not(a))")
    assert parse_combination("or(a, and(b, not(c)))") == Binary(
        "or", Name(("a",)), Binary("and", Name(("b",)), Unary("not", Name(("c",))))
    )
    for text in ("a or b", "or()", "xor(a, b)", "not(a, b)", "or(a, b"):
        with pytest.raises(RecipeError):
            parse_combination(text)


@pytest.mark.parametrize(
    "text",
    ["", "a b", "a = b", "(a", "min(a,)", "'open", "a ==", "[1, 2", "f@1", "f@0(a)", "a.b(c)", "f(x: 1, 2)",
     "x in 1",
     "a $ b", "1e99", "9" * 31, "a" * 5000, "(" * 60 + "a" + ")" * 60, "not " * 60 + "a", "-" * 60 + "1"],
)  # fmt: skip
def test_what_is_no_expression_is_refused_with_its_column(text: str) -> None:
    with pytest.raises(RecipeError) as caught:
        parse_expression(text)
    assert caught.value.code == "recipe-syntax"


def test_quotes_in_text_are_doubled() -> None:
    assert parse_expression("'it''s'") == Text("it's")
    assert parse_expression('"a ""b"""') == Text('a "b"')


def test_named_arguments_come_last() -> None:
    found = parse_expression("runs(map, value < 65, min_duration: 60s)")
    assert isinstance(found, Call)
    assert found.named == (("min_duration", Duration(Decimal(60), "60s")),)
