"""Contracts: what files that several programs read must hold, as JSON Schemas, and checks against them.

Codes of issues are `<kind>-<fault>`, with the fault one of `FAULTS`.

A document is checked against its schema and against the rules that a schema cannot say. Leaves to others:
whether what a document names exists, two files that contradict each other, misspelt keys of bundles.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from medomni.core.contracts._keys import Problem, with_text_keys
from medomni.core.errors import ContractError
from medomni.core.files import Document, JsonPath, read_csv, read_json, read_yaml, render_path
from medomni.core.issues import Issue, IssuesError
from medomni.core.issues import error as issue

FAULTS = (
    "choice",
    "conflict",
    "depth",
    "enum",
    "key",
    "maximum",
    "minimum",
    "name",
    "not-finite",
    "order",
    "pair",
    "path",
    "pattern",
    "required",
    "size",
    "type",
    "unique",
    "unknown",
)
_SUFFIX = ".schema.json"
# Mappings whose keys are label ids, which YAML reads as integers; `*` is any key.
_ID_KEYED: dict[str, tuple[JsonPath, ...]] = {"bundle-task": (("label_remap", "*"),)}


@cache
def _texts() -> dict[str, str]:
    folder = resources.files(__name__) / "schemas"
    found = {entry.name: entry for entry in folder.iterdir() if entry.name.endswith(_SUFFIX)}
    return {name.removesuffix(_SUFFIX): found[name].read_text(encoding="utf-8") for name in sorted(found)}


def kinds() -> list[str]:
    """The names of all contracts, sorted."""
    return list(_texts())


def schema(kind: str) -> dict[str, Any]:
    """The JSON Schema of a contract; a new copy each time.

    Raises:
        ContractError: There is no such contract.
    """
    text = _texts().get(kind)
    if text is None:
        raise ContractError(f"there is no contract {kind!r}", hint=f"known contracts: {', '.join(kinds())}")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def validate(kind: str, document: Any, *, place: str | Path | None = None) -> list[Issue]:
    """Everything that is wrong with a document, sorted by its path; empty for a valid one.

    Args:
        kind: Name of the contract.
        document: Plain data, or a `Document`, whose issues then name file and line.
        place: The file that the document is, where its own name must agree with the file's and the folder's.

    Raises:
        ContractError: There is no such contract.
    """
    from medomni.core.contracts._rules import broken_rules

    schema(kind)
    file = None if place is None else Path(place).absolute()
    return check(
        kind,
        _texts()[kind],
        document,
        id_keyed=_ID_KEYED.get(kind, ()),
        rules=lambda value: broken_rules(kind, value, file),
    )


def check(
    kind: str,
    schema_text: str,
    document: Any,
    *,
    id_keyed: tuple[JsonPath, ...] = (),
    rules: Callable[[Any], list[Problem]] | None = None,
) -> list[Issue]:
    """Everything that is wrong with a document by a schema that is no contract of the core's own.

    Args:
        kind: First part of the issues' codes.
        schema_text: The JSON Schema, in the same subset of the language as the contracts.
        document: Plain data, or a `Document`, whose issues then name file and line.
        id_keyed: Paths of mappings that may have integer keys; `*` is any step.
        rules: Gives the problems that the schema cannot say, of the document with text keys.
    """
    from medomni.core.contracts._validation import problems

    source = document if isinstance(document, Document) else Document(document, "")
    value, found = with_text_keys(source.value, id_keyed)
    if not any(each.fault == "depth" for each in found):
        told = {each.path for each in found}
        found += [
            each
            for each in problems(schema_text, value)
            # NaN has the wrong type too, and a key that is no text the wrong form: once is enough.
            if not (each.path in told and each.fault in ("type", "key"))
        ]
        found += rules(value) if rules is not None else []
    unique = dict.fromkeys(sorted(found, key=lambda each: (_order(each.path), each.fault, each.what)))
    return [issue(f"{kind}-{each.fault}", _where(source, each.path), each.what, each.hint) for each in unique]


def load(kind: str, path: str | Path) -> Any:
    """Read a file and return its value if it fulfils its contract.

    `.json` files are read as JSON, `.csv` as CSV (`{"header": [...], "rows": [...]}`), all others as YAML.

    Raises:
        ContractError: There is no such contract.
        DocumentNotFoundError: There is no such file.
        DocumentError: It is not readable YAML, JSON or CSV.
        IssuesError: It does not fulfil the contract; `issues` holds all of its problems.
    """
    schema(kind)
    suffix = Path(path).suffix.lower()
    document = {".json": read_json, ".csv": read_csv}.get(suffix, read_yaml)(path)
    issues = validate(kind, document, place=path)
    if issues:
        raise IssuesError(
            f"{document.name} is no valid {kind}: {len(issues)} problems", issues=issues, where=document.name
        )
    return document.value


def _where(source: Document, path: JsonPath) -> str:
    real = _real_path(source.value, path)
    if not source.name:
        return render_path(real, source.value) or "the document itself"
    return source.where(real)


def _real_path(value: Any, path: JsonPath) -> JsonPath:
    """The path with the keys as the document has them: the label id 1 and not the text "1"."""
    real: list[Any] = []
    for step in path:
        found = step
        if isinstance(value, dict):
            found = step if step in value else next(key for key in value if str(key) == step)
        real.append(found)
        value = value[found]
    return tuple(real)


def _order(path: JsonPath) -> tuple[tuple[int, float, str], ...]:
    return tuple((0, step, "") if isinstance(step, int) else (1, math.inf, str(step)) for step in path)
