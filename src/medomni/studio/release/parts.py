"""What decides the numbers of a pinned pair, as parsed values: cohort, targets, scoring, labels, recipes.

Comments, layout and the order of keys are free, and so is what decides no number: a template's statement and
authors, and `notes`. A recipe's or label's own text decides.

Leaves to others: whether the files are right (`checking`), and comparing (`check`).

Source: RFC 8785 and FIPS 180-4 for the digests (`core.hashing.canonical_digest`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from medomni.core.files import read_yaml
from medomni.core.hashing import canonical_digest
from medomni.core.names import Pair
from medomni.core.workspace import Workspace
from medomni.studio.config_files import PairConfig

# How a missing or unusable answer is scored: the worst that its metric knows. Another rule would be another
# scoring of every pair.
MISSING_ANSWERS = "worst-case"
_FREE = ("notes",)
_ANSWER = ("type", "classes", "unit", "range", "decimals")


@dataclass(frozen=True)
class PartValue:
    """One part of a pair: the file that it stands in, relative to the workspace, and its parsed value."""

    file: str
    value: Any

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the value's canonical JSON."""
        return canonical_digest(self.value)


@dataclass(frozen=True, slots=True)
class PairParts:
    """A pair as its files define it now; `version` is N."""

    pair: Pair
    version: int
    dataset_release: str
    cohort: PartValue
    targets: PartValue
    scoring: PartValue
    labels: Mapping[str, PartValue]
    recipes: Mapping[str, PartValue]

    @property
    def named(self) -> dict[str, PartValue]:
        """Every part by what people call it."""
        return {
            "cohort": self.cohort,
            "targets": self.targets,
            "scoring": self.scoring,
            **{f"label {name}": each for name, each in self.labels.items()},
            **{f"recipe {name}": each for name, each in self.recipes.items()},
        }

    def digests(self) -> dict[str, Any]:
        """The row of a release lock, but for the config hashes."""
        return {
            "version": self.version,
            "dataset_release": self.dataset_release,
            "cohort": self.cohort.digest,
            "targets": self.targets.digest,
            "scoring": self.scoring.digest,
            "labels": {name: each.digest for name, each in sorted(self.labels.items())},
            "recipes": {name: each.digest for name, each in sorted(self.recipes.items())},
        }


@dataclass(slots=True)
class PartValues:
    """Parsed files of one workspace, each read once however many pairs reach it."""

    workspace: Workspace
    _read: dict[Path, PartValue] = field(default_factory=dict)

    def of(self, path: Path) -> PartValue:
        """A label or recipe.

        Raises:
            DocumentError: It cannot be read.
        """
        if path not in self._read:
            self._read[path] = PartValue(self.workspace.relative(path), _with_query(path))
        return self._read[path]


def pair_parts(values: PartValues, pair: Pair, found: PairConfig) -> PairParts:
    """The parts of a pair whose files are right.

    Args:
        values: The labels and recipes read so far.
        pair: The pair.
        found: Its config files, under any arm.

    Raises:
        DocumentError: A file cannot be read.
    """
    workspace = values.workspace
    dataset = workspace.dataset(found.dataset)
    template_file = workspace.template(found.dataset, pair.template) / "template.yaml"
    template = read_yaml(template_file).value
    cohort_file = workspace.cohort(found.dataset, pair)
    cohort = read_yaml(cohort_file).value
    sources = [file.source for file in found.files if file.source.suffix == ".yaml"]
    labels = {path.stem: values.of(path) for path in sources if path.parent == dataset / "labels"}
    recipes = {path.stem: values.of(path) for path in sources if path.parent == dataset / "recipes"}
    place = workspace.relative(template_file)
    drawn = {key: each for key, each in cohort.items() if key not in ("version", "release", *_FREE)}
    return PairParts(
        pair=pair,
        version=cohort["version"],
        dataset_release=found.dataset_release,
        cohort=PartValue(workspace.relative(cohort_file), drawn),
        targets=PartValue(place, {"targets": template["targets"]}),
        scoring=PartValue(place, _scoring(template["targets"], labels)),
        labels=labels,
        recipes=recipes,
    )


def _scoring(targets: list[dict[str, Any]], labels: Mapping[str, PartValue]) -> dict[str, Any]:
    """The metric of each target, its classes or range and unit, and the rule for missing answers."""
    answers = {}
    for target in targets:
        label = labels[target["label"]].value
        answers[target["name"]] = {
            "metric": target["metric"],
            **{key: label[key] for key in _ANSWER if key in label},
        }
    return {"missing_answers": MISSING_ANSWERS, "targets": answers}


def _with_query(path: Path) -> Any:
    """A label's or recipe's value, and with it the text of the query that it may name."""
    value = {key: each for key, each in read_yaml(path).value.items() if key not in _FREE}
    query = value.get("sql")
    if isinstance(query, str):
        value["sql"] = {query: (path.parent / query).read_text(encoding="utf-8")}
    return value
