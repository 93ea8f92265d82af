"""The library of a dataset: its labels with everything that they reach, checked together.

A label is only given out when it is right: all problems of its file, of the recipes that it imports, and of
its names against the tables are found at once.

Leaves to others: templates and cohorts (`templates`), and running a label (`medomni.studio.labels`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from medomni.core.files import JsonPath
from medomni.core.issues import Issue, IssuesError
from medomni.core.workspace import Workspace
from medomni.studio.data.definitions import Dataset, load_dataset
from medomni.studio.definitions.families import family_names
from medomni.studio.definitions.guards import guard_problems
from medomni.studio.definitions.labels import LabelReading, read_recipe
from medomni.studio.errors import RecipeError, UnknownDefinitionError
from medomni.studio.recipe.binding import Bound, bind
from medomni.studio.recipe.catalog import Catalog
from medomni.studio.recipe.model import Event

_TRIGGER: JsonPath = ("trigger",)


@dataclass(slots=True)
class Library:
    """Labels and recipes of one dataset, read when they are asked for."""

    workspace: Workspace
    dataset: Dataset
    _recipes: dict[str, Mapping[str, Event]] = field(default_factory=dict)
    _labels: dict[str, Bound] = field(default_factory=dict)

    @property
    def catalog(self) -> Catalog:
        """The dataset's tables."""
        return Catalog(self.dataset.tables)

    def recipe(self, name: str) -> Mapping[str, Event]:
        """The predicates of a recipe.

        Raises:
            UnknownDefinitionError: There is none of that name.
            IssuesError: With every problem of its file.
        """
        if name not in self._recipes:
            self._recipes[name] = read_recipe(self.workspace.recipe(self.dataset.name, name))
        return self._recipes[name]

    def label(self, name: str) -> Bound:
        """A label, checked.

        Raises:
            UnknownDefinitionError: There is none of that name.
            DocumentError: Its file is no readable YAML.
            IssuesError: With every problem of its file and of what it reaches.
        """
        if name not in self._labels:
            path = self.workspace.label(self.dataset.name, name)
            found, issues = self._read(path)
            if found is None:
                raise IssuesError(
                    f"the label {name!r} cannot be used: {len(issues)} problems",
                    issues=issues,
                    where=str(path),
                )
            self._labels[name] = found
        return self._labels[name]

    def families(self) -> frozenset[str]:
        """The names of the dataset's families, unchecked; none where their file is missing.

        Raises:
            DocumentError: Their file is no readable YAML.
        """
        path = self.workspace.recipe(self.dataset.name, "families")
        return family_names(path) if path.is_file() else frozenset()

    def labels(self) -> list[str]:
        """The names of all labels, sorted."""
        return sorted(
            path.stem for path in (self.workspace.dataset(self.dataset.name) / "labels").glob("*.yaml")
        )

    def label_problems(self, name: str) -> list[Issue]:
        """Every problem of a label; empty for a good one."""
        return self._read(self.workspace.label(self.dataset.name, name))[1]

    def _read(self, path: object) -> tuple[Bound | None, list[Issue]]:
        problems: list[Issue] = []

        def imports(recipe: str) -> Mapping[str, Event]:
            try:
                return self.recipe(recipe)
            except IssuesError as failure:
                problems.extend(failure.issues)
            except UnknownDefinitionError as failure:
                reading_issues.append(failure)
            return {}

        reading_issues: list[UnknownDefinitionError] = []
        reading = LabelReading(path, self.dataset.name, imports)  # type: ignore[arg-type]
        for failure in reading_issues:
            reading.fault(("imports",), failure.code, failure.what, failure.hint)
        self._check_releases(reading)
        label = reading.label
        if label is None or problems:
            return None, [*problems, *reading.issues]
        told: list[tuple[JsonPath, RecipeError]] = []
        found = bind(label, self.catalog, lambda place, problem: told.append((place, problem)))
        for place, problem in _told_once(told):
            reading.tell(place, problem)
        for index, guard in enumerate(label.guards):
            for problem in guard_problems(guard, self.catalog, self.families):
                reading.tell(("guards", index), problem)
        return (found if not reading.issues else None), reading.issues

    def _check_releases(self, reading: LabelReading) -> None:
        if not isinstance(reading.value, dict) or not reading.sound:
            return
        for index, release in enumerate(reading.value["requires"]["releases"]):
            name = release.partition("/")[2]
            if release.startswith(f"{self.dataset.name}/") and name not in self.dataset.releases:
                known = ", ".join(self.dataset.releases)
                where = ("requires", "releases", index)
                reading.fault(where, "release-unknown", f"there is no release {release}", f"known: {known}")


def _told_once(told: list[tuple[JsonPath, RecipeError]]) -> Iterator[tuple[JsonPath, RecipeError]]:
    """The problems without those of the trigger that its predicate has already."""
    elsewhere = {(problem.code, problem.what) for place, problem in told if place != _TRIGGER}
    for place, problem in told:
        if place != _TRIGGER or (problem.code, problem.what) not in elsewhere:
            yield place, problem


def open_library(workspace: Workspace, dataset: str) -> Library:
    """The library of a dataset of the workspace.

    Raises:
        StoreError: `dataset-unknown`.
        IssuesError: The dataset's own definitions are not right.
    """
    return Library(workspace, load_dataset(workspace, dataset))
