"""`medotter bundle new|list|show|check|freeze|dummy|vendor`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from medotter_bench.cli.failures import BAD_INPUT, CONTEXT, WRONG, fails_with, print_issues

app = typer.Typer(
    help="Make, list, show and check bundles.",
    no_args_is_help=True,
    context_settings=CONTEXT,
    rich_markup_mode=None,
)
BundleDir = Annotated[Path, typer.Argument(metavar="BUNDLE", help="Folder of the bundle.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
Parent = Annotated[Path, typer.Option("--dir", help="Folder that holds the bundles.")]


def _print(document: dict[str, Any], lines: list[str], as_json: bool) -> None:
    if as_json:
        from medomni.core.files import json_text

        typer.echo(json_text(document), nl=False)
    else:
        typer.echo("\n".join(lines))


@app.command("list")
@fails_with(BAD_INPUT)
def list_bundles(parent: Parent = Path("benchmarks"), as_json: Json = False) -> None:
    """List the bundles of a folder.

    Example: medotter bundle list --dir benchmarks
    """
    from medotter_bench.overview import listing

    rows = listing(parent)
    lines = [
        f"{r['name']:<28} {r['version'] or 'no manifest':<14} {r['task_type']:<16} {r['test']} test cases"
        for r in rows
    ]
    _print({"bundles": rows}, lines or [f"no bundles in {parent}"], as_json)


@app.command()
@fails_with(BAD_INPUT)
def show(bundle: BundleDir, as_json: Json = False) -> None:
    """Show what a bundle measures, on what, and how it is scored.

    Example: medotter bundle show benchmarks/thoracic_lesion_ct
    """
    from medotter_bench.overview import overview, overview_lines

    found = overview(bundle)
    _print(found, overview_lines(found), as_json)


@app.command()
@fails_with(WRONG)
def check(
    bundle: BundleDir,
    data_root: Annotated[
        Path | None, typer.Option("--data-root", help="Also check the files of this folder.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check a bundle's files, and with a data root every image and label map. All problems at once.

    Example: medotter bundle check benchmarks/thoracic_lesion_ct --data-root data
    """
    from medomni.core import progress as bars
    from medotter_bench import checks, data_checks
    from medotter_bench.bundle import Bundle

    loaded = Bundle(bundle)
    issues = checks.check(loaded)
    if data_root is not None:
        task, spec, _ = checks.read_specs(loaded)
        if spec is not None:
            with bars.for_terminal() as progress:
                found = data_checks.check_data(loaded, task, spec, data_root=data_root, progress=progress)
            issues += data_checks.without_repeats(found)
    print_issues(issues, what=str(bundle), as_json=as_json)


@app.command()
@fails_with(BAD_INPUT)
def freeze(
    bundle: BundleDir,
    data_root: Annotated[Path, typer.Option("--data-root", help="Folder with the source datasets.")],
    out: Annotated[Path | None, typer.Option("--out", help="Write here instead of into the bundle.")] = None,
    version: Annotated[
        str | None, typer.Option("--version", help="Version to freeze; default: factory.yaml's.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Scan a data root with the bundle's factory.yaml and write manifest_test.json and coverage_report.*.

    Example: medotter bundle freeze benchmarks/glioma_wt_tc_et --data-root data --version 1.0.0
    """
    from medotter_bench.factory.freeze import freeze as run

    report = run(bundle, data_root=data_root, out_dir=out, version=version)
    for issue in report.warnings:
        typer.echo(str(issue), err=True)
    lines = [
        f"{report.manifest}: {report.n_train} train, {report.n_test} test cases, version {report.version}",
        f"hash {report.hash} ({'written' if report.changed else 'unchanged'})",
        f"{report.n_skipped} skipped, {report.n_dropped} dropped because their patient is in both splits",
    ]
    document = {
        "manifest": str(report.manifest),
        "version": report.version,
        "hash": report.hash,
        "hash_full": report.hash_full,
        "train": report.n_train,
        "test": report.n_test,
        "skipped": report.n_skipped,
        "dropped_cross_split": report.n_dropped,
        "changed": report.changed,
        "warnings": [issue.as_dict() for issue in report.warnings],
    }
    _print(document, lines, as_json)


@app.command()
@fails_with(BAD_INPUT)
def dummy(
    name: Annotated[
        Path, typer.Argument(metavar="BUNDLE", help="Folder of the bundle, or its name in --dir.")
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder for the generated data; new or empty.")],
    cases: Annotated[int | None, typer.Option("--cases", min=1, help="Cases per dataset.")] = None,
    predictions: Annotated[
        Path | None,
        typer.Option("--predictions", help="Also write imperfect predictions here (needs a manifest)."),
    ] = None,
    parent: Parent = Path("benchmarks"),
    as_json: Json = False,
) -> None:
    """Generate a small data root with the layout of a bundle's real datasets.

    Example: medotter bundle dummy nucleus_instance_2d --out dummy-data
    """
    from medotter_bench.factory.dummy import make_dummy
    from medotter_bench.factory.dummy_predictions import dummy_predictions

    folder = name if name.is_dir() else parent / name
    report = make_dummy(folder, out, cases_per_dataset=cases)
    lines = [f"{name}: {n} cases" for name, n in report.cases.items()]
    lines.append(f"{len(report.files)} files in {report.root}")
    document: dict[str, Any] = {"root": str(report.root), "cases": report.cases, "files": report.files}
    if predictions is not None:
        written = dummy_predictions(folder, out, predictions)
        lines.append(f"{len(written.files)} predictions in {written.root}")
        document["predictions"] = {"root": str(written.root), "files": written.files}
    _print(document, lines, as_json)


@app.command()
@fails_with(BAD_INPUT)
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the bundle: lower case, digits, _.")],
    parent: Parent = Path("benchmarks"),
    as_json: Json = False,
) -> None:
    """Write the files of a new bundle, ready to be filled in.

    Example: medotter bundle new liver_lesion_mr
    """
    from medotter_bench.factory.new import new_bundle

    folder = new_bundle(name, parent)
    files = sorted(path.name for path in folder.iterdir())
    _print({"bundle": str(folder), "files": files}, [f"{folder}: {', '.join(files)}"], as_json)


@app.command()
@fails_with(BAD_INPUT)
def vendor(
    bundle: BundleDir,
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="For example evaluation/bundles.")],
    as_json: Json = False,
) -> None:
    """Copy a bundle's files for the site and its worker, and lock their digests.

    Example: medotter bundle vendor benchmarks/thoracic_lesion_ct evaluation/bundles
    """
    from medotter_bench.factory.vendor import vendor as run

    report = run(bundle, target)
    document = {"bundle": str(report.target), "version": report.version, "files": report.files}
    _print(document, [f"{report.target} {report.version}: {', '.join(report.files)}"], as_json)
