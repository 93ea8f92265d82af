"""Our adapters pass the conformance suite, and the suite catches an adapter for each law that it breaks."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from medotter_bench.adapters import registry
from medotter_bench.adapters.base import CaseContext, CaseInputs, CaseScore, RegionScore, Value
from medotter_bench.adapters.seg import SegAdapter
from medotter_bench.adapters.testing import Example, check_adapter
from scoring_builders import instance_example, seg_example

TWO = {"tumor": [1], "immune": [2]}


@pytest.mark.parametrize(
    ("name", "example"),
    [
        ("seg", seg_example()),
        ("instance_seg_2d", instance_example("instance_seg_2d")),
        ("instance_seg_2d", instance_example("instance_seg_2d", regions=TWO)),
        ("instance_seg_3d", instance_example("instance_seg_3d")),
        ("instance_seg_3d", instance_example("instance_seg_3d", regions=TWO)),
    ],
)
def test_every_adapter_that_scores_conforms(name: str, example: Example) -> None:
    assert check_adapter(registry.get(name), example=example) == []


@pytest.mark.parametrize("penalty", [None, 0.0])
def test_our_adapters_conform_under_other_penalty_tables(penalty: float | None) -> None:
    example = seg_example()
    spec = example.context.spec
    table = dict.fromkeys(
        ("gt_empty_pred_empty", "gt_empty_pred_nonempty", "gt_nonempty_pred_empty"), penalty
    )
    changed = replace(spec, penalties={"dice": table, "hd95": table})
    example = replace(example, context=replace(example.context, spec=changed))
    assert check_adapter(SegAdapter(), example=example) == []


def each_value(score: CaseScore, change: Any) -> CaseScore:
    """The score with every value replaced by `change(region, metric, value)`."""
    regions = {
        name: RegionScore({m: change(name, m, v) for m, v in region.metrics.items()}, region.details)
        for name, region in score.regions.items()
    }
    return CaseScore(regions, score.unlisted_voxels)


class Broken(SegAdapter):
    """The seg adapter with one thing wrong."""

    def good(self, inputs: CaseInputs, context: CaseContext) -> CaseScore:
        return SegAdapter.score(self, inputs, context=context)


class GivesNan(Broken):
    def score(self, inputs: CaseInputs, *, context: CaseContext) -> CaseScore:
        nan = Value(float("nan"), "ok")
        return each_value(self.good(inputs, context), lambda r, m, v: nan if m == "hd95" else v)


class GivesInfinity(Broken):
    def score(self, inputs: CaseInputs, *, context: CaseContext) -> CaseScore:
        far = Value(float("inf"), "penalty:gt_nonempty_pred_empty")
        return each_value(self.good(inputs, context), lambda r, m, v: far if m == "hd95" else v)


class LosesARegion(Broken):
    def score(self, inputs: CaseInputs, *, context: CaseContext) -> CaseScore:
        regions = dict(self.good(inputs, context).regions)
        regions.pop("ET")
        return CaseScore(regions)


class LosesAMetric(Broken):
    def score(self, inputs: CaseInputs, *, context: CaseContext) -> CaseScore:
        score = self.good(inputs, context)
        return CaseScore(
            {n: RegionScore({"dice": r.metrics["dice"]}, r.details) for n, r in score.regions.items()}
        )


class AddsAMetric(Broken):
    def score(self, inputs: CaseInputs, *, context: CaseContext) -> CaseScore:
        score = self.good(inputs, context)
        extra = Value(1.0, "ok")
        return CaseScore(
            {n: RegionScore({**r.metrics, "iou": extra}, r.details) for n, r in score.regions.items()}
        )


class CallsANumberNotScored(Broken):
    def score(self, inputs: CaseInputs, *, context: CaseContext) -> CaseScore:
        return each_value(
            self.good(inputs, context), lambda r, m, v: Value(v.value, "not_scored:partial_label")
        )


class CallsNothingOk(Broken):
    def score(self, inputs: CaseInputs, *, context: CaseContext) -> CaseScore:
        return each_value(self.good(inputs, context), lambda r, m, v: Value(None, "ok"))


class InventsAnOutcome(Broken):
    def score(self, inputs: CaseInputs, *, context: CaseContext) -> CaseScore:
        return each_value(self.good(inputs, context), lambda r, m, v: Value(v.value, "fine"))


class InventsAPenalty(Broken):
    def score(self, inputs: CaseInputs, *, context: CaseContext) -> CaseScore:
        return each_value(self.good(inputs, context), lambda r, m, v: Value(v.value, "penalty:my_own"))


class ScoresAMissingPrediction(Broken):
    def score(self, inputs: CaseInputs, *, context: CaseContext) -> CaseScore:
        score = self.good(inputs, context)
        if inputs.prediction is not None:
            return score
        return each_value(score, lambda r, m, v: Value(v.value, "ok"))


class LeavesAMissingPredictionOut(Broken):
    def score(self, inputs: CaseInputs, *, context: CaseContext) -> CaseScore:
        score = self.good(inputs, context)
        if inputs.prediction is not None:
            return score
        return each_value(score, lambda r, m, v: Value(None, "not_scored:missing"))


class ChangesTheReference(Broken):
    def score(self, inputs: CaseInputs, *, context: CaseContext) -> CaseScore:
        score = self.good(inputs, context)
        inputs.reference.array[0, 0, 0] += 1
        return score


class RemapsInPlace(Broken):
    """Changes the array on the first call only: afterwards the ids are canonical already."""

    def score(self, inputs: CaseInputs, *, context: CaseContext) -> CaseScore:
        native = inputs.reference.array
        canonical = np.select([native == 4, native == 2, native == 1], [2, 2, 1]).astype(native.dtype)
        native[...] = canonical
        remap = replace(context, remap=replace(context.remap, ids={1: 1, 2: 2}))
        return self.good(inputs, remap)


class DrawsLots(Broken):
    lots = itertools.count()

    def score(self, inputs: CaseInputs, *, context: CaseContext) -> CaseScore:
        noise = next(self.lots) * 1e-9
        return each_value(
            self.good(inputs, context), lambda r, m, v: Value((v.value or 0) + noise, v.outcome)
        )


class IgnoresTheCaseRegion(Broken):
    def score(self, inputs: CaseInputs, *, context: CaseContext) -> CaseScore:
        return self.good(inputs, replace(context, meta={}))


class AcceptsAnything(Broken):
    def check_prediction(self, prediction: Any, *, spec: Any) -> None:
        """Nothing is refused."""


class GivesTheSameToAll(Broken):
    def score(self, inputs: CaseInputs, *, context: CaseContext) -> CaseScore:
        score = self.good(inputs, context)
        return each_value(score, lambda r, m, v: Value(0.5, v.outcome) if v.value is not None else v)


class NamesNothing(Broken):
    task_type = ""
    metrics = ("dice",)
    prediction_types = ("png",)


@pytest.mark.parametrize(
    ("adapter", "told"),
    [
        (GivesNan, "nan left the adapter"),
        (GivesInfinity, "inf left the adapter"),
        (LosesARegion, "differ from the spec's"),
        (LosesAMetric, "the metrics ['hd95']"),
        (AddsAMetric, "the metrics ['iou']"),
        (CallsANumberNotScored, "outcome 'not_scored:partial_label' with value"),
        (CallsNothingOk, "outcome 'ok' with value None"),
        (InventsAnOutcome, "unknown outcome 'fine'"),
        (InventsAPenalty, "unknown outcome 'penalty:my_own'"),
        (ScoresAMissingPrediction, "a missing prediction has outcome 'ok'"),
        (LeavesAMissingPredictionOut, "not scored when the prediction is missing, scored when it is there"),
        (ChangesTheReference, "scoring changed an input array"),
        (RemapsInPlace, "scoring changed an input array"),
        (DrawsLots, "scoring twice gives two results"),
        (IgnoresTheCaseRegion, "scored although the case names region 'WT'"),
        (AcceptsAnything, "accepts the prediction that it must refuse"),
        (GivesTheSameToAll, "a perfect and a worse prediction get the same numbers"),
        (NamesNothing, "task_type must be a non-empty text"),
        (NamesNothing, "metrics that the adapter does not list: ['hd95']"),
        (NamesNothing, "'nifti' is not in prediction_types"),
    ],
)
def test_the_suite_catches_an_adapter_that_breaks_a_law(adapter: type[Broken], told: str) -> None:
    assert told in "\n".join(check_adapter(adapter(), example=seg_example()))


def test_the_suite_changes_no_example_and_can_be_run_again() -> None:
    example = seg_example()
    before = example.reference.array.copy()
    assert check_adapter(SegAdapter(), example=example) == check_adapter(SegAdapter(), example=example)
    assert np.array_equal(before, example.reference.array)
