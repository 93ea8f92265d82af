"""Makes new files: looks up what parameters name, checks the texts by their schemas, writes them all or none.

Leaves to others: the texts (`texts`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from medomni.core import contracts
from medomni.core.errors import InvalidNameError, WriteError
from medomni.core.files import parse_yaml, write_atomic
from medomni.core.issues import IssuesError
from medomni.core.names import Pair, check_dotted, check_id
from medomni.core.workspace import Workspace
from medomni.studio.checking.definitions import FILL_IN
from medomni.studio.config_files import dataset_of
from medomni.studio.definitions.library import Library, open_library
from medomni.studio.definitions.reading import schema_text
from medomni.studio.definitions.templates import FOR_SCORES, read_template
from medomni.studio.errors import CohortError, UnknownDefinitionError
from medomni.studio.recipe.catalog import unknown
from medomni.studio.recipe.model import Label, Predicate
from medomni.studio.scaffold import texts

_KINDS = {"template.yaml": "task-template", "dataset.yaml": "dataset", "tables.yaml": "tables"}
_KINDS_BY_FOLDER = {"labels": "label", "cohorts": "cohort", "recipes": "recipe"}


def new_template(
    workspace: Workspace, name: str, *, label: str, author: tuple[str, str] | None = None
) -> list[Path]:
    """A template with one target, and its README.

    Args:
        workspace: The workspace.
        name: `<dataset>_<name>`.
        label: A label of the dataset.
        author: Name and GitHub handle.

    Raises:
        InvalidNameError: The name is none, or names no dataset.
        UnknownDefinitionError: There is no such label.
        WriteError: `scaffold-exists`.
        MedomniError: As reading the label.
    """
    library = open_library(workspace, dataset_of(name))
    bound = library.label(label)
    folder = workspace.template(library.dataset.name, name)
    written = texts.template_text(
        name,
        library.dataset.name,
        label=label,
        kind=bound.label.kind,
        table=_table_of(library, bound.label),
        author=author,
    )
    return _write(
        workspace, {folder / "template.yaml": written, folder / "README.md": texts.readme_text(name, label)}
    )


def new_label(
    workspace: Workspace,
    name: str,
    *,
    dataset: str,
    trigger: str,
    answer: texts.AnswerForm,
) -> list[Path]:
    """A label whose candidates are the events of a predicate that a recipe of the dataset has.

    Args:
        workspace: The workspace.
        name: The label's name.
        dataset: Its dataset.
        trigger: The predicate.
        answer: What an answer is.

    Raises:
        UnknownDefinitionError: `scaffold-trigger-unknown`: no recipe has the predicate.
        IssuesError: The parameters do not make a label.
        WriteError: `scaffold-exists`.
    """
    library = open_library(workspace, check_id(dataset, what="dataset"))
    recipe, table = _recipe_with(library, trigger)
    written = texts.label_text(
        check_id(name, what="label"),
        answer=answer,
        releases=[f"{dataset}/{each}" for each in library.dataset.releases],
        recipe=recipe,
        trigger=trigger,
        table=table,
    )
    return _write(workspace, {workspace.label(dataset, name): written})


def new_cohort(
    workspace: Workspace, name: str, *, template: str, release: str, n: int | None, per: int | None = None
) -> list[Path]:
    """A cohort of a template, in the strata that its first label suggests.

    Args:
        workspace: The workspace.
        name: The cohort's name.
        template: The template.
        release: `<dataset>/<release>`.
        n: How many patients; None for all.
        per: Patients of each stratum; n divided by the strata where absent.

    Raises:
        UnknownDefinitionError: There is no such template, or release (`release-unknown`).
        CohortError: `cohort-draw`: n is not that of the strata.
        WriteError: `scaffold-exists`.
        MedomniError: As reading the template.
    """
    library = open_library(workspace, dataset_of(template))
    read = read_template(library, template)
    label = library.label(read.targets[0].label).label
    known = [f"{library.dataset.name}/{each}" for each in library.dataset.releases]
    if release not in known:
        problem = unknown("release", release, known)
        raise UnknownDefinitionError(problem.what, hint=problem.hint, code="release-unknown")
    kind = library.dataset.releases[release.partition("/")[2]].release_class
    strata, parts = _strata(label, n)
    if n is not None and per is None:
        # Strata that n does not divide into are left to the author.
        strata, per = (strata, n // parts) if n % parts == 0 and n >= parts else ("", None)
    elif n is not None and per is not None and parts * per != n:
        what = f"{parts} strata of {per} are not {n}"
        raise CohortError(what, hint=f"give --n {parts * per}, or leave --per out", code="cohort-draw")
    note = "" if kind == "real" and name in FOR_SCORES else "Not for scores."
    written = texts.cohort_text(
        check_id(name, what="cohort"),
        release=release,
        unit=str(library.catalog.patients.patient),
        n=n,
        strata=strata,
        per=per if n is not None else None,
        note=note,
    )
    return _write(workspace, {workspace.cohort(library.dataset.name, Pair(template, name)): written})


def new_dataset(
    workspace: Workspace,
    name: str,
    *,
    title: str,
    release: str,
    release_class: str = "real",
    access: str = "credentialed",
    licence: str = "",
) -> list[Path]:
    """A dataset with one release and two tables to begin with.

    Raises:
        InvalidNameError: The name is none; it holds an underscore (`dataset-name-underscore`).
        IssuesError: The parameters do not make a dataset.
        WriteError: `scaffold-exists`.
    """
    folder = workspace.dataset(name)
    if "_" in name:
        raise InvalidNameError(
            f"{name} holds an underscore, which stands between a dataset and its templates",
            hint="use hyphens",
            code="dataset-name-underscore",
        )
    made = texts.dataset_texts(
        name,
        title=title,
        release=check_dotted(release, what="release"),
        release_class=release_class,
        access=access,
        licence=licence or f"{FILL_IN}: the licence",
    )
    return _write(workspace, {folder / path: text for path, text in made.items()})


def _strata(label: Label, n: int | None) -> tuple[str, int]:
    """How the draw is divided, and into how many parts."""
    if label.kind == "number":
        return ("", 1) if n is None else ("by: value, quantile: 5", 5)
    parts = 2 if label.kind == "binary" else len(label.classes)
    return f"by: label, classes: {texts.listed([str(each) for each in range(parts)])}", parts


def _table_of(library: Library, label: Label) -> str:
    """The table of a label's candidates; the patients' where they come of no table."""
    event = label.events.get(label.trigger)
    return event.table if isinstance(event, Predicate) else library.catalog.patients.name


def _recipe_with(library: Library, trigger: str) -> tuple[str, str]:
    """The recipe that has a predicate, and the predicate's table."""
    known: dict[str, tuple[str, str]] = {}
    folder = library.workspace.dataset(library.dataset.name) / "recipes"
    for path in sorted(folder.glob("*.yaml")):
        if path.stem in ("tables", "families"):
            continue
        for name, event in library.recipe(path.stem).items():
            if isinstance(event, Predicate):
                known[name] = (path.stem, event.table)
    if trigger not in known:
        problem = unknown("predicate", trigger, sorted(known))
        raise UnknownDefinitionError(problem.what, hint=problem.hint, code="scaffold-trigger-unknown")
    return known[trigger]


def _write(workspace: Workspace, files: Mapping[Path, str]) -> list[Path]:
    """Write new files, once all of them are found to be free and right."""
    there = [workspace.relative(path) for path in files if path.exists()]
    if there:
        raise WriteError(
            f"{there[0]} is there already", where=there[0], hint="take another name", code="scaffold-exists"
        )
    for path, text in files.items():
        if path.suffix == ".yaml":
            _refuse_wrong(path, text)
    try:
        for path in files:
            path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        why = failure.strerror or str(failure)
        raise WriteError(f"the folder cannot be made: {why}", where=str(failure.filename)) from failure
    for path, text in files.items():
        write_atomic(path, text)
    return list(files)


def _refuse_wrong(path: Path, text: str) -> None:
    kind = _KINDS.get(path.name) or ("families" if path.name == "families.yaml" else "")
    kind = kind or _KINDS_BY_FOLDER[path.parent.name]
    issues = contracts.check(kind, schema_text(kind), parse_yaml(text, name=str(path)))
    if issues:
        raise IssuesError(f"these parameters make no {kind}", issues=issues, where=str(path))
