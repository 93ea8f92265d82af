"""Evidence does not depend on answers: permuted answers give the same evidence, or the place is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evidence_builders import MOMENT, evidence, labs, table

from medomni.core.issues import Severity
from medomni.studio.draw import Drawn
from medomni.studio.evidence.model import Evidence
from medomni.studio.probes.blindness import blindness_issues, permuted

DRAWN = [
    Drawn(subject, "2150-01-01T00:00:00", "k", value, str(value), {"t": value})
    for subject, value in enumerate((0, 1, 1, 0, 1, 0), start=1)
]
NAMES = {each.subject: f"atom{each.subject}" for each in DRAWN}


def honest(drawn: Sequence[Drawn]) -> list[Evidence]:
    return [evidence(labs(3), moment=replace(MOMENT, subject=each.subject)) for each in drawn]


def check(make, first=None, drawn=DRAWN):
    return list(blindness_issues(drawn, NAMES, first or list(make(drawn)), make))


def test_permuting_gives_everybody_another_answer_and_keeps_who_and_when() -> None:
    others = permuted(DRAWN)
    assert all(one.value != other.value for one, other in zip(DRAWN, others, strict=True))
    assert all(one.answers != other.answers for one, other in zip(DRAWN, others, strict=True))
    assert [each.subject for each in others] == [each.subject for each in DRAWN]
    assert sorted(each.value for each in others) == sorted(each.value for each in DRAWN)


def test_evidence_that_is_blind_passes() -> None:
    assert check(honest) == []


def test_a_cell_that_depends_on_the_answer_is_named_by_atom_table_column_and_row() -> None:
    def leaky(drawn: Sequence[Drawn]) -> list[Evidence]:
        columns = ("charttime_h", "valuenum")
        return [
            evidence(
                table("hosp.labevents", columns, [("-2", "1"), ("-1", str(each.value))]),
                moment=replace(MOMENT, subject=each.subject),
            )
            for each in drawn
        ]

    found = check(leaky)
    assert [issue.where for issue in found] == [
        f"atom{number}: hosp.labevents.valuenum, row 2" for number in range(1, 7)
    ]
    assert {issue.code for issue in found} == {"leak-depends-on-answer"}


def test_a_row_that_only_some_answers_have_is_named() -> None:
    def leaky(drawn: Sequence[Drawn]) -> list[Evidence]:
        return [
            evidence(labs(3), moment=replace(MOMENT, subject=each.subject))
            if each.value
            else evidence(labs(2), moment=replace(MOMENT, subject=each.subject))
            for each in drawn
        ]

    assert check(leaky)[0].where == "atom1: hosp.labevents.charttime_h, row 1"


def test_a_table_or_a_family_that_depends_on_the_answer_is_named() -> None:
    def with_table(drawn: Sequence[Drawn]) -> list[Evidence]:
        more = labs(1, name="icu.more")
        return [
            evidence(labs(1), *([more] if each.value else []), moment=replace(MOMENT, subject=each.subject))
            for each in drawn
        ]

    def with_family(drawn: Sequence[Drawn]) -> list[Evidence]:
        return [
            evidence(labs(1, family=f"f{each.value}"), moment=replace(MOMENT, subject=each.subject))
            for each in drawn
        ]

    assert "icu.more, which has other columns" in check(with_table)[0].where
    assert "hosp.labevents, the families" in check(with_family)[0].where


def test_a_moment_that_depends_on_the_answer_is_found() -> None:
    def leaky(drawn: Sequence[Drawn]) -> list[Evidence]:
        return [
            evidence(
                labs(1),
                moment=replace(MOMENT, subject=each.subject, time=MOMENT.time.replace(hour=each.value)),
            )
            for each in drawn
        ]

    assert "prediction time" in check(leaky)[0].where


def test_patients_that_depend_on_the_answers_are_found() -> None:
    found = check(lambda drawn: honest(drawn)[:3], honest(DRAWN))
    assert found[-1].where == "the cohort"


def test_one_answer_for_everybody_is_told_and_not_passed_over() -> None:
    same = [replace(each, value=0) for each in DRAWN]
    found = check(honest, drawn=same)
    assert [(issue.code, issue.severity) for issue in found] == [("leak-depends-on-answer", Severity.WARNING)]
