"""Which files decide a pair under an arm, and their config hash. The builder is `medomni-v1`.

They are the template, its cohort, the labels of its targets, the recipes that these import, the recipes that
every task uses (`tables`, `families`), and the arm's definition with its variant. Only the keys that lead
from one file to the next are read here.

Leaves to others: whether the files are right (Studio's checks), the hash itself (`medomni.core.hashing`).

Source: this project's own definition of what `cfg1` covers for `medomni-v1`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medomni.core.errors import InvalidNameError, MedomniError
from medomni.core.files import Document, read_yaml
from medomni.core.hashing import ConfigFile, ConfigHash, cfg1
from medomni.core.issues import Issue, IssuesError, Severity, error
from medomni.core.names import RELEASE_PATTERN, Pair, check_id
from medomni.core.workspace import Workspace

BUILDER = "medomni-v1"
RECIPES_OF_EVERY_TASK = ("tables", "families")
LADDER = "modality-ladder"


@dataclass(frozen=True, slots=True)
class PairConfig:
    """The files that decide a pair under an arm.

    Attributes:
        dataset: The dataset that the template belongs to.
        dataset_release: The data release that the cohort names, `<dataset>/<release>`.
        files: Every config file once, in the order in which it is reached.
    """

    dataset: str
    dataset_release: str
    files: tuple[ConfigFile, ...]


def dataset_of(template: str) -> str:
    """The dataset of a template: `template_id` is `<dataset>_<name>`, and a dataset holds no underscore.

    Raises:
        InvalidNameError: `template-without-dataset`.
    """
    dataset, mark, _ = check_id(template, what="template").partition("_")
    if not mark:
        raise InvalidNameError(
            f"the template {template} names no dataset",
            hint="a template is called <dataset>_<name>",
            code="template-without-dataset",
        )
    return dataset


def config_files(workspace: Workspace, pair: Pair, *, arm: str, variant: str | None = None) -> PairConfig:
    """The files whose bytes the config hash of a pair under an arm covers.

    Args:
        workspace: Where the files lie.
        pair: The pair.
        arm: The arm.
        variant: The arm's variant; needed exactly where the template has variants of the arm.

    Raises:
        InvalidNameError: A name that cannot be one, an evidence variant that is not built.
        IssuesError: Files are not there or cannot be followed; `issues` holds all of it
            (`config-file-missing`, `config-file-invalid`, `arm-variant-missing`, `arm-variant-unknown`).
    """
    reach = _Reach(workspace, pair.usable(), dataset_of(pair.template))
    reach.follow_template()
    release = reach.follow_cohort()
    for recipe in RECIPES_OF_EVERY_TASK:
        reach.add(workspace.recipe(reach.dataset, recipe))
    reach.follow_arm(arm, variant)
    if reach.issues:
        raise IssuesError(
            f"the config files of {pair} under {arm} cannot be found: {len(reach.issues)} problems",
            issues=reach.issues,
            where=str(workspace.root),
        )
    return PairConfig(reach.dataset, release, tuple(reach.files.values()))


def hash_pair(workspace: Workspace, pair: Pair, *, arm: str, variant: str | None = None) -> ConfigHash:
    """The config hash of a pair under an arm, from the workspace's files as they are now.

    Raises:
        MedomniError: As `config_files` and `medomni.core.hashing.cfg1`.

    Source: `medomni.core.hashing.cfg1` over `config_files`.
    """
    found = config_files(workspace, pair, arm=arm, variant=variant)
    return cfg1(
        found.files,
        builder=BUILDER,
        dataset_release=found.dataset_release,
        medomni_release=workspace.release_token,
    )


def line_ending_issues(files: tuple[ConfigFile, ...]) -> list[Issue]:
    """The files with carriage returns, whose bytes and hash differ from a release's in their line ends."""
    return [issue for file in files for issue in crlf_issues(file.path, file.source.read_bytes())]


def crlf_issues(name: str, data: bytes) -> list[Issue]:
    """The problem of a content file whose bytes hold a carriage return, with the first such line."""
    if b"\r" not in data:
        return []
    line = data[: data.index(b"\r")].count(b"\n") + 1
    what = f"{Path(name).name} has CRLF line endings (or a lone CR), and content files have LF"
    hint = "convert it, and keep Git from changing line endings (core.autocrlf): the hash covers every byte"
    return [error("line-endings", f"{name}:{line}", what, hint)]


class _Reach:
    """Follows the files of one pair, collecting what is wrong on the way."""

    def __init__(self, workspace: Workspace, pair: Pair, dataset: str) -> None:
        self.dataset = dataset
        self.files: dict[Path, ConfigFile] = {}
        self.issues: list[Issue] = []
        self._workspace = workspace
        self._pair = pair

    def add(self, path: Path, *, variant: str | None = None) -> bool:
        """Take a file in, or tell that it is not there."""
        relative = self._workspace.relative(path)
        if not path.is_file():
            self.issues.append(error("config-file-missing", relative, f"{relative} does not exist"))
            return False
        self.files.setdefault(path, ConfigFile(relative, path, variant))
        return True

    def follow_template(self) -> None:
        folder = self._workspace.template(self.dataset, self._pair.template)
        template = self._read(folder / "template.yaml")
        if template is None:
            return
        targets = self._list(template, template.value, "targets", dict)
        for index, target in enumerate(targets):
            label = target.get("label")
            if self._is_name(template, ("targets", index, "label"), label):
                self._follow_label(self._workspace.label(self.dataset, str(label)))

    def follow_cohort(self) -> str:
        """The data release that the cohort names."""
        cohort = self._read(self._workspace.cohort(self.dataset, self._pair))
        if cohort is None:
            return ""
        release = cohort.value.get("release")
        if not isinstance(release, str) or not re.fullmatch(RELEASE_PATTERN, release):
            self._tell(cohort, ("release",), "release must be text such as mimic-iv/3.1")
            return ""
        if release.partition("/")[0] != self.dataset:
            what = f"release is {release}, and the template's dataset is {self.dataset}"
            self._tell(cohort, ("release",), what)
        return release

    def follow_arm(self, arm: str, variant: str | None) -> None:
        """Take the arm's definition in, and the template's own part of it: the rungs of a ladder."""
        definition = self._workspace.arm(arm)
        own = self._workspace.template_arm(self.dataset, self._pair.template, arm)
        if own.is_file() or arm == LADDER:
            self.add(definition)
            definition = own
        found = self._read(definition, variant=variant)
        if found is None:
            return
        known = found.value.get("variants", {})
        if not isinstance(known, dict) or (arm == LADDER and not known):
            self._tell(found, ("variants",), "variants must be a mapping from a variant to what it has")
            return
        template, hint = self._pair.template, f"one of {', '.join(map(str, known))}" if known else "name none"
        where = self._workspace.relative(definition)
        if known and variant is None:
            what = f"the arm {arm} has variants of {template}, and none is named"
            self.issues.append(error("arm-variant-missing", where, what, hint))
        elif variant is not None and variant not in known:
            what = f"the arm {arm} has no variant {variant} of {template}"
            self.issues.append(error("arm-variant-unknown", where, what, hint))

    def _follow_label(self, path: Path) -> None:
        if path in self.files:
            return
        label = self._read(path)
        if label is None:
            return
        for index, recipe in enumerate(self._list(label, label.value, "imports", str, needed=False)):
            if self._is_name(label, ("imports", index), recipe):
                self.add(self._workspace.recipe(self.dataset, recipe))
        query = label.value.get("sql")
        if query is not None:
            plain = isinstance(query, str) and re.fullmatch(r"[a-z0-9][a-z0-9_-]*\.sql", query)
            if plain:
                self.add(path.parent / str(query))
            else:
                self._tell(
                    label, ("sql",), "sql must be the name of a file beside the label, such as stage.sql"
                )

    def _read(self, path: Path, *, variant: str | None = None) -> Document | None:
        if not self.add(path, variant=variant):
            return None
        try:
            document = read_yaml(path)
        except MedomniError as failure:
            self.issues.append(Issue(failure.code, Severity.ERROR, failure.where, failure.what, failure.hint))
            return None
        if isinstance(document.value, dict):
            return document
        self._tell(document, (), "the file must be a mapping")
        return None

    def _list(
        self, source: Document, value: Mapping[str, Any], key: str, kind: type, *, needed: bool = True
    ) -> Iterator[Any]:
        items = value.get(key, [])
        if not isinstance(items, list) or not all(isinstance(item, kind) for item in items):
            self._tell(source, (key,), f"{key} must be a list of {'mappings' if kind is dict else 'names'}")
        elif needed and not items:
            self._tell(source, (key,), f"{key} must not be empty")
        else:
            yield from items

    def _is_name(self, source: Document, path: tuple[Any, ...], text: Any) -> bool:
        try:
            check_id(text, what=str(next(step for step in reversed(path) if isinstance(step, str))))
        except InvalidNameError as refusal:
            self._tell(source, path, refusal.what, refusal.hint)
            return False
        return True

    def _tell(self, source: Document, path: tuple[Any, ...], what: str, hint: str = "") -> None:
        self.issues.append(error("config-file-invalid", source.where(path), what, hint))
