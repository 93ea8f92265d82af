"""A pair's files, looked at all at once: template, labels, cohort, recipes, arms.

Leaves to others: what was built (`built`), and what the files mean (`medomni.studio.definitions`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from medomni.core.errors import MedomniError
from medomni.core.files import Document, JsonPath, read_yaml
from medomni.core.issues import Issue, IssuesError, error
from medomni.core.names import Pair
from medomni.core.workspace import Workspace
from medomni.studio.checking.arms import arm_names, arm_problems, variants_of
from medomni.studio.checking.parts import Part, file_of, part
from medomni.studio.config_files import config_files, line_ending_issues
from medomni.studio.definitions.families import family_names, read_families
from medomni.studio.definitions.library import Library
from medomni.studio.definitions.reading import Reading
from medomni.studio.definitions.templates import Cohort, Template, read_cohort, read_template
from medomni.studio.evidence.checking import evidence_problems
from medomni.studio.recipe.catalog import unknown

# What a scaffold writes where only its author knows what belongs there.
FILL_IN = "FILL IN"


@dataclass(slots=True)
class DefinitionCheck:
    """A pair's files while they are looked at.

    Attributes:
        template, cohort: None where they cannot be read.
        issues: By the part that they belong to.
    """

    library: Library
    pair: Pair
    template: Template | None = None
    cohort: Cohort | None = None
    labels: list[str] = field(default_factory=list)
    recipes: list[str] = field(default_factory=list)
    arms: list[str] = field(default_factory=list)
    issues: dict[str, list[Issue]] = field(default_factory=dict)

    @property
    def workspace(self) -> Workspace:
        """The workspace of the files."""
        return self.library.workspace

    def parts(self) -> list[Part]:
        """What was found, part by part."""
        told = {
            "template": self.pair.template,
            "cohort": f"v{self.cohort.version} on {self.cohort.release}" if self.cohort else "",
            "labels": ", ".join(self.labels),
            "recipes": ", ".join(self.recipes),
            "arms": ", ".join(self.arms),
        }
        return [part(name, self.issues.get(name, ()), words) for name, words in told.items()]

    def attempt[T](self, name: str, read: Callable[[], T]) -> T | None:
        """What `read` gives; None, and its problems kept under the part, where it fails."""
        try:
            return read()
        except MedomniError as failure:
            self.tell(name, issues_of(failure))
            return None

    def tell(self, name: str, issues: Iterable[Issue]) -> None:
        """Keep problems under the part whose file they are in, `name` where it is no other's."""
        content = self.workspace.dataset(self.library.dataset.name)
        for issue in issues:
            file = Path(file_of(issue))
            folder = file.parent if file.is_absolute() else self.workspace.root / file.parent
            own = {content / "labels": "labels", content / "recipes": "recipes"}.get(folder, name)
            self.issues.setdefault(own, []).append(issue)


def issues_of(failure: MedomniError) -> list[Issue]:
    """The problems that an error tells of."""
    if isinstance(failure, IssuesError):
        return failure.issues
    return [error(failure.code, failure.where, failure.what, failure.hint)]


def check_definitions(library: Library, pair: Pair, *, families_are_right: bool = False) -> DefinitionCheck:
    """Look at every file that decides a pair, and go on past what is wrong.

    Args:
        library: The pair's dataset.
        pair: The pair.
        families_are_right: Whether the dataset's families are known to be, from another pair of it.
    """
    check = DefinitionCheck(library, pair)
    check.template = check.attempt("template", lambda: read_template(library, pair.template))
    _check_cohort(check)
    _check_recipes(check, families_are_right)
    _check_arms(check)
    for name, path in _own_files(check):
        check.tell(name, _unfinished(path))
    return check


def _check_cohort(check: DefinitionCheck) -> None:
    library, pair = check.library, check.pair
    if check.template is None:
        # Its form can be looked at without the label that it draws from.
        check.attempt("cohort", lambda: _form_of_cohort(library, pair))
        return
    first = check.template.targets[0].label
    check.cohort = check.attempt("cohort", lambda: read_cohort(library, pair, library.label(first).label))
    if check.cohort is None or not check.cohort.require_families:
        return
    path = library.workspace.recipe(library.dataset.name, "families")
    known = check.attempt("recipes", lambda: family_names(path)) or ()
    for family in check.cohort.require_families:
        if family not in known:
            problem = unknown("family", family, sorted(known))
            where = str(library.workspace.cohort(library.dataset.name, pair))
            check.tell("cohort", [error("cohort-family-unknown", where, problem.what, problem.hint)])


def _form_of_cohort(library: Library, pair: Pair) -> None:
    reading = Reading("cohort", library.workspace.cohort(library.dataset.name, pair))
    if reading.sound:
        reading.named("cohort", pair.cohort)
    reading.refuse()


def _check_recipes(check: DefinitionCheck, families_are_right: bool) -> None:
    library = check.library
    path = library.workspace.recipe(library.dataset.name, "families")
    if not families_are_right:
        families = check.attempt("recipes", lambda: read_families(path, library.catalog))
        tables = library.workspace.recipe(library.dataset.name, "tables")
        if families is not None:
            problems = evidence_problems(library.catalog, families)
            check.tell("recipes", [replace(each, where=f"{tables}, {each.where}") for each in problems])
    check.recipes = ["tables", "families"]
    for target in check.template.targets if check.template else ():
        label = library.label(target.label).label
        if label.name not in check.labels:
            check.labels.append(label.name)
        check.recipes += [name for name in label.imports if name not in check.recipes]


def _check_arms(check: DefinitionCheck) -> None:
    check.arms = arm_names(check.workspace, check.pair)
    for arm in check.arms:
        problems = arm_problems(check.workspace, check.pair, arm)
        check.tell("arms", problems)
        for variant in [] if problems else variants_of(check.workspace, check.pair, arm):
            try:
                found = config_files(check.workspace, check.pair, arm=arm, variant=variant)
            except MedomniError as failure:
                if not any(check.issues.values()):
                    check.tell("arms", issues_of(failure))
                continue
            check.tell("arms", line_ending_issues(found.files))


def _own_files(check: DefinitionCheck) -> Iterator[tuple[str, Path]]:
    """The files that the author of this pair writes, as far as they are there."""
    workspace, dataset = check.workspace, check.library.dataset.name
    files = [
        ("recipes", workspace.dataset(dataset) / "dataset.yaml"),
        ("template", workspace.template(dataset, check.pair.template) / "template.yaml"),
        ("cohort", workspace.cohort(dataset, check.pair)),
        *(("labels", workspace.label(dataset, name)) for name in check.labels),
        *(("recipes", workspace.recipe(dataset, name)) for name in check.recipes),
    ]
    yield from ((name, path) for name, path in files if path.is_file())


def _unfinished(path: Path) -> list[Issue]:
    try:
        if FILL_IN.encode() not in path.read_bytes():
            return []
        document = read_yaml(path)
    except MedomniError:
        # Told of already, by whoever read the file.
        return []
    return [
        error(
            "definition-unfinished",
            document.where(where),
            f"this still says {FILL_IN}",
            "write what belongs there",
        )
        for where in _marked(document, document.value, ())
    ]


def _marked(document: Document, value: Any, path: JsonPath) -> Iterator[JsonPath]:
    if isinstance(value, str) and FILL_IN in value:
        yield path
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _marked(document, each, (*path, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _marked(document, each, (*path, index))
