"""The suite that every adapter passes, also one from outside this repository.

    from medotter_bench.adapters.testing import check_adapter
    def test_my_adapter_conforms():
        assert check_adapter(MyAdapter(), example=my_example) == []

Leaves to others: whether an adapter's numbers are right (its own tests against exact values).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from medotter_bench.adapters.base import PENALTY_MISSING, CaseContext, CaseInputs, CaseScore, Value
from medotter_bench.errors import VolumeError
from medotter_bench.metrics.empty import STATES

if TYPE_CHECKING:
    from medotter_bench.adapters.base import Adapter
    from medotter_bench.inference import LabelMap

_PENALTIES = (PENALTY_MISSING, *(f"penalty:{state}" for state in STATES))


@dataclass(frozen=True, slots=True)
class Example:
    """One case that an adapter can score.

    Attributes:
        context: Spec, label map and meta data of the case.
        reference: Its reference, non-empty in every region, in native ids.
        perfect: A prediction that agrees with the reference everywhere.
        worse: A readable prediction that does not.
        refused: A prediction that `check_prediction` must refuse, or None where every content is allowed.
    """

    context: CaseContext
    reference: LabelMap
    perfect: LabelMap
    worse: LabelMap
    refused: LabelMap | None = None


def check_adapter(adapter: Adapter, *, example: Example) -> list[str]:
    """What an adapter gets wrong, in words; empty if it conforms."""
    # Every law gets arrays of its own: an adapter that changes them must not hide it from the next law.
    return [problem for law in _LAWS for problem in law(adapter, _copied(example))]


def _copied(example: Example) -> Example:
    def own(label_map: LabelMap) -> LabelMap:
        return replace(label_map, voxels=label_map.array.copy())

    refused = None if example.refused is None else own(example.refused)
    maps = (own(example.reference), own(example.perfect), own(example.worse))
    return Example(example.context, *maps, refused)


def _score(adapter: Adapter, example: Example, prediction: LabelMap | None) -> CaseScore:
    return adapter.score(CaseInputs(example.reference, prediction), context=example.context)


def _names_itself(adapter: Adapter, example: Example) -> Iterator[str]:
    if not adapter.task_type or not isinstance(adapter.task_type, str):
        yield "task_type must be a non-empty text"
    lacking = set(example.context.spec.metrics) - set(adapter.metrics)
    if lacking:
        yield f"the example uses metrics that the adapter does not list: {sorted(lacking)}"
    kind = example.context.spec.prediction_format.type
    if kind not in adapter.prediction_types:
        yield f"the example's prediction type {kind!r} is not in prediction_types"


def _covers_every_region(adapter: Adapter, example: Example) -> Iterator[str]:
    spec = example.context.spec
    for name, prediction in _each(example):
        score = _score(adapter, example, prediction)
        if list(score.regions) != list(spec.regions):
            yield f"{name}: regions {list(score.regions)} differ from the spec's {list(spec.regions)}"
        for region, found in score.regions.items():
            if set(found.metrics) != set(spec.metrics):
                wrong = sorted(set(found.metrics) ^ set(spec.metrics))
                yield f"{name}: region {region} lacks, or has beyond the spec, the metrics {wrong}"


def _numbers_go_with_outcomes(adapter: Adapter, example: Example) -> Iterator[str]:
    for name, prediction in _each(example):
        for where, value in _values(_score(adapter, example, prediction)):
            problem = _value_problem(value)
            if problem:
                yield f"{name}, {where}: {problem}"


def _value_problem(value: Value) -> str | None:
    has_number = value.value is not None
    counts = value.outcome == "ok" or value.outcome in _PENALTIES
    if value.value is not None and not math.isfinite(value.value):
        return f"{value.value} left the adapter; a value is finite or None"
    if not counts and not value.outcome.startswith("not_scored:"):
        return f"unknown outcome {value.outcome!r}"
    if has_number != counts:
        return f"outcome {value.outcome!r} with value {value.value}"
    return None


def _missing_takes_a_penalty(adapter: Adapter, example: Example) -> Iterator[str]:
    perfect = dict(_values(_score(adapter, example, example.perfect)))
    for where, value in _values(_score(adapter, example, None)):
        if value.outcome.startswith("not_scored:"):
            if not perfect[where].outcome.startswith("not_scored:"):
                yield f"{where}: not scored when the prediction is missing, scored when it is there"
        elif value.outcome != PENALTY_MISSING:
            yield f"{where}: a missing prediction has outcome {value.outcome!r}, not {PENALTY_MISSING!r}"


def _repeats_itself(adapter: Adapter, example: Example) -> Iterator[str]:
    for name, prediction in _each(example):
        if _score(adapter, example, prediction) != _score(adapter, example, prediction):
            yield f"{name}: scoring twice gives two results"


def _leaves_arrays_alone(adapter: Adapter, example: Example) -> Iterator[str]:
    maps = (example.reference, example.perfect, example.worse)
    before = [label_map.array.tobytes() for label_map in maps]
    for _, prediction in _each(example):
        _score(adapter, example, prediction)
    if before != [label_map.array.tobytes() for label_map in maps]:
        yield "scoring changed an input array"


def _tells_good_from_bad(adapter: Adapter, example: Example) -> Iterator[str]:
    perfect = dict(_values(_score(adapter, example, example.perfect)))
    worse = dict(_values(_score(adapter, example, example.worse)))
    if all(perfect[where].value == worse[where].value for where in perfect):
        yield "a perfect and a worse prediction get the same numbers"


def _respects_the_case_region(adapter: Adapter, example: Example) -> Iterator[str]:
    regions = list(example.context.spec.regions)
    if len(regions) < 2:
        return
    meta: Mapping[str, Any] = {**example.context.meta, "region": regions[0]}
    narrowed = replace(example, context=replace(example.context, meta=meta))
    for where, value in _values(_score(adapter, narrowed, example.perfect)):
        if not where.startswith(f"{regions[0]}.") and not value.outcome.startswith("not_scored:"):
            yield f"{where}: scored although the case names region {regions[0]!r}"


def _refuses_bad_content(adapter: Adapter, example: Example) -> Iterator[str]:
    spec = example.context.spec
    adapter.check_prediction(example.perfect, spec=spec)
    if example.refused is None:
        return
    try:
        adapter.check_prediction(example.refused, spec=spec)
    except VolumeError:
        return
    yield "check_prediction accepts the prediction that it must refuse"


def _each(example: Example) -> Iterator[tuple[str, LabelMap | None]]:
    yield "perfect prediction", example.perfect
    yield "worse prediction", example.worse
    yield "missing prediction", None


def _values(score: CaseScore) -> Iterator[tuple[str, Value]]:
    for region, found in score.regions.items():
        for metric, value in found.metrics.items():
            yield f"{region}.{metric}", value


_LAWS: tuple[Callable[[Adapter, Example], Iterator[str]], ...] = (
    _names_itself,
    _covers_every_region,
    _numbers_go_with_outcomes,
    _missing_takes_a_penalty,
    _repeats_itself,
    _leaves_arrays_alone,
    _tells_good_from_bad,
    _respects_the_case_region,
    _refuses_bad_content,
)
