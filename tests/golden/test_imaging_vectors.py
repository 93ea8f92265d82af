"""Every exact value of `imaging/` comes out of the metrics, to 1e-9."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from imaging_generators import BRATS_REGIONS, INSTANCE_MAPS, brats_ellipsoids

from medotter_bench import metrics
from medotter_bench.metrics.surface import surface

FOLDER = Path(__file__).parent / "imaging"


def load(name: str) -> Any:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def close(value: float | None) -> Any:
    return None if value is None else pytest.approx(value, rel=1e-9, abs=1e-9)


SEMANTIC = [
    pytest.param(case, region, id=f"{case['name']}-{region}")
    for case in load("semantic.json")["cases"]
    for region in case["regions"]
]
INSTANCE = [pytest.param(case, id=case["name"]) for case in load("instance.json")["cases"]]
GENERATED = load("generated_expected.json")["expected"]


@pytest.fixture(scope="module")
def brats() -> tuple[Any, Any]:
    return brats_ellipsoids()


@pytest.mark.parametrize(("case", "region"), SEMANTIC)
def test_semantic_vector_gives_its_dice_and_hd95(case: dict[str, Any], region: str) -> None:
    reference = np.isin(np.array(case["gt"]), case["regions"][region])
    prediction = np.isin(np.array(case["pred"]), case["regions"][region])
    expected, spacing = case["expected"][region], case["spacing"]
    n_reference, n_prediction = int(reference.sum()), int(prediction.sum())
    assert (n_reference, n_prediction) == (expected["n_gt"], expected["n_pred"])
    if expected["state"] != "both_nonempty":
        state = metrics.state(n_reference, n_prediction)
        assert expected["state"] == ("both_empty" if state == "gt_empty_pred_empty" else state)
        assert metrics.hd95(reference, prediction, spacing=spacing) is None
        return
    assert metrics.state(n_reference, n_prediction) is None
    assert int((reference & prediction).sum()) == expected["n_inter"]
    assert metrics.dice(reference, prediction) == close(expected["dice"])
    forth, back = metrics.surface_distances(reference, prediction, spacing=spacing)
    assert (len(forth), len(back)) == (expected["n_surf_gt"], expected["n_surf_pred"])
    assert metrics.linear_percentile(forth, 95) == close(expected["hd95_gt_to_pred"])
    assert metrics.linear_percentile(back, 95) == close(expected["hd95_pred_to_gt"])
    hd95 = metrics.hd95(reference, prediction, spacing=spacing)
    pooled = metrics.hd95(reference, prediction, spacing=spacing, method="pooled")
    hd100 = metrics.hd95(reference, prediction, spacing=spacing, percentile=100)
    assert hd95 == close(expected["hd95"])
    assert pooled == close(expected["hd95_pooled"])
    assert hd100 == close(expected["hd100"])


@pytest.mark.parametrize("case", INSTANCE)
def test_instance_vector_gives_its_counts_and_scores(case: dict[str, Any]) -> None:
    expected = case["expected"]
    table = metrics.contingency(np.array(case["gt"]), np.array(case["pred"]))
    assert (len(table.reference_ids), len(table.prediction_ids)) == (expected["n_gt"], expected["n_pred"])
    for rule, values in (("gt", expected), ("ge", expected["nonstrict"])):
        found = metrics.match(table, threshold=case["iou_threshold"], rule=rule)
        assert (found.tp, found.fp, found.fn) == (values["tp"], values["fp"], values["fn"])
        assert metrics.f1(found) == close(values["f1"])
        assert metrics.dq(found) == close(values["f1"])
        assert metrics.sq(found) == close(values["sq"])
        assert metrics.pq(found) == close(values["pq"])
    assert metrics.aji(table) == close(expected["aji"])
    if expected["aji_plus_unique"]:
        assert metrics.aji_plus(table) == close(expected["aji_plus"])


@pytest.mark.parametrize("region", BRATS_REGIONS)
@pytest.mark.parametrize(
    ("name", "spacing"),
    [("brats_ellipsoids_iso", (1, 1, 1)), ("brats_ellipsoids_aniso", (0.8, 0.8, 2.5))],
)
def test_generated_volume_gives_its_dice_and_hd95(
    brats: tuple[Any, Any], name: str, spacing: tuple[float, ...], region: str
) -> None:
    reference, prediction = (np.isin(labels, BRATS_REGIONS[region]) for labels in brats)
    expected = GENERATED[name][region]
    counts = (int(reference.sum()), int(prediction.sum()), int((reference & prediction).sum()))
    assert counts == (expected["n_gt"], expected["n_pred"], expected["n_inter"])
    assert int(surface(reference).sum()) == expected["n_surf_gt"]
    assert int(surface(prediction).sum()) == expected["n_surf_pred"]
    assert metrics.dice_from_counts(*counts) == close(expected["dice"])
    assert metrics.hd95(reference, prediction, spacing=spacing) == close(expected["hd95"])
    pooled = metrics.hd95(reference, prediction, spacing=spacing, method="pooled")
    assert pooled == close(expected["hd95_pooled"])
    hd100 = metrics.hd95(reference, prediction, spacing=spacing, percentile=100)
    assert hd100 == close(expected["hd100"])


@pytest.mark.parametrize("name", INSTANCE_MAPS)
def test_generated_instances_give_their_counts_and_scores(name: str) -> None:
    reference, prediction = INSTANCE_MAPS[name]()
    expected = GENERATED[name]
    table = metrics.contingency(reference, prediction)
    found = metrics.match(table)
    assert (found.tp, found.fp, found.fn) == (expected["tp"], expected["fp"], expected["fn"])
    assert metrics.f1(found) == close(expected["f1"])
    assert metrics.sq(found) == close(expected["sq"])
    assert metrics.pq(found) == close(expected["pq"])
    assert metrics.aji(table) == close(expected["aji"])
    assert metrics.aji_plus(table) == close(expected["ajip"])
