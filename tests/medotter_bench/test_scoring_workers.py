"""How many processes score, and what they load before the first case."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from importlib import import_module
from typing import Any

import pytest

from medotter_bench import parallel
from medotter_bench.metrics import backend, fast


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, tuple[str, ...]]]:
    """What would have been started, for cases of 96 x 96 x 96 voxels."""
    calls: list[tuple[int, tuple[str, ...]]] = []

    def local(size: int, *, preload: tuple[str, ...]) -> Any:
        calls.append((size, preload))
        return nullcontext()

    monkeypatch.setattr(parallel.execution, "local", local)
    monkeypatch.setattr(parallel, "_largest", lambda cases: 96**3)
    monkeypatch.setattr(parallel, "worker_count", lambda jobs, **given: jobs)
    monkeypatch.delenv(backend.VARIABLE, raising=False)
    return calls


@pytest.mark.parametrize(
    ("jobs", "n_cases", "choice", "loads"),
    [
        (2, 128, "auto", True),
        (2, 8, "auto", False),
        (2, 8, "fast", True),
        (2, 128, "reference", False),
        (1, 128, "auto", False),
    ],
)
def test_kernels_are_loaded_before_workers_are_forked_where_that_pays(
    monkeypatch: pytest.MonkeyPatch, started: Any, jobs: int, n_cases: int, choice: str, loads: bool
) -> None:
    monkeypatch.setenv(backend.VARIABLE, choice)
    cases: Any = [None] * n_cases
    parallel.scoring_workers(jobs, cases)
    ((size, preload),) = started
    assert size == jobs
    assert (parallel.KERNELS in preload) == loads
    assert set(parallel.PRELOAD) <= set(preload)


@pytest.mark.parametrize("available", [True, False])
def test_importing_the_module_loads_the_kernels_if_they_work(
    monkeypatch: pytest.MonkeyPatch, available: bool
) -> None:
    monkeypatch.setattr(backend, "_process", backend._Process())
    monkeypatch.setattr(fast, "_ready", False)
    monkeypatch.setattr(fast, "available", lambda: available)
    monkeypatch.setattr(fast, "compile_all", lambda say: monkeypatch.setattr(fast, "_ready", True))
    monkeypatch.delitem(sys.modules, parallel.KERNELS, raising=False)
    import_module(parallel.KERNELS)
    assert fast.ready() == available
