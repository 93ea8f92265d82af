"""One self-contained HTML page about one result: no request, no script, every picture with a table twin.

The same input gives the same bytes. Leaves to others: reading results (`results_reading`) and scoring
(`engine`).
"""

from __future__ import annotations

from medotter_bench.report.files import Sources, read_timings, write_report
from medotter_bench.report.page import render

__all__ = ["Sources", "read_timings", "render", "write_report"]
