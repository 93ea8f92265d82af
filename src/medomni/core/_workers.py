"""Worker processes: how they start, how they end with their parent, how they are replaced.

Leaves to others: what runs in them (`execution`).
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import Executor, ProcessPoolExecutor


class Workers:
    """An executor and what its protocol does not say.

    Attributes:
        executor: Where items run; another one after `renew`.
        size: How many run at once.
        window: How many may be out at once: enough that no worker waits.
        deaths: Exceptions that say that an item's worker died, and that it was tried elsewhere.
    """

    def __init__(
        self,
        executor: Executor,
        size: int,
        *,
        window: int | None = None,
        deaths: tuple[type[BaseException], ...] = (),
    ) -> None:
        self.executor = executor
        self.size = size
        self.deaths = deaths
        self._window = window

    @property
    def window(self) -> int:
        """How many items may be out at once."""
        return 2 * self.size if self._window is None else self._window

    def about_to_submit(self) -> None:
        """Called before each item goes to `executor`."""

    def renew(self, size: int) -> bool:
        """Replace a broken executor by a new one of `size` workers; False where nobody can."""
        return False


class LocalWorkers(Workers):
    """Processes of this machine that end when this process ends, even by SIGKILL."""

    def __init__(self, size: int, *, preload: tuple[str, ...] = ()) -> None:
        # Not fork: the caller may hold threads (a progress bar), and a forked lock stays locked.
        known = multiprocessing.get_all_start_methods()
        method = "forkserver" if "forkserver" in known else "spawn"
        self._context = multiprocessing.get_context(method)
        if preload:
            self._context.set_forkserver_preload(list(preload))
        self._pool = self._start(size)
        super().__init__(self._pool, size)

    def _start(self, size: int) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(size, mp_context=self._context, initializer=_start_worker)

    def renew(self, size: int) -> bool:
        """Replace the processes by `size` new ones."""
        self._pool.shutdown()
        self._pool = self.executor = self._start(size)
        self.size = size
        return True

    def close(self) -> None:
        """End the processes when they are done."""
        self._pool.shutdown()

    def kill(self) -> None:
        """End the processes now; what they were doing is lost."""
        # From Python 3.14 on the pool has a method for this.
        for process in list((getattr(self._pool, "_processes", None) or {}).values()):
            process.kill()
        self._pool.shutdown(cancel_futures=True)


class GrowingWorkers(LocalWorkers):
    """Starts with no process at all, and with all of them once they turn out to pay.

    Args:
        first: Runs items in this process.
        size: How many processes there may be.
        items: How many items there are.
        start_sec: What starting the processes takes.
        preload: As for `LocalWorkers`.
    """

    def __init__(
        self, first: Executor, size: int, *, items: int, start_sec: float, preload: tuple[str, ...]
    ) -> None:
        super().__init__(size, preload=preload)
        self._full, self._items, self._start_sec = size, items, start_sec
        self._begun, self._sent = 0.0, 0
        self.executor, self.size, self._window = first, 1, 1

    def about_to_submit(self) -> None:
        """Go over to processes where the items so far say that the rest takes long enough."""
        if self.executor is self._pool:
            return
        # The first item is no measure: it may import and load what all others use.
        if self._sent == 1:
            self._begun = time.monotonic()
        taken = time.monotonic() - self._begun
        if self._sent > 1 and taken > self._start_sec and self._spared(taken) > 2 * self._start_sec:
            # A pool starts its processes when it gets its first item.
            self.executor, self.size, self._window = self._pool, self._full, None
        self._sent += 1

    def _spared(self, taken: float) -> float:
        """Seconds that all processes would spare, if the rest goes on like the items that took `taken`."""
        return taken / (self._sent - 1) * (self._items - self._sent) * (1 - 1 / self._full)


def _start_worker() -> None:
    # Ctrl-C reaches the whole process group; only the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, name="end-with-parent", daemon=True).start()


def _end_with_parent() -> None:
    # Each worker holds both ends of the queue, so it would wait for ever for a parent that was killed.
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
