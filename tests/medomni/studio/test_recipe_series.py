"""Series over inline rows: which samples there are, valid fractions and runs, computed here by hand."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recipe_builders import admission, bound_label, problems, release, table_of, values

from medomni.studio.errors import LabelError
from medomni.studio.labels import explain

DAY = "2150-01-01"
HEAD = """
predicates:
  admitted: {table: hosp.admissions}
series:
  map:
    table: icu.chartevents
    code: [220052, 220181]
    value: valuenum
"""
BODY = """
trigger: admitted
index: {time: trigger}
windows:
  w:
    start: trigger
    end: trigger + 300s
    start_inclusive: false
    end_inclusive: true
    role: outcome
"""


def chart(time: str, value: str | None, *, itemid: int = 220052, **more: Any) -> dict[str, Any]:
    return {
        "subject_id": 1, "hadm_id": 7, "stay_id": 3, "itemid": itemid, "charttime": f"{DAY} {time}",
        "valuenum": value, "value": value, "valueuom": "mmHg", **more,
    }  # fmt: skip


def rows_of(folder: Path, series: str, window: str, value: str, rows: list[dict[str, Any]]) -> Any:
    """The answer for the one admission, at 10:00."""
    bound = bound_label(folder, f'{HEAD}{series}{BODY}{window}value: "{value}"\n')
    store = release(bound, icu__chartevents=rows, hosp__admissions=[admission(7, f"{DAY} 10:00:00", None)])
    return values(bound, store)[0]


EVERY_MINUTE = "    resample: {every: 60s, how: last, max_hold: 120s}\n"
TWO = [chart("10:00:30", "70"), chart("10:02:10", "60")]


@pytest.mark.parametrize(
    ("series", "computation", "expected"),
    [
        # Even moments: 10:01 (70), 10:02 (70, held), 10:03 (60), 10:04 (60, held); 10:05 is too late.
        (EVERY_MINUTE, "count(map)", 4),
        (EVERY_MINUTE, "valid_fraction(map)", 0.8),
        (EVERY_MINUTE, "sum(map.value)", 260),
        (EVERY_MINUTE, "first(map.value)", 70),
        (EVERY_MINUTE, "last(map.value)", 60),
        (EVERY_MINUTE, "count(map, value < 65)", 2),
        # Without holding, the two stretches that have a sample.
        ("    resample: {every: 60s, how: last}\n", "valid_fraction(map)", 0.4),
        # A stretch includes its end, and so 10:01:00 itself belongs to the one that ends with it.
        ("    resample: {every: 300s, how: last}\n", "valid_fraction(map)", 1.0),
        ("    resample: {every: 300s, how: first}\n", "sum(map.value)", 70),
        ("    resample: {every: 300s, how: mean}\n", "sum(map.value)", 65.0),
        ("    resample: {every: 300s, how: median}\n", "sum(map.value)", 65),
        ("    resample: {every: 300s, how: min}\n", "sum(map.value)", 60),
        ("    resample: {every: 300s, how: max}\n", "sum(map.value)", 70),
        ("", "count(map)", 2),
    ],
)
def test_samples_stand_at_even_moments(
    tmp_path: Path, series: str, computation: str, expected: object
) -> None:
    found = rows_of(tmp_path, series, f'    agg: {{x: "{computation}"}}\n', "x", TWO)
    assert found == expected


def test_a_sample_is_never_known_before_its_time(tmp_path: Path) -> None:
    """The stretch up to 10:05 holds a sample of 10:04:30, which a window that ends at 10:04 must not see."""
    window = '    agg: {x: "count(map)"}\n'
    late = [chart("10:04:30", "70")]
    assert rows_of(tmp_path, EVERY_MINUTE, window, "x", late) == 1
    (tmp_path / "short").mkdir()
    body = BODY.replace("300s", "299s") + window
    bound = bound_label(tmp_path / "short", f"{HEAD}{EVERY_MINUTE}{body}value: x\n")
    store = release(bound, icu__chartevents=late, hosp__admissions=[admission(7, f"{DAY} 10:00:00", None)])
    assert values(bound, store) == [0]


@pytest.mark.parametrize(
    ("series", "values_in", "kept"),
    [
        ("    clean: {min: 20, max: 180}\n", ["19.9", "20", "180", "180.1"], ["20", "180"]),
        # 80 to 111 is more than 30; 111 to 90 is not, though 111 itself is dropped.
        ("    clean: {max_step: 30}\n", ["80", "111", "90", "60"], ["80", "90", "60"]),
        # What is outside the limits is no step.
        ("    clean: {min: 20, max_step: 30}\n", ["80", "0", "85"], ["80", "85"]),
        ("    clean: {min: 0.1}\n", ["0.1", "0.09999999"], ["0.1"]),
        ("", ["1", None, "2"], ["1", "2"]),
    ],
)
def test_clean_keeps_what_can_be(
    tmp_path: Path, series: str, values_in: list[str | None], kept: list[str]
) -> None:
    rows = [chart(f"10:0{n}:00", value) for n, value in enumerate(values_in, start=1)]
    window = '    agg: {n: "count(map)", total: "sum(map.value)"}\n'
    total = sum(Decimal(value) for value in kept)
    assert rows_of(tmp_path, series, window, "n * 1000 + total", rows) == len(kept) * 1000 + total


def test_of_two_samples_at_one_moment_the_last_is_kept(tmp_path: Path) -> None:
    rows = [chart("10:01:00", "70"), chart("10:01:00", "60", itemid=220181)]
    window = '    agg: {n: "count(map)", total: "sum(map.value)"}\n'
    first = rows_of(tmp_path, "    dedup: time\n", window, "n * 1000 + total", rows)
    (tmp_path / "turned").mkdir()
    assert first in (1060, 1070)
    assert rows_of(tmp_path / "turned", "    dedup: time\n", window, "n * 1000 + total", rows[::-1]) == first


TEXTS = HEAD.replace("value: valuenum", "value: value") + "    map: {Low: 40, High: 400}\n"


def text_label(folder: Path) -> Any:
    return bound_label(folder, f'{TEXTS}{BODY}    agg: {{x: "sum(map.value)"}}\nvalue: x\n')


def test_texts_stand_for_the_numbers_that_they_are_mapped_to(tmp_path: Path) -> None:
    rows = [{**chart("10:01:00", None), "value": text} for text in ("Low", "High", "70.5")]
    bound = text_label(tmp_path)
    store = release(bound, icu__chartevents=rows, hosp__admissions=[admission(7, f"{DAY} 10:00:00", None)])
    assert values(bound, store) == [Decimal("510.5")]


def test_a_text_that_stands_for_no_number_is_an_error_with_its_rows(tmp_path: Path) -> None:
    bound = text_label(tmp_path)
    with pytest.raises(LabelError, match=r"'Clotted' \(2 rows\)") as caught:
        values(bound, release(bound, icu__chartevents=[{**chart("10:01:00", None), "value": "Clotted"}] * 2))
    assert caught.value.code == "label-series-text"


def test_units_of_a_series_are_checked_as_those_of_a_predicate(tmp_path: Path) -> None:
    body = f'{HEAD}    unit: kPa\n{BODY}    agg: {{x: "count(map)"}}\nvalue: x\n'
    bound = bound_label(tmp_path, body)
    with pytest.raises(LabelError) as caught:
        values(bound, release(bound, icu__chartevents=TWO))
    assert caught.value.code == "label-unit"


# Runs.


def minutes(*values_in: str | None, start: int = 1) -> list[dict[str, Any]]:
    """One sample a minute from 10:01; None leaves one out."""
    return [chart(f"10:{start + n:02}:00", value) for n, value in enumerate(values_in) if value is not None]


RUNS = "    agg: {{x: 'runs(map, value < 65, min_duration: {}, max_gap: {})'}}\n"
PLAIN = "    resample: {every: 60s, how: last}\n"


@pytest.mark.parametrize(
    ("values_in", "series", "duration", "gap", "more", "expected"),
    [
        # From the first moment to the last: 10:02 to 10:04 is two minutes.
        (["70", "60", "60", "60", "70"], "", "120s", "60s", "", 1),
        (["70", "60", "60", "60", "70"], "", "121s", "60s", "", 0),
        # Where each sample stands for its minute, the same three are three minutes.
        (["70", "60", "60", "60", "70"], PLAIN, "180s", "60s", "", 1),
        (["70", "60", "60", "60", "70"], PLAIN, "181s", "60s", "", 0),
        (["60", "70", "60", "70", "60"], PLAIN, "60s", "60s", "", 3),
        # A gap of two minutes ends a run, unless it is allowed.
        (["60", None, "60", "70", "70"], "", "60s", "60s", "", 0),
        (["60", None, "60", "70", "70"], "", "120s", "120s", "", 1),
        (["60", None, "60", "70", "70"], PLAIN, "60s", "119s", "", 2),
        # What begins in the window may go on for a minute after it.
        (["70", "70", "70", "60", "60", "60"], "", "60s", "60s", "", 1),
        (["70", "70", "70", "60", "60", "60"], "", "120s", "60s", "", 0),
        (["70", "70", "70", "60", "60", "60"], "", "120s", "60s", "    lookahead: 60s\n", 1),
        (["70", "70", "70", "60", "60", "60"], "", "120s", "60s", "    lookahead: 59s\n", 0),
        # The run goes on at 10:07, but the window and its lookahead end between two samples.
        (["70", "70", "70", "60", "60", "60", "60"], "", "180s", "60s", "    lookahead: 90s\n", 0),
        (["70"], "", "60s", "60s", "", 0),
        ([], "", "60s", "60s", "", 0),
        # Exactly 65 is not below 65.
        (["65", "65", "65"], "", "60s", "60s", "", 0),
    ],
)
def test_runs_are_counted_by_hand(
    tmp_path: Path,
    values_in: list[str | None],
    series: str,
    duration: str,
    gap: str,
    more: str,
    expected: int,
) -> None:
    window = RUNS.format(duration, gap) + more
    assert rows_of(tmp_path, series, window, "x", minutes(*values_in)) == expected


def test_a_run_that_began_before_the_window_does_not_begin_in_it(tmp_path: Path) -> None:
    rows = [chart("09:59:00", "60"), chart("10:00:00", "60"), *minutes("60", "60", "60")]
    window = RUNS.format("60s", "60s")
    assert rows_of(tmp_path, "", window, "x", rows) == 0
    (tmp_path / "gap").mkdir()
    assert rows_of(tmp_path / "gap", "", window, "x", rows[:1] + rows[2:]) == 1


def by_hand(samples: list[tuple[int, int]], start: int, end: int, ahead: int, least: int, gap: int) -> int:
    """Runs of values below 65 that begin in (start, end] and last as long, seen up to end + ahead."""
    runs: list[list[int]] = []
    before: tuple[int, int] | None = None
    for time, value in samples:
        if value < 65:
            if runs and before is not None and before[1] < 65 and time - before[0] <= gap:
                runs[-1].append(time)
            else:
                runs.append([time])
        before = (time, value)
    seen = [[time for time in run if time <= end + ahead] for run in runs if start < run[0] <= end]
    return sum(run[-1] - run[0] >= least for run in seen)


@settings(max_examples=12, deadline=None)
@given(
    moments=st.lists(st.integers(-200, 700), unique=True, max_size=25),
    seed=st.integers(0, 2**25),
    ahead=st.integers(0, 120),
    least=st.integers(0, 200),
    gap=st.integers(1, 150),
)
def test_runs_equal_a_plain_loop(
    tmp_path_factory: pytest.TempPathFactory,
    moments: list[int],
    seed: int,
    ahead: int,
    least: int,
    gap: int,
) -> None:
    samples = [(moment, 60 if seed >> n & 1 else 70) for n, moment in enumerate(sorted(moments))]
    zero = datetime(2150, 1, 1, 10)
    rows = [
        chart("", str(value), charttime=str(zero + timedelta(seconds=moment))) for moment, value in samples
    ]
    window = RUNS.format(f"{least}s", f"{gap}s") + f"    lookahead: {ahead}s\n"
    found = rows_of(tmp_path_factory.mktemp("runs"), "", window, "x", rows[::-1])
    assert found == by_hand(samples, 0, 300, ahead, least, gap)


@settings(max_examples=12, deadline=None)
@given(
    moments=st.lists(st.integers(-600, 700), unique=True, max_size=12),
    every=st.sampled_from([20, 60, 100]),
    hold=st.integers(0, 200),
)
def test_resampling_equals_a_plain_loop(
    tmp_path_factory: pytest.TempPathFactory, moments: list[int], every: int, hold: int
) -> None:
    """The value of an even moment is the last of its stretch, else the last that may be held so long."""
    zero = datetime(2150, 1, 1, 10)
    origin = int((zero - datetime(2000, 1, 3)).total_seconds())
    seen = sorted(moments)
    expected = []
    for even in range(1, 301):
        if (origin + even) % every:
            continue
        past = [moment for moment in seen if moment <= even]
        if past and (even - past[-1] < every or even - past[-1] <= max(hold, every)):
            expected.append(past[-1])
    rows = [chart("", str(1000 + moment), charttime=str(zero + timedelta(seconds=moment))) for moment in seen]
    series = f"    resample: {{every: {every}s, how: last, max_hold: {max(hold, every)}s}}\n"
    window = '    agg: {n: "count(map)", total: "sum(map.value)", share: "valid_fraction(map)"}\n'
    answer = "n * 1000000 + coalesce(total, 0)"
    folder = tmp_path_factory.mktemp("even")
    assert rows_of(folder, series, window, answer, rows) == sum(expected) + len(expected) * 1_001_000
    share = rows_of(tmp_path_factory.mktemp("share"), series, window, "share", rows)
    whole = sum((origin + even) % every == 0 for even in range(1, 301))
    assert share == len(expected) / whole


# Hypotension on a grid, as in an operating room: the parts together.

HYPOTENSION = """
predicates:
  stay: {table: icu.icustays, interval: [intime, outtime]}
  pressure: {table: icu.chartevents, code: [220052, 220181], value: valuenum, unit: mmHg}
series:
  map:
    predicate: pressure
    clean: {min: 20, max: 180}
    dedup: time
    resample: {every: 60s, how: last, max_hold: 120s}
trigger: stay
index: {grid: {start: trigger + 5min, end: trigger.outtime, every: 5min}, pick: hash}
windows:
  past:
    {start: index - 5min, end: index, start_inclusive: false, end_inclusive: true,
     agg: {seen: valid_fraction(map)}}
  now:
    {start: index - 1min, end: index, start_inclusive: false, end_inclusive: true,
     agg: {level: median(map.value)}}
  target:
    start: index
    end: index + 10min
    start_inclusive: false
    end_inclusive: true
    role: outcome
    lookahead: 60s
    agg:
      later: valid_fraction(map)
      low: "runs(map, value < 65, min_duration: 60s, max_gap: 60s)"
where: [{enough: "seen >= 0.8"}, {not_low: "level >= 65"}]
where_outcome: [{seen_later: "later >= 0.8"}]
value: "low >= 1"
"""
BINARY = "label: it\nversion: 1\nrequires: {releases: [mimic-iv/demo-2.2]}\nquestion: Low?\ntype: binary\n"


def stay_of(minutes_long: int) -> dict[str, Any]:
    out = datetime(2150, 1, 1, 10) + timedelta(minutes=minutes_long)
    return {
        "subject_id": 1, "hadm_id": 7, "stay_id": 3, "intime": f"{DAY} 10:00:00", "outtime": str(out),
        "first_careunit": "CVICU",
    }  # fmt: skip


def test_hypotension_on_a_grid(tmp_path: Path) -> None:
    bound = bound_label(tmp_path, HYPOTENSION, head=BINARY)
    pressures = ["80"] * 11 + ["60"] * 3 + ["80"] * 12
    store = release(bound, icu__chartevents=minutes(*pressures), icu__icustays=[stay_of(20)])
    found = table_of(bound, store)
    told = [
        (row["time"].strftime("%H:%M"), row["value"], row["enough"], row["not_low"], row["seen_later"])
        for row in found
    ]
    assert told == [
        ("10:05", 1, True, True, True),  # 10:12 is in (10:05, 10:15]
        ("10:10", 1, True, True, True),
        ("10:15", 0, True, True, True),
        ("10:20", 0, True, True, True),  # 10:26 and its two held minutes: 8 of 10
    ]
    assert [row["eligible"] for row in found] == [True] * 4
    explained = explain(store, bound, subject=1)
    assert len(explained[0]["windows"]["target map"]) == 10


def test_who_is_low_already_is_no_candidate(tmp_path: Path) -> None:
    bound = bound_label(tmp_path, HYPOTENSION, head=BINARY)
    store = release(bound, icu__chartevents=minutes(*["60"] * 20), icu__icustays=[stay_of(6)])
    assert [(row["not_low"], row["eligible"]) for row in table_of(bound, store)] == [(False, False)]


# What is refused.


@pytest.mark.parametrize(
    ("series", "code"),
    [
        ("  map: {track: Solar8000/ART_MBP}", "recipe-series-source"),
        ("  map: {files: {family: cgm}, value: x}", "recipe-series-source"),
        ("  map: {table: icu.chartevents}", "recipe-series"),
        ("  map: {predicate: nothing}", "recipe-series"),
        ("  map: {predicate: stay}", "recipe-series"),
        ("  map: {predicate: pressure, value: valuenum}", "recipe-series"),
        ("  map: {predicate: either}", "recipe-series"),
        ("  map: {predicate: pressure, clean: {min: 2, max: 1}}", "recipe-series"),
        ("  map: {predicate: pressure, clean: {max_step: -1}}", "recipe-series"),
        ("  map: {predicate: pressure, resample: {every: 60s, how: last, max_hold: 59s}}", "recipe-series"),
        ("  map: {predicate: pressure, resample: {every: 0s, how: last}}", "recipe-series"),
        ("  map: {predicate: pressure, resample: {every: 1 month, how: last}}", "recipe-syntax"),
        ("  map: {predicate: pressure, resample: {every: 60s, how: mode}}", "label-enum"),
        ("  map: {predicate: pressure, map: {Low: 1}}", "recipe-type"),
        ("  map: {table: icu.chartevents, value: value}", "recipe-type"),
        ("  map: {table: icu.chartevents, value: nothing}", "recipe-column-unknown"),
        ("  map: {table: icu.chartevents, value: valuenum, code: ''}", "label-size"),
        ("  pressure: {predicate: pressure}", "recipe-name-reserved"),
        ("  sql: {predicate: pressure}", "recipe-name-reserved"),
    ],
)
def test_series_that_cannot_be_are_refused(tmp_path: Path, series: str, code: str) -> None:
    body = f"""
predicates:
  stay: {{table: icu.icustays, interval: [intime, outtime], value: los}}
  pressure: {{table: icu.chartevents, value: valuenum}}
  either: {{expr: 'or(stay, pressure)'}}
series:
{series}
trigger: stay
index: {{time: trigger}}
value: "1"
"""
    assert code in {issue.code for issue in problems(tmp_path, body)}


@pytest.mark.parametrize(
    ("window", "code"),
    [
        ("agg: {x: 'runs(map, value < 65)'}", "recipe-type"),
        ("agg: {x: 'runs(map, value < 65, min_duration: 60, max_gap: 60s)'}", "recipe-type"),
        ("agg: {x: 'runs(map, value, min_duration: 60s, max_gap: 60s)'}", "recipe-type"),
        ("agg: {x: 'runs(map.value, value < 1, min_duration: 60s, max_gap: 60s)'}", "recipe-type"),
        ("agg: {x: 'runs(map, value < 65, min_duration: 60s, max_gap: 59s)'}", "recipe-series"),
        ("agg: {x: 'runs(plain, value < 65, min_duration: 60s, max_gap: 0s)'}", "recipe-series"),
        ("agg: {x: 'runs(admitted, time > index, min_duration: 60s, max_gap: 9s)'}", "recipe-series"),
        ("agg: {x: 'runs(plain, value < 1, min_duration: 9s, max_gap: 1s)'}\n    same: [hadm_id]",
         "recipe-series"),
        ("agg: {x: valid_fraction(plain)}", "recipe-series"),
        ("agg: {x: valid_fraction(map.value)}", "recipe-type"),
        ("agg: {x: 'valid_fraction(map, value < 1)'}", "recipe-type"),
        ("agg: {x: count(map)}\n    lookahead: 60s", "recipe-series"),
        ("agg: {x: count(map)}\n    same: [hadm_id]\n    has: {map: '(1, None)'}", "recipe-column-unknown"),
        ("agg: {x: count(both)}", "recipe-series"),
        ("agg: {x: count(map)}\n    lookahead: -1s", "recipe-syntax"),
    ],
)  # fmt: skip
def test_windows_that_do_not_suit_a_series_are_refused(tmp_path: Path, window: str, code: str) -> None:
    head = HEAD.replace("  admitted:", "  both: {expr: 'or(admitted, plain)'}\n  admitted:")
    plain = "  plain: {table: icu.chartevents, value: valuenum}\n"
    body = f'{head}{PLAIN}{plain}{BODY}    {window}\nvalue: "1"\n'
    assert code in {issue.code for issue in problems(tmp_path, body)}


def test_a_fraction_of_an_open_window_is_refused(tmp_path: Path) -> None:
    body = f'{HEAD}{PLAIN}{BODY}    agg: {{x: valid_fraction(map)}}\nvalue: "1"\n'
    body = body.replace("start: trigger\n", "start: NULL\n")
    assert {issue.code for issue in problems(tmp_path, body)} == {"recipe-series"}


def test_a_series_is_no_trigger(tmp_path: Path) -> None:
    body = f'{HEAD}trigger: map\nindex: {{time: trigger}}\nvalue: "1"\n'
    assert {issue.code for issue in problems(tmp_path, body)} == {"recipe-series"}


def test_looking_ahead_is_looking_at_an_outcome(tmp_path: Path) -> None:
    window = BODY.replace("end: trigger + 300s", "end: trigger - 1min").replace("    role: outcome\n", "")
    window = window.replace("start: trigger", "start: trigger - 10min") + RUNS.format("60s", "60s")
    good = f'{HEAD}{window}    lookahead: 60s\nwhere: ["x == 0"]\nvalue: "1"\n'
    assert problems(tmp_path, good) == []
    (tmp_path / "bad").mkdir()
    found = problems(tmp_path / "bad", good.replace("lookahead: 60s", "lookahead: 61s"))
    assert "recipe-outcome-undeclared" in {issue.code for issue in found}


def test_a_valid_fraction_needs_its_window(tmp_path: Path) -> None:
    """A window without an even moment has no fraction, and the row is excluded by name."""
    window = '    agg: {x: "valid_fraction(map)"}\n'
    body = f"{HEAD}{PLAIN}{BODY}{window}value: x\n".replace("trigger + 300s", "trigger + 59s")
    bound = bound_label(tmp_path, body)
    store = release(bound, icu__chartevents=TWO, hosp__admissions=[admission(7, f"{DAY} 10:00:00", None)])
    assert [(row["eligible"], row["null:value"]) for row in table_of(bound, store)] == [(False, False)]


def test_pairs_of_neighbours_are_even(tmp_path: Path) -> None:
    bound = bound_label(tmp_path, f'{HEAD}{EVERY_MINUTE}{BODY}    agg: {{x: "count(map)"}}\nvalue: x\n')
    store = release(bound, icu__chartevents=TWO, hosp__admissions=[admission(7, f"{DAY} 10:00:00", None)])
    seen = [row["time"] for row in explain(store, bound, subject=1)[0]["windows"]["w map"]]
    assert {later - earlier for earlier, later in pairwise(seen)} == {timedelta(minutes=1)}
