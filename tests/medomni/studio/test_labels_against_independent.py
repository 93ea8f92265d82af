"""Every candidate event of every demo patient, by the label files and by plain Python from the text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from imported_demo import TableRow, demo_workspace, label_rows
from independent.mimic_tables import EMPTY_FIELDS, MISSING_TABLES, Candidate, MimicTables

# (candidates, eligible, people with an eligible candidate)
COUNTS = {
    "ckd_g_stage": (2999, 771, 35),
    "hospital_death": (140, 107, 86),
    "unplanned_readmit_30d": (275, 203, 91),
    "remaining_los_days": (275, 215, 95),
    "aki_stage_48h": (140, 64, 56),
    "sepsis3_onset_12_60h": (140, 45, 40),
    "meld_na": (3323, 173, 6),
    "icu_transfer_24_96h": (275, 123, 45),
    "death_365d": (275, 247, 90),
}
"""All candidates and eligible events are those of the study behind the definitions. Its numbers of people for
three labels (61, 42, 7) belong to earlier readings: with the coding lag of 7 days left out, for instance, a
seventh person has a MELD-Na."""

CLOSE = Fraction(1, 10**9)

_loaded: dict[Path, MimicTables] = {}


def module_of(label: str) -> ModuleType:
    return import_module(f"independent.{label}")


@pytest.fixture(scope="module")
def tables(shared: Path) -> MimicTables:
    data = shared / "data"
    return _loaded.setdefault(data, MimicTables(data))


@pytest.fixture(scope="module")
def computed(tables: MimicTables) -> dict[str, list[Candidate]]:
    return {label: module_of(label).candidates(tables) for label in COUNTS}


def same_value(ours: int | Fraction | None, theirs: Decimal | None, *, eligible: bool) -> bool:
    """Equal; where one side has nothing, neither may be eligible (a null ingredient needs no value)."""
    if ours is None or theirs is None:
        return ours is None and theirs is None if eligible else True
    return abs(Fraction(ours) - Fraction(theirs)) <= CLOSE


def rank(
    value: int | Fraction | Decimal | None, eligible: bool, rules: Mapping[str, bool]
) -> tuple[object, ...]:
    return (value is not None, Fraction(value or 0), eligible, sorted(rules.items()))


def differences(ours: Iterable[Candidate], theirs: Iterable[TableRow]) -> list[str]:
    """What differs, one line each; rows are matched by patient and prediction time."""
    groups: dict[tuple[int, datetime], tuple[list[Candidate], list[TableRow]]] = defaultdict(lambda: ([], []))
    for candidate in ours:
        groups[candidate.subject_id, candidate.prediction_time][0].append(candidate)
    for row in theirs:
        groups[row.subject_id, row.prediction_time][1].append(row)
    found = []
    for (subject_id, time), (left, right) in sorted(groups.items()):
        where = f"{subject_id} at {time}"
        if len(left) != len(right):
            found.append(f"{where}: {len(left)} candidates here, {len(right)} in the table")
            continue
        names = set(left[0].rules) & set(right[0].rules)
        left.sort(key=lambda one: rank(one.value, one.eligible, {n: one.rules[n] for n in names}))
        right.sort(key=lambda one: rank(one.value, one.eligible, {n: one.rules[n] for n in names}))
        for one, other in zip(left, right, strict=True):
            found += [f"{where} ({one.key}): {text}" for text in pair_differences(one, other, names)]
    return found


def pair_differences(one: Candidate, other: TableRow, names: set[str]) -> list[str]:
    found = [
        f"rule {name}: {one.rules[name]} here, {other.rules[name]} in the table"
        for name in sorted(names)
        if one.rules[name] != other.rules[name]
    ]
    if one.eligible != other.eligible:
        found.append(f"eligible: {one.eligible} here, {other.eligible} in the table")
    if not same_value(one.value, other.value, eligible=one.eligible or other.eligible):
        found.append(f"value: {one.value} here, {other.value} in the table")
    return found


@pytest.mark.parametrize("label", COUNTS)
def test_the_independent_computation_finds_the_known_numbers_of_events(
    label: str, computed: dict[str, list[Candidate]]
) -> None:
    rows = computed[label]
    eligible = [row for row in rows if row.eligible]
    people = {row.subject_id for row in eligible}
    assert (len(rows), len(eligible), len(people)) == COUNTS[label]


@pytest.mark.parametrize("label", COUNTS)
def test_every_candidate_answers_every_documented_rule(
    label: str, computed: dict[str, list[Candidate]]
) -> None:
    module = module_of(label)
    assert all(set(row.rules) == set(module.RULES) for row in computed[label])
    assert len({row.key for row in computed[label]}) == len(computed[label]) or label == "meld_na"
    for name in module.NOT_APPLIED:
        assert all(row.rules[name] for row in computed[label])


def test_the_fields_said_to_be_empty_are_empty_in_the_demo(tables: MimicTables) -> None:
    for table, fields in EMPTY_FIELDS.items():
        assert tables.empty_fields(table) == fields
    for table in MISSING_TABLES:
        with pytest.raises(FileNotFoundError):
            tables.path(table)


@pytest.mark.parametrize("label", COUNTS)
def test_the_label_table_equals_the_independent_computation(
    label: str,
    computed: dict[str, list[Candidate]],
    tmp_path_factory: pytest.TempPathFactory,
    shared: Path,
    repository: Path,
) -> None:
    rows = label_rows(demo_workspace(tmp_path_factory, shared, repository), label)
    found = differences(computed[label], rows)
    assert not found, f"{len(found)} differences:\n" + "\n".join(found[:20])


NOON = datetime(2150, 1, 1, 12)


def a_candidate(value: int | Fraction | None = 1, **rules: bool) -> Candidate:
    return Candidate(1, 1, NOON, value, {"adult": True, **rules})


def a_row(value: str | None = "1", *, eligible: bool = True, **rules: bool) -> TableRow:
    return TableRow(1, NOON, None if value is None else Decimal(value), eligible, {"adult": True, **rules})


def test_equal_rows_have_no_difference_and_names_of_one_side_alone_are_left_out() -> None:
    assert differences([a_candidate(mine=True)], [a_row(theirs=False)]) == []


def test_a_wrong_value_a_wrong_rule_and_a_wrong_verdict_are_each_named() -> None:
    assert "value: 1 here, 2 in the table" in differences([a_candidate()], [a_row("2")])[0]
    assert "rule adult" in differences([a_candidate()], [a_row(adult=False)])[0]
    assert "eligible: True here" in differences([a_candidate()], [a_row(eligible=False)])[0]


def test_a_missing_or_surplus_row_is_a_difference() -> None:
    assert "1 candidates here, 0 in the table" in differences([a_candidate()], [])[0]
    assert "1 candidates here, 2 in the table" in differences([a_candidate()], [a_row(), a_row()])[0]


def test_rows_of_one_moment_are_paired_by_content_not_by_order() -> None:
    pair = [a_candidate(1), a_candidate(2)]
    assert differences(pair, [a_row("2"), a_row("1")]) == []
    assert len(differences(pair, [a_row("2"), a_row("2")])) == 1


def test_a_value_may_be_missing_on_one_side_only_where_nobody_is_eligible() -> None:
    out = a_candidate(None, adult=False)
    assert differences([out], [a_row("1", eligible=False, adult=False)]) == []
    assert differences([a_candidate(1)], [a_row(None)]) != []


def test_a_fraction_of_a_day_is_compared_as_a_number() -> None:
    third = a_candidate(Fraction(1, 3))
    assert differences([third], [a_row("0.33333333333333331")]) == []
    assert differences([third], [a_row("0.3333")]) != []
