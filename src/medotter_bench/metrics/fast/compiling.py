"""Declares kernels, and compiles all of them or loads them from numba's cache.

A kernel is a plain function with a closed list of signatures: compiled machine code exists for exactly
these, so that no call ever starts a compiler. Leaves to others: what the kernels compute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba import types

_DECLARED: list[tuple[Any, tuple[Any, ...]]] = []


def read_only(element: Any) -> Any:
    """The type of a flat input array; writable arrays are accepted for it as well."""
    return types.Array(element, 1, "C", readonly=True)


def inlined(function: Callable[..., Any]) -> Any:
    """A part of kernels, compiled into each of them."""
    return numba.njit(inline="never", error_model="numpy")(function)


def kernel(function: Callable[..., Any], *signatures: Any) -> Any:
    """Declare a kernel for these argument types. `load` makes it callable."""
    dispatcher = numba.njit(cache=True, error_model="numpy", nogil=True)(function)
    _DECLARED.append((dispatcher, signatures))
    return dispatcher


def load(announce: Callable[[], None]) -> None:
    """Make every declared kernel callable; `announce` is called once if a compiler must run for it."""
    told = False
    for dispatcher, signatures in _DECLARED:
        for signature in signatures:
            if signature in dispatcher.overloads:
                continue
            dispatcher.compile(signature)
            if not told and dispatcher.stats.cache_misses:
                announce()
                told = True
        dispatcher.disable_compile()
