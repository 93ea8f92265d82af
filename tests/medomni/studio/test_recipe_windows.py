"""Windows over inline rows: bounds, ties, arrows, counts and computations."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recipe_builders import (
    CREATININE,
    TinyRelease,
    admission,
    bound_label,
    lab,
    patient,
    problems,
    release,
    table_of,
    values,
)

AT = CREATININE + "index: {time: trigger}\n"


def window(
    body: str, value: str = "x", *, start: str = "NULL", end: str = "trigger", flags: str = "true, true"
) -> str:
    first, last = flags.split(", ")
    return f"""{AT}
windows:
  w:
    start: {start}
    end: {end}
    start_inclusive: {first}
    end_inclusive: {last}
    role: outcome
    {body}
value: "{value}"
"""


def days(*values: str | None) -> list[dict[str, Any]]:
    """One creatinine a day at noon, from 1 January."""
    return [lab(n, f"2150-01-{n:02} 12:00:00", value) for n, value in enumerate(values, start=1)]


def last_value(folder: Path, body: str, rows: list[dict[str, Any]], **more: Any) -> Any:
    bound = bound_label(folder, body)
    return values(bound, release(bound, hosp__labevents=rows, **more))[-1]


@pytest.mark.parametrize(
    ("computation", "expected"),
    [
        ("min(creatinine.value)", Decimal("0.9")),
        ("max(creatinine.value)", 3),
        ("mean(creatinine.value)", 1.725),
        ("median(creatinine.value)", 1.5),
        ("sum(creatinine.value)", Decimal("6.9")),
        ("first(creatinine.value)", 1),
        ("last(creatinine.value)", Decimal("0.9")),
        ("count(creatinine)", 4),
        ("count(creatinine, value > 0.95 and value < 3)", 2),
        ("max(creatinine.value, value < 3)", 2),
        ("ndays(creatinine.time)", 4),
        ("first(creatinine)", 1),
    ],
)
def test_windows_compute_what_they_say(tmp_path: Path, computation: str, expected: object) -> None:
    body = window(f'agg: {{x: "{computation}"}}')
    assert last_value(tmp_path, body, days("1.0", "2.0", "3.0", "0.9")) == pytest.approx(expected)


def test_a_slope_is_value_per_second_by_least_squares(tmp_path: Path) -> None:
    body = window('agg: {x: "slope(creatinine.value)"}', value="x * 86400")
    assert last_value(tmp_path, body, days("1.0", "2.0", "3.0")) == pytest.approx(1.0)
    (tmp_path / "one").mkdir()
    bound = bound_label(tmp_path / "one", body)
    found = table_of(bound, release(bound, hosp__labevents=days("1.0")))[0]
    assert (found["value"], found["eligible"]) == (None, False)


def test_counts_of_an_empty_window_are_zero_and_values_are_missing(tmp_path: Path) -> None:
    body = window(
        'agg: {x: "count(creatinine)", low: "min(creatinine.value)", n: "ndays(creatinine.time)"}',
        value="x + n + coalesce(low, 100)",
        flags="true, false",
    )
    assert last_value(tmp_path, body, days("1.0")) == 100


@pytest.mark.parametrize(
    ("flags", "expected"), [("true, true", 3), ("true, false", 2), ("false, true", 2), ("false, false", 1)]
)
def test_bounds_belong_to_a_window_as_its_flags_say(tmp_path: Path, flags: str, expected: int) -> None:
    body = window("agg: {x: count(creatinine)}", start="trigger - 2d", flags=flags)
    assert last_value(tmp_path, body, days("1", "1", "1")) == expected


@pytest.mark.parametrize("function", ["last", "max"])
def test_ties_in_time_go_by_availability_and_then_by_key(tmp_path: Path, function: str) -> None:
    """`last` alone is found by an ASOF join, with another computation beside it by a join: both agree."""
    body = window(
        f'agg: {{x: "last(creatinine.value)", y: "{function}(creatinine.value)"}}', end="trigger - 1h"
    )
    rows = [
        lab(9, "2150-01-01 12:00:00", "1", storetime="2150-01-01 13:00:00"),
        lab(4, "2150-01-01 12:00:00", "2", storetime="2150-01-01 14:00:00"),
        lab(5, "2150-01-01 12:00:00", "3", storetime="2150-01-01 14:00:00"),
        lab(8, "2150-01-01 12:00:00", "4"),
        lab(7, "2150-01-02 12:00:00", "9"),
    ]
    assert last_value(tmp_path, body, rows) == 3


def test_first_and_last_take_the_row_even_where_its_value_is_missing(tmp_path: Path) -> None:
    body = window('agg: {x: "last(creatinine.value)", t: "last(creatinine.time)"}', value="coalesce(x, 5)")
    assert last_value(tmp_path, body, days("1", None)) == 5


steps = st.lists(st.integers(0, 6), min_size=1, max_size=12)


@settings(max_examples=12)
@given(
    steps=steps, low=st.integers(0, 4), high=st.integers(0, 3), flags=st.tuples(st.booleans(), st.booleans())
)
def test_the_nearest_earlier_value_is_what_looking_at_every_pair_finds(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[int],
    low: int,
    high: int,
    flags: tuple[bool, bool],
) -> None:
    if low == high and flags != (True, True):
        flags = (True, True)
    low, high = max(low, high), min(low, high)
    base, rows, times = datetime(2150, 1, 1), [], []
    for number, step in enumerate(steps):
        base += timedelta(hours=12 * step)
        times.append(base)
        rows.append(lab(number, base.isoformat(" "), str(number)))
    start = f"trigger - {low}d" if low else "trigger"
    end = f"trigger - {high}d" if high else "trigger"
    written = ", ".join(str(flag).lower() for flag in flags)
    body = window(
        'agg: {x: "last(creatinine.value)"}', "coalesce(x, -1)", start=start, end=end, flags=written
    )
    bound = bound_label(tmp_path_factory.mktemp("nearest"), body)

    def expected(moment: datetime) -> int:
        first, final = moment - timedelta(days=low), moment - timedelta(days=high)
        inside = [
            (time, number)
            for number, time in enumerate(times)
            if (first < time or (flags[0] and first == time))
            and (time < final or (flags[1] and time == final))
        ]
        return max(inside)[1] if inside else -1

    found = values(bound, release(bound, hosp__labevents=rows))
    assert [int(each) for each in found] == [expected(moment) for moment in times]


def test_arrows_go_to_the_next_event_and_to_the_last_one_before(tmp_path: Path) -> None:
    body = """
predicates:
  creatinine: {table: hosp.labevents, code: {any: [50912]}, value: valuenum}
  admission: {table: hosp.admissions}
  discharge: {table: hosp.admissions, time: dischtime}
trigger: creatinine
index: {time: trigger}
windows:
  stay:
    start: trigger <- admission
    end: start -> discharge
    start_inclusive: true
    end_inclusive: true
    role: outcome
    agg: {n: count(creatinine)}
value: "n"
"""
    bound = bound_label(tmp_path, body)
    store = release(
        bound,
        hosp__admissions=[
            admission(1, "2150-01-01 00:00:00", "2150-01-03 00:00:00"),
            admission(2, "2150-01-05 00:00:00", "2150-01-06 00:00:00"),
        ],
        hosp__labevents=[
            lab(1, "2149-12-31 00:00:00", "1"),
            lab(2, "2150-01-01 12:00:00", "1"),
            lab(3, "2150-01-02 12:00:00", "1"),
            lab(4, "2150-01-05 12:00:00", "1"),
        ],
    )
    found = table_of(bound, store)
    assert [row["value"] for row in found] == [0, 2, 2, 1]
    assert [row["null:stay.start"] for row in found] == [False, True, True, True]


def test_a_window_can_start_from_another(tmp_path: Path) -> None:
    body = f"""{AT}
windows:
  second:
    start: first.end
    end: start + 1d
    start_inclusive: false
    end_inclusive: true
    agg: {{n: count(creatinine)}}
  first: {{start: trigger - 2d, end: trigger - 1d, start_inclusive: true, end_inclusive: true}}
value: "n"
"""
    assert last_value(tmp_path, body, days("1", "1", "1")) == 1


def test_same_keeps_events_of_the_triggers_own_admission(tmp_path: Path) -> None:
    for number, (same, expected) in enumerate((("same: [hadm_id]", 1), ("", 2))):
        folder = tmp_path / str(number)
        folder.mkdir()
        body = window(f"agg: {{x: count(creatinine)}}\n    {same}")
        rows = [
            lab(1, "2150-01-01 12:00:00", "1", hadm_id=8),
            lab(2, "2150-01-02 12:00:00", "1", hadm_id=9),
        ]
        assert last_value(folder, body, rows) == expected


def test_an_event_without_the_id_is_of_no_admission(tmp_path: Path) -> None:
    body = window("agg: {x: count(creatinine)}\n    same: [hadm_id]")
    assert last_value(tmp_path, body, days("1", "1")) == 0


@pytest.mark.parametrize(
    ("flags", "moment", "inside"),
    [
        ("true, true", "2150-01-02 00:00:00", True),
        ("true, true", "2150-01-03 00:00:00", True),
        ("false, true", "2150-01-03 00:00:00", False),
        ("true, false", "2150-01-02 00:00:00", False),
        ("true, true", "2150-01-04 00:00:00", False),
        ("false, true", "2150-01-08 00:00:00", True),
    ],
)
def test_intervals_meet_a_moment_with_both_ends_unless_a_flag_is_off(
    tmp_path: Path, flags: str, moment: str, inside: bool
) -> None:
    first, last = flags.split(", ")
    body = f"""
predicates:
  creatinine: {{table: hosp.labevents, code: {{any: [50912]}}, value: valuenum}}
  stay: {{table: icu.icustays, interval: [intime, outtime]}}
trigger: creatinine
index: {{time: trigger}}
windows:
  now:
    start: trigger
    end: trigger
    start_inclusive: {first}
    end_inclusive: {last}
    during: {{stay: "(1, None)"}}
value: "1"
"""
    bound = bound_label(tmp_path, body)
    stays = [
        {
            "subject_id": 1,
            "hadm_id": 1,
            "stay_id": 1,
            "intime": "2150-01-02 00:00:00",
            "outtime": "2150-01-03 00:00:00",
        },
        {"subject_id": 1, "hadm_id": 2, "stay_id": 2, "intime": "2150-01-07 00:00:00"},
    ]
    found = table_of(bound, release(bound, hosp__labevents=[lab(1, moment, "1")], icu__icustays=stays))
    assert found[0]["now"] is inside


def test_combinations_are_moments_each_once(tmp_path: Path) -> None:
    """As in ACES: `or` is one event per patient and moment, whatever happened then."""
    body = """
predicates:
  creatinine: {table: hosp.labevents, code: {any: [50912]}, value: valuenum}
  sodium: {table: hosp.labevents, code: {any: [50983]}, value: valuenum}
  either: {expr: "or(creatinine, sodium)"}
  both: {expr: "and(creatinine, sodium)"}
  one: {expr: "and(not(sodium), creatinine)"}
  neither: {expr: not(either)}
trigger: either
index: {time: trigger}
windows:
  all:
    start: NULL
    end: NULL
    start_inclusive: true
    end_inclusive: true
    role: outcome
    agg: {n: count(either), b: count(both), o: count(one), r: count(neither), a: count(_ANY_EVENT)}
value: "10000 * n + 1000 * b + 100 * o + 10 * r + a"
"""
    bound = bound_label(tmp_path, body)
    store = release(
        bound,
        hosp__labevents=[
            lab(1, "2150-01-01 00:00:00", "1"),
            lab(2, "2150-01-01 00:00:00", "140", itemid=50983, unit=None),
            lab(3, "2150-01-02 00:00:00", "1"),
            lab(4, "2150-01-02 00:00:00", "2"),
            lab(5, "2150-01-03 00:00:00", "140", itemid=50983, unit=None),
            lab(6, "2150-01-04 00:00:00", "1", itemid=50931),
        ],
        hosp__admissions=[admission(1, "2150-01-05 00:00:00", "2150-01-06 00:00:00")],
    )
    found = table_of(bound, store)
    assert [row["value"] for row in found] == [31125] * 3
    assert [row["key"] for row in found] == [
        "2150-01-01T00:00:00",
        "2150-01-02T00:00:00",
        "2150-01-03T00:00:00",
    ]


def test_a_birth_row_is_no_event(tmp_path: Path) -> None:
    """Case EH-07: a gate of five events counts laboratory rows, and the patient's own row has no time."""
    body = window('has: {_ANY_EVENT: "(5, None)"}', value="1")
    bound = bound_label(tmp_path, body)
    rows = [lab(n, f"2150-01-01 0{n}:00:00", "1", subject_id=1) for n in range(1, 5)]
    rows += [lab(10 + n, f"2150-01-01 0{n}:00:00", "1", subject_id=2) for n in range(1, 6)]
    store = release(bound, hosp__labevents=rows, hosp__patients=[patient(1), patient(2)])
    assert {row["subject"] for row in table_of(bound, store) if row["eligible"]} == {2}


def test_a_code_without_time_is_known_a_week_after_discharge(tmp_path: Path) -> None:
    body = """
predicates:
  creatinine: {table: hosp.labevents, code: {any: [50912]}, value: valuenum}
  renal: {table: hosp.diagnoses_icd, code: {icd10: [N18], icd9: ["585"], match: prefix}}
trigger: creatinine
index: {time: trigger, side: before}
windows:
  history: {start: NULL, end: trigger, start_inclusive: true, end_inclusive: false, has: {renal: "(1, None)"}}
value: "trigger.value"
"""
    bound = bound_label(tmp_path, body)
    code = {"subject_id": 1, "hadm_id": 1, "seq_num": 1, "icd_code": "N184", "icd_version": 10}
    store = release(
        bound,
        hosp__admissions=[admission(1, "2150-01-01 00:00:00", "2150-01-03 00:00:00")],
        hosp__diagnoses_icd=[code],
        hosp__labevents=[lab(1, "2150-01-10 00:00:00", "1"), lab(2, "2150-01-10 00:00:01", "1")],
    )
    assert [row["history"] for row in table_of(bound, store)] == [False, True]


def test_codes_are_text_and_never_numbers(tmp_path: Path) -> None:
    """Case EH-04: 042 is not 0042, and 1882 is not 01882."""
    codes = ["0042", "042", "01882", "1882"]
    for number, (listed, match, people) in enumerate(
        [
            ('"042"', "exact", {2}),
            ('"1882"', "exact", {4}),
            ('"042"', "prefix", {2}),
            ('"01.88"', "prefix", {3}),
        ]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        body = f"""
predicates:
  coded: {{table: hosp.diagnoses_icd, code: {{icd9: [{listed}], match: {match}}}}}
trigger: coded
index: {{time: trigger}}
value: "1"
"""
        bound = bound_label(folder, body)
        rows = [
            {"subject_id": n, "hadm_id": n, "seq_num": 1, "icd_code": code, "icd_version": 9}
            for n, code in enumerate(codes, start=1)
        ]
        stays = [
            admission(n, "2150-01-01 00:00:00", "2150-01-02 00:00:00", subject_id=n) for n in range(1, 5)
        ]
        store = release(bound, hosp__diagnoses_icd=rows, hosp__admissions=stays)
        assert {row["subject"] for row in table_of(bound, store)} == people


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("code: 50912", 3),
        ("code: [50912, 50983]", 4),
        ("code: {any: [50912]}, value: valuenum, value_min: 1, value_min_inclusive: false", 1),
        ("code: {any: [50912]}, value: valuenum, value_min: 1, value_min_inclusive: true", 2),
        ("code: {any: [50912]}, value: valuenum, value_max: 1.5, value_max_inclusive: true", 2),
        ("code: {any: [50912]}, value: valuenum, value_max: 1.5, value_max_inclusive: false", 1),
        ("code: {dict: hosp.d_labitems, label_regex: '(?i)creat'}", 3),
        ("code: {dict: hosp.d_labitems, label_regex: 'o', fluid: [Blood]}", 1),
        ("code: {dict: hosp.d_labitems, category: [Chemistry]}", 4),
        ("other_cols: {flag: abnormal}", 1),
        ("other_cols: {flag: [abnormal, high], itemid: 50912}", 2),
        ("other_cols: {flag: {regex: '^h'}}", 1),
        ("text: {column: comments, regex: GFR}", 1),
        ("where: [\"flag == 'high' or itemid == 50983\"]", 2),
        ('where: ["valuenum + 1 > 2"]', 2),
        ("code: {any: [50912]}, time: storetime", 1),
    ],
)
def test_predicates_take_the_rows_that_they_describe(tmp_path: Path, predicate: str, expected: int) -> None:
    body = f"""
predicates: {{it: {{table: hosp.labevents, {predicate}}}}}
trigger: it
index: {{time: trigger}}
value: "1"
"""
    bound = bound_label(tmp_path, body)
    store = release(
        bound,
        hosp__labevents=[
            lab(1, "2150-01-01 00:00:00", "1", flag="abnormal", storetime="2150-01-01 01:00:00"),
            lab(2, "2150-01-02 00:00:00", "1.5", flag="high"),
            lab(3, "2150-01-03 00:00:00", None, comments="see GFR"),
            lab(4, "2150-01-04 00:00:00", "140", itemid=50983, unit=None),
        ],
        hosp__d_labitems=[
            {"itemid": 50912, "label": "Creatinine", "fluid": "Blood", "category": "Chemistry"},
            {"itemid": 50983, "label": "Sodium", "fluid": "Blood", "category": "Chemistry"},
        ],
    )
    assert len(table_of(bound, store)) == expected


@pytest.mark.parametrize(
    ("start", "end", "flags", "code"),
    [
        ("trigger", "trigger - 1d", "true, true", "recipe-window-impossible"),
        ("index + 2d", "trigger + 1d", "true, true", "recipe-window-impossible"),
        ("trigger", "trigger", "true, false", "recipe-window-empty"),
        ("index", "trigger", "false, false", "recipe-window-empty"),
        ("start", "trigger", "true, true", "recipe-circle"),
        ("end - 1d", "start + 1d", "true, true", "recipe-circle"),
        ("w.end", "trigger", "true, true", None),
        ("nowhere.end", "trigger", "true, true", "recipe-name-unknown"),
        ("trigger -> nothing", "NULL", "true, true", "recipe-predicate-unknown"),
        ("trigger.valuenum", "NULL", "true, true", "recipe-type"),
        ("1d", "trigger", "true, true", "recipe-syntax"),
    ],
)
def test_windows_that_nothing_can_be_in_are_refused(
    tmp_path: Path, start: str, end: str, flags: str, code: str | None
) -> None:
    found = {
        issue.code
        for issue in problems(
            tmp_path, window('agg: {x: "count(creatinine)"}', start=start, end=end, flags=flags)
        )
    }
    assert found == ({code} if code else set())


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ('agg: {x: "min(nothing.value)"}', "recipe-predicate-unknown"),
        ('agg: {x: "min(creatinine.weight)"}', "recipe-column-unknown"),
        ('agg: {x: "min(creatinine.valueuom)"}', "recipe-type"),
        ('agg: {x: "mode(creatinine.value)"}', "recipe-aggregate-unknown"),
        ('agg: {x: "runs(creatinine, value < 1)"}', "recipe-series"),
        ('agg: {x: "min(creatinine.value, 1, 2)"}', "recipe-type"),
        ('agg: {x: "min(1)"}', "recipe-type"),
        ('agg: {x: "count(creatinine, value)"}', "recipe-type"),
        ('agg: {x: "count(creatinine, a.b > 1)"}', "recipe-column-unknown"),
        ('agg: {x: "creatinine.value"}', "recipe-syntax"),
        ("agg: {x: count(creatinine), trigger: count(creatinine)}", "recipe-name-reserved"),
        ('has: {nothing: "(1, None)"}', "recipe-predicate-unknown"),
        ('during: {creatinine: "(1, None)"}', "recipe-type"),
        ('has: {creatinine: "(1"}', "recipe-syntax"),
        ("agg: {x: count(creatinine)}\n    same: [weight]", "recipe-column-unknown"),
        ("agg: {x: count(creatinine)}\n    lookahead: 60s", "recipe-series"),
    ],
)
def test_windows_that_ask_for_what_is_not_there_are_refused(tmp_path: Path, body: str, code: str) -> None:
    found = problems(tmp_path, window(body, value="1"))
    assert {issue.code for issue in found} == {code}
    assert all("it.yaml:" in issue.where for issue in found)


def test_both_flags_must_be_written(tmp_path: Path) -> None:
    body = f"{AT}windows:\n  w: {{start: trigger - 1d, end: trigger, start_inclusive: true}}\nvalue: '1'\n"
    assert [issue.code for issue in problems(tmp_path, body)] == ["label-required"]


def test_digits_depend_neither_on_threads_nor_on_the_order_of_rows(tmp_path: Path) -> None:
    body = window(
        'agg: {a: "mean(creatinine.value)", b: "slope(creatinine.value)", c: "last(creatinine.value)",'
        ' d: "median(creatinine.value)", e: "first(creatinine.value)", f: "sum(creatinine.value)"}',
        value="a + coalesce(b, 0) + c + d + e + f",
    )
    bound = bound_label(tmp_path, body)
    rows = [
        lab(n, f"2150-01-{1 + n % 7:02} {n % 3:02}:00:00", f"0.{(n * 7919) % 9973:04}", subject_id=1 + n % 4)
        for n in range(600)
    ]
    people = [patient(n) for n in range(1, 5)]
    plain = release(bound, hosp__labevents=rows, hosp__patients=people)
    mixed = TinyRelease(plain.rows, plain.definitions, shuffled=True)
    expected = table_of(bound, plain, threads=1)
    assert len(expected) == 600
    assert table_of(bound, plain, threads=2) == expected
    assert table_of(bound, mixed, threads=2) == expected


def test_a_condition_narrows_every_computation(tmp_path: Path) -> None:
    body = window(
        'agg: {x: "slope(creatinine.value, value < 3)", y: "median(creatinine.labevent_id)"}', "x * 86400 + y"
    )
    assert last_value(tmp_path, body, days("1.0", "2.0", "9.0")) == pytest.approx(3.0)


@pytest.mark.parametrize("expr", ["and(a, b, not(c))", "not(not(a))", "or(not(a), b)", "and(not(a), not(b))"])
def test_combinations_nest(tmp_path: Path, expr: str) -> None:
    """The same moments as Python's sets give."""
    items = {"a": 50912, "b": 50983, "c": 50931}
    predicates = "".join(
        f"  {name}: {{table: hosp.labevents, code: {{any: [{item}]}}}}\n" for name, item in items.items()
    )
    body = f'''
predicates:
{predicates}
  it: {{expr: "{expr}"}}
trigger: it
index: {{time: trigger}}
value: "1"
'''
    held = {"a": {1, 2, 3, 4}, "b": {2, 3, 5}, "c": {3, 6}}
    rows = [
        lab(10 * day + n, f"2150-01-{day:02} 00:00:00", "1", itemid=items[name])
        for n, name in enumerate(held)
        for day in held[name]
    ]
    every = held["a"] | held["b"] | held["c"]
    expected = {
        "and(a, b, not(c))": (held["a"] & held["b"]) - held["c"],
        "not(not(a))": held["a"],
        "or(not(a), b)": (every - held["a"]) | held["b"],
        "and(not(a), not(b))": every - held["a"] - held["b"],
    }[expr]
    bound = bound_label(tmp_path, body)
    store = TinyRelease({"hosp.labevents": rows, "hosp.patients": [patient()]}, bound.scope.catalog.tables)
    assert {row["time"].day for row in table_of(bound, store)} == expected
    assert {row["time"].day for row in table_of(bound, store, subject=1)} == expected


def test_bounds_of_a_window_are_moments_that_expressions_may_use(tmp_path: Path) -> None:
    body = window("agg: {n: count(creatinine)}", value="n + (w.end - w.start) / 86400", start="trigger - 2d")
    assert last_value(tmp_path, body, days("1", "1", "1")) == 5.0


def test_a_window_may_start_at_the_admission_of_the_trigger(tmp_path: Path) -> None:
    body = window("agg: {x: count(creatinine)}", start="admission.admittime")
    rows = [row | {"hadm_id": 1} for row in days("1", "1", "1")]
    stays = [admission(1, "2150-01-02 00:00:00", None)]
    assert last_value(tmp_path, body, rows, hosp__admissions=stays) == 2


def test_windows_that_start_from_each_other_are_a_circle(tmp_path: Path) -> None:
    body = f"""{AT}
windows:
  a: {{start: b.end, end: b.end, start_inclusive: true, end_inclusive: true}}
  b: {{start: a.end, end: a.end, start_inclusive: true, end_inclusive: true}}
value: "1"
"""
    assert {issue.code for issue in problems(tmp_path, body)} == {"recipe-circle"}


def test_events_of_the_library_can_be_those_of_one_patient(tmp_path: Path) -> None:
    body = """
predicates: {episode: {function: merged_admissions@1}}
trigger: episode
index: {time: trigger}
value: "trigger.episode"
"""
    bound = bound_label(tmp_path, body)
    rows = [admission(n, "2150-01-01 00:00:00", "2150-01-02 00:00:00", subject_id=n) for n in (1, 2)]
    store = release(bound, hosp__admissions=rows)
    assert [row["subject"] for row in table_of(bound, store)] == [1, 2]
    assert [row["subject"] for row in table_of(bound, store, subject=2)] == [2]
