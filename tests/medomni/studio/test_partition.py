"""Families against rows: each row in exactly one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from recipe_builders import TinyRelease, lab, workspace

from medomni.core.issues import Issue
from medomni.studio.definitions.families import Families, read_families
from medomni.studio.definitions.library import Library
from medomni.studio.partition import check_partition, partition_problems


def store(library: Library) -> TinyRelease:
    rows = [
        lab(1, "2150-01-01 00:00:00", "1"),
        lab(2, "2150-01-01 00:00:00", "1", itemid=50983),
        lab(3, "2150-01-01 00:00:00", "1", itemid=1),
    ]
    known: list[dict[str, Any]] = [
        {"itemid": 50912, "label": "Creatinine", "fluid": "Blood", "category": "Chemistry"},
        {"itemid": 50983, "label": "Sodium", "fluid": "Blood", "category": "Chemistry"},
    ]
    return TinyRelease({"hosp.labevents": rows, "hosp.d_labitems": known}, library.catalog.tables)


def problems(library: Library) -> list[Issue]:
    families = read_families(library.workspace.recipe("mimic-iv", "families"), library.catalog)
    return partition_problems(store(library), families, library.catalog)


def test_a_row_is_in_one_family_and_what_no_family_names_is_in_the_rest(tmp_path: Path) -> None:
    assert problems(workspace(tmp_path)) == []


def test_a_row_in_two_families_is_told_with_its_table(tmp_path: Path) -> None:
    library = workspace(tmp_path)
    path = library.workspace.recipe("mimic-iv", "families")
    value = yaml.safe_load(path.read_text())
    value["families"]["kidney"] = [{"table": "hosp.labevents", "code": [50912]}]
    path.write_text(yaml.safe_dump(value))
    assert [(issue.code, issue.where, issue.what) for issue in problems(library)] == [
        ("families-overlap", "hosp.labevents", "1 rows of hosp.labevents are in several families")
    ]


def test_rows_in_no_family_are_told_with_their_table(tmp_path: Path) -> None:
    """No file can leave rows out, since each table needs a whole part or a rest; parts made in Python can."""
    library = workspace(tmp_path)
    found = read_families(library.workspace.recipe("mimic-iv", "families"), library.catalog)
    no_rest = tuple(part for part in found.parts if part.table != "hosp.labevents" or not part.rest)
    chemistry = tuple(part for part in no_rest if part.family != "labs_haematology")
    nothing = tuple(part for part in no_rest if part.table != "hosp.labevents")
    for parts, rows in ((no_rest, 1), (chemistry, 1), (nothing, 3)):
        issues = partition_problems(store(library), Families(parts, found.not_evidence), library.catalog)
        assert [(issue.code, issue.where, issue.what) for issue in issues] == [
            ("families-none", "hosp.labevents", f"{rows} rows of hosp.labevents are in no family")
        ]


def test_the_check_of_a_release_begins_with_the_families_file_itself(tmp_path: Path) -> None:
    library = workspace(tmp_path)
    assert check_partition(store(library), library) == []
    path = library.workspace.recipe("mimic-iv", "families")
    value = yaml.safe_load(path.read_text())
    del value["families"]["omr"]
    path.write_text(yaml.safe_dump(value))
    (issue,) = check_partition(store(library), library)
    assert (issue.code, issue.what) == ("families-partition", "the table hosp.omr is in no family")
    path.unlink()
    (issue,) = check_partition(store(library), library)
    assert issue.code == "definition-unknown"
    assert issue.what == "there is no file families.yaml"
