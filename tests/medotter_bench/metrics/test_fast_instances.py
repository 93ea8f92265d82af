"""Instance tables and connected parts from the compiled kernels equal the reference implementation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medomni.core.errors import MedomniError
from medotter_bench import metrics
from medotter_bench.metrics import fast

pytestmark = pytest.mark.skipif(not fast.available(), reason="numba is not installed here")

VECTORS = Path(__file__).parents[2] / "golden" / "imaging" / "instance.json"
IDS = {"u1": 255, "i1": 127, "u2": 65535, "i2": 32767, ">i4": 2**31 - 1, "u4": 2**32 - 1, "i8": 2**63 - 1}


def agree(reference: Any, prediction: Any) -> None:
    ours, expected = fast.contingency(reference, prediction), metrics.contingency(reference, prediction)
    for name in expected.__slots__:
        one, other = getattr(ours, name), getattr(expected, name)
        assert one.dtype == other.dtype and one.tolist() == other.tolist(), name
    assert metrics.match(ours) == metrics.match(expected)
    assert metrics.aji(ours) == metrics.aji(expected)
    assert fast.disconnected_ids(reference) == metrics.disconnected_ids(reference)
    assert fast.disconnected_ids(prediction) == metrics.disconnected_ids(prediction)


@st.composite
def instance_map(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    dtype, largest = draw(st.sampled_from([*IDS.items(), ("u8", 2**64 - 1)]))
    ids = st.sampled_from([0, 0, 1, 2, largest - 1, largest])
    order = draw(st.sampled_from("CF"))
    array = np.array(draw(hnp.arrays(np.uint64, shape, elements=ids)).astype(dtype), order=order)  # type: ignore[call-overload]
    array.flags.writeable = draw(st.booleans())
    return array[::-1] if draw(st.booleans()) else array


@st.composite
def pairs(draw: st.DrawFn) -> Any:
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=9))
    return draw(instance_map(shape)), draw(instance_map(shape))


@settings(max_examples=250, deadline=None)
@given(pairs())
def test_any_ids_in_any_type_and_memory_order(maps: Any) -> None:
    agree(*maps)


@pytest.mark.parametrize(
    "case", json.loads(VECTORS.read_text(encoding="utf-8"))["cases"], ids=lambda c: c["name"]
)
def test_golden_vectors(case: Any) -> None:
    agree(np.array(case["gt"]), np.array(case["pred"]))


def test_a_tile_of_many_objects() -> None:
    labels = np.kron(np.arange(1, 40_001).reshape(200, 200), np.ones((6, 7), dtype=np.int32))
    agree(labels, np.roll(labels, (2, 3), (0, 1)) * 7)


@pytest.mark.parametrize("size", [90, 160, 400])
def test_a_map_in_which_every_pixel_is_an_object(size: int) -> None:
    labels = np.arange(1, size * size + 1).reshape(size, size)
    agree(labels, labels[::-1])
    agree(labels, np.ones_like(labels))
    agree(np.zeros_like(labels), labels)


def test_wrong_maps_fail_as_in_the_reference() -> None:
    good = np.ones((3, 3), dtype=np.int32)
    for wrong in (-good, good.astype(float), good[:2], good[None, None], good.tolist()):
        with pytest.raises(MedomniError) as ours:
            fast.contingency(good, wrong)  # type: ignore[arg-type]
        with pytest.raises(MedomniError) as theirs:
            metrics.contingency(good, wrong)  # type: ignore[arg-type]
        assert (ours.value.code, str(ours.value)) == (theirs.value.code, str(theirs.value))
    with pytest.raises(MedomniError):
        fast.disconnected_ids(-good)
