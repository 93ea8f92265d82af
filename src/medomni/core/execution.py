"""Runs many independent items, here, in processes or on a Dask cluster, and loses none for another's fault.

Everything is a `concurrent.futures.Executor`; a `Workers` adds what the protocol lacks: how many items it
takes at once, and how to go on when a worker process was killed. Leaves to others: what an item is,
remembering the finished ones (`journal`), showing how far it is (`progress`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from medomni.core._workers import GrowingWorkers, LocalWorkers, Workers
from medomni.core.errors import ExecutionError, MedomniError, MissingExtraError, SchedulerError

__all__ = ["Failure", "Workers", "dask", "given", "growing", "here", "local", "run_each"]

WORKER_DIED = "worker-died"
MEMORY = "worker-memory"
INTERNAL = "internal"
_SCHEMES = ("tcp", "tls", "ws", "wss", "ucx", "ucxx")


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an item has no result. Nobody knows it to be the item's own fault.

    Attributes:
        code: The code of a `MedomniError`, `worker-died`, `worker-memory`, or `internal` for anything else.
        what: One sentence.
        error: The `MedomniError` that the work raised, if it was one.
    """

    code: str
    what: str
    where: str = ""
    hint: str = ""
    error: MedomniError | None = None


class _Here(Executor):
    """Runs an item when it is submitted, in this process."""

    def submit[**P, R](self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        future: Future[R] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def here() -> Workers:
    """No workers: one item after the other, in this process."""
    return Workers(_Here(), 1, window=1)


def given(executor: Executor) -> Workers:
    """Somebody's executor. It is not closed, and if it breaks nobody can mend it."""
    size = getattr(executor, "_max_workers", None)
    return Workers(executor, size if isinstance(size, int) and size > 0 else 8)


@contextmanager
def local(size: int, *, preload: Iterable[str] = ()) -> Iterator[Workers]:
    """Worker processes on this machine; for one, `here`. No process is left, however the block ends.

    Args:
        size: How many, from `cores.worker_count`.
        preload: Modules that every worker needs, imported once.
    """
    if size == 1:
        yield here()
        return
    with _ended(LocalWorkers(size, preload=tuple(preload))) as workers:
        yield workers


@contextmanager
def growing(size: int, *, items: int, start_sec: float, preload: Iterable[str] = ()) -> Iterator[Workers]:
    """One item after the other in this process, and `local` for the rest if that will take long.

    Args:
        size: How many processes there may be.
        items: How many items there are.
        start_sec: What starting processes takes; they start if they will spare twice that.
        preload: As for `local`.
    """
    if size == 1:
        yield here()
        return
    workers = GrowingWorkers(_Here(), size, items=items, start_sec=start_sec, preload=tuple(preload))
    with _ended(workers):
        yield workers


@contextmanager
def _ended(workers: LocalWorkers) -> Iterator[Workers]:
    try:
        yield workers
    except BaseException:
        workers.kill()
        raise
    workers.close()


@contextmanager
def dask(address: str, *, timeout_sec: float = 15.0) -> Iterator[Workers]:
    """A running Dask cluster. It must see the same files under the same paths, with the same packages.

    Args:
        address: Of the scheduler, such as `tcp://host:8786`.
        timeout_sec: How long to wait for its answer.

    Raises:
        MissingExtraError: `distributed` is not installed.
        SchedulerError: `scheduler-unreachable`, or `scheduler-empty` where it has no worker.
    """
    # By name, so that no type checker and no import of this module needs the package.
    from importlib import import_module

    try:
        distributed: Any = import_module("distributed")
    except ImportError as missing:
        raise MissingExtraError.for_extra("dask", "distributed", "running on a Dask cluster") from missing
    client = _client(distributed, address, timeout_sec)
    try:
        size = _threads(client, address)
        # Not pure: two runs of the same item are two runs.
        executor = client.get_executor(pure=False)
        try:
            yield Workers(executor, size, deaths=(distributed.KilledWorker,))
        finally:
            executor.shutdown(wait=False)
    finally:
        client.close()


def _client(distributed: Any, address: str, timeout_sec: float) -> Any:
    # A client that fails for a scheme it does not know prints a traceback when it is collected.
    known = "://" not in address or address.partition("://")[0] in _SCHEMES
    try:
        if not known:
            raise ValueError("not the address of a Dask scheduler")
        return distributed.Client(address, timeout=timeout_sec, set_as_default=False)
    except (OSError, ValueError, TypeError) as refused:
        raise SchedulerError(
            f"no Dask scheduler answers at {address!r}",
            where=address,
            hint="give the address that the scheduler printed when it started, such as tcp://host:8786",
        ) from refused


def _threads(client: Any, address: str) -> int:
    size = sum(client.nthreads().values())
    if size == 0:
        raise SchedulerError(
            "the Dask scheduler has no workers",
            where=address,
            hint="start some with `dask worker ADDRESS`",
            code="scheduler-empty",
        )
    return int(size)


def run_each[J, R](
    work: Callable[[J], R], items: Iterable[tuple[str, J]], *, workers: Workers
) -> Iterator[tuple[str, R | Failure]]:
    """Run `work` on every item and give the outcomes as they come, each with the item's name.

    At most `workers.window` items are out at once, so that memory does not grow with their number. If a local
    worker is killed, the items that were out are run again, each alone; one whose worker dies again fails as
    `worker-died`, and all others go on. If none dies alone, they were too many at once, and half as many
    workers go on.

    Args:
        work: A function of a module, since processes import it.
        items: Name and item.
        workers: Where to.

    Raises:
        ExecutionError: `executor-lost`: the executor ended with items in it. `worker-died`: it broke and
            cannot be mended. `workers-unusable`: no worker process runs at all.
    """
    queue = deque(items)
    running: dict[Future[R | Failure], tuple[str, J]] = {}
    try:
        while queue or running:
            intact = _submit(work, queue, running, workers)
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            suspects: list[tuple[str, J]] = []
            yield from _collect(done, running, suspects, workers)
            if suspects or not intact:
                # What is still out ends too: an executor breaks as a whole.
                yield from _collect(wait(running).done, running, suspects, workers)
                yield from _alone(work, suspects, workers)
    finally:
        for future in running:
            future.cancel()


def _submit[J, R](
    work: Callable[[J], R],
    queue: deque[tuple[str, J]],
    running: dict[Future[R | Failure], tuple[str, J]],
    workers: Workers,
) -> bool:
    """Send items until the window is full; False if the executor is broken."""
    while queue and len(running) < workers.window:
        workers.about_to_submit()
        try:
            future = workers.executor.submit(_attempt, work, queue[0][1])
        except BrokenExecutor:
            return False
        except (RuntimeError, OSError) as ended:
            raise _lost(queue[0][0]) from ended
        running[future] = queue.popleft()
    return True


def _collect[J, R](
    done: Iterable[Future[R | Failure]],
    running: dict[Future[R | Failure], tuple[str, J]],
    suspects: list[tuple[str, J]],
    workers: Workers,
) -> Iterator[tuple[str, R | Failure]]:
    for future in list(done):
        name, item = running.pop(future)
        try:
            outcome = future.result()
        except BrokenExecutor:
            suspects.append((name, item))
            continue
        except CancelledError as ended:
            raise _lost(name) from ended
        except workers.deaths as death:
            outcome = _death(str(death))
        yield name, outcome


def _alone[J, R](
    work: Callable[[J], R], suspects: list[tuple[str, J]], workers: Workers
) -> Iterator[tuple[str, R | Failure]]:
    """Run each suspect in a worker of its own, then make the workers whole again."""
    size = workers.size
    if not workers.renew(1):
        raise ExecutionError(
            f"the executor broke while {len(suspects)} items were in it",
            where=", ".join(name for name, _ in suspects[:10]),
            hint="a worker was probably killed for memory; use fewer workers",
            code=WORKER_DIED,
        )
    _probe(workers)
    died = False
    for name, item in suspects:
        try:
            outcome: R | Failure = workers.executor.submit(_attempt, work, item).result()
        except BrokenExecutor:
            died = True
            outcome = _death()
            workers.renew(1)
        yield name, outcome
    workers.renew(size if died else max(1, size // 2))


def _probe(workers: Workers) -> None:
    """Tell items that kill their worker from workers that cannot run anything."""
    try:
        workers.executor.submit(_nothing).result()
    except BrokenExecutor as broken:
        raise ExecutionError(
            "worker processes end before they run anything",
            hint='in a script, start under `if __name__ == "__main__":`; else run with one process',
            code="workers-unusable",
        ) from broken


def _nothing() -> None:
    return None


def _attempt[J, R](work: Callable[[J], R], item: J) -> R | Failure:
    """Run in the worker. Errors become text there: not every exception survives the way back."""
    try:
        return work(item)
    except MedomniError as error:
        return Failure(error.code, error.what, error.where, error.hint, error)
    except MemoryError:
        return Failure(MEMORY, "there was not enough memory for it", hint="use fewer workers, or more memory")
    except Exception as error:  # whatever it is, it may cost this item only
        if _interrupted(error):
            raise KeyboardInterrupt from error
        return Failure(INTERNAL, f"{type(error).__name__}: {error}", _place(error), "report this fault")


def _interrupted(error: BaseException) -> bool:
    """Whether Ctrl-C is behind an error: compiled code may turn it into one of its own."""
    seen: BaseException | None = error
    while seen is not None and not isinstance(seen, KeyboardInterrupt):
        seen = seen.__cause__ or seen.__context__
    return seen is not None


def _place(error: BaseException) -> str:
    """`module.py:12 in function`: where our code failed, without folders."""
    from pathlib import Path
    from traceback import extract_tb

    frames = extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno} in {frames[-1].name}" if frames else ""


def _death(detail: str = "") -> Failure:
    what = "its worker process was killed, and again when it ran alone"
    return Failure(
        WORKER_DIED,
        f"{what}: {detail}" if detail else what,
        hint="the system probably ran out of memory; give it more",
    )


def _lost(name: str) -> ExecutionError:
    return ExecutionError(
        "the executor or its scheduler ended before all items were done",
        where=name,
        hint="start it again, then go on from the journal",
        code="executor-lost",
    )
