"""The encoder `trends`: figures by hand, and files that it cannot read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from service_builders import HEADER, LABS, staged

from medomni.studio.perception.errors import PerceptionError
from medomni.studio.perception.trends import Trends

OUTPATIENT = "chartdate_d,result_name,result_value"


def encoding(folder: Path, *rows: str, header: str = HEADER) -> tuple[list[dict[str, Any]], list[str]]:
    found = Trends().encode(staged(folder, *rows, header=header) / LABS)
    return found["numbers"]["items"], found["words"]


def test_an_item_has_its_figures(tmp_path: Path) -> None:
    rows = [
        "7,Sodium,Blood,-48,140,140,mEq/L",
        "7,Sodium,Blood,-24,139,139,mEq/L",
        "7,Sodium,Blood,-12,132,132,mEq/L",
    ]
    (item,), words = encoding(tmp_path, *rows)
    # By hand: times -2, -1, -1/2 d around -7/6; values 140, 139, 132 around 137: (-11/2) / (7/6) = -33/7.
    assert item == {
        "item": "7",
        "name": "Sodium (Blood)",
        "unit": "mEq/L",
        "rows": 3,
        "n": 3,
        "first": 140.0,
        "last": 132.0,
        "min": 132.0,
        "max": 140.0,
        "first_time_h": -48.0,
        "last_time_h": -12.0,
        "hours_since_last": 12.0,
        "slope_per_day": -4.71429,
        "slope_reason": "",
    }
    assert words[0].startswith("Sodium (Blood): last 132 mEq/L, 12 h before hour 0; 3 values since -48 h, ")
    assert words[0].endswith("from 132 to 140; falling by 4.71429 per day.")


def test_first_and_last_go_by_time_and_not_by_the_order_of_rows(tmp_path: Path) -> None:
    (item,), _ = encoding(tmp_path, "7,K,Blood,-1,5,5,", "7,K,Blood,-3,4,4,")
    assert (item["first"], item["last"], item["slope_per_day"]) == (4.0, 5.0, 12.0)


def test_units_of_one_item_are_kept_apart(tmp_path: Path) -> None:
    items, _ = encoding(tmp_path, "7,Glucose,Blood,-1,90,90,mg/dL", "7,Glucose,Blood,-2,5,5,mmol/L")
    assert [(item["unit"], item["n"], item["last"]) for item in items] == [
        ("mg/dL", 1, 90.0),
        ("mmol/L", 1, 5.0),
    ]


def test_rows_without_a_number_or_time_are_counted_and_no_value(tmp_path: Path) -> None:
    rows = [
        "7,K,Blood,-1,HEMOLYZED,,",
        "7,K,Blood,,4,4,",
        "7,K,Blood,-2,nan,nan,",
        "7,K,Blood,-2,1e999,1e999,",
    ]
    (item,), words = encoding(tmp_path, *rows)
    assert (item["rows"], item["n"], item["last"], item["slope_per_day"]) == (4, 0, None, None)
    assert words == ["K (Blood): no numeric value in 4 rows."]


def test_one_value_has_no_trend(tmp_path: Path) -> None:
    (item,), words = encoding(tmp_path, "7,K,Blood,-1,4,4,mEq/L")
    assert (item["slope_per_day"], item["slope_reason"]) == (None, "fewer than two values")
    assert words == ["K (Blood): last 4 mEq/L, 1 h before hour 0; the only value."]


def test_values_of_one_moment_have_no_trend(tmp_path: Path) -> None:
    (item,), words = encoding(tmp_path, "7,K,Blood,-1,4,4,", "7,K,Blood,-1,5,5,")
    assert item["slope_reason"] == "all values at one time"
    assert words[0].endswith("no trend (all values at one time).")


def test_values_beyond_reckoning_have_no_trend(tmp_path: Path) -> None:
    (item,), _ = encoding(tmp_path, "7,K,Blood,-1,x,1e308,", "7,K,Blood,-1.0000001,x,-1e308,")
    assert (item["slope_per_day"], item["slope_reason"]) == (None, "values too large")


def test_steady_values_are_level(tmp_path: Path) -> None:
    (item,), words = encoding(tmp_path, "7,K,Blood,-2,4,4,", "7,K,Blood,-1,4,4,")
    assert item["slope_per_day"] == 0.0
    assert words[0].endswith("; level.")


def test_days_count_as_twenty_four_hours(tmp_path: Path) -> None:
    (item,), words = encoding(tmp_path, "-10,Weight (Lbs),150", "-5,Weight (Lbs),160", header=OUTPATIENT)
    assert (item["name"], item["unit"], item["hours_since_last"]) == ("Weight (Lbs)", "", 120.0)
    assert item["slope_per_day"] == 2.0
    assert "rising by 2 per day" in words[0]


def test_a_blood_pressure_is_two_items(tmp_path: Path) -> None:
    rows = [
        "-10,Blood Pressure,132/59",
        "-5,Blood Pressure,120/60",
        "-4,Blood Pressure,refused",
        "-4,Dose,10/20",
    ]
    items, _ = encoding(tmp_path, *rows, header=OUTPATIENT)
    assert [(item["name"], item["n"], item["first"], item["last"]) for item in items] == [
        ("Blood Pressure", 0, None, None),
        ("Blood Pressure, diastolic", 2, 59.0, 60.0),
        ("Blood Pressure, systolic", 2, 132.0, 120.0),
        ("Dose", 0, None, None),
    ]


def test_an_item_without_a_name_goes_by_its_id(tmp_path: Path) -> None:
    (item,), _ = encoding(tmp_path, "7,,,-1,4,4,")
    assert item["name"] == "7"


def test_an_empty_table_has_no_items(tmp_path: Path) -> None:
    assert encoding(tmp_path) == ([], [])


@pytest.mark.parametrize(
    ("header", "row", "why"),
    [
        ("gender,age", "F,61", "no column charttime_h or starttime_h or chartdate_d; no column valuenum"),
        ("charttime_h,itemid", "-1,7", "no column valuenum or result_value or value"),
        (HEADER, "7,K", "line 2 has 2 cells"),
        (HEADER, '"7,K', "it is no CSV in UTF-8"),
        ("", "", "no column"),
    ],
)
def test_what_is_no_table_of_measurements_is_refused(tmp_path: Path, header: str, row: str, why: str) -> None:
    with pytest.raises(PerceptionError, match=why) as refusal:
        encoding(tmp_path, row, header=header)
    assert refusal.value.code == "encoder-file"


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "image.png"
    file.write_bytes(b"\x89PNG\r\n\x1a\n\xff\xfe")
    with pytest.raises(PerceptionError) as refusal:
        Trends().encode(file)
    assert refusal.value.code == "encoder-file"


points = st.tuples(st.integers(-10_000, 0), st.integers(-1000, 1000))


@given(st.lists(points, min_size=1, max_size=20, unique_by=lambda each: each[0]), st.randoms())
def test_the_order_of_rows_never_changes_an_encoding(
    tmp_path_factory: pytest.TempPathFactory, values: list[tuple[int, int]], random: Any
) -> None:
    folder = tmp_path_factory.mktemp("trends")
    rows = [f"7,K,Blood,{time},{value},{value}," for time, value in values]
    before = encoding(folder, *rows)
    random.shuffle(rows)
    assert encoding(folder, *rows) == before


@given(st.lists(points, min_size=2, max_size=20, unique_by=lambda each: each[0]))
def test_the_slope_turns_with_the_sign_of_the_values(
    tmp_path_factory: pytest.TempPathFactory, values: list[tuple[int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("trends")
    (up,), _ = encoding(folder, *(f"7,K,Blood,{time},{value},{value}," for time, value in values))
    (down,), _ = encoding(folder, *(f"7,K,Blood,{time},{-value},{-value}," for time, value in values))
    assert up["slope_per_day"] == -down["slope_per_day"]
    assert (up["min"], up["max"]) == (-down["max"], -down["min"])
