"""A new bundle works from the first minute: generated data, a freeze, and a check without errors."""

from __future__ import annotations

import pytest

from medomni.core.issues import errors_of
from medotter_bench.bundle import Bundle
from medotter_bench.checks import check
from medotter_bench.factory.dummy import dummy_predictions, make_dummy
from medotter_bench.factory.errors import NewBundleError
from medotter_bench.factory.freeze import freeze
from medotter_bench.factory.new import new_bundle


@pytest.mark.parametrize("name", ["liver_lesion_ct", "no"])
def test_a_new_bundle_generates_freezes_and_checks(tmp_path, name):
    bundle = new_bundle(name, tmp_path / "benchmarks")
    assert sorted(path.name for path in bundle.iterdir()) == [
        "README.md",
        "eval_spec.yaml",
        "factory.yaml",
        "task.yaml",
    ]
    make_dummy(bundle, tmp_path / "data")
    report = freeze(bundle, data_root=tmp_path / "data")
    assert report.n_train
    assert report.n_test
    assert Bundle(bundle).task_spec()["task"]["id"] == name
    assert errors_of(check(Bundle(bundle))) == []
    assert len(dummy_predictions(bundle, tmp_path / "data", tmp_path / "pred").files) == report.n_test


@pytest.mark.parametrize(
    "name", ["", "Liver", "liver-ct", "_liver", "liver__ct", "../liver", "a" * 65, "1liver"]
)
def test_names_that_are_no_lower_case_names_are_refused(tmp_path, name):
    with pytest.raises(NewBundleError) as caught:
        new_bundle(name, tmp_path)
    assert caught.value.code == "new-name"


def test_what_exists_is_never_overwritten(tmp_path):
    new_bundle("liver_ct", tmp_path)
    with pytest.raises(NewBundleError) as caught:
        new_bundle("liver_ct", tmp_path)
    assert caught.value.code == "new-exists"
