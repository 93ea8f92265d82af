"""What is wrong with a bundle's three files, all problems at once. Opens no image.

Leaves to others: the files of the data root (`data_checks`), raising (`engine`), printing (`cli`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from medomni.core import contracts
from medomni.core.errors import DocumentError, MedomniError, UnsafePathError
from medomni.core.files import Document, check_relative
from medomni.core.issues import Issue, IssuesError, error, errors_of, warning
from medotter_bench import misspellings
from medotter_bench.bundle import MANIFEST, Bundle
from medotter_bench.errors import BundleNotFoundError, MedotterError, SpecError
from medotter_bench.factory.manifest_hash import mb1
from medotter_bench.factory.vendor import LOCK, verify_lock
from medotter_bench.label_map import IDENTITY
from medotter_bench.spec_checks import eval_issues
from medotter_bench.specs import EvalSpec, TaskSpec, parse_eval_spec, parse_task


class BundleIssuesError(IssuesError, MedotterError):
    """A bundle's files hold errors; `issues` lists all of them."""

    code = "bundle-invalid"


def check(bundle: Bundle) -> list[Issue]:
    """Every problem of the bundle's files, warnings included."""
    task, spec, issues = read_specs(bundle)
    issues += _manifest_schema(bundle, bundle.test + bundle.train)
    issues += _names(bundle, task)
    issues += _splits(bundle)
    issues += _channel_order(bundle)
    issues += _hash(bundle)
    issues += _lock(bundle)
    if spec is not None:
        issues += eval_issues(spec, task, bundle.eval_document())
        issues += _datasets(bundle, task, spec)
        issues += _case_regions(bundle, spec, bundle.train + bundle.test)
        issues += _tiers(bundle, spec) + _breakdowns(bundle, spec)
    for path in bundle.local_code:
        what = f"{path.name} is code that this bundle brings; scoring it would run that code"
        issues.append(warning("bundle-code", str(path), what, "it runs only where it is trusted"))
    return issues


def deciding_issues(bundle: Bundle) -> list[Issue]:
    """The problems that decide a number: what `score` refuses on (its errors) among those of `check`.

    The folder's name and the train split decide none.
    """
    task, spec, issues = read_specs(bundle)
    issues += _manifest_schema(bundle, bundle.test)
    issues += _case_list(bundle, "test")
    issues += [issue for issue in _hash(bundle) if issue.code == "hash-differs"]
    if task is not None and task.id != bundle.task:
        issues.append(_task_mismatch(bundle, task))
    if spec is not None:
        issues += eval_issues(spec, task, bundle.eval_document())
        datasets = _datasets(bundle, task, spec)
        # With partial labels an unproducible region has n = 0 and no number; else it would score as empty.
        issues += [i for i in datasets if i.code != "region-unproducible" or not spec.partial_label]
        issues += _case_regions(bundle, spec, bundle.test)
        issues += _tiers(bundle, spec) + _breakdowns(bundle, spec)
    return issues


def read_specs(bundle: Bundle) -> tuple[TaskSpec | None, EvalSpec | None, list[Issue]]:
    """Both specs as far as they can be read, and what is wrong with them.

    Raises:
        BundleNotFoundError: there is no `eval_spec.yaml`.
    """
    issues: list[Issue] = []
    task: TaskSpec | None = None
    if bundle.has_task_spec:
        document = _document(bundle.task_document, issues)
        if document is not None:
            found = contracts.validate("bundle-task", document)
            issues += found + misspellings.unknown_key_issues(document, misspellings.TASK_KEYS)
            task = None if errors_of(found) else _parsed(lambda: parse_task(document), issues)
    elif not bundle.local_code:
        what = "no task.yaml and no bundle-local remap: references are taken as canonical"
        issues.append(warning("task-missing", str(bundle.path), what, "write a task.yaml"))
    document = _document(bundle.eval_document, issues)
    if document is None:
        return task, None, issues
    found = contracts.validate("eval-spec", document)
    issues += found + misspellings.unknown_key_issues(document, misspellings.EVAL_KEYS)
    if errors_of(found):
        return task, None, issues
    return task, _parsed(lambda: parse_eval_spec(document, task=task), issues), issues


def _document(read: Any, issues: list[Issue]) -> Document | None:
    try:
        document: Document = read()
    except (DocumentError, BundleNotFoundError) as bad:
        issues.append(as_issue(bad))
        return None
    return document


def _parsed[T](parse: Any, issues: list[Issue]) -> T | None:
    try:
        parsed: T = parse()
    except SpecError as bad:
        issues.append(as_issue(bad))
        return None
    return parsed


def as_issue(failure: MedomniError) -> Issue:
    """An error that was raised, as an entry of a list."""
    return error(failure.code, failure.where, failure.what, failure.hint)


def _manifest_schema(bundle: Bundle, case_ids: list[str]) -> list[Issue]:
    """The contract, restricted to the cases asked for, and paths that could leave the data root."""
    document = bundle.manifest_document
    wanted = set(case_ids)
    cases = {c: m for c, m in bundle.manifest["per_case"].items() if c in wanted}
    issues = contracts.validate(
        "bundle-manifest", replace(document, value={**bundle.manifest, "per_case": cases})
    )
    for case_id, meta in cases.items():
        for key, relative in _paths(meta):
            issues += _path_issue(relative, document.where(("per_case", case_id, *key)))
    return issues


def _paths(meta: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key in ("image", "seg"):
        if key in meta:
            yield (key,), meta[key]
    channels = meta.get("chan")
    for name, relative in channels.items() if isinstance(channels, dict) else ():
        yield ("chan", name), relative


def _path_issue(relative: Any, where: str) -> list[Issue]:
    if not isinstance(relative, str):
        return []  # the contract says so already
    try:
        check_relative(relative)
    except UnsafePathError as unsafe:
        return [error(unsafe.code, where, unsafe.what, unsafe.hint)]
    return []


def _names(bundle: Bundle, task: TaskSpec | None) -> list[Issue]:
    issues = []
    folder = bundle.path.resolve().name
    if bundle.task != folder:
        what = f"the manifest's task is {bundle.task!r}, the folder is named {folder!r}"
        issues.append(
            error("task-folder-differs", str(bundle.path / MANIFEST), what, "rename one of the two")
        )
    if task is not None and task.id != bundle.task:
        issues.append(_task_mismatch(bundle, task))
    return issues


def _task_mismatch(bundle: Bundle, task: TaskSpec) -> Issue:
    what = f"task.id is {task.id!r}, the manifest's task is {bundle.task!r}"
    return error("task-id-differs", str(bundle.path / "task.yaml"), what, "both name the same bundle")


def _case_list(bundle: Bundle, split: str) -> list[Issue]:
    """One split's list: every id once, with an entry, safe as a file name."""
    document, ids = bundle.manifest_document, bundle.manifest[split]
    issues = []
    if split == "test" and not ids:
        what = "the test split is empty: there is nothing to score"
        issues.append(error("no-test-cases", document.where((split,)), what, "freeze the bundle again"))
    for case_id, times in Counter(ids).items():
        where = document.where((split, ids.index(case_id)))
        if times > 1:
            issues.append(error("case-twice", where, f"case {case_id!r} is listed {times} times in {split}"))
        if case_id not in bundle.manifest["per_case"]:
            what = f"case {case_id!r} has no entry in per_case"
            issues.append(error("case-without-entry", where, what))
        issues += _path_issue(case_id, where)
    folded: dict[str, list[str]] = {}
    for case_id in dict.fromkeys(ids):
        folded.setdefault(case_id.casefold(), []).append(case_id)
    for same in folded.values():
        if len(same) > 1:
            what = f"case ids are equal but for upper and lower case: {', '.join(same)}"
            issues.append(error("case-fold-clash", document.where((split,)), what, "rename one of them"))
    return issues


def _splits(bundle: Bundle) -> list[Issue]:
    document, per_case = bundle.manifest_document, bundle.manifest["per_case"]
    issues = _case_list(bundle, "train") + _case_list(bundle, "test")
    train, test = set(bundle.train), set(bundle.test)
    for case_id in sorted(train & test):
        issues.append(
            error("case-in-both-splits", document.where(("test",)), f"case {case_id!r} is in train and test")
        )
    for case_id, meta in per_case.items():
        stated = meta.get("split")
        listed = [name for name, ids in (("train", train), ("test", test)) if case_id in ids]
        if listed and stated not in listed:
            what = f"case {case_id!r} says split {stated!r} and is listed in {' and '.join(listed)}"
            issues.append(error("split-differs", document.where(("per_case", case_id)), what))
        if not listed:
            what = f"case {case_id!r} has an entry and is in no split"
            issues.append(warning("case-in-no-split", document.where(("per_case", case_id)), what))
    return issues + _patients(bundle, train, test)


def _patients(bundle: Bundle, train: set[str], test: set[str]) -> list[Issue]:
    """Patients (dataset and patient_uid together) with cases in both splits."""
    seen: dict[tuple[str, str], dict[str, str]] = {}
    for case_id, meta in bundle.manifest["per_case"].items():
        patient = meta.get("patient_uid")
        for name, ids in (("train", train), ("test", test)):
            if patient is not None and case_id in ids:
                seen.setdefault((str(meta.get("dataset")), str(patient)), {})[name] = case_id
    where = bundle.manifest_document.where(("per_case",))
    return [
        error(
            "patient-in-both-splits",
            where,
            f"patient {patient!r} of {dataset} is in both splits: {cases['train']!r} and {cases['test']!r}",
            "put all cases of a patient into one split",
        )
        for (dataset, patient), cases in sorted(seen.items())
        if len(cases) > 1
    ]


def _channel_order(bundle: Bundle) -> list[Issue]:
    orders: dict[str, tuple[list[str], str]] = {}
    issues = []
    for case_id, meta in bundle.manifest["per_case"].items():
        channels = meta.get("chan")
        if not isinstance(channels, dict):
            continue
        first, example = orders.setdefault(str(meta.get("dataset")), (list(channels), case_id))
        if list(channels) != first:
            where = bundle.manifest_document.where(("per_case", case_id, "chan"))
            what = f"channels {list(channels)} are in another order than {first} of {example!r}"
            issues.append(error("channel-order", where, what, "one dataset has one channel order"))
    return issues


def _hash(bundle: Bundle) -> list[Issue]:
    algorithm = bundle.manifest.get("hash_algorithm")
    where = bundle.manifest_document.where(("hash",))
    if algorithm is None:
        what = f"hash {bundle.hash!r} names no algorithm, so nobody can verify it"
        return [warning("hash-unverifiable", where, what, "freeze the bundle to get an mb1 hash")]
    if algorithm != "mb1":
        return [error("hash-algorithm-unknown", where, f"unknown hash_algorithm {algorithm!r}")]
    short, full = mb1(bundle.manifest)
    if bundle.hash == short and bundle.manifest.get("hash_full") == full:
        return []
    what = f"the manifest's content has the mb1 hash {short}, it says {bundle.hash}"
    hint = "the manifest was changed after it was frozen; freeze it again with a higher version"
    return [error("hash-differs", where, what, hint)]


def _lock(bundle: Bundle) -> list[Issue]:
    """For a vendored copy: the files that differ from what `bundles.lock.json` beside it says."""
    folder = bundle.path.resolve()
    if not (folder.parent / LOCK).is_file():
        return []
    issues = verify_lock(folder.parent)
    return [i for i in issues if i.code == "lock-unreadable" or Path(i.where).is_relative_to(folder)]


def _datasets(bundle: Bundle, task: TaskSpec | None, spec: EvalSpec) -> list[Issue]:
    """Test datasets against `label_remap`, and regions that none of them can produce."""
    document = bundle.manifest_document
    metas = [bundle.manifest["per_case"].get(case_id, {}) for case_id in bundle.test]
    datasets = sorted({str(meta["dataset"]) for meta in metas if "dataset" in meta})
    remaps = dict(task.label_remap) if task else {}
    issues = []
    if task is not None and spec.task_type == "seg":
        for name in datasets:
            if name not in remaps:
                what = f"dataset {name!r} has no map in label_remap: its ids are taken as canonical"
                issues.append(warning("dataset-identity", document.where(("per_case",)), what))
    own = [meta["remap"] for meta in metas if isinstance(meta.get("remap"), dict)]
    extra = {target for slot in own for target in slot.values()}
    for region, ids in spec.regions.items():
        possible = [remaps.get(name, IDENTITY) for name in datasets]
        lacking = [i for i in ids if i not in extra and not any(remap.can_produce(i) for remap in possible)]
        if datasets and lacking:
            what = f"no dataset of the test split can produce id {lacking[0]} of region {region!r}"
            where = f"{bundle.path / 'task.yaml'}, label_remap"
            issues.append(error("region-unproducible", where, what, "correct label_remap or drop the region"))
    return issues


def _case_regions(bundle: Bundle, spec: EvalSpec, case_ids: list[str]) -> list[Issue]:
    issues = []
    document = bundle.manifest_document
    for case_id in case_ids:
        region = bundle.manifest["per_case"].get(case_id, {}).get("region")
        if region is not None and region not in spec.regions:
            what = f"case {case_id!r} names region {region!r}; eval_regions has {list(spec.regions)}"
            issues.append(error("case-region-unknown", document.where(("per_case", case_id, "region")), what))
    several = len(spec.regions) > 1 and spec.task_type != "seg" and spec.prediction_format.classes is None
    without = [c for c in case_ids if bundle.manifest["per_case"].get(c, {}).get("region") is None]
    if several and without and "instance" in spec.task_type:
        what = f"{len(spec.regions)} regions, and case {without[0]!r} names none: which instance is which?"
        hint = "give each case its region, or set prediction_format.classes"
        issues.append(error("instance-classes-missing", document.where(("per_case", without[0])), what, hint))
    return issues


def _breakdowns(bundle: Bundle, spec: EvalSpec) -> list[Issue]:
    """Names that a breakdown asks for and no test case has: a misspelt one would leave a table out."""
    issues = []
    metas = [bundle.manifest["per_case"].get(case_id, {}) for case_id in bundle.test]
    for key, wanted in (("dataset", spec.aggregation.by_dataset), ("tier", spec.aggregation.by_tier)):
        present = {str(meta[key]) for meta in metas if meta.get(key) is not None}
        for name in wanted if isinstance(wanted, tuple) else ():
            if name not in present:
                where = f"{bundle.path / 'eval_spec.yaml'}, aggregation.report_by_{key}"
                what = f"no test case is of the {key} {name!r}; there are {sorted(present)}"
                issues.append(error("reporting-name-unknown", where, what, "correct the name"))
    return issues


def _tiers(bundle: Bundle, spec: EvalSpec) -> list[Issue]:
    tier = spec.aggregation.headline.tier
    present = {str(bundle.manifest["per_case"].get(c, {}).get("tier")) for c in bundle.test}
    if tier is None or tier in present:
        return []
    what = f"the headline is of tier {tier!r}, and no test case is of it; there are {sorted(present)}"
    return [error("headline-tier", f"{bundle.path / 'eval_spec.yaml'}, aggregation.headline.tier", what)]
