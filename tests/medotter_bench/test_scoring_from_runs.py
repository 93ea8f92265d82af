"""A bundle scored from runs has the result bytes of one scored from voxels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bundle_builders import BundleBuilder
from medotter_bench import case_scoring
from medotter_bench.engine import score_predictions
from medotter_bench.inference.gunzip import fast_decoder
from medotter_bench.label_runs import LabelRuns
from medotter_bench.metrics import backend, fast

pytestmark = pytest.mark.skipif(
    not fast.available() or fast_decoder() is None, reason="numba or a fast gzip decoder is not installed"
)


def blob(at: int, *, label: int = 1, inner: int = 2, dtype: str = "uint8") -> Any:
    array = np.zeros((80, 20, 16), dtype=dtype)
    array[at : at + 30, 3:12, 4:11] = label
    array[at + 5 : at + 12, 5:8, 5:8] = inner
    return array


@pytest.fixture
def builder(tmp_path: Path) -> BundleBuilder:
    builder = BundleBuilder(tmp_path)
    builder.case("good", blob(20), blob(22, inner=0))
    builder.case("wide", blob(20, dtype="int16"), blob(25, inner=1, dtype="uint16"))
    builder.case("unlisted", blob(20, label=77), blob(25, inner=0))
    builder.case("unknown ids", blob(20), blob(25, label=9, inner=9))
    builder.case("nothing found", blob(20), np.zeros((80, 20, 16), dtype=np.uint8))
    noise = (np.random.default_rng(0).random((80, 20, 16)) > 0.5).astype(np.uint8)
    builder.case("noise", blob(20), noise)
    builder.case("lost", blob(20), None)
    return builder.write()


def test_results_are_the_same_bytes(builder: BundleBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    read = case_scoring.read_label_map
    kinds: list[bool] = []

    def spied(*given: Any, **asked: Any) -> Any:
        found = read(*given, **asked)
        kinds.append(isinstance(found.voxels, LabelRuns))
        return found

    monkeypatch.setattr(case_scoring, "read_label_map", spied)
    fast.compile_all(lambda line: None)
    texts, statuses = [], []
    for choice in ("fast", "reference"):
        monkeypatch.setenv(backend.VARIABLE, choice)
        found = score_predictions(builder.bundle, builder.predictions, builder.data)
        texts.append(found.to_json())
        statuses += [row["status"] for row in found.document["cases"]]
    assert texts[0] == texts[1]
    assert [statuses.count(name) for name in ("scored", "invalid", "missing")] == [10, 2, 2]
    # Six predictions by either way; noise has too many runs.
    assert kinds == [True] * 5 + [False] + [False] * 6
