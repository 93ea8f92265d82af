"""Which implementation runs, and what people are told when kernels are compiled or do not work."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from medomni.core.errors import MissingExtraError
from medotter_bench.errors import SpecError
from medotter_bench.metrics import backend, fast

needs_numba = pytest.mark.skipif(not fast.available(), reason="numba is not installed here")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has loaded nothing yet and pretends to load."""
    monkeypatch.setattr(backend, "_process", backend._Process())
    monkeypatch.setattr(fast, "_ready", False)
    monkeypatch.delenv(backend.VARIABLE, raising=False)

    def pretend(say: Any) -> None:
        fast._ready = True

    monkeypatch.setattr(fast, "available", lambda: True)
    monkeypatch.setattr(fast, "compile_all", pretend)


def test_little_work_does_not_load_kernels() -> None:
    assert not backend.uses_kernels(backend.WORTH_LOADING - 1)
    assert backend.uses_kernels(1)
    assert backend.uses_kernels(1)


def test_the_environment_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(backend.VARIABLE, "reference")
    assert not backend.uses_kernels(backend.WORTH_LOADING)
    monkeypatch.setenv(backend.VARIABLE, "fast")
    assert backend.uses_kernels(1)
    monkeypatch.setenv(backend.VARIABLE, "gpu")
    with pytest.raises(SpecError) as refused:
        backend.uses_kernels(1)
    assert refused.value.code == "kernels-choice"


def test_without_numba_the_reference_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "available", lambda: False)
    assert not backend.uses_kernels(backend.WORTH_LOADING)
    assert not backend.prepare()
    monkeypatch.setenv(backend.VARIABLE, "fast")
    with pytest.raises(MissingExtraError):
        backend.uses_kernels(1)


@pytest.mark.parametrize("fault", [ImportError("wrong NumPy"), RuntimeError("no folder for the cache")])
def test_kernels_that_do_not_work_are_named_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fault: Exception
) -> None:
    def fail(say: Any) -> None:
        raise fault

    monkeypatch.setattr(fast, "compile_all", fail)
    assert not backend.uses_kernels(backend.WORTH_LOADING)
    assert not backend.uses_kernels(backend.WORTH_LOADING)
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and str(fault) in told


def test_numba_that_is_switched_off_is_not_available() -> None:
    code = "from medotter_bench.metrics import fast; print(fast.available())"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert found.stdout.strip() == "False"


def test_importing_the_metrics_does_not_import_numba() -> None:
    code = "import sys, medotter_bench.adapters; print('numba' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout.strip() == "False"


@needs_numba
def test_one_process_compiles_and_the_next_ones_do_not_wait(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from medotter_bench.metrics.fast import once

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with once.one_compiler([once]), contextlib.suppress(ImportError):
        import fcntl

        (lock,) = tmp_path.iterdir()
        with lock.open("rb") as second, pytest.raises(BlockingIOError):
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert lock.read_bytes() == b"done"
    with once.one_compiler([once]), once.one_compiler([once]):
        pass
    assert list(tmp_path.iterdir()) == [lock]


@needs_numba
def test_a_folder_that_takes_no_lock_file_only_costs_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from medotter_bench.metrics.fast import once

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    with once.one_compiler([once]):
        pass


@needs_numba
def test_compiling_is_announced_and_loading_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    from medotter_bench.metrics.fast import compiling

    class Dispatcher:
        def __init__(self, misses: int) -> None:
            self.overloads: dict[Any, Any] = {}
            self.stats = type("Stats", (), {"cache_misses": misses})()

        def compile(self, signature: Any) -> None:
            self.overloads[signature] = None

        def disable_compile(self) -> None:
            self.closed = True

    for misses, lines in ((0, []), (1, ["told"])):
        told: list[str] = []
        declared = [(Dispatcher(misses), ("a", "b")), (Dispatcher(misses), ("a",))]
        monkeypatch.setattr(compiling, "_DECLARED", declared)
        compiling.load(lambda told=told: told.append("told"))  # type: ignore[misc]
        compiling.load(lambda told=told: told.append("told"))  # type: ignore[misc]
        assert told == lines
