"""Peak memory of one case, in a process of its own.

`python memory.py CASE SMALL_CASE REGIONS` scores a small case first, so that packages and kernels are loaded;
what the process holds then is the baseline. Then it scores the case and prints both numbers of bytes as JSON.
Leaves to others: the files (`workloads`). Linux only: other systems give None.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peak(
    case: Path, small_case: Path, regions: Mapping[str, Sequence[int]], *, kernels: str = "auto"
) -> dict[str, int] | None:
    """`baseline` and `peak` resident bytes of scoring `case`; None where the system does not tell."""
    if not _STATUS.exists():
        return None
    command = [sys.executable, __file__, str(case), str(small_case), json.dumps(regions)]
    environment = {**os.environ, "MEDOTTER_KERNELS": kernels}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)  # noqa: S603
    found: dict[str, int] = json.loads(done.stdout)
    return found


def resident(field: str = "VmRSS") -> int:
    """Resident bytes of this process: now (`VmRSS`), or their peak (`VmHWM`)."""
    lines = dict(line.split(":", 1) for line in _STATUS.read_text(encoding="ascii").splitlines())
    return int(lines[field].split()[0]) * 1024


def forget_peak() -> int:
    """Let the peak start anew from what is resident now, which is returned."""
    _RESET.write_text("5", encoding="ascii")
    return resident()


def main() -> int:
    """Score and print."""
    import ours

    from medotter_bench.metrics import backend

    case, small_case, regions = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
    spec = ours.semantic_spec(regions)
    if os.environ["MEDOTTER_KERNELS"] != "reference":
        backend.prepare()
    ours.on_files(small_case, spec=spec)()
    baseline = forget_peak()
    ours.on_files(case, spec=spec)()
    sys.stdout.write(json.dumps({"baseline": baseline, "peak": resident("VmHWM")}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
