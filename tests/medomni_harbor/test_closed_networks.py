"""Compose files whose networks are closed, and those that are not; the filter of system calls."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest
import yaml

from medomni.studio.render.environment import environment_files
from medomni_harbor import compose, probing, seccomp

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "medomni" / "studio" / "render"))

from atom_builders import template


@pytest.mark.parametrize("perception", [True, False])
def test_built_tasks_are_closed(perception: bool) -> None:
    files = environment_files(template(), perception=perception)
    document = yaml.safe_load(files["environment/docker-compose.yaml"])
    assert compose.open_services(document) == []


@pytest.mark.parametrize(
    ("services", "open_ones"),
    [
        ({"main": {}}, ["main"]),
        ({}, ["main"]),
        ({"main": {"network_mode": "bridge"}}, ["main"]),
        ({"main": {"network_mode": "host"}}, ["main"]),
        ({"main": {"network_mode": "service:perception"}}, ["main"]),
        ({"main": {"network_mode": "service:p"}, "p": {}}, ["main", "p"]),
        ({"main": {"network_mode": "none"}, "p": None}, ["p"]),
        ({"main": {"network_mode": "none", "networks": ["x"]}}, ["main"]),
        ({"main": {"network_mode": "none", "ports": ["80:80"]}}, ["main"]),
        ({"main": {"network_mode": "service:p"}, "p": {"network_mode": "none"}}, []),
    ],
)
def test_what_is_not_closed_is_named(services: dict[str, object], open_ones: list[str]) -> None:
    assert compose.open_services({"services": services}) == open_ones


def test_the_overlay_labels_everything_and_opens_nothing() -> None:
    document = {"services": {"main": {}, "perception": {"build": {}}, "plain": {}}}
    found = compose.overlay(document, job="ab", ulimits={"fsize": 3})["services"]
    assert all(each["labels"] == {compose.LABEL: "ab"} for each in found.values())
    assert found["main"]["build"]["network"] == found["perception"]["build"]["network"] == "none"
    assert found["main"]["ulimits"] == {"fsize": 3}
    assert "build" not in found["plain"]
    assert not any("network_mode" in each for each in found.values())


def test_what_was_tried_decides_what_is_held() -> None:
    found = {"reached": [], "interfaces": ["lo"], "uid": 1000, "capabilities": "0", "filter": "2"}
    found |= {"new_privileges": "1", "processes": 3, "data_writable": False}
    assert all(probing.held(found, known={"memory": True}).values())
    assert not probing.held({**found, "reached": ["192.0.2.1"]}, known={})["network"]
    assert not probing.held({**found, "interfaces": ["lo", "eth0"]}, known={})["network"]
    assert not probing.held({**found, "uid": 0}, known={})["user"]
    assert not probing.held({**found, "capabilities": "3f"}, known={})["user"]
    assert not probing.held({**found, "processes": 400}, known={})["processes"]
    assert probing.parse("noise\n{broken") is None
    assert probing.parse("nothing") is None


@pytest.mark.parametrize(("machine", "mount"), [("x86_64", 165), ("aarch64", 40)])
def test_the_filter_refuses_mounts_and_allows_the_rest(machine: str, mount: int) -> None:
    program = seccomp.filter_bytes(machine)
    assert program is not None
    rows = list(struct.iter_unpack("HBBI", program))
    assert rows[-1] == (0x06, 0, 0, 0x7FFF0000)
    at = next(i for i, row in enumerate(rows) if row[0] == 0x15 and row[3] == mount)
    assert rows[at + 1] == (0x06, 0, 0, 0x00050001)
    assert len(rows) < 4096


def test_an_unknown_machine_has_no_filter() -> None:
    assert seccomp.filter_bytes("riscv64") is None
