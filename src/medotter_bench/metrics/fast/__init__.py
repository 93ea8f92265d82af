"""The same metrics from compiled kernels: equal to the reference implementation in every bit, and faster.

Importing this package loads nothing: numba is imported by `compile_all`, and by the functions below, which
call it. Leaves to others: the definitions (`metrics.surface`, `metrics.instances`), and which of the two
implementations runs (`metrics.backend`).
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from medotter_bench.label_runs import LabelRuns, RunWriter
    from medotter_bench.metrics.fast.labels import Counts, LabelScan
    from medotter_bench.metrics.instances import Contingency

__all__ = [
    "available",
    "compile_all",
    "contingency",
    "disconnected_ids",
    "id_counts",
    "label_scan",
    "ready",
    "run_writer",
]

_ready = False


def available() -> bool:
    """Whether kernels can run here: numba is installed and not switched off, and words are little-endian."""
    switched_off = os.environ.get("NUMBA_DISABLE_JIT", "0") not in {"", "0"}
    return not switched_off and sys.byteorder == "little" and importlib.util.find_spec("numba") is not None


def ready() -> bool:
    """Whether this process has loaded the kernels."""
    return _ready


def compile_all(say: Callable[[str], None]) -> None:
    """Load every kernel from numba's cache, or compile it into the cache.

    Args:
        say: Told in one line if a compiler has to run.

    Raises:
        ImportError: numba is absent, or does not work with the installed NumPy.
        RuntimeError: numba finds no folder where it may keep compiled code.
    """
    global _ready  # noqa: PLW0603 - one state of the process, as the loaded machine code is
    if _ready:
        return
    from medotter_bench.metrics.fast import (
        compiling,
        distance_kernels,
        instance_kernels,
        label_kernels,
        once,
        surface_kernels,
        words,
    )

    modules = (label_kernels, surface_kernels, distance_kernels, instance_kernels)
    with once.one_compiler([compiling, words, *modules]):
        compiling.load(lambda: say("compiling the kernels once, about 20 s"))
    _ready = True


def run_writer(shape: tuple[int, ...], dtype: np.dtype[Any]) -> RunWriter | None:
    """See `runs.writer`."""
    compile_all(_silent)
    from medotter_bench.metrics.fast import runs

    return runs.writer(shape, dtype)


def label_scan(
    reference: npt.NDArray[Any] | LabelRuns, prediction: npt.NDArray[Any] | LabelRuns
) -> LabelScan | None:
    """See `labels.label_scan`."""
    compile_all(_silent)
    from medotter_bench.metrics.fast import labels

    return labels.label_scan(reference, prediction)


def id_counts(label_map: npt.NDArray[Any] | LabelRuns) -> tuple[Counts, Counts] | None:
    """See `labels.id_counts`."""
    compile_all(_silent)
    from medotter_bench.metrics.fast import labels

    return labels.id_counts(label_map)


def contingency(reference: npt.NDArray[Any], prediction: npt.NDArray[Any]) -> Contingency:
    """See `objects.contingency`."""
    compile_all(_silent)
    from medotter_bench.metrics.fast import objects

    return objects.contingency(reference, prediction)


def disconnected_ids(label_map: npt.NDArray[Any]) -> int:
    """See `objects.disconnected_ids`."""
    compile_all(_silent)
    from medotter_bench.metrics.fast import objects

    return objects.disconnected_ids(label_map)


def _silent(line: str) -> None:
    """Nothing."""
