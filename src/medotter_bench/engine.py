"""Scores a folder of predictions against a bundle. Walks `bundle.test`, never the folder.

Leaves to others: one case (`case_scoring`), finding files (`predictions`), roll-ups (`aggregation`), the
document (`results`), what is wrong with a bundle (`checks`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, as_completed
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from medomni.core.errors import MedomniError
from medomni.core.hashing import canonical_digest, sha256_file
from medomni.core.issues import IssuesError, error, errors_of
from medomni.core.progress import Progress
from medotter_bench import checks, predictions, results
from medotter_bench.adapters import registry
from medotter_bench.adapters.stubs import StubAdapter
from medotter_bench.bundle import EVAL_SPEC, MANIFEST, TASK, Bundle
from medotter_bench.case_scoring import CaseFault, CaseJob, CaseRow, score_case
from medotter_bench.errors import BundleCodeError, MedotterError, ScoringError
from medotter_bench.inference import VolumeLoader, read_grid
from medotter_bench.label_map import IDENTITY, LabelRemap, case_remap
from medotter_bench.parallel import process_pool, worker_count
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
    listed = ", ".join(f"{path.name} (SHA-256 {sha256_file(path)[:12]})" for path in code)
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


def score_predictions(
    bundle: Bundle | str | Path,
    predictions_dir: str | Path,
    data_root: str | Path,
    *,
    executor: Executor | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
    trust_bundle_code: bool = False,
) -> Results:
    """Score `<predictions_dir>/<case_id><suffix>` for every case of the bundle's test split.

    Args:
        bundle: The bundle, or its folder.
        predictions_dir: Predictions in canonical ids on the input's grid.
        data_root: Where the manifest's paths start.
        executor: Where cases run; without one, `jobs` decides.
        jobs: Worker processes; 1 stays in this process, None takes all cores as far as memory goes.
        progress: Called with (done, total, step).
        trust_bundle_code: Whether the bundle's own code may run (it needs a sandbox all the same).

    Returns:
        The results: missing and invalid predictions are in them, with the worst number of the penalty table.

    Raises:
        ScoringError: no expected file, or an absent folder.
        ReferencesError: references are wrong; nothing is scored.
        MedomniError: everything that `protocol_of` raises.
    """
    bundle = bundle if isinstance(bundle, Bundle) else Bundle(bundle)
    protocol = protocol_of(bundle, trust_bundle_code=trust_bundle_code)
    cases, extra = plan(bundle, protocol, Path(predictions_dir), data_root=Path(data_root))
    if executor is not None:
        outcomes = _run(cases, executor, progress)
    else:
        workers = worker_count(jobs, cases=len(cases), largest_voxels=0 if jobs == 1 else _largest(cases))
        with process_pool(workers) as pool:
            outcomes = _run(cases, pool, progress)
    faults = [outcome for outcome in outcomes if isinstance(outcome, CaseFault)]
    if faults:
        raise _fault_error(faults, Path(data_root))
    rows = [outcome for outcome in outcomes if isinstance(outcome, CaseRow)]
    block = bundle_block(bundle)
    return results.build(bundle=block, spec=protocol.spec, remaps=protocol.remaps, rows=rows, extra=extra)


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


def _run(
    cases: Sequence[CaseJob], executor: Executor | None, progress: Progress | None
) -> list[CaseRow | CaseFault]:
    outcomes = []
    for done, outcome in enumerate(_each(cases, executor), start=1):
        outcomes.append(outcome)
        if progress is not None:
            progress(done, len(cases), "scoring cases")
    return outcomes


def _each(cases: Sequence[CaseJob], executor: Executor | None) -> Iterator[CaseRow | CaseFault]:
    if executor is None:
        yield from map(score_case, cases)
        return
    futures = [executor.submit(score_case, case) for case in cases]
    try:
        for future in as_completed(futures):
            yield future.result()
    except BrokenExecutor as broken:
        raise MedotterError(
            "a worker process ended before its case was scored; it was probably killed for memory",
            hint="run again with --jobs 1",
            code="worker-died",
        ) from broken


def _largest(cases: Sequence[CaseJob]) -> int:
    """Voxels of the largest reference, from headers; an unreadable one is found when it is scored."""
    largest = 0
    for case in cases:
        try:
            largest = max(
                largest, prod(read_grid(VolumeLoader(case.data_root).label_path(case.meta)).grid.shape)
            )
        except MedomniError:
            continue
    return largest


def _fault_error(faults: Sequence[CaseFault], data_root: Path) -> ReferencesError:
    issues = [
        error(f.code, f"case {f.case_id}, {f.where}" if f.where else f"case {f.case_id}", f.what, f.hint)
        for f in sorted(faults, key=lambda f: f.case_id)
    ]
    return ReferencesError(
        f"{len(issues)} cases have a reference or input that cannot be used; nothing was scored",
        issues=issues,
        where=str(data_root),
        hint="this is a fault of the bundle or its data, not of the predictions",
    )


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

    Source: design page 02, Bundle (Manifest hash). YAML's integer keys become decimal text.
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
