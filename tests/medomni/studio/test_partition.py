"""Families against rows: each row in exactly one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from recipe_builders import TinyRelease, lab, workspace

from medomni.core.issues import Issue
from medomni.studio.definitions.families import read_families
from medomni.studio.definitions.library import Library
from medomni.studio.partition import partition_problems


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
