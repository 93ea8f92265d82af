"""Every label of the repository gives the same bytes for any threads, order of rows and of importing."""

from __future__ import annotations

import csv
import gzip
import io
import random
from pathlib import Path

import pytest
from studio_builders import DUMMY, content, dummy_workspace
from typer.testing import CliRunner

from medomni.cli import app
from medomni.core.workspace import Workspace
from medomni.studio.data.importer import import_release
from medomni.studio.dummy import write_dummy

LABELS = (
    "aki_stage_48h", "ckd_g_stage", "death_365d", "hospital_death", "icu_transfer_24_96h", "meld_na",
    "remaining_los_days", "sepsis3_onset_12_60h", "unplanned_readmit_30d",
)  # fmt: skip


def shuffle(path: Path, seed: int) -> None:
    """Put the rows of a CSV in another order; notes hold line ends, so that lines are no rows."""
    text = gzip.decompress(path.read_bytes()).decode("utf-8")
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    random.Random(seed).shuffle(rows)
    written = io.StringIO(newline="")
    csv.writer(written, lineterminator="\n").writerows([header, *rows])
    path.write_bytes(gzip.compress(written.getvalue().encode(), compresslevel=1, mtime=0))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return dummy_workspace(tmp_path_factory)


@pytest.fixture(scope="module")
def shuffled(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The same release from rows in another order, and of two imports: the second reads some tables only."""
    files = tmp_path_factory.mktemp("shuffled") / "release"
    write_dummy("mimic-iv", files)
    workspace = content(tmp_path_factory.mktemp("shuffled-workspace"))
    first = sorted(files.rglob("*.csv.gz"))
    last = [files / "hosp" / f"{name}.csv.gz" for name in ("patients", "admissions", "labevents")]
    for at, path in enumerate(each for each in first if each not in last):
        shuffle(path, at)
    import_release(workspace, "mimic-iv", [files], release="dummy-1", threads=1)
    for at, path in enumerate(last):
        shuffle(path, at)
    done = import_release(workspace, "mimic-iv", [files], release="dummy-1", threads=2)
    assert sorted(done.converted) == ["hosp.admissions", "hosp.labevents", "hosp.patients"]
    return workspace


def table(workspace: Workspace, label: str, threads: int) -> str:
    words = ["studio", "label", "table", label, "--threads", str(threads), "--workspace", str(workspace.root)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_labels_here_are_those_of_the_repository(place: Workspace) -> None:
    folder = place.dataset("mimic-iv") / "labels"
    assert sorted(path.stem for path in folder.glob("*.yaml")) == sorted(LABELS)


def test_shuffled_files_are_stored_as_the_same_bytes(place: Workspace, shuffled: Workspace) -> None:
    one, other = (
        {
            path.relative_to(each.imported(DUMMY)): path.read_bytes()
            for path in each.imported(DUMMY).rglob("*.parquet")
        }
        for each in (place, shuffled)
    )
    assert one == other
    assert len(one) > 30


# The others of the nine are as much a part of this, and slow.
QUICK = ("ckd_g_stage", "sepsis3_onset_12_60h", "unplanned_readmit_30d")


@pytest.mark.parametrize(
    "label", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in LABELS]
)
def test_a_label_is_the_same_for_one_thread_and_two_and_for_shuffled_rows(
    place: Workspace, shuffled: Workspace, label: str
) -> None:
    found = table(place, label, 1)
    assert found.count("\n") > 200
    assert table(shuffled, label, 2) == found
