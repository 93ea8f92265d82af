"""What built-in agents read from an instruction, and what `prior` and `rule` make of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medomni.studio.render.instruction import instruction
from medomni_harbor import rules
from medomni_harbor.answering import InstructionError, Question, parse

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "medomni" / "studio" / "render"))

from atom_builders import DAYS, RISK, STAGE, full_atom, pair


def test_every_kind_of_target_is_read_from_a_real_instruction() -> None:
    asked = parse(instruction(pair(STAGE, RISK, DAYS), full_atom().record, perception=True))
    assert asked.path == "/workspace/answer.json"
    assert asked.questions == (
        Question("ckd_stage", "whole number", 0, 4),
        Question("risk", "probability", 0, 1),
        Question("days", "number", 0, 30),
    )
    assert json.loads(asked.answer_text(0.5)) == {"ckd_stage": 2, "risk": 0.5, "days": 15.0}


def test_a_text_that_asks_nothing_is_refused() -> None:
    with pytest.raises(InstructionError):
        parse("Write `/workspace/answer.json`: something.")
    with pytest.raises(InstructionError):
        parse('\n## Answer\n\n{"a": <probability from 0 to 1>}')


def test_what_a_record_says_is_no_target() -> None:
    record = 'note: "trap": <number from 0 to 9>'
    text = f'{record}\n## Answer\n\nWrite `/w/a.json`: {{"risk": <probability from 0 to 1>}}'
    assert [each.name for each in parse(text).questions] == ["risk"]


@given(st.integers(1, 8), st.floats(-1, 2))
def test_a_class_is_always_one_of_the_classes(highest: int, share: float) -> None:
    found = Question("x", "whole number", 0, highest).at(share)
    assert isinstance(found, int)
    assert 0 <= found <= highest


def test_of_an_even_number_of_classes_the_lower_middle_is_taken() -> None:
    assert Question("x", "whole number", 0, 3).at(0.5) == 1
    assert Question("x", "whole number", 0, 3).at(0.51) == 2


def test_a_record_that_says_nothing_gives_the_middle() -> None:
    assert rules.severity({}) == 0.5
    assert rules.severity({"hosp.labevents": "itemid,label,charttime_h,valuenum,flag\n"}) == 0.5


def test_severity_is_the_mean_of_its_parts() -> None:
    labs = "label,charttime_h,valuenum,flag\nUrea Nitrogen,-5,80,abnormal\nSodium,-900,100,abnormal\n"
    # Age 65 lies half way; all rows of the last month are flagged; the last values are far out; one of 200.
    found = rules.severity({"hosp.patients": "gender,age\nF,65\n", "hosp.labevents": labs})
    assert found == pytest.approx((0.5 + 1 + 1 + 1 / 200) / 4)


@given(st.text(max_size=300))
def test_whatever_a_table_holds_severity_is_a_share(text: str) -> None:
    assert 0 <= rules.severity(dict.fromkeys(rules.TABLES, text)) <= 1


def test_numbers_that_are_none_are_left_out() -> None:
    labs = "label,charttime_h,valuenum,flag\nLactate,-1,nan,\nLactate,-2,1,\nLactate,x,9,\n"
    assert rules.severity({"hosp.labevents": labs}) == pytest.approx((0 + 0 + 2 / 200) / 3)
