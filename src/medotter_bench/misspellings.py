"""Keys of `task.yaml` and `eval_spec.yaml` that nobody reads, and those that look like a slip of the pen.

A misspelt key would silently leave a default in force, so it is an error; any other unknown key is a warning.
Leaves to others: the values of known keys (`medomni.core.contracts`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from medomni.core.files import Document
from medomni.core.issues import Issue, error, warning

# Place -> keys that are read there; "*" stands for any key (region, metric or dataset names).
EVAL_KEYS: Mapping[tuple[str, ...], frozenset[str]] = {
    (): frozenset(
        [
            "task_type",
            "mode",
            "segmentation_mode",
            "eval_regions",
            "partial_label",
            "main_region",
            "metrics",
            "hd95",
            "iou_threshold",
            "match_rule",
            "empty_structure",
            "aggregation",
            "prediction_format",
            "hd95_penalty_note",
        ]
    ),
    ("hd95",): frozenset(["percentile", "spacing", "unit", "method"]),
    ("empty_structure",): frozenset(["note", "dice", "hd95", "f1", "aji", "aji_plus", "pq", "sq", "dq"]),
    ("empty_structure", "*"): frozenset(
        ["gt_empty_pred_empty", "both_empty", "gt_empty_pred_nonempty", "gt_nonempty_pred_empty"]
    ),
    ("aggregation",): frozenset(
        [
            "unit",
            "reduce",
            "report_by_region",
            "report_by_organ",
            "report_by_dataset",
            "report_by_tier",
            "headline",
        ]
    ),
    ("aggregation", "headline"): frozenset(["region", "metric", "tier"]),
    ("prediction_format",): frozenset(["type", "label_space", "coordinate_space", "note", "classes"]),
}
TASK_KEYS: Mapping[tuple[str, ...], frozenset[str]] = {
    (): frozenset(["task", "canonical_labels", "main_region", "label_remap"]),
    ("task",): frozenset(["id", "name", "modality", "anatomy", "description"]),
}
_SHORTEST = 5
_NEAR = 2


def edit_distance(first: str, second: str) -> int:
    """Insertions, deletions, substitutions and swaps of neighbours that turn one text into the other."""
    before, previous = list[int](), list(range(len(second) + 1))
    for i, a in enumerate(first, start=1):
        current = [i]
        for j, b in enumerate(second, start=1):
            cost = min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (a != b))
            if i > 1 and j > 1 and a == second[j - 2] and first[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            current.append(cost)
        before, previous = previous, current
    return previous[-1]


def unknown_key_issues(document: Document, known: Mapping[tuple[str, ...], frozenset[str]]) -> list[Issue]:
    """One issue per key that is not read: `key-misspelt` (an error) or `key-unknown` (a warning)."""
    return list(_walk(document, document.value, (), known))


def _walk(
    document: Document, value: Any, path: tuple[str, ...], known: Mapping[tuple[str, ...], frozenset[str]]
) -> Iterator[Issue]:
    keys = known.get(path) or known.get((*path[:-1], "*"))
    if keys is None or not isinstance(value, dict):
        return
    for key, item in value.items():
        name = str(key)
        if name in keys:
            yield from _walk(document, item, (*path, name), known)
            continue
        where = document.where((*path, key))
        near = sorted(k for k in keys if edit_distance(name, k) <= _NEAR)
        if near and len(name) >= _SHORTEST:
            what = f"unknown key {name!r} looks like a misspelt {near[0]!r}"
            yield error("key-misspelt", where, what, f"write {near[0]}, or rename the key clearly")
        else:
            yield warning("key-unknown", where, f"nothing reads the key {name!r}")
