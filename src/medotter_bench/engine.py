"""Scores a folder of predictions against a bundle. Walks `bundle.test`, never the folder.

Leaves to others: one case (`case_scoring`), finding files (`predictions`), roll-ups (`aggregation`), the
document (`results`), what is wrong with a bundle (`checks`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medomni.core import execution
from medomni.core.execution import Failure, Workers
from medomni.core.hashing import canonical_digest, sha256_file
from medomni.core.issues import Issue, IssuesError, error, errors_of
from medomni.core.journal import Journal
from medomni.core.progress import Progress
from medotter_bench import checks, predictions, results
from medotter_bench.adapters import registry
from medotter_bench.adapters.stubs import StubAdapter
from medotter_bench.bundle import EVAL_SPEC, MANIFEST, TASK, Bundle
from medotter_bench.case_runs import Outcome, run_cases
from medotter_bench.case_scoring import CaseFault, CaseJob, CaseRow
from medotter_bench.errors import BundleCodeError, CasesFailedError, MedotterError, ScoringError
from medotter_bench.label_map import IDENTITY, LabelRemap, case_remap
from medotter_bench.parallel import scoring_workers
from medotter_bench.results import Results
from medotter_bench.specs import EvalSpec, TaskSpec, parse_eval_spec, parse_task

DEFAULT_TASK_TYPE = "seg"


class ReferencesError(IssuesError, MedotterError):
    """References or inputs that cannot be read or contradict themselves; `issues` lists every case."""

    code = "reference-invalid"


def resolve_task_type(eval_spec: Mapping[str, Any]) -> str:
    """The registry key of a bundle: `task_type`, or `seg` for bundles older than that key."""
    return str(eval_spec.get("task_type") or DEFAULT_TASK_TYPE)


@dataclass(frozen=True, slots=True)
class Protocol:
    """A bundle's specs, parsed and found fit to decide numbers."""

    task: TaskSpec | None
    spec: EvalSpec
    remaps: Mapping[str, LabelRemap]


def protocol_of(bundle: Bundle, *, trust_bundle_code: bool = False) -> Protocol:
    """Read and judge a bundle's specs, before any image is opened.

    Raises:
        AdapterNotImplementedError: the task type is a stub.
        UnknownTaskTypeError: nobody knows the task type.
        BundleCodeError: the bundle's labels need its own code.
        IssuesError: the checks that decide a number found errors; lists all of them.
    """
    eval_document = bundle.eval_document()
    raw = eval_document.value if isinstance(eval_document.value, dict) else {}
    adapter = registry.get(resolve_task_type(raw))
    if isinstance(adapter, StubAdapter):
        adapter.refuse()
    _refuse_bundle_code(bundle, trusted=trust_bundle_code)
    issues = errors_of(checks.deciding_issues(bundle))
    if issues:
        raise checks.BundleIssuesError(
            f"{len(issues)} problems of the bundle decide numbers", issues=issues, where=str(bundle.path)
        )
    task = parse_task(bundle.task_document()) if bundle.has_task_spec else None
    spec = parse_eval_spec(eval_document, task=task)
    datasets = {str(bundle.case_meta(case_id).get("dataset")) for case_id in bundle.test}
    listed = task.label_remap if task else {}
    return Protocol(task, spec, {name: listed.get(name, IDENTITY) for name in sorted(datasets)})


def _refuse_bundle_code(bundle: Bundle, *, trusted: bool) -> None:
    code = bundle.local_code
    if not code:
        return
    listed = ", ".join(f"{path.name} ({_digest(path)})" for path in code)
    if trusted:
        raise BundleCodeError(
            f"this bundle would run its own code, {listed}, and this release has no sandbox to run it in",
            where=str(bundle.path),
            hint="score a bundle that states its remap in task.yaml",
            code="bundle-code-sandbox",
        )
    raise BundleCodeError(
        f"this bundle would run its own code, {listed}, which nobody has trusted",
        where=str(bundle.path),
        hint="read that code; it runs only where it is trusted, and only in a sandbox",
        code="bundle-code-untrusted",
    )


def _digest(path: Path) -> str:
    return f"SHA-256 {sha256_file(path)[:12]}" if path.is_file() else "a link to nothing"


def score_predictions(
    bundle: Bundle | str | Path,
    predictions_dir: str | Path,
    data_root: str | Path,
    *,
    executor: Executor | Workers | None = None,
    jobs: int | None = 1,
    journal: Journal | None = None,
    progress: Progress | None = None,
    trust_bundle_code: bool = False,
) -> Results:
    """Score `<predictions_dir>/<case_id><suffix>` for every case of the bundle's test split.

    Args:
        bundle: The bundle, or its folder.
        predictions_dir: Predictions in canonical ids on the input's grid.
        data_root: Where the manifest's paths start.
        executor: Where cases run (`execution.dask(address)` gives a cluster); without one, `jobs` decides.
        jobs: Worker processes; 1 stays in this process, None takes all cores as far as memory goes.
        journal: Where finished cases are noted, and taken over from if it resumes. The caller discards it
            once the results are safe.
        progress: Called with (done, total, step).
        trust_bundle_code: Whether the bundle's own code may run (it needs a sandbox all the same).

    Returns:
        The results: missing and invalid predictions are in them, with the worst number of the penalty table.

    Raises:
        ScoringError: no expected file, or an absent folder.
        ReferencesError: references are wrong; there are no results.
        CasesFailedError: cases failed by our fault or a killed worker; the others are in the journal.
        ExecutionError: the executor itself ended.
        JournalError: the journal is in use, or is none.
        MedomniError: everything that `protocol_of` raises.
    """
    bundle = bundle if isinstance(bundle, Bundle) else Bundle(bundle)
    protocol = protocol_of(bundle, trust_bundle_code=trust_bundle_code)
    cases, extra = plan(bundle, protocol, Path(predictions_dir), data_root=Path(data_root))
    recorded = None
    if journal is not None:
        recorded = journal.start(_journal_key(bundle, protocol))
        extra = [name for name in extra if Path(predictions_dir, name).absolute() != journal.path.absolute()]
    with _workers(executor, jobs, cases) as workers:
        outcomes = run_cases(cases, workers=workers, journal=journal, recorded=recorded, progress=progress)
    _raise_failures(outcomes, Path(data_root))
    rows = [outcome for outcome in outcomes if isinstance(outcome, CaseRow)]
    block = bundle_block(bundle)
    return results.build(bundle=block, spec=protocol.spec, remaps=protocol.remaps, rows=rows, extra=extra)


def _workers(
    executor: Executor | Workers | None, jobs: int | None, cases: Sequence[CaseJob]
) -> AbstractContextManager[Workers]:
    if isinstance(executor, Workers):
        return nullcontext(executor)
    if executor is not None:
        return nullcontext(execution.given(executor))
    return scoring_workers(jobs, cases)


def _journal_key(bundle: Bundle, protocol: Protocol) -> dict[str, Any]:
    """What decides every row besides the files of its case. A row of a run with another key is never used."""
    adapter = type(registry.get(protocol.spec.task_type))
    return {
        "scoring_version": results.SCORING_VERSION,
        "task_type": protocol.spec.task_type,
        "adapter": f"{adapter.__module__}.{adapter.__qualname__}",
        "bundle": bundle_block(bundle),
        "software": results.software(),
    }


def plan(
    bundle: Bundle, protocol: Protocol, predictions_dir: Path, *, data_root: Path
) -> tuple[list[CaseJob], list[str]]:
    """One job per case of the test split, and the files that belong to none.

    Raises:
        ScoringError: the data root is absent, or no expected file is found at all.
    """
    if not data_root.is_dir():
        raise ScoringError(
            "the data root is not there, or is no folder",
            where=str(data_root),
            hint="name the folder that the manifest's paths start from, with --data-root",
            code="data-root-missing",
        )
    form = protocol.spec.prediction_format
    folder = predictions.scan(
        predictions_dir, bundle.test, prediction_type=form.type, side_suffix=form.classes
    )
    if folder.is_empty:
        first = next(iter(folder.found.values()))
        raise ScoringError(
            f"none of the {len(folder.found)} expected predictions is in the folder",
            where=str(predictions_dir),
            hint=f"files are named by case id, for example {first.relative}",
            code="predictions-none",
        )
    jobs = []
    for case_id in bundle.test:
        meta = bundle.case_meta(case_id)
        where = bundle.manifest_document.where(("per_case", case_id))
        remap = case_remap(protocol.remaps, meta, where=where)
        jobs.append(CaseJob(case_id, meta, protocol.spec, remap, data_root, folder.found[case_id]))
    return jobs, folder.extra


def _raise_failures(outcomes: Sequence[Outcome], data_root: Path) -> None:
    """Raise for what has no row; a row is never left out.

    Raises:
        MedomniError: every failure is this one error, such as a package that is not installed.
        CasesFailedError: cases failed for other reasons than their reference or input.
        ReferencesError: only references or inputs are wrong.
    """
    failures = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
    faults = [_fault_issue(outcome) for outcome in outcomes if isinstance(outcome, CaseFault)]
    errors = [failure.error for failure in failures]
    if errors and errors[0] is not None and all(str(found) == str(errors[0]) for found in errors):
        raise errors[0]
    if failures:
        issues = [error(f.code, f.where, f.what, f.hint) for f in failures]
        raise CasesFailedError(
            f"{len(failures)} of {len(outcomes)} cases could not be scored, by no fault of theirs",
            issues=sorted(issues + faults, key=lambda issue: issue.where),
            where=str(data_root),
            hint="there are no results without them",
        )
    if faults:
        raise ReferencesError(
            f"{len(faults)} cases have a reference or input that cannot be used; there are no results",
            issues=sorted(faults, key=lambda issue: issue.where),
            where=str(data_root),
            hint="this is a fault of the bundle or its data, not of the predictions",
        )


def _fault_issue(fault: CaseFault) -> Issue:
    where = f"case {fault.case_id}, {fault.where}" if fault.where else f"case {fault.case_id}"
    return error(fault.code, where, fault.what, fault.hint)


def bundle_block(bundle: Bundle) -> dict[str, Any]:
    """What identifies the bundle in a result: names, hashes, and the digest of each file that was read."""
    present = [name for name in (TASK, MANIFEST, EVAL_SPEC) if (bundle.path / name).is_file()]
    return {
        "task": bundle.task,
        "version": bundle.version,
        "hash": bundle.hash,
        "spec_hash": spec_hash(bundle),
        "files": {name: sha256_file(bundle.path / name) for name in present},
    }


def spec_hash(bundle: Bundle) -> str:
    """SHA-256 of the canonical JSON of both specs and the digests of bundle-local code.

    Source: docs/adr/0004-persisted-formats.md. YAML's integer keys become decimal text.
    """
    return canonical_digest(
        {
            "task": _text_keys(bundle.task_spec()) if bundle.has_task_spec else None,
            "eval_spec": _text_keys(bundle.eval_spec()),
            "code": {path.name: sha256_file(path) for path in bundle.local_code},
        }
    )


def _text_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _text_keys(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_text_keys(item) for item in value]
    return value
