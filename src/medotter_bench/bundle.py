"""The one loader of bundles. Reads `manifest_test.json` at once and the two YAML files when asked.

Leaves to others: what the specs mean (`specs`), whether the files agree with each other and with the data
(`checks`, `data_checks`), and freezing (`factory`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from medomni.core.errors import DocumentNotFoundError
from medomni.core.files import Document, read_json, read_yaml
from medomni.core.issues import Issue, IssuesError, error
from medotter_bench.errors import BundleNotFoundError, CaseNotFoundError, MedotterError

MANIFEST = "manifest_test.json"
TASK = "task.yaml"
EVAL_SPEC = "eval_spec.yaml"
LOCAL_CODE = ("remap.py", "scoring.py")

_REQUIRED: Mapping[str, type] = {
    "task": str,
    "version": str,
    "hash": str,
    "train": list,
    "test": list,
    "per_case": dict,
}
_NAMES: Mapping[type, str] = {str: "text", list: "a list of case ids", dict: "an object"}


class ManifestError(IssuesError, MedotterError):
    """`manifest_test.json` lacks keys or holds the wrong kind of value; `issues` lists every problem."""

    code = "bundle-manifest-invalid"


class Bundle:
    """A frozen benchmark: which cases exist, how they are split, how predictions on them are scored.

    A bundle directory holds `task.yaml` (what is measured; read by `task_spec()`), `manifest_test.json`
    (the cases and their files; read when the bundle is constructed), `eval_spec.yaml` (the scoring
    protocol; read by `eval_spec()`) and possibly `coverage_report.{json,md}`, which are notes for people
    and never read here. Keys that nobody here knows are kept.

    Raises:
        BundleNotFoundError: `manifest_test.json` is not there (also a `FileNotFoundError`).
        ManifestError: required keys are missing or of the wrong kind; lists all of them.
        DocumentError: the file is no strict JSON.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.manifest_document = self._read(MANIFEST)
        manifest = self.manifest_document.value
        issues = _shape_issues(self.manifest_document)
        if issues:
            raise ManifestError(
                f"{len(issues)} problems in {MANIFEST}", issues=issues, where=self.manifest_document.name
            )
        self.manifest: dict[str, Any] = manifest

    def __repr__(self) -> str:
        return f"Bundle({str(self.path)!r})"

    @property
    def task(self) -> str:
        """`manifest["task"]`."""
        return str(self.manifest["task"])

    @property
    def version(self) -> str:
        """`manifest["version"]`."""
        return str(self.manifest["version"])

    @property
    def hash(self) -> str:
        """`manifest["hash"]`, as written; `bundle check` says whether it can be verified."""
        return str(self.manifest["hash"])

    @property
    def train(self) -> list[str]:
        """The case ids of `manifest["train"]`, in file order."""
        return list(self.manifest["train"])

    @property
    def test(self) -> list[str]:
        """The case ids of `manifest["test"]`, in file order."""
        return list(self.manifest["test"])

    def case_meta(self, case_id: str) -> dict[str, Any]:
        """`manifest["per_case"][case_id]`, with every key that stands there.

        Raises:
            CaseNotFoundError: no such case (also a `KeyError`).
        """
        try:
            meta: dict[str, Any] = self.manifest["per_case"][case_id]
        except KeyError:
            raise CaseNotFoundError(
                f"case {case_id!r} has no entry in per_case",
                where=str(self.path / MANIFEST),
                hint="`medotter bundle check` lists every case without an entry",
            ) from None
        return meta

    def cases(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """`(case_id, meta)` for every case: train, then test, each in file order, one entry per id."""
        for case_id in dict.fromkeys([*self.manifest["train"], *self.manifest["test"]]):
            yield case_id, self.case_meta(case_id)

    def task_document(self) -> Document:
        """`task.yaml` with its line numbers, parsed anew on each call.

        Raises:
            BundleNotFoundError: the bundle has none (bundles older than that convention).
        """
        return self._read(TASK)

    def eval_document(self) -> Document:
        """`eval_spec.yaml` with its line numbers, parsed anew on each call."""
        return self._read(EVAL_SPEC)

    def task_spec(self) -> Any:
        """What `task.yaml` says, as plain data; lazy, parsed anew on each call."""
        return self.task_document().value

    def eval_spec(self) -> Any:
        """What `eval_spec.yaml` says, as plain data; lazy, parsed anew on each call."""
        return self.eval_document().value

    @property
    def has_task_spec(self) -> bool:
        """Whether the bundle holds a `task.yaml`."""
        return (self.path / TASK).is_file()

    @property
    def local_code(self) -> list[Path]:
        """Files of the bundle's own code (`remap.py`, `scoring.py`). Never imported here."""
        return [path for path in self._code_paths() if path.exists() or path.is_symlink()]

    def _code_paths(self) -> list[Path]:
        return [self.path / name for name in LOCAL_CODE]

    def _read(self, name: str) -> Document:
        path = self.path / name
        try:
            return read_json(path) if name.endswith(".json") else read_yaml(path)
        except DocumentNotFoundError as missing:
            hint = {
                MANIFEST: "freeze one from its data with `medotter bundle freeze`",
                TASK: "bundles older than task.yaml have none; their labels need bundle-local code",
            }.get(name, "a bundle cannot be scored without its eval_spec.yaml")
            raise BundleNotFoundError(f"no {name} in this bundle", where=str(path), hint=hint) from missing


def _shape_issues(document: Document) -> list[Issue]:
    """What keeps the accessors from working; everything else is for `bundle check`."""
    manifest = document.value
    if not isinstance(manifest, dict):
        return [error("bundle-manifest-type", document.name, f"{MANIFEST} must hold an object")]
    issues = []
    for key, kind in _REQUIRED.items():
        if key not in manifest:
            what = f"required key {key!r} is missing"
            issues.append(error("bundle-manifest-required", document.where(()), what))
        elif not isinstance(manifest[key], kind):
            what = f"{key} must be {_NAMES[kind]}, found {manifest[key]!r:.80}"
            hint = f'write "{manifest[key]}" in quotes' if kind is str else ""
            issues.append(error("bundle-manifest-type", document.where((key,)), what, hint))
    for key in ("train", "test"):
        ids = manifest.get(key)
        for index, case_id in enumerate(ids if isinstance(ids, list) else []):
            if not isinstance(case_id, str):
                what = f"a case id must be text, found {case_id!r:.80}"
                issues.append(error("bundle-manifest-type", document.where((key, index)), what))
    cases = manifest.get("per_case")
    for case_id, meta in (cases if isinstance(cases, dict) else {}).items():
        if not isinstance(meta, dict):
            what = f"per_case[{case_id!r}] must be an object, found {meta!r:.80}"
            issues.append(error("bundle-manifest-type", document.where(("per_case", case_id)), what))
    return issues
