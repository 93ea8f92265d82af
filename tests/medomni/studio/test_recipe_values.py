"""Expressions on real rows: exact decimals, missing values, functions."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from recipe_builders import CREATININE, admission, bound_label, lab, patient, problems, release, table_of

AT = CREATININE + "index: {time: trigger}\n"


def one(tmp_path: Path, value: str, *, valuenum: str | None = "1.4", extra: str = "") -> dict[str, Any]:
    body = f"{AT}{extra}\nvalue: {value!r}\n" if "'" not in value else f'{AT}{extra}\nvalue: "{value}"\n'
    bound = bound_label(tmp_path, body)
    rows = [lab(1, "2150-01-10 12:00:00", valuenum)]
    return table_of(bound, release(bound, hosp__labevents=rows))[0]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("2 + 3 * 4", 14),
        ("if(0.6 >= 1.5 * 0.4, 1, 0)", 1),
        ("if(trigger.value - 1.1 >= 0.3, 1, 0)", 1),
        ("if(trigger.value / 0.7 >= 2, 1, 0)", 1),
        ("if(trigger.value / 0.7 > 2, 1, 0)", 0),
        ("if(2 <= trigger.value / 0.7, 1, 0)", 1),
        ("if(trigger.value / -0.7 <= -2, 1, 0)", 1),
        ("band(trigger.value / 0.7, [1, 2, 3], asc)", 2),
        ("band(60, [60, 45, 30, 15], desc)", 0),
        ("band(59.99, [60, 45, 30, 15], desc)", 1),
        ("band(14, [60, 45, 30, 15], desc)", 4),
        ("band(-3, [-5, -2], asc)", 1),
        ("min(3, 2.5, 4)", Decimal("2.5")),
        ("max(3, 2.5, 4)", 4),
        ("clip(7, 0, 5)", 5),
        ("clip(-7, 0, 5)", 0),
        ("abs(-3)", 3),
        ("round(2.5)", 3),
        ("round(1.25, 1)", Decimal("1.3")),
        ("pow(2, 10)", 1024.0),
        ("exp(0)", 1.0),
        ("ln(1)", 0.0),
        ("log10(1000)", 3.0),
        ("year(trigger.time)", 2150),
        ("trigger.time - date(trigger.time)", 43200),
        ("(trigger.time + 1d - trigger.time) / 86400", 1.0),
        ("(trigger.time + (2 * 3600)) - trigger.time", 7200),
        ("coalesce(trigger.ref_range_lower, 7)", 7),
        ("if(patient.gender == 'F', 1, 2)", 1),
        ("if(not (patient.gender != 'F') and true, 1, 2)", 1),
        ("if(regex(patient.gender, '(?i)^f$'), 1, 2)", 1),
        ("if(patient.gender in ['M', 'F'], 1, 2)", 1),
        ("if(1 < 2 < 3, 1, 2)", 1),
        ("if(1 < 3 < 3, 1, 2)", 2),
        ("age_at(trigger.time)", 60),
        ("0.1 + 0.2", Decimal("0.3")),
        ("1000000000 * 10000000", 10**16),
    ],
)
def test_expressions_give_exact_values(tmp_path: Path, expression: str, expected: object) -> None:
    body = f'{AT}where_outcome: [{{wide: "index == index"}}]\nvalue: >-\n  {expression}\n'
    head = None
    if expected == 10**16:
        head = (
            "label: it\nversion: 1\nrequires: {releases: [mimic-iv/demo-2.2]}\nquestion: How much?\n"
            "type: number\nunit: units\nrange: [0, 1.0e+17]\n"
        )
        body = body.replace("1000000000 *", "trigger.value * 0 + 1000000000 *")
    bound = bound_label(tmp_path, body, head=head)
    found = table_of(bound, release(bound, hosp__labevents=[lab(1, "2150-01-10 12:00:00", "1.4")]))[0]
    assert found["value"] == expected
    assert found["eligible"]


@pytest.mark.parametrize(
    "expression",
    [
        "ln(0)",
        "ln(-1)",
        "log10(0)",
        "1 / 0",
        "exp(10000)",
        "pow(0, -1)",
        "pow(-8, 0.5)",
        "trigger.value / (2 - 2)",
    ],
)
def test_what_has_no_real_result_is_missing_and_excluded(tmp_path: Path, expression: str) -> None:
    found = one(tmp_path, expression)
    assert found["value"] is None
    assert found["null:value"] is False
    assert found["eligible"] is False


@pytest.mark.parametrize(
    ("rule", "name", "holds"),
    [
        ("trigger.value > 1", None, False),
        ("not (trigger.value > 1)", None, True),
        ("trigger.value + 1 > 1", "null:trigger.value", False),
        ("not (trigger.value + 1 > 1)", "null:trigger.value", False),
        ("not (max(trigger.value, 1) > 1)", "null:trigger.value", False),
        ("coalesce(trigger.value, 5) == 5", None, True),
        ("coalesce(trigger.value + 1, 5) == 5", None, True),
        ("if(patient.gender == 'M', trigger.value + 1, 5) == 5", None, True),
        ("not (if(patient.gender == 'F', trigger.value + 1, 5) == 5)", "null:trigger.value", False),
        ("not (doubled > 1)", "null:trigger.value", False),
        ("not (1 / (2 - 2) > 1)", "null:it", False),
        ("not (halved > 1)", "null:halved", False),
    ],
)
def test_missing_values_make_comparisons_false_and_exclude_arithmetic(
    tmp_path: Path, rule: str, name: str | None, holds: bool
) -> None:
    body = f"""{AT}
let: {{doubled: "2 * trigger.value", halved: "1 / (2 - 2)"}}
where: [{{it: "{rule}"}}]
value: "1"
"""
    bound = bound_label(tmp_path, body)
    found = table_of(bound, release(bound, hosp__labevents=[lab(1, "2150-01-10 12:00:00", None)]))[0]
    assert found["eligible"] is holds
    failed = {key for key, truth in found.items() if key.startswith("null:") and truth is False}
    assert failed == ({name} if name else set())


def test_a_name_that_nothing_reads_excludes_nobody(tmp_path: Path) -> None:
    found = one(tmp_path, "1", valuenum=None, extra='let: {unused: "2 * trigger.value"}')
    assert found["eligible"]


def test_a_function_of_the_label_uses_the_names_of_the_label(tmp_path: Path) -> None:
    extra = 'let: {k: "10"}\nfunctions: {"scaled(x)": "k * x", "twice(k)": "scaled(k) + k"}'
    assert one(tmp_path, "twice(2)", extra=extra)["value"] == 22


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("trigger.valueuom == 1", "recipe-type"),
        ("patient.gender > 1", "recipe-type"),
        ("patient.gender + 1 == 2", "recipe-type"),
        ("trigger.value + 1", "recipe-type"),
        ("trigger.time > 5", "recipe-type"),
        ("trigger.time + trigger.time > index", "recipe-type"),
        ("trigger.value == 1 == true", "recipe-type"),
        ("true < false", "recipe-type"),
        ("[1, 2] == 1", "recipe-type"),
        ("1 in []", "recipe-type"),
        ("min(1) == 1", "recipe-type"),
        ("min('a', 'b') == 'a'", "recipe-type"),
        ("min(1, 'b') == 1", "recipe-type"),
        ("abs('a') == 1", "recipe-type"),
        ("round(1.5, 0.5) == 1", "recipe-type"),
        ("ln('a') == 1", "recipe-type"),
        ("pow('a', 1) == 1", "recipe-type"),
        ("clip(1, 2) == 1", "recipe-type"),
        ("year(1) == 1", "recipe-type"),
        ("if(1, 2, 3) == 1", "recipe-type"),
        ("if(true, 2, 'a') == 1", "recipe-type"),
        ("coalesce(1, 'a') == 1", "recipe-type"),
        ("band(1, [2, 1], asc) == 1", "recipe-type"),
        ("band(1, [1, 2], desc) == 1", "recipe-type"),
        ("band(1, [1, 1], asc) == 1", "recipe-type"),
        ("band(1, [1, 2], up) == 1", "recipe-type"),
        ("band(1, 2, asc) == 1", "recipe-type"),
        ("band(1, [trigger.value], asc) == 1", "recipe-type"),
        ("band('a', [1], asc) == 1", "recipe-type"),
        ("regex(1, 'a')", "recipe-type"),
        ("regex(patient.gender, patient.gender)", "recipe-type"),
        ("regex(patient.gender, '(')", "recipe-regex"),
        ("regex(patient.gender, 'a(?=b)')", "recipe-regex"),
        ("-patient.gender == 1", "recipe-type"),
        ("not trigger.value", "recipe-type"),
        ("nothing == 1", "recipe-name-unknown"),
        ("a.b.c == 1", "recipe-name-unknown"),
        ("nobody.age == 1", "recipe-name-unknown"),
        ("patient.weight == 1", "recipe-column-unknown"),
        ("trigger.weight == 1", "recipe-column-unknown"),
        ("median(1, 2) == 1", "recipe-function-unknown"),
        ("kdigo_creatinine@1(1, index, index, true) == 1", "recipe-function-place"),
        ("kdigo_creatinine@2(1) == 1", "recipe-function-unknown"),
        ("sofa24@1() == 1", "recipe-function-unknown"),
        ("min(1, 2, x: 3) == 1", "recipe-type"),
        ("egfr(1) == 1", "recipe-type"),
        ("around(1) == 1", "recipe-circle"),
        ("loop == 1", "recipe-circle"),
    ],
)
def test_expressions_that_mean_nothing_are_refused(tmp_path: Path, expression: str, code: str) -> None:
    body = f"""{AT}
let: {{loop: "loop + 1"}}
functions: {{"egfr(scr, age)": "scr", "around(x)": "around(x)"}}
where: [{{it: "{expression}"}}]
value: "1"
"""
    found = {issue.code for issue in problems(tmp_path, body) if "where" in issue.where}
    assert found == {code}


def test_ages_count_from_the_anchor_pair(tmp_path: Path) -> None:
    """Case EH-01: never the anchor age itself, never the difference of years."""
    body = """
predicates: {admission: {table: hosp.admissions}}
trigger: admission
index: {time: trigger}
where: [{adult: "age_at(index) >= 18"}]
value: "age_at(index)"
"""
    bound = bound_label(tmp_path, body)
    store = release(
        bound,
        hosp__patients=[
            patient(1, age=52, year=2150),
            patient(2, age=60, year=2178),
            patient(3, age=17, year=2140),
        ],
        hosp__admissions=[
            admission(501, "2153-03-02 10:00:00", None, subject_id=1),
            admission(502, "2169-09-18 08:00:00", None, subject_id=2),
            admission(503, "2141-05-01 09:00:00", None, subject_id=3),
        ],
    )
    assert [(row["value"], row["eligible"]) for row in table_of(bound, store)] == [
        (55, True),
        (51, True),
        (18, True),
    ]


def test_a_flag_is_a_number_and_a_text_never_equals_one(tmp_path: Path) -> None:
    """Case EH-11: the flag is imported as a number; a comparison of text with a number is refused."""
    body = """
predicates: {discharge: {table: hosp.admissions, time: dischtime}}
trigger: discharge
index: {time: trigger}
value: "trigger.hospital_expire_flag == 1"
"""
    head = "label: it\nversion: 1\nrequires: {releases: [mimic-iv/demo-2.2]}\nquestion: Dead?\ntype: binary\n"
    bound = bound_label(tmp_path, body, head=head)
    rows = [
        admission(60 + n, "2150-01-01 00:00:00", f"2150-01-0{n + 1} 00:00:00", hospital_expire_flag=flag)
        for n, flag in enumerate((1, 0, 1), start=1)
    ]
    assert [row["value"] for row in table_of(bound, release(bound, hosp__admissions=rows))] == [1, 0, 1]


def test_functions_compute_what_they_repeat_once(tmp_path: Path) -> None:
    body = f"{AT}where: [{{it: \"band(trigger.value * 3 + 1, [1, 2, 3, 4], asc) >= 0\"}}]\nvalue: '1'\n"
    bound = bound_label(tmp_path, body)
    assert list(bound.scope.columns) == ["#1"]
    assert table_of(bound, release(bound, hosp__labevents=[lab(1, "2150-01-10 12:00:00", "1")]))[0]["it"]


def test_a_number_with_too_many_digits_for_a_decimal_is_a_binary_fraction(tmp_path: Path) -> None:
    assert (
        one(tmp_path, "trigger.value * 0.1234567890123456789", valuenum="1")["value"] == 0.12345678901234568
    )


def test_a_definition_may_name_another_defined_later(tmp_path: Path) -> None:
    assert one(tmp_path, "a", extra='let: {a: "b + 1", b: "trigger.value"}', valuenum="1")["value"] == 2
