"""Laws of roll-ups and of whole scorings, on rows and bundles drawn at random."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bundle_builders import BundleBuilder, write_nifti
from medomni.core import stats
from medotter_bench import results
from medotter_bench.adapters import registry
from medotter_bench.adapters.base import CaseContext, CaseInputs
from medotter_bench.aggregation import aggregates, headline
from medotter_bench.case_scoring import CaseRow
from medotter_bench.engine import score_predictions
from medotter_bench.label_map import IDENTITY, LabelRemap
from medotter_bench.metrics import HIGHER_IS_BETTER, grid_diagonal
from medotter_bench.specs import EvalSpec
from scoring_builders import eval_spec, instance_example, label_map, row, seg_example

LAW = settings(max_examples=60)
FEW = settings(max_examples=15)
REGIONS, METRICS = ("WT", "ET"), ("dice", "hd95")
BUNDLE = {"task": "demo", "version": "1", "hash": "0", "spec_hash": "0", "files": {}}

numbers = st.one_of(
    st.none(), st.sampled_from([0.0, -0.0, 1.0, 0.1, 1 / 3, 373.13]), st.floats(0, 1e6, allow_subnormal=False)
)
cells = st.fixed_dictionaries({r: st.fixed_dictionaries(dict.fromkeys(METRICS, numbers)) for r in REGIONS})
metas = st.fixed_dictionaries(
    {
        "dataset": st.sampled_from(["A", "B"]),
        "tier": st.sampled_from(["near", "far", None]),
        "patient_uid": st.sampled_from(["P1", "P2", None]),
    }
)
cases = st.lists(st.tuples(cells, metas), min_size=1, max_size=7)
reducers = st.sampled_from(["mean", "median"])
units = st.sampled_from(["patient", "image", "case"])


def rows_of(drawn: Sequence[tuple[Any, Any]]) -> list[CaseRow]:
    return [row(f"{meta['dataset']}/{i:03}", values, **meta) for i, (values, meta) in enumerate(drawn)]


def spec_of(unit: str = "patient", reduce: str = "mean", **head: str) -> EvalSpec:
    rule = {"unit": unit, "reduce": reduce, "report_by_dataset": True, "report_by_tier": True}
    rule |= {"report_by_region": True, "headline": {"region": "macro_avg", "metric": "dice", **head}}
    return eval_spec(aggregation=rule)


@contextmanager
def without_intervals() -> Iterator[None]:
    """Intervals have tests of their own; ten thousand resamples per number would only take time here."""
    with (
        mock.patch.object(stats, "bootstrap_interval", return_value=None),
        mock.patch.object(stats, "bootstrap_interval_of_regions", return_value=None),
    ):
        yield


def rolled_up(rows: Sequence[CaseRow], spec: EvalSpec) -> dict[str, Any]:
    with without_intervals():
        return {"aggregates": aggregates(rows, spec), "headline": headline(rows, spec)}


# The same roll-up a second time, in fractions and dictionaries.


def slow_units(rows: Sequence[CaseRow], unit: str) -> list[list[CaseRow]]:
    groups: dict[Any, list[CaseRow]] = {}
    for one in rows:
        patient = one.meta["patient_uid"]
        own = unit != "patient" or patient is None
        groups.setdefault(one.case_id if own else (one.meta["dataset"], patient), []).append(one)
    return list(groups.values())


def slow_column(rows: Sequence[CaseRow], spec: EvalSpec, region: str, metric: str) -> list[Fraction]:
    column = []
    for group in slow_units(rows, spec.aggregation.unit):
        found = [one.score.regions[region].metrics[metric].value for one in group]
        kept = [Fraction(value) for value in found if value is not None]
        if kept:
            column.append(sum(kept, Fraction(0)) / len(kept))
    return column


def slow_reduce(values: list[Fraction], reduce: str) -> Fraction:
    if reduce == "mean":
        return sum(values, Fraction(0)) / len(values)
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def assert_is(found: Mapping[str, Any], column: list[Fraction], reduce: str) -> None:
    assert found["n"] == len(column)
    if not column:
        assert found["value"] is None
        assert found["reason"]
        return
    assert found["value"] == pytest.approx(float(slow_reduce(column, reduce)), rel=1e-12, abs=1e-12)
    assert found["reason"] is None


@LAW
@given(cases, units, reducers)
def test_every_roll_up_equals_its_slow_twin(drawn: Any, unit: str, reduce: str) -> None:
    rows, spec = rows_of(drawn), spec_of(unit, reduce)
    found = rolled_up(rows, spec)["aggregates"]
    blocks = [(found["regions"], rows)]
    for key, block in (("dataset", "by_dataset"), ("tier", "by_tier")):
        names = {one.meta[key] for one in rows} - {None}
        assert set(found[block]) == names
        blocks += [(found[block][n], [one for one in rows if one.meta[key] == n]) for n in names]
    for table, subset in blocks:
        for region in REGIONS:
            for metric in METRICS:
                assert_is(table[region][metric], slow_column(subset, spec, region, metric), reduce)


@LAW
@given(cases, units, reducers)
def test_the_macro_average_is_the_mean_of_region_roll_ups(drawn: Any, unit: str, reduce: str) -> None:
    rows, spec = rows_of(drawn), spec_of(unit, reduce)
    found = rolled_up(rows, spec)["aggregates"]
    for metric in METRICS:
        columns = [slow_column(rows, spec, region, metric) for region in REGIONS]
        macro = found["macro_avg"][metric]
        if not all(columns):
            assert macro["value"] is None
            lacking = [r for r, column in zip(REGIONS, columns, strict=True) if not column]
            assert all(region in macro["reason"] for region in lacking)
            continue
        expected = sum((slow_reduce(column, reduce) for column in columns), Fraction(0)) / len(columns)
        assert macro["value"] == pytest.approx(float(expected), rel=1e-12, abs=1e-12)
        shown = [found["regions"][region][metric]["value"] for region in REGIONS]
        assert macro["value"] == pytest.approx(math.fsum(shown) / len(shown), rel=1e-12, abs=1e-12)


@LAW
@given(cases, units, st.sampled_from(["near", "far"]))
def test_a_tier_headline_is_the_roll_up_of_that_tier_alone(drawn: Any, unit: str, tier: str) -> None:
    rows, spec = rows_of(drawn), spec_of(unit, region="ET", tier=tier)
    found = rolled_up(rows, spec)
    chosen = [one for one in rows if one.meta["tier"] == tier]
    groups = slow_units(chosen, unit)
    # A unit with a number for one scan and a gap for another that must count is not whole.
    ets = [[one.score.regions["ET"] for one in group] for group in groups]
    gaps = [any(et.required and et.metrics["dice"].value is None for et in group) for group in ets]
    numbers = [any(et.metrics["dice"].value is not None for et in group) for group in ets]
    incomplete = sum(gap and number for gap, number in zip(gaps, numbers, strict=True))
    whole = {**found["headline"], "n": found["headline"]["n"] + incomplete}
    assert_is(whole, slow_column(chosen, spec, "ET", "dice"), "mean")
    required = sum(any(one.score.regions["ET"].required for one in group) for group in groups)
    assert found["headline"]["n_required"] == required
    if tier in found["aggregates"]["by_tier"]:
        cell = found["aggregates"]["by_tier"][tier]["ET"]["dice"]
        assert (cell["value"], cell["n"]) == (whole["value"], whole["n"])


@LAW
@given(cases, units, reducers, st.randoms(use_true_random=False))
def test_the_order_of_cases_moves_no_number(drawn: Any, unit: str, reduce: str, random: Any) -> None:
    rows, spec = rows_of(drawn), spec_of(unit, reduce)
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert rolled_up(shuffled, spec) == rolled_up(rows, spec)


@FEW
@given(cases, reducers, st.randoms(use_true_random=False))
def test_the_order_of_cases_moves_no_byte_of_the_document(drawn: Any, reduce: str, random: Any) -> None:
    rows, spec = rows_of(drawn), spec_of("patient", reduce)
    shuffled = list(rows)
    random.shuffle(shuffled)
    texts = [
        results.build(bundle=BUNDLE, spec=spec, remaps={}, rows=some, extra=[]).to_json()
        for some in (rows, shuffled)
    ]
    assert texts[0] == texts[1]


@LAW
@given(cases, reducers, st.integers(1, 4), st.data())
def test_further_scans_of_a_patient_with_equal_values_change_nothing(
    drawn: Any, reduce: str, copies: int, data: Any
) -> None:
    rows, spec = rows_of(drawn), spec_of("patient", reduce)
    rows = [one for i, one in enumerate(rows) if one.meta["patient_uid"] not in _patients_of(rows[:i], one)]
    known = [one for one in rows if one.meta["patient_uid"] is not None]
    if not known:
        return
    chosen = data.draw(st.sampled_from(known))
    values = {r: {m: v.value for m, v in s.metrics.items()} for r, s in chosen.score.regions.items()}
    again = [row(f"{chosen.case_id}-{i}", values, **chosen.meta) for i in range(copies)]
    before, after = rolled_up(rows, spec), rolled_up([*rows, *again], spec)
    assert_nearly_equal(before, after)


def _patients_of(rows: Sequence[CaseRow], one: CaseRow) -> set[Any]:
    """Patients of the same dataset that already have a scan."""
    return {r.meta["patient_uid"] for r in rows if r.meta["dataset"] == one.meta["dataset"]} - {None}


def assert_nearly_equal(first: Any, second: Any) -> None:
    """Equal but for the last digits: the mean of three equal numbers may round away from them."""
    if isinstance(first, dict):
        assert list(first) == list(second)
        for key, value in first.items():
            assert_nearly_equal(value, second[key])
    elif isinstance(first, float):
        assert first == pytest.approx(second, rel=1e-14, abs=0)
    else:
        assert first == second


@LAW
@given(cases, units, reducers)
def test_a_median_and_a_mean_lie_between_the_smallest_and_the_largest_value(
    drawn: Any, unit: str, reduce: str
) -> None:
    rows, spec = rows_of(drawn), spec_of(unit, reduce)
    found = rolled_up(rows, spec)["aggregates"]["regions"]
    for region in REGIONS:
        values = [one.score.regions[region].metrics["dice"].value for one in rows]
        kept = [value for value in values if value is not None]
        if kept:
            slack = 1e-12 * max(kept)
            assert min(kept) - slack <= found[region]["dice"]["value"] <= max(kept) + slack


@LAW
@given(cases, cases, reducers)
def test_better_values_never_lower_a_mean_or_median(drawn: Any, other: Any, reduce: str) -> None:
    rows, spec = rows_of(drawn), spec_of("case", reduce)
    raised = [
        row(one.case_id, {r: {m: more(v.value) for m, v in s.metrics.items()} for r, s in regions_of(one)})
        for one in rows
    ]
    before, after = (rolled_up(some, spec)["aggregates"]["regions"] for some in (rows, raised))
    for region in REGIONS:
        for metric in METRICS:
            low, high = before[region][metric]["value"], after[region][metric]["value"]
            assert (low is None) == (high is None)
            assert low is None or low <= high


def more(value: float | None) -> float | None:
    return None if value is None else value * 1.5 + 0.25


def regions_of(one: CaseRow) -> Any:
    return one.score.regions.items()


@FEW
@given(cases, units, reducers)
def test_no_document_holds_nan_and_an_absent_number_has_a_reason(drawn: Any, unit: str, reduce: str) -> None:
    rows, spec = rows_of(drawn), spec_of(unit, reduce)
    text = results.build(bundle=BUNDLE, spec=spec, remaps={}, rows=rows, extra=[]).to_json()

    def refuse(name: str) -> float:
        raise AssertionError(name)

    document = json.loads(text, parse_constant=refuse)
    for block in walk([document["aggregates"], document["headline"]]):
        if "n" not in block:
            continue
        assert (block["value"] is None) == bool(block["reason"])
        if block["ci"] is not None:
            low, high = block["ci"]
            assert low <= high
            # The headline's n leaves out units that lack a number which must count.
            assert block["n"] >= 2 or "n_required" in block


def walk(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    for item in value if isinstance(value, list) else ():
        yield from walk(item)


# Penalties, through the adapters.

shapes = hnp.array_shapes(min_dims=2, max_dims=3, min_side=2, max_side=5)
tables = st.sampled_from([None, 0.0, 40.0])


@LAW
@given(
    shapes.flatmap(lambda s: st.tuples(*[hnp.arrays(np.uint8, s, elements=st.integers(0, 2))] * 2)), tables
)
def test_a_missing_prediction_is_never_better_than_any_present_one(pair: Any, extra: float | None) -> None:
    native, prediction = pair
    spacing = (0.8, 1.0, 2.5)[: native.ndim]
    diagonal = grid_diagonal(native.shape, spacing=spacing)
    spec = eval_spec(empty_structure=penalty_table(extra, diagonal))
    context = CaseContext(spec, IDENTITY, {"dataset": "A"})
    reference = label_map(native, spacing)
    present, missing = (
        registry.get("seg").score(CaseInputs(reference, some), context=context)
        for some in (label_map(prediction, spacing), None)
    )
    for region in spec.regions:
        for metric in spec.metrics:
            assert_not_better(metric, missing.regions[region], present.regions[region])


def penalty_table(extra: float | None, diagonal: float) -> dict[str, dict[str, float]]:
    """No table at all, or one whose hd95 penalties are the grid's diagonal or more."""
    if extra is None:
        return {}
    one_sided = {"gt_empty_pred_nonempty": diagonal, "gt_nonempty_pred_empty": diagonal + extra}
    return {"hd95": {"gt_empty_pred_empty": 0.0, **one_sided}}


def assert_not_better(metric: str, missing: Any, present: Any) -> None:
    lost, there = missing.metrics[metric].value, present.metrics[metric].value
    assert lost is not None
    if there is not None:
        assert lost <= there if HIGHER_IS_BETTER[metric] else lost >= there


@LAW
@given(hnp.arrays(np.uint16, (6, 6), elements=st.sampled_from([0, 0, 1, 7, 300])), st.data())
def test_a_missing_instance_map_is_never_better_than_any_present_one(reference: Any, data: Any) -> None:
    prediction = data.draw(hnp.arrays(np.uint16, (6, 6), elements=st.sampled_from([0, 2, 9, 65535])))
    context = instance_example("instance_seg_2d").context
    present, missing = (
        registry.get("instance_seg_2d").score(CaseInputs(label_map(reference), some), context=context)
        for some in (label_map(prediction), None)
    )
    for metric in context.spec.metrics:
        assert_not_better(metric, missing.regions["nucleus"], present.regions["nucleus"])


@LAW
@given(st.sampled_from(["WT", "ET"]), st.booleans())
def test_a_region_that_a_case_does_not_score_has_no_number_whatever_is_predicted(
    region: str, is_there: bool
) -> None:
    example = seg_example()
    context = CaseContext(example.context.spec, example.context.remap, {"region": region})
    inputs = CaseInputs(example.reference, example.perfect if is_there else None)
    score = registry.get("seg").score(inputs, context=context)
    for name, found in score.regions.items():
        assert all((value.value is None) == (name != region) for value in found.metrics.values())
        assert found.required == (name == region)


# Whole scorings, through files.

native_maps = hnp.arrays(np.uint8, (4, 4, 4), elements=st.integers(0, 5))
remaps = st.dictionaries(st.integers(1, 5), st.integers(0, 2), min_size=1, max_size=5)


@contextmanager
def a_bundle() -> Iterator[BundleBuilder]:
    with tempfile.TemporaryDirectory() as folder:
        builder = BundleBuilder(Path(folder))
        builder.task["canonical_labels"] = builder.spec["eval_regions"] = {"WT": [1, 2], "ET": [2]}
        builder.task["main_region"] = builder.spec["main_region"] = "macro_avg"
        builder.spec["aggregation"]["headline"] = {"region": "macro_avg", "metric": "dice"}
        builder.spec["prediction_format"]["label_space"] = [0, 1, 2]
        yield builder


def scored(builder: BundleBuilder) -> dict[str, Any]:
    builder.write()
    with without_intervals():
        return score_predictions(builder.bundle, builder.predictions, builder.data).document


@FEW
@given(native_maps, remaps)
def test_the_map_applied_by_hand_is_a_perfect_prediction(native: Any, mapping: dict[int, int]) -> None:
    """Also where it merges, swaps or drops ids: one pass, unlisted ids to background and counted."""
    by_hand = np.vectorize(lambda i: mapping.get(int(i), 0), otypes=[np.uint8])(native)
    with a_bundle() as builder:
        # A second dataset produces every id, so that no region is unproducible.
        builder.task["label_remap"] = {"DS_A": mapping, "DS_B": {1: 1, 2: 2}}
        case = builder.case("001", native, by_hand)
        builder.case("001", np.full((4, 4, 4), 2, np.uint8), np.full((4, 4, 4), 2, np.uint8), dataset="DS_B")
        document = scored(builder)
    found = next(one for one in document["cases"] if one["case_id"] == case)
    assert found["unlisted_voxels"] == sum(int(i) != 0 and int(i) not in mapping for i in native.ravel())
    for region, ids in (("WT", [1, 2]), ("ET", [2])):
        assert found["regions"][region]["n_reference"] == int(np.isin(by_hand, ids).sum())
        assert found["regions"][region]["dice"]["value"] == 1.0
        assert found["regions"][region]["hd95"]["value"] == 0.0


@FEW
@given(native_maps, native_maps, st.permutations(range(1, 6)))
def test_renaming_native_ids_together_with_the_map_changes_no_number(
    native: Any, other: Any, order: list[int]
) -> None:
    renamed = np.array([0, *order], dtype=np.uint8)
    prediction = (other % 3).astype(np.uint8)
    mapping = {1: 1, 2: 2, 3: 2}
    documents = []
    for reference, remap in (
        (native, mapping),
        (renamed[native], {int(renamed[key]): value for key, value in mapping.items()}),
    ):
        with a_bundle() as builder:
            builder.task["label_remap"] = {"DS_A": remap}
            builder.case("001", reference, prediction)
            documents.append(scored(builder))
    assert documents[0]["cases"] == documents[1]["cases"]
    assert documents[0]["aggregates"] == documents[1]["aggregates"]
    assert LabelRemap(mapping).target(4) == 0


names = st.text("abcXYZ019._-", min_size=1, max_size=8).filter(lambda s: s.strip("."))


@FEW
@given(st.lists(st.tuples(st.sampled_from(["", "DS_A", "DS_A/deep", "__MACOSX"]), names), max_size=6))
def test_further_files_change_no_number_and_are_listed(added: list[tuple[str, str]]) -> None:
    with a_bundle() as builder:
        full = np.full((4, 4, 4), 2, np.uint8)
        builder.task["label_remap"] = {"DS_A": {1: 1, 2: 2}}
        builder.case("001", full, full // 2)
        builder.case("002", full, None)
        before = scored(builder)
        expected = {"DS_A/001.nii.gz", "DS_A/002.nii.gz", "DS_A/001.nii", "DS_A/002.nii"}
        extra = set()
        for folder, name in added:
            relative = f"{folder}/{name}".lstrip("/")
            path = builder.predictions / relative
            if relative in expected or path.exists() or not can_be_written(path):
                continue
            path.write_text("dice: 1.0")
            extra.add(relative)
            write_nifti(builder.data / folder / f"more_{name}.nii.gz", full)
        after = scored(builder)
    assert after["extra"] == sorted(extra)
    assert {**after, "extra": []} == before


def can_be_written(path: Path) -> bool:
    """Whether no part of the path is a file already."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        return False
    return True
