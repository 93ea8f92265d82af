"""Task types that are named and that nobody has written yet: `cls`, `det`, `vlm`.

A stub is the contract for such a type: it is registered, and refuses before any file is opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from medotter_bench.errors import AdapterNotImplementedError

if TYPE_CHECKING:
    from medotter_bench.adapters.base import CaseContext, CaseInputs
    from medotter_bench.inference import LabelMap
    from medotter_bench.specs import EvalSpec


class StubAdapter:
    """Adapter of a task type without an implementation."""

    metrics: tuple[str, ...] = ()
    prediction_types: tuple[str, ...] = ()

    def __init__(self, task_type: str) -> None:
        self.task_type = task_type

    def check_prediction(self, prediction: LabelMap, *, spec: EvalSpec) -> NoReturn:
        """Refuse."""
        self.refuse()

    def score(self, inputs: CaseInputs, *, context: CaseContext) -> NoReturn:
        """Refuse."""
        self.refuse()

    def refuse(self) -> NoReturn:
        """Raise the error that says so (also a `NotImplementedError`)."""
        raise AdapterNotImplementedError(
            f"task_type {self.task_type!r} is registered and has no implementation yet",
            where="eval_spec.yaml, task_type",
            hint="bundles of this type cannot be scored with this release",
        )
