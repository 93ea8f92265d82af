"""Adapters give one score, one message and one count whichever implementation runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medotter_bench.adapters import label_pairs, registry
from medotter_bench.adapters.base import CaseContext, CaseInputs
from medotter_bench.adapters.testing import check_adapter
from medotter_bench.errors import VolumeError
from medotter_bench.label_map import IDENTITY, LabelRemap
from medotter_bench.metrics import backend, fast
from scoring_builders import eval_spec, instance_example, label_map, seg_example

pytestmark = pytest.mark.skipif(not fast.available(), reason="numba is not installed here")

REMAPS = (IDENTITY, LabelRemap({1: 1, 4: 2}), LabelRemap({1: 2, 2: 1, 0: 2}), LabelRemap({3: 1}))
TYPES = ("u1", "i2", "u4", "i8")


def by_both(call: Any) -> list[Any]:
    results = []
    for choice in ("reference", "fast"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(backend.VARIABLE, choice)
            results.append(call())
    return results


@pytest.mark.parametrize(
    ("name", "example"),
    [
        ("seg", seg_example()),
        ("instance_seg_2d", instance_example("instance_seg_2d")),
        ("instance_seg_3d", instance_example("instance_seg_3d", regions={"tumor": [1], "immune": [2]})),
    ],
)
def test_the_kernels_conform(monkeypatch: pytest.MonkeyPatch, name: str, example: Any) -> None:
    monkeypatch.setenv(backend.VARIABLE, "fast")
    assert check_adapter(registry.get(name), example=example) == []


@st.composite
def maps(draw: st.DrawFn) -> Any:
    shape = draw(hnp.array_shapes(min_dims=2, max_dims=3, min_side=1, max_side=6))
    ids = st.sampled_from([0, 0, 1, 2, 3, 4, draw(st.sampled_from([5, 200, 70_000, 2**30]))])
    found = []
    for _ in range(2):
        array = draw(hnp.arrays(np.int64, shape, elements=ids))
        dtype = draw(st.sampled_from([t for t in TYPES if array.max() <= np.iinfo(t).max]))
        found.append(
            label_map(
                np.array(array, dtype=dtype, order=draw(st.sampled_from("CF"))), (0.7, 1.1, 2.5)[: len(shape)]
            )
        )
    return found


@settings(max_examples=150, deadline=None)
@given(maps(), st.sampled_from(REMAPS), st.sampled_from(["directed_max", "pooled"]), st.booleans())
def test_any_case_scores_alike(pair: Any, remap: LabelRemap, method: str, missing: bool) -> None:
    spec = eval_spec(hd95={"method": method})
    adapter, context = registry.get("seg"), CaseContext(spec, remap, {"dataset": "DS_A"})
    inputs = CaseInputs(pair[0], None if missing else pair[1])
    one, other = by_both(lambda: adapter.score(inputs, context=context))
    assert one == other
    assert repr(one) == repr(other)


def refusal(prediction: Any) -> str:
    try:
        registry.get("seg").check_prediction(prediction, spec=eval_spec())
    except VolumeError as bad:
        return f"{bad.code}: {bad}"
    return "accepted"


@settings(max_examples=60, deadline=None)
@given(maps())
def test_unknown_ids_are_refused_in_the_same_words(pair: Any) -> None:
    one, other = by_both(lambda: refusal(pair[0]))
    assert one == other


def test_the_refusal_counts_every_unknown_id() -> None:
    labels = label_map(np.arange(30, dtype=np.uint8).reshape(5, 6))
    one, other = by_both(lambda: refusal(labels))
    assert one == other
    assert "and 17 more" in one


@pytest.mark.parametrize(
    ("highest", "space", "passes"), [(2, [0, 1, 2], 0), (3, [0, 1, 2], 1), (4, [0, 1, 4], 1)]
)
def test_ids_are_counted_unless_all_up_to_the_highest_are_allowed(
    monkeypatch: pytest.MonkeyPatch, highest: int, space: list[int], passes: int
) -> None:
    looked: list[int] = []
    count = label_pairs.label_space_index
    monkeypatch.setattr(label_pairs, "label_space_index", lambda *given: (looked.append(1), count(*given))[1])
    monkeypatch.setenv(backend.VARIABLE, "reference")
    array = np.zeros((4, 5), dtype=np.uint8)
    array[2, 3] = highest
    known = replace(label_map(array), highest=highest)
    outside = label_pairs.outside_label_space(known, tuple(space))
    assert outside == ({} if highest in space else {highest: 1})
    assert len(looked) == passes
