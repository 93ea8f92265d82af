"""Many items: none is lost for another's fault, few are out at once, and nothing is left running."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from medomni.core import _workers, cores, execution
from medomni.core.errors import DocumentError, ExecutionError, MissingExtraError, SchedulerError
from medomni.core.execution import Failure, given, growing, here, local, run_each


def double(number: int) -> int:
    if number == 13:
        raise KeyError("unlucky")
    if number == 14:
        raise DocumentError("bad document", where="here", hint="mend it", code="document-bad")
    if number == 15:
        raise MemoryError
    if number == 16:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def die_once(mark: str) -> str:
    path = Path(mark)
    if path.suffix == ".die" and not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return path.stem


def run(numbers: list[int], workers: execution.Workers) -> dict[str, int | Failure]:
    pairs = list(run_each(double, [(str(n), n) for n in numbers], workers=workers))
    assert len({name for name, _ in pairs}) == len(pairs)
    return dict(pairs)


def children() -> list[int]:
    return [process.pid for process in multiprocessing.active_children() if process.pid]


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def gone(pids: list[int], seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not any(alive(pid) for pid in pids):
            return True
        time.sleep(0.05)
    return False


def test_every_item_has_one_outcome_here_and_in_threads():
    numbers = list(range(13))
    expected = {str(n): 2 * n for n in numbers}
    assert run(numbers, here()) == expected
    with ThreadPoolExecutor(3) as executor:
        assert run(numbers, given(executor)) == expected
    assert run([], here()) == {}


def test_an_item_that_fails_costs_nobody_else_a_result():
    outcomes = run([1, 13, 14, 15, 2], here())
    assert (outcomes["1"], outcomes["2"]) == (2, 4)
    fault, bad, memory = (outcomes[name] for name in ("13", "14", "15"))
    assert isinstance(fault, Failure)
    assert isinstance(bad, Failure)
    assert isinstance(memory, Failure)
    assert (fault.code, fault.what, fault.error) == ("internal", "KeyError: 'unlucky'", None)
    assert fault.where.startswith("test_core_execution.py:")
    assert (bad.code, bad.what, bad.where, bad.hint) == ("document-bad", "bad document", "here", "mend it")
    assert isinstance(bad.error, DocumentError)
    assert memory.code == "worker-memory"


def interrupted(_: int) -> int:
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt as interrupt:
        raise SystemError("returned a result with an exception set") from interrupt


def test_ctrl_c_that_compiled_code_turned_into_an_error_still_interrupts():
    with pytest.raises(KeyboardInterrupt):
        list(run_each(interrupted, [("1", 1), ("2", 2)], workers=here()))


def test_a_killed_worker_costs_only_the_item_that_kills_it():
    with local(2) as workers:
        outcomes = run([*range(10), 16, *range(20, 26), 13], workers)
        assert workers.size == 2
        running = children()
    death = outcomes.pop("16")
    assert isinstance(death, Failure)
    assert death.code == "worker-died"
    fault = outcomes.pop("13")
    assert isinstance(fault, Failure)
    assert outcomes == {str(n): 2 * n for n in [*range(10), *range(20, 26)]}
    assert gone(running)


def test_workers_that_die_only_together_go_on_with_half_of_them(tmp_path):
    names = [str(tmp_path / f"{n}{'.die' if n == 3 else '.txt'}") for n in range(8)]
    with local(2) as workers:
        outcomes = dict(run_each(die_once, [(name, name) for name in names], workers=workers))
        assert workers.size == 1
    assert sorted(outcomes.values()) == [str(n) for n in range(8)]


def test_at_most_the_window_is_out_at_once():
    class Counting(ThreadPoolExecutor):
        submitted = 0

        def submit(self, fn, /, *args, **kwargs):
            self.submitted += 1
            return super().submit(fn, *args, **kwargs)

    with Counting(2) as executor:
        workers = given(executor)
        assert workers.window == 4
        for done, _ in enumerate(run_each(double, [(str(n), n) for n in range(20, 60)], workers=workers)):
            assert executor.submitted <= done + workers.window
    assert executor.submitted == 40


def slow_place(number: int) -> tuple[int, int]:
    time.sleep(0.03 if number else 0.3)
    return number, os.getpid()


def grown(count: int, start_sec: float) -> list[tuple[int, int]]:
    """Number and process of each item; the first is slow, as one that imports a lot."""
    with growing(2, items=count, start_sec=start_sec) as workers:
        found = run_each(slow_place, [(str(n), n) for n in range(count)], workers=workers)
        outcomes = [outcome for _, outcome in found]
    assert not any(isinstance(outcome, Failure) for outcome in outcomes)
    assert gone(children())
    return sorted(outcome for outcome in outcomes if isinstance(outcome, tuple))


def test_few_items_stay_in_this_process():
    assert grown(10, start_sec=60.0) == [(number, os.getpid()) for number in range(10)]


@pytest.mark.parametrize(
    ("items", "each_sec", "last_here"),
    [
        (10, 0.3, 9),  # the rest is too little to start processes for
        (100, 0.3, 4),  # the first time that more than a second has passed since the first item
        (100, 0.03, 99),  # 2 s in all, of which half would be spared
        (100, 5.0, 1),
    ],
)
def test_processes_start_when_the_rest_takes_much_longer_than_starting(
    monkeypatch, items, each_sec, last_here
):
    clock = [0.0]
    monkeypatch.setattr(_workers.time, "monotonic", lambda: clock[0])
    with here().executor as first:
        workers = _workers.GrowingWorkers(first, 2, items=items, start_sec=1.0, preload=())
        is_here = []
        for _ in range(items):
            workers.about_to_submit()
            is_here.append(workers.executor is first)
            clock[0] += each_sec
        workers.close()
    assert is_here == [True] * (last_here + 1) + [False] * (items - last_here - 1)
    assert workers.window == (1 if all(is_here) else 4)


def test_items_that_take_longer_than_they_looked_go_over_to_processes():
    found = grown(40, start_sec=0.1)
    assert [number for number, _ in found] == list(range(40))
    places = [place for _, place in found]
    own = places.count(os.getpid())
    assert 2 <= own < 40
    assert places[:own] == [os.getpid()] * own


def test_growing_to_one_process_stays_here():
    with growing(1, items=3, start_sec=0.0) as workers:
        assert run([1, 2, 13], workers).keys() == {"1", "2", "13"}
        assert workers.size == 1


def test_a_killed_worker_after_growing_costs_only_its_item():
    with growing(2, items=30, start_sec=0.0) as workers:
        found = dict(run_each(slow_or_deadly, [(str(n), n) for n in range(30)], workers=workers))
    failed = {name for name, outcome in found.items() if isinstance(outcome, Failure)}
    assert failed == {"25"}
    assert len(found) == 30


def slow_or_deadly(number: int) -> int:
    time.sleep(0.02)
    if number == 25:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_leaving_early_by_an_error_leaves_no_process():
    seen: list[int] = []
    with pytest.raises(KeyboardInterrupt), local(2) as workers:
        for _ in run_each(time.sleep, [(str(n), 0.01 if n == 0 else 60) for n in range(4)], workers=workers):
            seen = children()
            raise KeyboardInterrupt
    assert seen
    assert gone(seen)


SCRIPT = """
import multiprocessing, os, sys, time
from medomni.core.execution import local, run_each
if __name__ == "__main__":
    with local(2) as workers:
        for _ in run_each(time.sleep, [(str(n), 0.01 if n < 2 else 60) for n in range(6)], workers=workers):
            print(*[p.pid for p in multiprocessing.active_children()], flush=True)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_end_with_their_parent_however_it_ends(tmp_path, how):
    script = tmp_path / "run.py"
    script.write_text(SCRIPT)
    parent = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert parent.stdout is not None
        pids = [int(word) for word in parent.stdout.readline().split()]
        assert pids
        parent.send_signal(how)
        parent.wait(20)
        assert gone(pids)
    finally:
        parent.kill()
        parent.wait()
        assert parent.stdout is not None
        parent.stdout.close()


def test_a_script_without_a_main_guard_gets_an_error_instead_of_a_failure_per_item(tmp_path):
    script = tmp_path / "bare.py"
    script.write_text(
        "from medomni.core.execution import local, run_each\n"
        "with local(2) as workers:\n    list(run_each(abs, [('1', 1), ('2', 2)], workers=workers))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "workers-unusable" in done.stderr
    assert "__main__" in done.stderr


class Ending(Executor):
    """Gives out futures that end as they are told."""

    def __init__(self, error: BaseException, *, at: str = "result") -> None:
        self.error, self.at = error, at

    def submit(self, fn, /, *args, **kwargs):
        if self.at == "submit":
            raise self.error
        future: Future = Future()
        if isinstance(self.error, CancelledError):
            future.cancel()
            future.set_running_or_notify_cancel()
        else:
            future.set_exception(self.error)
        return future


@pytest.mark.parametrize(
    ("executor", "code"),
    [
        (Ending(BrokenExecutor("gone")), "worker-died"),
        (Ending(BrokenExecutor("gone"), at="submit"), "worker-died"),
        (Ending(CancelledError()), "executor-lost"),
        (Ending(RuntimeError("closed"), at="submit"), "executor-lost"),
    ],
)
def test_an_executor_that_ends_is_an_error_and_no_result(executor, code):
    with pytest.raises(ExecutionError) as caught:
        run([1, 2], given(executor))
    assert caught.value.code == code


def test_a_death_that_the_cluster_has_tried_elsewhere_is_that_items_failure():
    class KilledError(Exception):
        pass

    workers = execution.Workers(Ending(KilledError("x")), 2, deaths=(KilledError,))
    outcome = run([1], workers)["1"]
    assert isinstance(outcome, Failure)
    assert outcome.code == "worker-died"


def test_without_distributed_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError) as caught, execution.dask("tcp://127.0.0.1:1"):
        pass
    assert "medomni[dask]" in caught.value.hint


class FakeClient:
    def __init__(self, threads: int) -> None:
        self.threads, self.closed = threads, False

    def nthreads(self) -> dict[str, int]:
        return {"worker": self.threads} if self.threads else {}

    def get_executor(self, *, pure: bool) -> Executor:
        assert pure is False
        return ThreadPoolExecutor(self.threads)

    def close(self) -> None:
        self.closed = True


class FakeDistributed:
    KilledWorker = ZeroDivisionError

    def __init__(self, client: FakeClient | None) -> None:
        self.client = client

    def Client(self, address: str, **_options: object) -> FakeClient:
        if self.client is None:
            raise OSError("timed out")
        return self.client


@pytest.mark.parametrize(("threads", "code"), [(None, "scheduler-unreachable"), (0, "scheduler-empty")])
def test_a_cluster_that_cannot_be_used_is_an_error(monkeypatch, threads, code):
    client = None if threads is None else FakeClient(threads)
    monkeypatch.setitem(sys.modules, "distributed", FakeDistributed(client))
    with pytest.raises(SchedulerError) as caught, execution.dask("tcp://nowhere:1"):
        pass
    assert caught.value.code == code
    assert client is None or client.closed


def test_a_cluster_runs_items_and_its_client_is_closed(monkeypatch):
    client = FakeClient(2)
    monkeypatch.setitem(sys.modules, "distributed", FakeDistributed(client))
    with execution.dask("tcp://there:1") as workers:
        assert workers.size == 2
        assert run([1, 2], workers) == {"1": 2, "2": 4}
    assert client.closed


def test_workers_are_as_many_as_asked_as_items_and_as_memory_holds(monkeypatch):
    monkeypatch.setattr(cores, "available_cores", lambda: 8)
    monkeypatch.setattr(cores, "available_memory", lambda: 1000)
    assert cores.worker_count(None, items=100) == 8
    assert cores.worker_count(3, items=100) == 3
    assert cores.worker_count(None, items=2) == 2
    assert cores.worker_count(None, items=0) == 1
    assert cores.worker_count(None, items=100, bytes_per_item=300) == 3
    assert cores.worker_count(5, items=100, bytes_per_item=5000) == 1


def test_memory_is_what_is_free_within_the_limit_of_a_container(tmp_path, monkeypatch):
    meminfo = tmp_path / "meminfo"
    monkeypatch.setattr(cores, "_MEMINFO", meminfo)
    monkeypatch.setattr(cores, "_CGROUP", tmp_path)
    assert cores.available_memory() == 4 << 30
    meminfo.write_text("MemTotal: 900 kB\nMemAvailable: 500 kB\n")
    assert cores.available_memory() == 500 * 1024
    (tmp_path / "memory.stat").write_text("anon 5\ninactive_file 2000\n")
    (tmp_path / "memory.current").write_text("5000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert cores.available_memory() == 500 * 1024
    (tmp_path / "memory.max").write_text("10000\n")
    assert cores.available_memory() == 7000
    meminfo.write_text("MemTotal: 900 kB\n")
    assert cores.available_memory() == 7000
    assert cores.available_cores() >= 1
