"""The flow of a cohort: its counts add up, and its picture can be read by eye, by ear and again."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from medomni.core.names import Pair
from medomni.studio.draw import Drawn
from medomni.studio.flow import flow_svg, flow_table, shown_steps, strata_counts
from medomni.studio.select import Selection, StepCount

SPACE = "{http://www.w3.org/2000/svg}"
LONG = "band(egfr(trigger.value, age), [60, 45], desc) == band(egfr(scr_prev, age_at(t_prev)), [60], desc)"
# Wider than any usual sans-serif face on average, at 12 and 13 pixels.
WIDTH_OF_A_LETTER = 7


def chain(*steps: tuple[str, str, int, int]) -> tuple[StepCount, ...]:
    """Steps from what is left after each; the first one leaves nobody out."""
    found = []
    events, people = steps[0][2:]
    for step, rule, events_after, people_after in steps:
        found.append(StepCount(step, rule, events, events_after, people, people_after))
        events, people = events_after, people_after
    return tuple(found)


STEPS = chain(
    ("candidates", "creatinine", 90, 30),
    ("where", "adult", 80, 28),
    ("where", "null:age", 80, 28),
    ("where", "null:height", 70, 27),
    ("where", LONG, 50, 25),
    ("pick", "one event per patient", 25, 25),
    ("where_outcome", "stays < 24h & lives", 24, 24),
    ("family", "omr", 21, 21),
    ("draw", "n: 20", 20, 20),
)


def selection(steps: tuple[StepCount, ...] = STEPS, *, warnings: tuple[str, ...] = ()) -> Selection:
    atoms = (Drawn(1, "2150-01-01T00:00:00", "1", 1, "1"),)
    return Selection(Pair("mimic-iv_it", "demo"), 3, "mimic-iv/demo-2.2", atoms, steps, {}, (), warnings)


def rows(found: Selection) -> list[list[str]]:
    lines = flow_table(found).splitlines()[1:]
    return [line.rsplit(maxsplit=4)[-4:] for line in lines]


def test_rules_on_missing_values_are_shown_only_where_they_leave_someone_out() -> None:
    rules = [step.rule for step in shown_steps(selection())]
    assert "null:age" not in rules
    assert "null:height" in rules


@st.composite
def flows(draw: st.DrawFn) -> Selection:
    """A flow of any rules; after the pick, events are people."""
    names = st.text(
        st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=90
    )
    events = draw(st.integers(0, 10**9))
    people = draw(st.integers(0, events))
    steps = [("candidates", "trigger", events, people)]
    for group, picked in (("where", False), ("where_outcome", True), ("family", True)):
        if group == "where_outcome":
            steps.append(("pick", "one event per patient", steps[-1][3], steps[-1][3]))
        for name in draw(st.lists(names, max_size=4)):
            people = draw(st.integers(0, steps[-1][3]))
            events = people if picked else draw(st.integers(people, steps[-1][2]))
            steps.append((group, name, events, people))
    last = draw(st.integers(0, steps[-1][3]))
    return selection(chain(*steps, ("draw", "n: all", last, last)))


@settings(max_examples=40)
@given(flows())
def test_what_is_left_and_what_was_left_out_add_up_in_every_line(found: Selection) -> None:
    numbers = [[int(cell) for cell in row] for row in rows(found)]
    for (events, people, *_), (events_after, people_after, events_out, people_out) in pairwise(numbers):
        assert events == events_after + events_out
        assert people == people_after + people_out
    assert numbers[0][0] == numbers[-1][0] + sum(row[2] for row in numbers)
    assert numbers[0][1] == numbers[-1][1] + sum(row[3] for row in numbers)


def test_the_picture_has_a_title_and_a_description_that_tell_everything() -> None:
    picture = ElementTree.fromstring(flow_svg(selection()))
    assert picture.get("role") == "img"
    named = str(picture.get("aria-labelledby")).split()
    assert [each.get("id") for each in picture[:2]] == named
    assert [each.tag for each in picture[:2]] == [f"{SPACE}title", f"{SPACE}desc"]
    assert picture[0].text == "Flow of mimic-iv_it@demo v3 on mimic-iv/demo-2.2"
    told = str(picture[1].text)
    for part in (
        "Candidate events: 90 events, 30 people",
        "Eligible at the prediction time: 50 events, 25 people",
        "adult: 10 events, 2 people",
        "stays < 24h & lives: 1 event, 1 person",
        "With something of every required family: 21 events, 21 people (left out: omr: 3 events, 3 people)",
        "In the cohort: 20 events, 20 people (left out: not drawn: 1 person) (strata 1: 1)",
    ):
        assert part in told
    shown = [str(each.text) for each in picture.iter(f"{SPACE}text")]
    assert shown[0] == picture[0].text
    assert shown[-1] == "strata 1: 1"
    assert shown.count("Left out:") == 4


def test_a_rule_as_long_as_an_expression_is_told_whole_in_several_lines() -> None:
    picture = ElementTree.fromstring(flow_svg(selection()))
    shown = " ".join(str(each.text).strip("\u00a0") for each in picture.iter(f"{SPACE}text"))
    assert f"{LONG}: 20 events, 2 people" in shown


def test_a_warning_stands_in_the_picture_and_in_its_description() -> None:
    warning = (
        "every eligible patient has the answer 0: only one class occurs, and a score over it means nothing"
    )
    text = flow_svg(selection(warnings=(warning,)))
    picture = ElementTree.fromstring(text)
    assert warning in str(picture[1].text)
    shown = " ".join(str(each.text).strip("\u00a0") for each in picture.iter(f"{SPACE}text"))
    assert f"Warning: {warning}" in shown
    assert "Warning" not in flow_svg(selection())


def test_strata_are_counted_in_their_order_and_left_out_where_there_are_none() -> None:
    atoms = [Drawn(at, "2150-01-01T00:00:00", "1", 1, f"q{at % 10 + 1}") for at in range(25)]
    assert list(strata_counts(atoms)) == [f"q{part}" for part in range(1, 11)]
    one = replace(selection(), atoms=tuple(atoms))
    assert "strata q1: 3, q2: 3," in flow_svg(one)
    none = replace(one, atoms=tuple(replace(atom, stratum="") for atom in atoms))
    assert "strata" not in flow_svg(none)


type Rectangle = tuple[float, float, float, float]


def rectangles(picture: ElementTree.Element) -> list[Rectangle]:
    """Left, top, right and bottom of each box, without the background."""
    found = []
    for each in picture.iter(f"{SPACE}rect"):
        if each.get("rx") is not None:
            x, y, width, height = (float(str(each.get(key))) for key in ("x", "y", "width", "height"))
            found.append((x, y, x + width, y + height))
    return found


def apart(one: Rectangle, other: Rectangle) -> bool:
    return one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


@settings(max_examples=40)
@given(flows())
def test_no_box_overlaps_another_and_every_text_lies_in_one(found: Selection) -> None:
    picture = ElementTree.fromstring(flow_svg(found))
    boxes = rectangles(picture)
    assert all(apart(one, other) for at, one in enumerate(boxes) for other in boxes[:at])
    width, height = float(str(picture.get("width"))), float(str(picture.get("height")))
    assert all(min(box) >= 0 and box[2] <= width and box[3] <= height for box in boxes)
    title, *texts = picture.iter(f"{SPACE}text")
    assert float(str(title.get("y"))) < min(box[1] for box in boxes)
    for each in texts:
        x, y = float(str(each.get("x"))), float(str(each.get("y")))
        right = x + WIDTH_OF_A_LETTER * len(str(each.text))
        assert any(x > box[0] and right <= box[2] and box[1] < y < box[3] for box in boxes)
    lines = [(float(str(each.get("x"))), float(str(each.get("y")))) for each in picture.iter(f"{SPACE}text")]
    assert len(set(lines)) == len(lines)


def test_the_picture_has_no_picture_font_or_script_from_elsewhere() -> None:
    text = flow_svg(selection())
    assert "<script" not in text
    assert [part for part in text.split('"') if part.startswith("http")] == ["http://www.w3.org/2000/svg"]


def test_the_bytes_are_the_same_in_every_process() -> None:
    code = "import sys, test_flow as t; sys.stdout.write(t.flow_svg(t.selection()))"
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(Path(__file__).parent)}
    environment["PYTHONIOENCODING"] = "utf-8"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    assert done.stdout == flow_svg(selection()).encode()
