"""No patient is on both sides of a split, whatever the policy."""

from __future__ import annotations

import hashlib

from factory_builders import case, dataset, factory_document, factory_of
from hypothesis import given, settings
from hypothesis import strategies as st

from medotter_bench.factory.definition import Factory, SplitRule
from medotter_bench.factory.scan import Case
from medotter_bench.factory.split import is_test, patient_key, split_cases

PATIENTS = st.one_of(st.none(), st.sampled_from([f"p{n}" for n in range(6)]))
CASES = st.lists(st.tuples(st.sampled_from(["AA", "BB"]), PATIENTS), min_size=1, max_size=25).map(
    lambda pairs: [Case(f"{name}/c{n}", name, patient, None, {}) for n, (name, patient) in enumerate(pairs)]
)


def definition(rule: SplitRule, same_patient=()) -> Factory:
    names = dict.fromkeys(("AA", "BB"))
    return Factory("x", "1.0.0", "x/v1", names, rule, {}, {}, tuple(same_patient), {})  # type: ignore[arg-type]


def sides_of_patients(cases, split):
    keys = {entry.case_id: patient_key(entry) for entry in cases}
    return {keys[i] for i in split.train}, {keys[i] for i in split.test}


@settings(max_examples=60)
@given(CASES, st.integers(0, 9), st.floats(0.05, 1.0))
def test_by_patient_keeps_each_patient_on_one_side_and_loses_nobody(cases, seed, fraction):
    split = split_cases(definition(SplitRule("by_patient", seed, fraction)), cases)
    train, test = sides_of_patients(cases, split)
    assert not train & test
    assert sorted([*split.train, *split.test]) == sorted(entry.case_id for entry in cases)
    assert not split.dropped


@settings(max_examples=30)
@given(CASES, CASES, st.integers(0, 9))
def test_a_patients_side_does_not_depend_on_the_other_patients(cases, others, seed):
    rule = definition(SplitRule("by_patient", seed, 0.5))
    alone = split_cases(rule, cases[:1])
    known = {entry.case_id for entry in cases[:1]}
    together = split_cases(rule, [*cases[:1], *(o for o in others if o.case_id not in known)])
    assert set(alone.test) == set(together.test) & known


@settings(max_examples=60)
@given(CASES, st.data())
def test_fixed_lists_keep_the_test_split_and_drop_a_tested_patients_training_cases(cases, data):
    flags = data.draw(
        st.lists(st.sampled_from(["train", "test", ""]), min_size=len(cases), max_size=len(cases))
    )
    lists = {
        side: tuple(c.case_id for c, flag in zip(cases, flags, strict=True) if flag == side)
        for side in ("train", "test")
    }
    split = split_cases(definition(SplitRule("fixed", lists=lists)), cases)
    train, test = sides_of_patients(cases, split)
    assert split.test == list(lists["test"])
    assert not train & test
    assert {*split.train, *(d.case_id for d in split.dropped)} == set(lists["train"])
    assert len(split.unlisted) == flags.count("")
    assert all(entry.reason for entry in [*split.dropped, *split.unlisted])


def test_the_side_is_the_published_rule():
    digest = hashlib.sha256(b"7|AA/p1").digest()
    share = int.from_bytes(digest[:8], "big") / 2**64
    assert is_test("AA/p1", SplitRule("by_patient", 7, min(1.0, share + 1e-9)))
    assert not is_test("AA/p1", SplitRule("by_patient", 7, share - 1e-9))


def test_a_fraction_of_one_tests_everybody():
    assert all(is_test(f"AA/{n}", SplitRule("by_patient", 1, 1.0)) for n in range(200))


def test_equal_patient_names_of_two_datasets_are_two_patients():
    assert patient_key(case("a", "1")) != patient_key(case("a", "1", source="BB"))
    assert patient_key(case("a", None)) != patient_key(case("b", None))


def test_by_dataset_sends_whole_datasets():
    rule = SplitRule("by_dataset", lists={"train": ("AA",), "test": ("BB",)})
    split = split_cases(definition(rule), [case("a"), case("b", source="BB"), case("c")])
    assert (split.train, split.test) == (["AA/a", "AA/c"], ["BB/b"])


def test_one_person_under_two_names_is_tested_once_and_trained_never():
    rule = SplitRule("by_dataset", lists={"train": ("AA",), "test": ("BB",)})
    same = [("AA/a", "AA/x"), ("AA/x", "BB/b"), ("AA/nobody", "BB/nobody")]
    split = split_cases(definition(rule, same), [case("a"), case("b", source="BB"), case("c")])
    assert (split.train, split.test) == (["AA/c"], ["BB/b"])
    assert [entry.as_dict() for entry in split.dropped] == [
        {"case_id": "AA/a", "reason": "patient AA/a is in the test split"}
    ]


def test_one_person_under_two_names_stays_on_one_side_by_patient():
    same = [(f"AA/{n}", f"BB/{n}") for n in range(20)]
    cases = [case(str(n), source=name) for n in range(20) for name in ("AA", "BB")]
    split = split_cases(definition(SplitRule("by_patient", 1, 0.5), same), cases)
    assert {i[3:] for i in split.test}.isdisjoint(i[3:] for i in split.train)
    assert split.test
    assert split.train


def test_a_listed_case_that_is_not_there_is_an_issue_unless_it_is_skipped(tmp_path):
    document = factory_document(
        datasets={"AA": dataset()},
        split={"policy": "fixed", "cases": {"test": ["AA/b", "AA/a"], "train": ["AA/gone", "AA/skipped"]}},
        skip=[{"case": "AA/skipped", "reason": "r"}],
    )
    split = split_cases(factory_of(tmp_path, document), [case("a"), case("b")])
    assert split.test == ["AA/b", "AA/a"]
    assert [(issue.code, issue.where) for issue in split.issues] == [("freeze-case-missing", "AA/gone")]
