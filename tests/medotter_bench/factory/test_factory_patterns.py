"""Path patterns match what they say, and read backwards to the same path."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medotter_bench.factory.patterns import (
    Pattern,
    PatternError,
    check_counter,
    field_names,
    render_counter,
)

NAMES = st.text(st.characters(codec="ascii", categories=["L", "N"], include_characters="-_."), min_size=1)


@given(NAMES)
def test_a_rendered_path_matches_with_the_same_fields(name):
    for text in ("a/{case}_ct.nii.gz", "{case}/{case}-t1n.nii.gz", "x{case}"):
        pattern = Pattern.parse(text)
        assert pattern.match(pattern.render({"case": name})) == {"case": name}


def test_a_field_stays_within_one_name_and_repeats_itself():
    pattern = Pattern.parse("{case}/{case}_T1.nii.gz")
    assert pattern.match("A/A_T1.nii.gz") == {"case": "A"}
    assert pattern.match("A/B_T1.nii.gz") is None
    assert Pattern.parse("img/{n}.nii.gz").match("img/a/b.nii.gz") is None


def test_digits_match_digits_only_and_dots_are_dots():
    pattern = Pattern.parse("img/img{n:digits}.nii.gz")
    assert pattern.match("img/img0001.nii.gz") == {"n": "0001"}
    assert pattern.match("img/imgx.nii.gz") is None
    assert pattern.match("img/img0001xniixgz") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/a/{case}",
        "a/../{case}",
        "a\\{case}",
        "a//{case}",
        "./{case}",
        "C:/{case}",
        "a/{Case}",
        "a/{case",
        "a/}",
    ],
)
def test_what_is_no_plain_relative_pattern_is_refused(text):
    with pytest.raises(PatternError):
        Pattern.parse(text)


def test_templates_name_their_fields_and_refuse_stray_braces():
    assert field_names("{a}_{b:digits}") == ["a", "b"]
    with pytest.raises(PatternError):
        field_names("{a}_{}")


def test_counters_are_zero_padded_and_nothing_else_is_a_counter():
    counters = {"index": 3, "patient": 12, "visit": 0}
    assert render_counter("v-{index:4}-{patient}-{visit:3}", counters) == "v-0003-12-000"
    check_counter("v-{index:4}")
    for text in ("{case}", "{index.__class__}", "{index:}", "{"):
        with pytest.raises(PatternError):
            check_counter(text)
