"""Refuses modules of more than 400 lines and functions of more than 40, in `src/` and `tools/`.

A function's docstring does not count: it is there for readers. A decorator does not count either. What may be
longer stands in `EXCEPTIONS` with its reason, and an exception that is no longer needed is an offence too.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "tools")
LONGEST_MODULE = 400
LONGEST_FUNCTION = 40

# `path` or `path::function` -> why it may be longer.
EXCEPTIONS: Mapping[str, str] = {
    "src/medomni/bench/cli/run.py::run": "one option per parameter; most of its lines are the signature",
    "src/medotter_bench/cli/score.py::score": "one option per parameter; half of its lines are the signature",
}


def function_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from `def` to the last statement, without the docstring."""
    total = (node.end_lineno or node.lineno) - node.lineno + 1
    if ast.get_docstring(node, clean=False) is None:
        return total
    first = node.body[0]
    return total - ((first.end_lineno or first.lineno) - first.lineno + 1)


def functions(
    tree: ast.AST, prefix: str = ""
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Every function of a module by its dotted name, methods and inner functions included."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{prefix}{node.name}", node
            yield from functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f"{prefix}{node.name}.")
        else:
            yield from functions(node, prefix)


def sizes(root: Path, folders: Sequence[str] = FOLDERS) -> Iterator[tuple[str, int, int]]:
    """`(name, lines, limit)` of every module and function below the folders."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            name, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
            yield name, len(text.splitlines()), LONGEST_MODULE
            for function, node in functions(ast.parse(text)):
                yield f"{name}::{function}", function_lines(node), LONGEST_FUNCTION


def offences(root: Path, exceptions: Mapping[str, str] = EXCEPTIONS) -> list[str]:
    """What is too long and not excepted, and exceptions that nothing needs, as lines for people."""
    too_long = {name: (lines, limit) for name, lines, limit in sizes(root) if lines > limit}
    found = [
        f"{name}: {lines} lines, at most {limit}"
        for name, (lines, limit) in too_long.items()
        if name not in exceptions
    ]
    return found + [
        f"{name}: needs no exception any more; take it out of the list"
        for name in exceptions
        if name not in too_long
    ]


def main() -> int:
    """The command line: 0 where all is short enough, 1 with a list where not."""
    found = offences(REPOSITORY)
    print("\n".join(found) if found else "sizes: all modules and functions are short enough")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
