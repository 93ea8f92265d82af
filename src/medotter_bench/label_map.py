"""Native label ids of a dataset to the canonical ids of a bundle, and regions cut from them.

Leaves to others: reading label maps (`inference`), and what is measured on the regions (`metrics`).
Sees arrays and plain mappings only.

Source: docs/explanation/scoring.md, label remap and partial labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from medotter_bench.errors import SpecError

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A lookup table up to this many entries is cheaper than sorting the voxels.
_LARGEST_TABLE = 1 << 20


@dataclass(frozen=True, slots=True)
class LabelRemap:
    """Native id -> canonical id for one dataset, or for one case of it.

    Attributes:
        ids: The listed ids. Background (0) stays 0 unless it is listed.
        identity: Whether an unlisted id stays as it is (a dataset without a map); otherwise it becomes 0.
    """

    ids: Mapping[int, int]
    identity: bool = False

    def target(self, native_id: int) -> int:
        """The canonical id of one native id."""
        return self.ids.get(native_id, native_id if self.identity else 0)

    def refined(self, slot: Mapping[int, int]) -> LabelRemap:
        """This map with a case's own `remap` slot: its ids change as it says, others follow this map."""
        return LabelRemap({**self.ids, **slot}, self.identity) if slot else self

    def can_produce(self, canonical_id: int) -> bool:
        """Whether some native id ends up as `canonical_id`."""
        if canonical_id in self.ids.values():
            return True
        return self.identity and canonical_id not in self.ids


IDENTITY = LabelRemap({}, identity=True)


def _as_id(value: Any) -> int | None:
    """An id written as an integer or as decimal text; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if value >= 0 else None
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        return int(value)
    return None


def parse_ids(mapping: Mapping[Any, Any], *, where: str) -> dict[int, int]:
    """`{native: canonical}` with keys as integers or decimal text; a `note` key is stripped.

    Args:
        mapping: As parsed from YAML or JSON.
        where: File and path, for messages.

    Raises:
        SpecError: an id is no whole number >= 0 (`remap-id`), or the same native id stands there twice,
            once as a number and once as text (`remap-duplicate`).
    """
    ids: dict[int, int] = {}
    for key, value in mapping.items():
        if key == "note":
            continue
        native, canonical = _as_id(key), _as_id(value) if not isinstance(value, str) else None
        if native is None or canonical is None:
            raise SpecError(
                f"label ids must be integers >= 0, found {key!r}: {value!r}",
                where=f"{where}.{key}",
                hint="write `native_id: canonical_id`",
                code="remap-id",
            )
        if native in ids:
            raise SpecError(
                f"duplicate key: native id {native} is listed twice (as a number and as text)",
                where=f"{where}.{key}",
                hint="keep one of the two",
                code="remap-duplicate",
            )
        ids[native] = canonical
    return ids


def parse_dataset(entry: Any, *, where: str) -> LabelRemap:
    """One dataset's entry of `label_remap`.

    `{native: canonical, ...}` is a map; `{native: [...], to: [...]}` only documents what a data loader did
    before, so the labels are taken as canonical already.

    Raises:
        SpecError: the entry is neither, or lists nothing (`remap-empty`).
    """
    if not isinstance(entry, Mapping):
        raise SpecError(
            f"a dataset's map must be a mapping, found {entry!r:.60}", where=where, code="remap-type"
        )
    if isinstance(entry.get("native"), list) and isinstance(entry.get("to"), list):
        return IDENTITY
    ids = parse_ids(entry, where=where)
    if not ids:
        raise SpecError(
            "the map lists no id, so it could mean 'nothing is labelled' or 'labels stay as they are'",
            where=where,
            hint="list the ids, or leave the dataset out of label_remap for identity",
            code="remap-empty",
        )
    return LabelRemap(ids)


def parse_label_remap(value: Any, *, where: str) -> dict[str, LabelRemap]:
    """The whole `label_remap` of a `task.yaml`; a top-level `note` is stripped; absent gives no maps."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise SpecError(f"label_remap must be a mapping, found {value!r:.60}", where=where, code="remap-type")
    return {
        str(name): parse_dataset(entry, where=f"{where}.{name}")
        for name, entry in value.items()
        if name != "note"
    }


def case_remap(remaps: Mapping[str, LabelRemap], meta: Mapping[str, Any], *, where: str) -> LabelRemap:
    """The map of one case: its dataset's (identity where there is none), refined by its own slot."""
    base = remaps.get(str(meta.get("dataset")), IDENTITY)
    slot = meta.get("remap")
    return base.refined(parse_ids(slot, where=f"{where}.remap")) if slot else base


def to_canonical(
    native: NDArray[Any], remap: LabelRemap, *, label_space: Iterable[int]
) -> tuple[NDArray[np.int64], int]:
    """Apply a map in one pass, so that `{1: 2, 2: 1}` swaps instead of chaining.

    Args:
        native: (…) integer label map, ids >= 0, any shape.
        remap: The case's map.
        label_space: The canonical ids; under an identity map, ids outside it become background.

    Returns:
        The index of each voxel's canonical id in `sorted(label_space | {0})`, same shape, small unsigned
        type; and how many foreground voxels carried an id that the map does not list (they become 0).
    """
    size = int(native.max(initial=0)) + 1
    if size <= _LARGEST_TABLE:
        natives = np.arange(size)
        counts = _count(native, size)
    else:
        natives, inverse, counts = np.unique(native, return_inverse=True, return_counts=True)
    index, listed = positions(natives.tolist(), remap, label_space=label_space)
    unlisted = int(counts[~listed].sum())
    if size <= _LARGEST_TABLE:
        return index[native], unlisted
    return index[inverse].reshape(native.shape), unlisted


def _count(native: NDArray[Any], size: int) -> NDArray[np.int64]:
    """Voxels per id, in slabs: `bincount` widens what it is given to 64 bit."""
    counts = np.zeros(size, dtype=np.int64)
    flat = native.reshape(-1, order="A")
    for start in range(0, flat.size, 1 << 22):
        counts += np.bincount(flat[start : start + (1 << 22)].astype(np.int64), minlength=size)
    return counts


def positions(
    natives: Iterable[int], remap: LabelRemap, *, label_space: Iterable[int]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Where native ids end up, for any list of them; `to_canonical` applies this to every voxel.

    Returns:
        Per id: the index of its canonical id in `sorted(label_space | {0})`, and whether the map accounts
        for it.

    Source: design page 02, Label remap.
    """
    natives = list(natives)
    position = {canonical: place for place, canonical in enumerate(sorted({0, *label_space}))}
    dtype = np.min_scalar_type(len(position) - 1)
    index = np.zeros(len(natives), dtype=dtype)
    listed = np.ones(len(natives), dtype=bool)
    for place, native in enumerate(natives):
        target = remap.target(native)
        index[place] = position.get(target, 0)
        accounted = native == 0 or native in remap.ids or remap.identity
        listed[place] = accounted and target in position
    return index, listed


def label_space_index(
    label_map: NDArray[Any], label_space: Iterable[int]
) -> tuple[NDArray[Any], dict[int, int]]:
    """Positions of a prediction's ids in `sorted(label_space | {0})`, and its ids outside that space.

    Returns:
        The index per voxel (0 where the id is outside), and `{id outside: voxels}`, empty if all are inside.
    """
    index, _ = to_canonical(label_map, IDENTITY, label_space=label_space)
    allowed = {0, *label_space}
    size = int(label_map.max(initial=0)) + 1
    if size <= _LARGEST_TABLE:
        counts = _count(label_map, size)
        present = np.flatnonzero(counts)
        numbers = counts[present]
    else:
        present, numbers = np.unique(label_map, return_counts=True)
    outside = {int(i): int(n) for i, n in zip(present, numbers, strict=True) if int(i) not in allowed}
    return index, outside


def region_table(label_space: Iterable[int], region: Iterable[int]) -> NDArray[np.bool_]:
    """(K,) which positions of `sorted(label_space | {0})` belong to a region: the union of its ids."""
    wanted = set(region)
    return np.array([canonical in wanted for canonical in sorted({0, *label_space})])


def joint_histogram(reference: NDArray[Any], prediction: NDArray[Any], size: int) -> NDArray[np.int64]:
    """(K, K) voxels per pair of label-space positions; every count of every region follows from it."""
    table = np.zeros(size * size, dtype=np.int64)
    first, second = reference.reshape(-1, order="C"), prediction.reshape(-1, order="C")
    for start in range(0, first.size, 1 << 22):
        pairs = first[start : start + (1 << 22)].astype(np.int64) * size
        pairs += second[start : start + (1 << 22)]
        table += np.bincount(pairs, minlength=size * size)
    return table.reshape(size, size)
