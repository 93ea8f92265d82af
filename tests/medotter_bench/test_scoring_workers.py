"""How many processes score, and what they load before the first case."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from importlib import import_module
from typing import Any

import pytest

from medotter_bench import parallel
from medotter_bench.errors import SpecError
from medotter_bench.metrics import backend, fast

Started = list[tuple[str, int, tuple[str, ...]]]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    """What would have been started, for cases of 96 x 96 x 96 voxels."""
    calls: Started = []

    def local(size: int, *, preload: tuple[str, ...]) -> Any:
        calls.append(("workers", size, preload))
        return nullcontext()

    def growing(size: int, *, items: int, start_sec: float, preload: tuple[str, ...]) -> Any:
        calls.append((f"here, {items} cases, {start_sec} s", size, preload))
        return nullcontext()

    monkeypatch.setattr(parallel.execution, "local", local)
    monkeypatch.setattr(parallel.execution, "growing", growing)
    monkeypatch.setattr(parallel, "_voxels", lambda cases: [96**3] * len(cases))
    monkeypatch.setattr(parallel, "worker_count", lambda jobs, **given: jobs or 2)
    monkeypatch.setattr(fast, "available", lambda: True)
    monkeypatch.setattr(backend, "prepare", lambda: calls.append(("kernels", 0, ())) or True)
    monkeypatch.delenv(backend.VARIABLE, raising=False)
    monkeypatch.delenv(parallel.VARIABLE, raising=False)
    return calls


def cases(count: int) -> Any:
    return [None] * count


@pytest.mark.parametrize(
    ("jobs", "n_cases", "choice", "loads"),
    [(2, 1000, "auto", True), (8, 100, "reference", False), (30, 600, "fast", True)],
)
def test_much_work_goes_to_workers_that_share_what_was_loaded_once(
    monkeypatch: pytest.MonkeyPatch, started: Started, jobs: int, n_cases: int, choice: str, loads: bool
) -> None:
    monkeypatch.setenv(backend.VARIABLE, choice)
    parallel.scoring_workers(jobs, cases(n_cases))
    ((how, size, preload),) = started
    assert (how, size) == ("workers", jobs)
    assert (parallel.KERNELS in preload) == loads
    assert set(parallel.REFERENCE).issubset(preload) != loads
    assert set(parallel.PRELOAD) <= set(preload)


def test_small_cases_begin_here_and_those_who_asked_for_workers_are_told(
    started: Started, capsys: pytest.CaptureFixture[str]
) -> None:
    parallel.scoring_workers(2, cases(8))
    parallel.scoring_workers(None, cases(8))
    assert [entry[:2] for entry in started] == [("here, 8 cases, 1.0 s", 2)] * 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "8 small cases" in told


def test_kernels_are_loaded_before_the_first_case_where_all_cases_want_them(started: Started) -> None:
    parallel.scoring_workers(2, cases(128))
    parallel.scoring_workers(1, cases(128))
    parallel.scoring_workers(1, cases(8))
    assert [entry[0] for entry in started] == [
        "kernels",
        "here, 128 cases, 3.5 s",
        "kernels",
        "here, 128 cases, 3.5 s",
        "here, 8 cases, 1.0 s",
    ]


def test_the_environment_may_ask_for_workers_at_once(
    monkeypatch: pytest.MonkeyPatch, started: Started
) -> None:
    monkeypatch.setenv(parallel.VARIABLE, "always")
    parallel.scoring_workers(2, cases(2))
    assert started[0][:2] == ("workers", 2)
    monkeypatch.setenv(parallel.VARIABLE, "never")
    with pytest.raises(SpecError) as refused:
        parallel.scoring_workers(2, cases(2))
    assert refused.value.code == "workers-choice"


def test_no_case_at_all_needs_no_worker(started: Started) -> None:
    parallel.scoring_workers(1, [])
    assert started[0][1] == 1


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
