"""Label tables: one row per candidate, their CSV, their refusals, and the explanation of a patient."""

from __future__ import annotations

import csv
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest
from recipe_builders import CREATININE, TinyRelease, admission, bound_label, lab, patient, release, table_of

from medomni.core.errors import WriteError
from medomni.studio.errors import LabelError
from medomni.studio.labels import explain, label_table

BODY = (
    CREATININE.replace("value: valuenum}", "value: valuenum, unit: mg/dL}")
    + """
index: {time: trigger, side: before}
windows:
  earlier:
    {start: NULL, end: trigger, start_inclusive: true, end_inclusive: false, has: {creatinine: "(1, None)"}}
where: [{adult: "age_at(index) >= 18"}]
value: "trigger.value"
"""
)
ROWS = [lab(2, "2150-01-02 00:00:00", "1.5"), lab(1, "2150-01-01 00:00:00", "1.25")]


def test_every_candidate_has_a_row_in_the_order_of_patient_and_time(tmp_path: Path) -> None:
    bound = bound_label(tmp_path, BODY)
    with label_table(release(bound, hosp__labevents=ROWS), bound) as found:
        assert found.header[:4] == ("subject_id", "prediction_time", "value", "eligible")
        assert found.header[4:] == (
            "earlier",
            "null:patient.anchor_age",
            "null:patient.anchor_year",
            "adult",
            "null:value",
        )
        assert found.rows() == [
            (1, datetime(2150, 1, 1), Decimal("1.25"), False, False, True, True, True, True, "1"),
            (1, datetime(2150, 1, 2), Decimal("1.5"), True, True, True, True, True, True, "2"),
        ]


def test_the_csv_has_the_documented_header_and_iso_times(tmp_path: Path) -> None:
    bound = bound_label(tmp_path, BODY)
    path = tmp_path / "table.csv"
    rows = [*ROWS, lab(3, "2150-01-03 00:00:00.25", "2")]
    with label_table(release(bound, hosp__labevents=rows), bound) as found:
        assert found.write_csv(path) == 3
    with path.open(encoding="utf-8", newline="") as stream:
        lines = list(csv.reader(stream))
    assert lines[0][:5] == ["subject_id", "prediction_time", "value", "eligible", "earlier"]
    assert [line[1] for line in lines[1:]] == [
        "2150-01-01T00:00:00", "2150-01-02T00:00:00", "2150-01-03T00:00:00.250000",
    ]  # fmt: skip
    assert [line[3] for line in lines[1:]] == ["false", "true", "true"]


def test_a_csv_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    bound = bound_label(tmp_path, BODY)
    with label_table(release(bound, hosp__labevents=ROWS), bound) as found, pytest.raises(WriteError):
        found.write_csv(tmp_path / "nowhere" / "table.csv")
    assert not (tmp_path / "nowhere").exists()


def test_a_label_is_only_for_its_releases(tmp_path: Path) -> None:
    bound = bound_label(tmp_path, BODY)
    store = TinyRelease(release(bound).rows, bound.scope.catalog.tables, token="mimic-iv/3.1")
    with pytest.raises(LabelError, match=r"not defined for mimic-iv/3\.1") as caught:
        label_table(store, bound)
    assert caught.value.code == "label-release"


def test_a_value_of_another_unit_is_an_error_and_not_a_miss(tmp_path: Path) -> None:
    bound = bound_label(tmp_path, BODY)
    rows = [
        *ROWS,
        lab(3, "2150-01-03 00:00:00", "110", unit="umol/L"),
        lab(4, "2150-01-04 00:00:00", "1", unit=None),
    ]
    with pytest.raises(LabelError, match=r"'umol/L' \(1 rows\)") as caught:
        label_table(release(bound, hosp__labevents=rows), bound)
    assert caught.value.code == "label-unit"


def test_a_row_without_a_unit_passes_and_several_units_may_be_allowed(tmp_path: Path) -> None:
    bound = bound_label(tmp_path, BODY.replace("unit: mg/dL", "unit: [mg/dL, MG/DL]"))
    rows = [lab(1, "2150-01-01 00:00:00", "1", unit=None), lab(2, "2150-01-02 00:00:00", "1", unit="MG/DL")]
    assert len(table_of(bound, release(bound, hosp__labevents=rows))) == 2


HEAD = "label: it\nversion: 1\nrequires: {releases: [mimic-iv/demo-2.2]}\nquestion: How much?\n"
PLAIN = CREATININE + "index: {time: trigger}\n"


@pytest.mark.parametrize(
    ("head", "value", "right"),
    [
        ("type: number\nunit: x\nrange: [0, 2]\n", "trigger.value", ["1", "2"]),
        ("type: number\nunit: x\nrange: [0, 2]\n", "trigger.value * 2", None),
        ("type: ordinal\nclasses: [a, b]\n", "band(trigger.value, [2], asc)", [0, 1]),
        ("type: ordinal\nclasses: [a, b]\n", "band(trigger.value, [0, 1, 2], asc)", None),
        ("type: binary\n", "trigger.value > 1", [0, 1]),
        ("type: binary\n", "trigger.itemid", None),
        ("type: number\nunit: x\nrange: [0, 2]\ndecimals: 1\n", "trigger.value / 3", ["0.3", "0.7"]),
    ],
)
def test_answers_must_be_possible(tmp_path: Path, head: str, value: str, right: list[object] | None) -> None:
    bound = bound_label(tmp_path, f'{PLAIN}value: "{value}"\n', head=HEAD + head)
    store = release(
        bound, hosp__labevents=[lab(1, "2150-01-01 00:00:00", "1"), lab(2, "2150-01-02 00:00:00", "2")]
    )
    if right is None:
        with pytest.raises(LabelError, match="answers outside") as caught:
            label_table(store, bound)
        assert caught.value.code == "label-value-range"
    else:
        assert [float(row["value"]) for row in table_of(bound, store)] == [float(str(each)) for each in right]


def test_codes_for_missing_are_no_values(tmp_path: Path) -> None:
    """Case EH-14: 777, 999 and -999999 lie outside the plausible range and give no candidate."""
    body = """
predicates:
  hba1c:
    table: hosp.labevents
    code: {any: [50852]}
    value: valuenum
    value_min: 3
    value_min_inclusive: true
    value_max: 20
    value_max_inclusive: true
trigger: hba1c
index: {time: trigger}
value: "trigger.value"
"""
    bound = bound_label(tmp_path, body)
    given = {9751: "6.0", 9752: "777", 9753: "8.0", 9754: "-999999", 9755: None, 9756: "999"}
    rows = [lab(n, "2150-01-01 00:00:00", value, itemid=50852, subject_id=n) for n, value in given.items()]
    store = release(bound, hosp__labevents=rows, hosp__patients=[patient(n) for n in given])
    assert {row["subject"]: float(row["value"]) for row in table_of(bound, store)} == {9751: 6.0, 9753: 8.0}


def test_what_a_release_lacks_is_noted(tmp_path: Path) -> None:
    body = """
predicates:
  creatinine: {table: hosp.labevents, code: {any: [50912]}, value: valuenum}
  comfort: {table: icu.chartevents, code: {any: [223758]}, other_cols: {value: Comfort measures only}}
  given: {table: hosp.emar, other_cols: {medication: Heparin}}
  flagged: {table: hosp.labevents, other_cols: {flag: abnormal}}
  unused: {table: hosp.poe}
trigger: creatinine
index: {time: trigger}
windows:
  before:
    start: NULL
    end: index
    start_inclusive: true
    end_inclusive: true
    has: {comfort: "(None, 0)", given: "(None, 0)", flagged: "(None, 0)"}
value: "1"
"""
    bound = bound_label(tmp_path, body)
    store = TinyRelease(
        release(bound, hosp__labevents=ROWS, icu__chartevents=[]).rows,
        bound.scope.catalog.tables,
        lacking={"hosp.labevents": frozenset({"flag", "storetime"})},
    )
    with label_table(store, bound) as found:
        assert all(row[3] for row in found.rows())
        assert found.notes == (
            "comfort: mimic-iv/demo-2.2 has no such event",
            "given: mimic-iv/demo-2.2 has no table hosp.emar; no such events",
            "flagged: hosp.labevents.flag is empty in mimic-iv/demo-2.2; no such events",
        )


def test_an_event_without_a_time_is_no_candidate(tmp_path: Path) -> None:
    body = "predicates: {out: {table: hosp.admissions, time: dischtime}}\ntrigger: out\n"
    body += "index: {time: trigger}\nvalue: '1'\n"
    bound = bound_label(tmp_path, body)
    rows = [
        admission(1, "2150-01-01 00:00:00", None),
        admission(2, "2150-01-05 00:00:00", "2150-01-06 00:00:00"),
    ]
    assert [row["key"] for row in table_of(bound, release(bound, hosp__admissions=rows))] == ["2"]


def test_a_day_without_an_hour_is_over_at_its_end(tmp_path: Path) -> None:
    """Case EH-19 for labels: a date is known when its day has ended."""
    body = """
predicates:
  creatinine: {table: hosp.labevents, code: {any: [50912]}, value: valuenum}
  weighed: {table: hosp.omr, other_cols: {result_name: Weight (Lbs)}}
trigger: creatinine
index: {time: trigger}
windows:
  before: {start: NULL, end: index, start_inclusive: true, end_inclusive: true, has: {weighed: "(1, None)"}}
value: "1"
"""
    bound = bound_label(tmp_path, body)
    weight = {
        "subject_id": 1,
        "chartdate": "2150-01-01",
        "seq_num": 1,
        "result_name": "Weight (Lbs)",
        "result_value": "1",
    }
    rows = [lab(1, "2150-01-01 23:59:00", "1"), lab(2, "2150-01-02 00:00:00", "1")]
    found = table_of(bound, release(bound, hosp__labevents=rows, hosp__omr=[weight]))
    assert [row["before"] for row in found] == [False, True]


def test_a_failure_of_the_database_is_an_error_of_ours(tmp_path: Path) -> None:
    bound = bound_label(
        tmp_path, PLAIN + 'value: "trigger.value * trigger.value * trigger.value * trigger.value"\n'
    )
    rows = [lab(1, "2150-01-01 00:00:00", "999999999999")]
    with pytest.raises(LabelError) as caught:
        label_table(release(bound, hosp__labevents=rows), bound)
    assert caught.value.code == "label-query"


def test_one_patient_can_be_explained(tmp_path: Path) -> None:
    bound = bound_label(tmp_path, BODY)
    rows = [*ROWS, lab(9, "2150-01-01 00:00:00", "9", subject_id=2)]
    store = release(bound, hosp__labevents=rows, hosp__patients=[patient(1), patient(2)])
    first, second = explain(store, bound, subject=1)
    assert first["windows"] == {}
    assert (first["eligible"], first["rules"]["earlier"]) == (False, False)
    assert second["windows"] == {
        "earlier creatinine": [{"time": datetime(2150, 1, 1), "value": Decimal("1.25"), "key": "1"}]
    }
    with pytest.raises(LabelError) as caught:
        explain(store, bound, subject=3)
    assert caught.value.code == "label-patient-unknown"


def test_an_interval_is_explained_with_its_end(tmp_path: Path) -> None:
    body = """
predicates:
  creatinine: {table: hosp.labevents, code: {any: [50912]}, value: valuenum}
  stay: {table: icu.icustays, interval: [intime, outtime]}
trigger: creatinine
index: {time: trigger}
windows:
  now: {start: index, end: index, start_inclusive: true, end_inclusive: true, during: {stay: "(1, None)"}}
value: "1"
"""
    bound = bound_label(tmp_path, body)
    stay = {
        "subject_id": 1,
        "stay_id": 5,
        "hadm_id": 1,
        "intime": "2149-12-31 00:00:00",
        "outtime": "2150-01-01 12:00:00",
    }
    found = explain(release(bound, hosp__labevents=ROWS, icu__icustays=[stay]), bound, subject=1)
    assert found[0]["windows"]["now stay"][0]["end"] == datetime(2150, 1, 1, 12)
    assert found[1]["windows"] == {}
