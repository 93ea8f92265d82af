"""Whom the probes ask, and what they say where they can hardly ask."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from evidence_builders import evidence, labs, table

from medomni.core.issues import Severity
from medomni.core.names import Pair
from medomni.studio.building.probing import Gathered, _example, _single_features, asked
from medomni.studio.draw import Drawn, Row
from medomni.studio.probes.features import Feature, FeatureTable


def opened(release_class: str, kind: str = "binary") -> Any:
    label = SimpleNamespace(name="l", kind=kind, probes={})
    return SimpleNamespace(
        pair=Pair("mimic-iv_t", "dummy"),
        cohort=SimpleNamespace(strata_label=None),
        bounds=(SimpleNamespace(label=label),),
        library=SimpleNamespace(label=lambda _: SimpleNamespace(label=label)),
        store=SimpleNamespace(release_class=release_class),
    )


def rows(count: int, share: int) -> list[Row]:
    return [Row(at, "", "", int(at % share == 0), f"{at:05}") for at in range(count)]


def test_classes_are_asked_as_evenly_as_they_can_be() -> None:
    found = asked(rows(1000, 50), opened("dummy"))
    assert len(found) == 100
    # Twenty have the rare answer, and the others fill up.
    assert sum(row.value for row in found) == 20
    found = asked(rows(1000, 4), opened("dummy"))
    assert sum(row.value for row in found) == 50
    assert [row.digest for row in found] == sorted(row.digest for row in found)
    assert len(asked(rows(2000, 2), opened("real"))) == 500


def test_numbers_are_asked_in_the_order_of_the_draw_and_the_demo_asks_everybody() -> None:
    many = rows(1000, 3)
    assert asked(many, opened("dummy", "number")) == many[:100]
    assert asked(many, opened("demo")) == many
    assert asked(many[:70], opened("dummy")) == many[:70]


def test_that_few_can_be_asked_is_told() -> None:
    features = FeatureTable({})
    for number in range(8):
        features.add(evidence(labs(1)), {"l": float(number % 2)})
    found = list(_single_features(opened("dummy"), [], {}, Gathered((), features)))
    assert [(issue.code, issue.severity) for issue in found] == [("probe-few-patients", Severity.WARNING)]
    assert "only 8 eligible patients" in found[0].what
    assert list(_single_features(opened("demo"), [], {}, Gathered((), features))) == []


def test_a_feature_is_told_with_the_atom_where_it_is_first_seen() -> None:
    drawn = [Drawn(1, "", "", 0, ""), Drawn(2, "", "", 1, "")]
    made = (evidence(labs(1, name="hosp.x")), evidence(table("hosp.patients", ("gender",), [("F",)])))
    gathered = Gathered(made, FeatureTable({}))
    feature = Feature("hosp.patients", "gender", "", "is 'F'")
    assert _example(feature, drawn, {1: "a", 2: "b"}, gathered) == "b: hosp.patients.gender, row 1"
    nobody = Feature("icu.chartevents", "", "", "rows")
    assert (
        _example(nobody, drawn, {1: "a", 2: "b"}, gathered)
        == "icu.chartevents, in other eligible patients alone"
    )


@pytest.mark.parametrize("release_class", ["real", "dummy", "demo"])
def test_every_class_of_release_has_a_size(release_class: str) -> None:
    assert asked(rows(10, 2), opened(release_class))
