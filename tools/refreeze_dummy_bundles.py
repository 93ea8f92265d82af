"""Regenerates everything in `benchmarks/` and `evaluation/bundles/` that is frozen on generated data.

`python tools/refreeze_dummy_bundles.py` writes into this repository; `--root DIR` writes below another folder
and leaves this one alone. Equal sources give equal bytes, which a test checks.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from medomni.core.files import copy_real
from medotter_bench.factory.dummy import make_dummy
from medotter_bench.factory.freeze import COVERAGE_JSON, COVERAGE_MD, MANIFEST, freeze
from medotter_bench.factory.vendor import vendor

REPOSITORY = Path(__file__).resolve().parent.parent
VERSION = "0.0.0-dummy"
TRACKED = (
    "vessel_ct",
    "thoracic_lesion_ct",
    "histopath_nucleus_seg",
    "nucleus_instance_2d",
    "nucleus_instance_3d",
)
UNTRACKED = ("glioma_wt_tc_et", "abdominal_multiorgan_ct")
WITH_COVERAGE = ("glioma_wt_tc_et",)
_SOURCES = ("*.yaml", "*.py")


def refreeze(root: Path) -> list[Path]:
    """Writes the tracked manifests and the vendored bundles below `root`; returns what it wrote."""
    written = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in (*TRACKED, *UNTRACKED):
            bundle = _frozen_copy(name, Path(scratch))
            if name in TRACKED:
                target = root / "benchmarks" / name / MANIFEST
                target.parent.mkdir(parents=True, exist_ok=True)
                copy_real(bundle / MANIFEST, target)
                written.append(target)
            report = vendor(bundle, root / "evaluation" / "bundles")
            written += [report.target / file for file in report.files]
    return written


def _frozen_copy(name: str, scratch: Path) -> Path:
    """A copy of a bundle's sources, frozen on generated data."""
    bundle = scratch / "bundles" / name
    bundle.mkdir(parents=True)
    for pattern in _SOURCES:
        for source in sorted((REPOSITORY / "benchmarks" / name).glob(pattern)):
            copy_real(source, bundle / source.name)
    make_dummy(bundle, scratch / "data" / name)
    freeze(bundle, data_root=scratch / "data" / name, version=VERSION)
    shutil.rmtree(scratch / "data" / name)
    if name not in WITH_COVERAGE:
        (bundle / COVERAGE_JSON).unlink()
        (bundle / COVERAGE_MD).unlink()
    return bundle


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=REPOSITORY, help="where to write; default: here")
    for path in refreeze(parser.parse_args().root):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
