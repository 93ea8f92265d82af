"""Reads what a page needs beside the results, and writes the page.

Leaves to others: the page itself (`page`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from medomni.core.errors import DocumentError, DocumentNotFoundError
from medomni.core.files import read_json, write_atomic
from medotter_bench.bundle import Bundle
from medotter_bench.engine import bundle_block, protocol_of
from medotter_bench.report.page import render
from medotter_bench.report.pictures import Drawer
from medotter_bench.results import timings_path
from medotter_bench.results_reading import LoadedResults, ResultsError

_ABOUT = ("name", "modality", "anatomy", "description")


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a page finds more than the results hold: all optional.

    Attributes:
        bundle: The bundle that was scored against.
        data_root: Its data, for pictures.
        predictions: The predictions that were scored, for pictures.
        withheld: Tiers of which no single case may be shown.
    """

    bundle: Path | None = None
    data_root: Path | None = None
    predictions: Path | None = None
    withheld: Sequence[str] = ()


def write_report(
    results: LoadedResults,
    out: Path,
    *,
    sources: Sources | None = None,
    timings: Mapping[str, float] | None = None,
) -> None:
    """Write the page of a result.

    Raises:
        ResultsError: `report-bundle`: the bundle given is not the one that was scored.
        WriteError: the page cannot be written.
        MedomniError: the bundle given cannot be read.
    """
    sources = sources or Sources()
    drawer, about = None, None
    if sources.bundle is not None:
        bundle = Bundle(sources.bundle)
        _refuse_other_bundle(results, bundle)
        about = _about(bundle)
        if sources.data_root is not None and sources.predictions is not None:
            drawer = Drawer(bundle, protocol_of(bundle), sources.data_root, sources.predictions)
    page = render(results, drawer=drawer, about=about, timings=timings, withheld=sources.withheld)
    write_atomic(out, page)


def _refuse_other_bundle(results: LoadedResults, bundle: Bundle) -> None:
    scored, given = results.document["bundle"], bundle_block(bundle)
    fields = [key for key in given if scored.get(key) != given[key]]
    if fields:
        raise ResultsError(
            f"the bundle given is not the one that was scored: {', '.join(fields)} differ",
            where=str(bundle.path),
            hint="give the bundle's version that the results name",
            code="report-bundle",
        )


def _about(bundle: Bundle) -> dict[str, str]:
    if not bundle.has_task_spec:
        return {}
    identity = bundle.task_spec().get("task")
    identity = identity if isinstance(identity, dict) else {}
    return {key: str(identity[key]).strip() for key in _ABOUT if identity.get(key)}


def read_timings(results: Path) -> dict[str, float]:
    """Seconds per case from the file beside a results file; empty where there is none.

    Raises:
        ResultsError: `timings-invalid`: it is there and not what `medotter score` writes.
    """
    path = timings_path(results)
    try:
        found = read_json(path).value
    except DocumentNotFoundError:
        return {}
    except DocumentError as bad:
        raise _bad_timings(path) from bad
    cases = found.get("cases") if isinstance(found, dict) else None
    if not isinstance(cases, dict) or any(
        isinstance(s, bool) or not isinstance(s, int | float) or s < 0 for s in cases.values()
    ):
        raise _bad_timings(path)
    return {case: float(seconds) for case, seconds in cases.items()}


def _bad_timings(path: Path) -> ResultsError:
    return ResultsError(
        "this is no timings file of a scoring",
        where=str(path),
        hint="remove it, or score again",
        code="timings-invalid",
    )
