"""The workspace: the nearest folder with a `medomni.toml`, and where everything in it lies.

The only module that knows where folders lie. `medomni.toml` is read strictly; every key stands in `_KEYS`.

Leaves to others: what the files hold, whether they are there, and making a new workspace (`new_workspace`).
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medomni.core._document import decode, read_limited
from medomni.core.errors import DocumentError, InvalidNameError, WorkspaceNotFoundError
from medomni.core.issues import Issue, IssuesError, error
from medomni.core.names import Pair, SetName, check_dotted, check_id

MARKER = "medomni.toml"
VARIABLE = "MEDOMNI_WORKSPACE"
_MOST_BYTES = 64 * 1024
_RELEASE = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+(?:-[a-z0-9]+(?:\.[a-z0-9]+)*)?")
_MEMORY = re.compile(r"[1-9][0-9]*(?:MB|GB)")
_KEYS = {
    "release": (_RELEASE, "the content release, such as 0.3.0"),
    "studio.memory_limit": (_MEMORY, "such as 8GB: what DuckDB may use"),
    "studio.spill_folder": (re.compile(r"[^\x00-\x1f]+"), "a folder for what does not fit into memory"),
}


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where the parts of a workspace lie. Nothing here looks whether they are there.

    Attributes:
        root: The folder of `medomni.toml`, absolute.
        release: The content release, such as `0.3.0`.
        memory_limit: What DuckDB may use, such as `8GB`; None leaves it to the machine.
        spill_folder: Where DuckDB puts what does not fit into memory.
    """

    root: Path
    release: str
    memory_limit: str | None = None
    spill_folder: Path = Path()

    @property
    def release_token(self) -> str:
        """The content release as hashes and manifests write it: `medomni/0.3.0`."""
        return f"medomni/{self.release}"

    # Content of Studio.

    @property
    def arms(self) -> Path:
        """The folder of the arms' definitions."""
        return self.root / "studio" / "arms"

    def arm(self, arm: str) -> Path:
        """The file that says what an arm attaches."""
        return self.arms / f"{check_id(arm, what='arm')}.yaml"

    @property
    def datasets(self) -> Path:
        """The folder of the datasets' content."""
        return self.root / "studio" / "datasets"

    def dataset(self, dataset: str) -> Path:
        """The folder of a dataset's content."""
        return self.datasets / check_id(dataset, what="dataset")

    def recipe(self, dataset: str, recipe: str) -> Path:
        """The file of a recipe; `tables` and `families` are two of them."""
        return self.dataset(dataset) / "recipes" / f"{check_id(recipe, what='recipe')}.yaml"

    def label(self, dataset: str, label: str) -> Path:
        """The file of a label."""
        return self.dataset(dataset) / "labels" / f"{check_id(label, what='label')}.yaml"

    def template(self, dataset: str, template: str) -> Path:
        """The folder of a template."""
        return self.dataset(dataset) / "tasks" / check_id(template, what="template")

    def cohort(self, dataset: str, pair: Pair) -> Path:
        """The file of a pair's cohort."""
        return self.template(dataset, pair.template) / "cohorts" / f"{pair.cohort}.yaml"

    def template_arm(self, dataset: str, template: str, arm: str) -> Path:
        """The file with a template's own part of an arm: the rungs of its modality ladder."""
        return self.template(dataset, template) / "arms" / f"{check_id(arm, what='arm')}.yaml"

    # Content of Bench.

    @property
    def benchmarks(self) -> Path:
        """The folder of the agent benchmarks (imaging bundles lie in `benchmarks/`)."""
        return self.root / "bench" / "benchmarks"

    def benchmark(self, benchmark: str) -> Path:
        """A benchmark's folder."""
        return self.benchmarks / check_id(benchmark, what="benchmark")

    def benchmark_card(self, benchmark: str) -> Path:
        """A benchmark's card."""
        return self.benchmark(benchmark) / "benchmark.yaml"

    def withdrawn(self, benchmark: str) -> Path:
        """The list of a benchmark's withdrawn pairs."""
        return self.benchmark(benchmark) / "withdrawn.yaml"

    def task_set(self, name: SetName) -> Path:
        """The file of a task set."""
        return self.benchmark(name.benchmark) / "sets" / f"{name.task_set}.yaml"

    def release_lock(self, release: str) -> Path:
        """The lock of a content release."""
        return self.root / "bench" / "releases" / f"{check_dotted(release, what='release')}.lock.json"

    # What is made here and never committed.

    @property
    def atomtasks(self) -> Path:
        """The folder of everything that is built."""
        return self.root / "atomtasks"

    def content(self, pair: Pair) -> Path:
        """The folder of a pair's built content."""
        return self.atomtasks / "_content" / str(pair.usable())

    def config_copies(self, pair: Pair) -> Path:
        """The folder of the config files as they were when the pair was built, by their paths."""
        return self.content(pair) / "config"

    def rendered(self, arm: str, variant: str | None = None) -> Path:
        """The folder of an arm's, or an arm variant's, rendered atoms."""
        folder = self.atomtasks / check_id(arm, what="arm")
        return folder if variant is None else folder / check_id(variant, what="variant")

    @property
    def runs(self) -> Path:
        """The folder of runs and their records."""
        return self.root / "runs"

    @property
    def cache(self) -> Path:
        """The folder of what can be made again."""
        return self.root / ".medomni"

    @property
    def keys(self) -> Path:
        """The folder of this workspace's own secrets, which nobody can make again."""
        return self.cache / "keys"

    @property
    def signing_key(self) -> Path:
        """The key that signs the records made here."""
        return self.keys / "signing.pem"

    @property
    def answers_key(self) -> Path:
        """The secret of the keyed digests of answers."""
        return self.keys / "answers.key"

    def imported(self, release: str) -> Path:
        """The folder of an imported data release, such as `mimic-iv/3.1`."""
        dataset, slash, version = release.partition("/")
        if not slash:
            raise InvalidNameError(f"{release!r} is no data release", hint="write <dataset>/<release>")
        check_id(dataset, what="dataset")
        return self.cache / "data" / dataset / check_dotted(version, what="release")

    def relative(self, path: Path) -> str:
        """A path below the root as hashes and manifests write it: POSIX, relative to the root."""
        return path.relative_to(self.root).as_posix()


def find_workspace(
    start: str | Path | None = None,
    *,
    named: str | Path | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Workspace:
    """The workspace to work in.

    Args:
        start: Where the search upwards begins; the current folder by default.
        named: A workspace that the user named (`--workspace`); it must be one itself.
        environment: Its `MEDOMNI_WORKSPACE` counts as named, where `named` is absent.

    Raises:
        WorkspaceNotFoundError: There is none.
        DocumentError: Its `medomni.toml` cannot be read.
        IssuesError: Its `medomni.toml` does not hold what it must.
    """
    told = named if named is not None else environment.get(VARIABLE) or None
    if told is not None:
        root = Path(os.path.abspath(told))  # noqa: PTH100 - links in the user's own path stay as they are
        if not (root / MARKER).is_file():
            source = "--workspace" if named is not None else VARIABLE
            raise WorkspaceNotFoundError(
                f"{told} is no workspace: it holds no {MARKER}",
                where=source,
                hint="name the folder of a medomni.toml, or make one with `medomni init DIR`",
            )
        return load_workspace(root)
    here = Path(os.path.abspath(start if start is not None else Path.cwd()))  # noqa: PTH100
    for folder in (here, *here.parents):
        if (folder / MARKER).is_file():
            return load_workspace(folder)
    raise WorkspaceNotFoundError(
        f"no workspace here: neither this folder nor one above it holds a {MARKER}",
        where=str(here),
        hint=f"name one with --workspace or {VARIABLE}, or make one with `medomni init DIR`",
    )


def load_workspace(root: Path) -> Workspace:
    """The workspace of a folder that holds a `medomni.toml`.

    Raises:
        DocumentNotFoundError: The file is not there.
        DocumentError: It is not TOML in UTF-8 (`document-syntax`, `document-not-utf8`).
        IssuesError: It lacks `release`, has an unknown key, or a value of another form.
    """
    path = root / MARKER
    text = decode(read_limited(path, _MOST_BYTES), str(path), _MOST_BYTES)
    try:
        values = _flat(tomllib.loads(text))
    except tomllib.TOMLDecodeError as fault:
        raise DocumentError(f"not valid TOML: {fault}", where=str(path), code="document-syntax") from fault
    issues = _problems(values, str(path))
    if issues:
        raise IssuesError(f"{path} is not right: {len(issues)} problems", issues=issues, where=str(path))
    spill = root / values.get("studio.spill_folder", ".medomni/spill")
    return Workspace(root, values["release"], values.get("studio.memory_limit"), spill)


def _flat(table: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of the file, those of its table `studio` as `studio.<key>`."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if key == "studio" and isinstance(value, dict):
            flat |= {f"studio.{inner}": item for inner, item in value.items()}
        else:
            flat[key] = value
    return flat


def _problems(values: Mapping[str, Any], name: str) -> list[Issue]:
    issues = []
    if "release" not in values:
        issues.append(error("workspace-invalid", name, "release is missing", _KEYS["release"][1]))
    for key, value in values.items():
        form, meaning = _KEYS.get(key, (None, ""))
        if form is None:
            known = ", ".join(_KEYS)
            issues.append(
                error("workspace-invalid", name, f"{key} is not a known key", f"known keys: {known}")
            )
        elif not isinstance(value, str) or not form.fullmatch(value):
            issues.append(
                error("workspace-invalid", name, f"{key} is {value!r}", f"write {meaning}, in quotes")
            )
    return issues
