"""An atom task in real containers: closed, read-only, with the service on a shared loopback."""

from __future__ import annotations

import json
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from atom_builders import ENCODERS, NO_PERCEPTION, PATIENT, full_atom, pair

from medomni.studio.definitions.arms import Arm
from medomni.studio.render import render_atom
from medomni.studio.render.environment import BASE_IMAGE

pytestmark = pytest.mark.slow
# What Harbor adds to an atom's own file: the image to build, and a command that lasts.
OVERLAY = {"services": {"main": {"build": {"context": "."}, "command": ["sh", "-c", "sleep infinity"]}}}
ENCODE = """
import urllib.request
body = b'{"encoder": "trends", "path": "record/hosp.labevents.csv"}'
print(urllib.request.urlopen("http://127.0.0.1:8080/encode", body, timeout=30).read().decode())
"""
CONNECT = "import socket; socket.create_connection(('192.0.2.1', 80), timeout=3)"


def docker(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["docker", *arguments], capture_output=True, text=True, check=check)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[Arm], Callable[..., subprocess.CompletedProcess[str]]]]:
    """Starts an atom under an arm; gives a function that runs a program in the agent's container."""
    if shutil.which("docker") is None or docker("compose", "version", check=False).returncode:
        pytest.skip("no docker compose")
    if docker("image", "inspect", BASE_IMAGE, check=False).returncode:
        pytest.skip(f"no Docker daemon, or no base image {BASE_IMAGE}")
    project, places = f"medomni-test-{secrets.token_hex(4)}", []

    def started(arm: Arm) -> Callable[..., subprocess.CompletedProcess[str]]:
        folder = tmp_path / arm.name
        render_atom(pair(), full_atom(), arm, None, folder)
        (tmp_path / "overlay.json").write_text(json.dumps(OVERLAY), encoding="utf-8")
        environment = folder / "environment"
        files = ["-f", str(environment / "docker-compose.yaml"), "-f", str(tmp_path / "overlay.json")]
        compose = ["compose", "--project-directory", str(environment), "-p", project, *files]
        places.append(compose)
        docker(*compose, "up", "--build", "--detach", "--wait")
        return lambda *command: docker(*compose, "exec", "-T", "-u", "agent", "main", *command, check=False)

    yield started
    for compose in places:
        docker(*compose, "down", "--rmi", "local", "--volumes", "--timeout", "1")


@pytest.mark.parametrize("arm", [NO_PERCEPTION, ENCODERS], ids=lambda arm: str(arm.name))
def test_the_agent_reads_its_files_and_reaches_nothing(
    start: Callable[..., Callable[..., subprocess.CompletedProcess[str]]], arm: Arm
) -> None:
    run = start(arm)
    assert "Sodium" in run("cat", "/data/record/hosp.labevents.csv").stdout
    assert "Read-only" in run("touch", "/data/x").stderr
    assert run("python3", "-c", CONNECT).returncode != 0
    assert run("sh", "-c", "ls /sys/class/net").stdout.split() == ["lo"]
    assert run("sh", "-c", "echo 1 > /workspace/answer.json").returncode == 0
    hidden = run(
        "sh", "-c", "find / -xdev -name expected.json -o -xdev -name task.toml -o -xdev -name '*.pyz'"
    )
    assert hidden.stdout == ""
    answered = run("python3", "-c", ENCODE)
    if arm is ENCODERS:
        assert json.loads(answered.stdout)["numbers"]["items"]
    else:
        assert answered.returncode != 0


def test_a_neutral_folder_s_name_is_all_that_a_container_tells_of_its_atom(
    start: Callable[..., Callable[..., subprocess.CompletedProcess[str]]],
) -> None:
    # The table of mounts shows where `data/` comes from: whoever runs atoms must give the folder such a name.
    run = start(NO_PERCEPTION)
    shown = "/etc/hosts /etc/hostname /proc/self/cgroup /proc/self/mountinfo /proc/1/cmdline /proc/1/environ"
    told = run("sh", "-c", f"env; cat {shown}").stdout
    assert "no-perception/data" in told
    assert full_atom().name.rpartition(".")[2] not in told
    assert PATIENT not in told
