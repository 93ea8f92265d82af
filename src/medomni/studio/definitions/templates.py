"""Templates and their cohorts from files to typed objects, checked against labels, releases and each other.

Leaves to others: drawing (`medomni.studio.select`), building.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from medomni.core.issues import Issue, IssuesError
from medomni.core.names import Pair
from medomni.studio.definitions.families import family_names
from medomni.studio.definitions.library import Library
from medomni.studio.definitions.reading import Reading
from medomni.studio.errors import UnknownDefinitionError
from medomni.studio.recipe.model import Label
from medomni.studio.recipe.origins import origin

METRIC_OF = {"binary": "auc", "ordinal": "qwk", "number": "mae"}
# Cohorts whose scores count; they need a real release.
FOR_SCORES = ("n20", "ladder")
_QUANTILE = re.compile(r"quantile\(\s*([a-z][a-z0-9_]*)\s*,\s*(\d{1,2})\s*\)")
# What strata go by where they name no target: the first one's answer.
_FIRST = ("label", "value")


@dataclass(frozen=True, slots=True)
class Target:
    """One answer of a template: which label, how it is scored."""

    name: str
    label: str
    metric: str
    question: str | None = None


@dataclass(frozen=True, slots=True)
class Template:
    """A template as it stands in its file.

    Attributes:
        tables, families, exclude: Records of what the proposal named; they decide nothing.
        environment: What an agent's run gets: cpus, memory_mb, internet and two timeouts.
    """

    name: str
    dataset: str
    authors: tuple[tuple[str, str], ...]
    targets: tuple[Target, ...]
    tables: tuple[str, ...]
    families: tuple[str, ...]
    exclude: tuple[str, ...]
    statement: str
    instruction: str
    environment: Mapping[str, Any]
    submission_path: str


@dataclass(frozen=True, slots=True)
class Cohort:
    """Which patients of which release a pair takes.

    Attributes:
        n: How many; None for all.
        classes: Strata by class; None where there are none.
        quantiles: Strata by quantile of the answer.
        per: Patients of each stratum.
        match: Name and caliper: each positive gets the nearest negative.
        prefer: Name and values, the preferred first.
        strata_label: The label by whose answer the strata go; None for the first target's.
    """

    name: str
    version: int
    release: str
    unit: str
    n: int | None
    classes: tuple[int, ...] | None = None
    quantiles: int | None = None
    per: int | None = None
    match: tuple[str, Decimal] | None = None
    prefer: tuple[str, tuple[Any, ...]] | None = None
    require_families: tuple[str, ...] = ()
    report: tuple[str, ...] = ()
    strata_label: str | None = None


def read_template(library: Library, name: str) -> Template:
    """A template.

    Raises:
        UnknownDefinitionError: There is none.
        DocumentError: Its file is no readable YAML.
        IssuesError: With every problem of the file, and of its targets against the labels.
    """
    folder = library.workspace.template(library.dataset.name, name)
    if not folder.is_dir():
        known = ", ".join(template_names(library)) or "none"
        raise UnknownDefinitionError(
            f"there is no template {name!r}", where=str(folder), hint=f"there are: {known}"
        )
    reading = Reading("task-template", folder / "template.yaml")
    if reading.sound:
        reading.named("template_id", name)
        reading.named("dataset", library.dataset.name)
        if not name.startswith(f"{library.dataset.name}_"):
            what = f"a template of {library.dataset.name} is called {library.dataset.name}_<name>"
            reading.fault(("template_id",), "task-template-name", what)
        _check_targets(reading, library)
        _check_input(reading, library)
    reading.refuse()
    return _template(reading.value)


def template_names(library: Library) -> list[str]:
    """The names of all templates of a dataset, sorted."""
    tasks = library.workspace.dataset(library.dataset.name) / "tasks"
    return sorted(path.parent.name for path in tasks.glob("*/template.yaml"))


def cohort_names(library: Library, template: str) -> list[str]:
    """The names of a template's cohorts, sorted."""
    folder = library.workspace.template(library.dataset.name, template) / "cohorts"
    return sorted(path.stem for path in folder.glob("*.yaml"))


def _template(value: Mapping[str, Any]) -> Template:
    given, agent = value["input"], value["agent"]
    return Template(
        name=value["template_id"],
        dataset=value["dataset"],
        authors=tuple((each["name"], each["github"]) for each in value["authors"]),
        targets=tuple(
            Target(each["name"], each["label"], each["metric"], each.get("question"))
            for each in value["targets"]
        ),
        tables=tuple(given.get("tables", ())),
        families=tuple(given.get("families", ())),
        exclude=tuple(value.get("exclude", ())),
        statement=agent["statement"],
        instruction=agent["instruction"],
        environment=agent["environment"],
        submission_path=agent["submission_path"],
    )


def _check_targets(reading: Reading, library: Library) -> None:
    seen: set[str] = set()
    first: Label | None = None
    for index, target in enumerate(reading.value["targets"]):
        path = ("targets", index)
        if target["name"] in seen:
            reading.fault((*path, "name"), "template-target", f"two targets are called {target['name']!r}")
        seen.add(target["name"])
        try:
            label = library.label(target["label"]).label
        except UnknownDefinitionError as failure:
            reading.fault((*path, "label"), "template-label-unknown", failure.what, failure.hint)
            continue
        except IssuesError as failure:
            reading.fault(
                (*path, "label"), "template-label-invalid", failure.what, "see the label's problems"
            )
            reading.issues.extend(failure.issues)
            continue
        first = first if first is not None else label
        if origin(label) != origin(first):
            what = f"{first.name!r} and {label.name!r} are not asked at the same moments"
            hint = "the labels of one template need the same trigger and the same index"
            reading.fault((*path, "label"), "template-candidates", what, hint)
        wanted = METRIC_OF[label.kind]
        if target["metric"] != wanted:
            what = f"the label {label.name!r} is {label.kind}: its metric is {wanted}, not {target['metric']}"
            reading.fault((*path, "metric"), "template-metric", what)


def _check_input(reading: Reading, library: Library) -> None:
    given = reading.value["input"]
    for index, table in enumerate(given.get("tables", ())):
        if table not in library.dataset.tables:
            what = f"{library.dataset.name} has no table {table!r}"
            reading.fault(("input", "tables", index), "template-table-unknown", what)
    path = library.workspace.recipe(library.dataset.name, "families")
    known = family_names(path) if path.is_file() else None
    for index, family in enumerate(given.get("families", ())):
        if known is not None and family not in known:
            what = f"{library.dataset.name} has no family {family!r}"
            reading.fault(("input", "families", index), "template-family-unknown", what)


def read_cohort(library: Library, pair: Pair, label: Label) -> Cohort:
    """The cohort of a pair.

    Raises:
        UnknownDefinitionError: There is none.
        DocumentError: Its file is no readable YAML.
        IssuesError: With every problem of the file, and of what it asks of the label.
    """
    reading = Reading("cohort", library.workspace.cohort(library.dataset.name, pair))
    strata_label = None
    if reading.sound:
        reading.named("cohort", pair.cohort)
        targets = read_template(library, pair.template).targets
        labels = {target.label: library.label(target.label).label for target in targets}
        for each in {label.name: label, **labels}.values():
            _check_release(reading, library, each)
        strata_label = _strata_label(reading, targets)
        _check_draw(reading, labels[strata_label] if strata_label else label)
    reading.refuse()
    return _cohort(reading.value, strata_label)


def _strata_label(reading: Reading, targets: tuple[Target, ...]) -> str | None:
    """The label of the target (or the label itself) that the strata name; None for the first target's."""
    by = reading.value.get("strata", {}).get("by", "label")
    found = _QUANTILE.fullmatch(by)
    name = found.group(1) if found else by
    if name in _FIRST:
        return None
    for target in targets:
        if name in (target.name, target.label):
            return target.label
    known = ", ".join(target.name for target in targets)
    what = f"strata go by label, value, a target ({known}), or quantile(value, k)"
    reading.fault(("strata", "by"), "cohort-strata", what)
    return None


def _cohort(value: Mapping[str, Any], strata_label: str | None) -> Cohort:
    strata, match, prefer = value.get("strata", {}), value.get("match"), value.get("prefer")
    quantiles = _quantiles(strata)
    classes = strata.get("classes")
    return Cohort(
        name=value["cohort"],
        version=value["version"],
        release=value["release"],
        unit=value["unit"],
        n=None if value["n"] == "all" else value["n"],
        classes=tuple(int(each) for each in classes) if classes and not quantiles else None,
        quantiles=quantiles,
        per=strata.get("per"),
        # The shortest text of a binary fraction is what was written: a distance of 0.3 is within 0.3.
        match=(match["on"], Decimal(str(match["caliper"]))) if match else None,
        prefer=(prefer["column"], tuple(map(_exact, prefer["order"]))) if prefer else None,
        require_families=tuple(value.get("require_families", ())),
        report=tuple(value.get("report", ())),
        strata_label=strata_label,
    )


def _exact(value: Any) -> Any:
    return Decimal(str(value)) if isinstance(value, float) else value


def _quantiles(strata: Mapping[str, Any]) -> int | None:
    found = _QUANTILE.fullmatch(str(strata.get("by", "")))
    number = int(found.group(2)) if found else strata.get("quantile")
    return int(number) if number else None


def _check_release(reading: Reading, library: Library, label: Label) -> None:
    release = reading.value["release"]
    dataset, _, name = release.partition("/")
    if dataset != library.dataset.name or name not in library.dataset.releases:
        known = ", ".join(f"{library.dataset.name}/{each}" for each in library.dataset.releases)
        reading.fault(("release",), "cohort-release", f"there is no release {release}", f"known: {known}")
        return
    if release not in label.releases:
        what = f"the label {label.name!r} is not defined for {release}"
        reading.fault(("release",), "cohort-release", what)
    kind = library.dataset.releases[name].release_class
    if reading.value["cohort"] in FOR_SCORES and kind != "real":
        what = f"{release} is a {kind} release, not for scores: {reading.value['cohort']} needs a real one"
        reading.fault(("release",), "cohort-release", what)


def _check_draw(reading: Reading, label: Label) -> None:
    value = reading.value
    if value["pick"]["per"] != value["unit"]:
        reading.fault(("pick", "per"), "cohort-pick", f"pick.per must be the unit, {value['unit']!r}")
    strata = value.get("strata", {})
    if strata:
        _check_strata(reading, label, strata)
    per = strata.get("per")
    if value["n"] == "all":
        for key, given in (("per", per), ("match", value.get("match"))):
            if given is not None:
                reading.fault(("n",), "cohort-draw", f"n: all takes everyone: remove {key}")
        return
    if strata and per is None:
        reading.fault(("strata",), "cohort-draw", "strata need `per`, unless n is all")
    elif strata:
        parts = _quantiles(strata) or len(strata.get("classes", ()))
        if parts * per != value["n"]:
            reading.fault(("n",), "cohort-draw", f"{parts} strata of {per} are not {value['n']}")
    two = {int(each) for each in strata.get("classes", ())} == {0, 1}
    if "match" in value and (label.kind != "binary" or not two):
        reading.fault(("match",), "cohort-draw", "matching pairs the two classes of a binary label")


def _check_strata(reading: Reading, label: Label, strata: Mapping[str, Any]) -> None:
    by, quantiles = strata["by"], _quantiles(strata)
    if _QUANTILE.fullmatch(by) and strata.get("quantile", quantiles) != quantiles:
        reading.fault(("strata", "quantile"), "cohort-strata", f"{by} is not {strata['quantile']} quantiles")
    if quantiles is not None:
        if not 2 <= quantiles <= 20 or "classes" in strata or label.kind != "number":
            what = "2 to 20 quantiles of a label of type number, without classes"
            reading.fault(("strata",), "cohort-strata", what)
        return
    if "classes" not in strata:
        reading.fault(("strata",), "cohort-strata", "strata need classes or quantiles")
        return
    if label.kind == "number":
        reading.fault(("strata", "classes"), "cohort-strata", "a label of type number has no classes")
        return
    known = range(2 if label.kind == "binary" else len(label.classes))
    for index, each in enumerate(strata["classes"]):
        if int(each) not in known:
            where = ("strata", "classes", index)
            reading.fault(where, "cohort-strata", f"the label {label.name!r} has no class {each}")
        elif int(each) in [int(other) for other in strata["classes"][:index]]:
            # To YAML, 0 and false are two values.
            where = ("strata", "classes", index)
            reading.fault(where, "cohort-strata", f"class {int(each)} is there twice")


def pair_problems(library: Library, pair: Pair) -> list[Issue]:
    """Every problem of a pair's template, labels and cohort; empty for a good one."""
    problems: list[Issue] = []
    label = None
    try:
        template = read_template(library, pair.template)
        label = library.label(template.targets[0].label).label
    except IssuesError as failure:
        problems.extend(failure.issues)
    if label is not None:
        try:
            read_cohort(library, pair, label)
        except IssuesError as failure:
            problems.extend(failure.issues)
    return problems
