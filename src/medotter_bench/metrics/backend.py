"""Which implementation computes: compiled kernels (`metrics.fast`) or the reference; numbers never differ.

`MEDOTTER_KERNELS` says `reference`, `fast` or `auto` (as does its absence): kernels once this process has met
so much work that loading them pays. Leaves to others: what is computed.
"""

from __future__ import annotations

import os
import sys

from medomni.core.errors import MissingExtraError
from medotter_bench.errors import SpecError
from medotter_bench.metrics import fast

VARIABLE = "MEDOTTER_KERNELS"
CHOICES = ("auto", "fast", "reference")

# Loading takes about two seconds, the reference implementation about as long for this many voxels.
WORTH_LOADING = 20_000_000


class _Process:
    """What this process knows: voxels met so far, and whether kernels turned out not to work here."""

    def __init__(self) -> None:
        self.voxels = 0
        self.broken = False


_process = _Process()


def uses_kernels(voxels: int) -> bool:
    """Whether to use the kernels for a pair of maps of so many voxels. If so, they are loaded.

    Raises:
        SpecError: `kernels-choice` where `MEDOTTER_KERNELS` says something else.
        MissingExtraError: `extra-missing` where it says `fast` and they cannot run here.
    """
    wanted = os.environ.get(VARIABLE) or "auto"
    if wanted not in CHOICES:
        raise SpecError(
            f"{VARIABLE} is {wanted!r}",
            where=VARIABLE,
            hint=f"one of {', '.join(CHOICES)}",
            code="kernels-choice",
        )
    if wanted == "reference":
        return False
    _process.voxels += voxels
    if wanted == "auto" and not fast.ready() and _process.voxels < WORTH_LOADING:
        return False
    loaded = prepare()
    if wanted == "fast" and not loaded:
        raise MissingExtraError.for_extra("fast", "numba", f"{VARIABLE}=fast")
    return loaded


def uses_loaded_kernels() -> bool:
    """Whether the kernels are loaded and not switched off, so that using them costs nothing more."""
    return fast.ready() and (os.environ.get(VARIABLE) or "auto") in {"auto", "fast"}


def wanted(voxels: int) -> bool:
    """Whether a process that will meet about so many voxels is going to want the kernels."""
    choice = os.environ.get(VARIABLE) or "auto"
    return choice == "fast" or (choice == "auto" and voxels >= WORTH_LOADING)


def prepare() -> bool:
    """Load the kernels, or compile them where no process has done so before; False where that fails."""
    if fast.ready():
        return True
    if _process.broken or not fast.available():
        return False
    try:
        fast.compile_all(announce)
    except (ImportError, RuntimeError) as bad:
        _process.broken = True
        announce(f"the compiled kernels do not work here, so scoring is slower: {bad}")
        return False
    return True


def announce(line: str) -> None:
    """One line for people, on standard error."""
    sys.stderr.write(f"medotter: {line}\n")
    sys.stderr.flush()
