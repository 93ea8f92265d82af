"""Starts a sandbox: joins its cgroup, gives up root, takes on limits, then becomes bubblewrap. Never
imported.

`python3 -I -S starting.py SETTINGS COMMAND…` with SETTINGS as JSON: `cgroup` (files to join), `uid` (null:
stay), `limits` (name of a limit to its value), `cpus`, `keep` (descriptors that the command needs).

Leaves to others: namespaces (bubblewrap), what the limits are (`sandbox`).
"""

import ctypes
import json
import os
import resource
import signal
import sys
from pathlib import Path

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38


def main() -> None:
    """Become the command."""
    settings, command = json.loads(sys.argv[1]), sys.argv[2:]
    for file in settings["cgroup"]:
        Path(file).write_text("0", encoding="ascii")
    if settings["cpus"] is not None:
        allowed = sorted(os.sched_getaffinity(0))
        first = os.getpid() % len(allowed)
        chosen = (allowed + allowed)[first : first + settings["cpus"]]
        os.sched_setaffinity(0, chosen)
    if settings["uid"] is not None:
        os.setgroups([])
        os.setresgid(settings["uid"], settings["uid"], settings["uid"])
        os.setresuid(settings["uid"], settings["uid"], settings["uid"])
    for name, value in settings["limits"].items():
        kind = getattr(resource, f"RLIMIT_{name.upper()}")
        _, hard = resource.getrlimit(kind)
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (most, most))
    libc = ctypes.CDLL(None, use_errno=True)
    # After the change of user, which would undo it: whoever started this must not leave it behind.
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        sys.exit("new privileges could not be ruled out")
    for descriptor in settings["keep"]:
        os.set_inheritable(descriptor, True)
    os.umask(0o022)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
