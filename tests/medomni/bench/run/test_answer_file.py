"""Answer files as data: what counts, what does not and why, and never through a link."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medomni.bench.answer_file import MOST_BYTES, parse_answers, read_answers

TARGETS: list[dict[str, Any]] = [
    {"name": "risk", "type": "binary"},
    {"name": "stage", "type": "ordinal", "classes": ["0", "1", "2"]},
    {"name": "days", "type": "number", "range": [0, 30]},
]
PATH = "/workspace/answer.json"


def parsed(text: str) -> dict[str, Any]:
    return {name: each.as_dict() for name, each in parse_answers(text.encode(), TARGETS).targets.items()}


def test_a_full_answer_counts_as_it_is() -> None:
    found = parsed('{"risk": 0.25, "stage": 2, "days": 31.5}')
    assert {name: each["value"] for name, each in found.items()} == {"risk": 0.25, "stage": 2, "days": 31.5}
    assert {each["status"] for each in found.values()} == {"answered"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"risk": 1.01}', "from 0 to 1"),
        ('{"risk": true}', "bool is no number"),
        ('{"risk": "0.5"}', "str is no number"),
        ('{"stage": 1.5}', "whole number from 0 to 2"),
        ('{"stage": 3}', "whole number from 0 to 2"),
        ('{"stage": -1}', "whole number from 0 to 2"),
        ('{"days": 1' + "0" * 400 + "}", "not finite"),
        ('{"days": [1]}', "list is no number"),
    ],
)
def test_a_value_outside_its_domain_is_invalid_and_keeps_its_reason(text: str, words: str) -> None:
    name = text[2:].partition('"')[0]
    found = parsed(text)[name]
    assert found["status"] == "invalid"
    assert found["value"] is None
    assert words in found["reason"]


@pytest.mark.parametrize("text", ["", "{", "[1]", "3", '{"risk": NaN}', '{"risk": 1, "risk": 0}', "\ufeff{}"])
def test_a_file_that_is_no_strict_object_answers_nothing(text: str) -> None:
    assert {each["status"] for each in parsed(text).values()} == {"invalid"}


def test_null_and_absent_are_missing_and_the_others_are_kept() -> None:
    found = parsed('{"risk": null, "days": 3}')
    assert [found[name]["status"] for name in ("risk", "stage", "days")] == ["missing", "missing", "answered"]


def test_a_key_that_names_no_target_is_told_and_never_taken_for_one(shared: Path) -> None:
    # RN-06: the only number of a file with a wrong key is nobody's answer.
    case = shared / "cases" / "RN-06"
    targets = json.loads((case / "content.json").read_text())["targets"]
    for each in targets:
        each.setdefault("type", "ordinal" if each.get("metric") == "qwk" else "binary")
        each.setdefault("classes", ["0", "1", "2", "3", "4"])
    expected = json.loads((case / "expected.json").read_text())["expect"]
    for atom in ("a1", "a2", "a3"):
        data = (case / "submissions" / atom / "answer.json").read_bytes()
        found = parse_answers(data, targets)
        lacking = [name for name, each in found.targets.items() if each.status != "answered"]
        assert sorted(lacking) == sorted(expected["per_atom"].get(atom, []))
        kept = {name: each.value for name, each in found.targets.items() if each.status == "answered"}
        assert kept == expected["accepted"].get(atom, {})
    assert found.extra


def test_too_large_a_file_is_invalid() -> None:
    found = parse_answers(b" " * (MOST_BYTES + 1), TARGETS)
    assert "more than" in str(found.targets["risk"].reason)
    assert found.sha256 is None


def test_no_file_is_missing_and_a_folder_or_pipe_is_invalid(tmp_path: Path) -> None:
    assert read_answers(tmp_path, PATH, TARGETS).targets["risk"].status == "missing"
    (tmp_path / "workspace" / "answer.json").mkdir(parents=True)
    assert read_answers(tmp_path, PATH, TARGETS).targets["risk"].status == "invalid"
    os.mkfifo(tmp_path / "workspace" / "pipe")
    assert read_answers(tmp_path, "/workspace/pipe", TARGETS).targets["risk"].status == "invalid"


@pytest.mark.parametrize("linked", ["file", "folder"])
def test_a_link_anywhere_on_the_way_is_never_followed(tmp_path: Path, linked: str) -> None:
    real = tmp_path / "elsewhere"
    real.mkdir()
    (real / "answer.json").write_text('{"risk": 1, "stage": 1, "days": 1}')
    if linked == "folder":
        (tmp_path / "workspace").symlink_to(real, target_is_directory=True)
    else:
        (tmp_path / "workspace").mkdir()
        (tmp_path / "workspace" / "answer.json").symlink_to(real / "answer.json")
    found = read_answers(tmp_path, PATH, TARGETS)
    assert found.sha256 is None
    assert "link" in str(found.targets["risk"].reason)


def test_a_path_that_leaves_its_folder_is_refused(tmp_path: Path) -> None:
    assert read_answers(tmp_path, "/../x", TARGETS).targets["risk"].status == "invalid"


@given(st.binary(max_size=200) | st.text(max_size=80).map(str.encode))
def test_whatever_the_bytes_are_there_is_a_status_and_a_reason_for_every_target(data: bytes) -> None:
    found = parse_answers(data, TARGETS)
    assert set(found.targets) == {"risk", "stage", "days"}
    for each in found.targets.values():
        assert (each.status == "answered") == (each.value is not None) == (each.reason is None)
