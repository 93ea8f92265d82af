"""What an environment really holds, found by trying from within, as the agent's user.

`script()` runs inside (Python 3.11, standard library alone) and prints JSON; `held()` says which limits that
shows. A closed network is tried, not read from settings: connections to a public and a private address, a
name to look up, and the interfaces that are there.

Leaves to others: what is refused where something does not hold (`medomni.bench`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

# An address that nobody has (RFC 5737), one that clouds give out metadata at, and a usual gateway.
_SCRIPT = """
import json, os, socket
reached = []
for host, port in (("192.0.2.1", 80), ("169.254.169.254", 80), ("172.17.0.1", 22), ("1.1.1.1", 53)):
    try:
        socket.create_connection((host, port), timeout=0.5).close()
        reached.append(host)
    except TimeoutError:
        reached.append(host)
    except OSError as failure:
        if failure.errno == 111:
            reached.append(host)
with open("/proc/net/dev") as file:
    interfaces = [line.split(":")[0].strip() for line in file if ":" in line]
with open("/proc/self/status") as file:
    status = dict(line.rstrip("\\n").split(":\\t", 1) for line in file if ":\\t" in line)
def writable(path):
    try:
        with open(path, "a"):
            return True
    except OSError:
        return False
print(json.dumps({
    "reached": reached, "interfaces": interfaces, "uid": os.getuid(),
    "capabilities": status["CapEff"], "filter": status.get("Seccomp", "0"),
    "new_privileges": status.get("NoNewPrivs", "0"),
    "processes": sum(name.isdigit() for name in os.listdir("/proc")),
    "data_writable": writable("/data/.probe"),
    "tests": os.path.exists("/tests") and bool(os.listdir("/tests")),
}))
"""
_MOST_PROCESSES = 64


def command() -> str:
    """The command that prints what was found."""
    return f"python3 -I -c '{_SCRIPT}'"


def parse(text: str) -> dict[str, Any] | None:
    """What the script printed; None where it printed something else."""
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            try:
                found = json.loads(line)
            except ValueError:
                return None
            return found if isinstance(found, dict) else None
    return None


def held(found: Mapping[str, Any], *, known: Mapping[str, bool]) -> dict[str, bool]:
    """Limit to whether it holds.

    Args:
        found: What the script printed.
        known: Limits that the environment itself knows of.
    """
    return {
        "network": not found["reached"] and set(found["interfaces"]) <= {"lo"},
        "processes": found["processes"] <= _MOST_PROCESSES,
        "user": found["uid"] != 0 and int(found["capabilities"], 16) == 0,
        "read_only_data": not found["data_writable"],
        "system_calls": found["filter"] == "2",
        "new_privileges": found["new_privileges"] == "1",
        **known,
    }
