"""MedOtter: frozen imaging benchmark bundles, and the scores of predictions on them.

`Bundle` reads a bundle, `score_predictions` scores a folder of predictions against it. Both are imported
when first used, so that `import medotter_bench` stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from medotter_bench.bundle import Bundle
    from medotter_bench.engine import score_predictions
    from medotter_bench.results import Results

__all__ = ["Bundle", "Results", "score_predictions"]

_HOMES = {
    "Bundle": "medotter_bench.bundle",
    "Results": "medotter_bench.results",
    "score_predictions": "medotter_bench.engine",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
