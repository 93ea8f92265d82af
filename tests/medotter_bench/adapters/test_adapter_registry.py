"""The registry: what it holds, what it refuses, and adapters that other packages bring."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bundle_builders import BundleBuilder, box, cell_of
from medomni.core import contracts
from medomni.core.errors import MedomniError
from medotter_bench import adapters
from medotter_bench.adapters import registry
from medotter_bench.adapters.base import Adapter, CaseContext, CaseInputs, CaseScore, RegionScore, Value
from medotter_bench.adapters.seg import SegAdapter
from medotter_bench.adapters.stubs import StubAdapter
from medotter_bench.adapters.testing import Example, check_adapter
from medotter_bench.engine import score_predictions
from medotter_bench.errors import UnknownTaskTypeError
from medotter_bench.label_map import IDENTITY
from scoring_builders import eval_spec, label_map


class VoxelAccuracy:
    """An outsider's adapter: the share of voxels that agree, over the whole grid."""

    task_type = "voxel_accuracy"
    metrics = ("accuracy",)
    prediction_types = ("nifti",)

    def check_prediction(self, prediction: Any, *, spec: Any) -> None:
        """Any content is allowed."""

    def score(self, inputs: CaseInputs, *, context: CaseContext) -> CaseScore:
        value = Value(0.0, "penalty:missing")
        if inputs.prediction is not None:
            value = Value(float((inputs.prediction.array == inputs.reference.array).mean()), "ok")
        return CaseScore({r: RegionScore({"accuracy": value}, {}, True) for r in context.spec.regions})


class OtherName(VoxelAccuracy):
    """Calls itself something else than its entry point does."""

    task_type = "accuracy_of_voxels"


class Entry:
    """What `importlib.metadata` gives for an installed package."""

    def __init__(self, name: str, target: Any) -> None:
        self.name, self.target = name, target

    def load(self) -> Any:
        if isinstance(self.target, Exception):
            raise self.target
        return self.target


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    monkeypatch.setattr(registry, "_ADAPTERS", dict(registry._ADAPTERS))


@pytest.fixture
def installed(monkeypatch):
    """Entry points of the group, as if packages brought them."""
    entries: list[Entry] = []

    def entry_points(*, group: str, name: str | None = None) -> list[Entry]:
        assert group == "medotter_bench.adapters"
        return [entry for entry in entries if name in (None, entry.name)]

    monkeypatch.setattr(registry, "entry_points", entry_points)
    return entries


def test_the_package_fills_the_registry():
    """MB-110."""
    assert adapters.registry is registry
    assert registry.names() == ["cls", "det", "instance_seg_2d", "instance_seg_3d", "seg", "vlm"]
    for name in registry.names():
        assert registry.get(name).task_type == name
        assert isinstance(registry.get(name), Adapter)


@pytest.mark.parametrize("name", ["cls", "det", "vlm"])
def test_stubs_refuse_whatever_is_asked_of_them(name):
    """MB-112."""
    stub = registry.get(name)
    assert isinstance(stub, StubAdapter)
    spec, reference = eval_spec(), label_map(box())
    with pytest.raises(NotImplementedError, match=name):
        stub.check_prediction(reference, spec=spec)
    with pytest.raises(NotImplementedError, match=name):
        stub.score(CaseInputs(reference, None), context=CaseContext(spec, IDENTITY, {}))


def test_a_taken_name_is_refused_and_the_same_adapter_may_come_again():
    with pytest.raises(MedomniError, match="registered already") as caught:
        registry.register(SegAdapter())
    assert caught.value.code == "adapter-taken"
    assert "SegAdapter" in str(caught.value)
    registry.register(registry.get("seg"))
    assert registry.names().count("seg") == 1


def test_an_unknown_name_lists_the_known_ones(installed):
    """MB-071."""
    installed.append(Entry("voxel_accuracy", VoxelAccuracy()))
    with pytest.raises(UnknownTaskTypeError, match="known are") as caught:
        registry.get("segmentation")
    for name in registry.names():
        assert name in str(caught.value)
    assert "voxel_accuracy" in registry.names()


def test_an_outsiders_adapter_conforms_or_is_told_why_not():
    reference = np.zeros((4, 4, 4), np.uint8)
    reference[1:3] = 1
    spec = eval_spec(task_type="voxel_accuracy", eval_regions={"all": [1]}, metrics=["accuracy"])
    maps = (label_map(reference), label_map(reference), label_map(1 - reference))
    example = Example(CaseContext(spec, IDENTITY, {}), *maps)
    assert check_adapter(VoxelAccuracy(), example=example) == []


def outsider_bundle(tmp_path: Path, **form: Any) -> BundleBuilder:
    builder = BundleBuilder(tmp_path)
    builder.spec |= {"task_type": "voxel_accuracy", "metrics": ["accuracy"]}
    builder.spec["aggregation"]["headline"]["metric"] = "accuracy"
    builder.spec["prediction_format"] |= form
    del builder.spec["hd95"], builder.spec["empty_structure"]
    builder.case("001", box(), box(size=3))
    builder.case("002", box(), None)
    return builder.write()


def test_an_outsiders_adapter_scores_a_bundle_through_its_entry_point(tmp_path, installed):
    builder = outsider_bundle(tmp_path)
    with pytest.raises(UnknownTaskTypeError):
        score_predictions(builder.bundle, builder.predictions, builder.data)
    installed.append(Entry("voxel_accuracy", VoxelAccuracy()))
    document = score_predictions(builder.bundle, builder.predictions, builder.data).document
    expected = 1 - (64 - 27) / 512
    assert cell_of(document, "DS_A/001", "lesion", "accuracy") == {"value": expected, "outcome": "ok"}
    assert cell_of(document, "DS_A/002", "lesion", "accuracy") == {"value": 0.0, "outcome": "penalty:missing"}
    assert document["headline"]["value"] == pytest.approx(expected / 2, abs=1e-15)
    assert document["task_type"] == "voxel_accuracy"
    assert contracts.validate("results", document) == []


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (Entry("voxel_accuracy", OtherName()), "voxel_accuracy"),
        (Entry("voxel_accuracy", VoxelAccuracy), "voxel_accuracy"),
        (Entry("voxel_accuracy", ImportError("no module named torch")), "torch"),
        (Entry("voxel_accuracy", None), "voxel_accuracy"),
    ],
    ids=["another-name", "a-class", "import-error", "none"],
)
def test_a_broken_entry_point_is_a_typed_error_that_names_it(tmp_path, installed, entry, told):
    builder = outsider_bundle(tmp_path)
    installed.append(entry)
    with pytest.raises(MedomniError) as caught:
        score_predictions(builder.bundle, builder.predictions, builder.data)
    assert caught.value.code == "adapter-broken"
    assert told in str(caught.value)
    assert "known are" not in str(caught.value)


@pytest.mark.parametrize("types", [("mesh",), ()])
def test_a_prediction_type_that_nobody_reads_is_a_typed_error(tmp_path, installed, types):
    builder = outsider_bundle(tmp_path, type="mesh")
    outsider = VoxelAccuracy()
    outsider.prediction_types = types
    installed.append(Entry("voxel_accuracy", outsider))
    with pytest.raises(MedomniError, match="mesh"):
        score_predictions(builder.bundle, builder.predictions, builder.data)
