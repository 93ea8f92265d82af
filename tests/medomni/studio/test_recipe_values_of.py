"""`values_of(table.column)`: what occurs in a release decides, and not a list that somebody copied."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from recipe_builders import admission, bound_label, problems, release, table_of, values

from medomni.studio.definitions.predicates import read_codes
from medomni.studio.errors import RecipeError

BODY = """
predicates:
  adm: {table: hosp.admissions}
  icu: {table: hosp.transfers, other_cols: {careunit: {values_of: icu.icustays.first_careunit}}}
  ward: {table: hosp.transfers, where: ["not (careunit in values_of(icu.icustays.first_careunit))"]}
trigger: adm
index: {time: trigger}
windows:
  all:
    {start: NULL, end: NULL, start_inclusive: true, end_inclusive: true, role: outcome,
     agg: {i: count(icu), w: count(ward)}}
value: 10 * i + w
"""


def moved(number: int, unit: str | None) -> dict[str, Any]:
    return {
        "subject_id": 1, "hadm_id": 7, "transfer_id": number, "eventtype": "transfer", "careunit": unit,
        "intime": f"2150-01-01 1{number}:00:00",
    }  # fmt: skip


def stay(unit: str | None, number: int = 3, subject_id: int = 2) -> dict[str, Any]:
    return {
        "subject_id": subject_id, "hadm_id": 9, "stay_id": number, "first_careunit": unit,
        "intime": "2151-01-01 00:00:00",
    }  # fmt: skip


MOVES = [moved(1, "MICU"), moved(2, "Medicine"), moved(3, "SICU"), moved(4, None)]


@pytest.mark.parametrize(
    ("stays", "expected"),
    [
        # Anybody's stay makes a unit intensive care. A move without a unit is in none of them.
        ([stay("MICU"), stay("SICU", 4)], 22),
        ([stay("MICU"), stay(None, 4)], 13),
        ([], 4),
    ],
)
def test_units_are_those_that_the_release_has(
    tmp_path: Path, stays: list[dict[str, Any]], expected: int
) -> None:
    bound = bound_label(tmp_path, BODY)
    tables = {"hosp__admissions": [admission(7, "2150-01-01 10:00:00", None)], "hosp__transfers": MOVES}
    assert values(bound, release(bound, **tables, icu__icustays=stays)) == [expected]


def test_a_release_without_the_table_has_no_values(tmp_path: Path) -> None:
    bound = bound_label(tmp_path, BODY)
    store = release(
        bound, hosp__admissions=[admission(7, "2150-01-01 10:00:00", None)], hosp__transfers=MOVES
    )
    assert values(bound, store) == [4]


def test_one_patient_is_judged_by_everybodys_values(tmp_path: Path) -> None:
    bound = bound_label(tmp_path, BODY)
    tables = {"hosp__admissions": [admission(7, "2150-01-01 10:00:00", None)], "hosp__transfers": MOVES}
    found = table_of(bound, release(bound, **tables, icu__icustays=[stay("MICU")]), subject=1)
    assert [row["value"] for row in found] == [13]


@pytest.mark.parametrize(
    ("predicate", "code"),
    [
        ("other_cols: {careunit: {values_of: icu.icustays.nothing}}", "recipe-column-unknown"),
        ("other_cols: {careunit: {values_of: icu.nothing.careunit}}", "recipe-table-unknown"),
        ("other_cols: {careunit: {values_of: icu.icustays.intime}}", "recipe-type"),
        ("other_cols: {careunit: {values_of: icustays.careunit}}", "label-pattern"),
        ("other_cols: {careunit: {values_of: icu.icustays.first_careunit, regex: a}}", "recipe-predicate"),
        ("other_cols: {careunit: {}}", "recipe-predicate"),
        ("where: ['careunit in values_of(icu.icustays.stay_id)']", "recipe-type"),
        ("where: ['careunit in values_of(careunit)']", "recipe-type"),
        ("where: ['careunit in values_of(icu.icustays.first_careunit, 1)']", "recipe-type"),
        ("where: ['careunit in values_of(icu.icustays.nothing)']", "recipe-column-unknown"),
        ("where: ['careunit in units(icu.icustays.first_careunit)']", "recipe-syntax"),
        ("where: ['careunit == values_of(icu.icustays.first_careunit)']", "recipe-function-unknown"),
    ],
)
def test_values_of_nothing_are_refused(tmp_path: Path, predicate: str, code: str) -> None:
    body = f"predicates:\n  icu: {{table: hosp.transfers, {predicate}}}\n"
    body += 'trigger: icu\nindex: {time: trigger}\nvalue: "1"\n'
    assert code in {issue.code for issue in problems(tmp_path, body)}


def test_values_of_belong_into_a_predicate(tmp_path: Path) -> None:
    rule = 'where: ["trigger.race in values_of(icu.icustays.first_careunit)"]\n'
    assert "recipe-function-place" in {issue.code for issue in problems(tmp_path, BODY + rule)}


@pytest.mark.parametrize("code", ["''", "' '", "['']", "{any: ['']}", "{prefix: ['']}", "{prefix: [' ']}"])
def test_an_empty_code_is_refused(tmp_path: Path, code: str) -> None:
    """As a prefix it would mean every row, and as a code none."""
    body = f"predicates: {{a: {{table: hosp.diagnoses_icd, code: {code}}}}}\n"
    body += 'trigger: a\nindex: {time: trigger}\nvalue: "1"\n'
    assert {issue.code for issue in problems(tmp_path, body)} <= {"label-size", "recipe-codes"}
    (tmp_path / "again").mkdir()
    assert problems(tmp_path / "again", body)


def test_an_empty_code_is_refused_wherever_codes_are_read() -> None:
    with pytest.raises(RecipeError) as caught:
        read_codes(["N18", ""])
    assert caught.value.code == "recipe-codes"
