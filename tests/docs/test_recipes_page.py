"""The examples of the page on recipes are right: each is compiled against the tables of MIMIC-IV."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from markdown_pages import REPOSITORY, blocks

sys.path.insert(0, str(REPOSITORY / "tests" / "medomni" / "studio"))

from recipe_builders import RELEASE, workspace, write_label

from medomni.studio.recipe.expressions import FUNCTIONS

PAGE = REPOSITORY / "docs" / "explanation" / "recipes.md"
YAML = [block for block in blocks(PAGE) if block.info == "yaml"]
HEAD = (
    f"label: it\nversion: 1\nrequires: {{releases: [{RELEASE}]}}\nquestion: How much?\n"
    "type: number\nunit: units\nrange: [0, 1000]\n"
)
PLAIN = 'trigger: creatinine\nindex: {time: trigger}\nvalue: "1"\n'


@pytest.mark.parametrize("block", YAML, ids=lambda block: f"line {block.line}")
def test_every_example_is_a_right_label(block: Any, tmp_path: Path) -> None:
    library = workspace(tmp_path)
    body = block.body if "trigger" in yaml.safe_load(block.body) else block.body + PLAIN
    write_label(library, body, head=HEAD)
    assert [str(issue) for issue in library.label_problems("it")] == []


def test_the_example_of_a_query_is_a_right_label(tmp_path: Path) -> None:
    (found,) = [block for block in blocks(PAGE) if block.info == "sql"]
    library = workspace(tmp_path)
    path = write_label(library, "sql: stage.sql\n", head=HEAD)
    (path.parent / "stage.sql").write_text(found.body)
    assert [str(issue) for issue in library.label_problems("it")] == []


def test_the_page_names_every_function_of_the_language() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert f"`{' '.join(sorted(FUNCTIONS))}`" in text
