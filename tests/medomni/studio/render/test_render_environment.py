"""The containers of an atom task: closed, limited, nothing pulled; the service where it is attached."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from atom_builders import ENCODERS, NO_PERCEPTION, full_atom, pair

from medomni.studio.definitions.arms import Arm
from medomni.studio.errors import BuildError
from medomni.studio.perception.archive import archive_bytes
from medomni.studio.render import atom_files

BIND = [{"type": "bind", "source": "../data", "target": "/data", "read_only": True}]


def files(arm: Arm = NO_PERCEPTION, **changes: Any) -> dict[str, bytes]:
    return atom_files(pair(**changes), full_atom(), arm, None)


def services(arm: Arm = NO_PERCEPTION, **changes: Any) -> dict[str, Any]:
    text = files(arm, **changes)["environment/docker-compose.yaml"]
    found: dict[str, Any] = yaml.safe_load(text)["services"]
    return found


def test_the_agent_s_container_is_closed_and_limited() -> None:
    assert services() == {
        "main": {
            "init": True,
            "stop_grace_period": "1s",
            "pids_limit": 512,
            "security_opt": ["no-new-privileges"],
            "volumes": BIND,
            "network_mode": "none",
        }
    }


def test_the_service_has_no_network_and_the_agent_shares_its_loopback() -> None:
    found = services(ENCODERS)
    assert sorted(found) == ["main", "perception"]
    assert found["main"]["network_mode"] == "service:perception"
    assert found["main"]["depends_on"] == ["perception"]
    assert found["perception"]["network_mode"] == "none"
    assert found["perception"]["volumes"] == BIND
    assert found["perception"]["cap_drop"] == ["ALL"]
    assert found["perception"]["read_only"] is True


def test_nothing_is_pulled() -> None:
    for name, data in files(ENCODERS).items():
        if name.endswith("Dockerfile"):
            images = [line for line in data.decode().splitlines() if line.startswith("FROM")]
            assert images == ["FROM ${BASE_IMAGE}"]
            assert b"ARG BASE_IMAGE=localhost/" in data
    assert all("image" not in each for each in services(ENCODERS).values())


def test_no_image_holds_staged_files_or_tests() -> None:
    copied = [
        line
        for name, data in files(ENCODERS).items()
        if name.endswith("Dockerfile")
        for line in data.decode().splitlines()
        if line.startswith(("COPY", "ADD"))
    ]
    assert copied == ["COPY perception.pyz config.json /opt/perception/"]


def test_the_service_comes_whole_and_with_the_encoders_that_are_refused() -> None:
    made = files(Arm("encoders", 1, perception=True, refuse_encoders=("pressure", "image")))
    assert made["environment/perception/perception.pyz"] == archive_bytes()
    config = json.loads(made["environment/perception/config.json"])
    assert config == {"schema": "medomni/perception/1", "refused": ["image", "pressure"]}


def test_the_internet_is_open_only_where_the_template_asks_for_it() -> None:
    made = files(environment={"internet": True})
    assert b'network_mode = "public"' in made["task.toml"]
    assert "network_mode" not in services(environment={"internet": True})["main"]
    with pytest.raises(BuildError) as refusal:
        files(ENCODERS, environment={"internet": True})
    assert refusal.value.code == "render-internet"


def test_the_answer_s_folder_is_made_in_the_image() -> None:
    made = files(submission_path="/answers/of-mine/a.json")["environment/Dockerfile"].decode()
    assert "RUN mkdir -p /answers/of-mine && chown agent:agent /answers/of-mine\n" in made


@pytest.mark.parametrize(
    "path",
    [
        "/answer.json",
        "/data/answer.json",
        "/tests/a/b.json",
        "relative/a.json",
        "/a b/c.json",
        "/a;b/c.json",
        "/answers/../etc/a.json",
        "/logs/agent/a.json",
        "/proc/a.json",
        "/x$(id)/a.json",
    ],
)
def test_a_place_that_no_answer_can_have_is_refused(path: str) -> None:
    with pytest.raises(BuildError) as refusal:
        files(submission_path=path)
    assert refusal.value.code == "render-submission-path"
