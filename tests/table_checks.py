"""Whether the tests that a table names exist: read from the files' text, never by running them."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parent


@cache
def functions_of(file: str) -> frozenset[str]:
    """Names of the test functions at the top level of a file below `tests/`; empty where there is no file."""
    path = TESTS / file
    if not path.is_file():
        return frozenset()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = (node.name for node in tree.body if isinstance(node, ast.FunctionDef))
    return frozenset(name for name in found if name.startswith("test_"))


def absent(node_ids: Iterable[str]) -> list[str]:
    """Those of the `file::function` that do not exist."""
    split = {node_id: node_id.partition("::") for node_id in node_ids}
    return [node_id for node_id, (file, _, name) in split.items() if name not in functions_of(file)]
