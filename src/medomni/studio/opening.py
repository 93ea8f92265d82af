"""What the commands ask for, found in a workspace: a label, a release, a pair, lists of everything.

Leaves to others: reading files (`definitions`), computing (`labels`, `select`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from medomni.core import contracts
from medomni.core.hashing import task_set_hash
from medomni.core.issues import Issue
from medomni.core.names import Pair, SetName
from medomni.core.workspace import Workspace
from medomni.studio.config_files import LADDER, dataset_of
from medomni.studio.data.store import open_in
from medomni.studio.definitions.families import family_names
from medomni.studio.definitions.library import Library, open_library
from medomni.studio.definitions.templates import cohort_names, read_cohort, read_template, template_names
from medomni.studio.errors import UnknownDefinitionError
from medomni.studio.partition import check_partition
from medomni.studio.recipe.binding import Bound
from medomni.studio.recipe.catalog import unknown
from medomni.studio.select import Selection, select
from medomni.studio.tables import StoredTables


def datasets(workspace: Workspace) -> list[str]:
    """The names of the workspace's datasets, sorted."""
    return sorted(path.parent.name for path in workspace.datasets.glob("*/dataset.yaml"))


def find_label(workspace: Workspace, name: str) -> tuple[str, str]:
    """Dataset and label that `label` or `dataset/label` names.

    Raises:
        UnknownDefinitionError: `label-unknown`, or `label-ambiguous`.
    """
    dataset, _, label = name.rpartition("/")
    known = {
        (each, path.stem)
        for each in datasets(workspace)
        for path in (workspace.dataset(each) / "labels").glob("*.yaml")
    }
    found = sorted(each for each in known if each[1] == label and dataset in ("", each[0]))
    if not found:
        problem = unknown("label", name, sorted({each[1] for each in known}))
        raise UnknownDefinitionError(problem.what, hint=problem.hint, code="label-unknown")
    if len(found) > 1:
        hint = f"write one of {', '.join('/'.join(each) for each in found)}"
        raise UnknownDefinitionError(
            f"several datasets have a label {name!r}", hint=hint, code="label-ambiguous"
        )
    return found[0]


def open_label(workspace: Workspace, name: str, release: str | None) -> tuple[StoredTables, Bound]:
    """A label with a release that it can be computed on: the one named, or the only one imported.

    Raises:
        UnknownDefinitionError: As `find_label`; `release-needed`: none, or several, of the label's releases
        are
            imported.
        StoreError: The release is not imported.
        IssuesError: The label is not right.
    """
    dataset, label = find_label(workspace, name)
    bound = open_library(workspace, dataset).label(label)
    if release is None:
        there = [each for each in bound.label.releases if workspace.imported(each).is_dir()]
        if len(there) != 1:
            what = f"several releases are imported: {', '.join(there)}" if there else "no release is imported"
            hint = "name one with --release" if there else "import one: medomni studio data import --help"
            raise UnknownDefinitionError(
                f"{what} that {label!r} is defined for", hint=hint, code="release-needed"
            )
        release = there[0]
    return StoredTables(open_in(workspace, release)), bound


def open_pair(workspace: Workspace, pair: Pair) -> Library:
    """The library of a pair's dataset.

    Raises:
        InvalidNameError: The pair names no dataset, or an evidence variant that is not built.
        StoreError: There is no such dataset.
    """
    return open_library(workspace, dataset_of(pair.usable().template))


def open_selection(
    workspace: Workspace, pair: Pair, *, memory_limit: str | None = None, threads: int | None = None
) -> Selection:
    """The cohort of a pair, drawn.

    Raises:
        IssuesError: A definition is not right.
        StoreError: The release is not imported.
        CohortError: The cohort cannot be drawn.
    """
    library = open_pair(workspace, pair)
    template = read_template(library, pair.template)
    label = library.label(template.targets[0].label).label
    cohort = read_cohort(library, pair, label)
    store = StoredTables(open_in(workspace, cohort.release))
    return select(
        store,
        library,
        pair,
        template,
        cohort,
        release_class=store.release_class,
        memory_limit=memory_limit,
        threads=threads,
    )


def family_problems(workspace: Workspace, release: str) -> list[Issue]:
    """What is wrong with the families of a release's dataset, by themselves and against its rows.

    Raises:
        StoreError: The release is not imported.
        LabelError: A query fails.
    """
    store = StoredTables(open_in(workspace, release))
    return check_partition(store, open_library(workspace, store.store.dataset.name))


def listing(workspace: Workspace, what: str) -> list[dict[str, Any]]:
    """Templates, cohorts, labels, families or sets, as plain data.

    Raises:
        IssuesError: A definition is not right.
    """
    if what == "sets":
        return _sets(workspace)
    found = []
    for dataset in datasets(workspace):
        library = open_library(workspace, dataset)
        found += {"templates": _templates, "cohorts": _cohorts, "labels": _labels, "families": _families}[
            what
        ](library)
    return found


def _templates(library: Library) -> list[dict[str, Any]]:
    found = []
    for name in template_names(library):
        template = read_template(library, name)
        ladder = library.workspace.template_arm(template.dataset, name, LADDER)
        found.append(
            {
                "template_id": name,
                "dataset": template.dataset,
                "targets": [
                    {"name": each.name, "label": each.label, "metric": each.metric}
                    for each in template.targets
                ],
                "cohorts": cohort_names(library, name),
                "ladder": ladder.is_file(),
            }
        )
    return found


def _cohorts(library: Library) -> list[dict[str, Any]]:
    found = []
    for name in template_names(library):
        label = library.label(read_template(library, name).targets[0].label).label
        for cohort in cohort_names(library, name):
            read = read_cohort(library, Pair(name, cohort), label)
            found.append({"pair": f"{name}@{cohort}", "version": read.version, "release": read.release})
    return found


def _labels(library: Library) -> list[dict[str, Any]]:
    found = []
    for name in library.labels():
        label = library.label(name).label
        found.append(
            {
                "label": name,
                "dataset": label.dataset,
                "version": label.version,
                "type": label.kind,
                "releases": list(label.releases),
            }
        )
    return found


def _families(library: Library) -> list[dict[str, Any]]:
    path: Path = library.workspace.recipe(library.dataset.name, "families")
    names = sorted(family_names(path)) if path.is_file() else []
    return [{"family": name, "dataset": library.dataset.name} for name in names]


def _sets(workspace: Workspace) -> list[dict[str, Any]]:
    found = []
    for path in sorted(workspace.benchmarks.glob("*/sets/*.yaml")):
        value = contracts.load("task-set", path)
        entries = [(entry["task"], entry["version"]) for entry in value["tasks"]]
        found.append(
            {
                "set": str(SetName(path.parent.parent.name, path.stem)),
                "description": value.get("description"),
                "builder": value["builder"],
                "arms": value["arms"],
                "tasks": value["tasks"],
                "task_set_hash": task_set_hash(entries),
            }
        )
    return found
