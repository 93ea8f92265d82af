"""A target as scoring needs it, from `content.json`, from a `target.json`, or from a command line.

Leaves to others: the answers, and what they are worth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medomni.bench.errors import ScoreError
from medomni.core.files import read_json

METRICS = ("auc", "qwk", "mae")
_TYPES = {"auc": "binary", "qwk": "ordinal", "mae": "number"}
_MOST_CLASSES = 1000


@dataclass(frozen=True, slots=True)
class Target:
    """One target.

    Attributes:
        name: Its name: the column of the answers, and the key in an answer file.
        metric: `auc`, `qwk` or `mae`.
        classes: How many classes; for qwk.
        first_class: The number of the lowest class, as answers write it.
        range: Lowest and highest answer; for mae, None where nobody declared it.
        unit: Of the answers.
        share: Of each class among all eligible people.
        median: Answer of all eligible people.
        mae_ref: Mean absolute error of always answering the median.
    """

    name: str
    metric: str
    classes: int | None = None
    first_class: int = 0
    range: tuple[float, float] | None = None
    unit: str | None = None
    share: tuple[float, ...] | None = None
    median: float | None = None
    mae_ref: float | None = None

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise _wrong(self.name, f"its metric is {self.metric!r}", f"there are {', '.join(METRICS)}")
        if (self.metric == "qwk") != (self.classes is not None):
            raise _wrong(
                self.name, "classes belong to qwk, which needs them", "declare all of the label's classes"
            )
        if self.classes is not None and not 2 <= self.classes <= _MOST_CLASSES:
            raise _wrong(self.name, f"it has {self.classes} classes", f"from 2 to {_MOST_CLASSES}")
        if self.range is not None and self.metric != "mae":
            raise _wrong(
                self.name, f"a range belongs to mae, and its metric is {self.metric}", "leave it out"
            )
        if self.range is not None and not (
            all(map(math.isfinite, self.range)) and self.range[0] < self.range[1]
        ):
            raise _wrong(self.name, f"its range is {self.range}", "write the lowest and the highest answer")

    @property
    def kind(self) -> str:
        """The type of its answers, as `content.json` calls it."""
        return _TYPES[self.metric]

    def in_answers(self) -> dict[str, Any]:
        """What reading an answer file must know of it. Classes are looked at behind that, in `joining`."""
        return {"name": self.name, "type": "number" if self.metric == "qwk" else self.kind}


def of_content(content: Mapping[str, Any]) -> list[Target]:
    """The targets of a built pair, in their order."""
    return [_of_content(each, content["reference"].get(each["name"], {})) for each in content["targets"]]


def _of_content(row: Mapping[str, Any], known: Mapping[str, Any]) -> Target:
    qwk, mae = row["metric"] == "qwk", row["metric"] == "mae"
    return Target(
        row["name"],
        row["metric"],
        classes=len(row["classes"]) if qwk else None,
        range=(float(row["range"][0]), float(row["range"][1])) if mae else None,
        unit=row.get("unit"),
        share=tuple(known["share"]) if "share" in known and not mae else None,
        median=known.get("median") if mae else None,
        mae_ref=known.get("mae_ref") if mae else None,
    )


def read_targets(path: Path) -> list[Target]:
    """The targets of a `target.json`: one target, a list of them, or a mapping with them under `targets`.

    A target is `{"name", "metric"}` with `labels` (whole numbers in a row) or `classes` (how many, or their
    names) for qwk, and `range`, `unit` and `mae_ref` for mae. Keys that scoring does not need are passed
    over, so that a `content.json` serves as well.

    Raises:
        DocumentNotFoundError: There is no such file.
        DocumentError: It is no strict JSON.
        ScoreError: `score-target`.
    """
    value = read_json(path).value
    rows = value.get("targets", [value]) if isinstance(value, dict) else value
    if not isinstance(rows, list) or not rows:
        raise _wrong(str(path), "it holds no target", 'write {"name": …, "metric": …}')
    known = value.get("reference") if isinstance(value, dict) else None
    found = [_of_file(row, known if isinstance(known, dict) else {}, path) for row in rows]
    names = [target.name for target in found]
    if len(set(names)) != len(names):
        raise _wrong(str(path), "it names a target twice", "keep one of them")
    return found


def _of_file(row: Any, reference: Mapping[str, Any], path: Path) -> Target:
    if not isinstance(row, dict) or not isinstance(row.get("name"), str) or not row["name"]:
        raise _wrong(str(path), "a target has no name", 'write {"name": …, "metric": …}')
    name, metric = row["name"], row.get("metric")
    known = reference.get(name)
    known = known if isinstance(known, dict) else {}
    first, classes = _classes(row, name) if metric == "qwk" else (0, None)
    return Target(
        name,
        metric if isinstance(metric, str) else repr(metric),
        classes=classes,
        first_class=first,
        range=_range(row["range"], name) if metric == "mae" and row.get("range") is not None else None,
        unit=row["unit"] if isinstance(row.get("unit"), str) else None,
        share=_shares(known.get("share"), 2 if metric == "auc" else classes),
        median=_number(known.get("median")),
        mae_ref=_number(row.get("mae_ref", known.get("mae_ref"))),
    )


def _classes(row: Mapping[str, Any], name: str) -> tuple[int, int | None]:
    """The lowest class, and how many there are."""
    labels, classes = row.get("labels"), row.get("classes")
    if labels is not None and classes is not None and len(_list(labels, name)) != _count(classes, name):
        raise _wrong(name, "its labels and its classes do not agree", "keep one of them")
    if labels is not None:
        numbers = _list(labels, name)
        whole = all(isinstance(each, int) and not isinstance(each, bool) for each in numbers)
        if not whole or list(numbers) != list(range(numbers[0], numbers[0] + len(numbers))):
            what = f"its labels are {numbers!r}"
            raise _wrong(name, what, "list every class in its order, those that never occur too: 0, 1, 2, …")
        return int(numbers[0]), len(numbers)
    return 0, None if classes is None else _count(classes, name)


def _list(value: Any, name: str) -> list[Any]:
    if isinstance(value, list) and value:
        return value
    raise _wrong(name, f"{value!r} is no list of labels", "list every class: [0, 1, 2]")


def _count(value: Any, name: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return len(_list(value, name))


def _range(value: Any, name: str) -> tuple[float, float]:
    ends = [_number(end) for end in value] if isinstance(value, list) else []
    if len(ends) != 2 or ends[0] is None or ends[1] is None:
        raise _wrong(name, f"its range is {value!r}", "write [lowest, highest]")
    return ends[0], ends[1]


def _shares(value: Any, classes: int | None) -> tuple[float, ...] | None:
    shares = [_number(each) for each in value] if isinstance(value, list) else []
    found = tuple(each for each in shares if each is not None)
    return found if len(found) == len(shares) == classes else None


def _number(value: Any) -> float | None:
    fits = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e290
    return float(value) if fits else None


def _wrong(where: str, what: str, hint: str) -> ScoreError:
    return ScoreError(
        f"this is no target that can be scored: {what}", where=where, hint=hint, code="score-target"
    )
