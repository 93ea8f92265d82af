"""Starts the peers' program in its own Python and asks it for times.

Leaves to others: the packages themselves (`peers`). Without a working Python for them every peer is missing,
and that is said; nothing fails.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from timing import Competitor, CompetitorError, Reading

PROGRAM = Path(__file__).with_name("peers.py")
NAMES = ("surface-distance", "monai", "panoptica", "stardist")
# One core for everyone: cases run side by side in processes, so a second thread is another case's core.
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


class Peers:
    """The peers' process. `versions`: those that work; `missing`: why the others do not."""

    def __init__(self, python: Path | None) -> None:
        self.versions: dict[str, str] = {}
        self.missing: dict[str, str] = {}
        self._process: subprocess.Popen[str] | None = None
        if python is None or not python.is_file():
            self.missing = dict.fromkeys(NAMES, "there is no environment for the peers")
            return
        self._process = subprocess.Popen(  # noqa: S603 - the Python that the caller names
            [str(python), str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **_ONE_THREAD},
        )
        try:
            answer = self._ask({"do": "versions"})
        except CompetitorError as failure:
            self.missing = dict.fromkeys(NAMES, str(failure))
            return
        self.versions, self.missing = answer["versions"], answer["missing"]

    def __enter__(self) -> Peers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait()

    def load(
        self,
        folder: Path,
        reference: NDArray[Any],
        prediction: NDArray[Any],
        spacing: Sequence[float],
        *,
        regions: Mapping[str, Sequence[int]] | None,
    ) -> None:
        """Hand over two label maps through files in `folder`."""
        if not self.versions:
            return
        paths = {"reference": folder / "reference.npy", "prediction": folder / "prediction.npy"}
        np.save(paths["reference"], reference)
        np.save(paths["prediction"], prediction)
        request = {name: str(path) for name, path in paths.items()}
        self._ask({"do": "load", **request, "spacing": list(spacing), "regions": regions})

    def competitors(self, names: Sequence[str]) -> dict[str, Competitor]:
        """Those of `names` that work, by name and version."""
        return {
            f"{name} {self.versions[name]}": self._competitor(name) for name in names if name in self.versions
        }

    def _competitor(self, name: str) -> Competitor:
        def run() -> Reading:
            answer = self._ask({"do": "time", "peer": name})
            return Reading(answer["wall_sec"], answer["cpu_sec"], answer["values"])

        return run

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise CompetitorError("there is no environment for the peers")
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError as failure:
            raise CompetitorError(f"the peers' process ended: {failure}") from failure
        if not line:
            raise CompetitorError(f"the peers' process ended with status {process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise CompetitorError(answer["error"])
        return answer
