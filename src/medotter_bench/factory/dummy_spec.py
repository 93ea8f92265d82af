"""The `dummy` block of `factory.yaml`: how generated data of one dataset look.

Leaves to others: the other blocks (`definition`), and generating anything (`dummy`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from medotter_bench.factory.fields import Fields
from medotter_bench.factory.patterns import PatternError, check_counter

MODALITIES = ("ct", "mr", "fluorescence", "histology")
ORIENTATIONS = ("RAS", "LAS", "LPS", "RPS")
LABEL_DTYPES = ("uint8", "int16", "uint16", "int32")
IMAGE_DTYPES = ("uint8", "int16", "uint16", "float32")
_LARGEST_SIDE = 512
_KEYS = (
    "cases", "first", "cases_per_patient", "fields", "shape", "spacing", "orientation", "modality",
    "image_dtype", "label_dtype", "labels", "absent", "nested", "instances", "first_id", "id_step",
    "empty_cases", "without_seg", "canonical",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DummySpec:
    """How generated data of one dataset look.

    Attributes:
        cases: Number of cases; `first` is the number in the first one's name.
        cases_per_patient: Consecutive cases that share the `patient` counter.
        fields: Path field -> template of counters (`{index:4}`, `{patient:5}`, `{visit:3}`).
        shape: Voxels per axis as stored: (x, y, z) for NIfTI, (z, y, x) for TIFF stacks, (y, x) for
            images.
        spacing: Millimetres per axis, written into NIfTI headers.
        orientation: Directions of the axes of a NIfTI grid.
        labels: Native ids to paint, or none where `instances` objects are painted instead.
        absent: Native id -> positions (from 0) of the cases that lack it; None means all of them.
        nested: Labels lie in each other, the first outermost, in place of side by side.
        first_id, id_step: The ids of objects are `first_id`, `first_id + id_step`, …
        empty_cases: Positions of cases without any object.
        without_seg: Positions of cases whose reference is left out.
        canonical: Native -> canonical id, where the bundle has no `task.yaml` to say so.
    """

    cases: int
    first: int
    cases_per_patient: int
    fields: Mapping[str, str]
    shape: tuple[int, ...]
    spacing: tuple[float, ...]
    orientation: str
    modality: str
    image_dtype: str
    label_dtype: str
    labels: tuple[int, ...]
    absent: Mapping[int, frozenset[int] | None]
    nested: bool
    instances: int
    first_id: int
    id_step: int
    empty_cases: frozenset[int]
    without_seg: frozenset[int]
    canonical: Mapping[int, int] | None


def read_dummy(block: Fields | None) -> dict[str, DummySpec]:
    """The specs by dataset name; problems go to the block's findings."""
    if block is None:
        return {}
    return {name: _read_one(entry) for name, entry in block.each(_KEYS)}


def _read_one(entry: Fields) -> DummySpec:
    shape = _numbers(entry, "shape")
    spec = DummySpec(
        cases=entry.integer("cases", 4, least=1),
        first=entry.integer("first", 1),
        cases_per_patient=entry.integer("cases_per_patient", 1, least=1),
        fields=_templates(entry),
        shape=tuple(int(side) for side in shape),
        spacing=tuple(float(step) for step in _numbers(entry, "spacing", required=False))
        or (1.0,) * len(shape),
        orientation=entry.choice("orientation", ORIENTATIONS, "RAS"),
        modality=entry.choice("modality", MODALITIES, "ct"),
        image_dtype=entry.choice("image_dtype", IMAGE_DTYPES, "int16"),
        label_dtype=entry.choice("label_dtype", LABEL_DTYPES, "uint8"),
        labels=tuple(entry.items("labels", int, "a whole number")),
        absent=_absent(entry),
        nested=entry.flag("nested"),
        instances=entry.integer("instances", 0),
        first_id=entry.integer("first_id", 1, least=1),
        id_step=entry.integer("id_step", 1, least=1),
        empty_cases=frozenset(entry.items("empty_cases", int, "a whole number")),
        without_seg=frozenset(entry.items("without_seg", int, "a whole number")),
        canonical=_ids(entry, "canonical"),
    )
    _check(entry, spec)
    return spec


def _numbers(entry: Fields, key: str, *, required: bool = True) -> list[Any]:
    kind = int if key == "shape" else int | float
    return entry.items(key, kind, "a number", required=required)


def _check(entry: Fields, spec: DummySpec) -> None:
    if not 2 <= len(spec.shape) <= 3 or not all(4 <= side <= _LARGEST_SIDE for side in spec.shape):
        entry.problem("factory-range", f"shape must be 2 or 3 sides of 4 to {_LARGEST_SIDE}", "shape")
    if len(spec.spacing) != len(spec.shape) or not all(0 < step < 1000 for step in spec.spacing):
        entry.problem("factory-range", "spacing must be one positive number per axis", "spacing")
    if bool(spec.labels) == bool(spec.instances):
        entry.problem("factory-required", "exactly one of labels and instances says what is painted")
    if len(set(spec.labels)) != len(spec.labels) or any(label < 1 for label in spec.labels):
        entry.problem("factory-range", "labels must be different ids above 0", "labels")
    most = {"uint8": 255, "int16": 32767, "uint16": 65535, "int32": 2**31 - 1}[spec.label_dtype]
    largest = max((0, *spec.labels, spec.first_id + spec.id_step * max(0, spec.instances - 1)))
    if largest > most:
        what = f"id {largest} does not fit {spec.label_dtype}, which ends at {most}"
        entry.problem("factory-range", what, "label_dtype")
    for label in spec.absent:
        if label not in spec.labels:
            entry.problem("factory-range", f"absent names id {label}, which labels does not list", "absent")


def _templates(entry: Fields) -> dict[str, str]:
    inner = entry.inner("fields", None, required=True)
    templates = {key: inner.text(key) for key in inner.value if isinstance(key, str)} if inner else {}
    for key, template in templates.items():
        try:
            check_counter(template)
        except PatternError as fault:
            entry.findings.add("factory-pattern", (*entry.path, "fields", key), str(fault))
    return templates


def _absent(entry: Fields) -> dict[int, frozenset[int] | None]:
    found = entry.value.get("absent")
    if found is None:
        return {}
    absent: dict[int, frozenset[int] | None] = {}
    pairs = found.items() if isinstance(found, dict) else [(None, None)]
    for label, positions in pairs:
        if type(label) is int and positions == "all":
            absent[label] = None
        elif type(label) is int and isinstance(positions, list) and all(type(p) is int for p in positions):
            absent[label] = frozenset(positions)
        else:
            entry.problem("factory-type", "absent must be {id: [positions]} or {id: all}", "absent")
    return absent


def _ids(entry: Fields, key: str) -> dict[int, int] | None:
    found = entry.value.get(key)
    if found is None:
        return None
    if not isinstance(found, dict) or not all(
        type(i) is int and i >= 0 for pair in found.items() for i in pair
    ):
        entry.problem("factory-type", f"{key} must be {{native id: canonical id}}", key)
        return None
    return dict(found)
