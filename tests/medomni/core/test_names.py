"""Names: what is parsed is printed again, and what cannot be a name is refused by its code."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medomni.core import contracts
from medomni.core.errors import InvalidNameError
from medomni.core.names import (
    ATOM_PATTERN,
    DOTTED_PATTERN,
    ID_PATTERN,
    PAIR_PATTERN,
    RELEASE_PATTERN,
    Pair,
    SetName,
    atom_name,
    check_dotted,
    check_id,
)

words = st.text("abz059", min_size=1, max_size=4)
ids = st.lists(words, min_size=1, max_size=3).flatmap(
    lambda parts: st.sampled_from("_-").map(lambda m: m.join(parts))
)
dotted = st.lists(words, min_size=1, max_size=3).map(".".join) | ids
pairs = st.builds(Pair, ids, ids, ids | st.just("default"))
NO_PAIRS = [
    "", "@", "a_b", "a_b@", "@n20", "a_b@n20@n20", "a:b:c@n", ":full@n20", "a_b:@n20", "A_b@n20", "a_b@n20\n",
    " a_b@n20", "a_b@n.20", "a__b@n20", "-a@n20", "a-@n20", "a_b/c@n20", "../x@n20", "ä@n20", "a_b@\u0661",
    "a\0@n",
]  # fmt: skip


def code_of(call) -> str:
    with pytest.raises(InvalidNameError) as caught:
        call()
    assert isinstance(caught.value, ValueError)
    return caught.value.code


@given(pairs)
def test_a_printed_pair_is_parsed_to_itself(pair: Pair) -> None:
    assert Pair.parse(str(pair)) == pair
    assert re.fullmatch(ID_PATTERN, pair.template)
    assert re.fullmatch(PAIR_PATTERN, str(pair))


@settings(max_examples=50)
@given(st.from_regex(PAIR_PATTERN, fullmatch=True).filter(lambda text: len(text) <= 80))
def test_what_the_pattern_takes_is_parsed_and_printed_again(text: str) -> None:
    assert str(Pair.parse(text)) == text.replace(":default@", "@")


@given(st.text(max_size=12))
def test_no_text_is_half_a_pair(text: str) -> None:
    try:
        assert str(Pair.parse(text)) == text.replace(":default@", "@")
    except InvalidNameError as refusal:
        assert refusal.code in ("pair-invalid", "name-invalid")


def test_the_evidence_variant_default_is_the_pair_without_one() -> None:
    assert Pair.parse("a_b:default@n20") == Pair.parse("a_b@n20") == Pair("a_b", "n20")
    assert str(Pair.parse("a_b:default@n20")) == "a_b@n20"


def test_another_evidence_variant_parses_and_is_refused_with_the_reason_where_it_is_used() -> None:
    """MO-041."""
    pair = Pair.parse("mimic-iv_ckd-staging:full@n20")
    assert (pair.template, pair.evidence, pair.cohort) == ("mimic-iv_ckd-staging", "full", "n20")
    with pytest.raises(InvalidNameError, match=r"v0\.3\.0 builds only 'default'") as caught:
        pair.usable()
    assert caught.value.code == "evidence-variant-unsupported"
    assert caught.value.hint == "use mimic-iv_ckd-staging@n20"
    assert code_of(lambda: atom_name(pair, version=1, patient="1")) == "evidence-variant-unsupported"
    assert Pair.parse("a_b@n20").usable() == Pair("a_b", "n20")


@pytest.mark.parametrize("text", NO_PAIRS)
def test_what_is_no_pair_is_refused(text: str) -> None:
    assert code_of(lambda: Pair.parse(text)) in ("pair-invalid", "name-invalid")
    assert not re.fullmatch(PAIR_PATTERN, text)


def test_values_that_are_no_text_are_no_names() -> None:
    for value in (None, 7, b"a@b", ["a@b"]):
        assert code_of(lambda value=value: Pair.parse(value)) == "pair-invalid"
        assert code_of(lambda value=value: SetName.parse(value)) == "set-name-invalid"
        assert code_of(lambda value=value: check_id(value, what="arm")) == "name-invalid"


@given(st.builds(SetName, ids, dotted))
def test_a_printed_set_name_is_parsed_to_itself(name: SetName) -> None:
    assert SetName.parse(str(name)) == name
    assert re.fullmatch(DOTTED_PATTERN, name.task_set)


@pytest.mark.parametrize("text", ["", "v1", "a/b/c", "/v1", "a/", "a/..", "A/v1", "a.b/v1", "a/v..1"])
def test_what_is_no_set_name_is_refused(text: str) -> None:
    """MO-132."""
    assert code_of(lambda: SetName.parse(text)) in ("set-name-invalid", "name-invalid")


def test_sets_may_have_dots_in_their_names_and_ids_may_not() -> None:
    assert SetName.parse("medomni-bench/v0.2-ladder").task_set == "v0.2-ladder"
    assert check_dotted("0.3.0", what="release") == "0.3.0"
    assert code_of(lambda: check_id("v0.2", what="arm")) == "name-invalid"


def test_names_longer_than_a_file_name_can_carry_are_refused() -> None:
    assert check_id("a" * 80, what="arm")
    with pytest.raises(InvalidNameError, match="too long for the arm"):
        check_id("a" * 81, what="arm")
    assert len(atom_name(Pair("a" * 80, "b" * 80), version=1, patient="1")) < 255


@given(pairs.filter(lambda pair: pair.evidence == "default"), st.integers(1, 99), st.integers(0, 10**9))
def test_atom_names_are_legal_names_that_tell_template_and_cohort(
    pair: Pair, version: int, number: int
) -> None:
    name = atom_name(pair, version=version, patient=str(number))
    assert re.fullmatch(ATOM_PATTERN, name)
    assert re.fullmatch(r"[A-Za-z0-9._-]+", name)
    assert name.split(".")[:2] == [pair.template, pair.cohort]


def test_atom_names_depend_on_the_patients_text_and_on_n() -> None:
    pair = Pair("a_b", "n20")
    names = {atom_name(pair, version=n, patient=p) for n in (1, 2) for p in ("7", "07", "007")}
    assert len(names) == 6


@pytest.mark.parametrize(
    ("version", "patient"), [(0, "1"), (True, "1"), (1.0, "1"), ("1", "1"), (1, 7), (1, ""), (1, "a\n")]
)
def test_atoms_of_no_version_or_no_patient_are_refused(version, patient) -> None:
    assert code_of(lambda: atom_name(Pair("a_b", "n20"), version=version, patient=patient)) == "atom-invalid"


def test_the_contracts_use_the_patterns_of_names() -> None:
    def patterns(node):
        if isinstance(node, dict):
            yield from (node["pattern"],) if isinstance(node.get("pattern"), str) else ()
            node = list(node.values())
        for inner in node if isinstance(node, list) else ():
            yield from patterns(inner)

    task_set = set(patterns(contracts.schema("task-set")["properties"]))
    assert {f"^{ID_PATTERN}$", f"^{DOTTED_PATTERN}$", f"^{PAIR_PATTERN}$"} < task_set
    built = set(patterns(contracts.schema("built-task")["properties"]))
    assert {f"^{ATOM_PATTERN}$", f"^{RELEASE_PATTERN}$", f"^{PAIR_PATTERN}$"} < built
