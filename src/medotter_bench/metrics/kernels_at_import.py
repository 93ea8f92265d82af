"""Importing this module loads the compiled kernels, if they work here: once, before workers are forked.

Leaves to others: whether they are wanted (`backend.wanted`).
"""

from __future__ import annotations

from medotter_bench.metrics import backend

backend.prepare()
