"""Lets one process compile the kernels while others wait for what it leaves in numba's cache.

A lock file in the folder for temporary files, one per version of everything that the machine code depends on.
Once it says "done", processes load side by side. Where there is no such file or no such lock (Windows), all
compile: that costs time and nothing else. Leaves to others: the cache itself (numba).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from types import ModuleType

import llvmlite.binding
import numba
import numpy as np

_DONE = b"done"


@contextlib.contextmanager
def one_compiler(modules: Sequence[ModuleType]) -> Iterator[None]:
    """Hold the lock unless the kernels of these modules have been compiled before."""
    try:
        descriptor = os.open(
            _lock_path(modules), os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600
        )
    except OSError:
        yield
        return
    try:
        if not _is_done(descriptor):
            _lock(descriptor)
        if _is_done(descriptor):
            _unlock(descriptor)
            yield
        else:
            yield
            os.lseek(descriptor, 0, os.SEEK_SET)
            os.write(descriptor, _DONE)
    finally:
        os.close(descriptor)


def _lock_path(modules: Sequence[ModuleType]) -> str:
    parts = [sys.version, numba.__version__, np.__version__, llvmlite.binding.get_host_cpu_name()]
    parts.append(os.environ.get("NUMBA_CACHE_DIR", ""))
    for module in modules:
        status = os.stat(str(module.__file__))  # noqa: PTH116 - metrics import no pathlib
        parts += [str(module.__file__), str(status.st_mtime_ns), str(status.st_size)]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    user = os.getuid() if hasattr(os, "getuid") else 0
    return f"{tempfile.gettempdir()}{os.sep}medotter-kernels-{user}-{digest}.lock"


def _is_done(descriptor: int) -> bool:
    os.lseek(descriptor, 0, os.SEEK_SET)
    return os.read(descriptor, len(_DONE)) == _DONE


def _lock(descriptor: int) -> None:
    with contextlib.suppress(ImportError, OSError):
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _unlock(descriptor: int) -> None:
    with contextlib.suppress(ImportError, OSError):
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_UN)
