"""Run records and the built content that they are scored against, and whether the two belong together.

Records hold answers; they are read here, long after the agent is gone, and nothing of the run itself is
needed.

Leaves to others: writing run records (`run_records`), scores (`scoring`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medomni.bench import attempts
from medomni.bench.answer_file import TargetAnswer
from medomni.bench.draws import seed_of
from medomni.bench.errors import ScoreError
from medomni.bench.joining import Joined, Truth, join, truth_of
from medomni.bench.targets import Target, of_content
from medomni.core import contracts
from medomni.core.errors import DocumentNotFoundError
from medomni.core.files import Document
from medomni.core.hashing import sha256_file
from medomni.core.names import Pair
from medomni.core.workspace import Workspace

SUFFIX = ".run.json"


@dataclass(frozen=True, slots=True)
class Opened:
    """A run with what it is scored against.

    Attributes:
        path: Of the run record.
        record: The run record.
        content: `content.json` of the pair.
        targets: The targets, in their order.
        truth: Who counts, and what is true.
        joined: Target to truth and answers.
        failed: Atoms on which our own machinery failed, in the attempts that count.
    """

    path: Path
    record: Mapping[str, Any]
    content: Mapping[str, Any]
    targets: Sequence[Target]
    truth: Truth
    joined: Mapping[str, Joined]
    failed: tuple[str, ...]

    @property
    def pair(self) -> Pair:
        """The pair."""
        return Pair.parse(self.record["pair"])

    def seed(self, metric: str) -> int:
        """The seed of what is drawn for a metric of this pair."""
        return seed_of(self.pair.template, self.pair.cohort, int(self.record["version"]), metric)


def find_runs(places: Sequence[Path]) -> list[Path]:
    """The run records in files and folders (`*.run.json`, at any depth), each once, sorted within a folder.

    Raises:
        ScoreError: `score-no-run`: a folder holds none.
        DocumentNotFoundError: There is nothing at a place.
    """
    found: dict[Path, None] = {}
    for place in places:
        if place.is_dir():
            inside = sorted(path for path in place.rglob(f"*{SUFFIX}") if path.is_file())
            if not inside:
                raise ScoreError(
                    f"{place} holds no run record",
                    where=str(place),
                    hint=f"records are called <pair>{SUFFIX}; `medomni bench run` writes them",
                    code="score-no-run",
                )
            found |= dict.fromkeys(inside)
        elif place.exists():
            found[place] = None
        else:
            raise DocumentNotFoundError(
                f"{place} does not exist", where=str(place), hint="name a run's folder, or a run record"
            )
    return list(found)


def read_record(path: Path) -> Mapping[str, Any]:
    """A run record.

    Raises:
        IssuesError: It breaks its contract.
        DocumentError: It cannot be read.
        ScoreError: `score-imported`: it is an imported result of v0.2, whose answers have no truth here.
    """
    record: Mapping[str, Any] = contracts.load("run-record", path)
    if record["version"] == 0:
        raise ScoreError(
            f"{path.name} is an imported result of v0.2, and cannot be scored again",
            where=str(path),
            code="score-imported",
        )
    return record


def open_run(workspace: Workspace, path: Path) -> Opened:
    """A run record with its truth, after both were held against each other.

    Raises:
        ScoreError: `score-not-built`, `score-content-differs` (naming the field), `score-file-changed`,
            `score-atoms`, `score-aggregate`, `score-imported`, `score-truth`.
        IssuesError: A document breaks its contract.
        DocumentError: One of them cannot be read.
    """
    record = read_record(path)
    pair = Pair.parse(record["pair"])
    folder = workspace.content(pair)
    try:
        manifest = contracts.load("build-manifest", folder / "manifest.json")
        content = contracts.load("built-task", folder / "content.json")
        table = contracts.load("answers", folder / "answers.csv")
    except DocumentNotFoundError as failure:
        raise ScoreError(
            f"{pair} is not built here, and without its answers nothing can be scored",
            where=failure.where,
            hint=f"medomni studio build {pair} --arm {record['arm']}",
            code="score-not-built",
        ) from failure
    _check_bytes(workspace, folder, manifest)
    _check_same(record, content, manifest, path)
    targets = of_content(content)
    truth = truth_of(Document(table, str(folder / "answers.csv")), targets)
    _check_atoms(record, truth, targets, path)
    given, failed = attempts.combined(record, truth, targets)
    joined = {target.name: join(target, truth, given[target.name]) for target in targets}
    return Opened(path, record, content, targets, truth, joined, failed)


def joined_of_attempt(opened: Opened, attempt: int) -> Mapping[str, Joined]:
    """Truth and answers of one attempt alone, by target."""
    rows = [row for row in opened.record["atoms"] if row["attempt"] == attempt]
    return {
        target.name: join(target, opened.truth, {row["atom"]: _answer(row, target) for row in rows})
        for target in opened.targets
    }


def _answer(row: Mapping[str, Any], target: Target) -> TargetAnswer:
    return attempts.answer_of(row, target.name)


def _check_bytes(workspace: Workspace, folder: Path, manifest: Mapping[str, Any]) -> None:
    """Content and answers are the bytes that the build wrote."""
    for name in ("content.json", "answers.csv"):
        path = folder / name
        expected = manifest["files"].get(path.relative_to(workspace.atomtasks).as_posix())
        if sha256_file(path) != expected:
            raise ScoreError(
                f"{name} is not as it was built",
                where=str(path),
                hint="build the pair again; what is built is never edited",
                code="score-file-changed",
            )


def _check_same(
    record: Mapping[str, Any], content: Mapping[str, Any], manifest: Mapping[str, Any], path: Path
) -> None:
    """The run was on exactly what is built here."""
    under = (record["arm"], record["variant"])
    hashes = {(row["arm"], row["variant"]): row["config_hash"] for row in manifest["hashes"]}
    built = {
        "pair": (content["pair"], manifest["pair"]),
        "version": (content["version"], manifest["version"]),
        "builder": (str(manifest["builder"]).partition("/")[0],),
        "releases": (manifest["releases"],),
        "data_fingerprint": (manifest["data_fingerprint"],),
        "config_hash": (hashes.get(under),),
    }
    for field, values in built.items():
        for value in values:
            if value != record[field]:
                raise ScoreError(
                    f"{field} differs: the run was on {record[field]}, and {value} is built here",
                    where=str(path),
                    hint="score it in the workspace, and against the build, that it was run on",
                    code="score-content-differs",
                )


def _check_atoms(record: Mapping[str, Any], truth: Truth, targets: Sequence[Target], path: Path) -> None:
    known, names = set(truth.names), {target.name for target in targets}
    for index, row in enumerate(record["atoms"]):
        where = f"{path}, atoms[{index}]"
        if row["atom"] not in known:
            raise ScoreError(
                "a row is of an atom that the pair does not have", where=where, code="score-atoms"
            )
        if not set(row["targets"]) <= names:
            extra = ", ".join(sorted(set(row["targets"]) - names))
            what = f"a row answers {extra}, which is no target of the pair"
            raise ScoreError(what, where=where, code="score-atoms")
