"""`bench run` through Harbor: the service reached and nothing else, attempts, limits of atoms and of cost."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from workspace_builders import SET, invoke, make_workspace, need_harbor, records_of

from medomni.bench.environments import survey

# Answers 3 if the service encodes the record, and nothing else can be reached.
ASK = """
import json, socket, urllib.request
body = json.dumps({"encoder": "trends", "path": "record/hosp.patients.csv"}).encode()
told = urllib.request.urlopen("http://127.0.0.1:8080/encoders", timeout=20).read()
closed = False
try:
    socket.create_connection(("192.0.2.1", 80), timeout=3)
except OSError:
    closed = True
if b"trends" in told and closed and open("/data/record/case.csv").read():
    open("/workspace/answer.json", "w").write('{"ckd_stage": 3}')
"""


def need(kind: str) -> None:
    need_harbor()
    if kind != "local" and shutil.which(kind) is None:
        pytest.skip(f"no {kind}")
    found = survey(kind)
    if not found.works:
        pytest.skip(found.why)


def run(root: Path, agent: str, *more: str, kind: str = "local") -> Any:
    return invoke("run", SET, "--agent", agent, "--environment", kind, "--workspace", str(root), *more)


@pytest.mark.parametrize(
    "kind", ["local", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("docker", "podman"))]
)
def test_an_agent_reaches_the_service_and_nothing_else(tmp_path: Path, kind: str) -> None:
    need(kind)
    make_workspace(tmp_path, ["a", "b"], arm="encoders", memory_mb=1024)
    (tmp_path / "ask.json").write_text(
        json.dumps({"commands": [f"python3 -c {shlex.quote(ASK)}"], "cost_usd": 0.25})
    )
    agent = f"scripted:{tmp_path / 'ask.json'}"
    told = run(tmp_path, agent, "--attempts", "2", "--limit-atoms", "1", kind=kind)
    assert told.exit_code == 0, told.output
    [record] = records_of(tmp_path)
    assert [(row["attempt"], row["targets"]["ckd_stage"]["value"]) for row in record["atoms"]] == [
        (1, 3),
        (2, 3),
    ]
    assert record["environment"]["kind"] == kind
    assert record["environment"]["limits_held"]["network"]
    assert "limited-to-1-atoms" in record["integrity"]
    assert {row["cost_usd"] for row in record["atoms"]} == {0.25}
    # The names of mounted folders tell nothing.
    assert sorted(path.name for path in next((tmp_path / "runs").iterdir()).glob("tasks/*")) == ["0001"]


@pytest.mark.slow
def test_a_cost_limit_stops_the_run_and_every_atom_has_its_row(tmp_path: Path) -> None:
    need("local")
    make_workspace(tmp_path, ["a", "b", "c", "d", "e"])
    plan = {"commands": ["sleep 1; printf '{\"ckd_stage\": 1}' > /workspace/answer.json"], "cost_usd": 1}
    (tmp_path / "costly.json").write_text(json.dumps(plan))
    agent = f"scripted:{tmp_path / 'costly.json'}"
    told = run(tmp_path, agent, "-n", "1", "--max-cost", "0.5")
    assert told.exit_code == 0, told.output
    assert "cost limit of 0.5" in told.output
    [record] = records_of(tmp_path)
    assert len(record["atoms"]) == 5
    assert record["counts"]["agent_error"] >= 2
    assert record["counts"]["harness_error"] == 0
    assert "stopped-at-cost-limit" in record["integrity"]
    again = run(tmp_path, agent, "-n", "2", "--max-cost", "100")
    assert again.exit_code == 0, again.output
    [record] = records_of(tmp_path)
    assert record["counts"]["ran"] == 5
    assert "stopped-at-cost-limit" not in record["integrity"]


@pytest.mark.slow
def test_the_answers_of_one_agent_are_never_another_s(tmp_path: Path) -> None:
    # RN-04: nothing is kept from one agent's run for another's.
    need("local")
    make_workspace(tmp_path, ["a"])
    for agent in ("prior", "nop"):
        assert run(tmp_path, agent).exit_code == 0
    nop, prior = records_of(tmp_path)
    assert [nop["agent"]["name"], prior["agent"]["name"]] == ["nop", "prior"]
    assert prior["atoms"][0]["targets"]["ckd_stage"]["value"] == 2
    assert nop["atoms"][0]["targets"]["ckd_stage"]["status"] == "missing"
    assert nop["atoms"][0]["answer_sha256"] is None
