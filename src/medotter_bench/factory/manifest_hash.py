"""The manifest hash `mb1`: which cases a bundle has, how they are split, in which channel order.

Leaves to others: reading manifests (`bundle`), comparing with what a manifest says of itself (`checks`).

Source: docs/adr/0004-persisted-formats.md; canonical JSON is RFC 8785.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medomni.core.errors import MedomniError
from medomni.core.hashing import canonical_digest
from medotter_bench.factory.errors import HashError

ALGORITHM = "mb1"
_COVERED = ("task", "version", "split_version", "train", "test", "per_case")


def mb1(manifest: Mapping[str, Any]) -> tuple[str, str]:
    """The hash of a manifest: `(first 12 hex digits, all 64)`.

    SHA-256 over the canonical JSON of the covered keys, in which every `chan` map is replaced by its
    ordered list of `[name, path]`: canonical JSON sorts keys, and the order of channels matters. A key
    that the manifest lacks counts as null. `hash`, `skipped` and the like never count.

    Raises:
        HashError: the manifest holds what canonical JSON cannot (`freeze-unhashable`).

    Source: docs/adr/0004-persisted-formats.md.
    """
    document = {key: manifest.get(key) for key in _COVERED}
    cases = document["per_case"]
    if isinstance(cases, Mapping):
        document["per_case"] = {case_id: _ordered_channels(meta) for case_id, meta in cases.items()}
    try:
        digest = canonical_digest(document)
    except (MedomniError, TypeError, ValueError) as fault:
        raise HashError(f"the manifest cannot be hashed: {fault}") from fault
    return digest[:12], digest


def _ordered_channels(meta: Any) -> Any:
    if not isinstance(meta, Mapping) or not isinstance(meta.get("chan"), Mapping):
        return meta
    return {**meta, "chan": [[name, path] for name, path in meta["chan"].items()]}
