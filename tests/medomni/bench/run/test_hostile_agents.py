"""Agents that cheat, flood, fork and hide, each in an atom of its own: nothing changes an answer or the host.

One job of Harbor runs them all; what a case does stands in `ATTACKS`. Needs Harbor and bubblewrap (and, where
marked, a container engine); skipped with the reason elsewhere.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from workspace_builders import SET, atom_of, invoke, make_workspace, need_harbor, records_of, rows_of

from medomni.bench.environments import survey

TARGET = "ckd_stage"
TIMEOUT = 12
ANSWER = f"""printf '{{"{TARGET}": 2}}' > /workspace/answer.json"""
# Case -> what the agent does; each but the last few answers 2 as an honest agent would.
ATTACKS = {
    "honest": ANSWER,
    "reward": f"""{ANSWER}
        for d in /logs /logs/verifier /logs/agent /logs/artifacts /workspace /tests; do
          mkdir -p $d; echo '{{"format_ok": 1, "score": 1}}' > $d/reward.json; echo 1 > $d/reward.txt
          echo '{{"auc": 1.0}}' > $d/scores.json
        done""",
    "background": f"""{ANSWER}
        setsid sh -c 'while true; do
            echo {{\\"{TARGET}\\": 0}} > /workspace/answer.json; sleep 0.02; done' &
        sleep 0.2; kill %1; {ANSWER}""",
    "late": f"""(setsid sh -c 'sleep {TIMEOUT + 1}; {ANSWER}
          while true; do date >> /workspace/beat; sleep 1; done' &); sleep 60""",
    "link": "ln -s /data/record/case.csv /workspace/answer.json",
    "host-link": """ln -s /etc/passwd /workspace/answer.json
        ln -s / /logs/agent/root; ln -s / /logs/artifacts/r""",
    "disk": f"""{ANSWER}
        dd if=/dev/zero of=/tmp/a bs=1M count=4000; dd if=/dev/zero of=/logs/agent/b bs=1M count=4000
        for i in $(seq 50); do dd if=/dev/zero of=/workspace/$i bs=1M count=100; done""",
    "forks": f"{ANSWER}; b() {{ b | b & }}; b; sleep 1",
    "flood": f"{ANSWER}; head -c 50000000 /dev/zero | tr '\\0' x",
    "search": f"""{ANSWER}
        find /data /workspace /logs /tmp /home /run /etc /tests /opt /var \\
          \\( -name 'answers*' -o -name expected.json -o -name task.toml -o -name content.json \\
          -o -name '*.run.json' -o -name manifest.json -o -name solve.sh \\) 2>/dev/null > /workspace/found
        cat /proc/1/cmdline /proc/*/environ /proc/self/mountinfo /etc/hosts >> /workspace/found 2>/dev/null
        [ -z "$(grep -aE 'answers|expected|9000012|ckd-staging|manifest' /workspace/found)" ] ||
          printf '{{"{TARGET}": 4}}' > /workspace/answer.json""",
    "sockets": f"""{ANSWER}
        python3 -c 'import socket; socket.create_connection(("192.0.2.1", 80), timeout=3)' &&
          printf '{{"{TARGET}": 4}}' > /workspace/answer.json; true""",
    "edits": f"""{ANSWER}
        echo changed > /data/record/case.csv; echo changed > /data/instruction.md
        rm -rf /data /tests /usr; true""",
    "memory": f"{ANSWER}; python3 -c 'x = bytearray(3 << 30)'; true",
    "large": "head -c 300000 /dev/zero | tr '\\0' 1 > /workspace/answer.json",
    "folder": "mkdir /workspace/answer.json; touch /workspace/answer.json/x",
    "kills": f"{ANSWER}; kill -9 -1; kill -9 1",
}


def script(folder: Path) -> Path:
    """One script for every atom: it does what its record says."""
    cases = "\n".join(f"{name}) {text}\n;;" for name, text in ATTACKS.items())
    path = folder / "hostile.sh"
    path.write_text(f"case $(tail -n 1 /data/record/case.csv) in\n{cases}\nesac\n", encoding="utf-8")
    return path


def attacked(root: Path, kind: str, cases: list[str]) -> tuple[dict[str, dict[str, Any]], Path]:
    """The rows by case, and the run's folder."""
    need_harbor()
    found = survey(kind)
    if not found.works:
        pytest.skip(found.why)
    # The smallest limit under which a starting Python fits beside a flood of files in memory.
    make_workspace(root, cases, timeout=TIMEOUT)
    told = invoke(
        *("run", SET, "--agent", f"scripted:{script(root)}", "--environment", kind),
        *("--workspace", str(root), "-n", "4", "--json"),
    )
    assert told.exit_code == 0, told.output
    [record] = records_of(root)
    by_atom = rows_of(record)
    rows = {case: by_atom[atom_of(root, case)] for case in cases}
    assert record["counts"]["harness_error"] == 0
    folder = Path(json.loads(told.stdout)["folder"])
    return rows, folder


def check(rows: dict[str, dict[str, Any]], folder: Path, kind: str) -> None:
    for case, row in rows.items():
        answer = row["targets"][TARGET]
        if case in ("late", "link", "host-link", "large", "folder"):
            assert answer["status"] in ("missing", "invalid"), (case, row)
            assert answer["value"] is None
        else:
            assert answer == {"status": "answered", "value": 2, "reason": None}, (case, row)
    assert rows["late"]["status"] == "timeout"
    assert rows["link"]["targets"][TARGET]["status"] == "invalid"
    assert "link" in rows["link"]["targets"][TARGET]["reason"]
    assert rows["large"]["targets"][TARGET]["status"] == "invalid"
    # What was taken out of all the atoms together is small, and holds no way out of its folder.
    taken = list((folder / "harbor").rglob("*"))
    assert not [path for path in taken if path.is_symlink()]
    assert sum(path.stat().st_size for path in taken if path.is_file()) < 40 << 20
    record = next(folder.glob("*.run.json"))
    flags = json.loads(record.read_text())["integrity"]
    assert "output-cut" in flags
    if kind == "local":
        assert "memory-limit-reached" in flags


def test_in_bubblewrap_nothing_is_gained(tmp_path: Path) -> None:
    rows, folder = attacked(tmp_path, "local", list(ATTACKS))
    check(rows, folder, "local")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["docker", "podman"])
def test_in_containers_nothing_is_gained(tmp_path: Path, kind: str) -> None:
    if shutil.which(kind) is None:
        pytest.skip(f"no {kind}")
    # Their containers have no limit of room for files.
    rows, folder = attacked(tmp_path, kind, [case for case in ATTACKS if case != "disk"])
    check(rows, folder, kind)
