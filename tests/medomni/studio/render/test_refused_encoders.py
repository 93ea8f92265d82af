"""A template's own definition of an arm may refuse encoders, and the service of its atoms then does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from atom_builders import full_atom, pair

from medomni.core.issues import IssuesError
from medomni.studio.definitions.arms import Arm, read_arm
from medomni.studio.render import atom_files


def arm(folder: Path, text: str) -> Arm:
    path = folder / "encoders.yaml"
    path.write_text(f"arm: encoders\nversion: 1\n{text}", encoding="utf-8")
    return read_arm(path)


def test_refused_encoders_reach_the_service_s_configuration(tmp_path: Path) -> None:
    own = arm(tmp_path, "perception: true\nrefuse_encoders: [image, ecg]\n")
    files = atom_files(pair(), full_atom(), own, None)
    assert json.loads(files["environment/perception/config.json"])["refused"] == ["ecg", "image"]


def test_a_refusal_counts_where_a_variant_attaches_the_service(tmp_path: Path) -> None:
    own = arm(tmp_path, "refuse_encoders: [ecg]\nvariants:\n  a: {perception: true}\n  b: {}\n")
    assert own.refuse_encoders == ("ecg",)
    assert (own.attaches_perception("a"), own.attaches_perception("b"), own.attaches_perception(None)) == (
        True,
        False,
        False,
    )


def test_a_refusal_without_the_service_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(IssuesError) as refusal:
        arm(tmp_path, "refuse_encoders: [ecg]\n")
    assert [issue.code for issue in refusal.value.issues] == ["arm-perception"]
    assert "perception: true" in refusal.value.issues[0].hint
