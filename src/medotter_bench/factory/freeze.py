"""Freezing a data root into `manifest_test.json` and a coverage report.

A manifest that exists is changed only by a higher version. Leaves to others: what the files hold
(`data_checks`), whether manifest and specs agree (`checks`), copying bundles to their readers (`vendor`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medomni.core.files import json_text, read_json, write_atomic
from medomni.core.issues import Issue, error, errors_of, warning
from medotter_bench.errors import BundleNotFoundError
from medotter_bench.factory.coverage import coverage, coverage_markdown
from medotter_bench.factory.definition import Factory, read_factory
from medotter_bench.factory.errors import FreezeError
from medotter_bench.factory.folders import make_folder
from medotter_bench.factory.manifest_hash import ALGORITHM, mb1
from medotter_bench.factory.scan import Case, Scan, list_files, scan
from medotter_bench.factory.split import Split, split_cases
from medotter_bench.factory.versions import parse_version

MANIFEST = "manifest_test.json"
COVERAGE_JSON = "coverage_report.json"
COVERAGE_MD = "coverage_report.md"


@dataclass(frozen=True, slots=True)
class FreezeReport:
    """What a freeze wrote.

    Attributes:
        manifest: Path of the manifest; the coverage report lies beside it.
        changed: Whether the manifest's bytes differ from what was there before.
        warnings: Things that people should know of, such as a skip rule that no case answers to.
    """

    manifest: Path
    version: str
    hash: str
    hash_full: str
    n_train: int
    n_test: int
    n_skipped: int
    n_dropped: int
    changed: bool
    warnings: list[Issue] = field(default_factory=list)


def freeze(
    bundle_dir: str | Path,
    *,
    data_root: str | Path,
    out_dir: str | Path | None = None,
    version: str | None = None,
) -> FreezeReport:
    """Scans a data root and writes the manifest and coverage report of a bundle.

    Args:
        bundle_dir: Holds `factory.yaml`; its name is the task's name.
        data_root: Folder that the patterns of `factory.yaml` start from.
        out_dir: Where to write; the bundle itself where absent.
        version: In place of the version that `factory.yaml` names.

    Raises:
        BundleNotFoundError: no `factory.yaml` (or no data root).
        FactoryError: `factory.yaml` is malformed.
        FreezeError: the data cannot be frozen, or an existing manifest would change without a higher
            version; lists every reason (codes `freeze-…`).
        WriteError: a file could not be written; the old ones are untouched.
    """
    folder, root = Path(bundle_dir), Path(data_root)
    factory = read_factory(folder)
    if not root.is_dir():
        hint = f"`medotter bundle dummy {factory.name} --out D` generates one"
        raise BundleNotFoundError(
            "the data root is no folder", where=str(root), hint=hint, code="freeze-no-data"
        )
    version = _checked_version(factory.version if version is None else version)
    manifest, warnings = build_manifest(factory, list_files(root), version=version)
    target = Path(out_dir) if out_dir is not None else folder
    text = json_text(manifest)
    changed = _check_existing(target / MANIFEST, manifest, text)
    report = coverage(factory, manifest, folder)
    make_folder(target)
    write_atomic(target / COVERAGE_JSON, json_text(report))
    write_atomic(target / COVERAGE_MD, coverage_markdown(report))
    write_atomic(target / MANIFEST, text)
    return _report(target / MANIFEST, manifest, changed=changed, warnings=warnings)


def _checked_version(version: str) -> str:
    if parse_version(version) is None:
        issue = error("freeze-version", "version", f"version {version!r} is not like 1.2.3 or 1.2.3-rc.1")
        raise FreezeError("bad version", issues=[issue])
    return version


def _report(path: Path, manifest: Mapping[str, Any], *, changed: bool, warnings: list[Issue]) -> FreezeReport:
    return FreezeReport(
        manifest=path,
        version=manifest["version"],
        hash=manifest["hash"],
        hash_full=manifest["hash_full"],
        n_train=len(manifest["train"]),
        n_test=len(manifest["test"]),
        n_skipped=len(manifest["skipped"]),
        n_dropped=len(manifest["dropped_cross_split"]),
        changed=changed,
        warnings=warnings,
    )


def build_manifest(factory: Factory, paths: list[str], *, version: str) -> tuple[dict[str, Any], list[Issue]]:
    """The manifest of a list of paths, with the warnings on the way. A pure function.

    Raises:
        FreezeError: lists every reason.
    """
    scanned = scan(factory, paths)
    split = split_cases(factory, scanned.cases)
    issues = [*scanned.issues, *split.issues, *_split_issues(factory, scanned, split)]
    if errors_of(issues):
        refused = errors_of(issues)
        raise FreezeError(f"{len(refused)} reasons not to freeze {factory.name}", issues=refused)
    cases = {case.case_id: case for case in scanned.cases}
    sides = {**dict.fromkeys(split.train, "train"), **dict.fromkeys(split.test, "test")}
    per_case = {case_id: _entry(factory, cases[case_id], side) for case_id, side in sides.items()}
    manifest = {
        "task": factory.name,
        "version": version,
        "split_version": factory.split_version,
        "hash_algorithm": ALGORITHM,
        "hash_full": "",
        "hash": "",
        "train": split.train,
        "test": split.test,
        "per_case": per_case,
        "skipped": [entry.as_dict() for entry in [*scanned.skipped, *split.unlisted]],
        "dropped_cross_split": [entry.as_dict() for entry in split.dropped],
    }
    manifest["hash"], manifest["hash_full"] = mb1(manifest)
    return manifest, issues


def _entry(factory: Factory, case: Case, side: str) -> dict[str, Any]:
    dataset = factory.datasets[case.dataset]
    entry: dict[str, Any] = {"dataset": case.dataset, "split": side}
    if factory.tiers:
        entry["tier"] = factory.tiers[case.dataset]
    if dataset.region is not None:
        entry["region"] = dataset.region
    entry["patient_uid"] = case.patient_uid
    if dataset.has_series:
        entry["series_uid"] = case.series_uid
    if dataset.image is not None:
        entry["image"] = case.files["image"]
    else:
        entry["chan"] = {name: case.files[f"chan {name}"] for name in dataset.chan}
    entry["seg"] = case.files["seg"]
    return entry


def _split_issues(factory: Factory, scanned: Scan, split: Split) -> list[Issue]:
    issues = []
    if not scanned.cases:
        what = "the data root holds no complete case of any dataset"
        patterns = "; ".join(str(p.text) for d in factory.datasets.values() for p in d.roles.values())
        issues.append(error("freeze-no-cases", factory.name, what, f"expected files such as {patterns}"))
    elif not split.test:
        what = "the split leaves no test case"
        issues.append(error("freeze-no-test", factory.name, what, "there would be nothing to score"))
    held = {case.dataset for case in scanned.cases}
    for name in factory.datasets:
        if scanned.cases and name not in held:
            issues.append(warning("freeze-dataset-empty", name, f"no complete case of the dataset {name}"))
    seen = {entry.case_id for entry in scanned.skipped}
    for case_id in factory.skip:
        if case_id not in seen:
            issues.append(
                warning("freeze-skip-unused", case_id, f"skip names {case_id!r}, which is not there")
            )
    return issues


def _check_existing(path: Path, manifest: Mapping[str, Any], text: str) -> bool:
    """Whether the manifest's bytes change.

    Raises:
        FreezeError: they would, and the version does not rise (`freeze-version-not-raised`).
    """
    if not path.exists():
        return True
    if path.read_bytes() == text.encode():
        return False
    value = read_json(path).value
    found = value.get("version") if isinstance(value, dict) else None
    old = parse_version(found) if isinstance(found, str) else None
    new = parse_version(manifest["version"])
    if old is None or new is None or new <= old:
        what = f"a manifest of version {found!r} exists and differs; {manifest['version']!r} is not higher"
        hint = "raise `version` in factory.yaml, or give a higher one: published manifests never change"
        raise FreezeError(what, issues=[error("freeze-version-not-raised", str(path), what, hint)])
    return True
