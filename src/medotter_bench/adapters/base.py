"""What an adapter is: the code that scores one case of one task type.

Leaves to others: reading files (`inference`), walking the cases (`engine`), rolling up (`aggregation`).
An adapter sees label maps and specs, never a path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from medotter_bench.inference import LabelMap
    from medotter_bench.label_map import LabelRemap
    from medotter_bench.specs import EvalSpec

OK = "ok"
PENALTY_MISSING = "penalty:missing"


@dataclass(frozen=True, slots=True)
class Value:
    """One number and why it is that number.

    `outcome` is `ok`, `penalty:<empty_structure key>`, `penalty:missing` or `not_scored:<reason>`. A number
    is present exactly when the outcome is `ok` or a penalty.
    """

    value: float | None
    outcome: str


@dataclass(frozen=True, slots=True)
class RegionScore:
    """One region of one case.

    Attributes:
        metrics: Metric name -> value, one for every metric of the spec.
        details: Further counts of the row (`n_reference`, `tp`, …); None where unknown.
        required: Whether this case must count for the region whatever was predicted. Decides the headline's
            `n_required`, below which a result never ranks.
    """

    metrics: Mapping[str, Value]
    details: Mapping[str, float | None] = field(default_factory=dict)
    required: bool = False


@dataclass(frozen=True, slots=True)
class CaseScore:
    """One case: a score for every region of the spec, and how many reference voxels no map listed."""

    regions: Mapping[str, RegionScore]
    unlisted_voxels: int = 0


@dataclass(frozen=True, slots=True)
class CaseInputs:
    """What an adapter gets: the reference in native ids, and the prediction or None (missing or invalid).

    `*_classes` map instance id -> canonical id where `prediction_format.classes` asks for it.
    """

    reference: LabelMap
    prediction: LabelMap | None
    reference_classes: Mapping[int, int] | None = None
    prediction_classes: Mapping[int, int] | None = None


@dataclass(frozen=True, slots=True)
class CaseContext:
    """What holds for one case: the spec, the case's label map, its meta data as in the manifest."""

    spec: EvalSpec
    remap: LabelRemap
    meta: Mapping[str, Any]


@runtime_checkable
class Adapter(Protocol):
    """Scores one task type. `adapters.testing` holds the suite that every adapter passes.

    An adapter may have a method `run_writer()` too: what it gives is passed to `read_label_map` as `runs`.
    """

    @property
    def task_type(self) -> str:
        """The registered name."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that this type may use."""

    @property
    def prediction_types(self) -> tuple[str, ...]:
        """The `prediction_format.type` values that it reads."""

    def check_prediction(self, prediction: LabelMap, *, spec: EvalSpec) -> None:
        """Refuse a prediction whose content is not what the spec allows.

        Raises:
            VolumeError: with a code such as `labels-unknown`, naming the ids.
        """

    def score(self, inputs: CaseInputs, *, context: CaseContext) -> CaseScore:
        """Score one case; with `inputs.prediction` None, every scored region takes `penalty:missing`."""


def not_scored(metrics: tuple[str, ...], reason: str, details: Mapping[str, float | None]) -> RegionScore:
    """A region that does not count in this case, for a stated reason."""
    return RegionScore({metric: Value(None, f"not_scored:{reason}") for metric in metrics}, details)
