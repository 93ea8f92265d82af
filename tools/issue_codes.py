"""Finds the stable codes of errors and issues in the source, without importing it.

A code is a text constant that is (a) given as `code="…"`, (b) a class attribute `code = "…"`, (c) the first
argument of `error(…)` or `warning(…)`, (d) given to a parameter named `code` of any function or class of the
source, or (e) promised by a return type `Literal["…"]`; constants in capitals are followed. A code that is
put together at run time stands in `COMPUTED`. Leaves to others: the page of codes (`build_reference_docs`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Lower-case words joined by hyphens; the code of a class may be a single word.
_CODE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")
_CLASS_CODE = re.compile(r"[a-z][a-z0-9-]*")
_ISSUE_MAKERS = {"error": "error", "warning": "warning", "issue": "error"}
_MOST_MESSAGES = 3

# Module -> codes that it builds from parts or prints itself, and those whose message stands elsewhere.
COMPUTED: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "medotter_bench.spec_checks": {
        "mode-unknown": ("warning", "mode {…} is none of {…}; it is shown and changes no number"),
        "segmentation-mode-unknown": ("warning", "segmentation_mode {…} is none of {…}; it is shown …"),
    },
    "medotter_bench.cli": {"internal": ("exit 3", "a fault of medotter itself, not of the input")},
    "medotter_bench.inference.geometry": {
        "grid-shape": ("VolumeError", "the shape {…} is not the expected shape {…}: …"),
        "grid-affine": ("VolumeError", "the affines put a corner of the volume {…} voxels apart: …"),
    },
    "medotter_bench.factory.vendor": {
        "lock-unreadable": ("error", "bundles.lock.json is missing or malformed: …")
    },
    "medomni.core._json_text": {
        "document-not-json": ("DocumentError", "a value that JSON cannot hold"),
        "document-not-canonical": ("DocumentError", "a value that canonical JSON cannot hold exactly"),
    },
    "medomni.core.contracts": {},  # `contract_codes` lists them
    "medomni.studio.definitions.reading": {
        "cohort-name": ("error", "the name in a cohort file is not the file's own"),
        "task-template-name": ("error", "a template's id or dataset is not its folder's own"),
        "label-name": ("error", "the name in a label file is not the file's own"),
        "recipe-name": ("error", "the name in a recipe file is not the file's own"),
        "arm-name": ("error", "the name in an arm file is not the file's own"),
    },
    "medomni.studio.probes.forbidden": {
        "leak-canary": ("BuildError", "planted words are in what an agent sees"),
        "leak-date": ("BuildError", "a date of the release is in what an agent sees"),
        "leak-id": ("BuildError", "an id of the patient is in what an agent sees"),
        "leak-name": ("BuildError", "the name of an atom is in what an agent sees"),
        "leak-words": ("BuildError", "words that restate the answer are in what an agent sees"),
    },
    "medomni.studio.recipe.catalog": {
        f"recipe-{what}-unknown": ("RecipeError", f"there is no {what} {{…}}")
        for what in ("aggregate", "column", "name", "predicate", "table")
    },
}


@dataclass(frozen=True, slots=True)
class Code:
    """One code: how it arises, where, and what it says."""

    name: str
    kinds: tuple[str, ...]
    modules: tuple[str, ...]
    messages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Use:
    name: str
    kind: str
    module: str
    messages: tuple[str, ...]


@dataclass(slots=True)
class _Callables:
    """What is known of functions and classes by their bare name: of one module, or of the whole source."""

    parameters: dict[str, list[str]] = field(default_factory=dict)
    makes: dict[str, str] = field(default_factory=dict)
    calls: dict[str, list[ast.Call]] = field(default_factory=dict)
    constants: dict[str, ast.Constant] = field(default_factory=dict)

    def over(self, all_modules: _Callables) -> _Callables:
        """What holds inside this module: its own names hide those of other modules."""
        return _Callables(
            {**all_modules.parameters, **self.parameters},
            {**all_modules.makes, **self.makes},
            {**all_modules.calls, **self.calls},
            {**all_modules.constants, **self.constants},
        )

    def position(self, name: str, parameter: str) -> int | None:
        """The place of a parameter, `self` not counted; None where there is none of that name."""
        known = self.parameters.get(name, [])
        return known.index(parameter) if parameter in known else None


def source_codes(src: Path) -> list[Code]:
    """Every code of the modules below `src`, sorted, with all places that use it.

    Raises:
        ValueError: a code is computed and its module is not in `COMPUTED`.
    """
    files = {_module(path, src): path.read_text(encoding="utf-8") for path in sorted(src.rglob("*.py"))}
    trees = {module: ast.parse(text) for module, text in files.items()}
    everywhere = _callables(trees.values())
    uses = [
        use
        for module, tree in trees.items()
        for use in _Finder(module, _callables([tree]).over(everywhere)).uses(tree)
    ]
    for module, codes in COMPUTED.items():
        uses += [_Use(code, kind, module, (message,)) for code, (kind, message) in codes.items()]
    names = sorted({use.name for use in uses})
    return [_merged(name, [use for use in uses if use.name == name]) for name in names]


def _merged(name: str, uses: list[_Use]) -> Code:
    messages = dict.fromkeys(message for use in uses for message in use.messages if message)
    return Code(
        name,
        tuple(dict.fromkeys(use.kind for use in uses)),
        tuple(dict.fromkeys(use.module for use in uses)),
        tuple(messages)[:_MOST_MESSAGES],
    )


def contract_codes() -> dict[str, list[str]]:
    """Contract -> the codes that its schema and its rules can give."""
    from medomni.core import contracts
    from medomni.core.contracts._rules import FAULTS_OF_RULES
    from medomni.core.contracts._validation import _FAULT_OF_KEYWORD

    found = {}
    for kind in contracts.kinds():
        keywords = set(_keywords(contracts.schema(kind)))
        faults = {fault for keyword, fault in _FAULT_OF_KEYWORD.items() if keyword in keywords}
        faults |= {"key", "depth", "not-finite", *FAULTS_OF_RULES.get(kind, ())}
        found[kind] = [f"{kind}-{fault}" for fault in sorted(faults)]
    return found


def _keywords(node: Any) -> Iterator[str]:
    """The keywords of a schema; names of properties are none, and `pattern` of keys gives `key`."""
    if isinstance(node, list):
        for item in node:
            yield from _keywords(item)
    if not isinstance(node, dict):
        return
    for key, value in node.items():
        # Only `additionalProperties: false` can refuse a key.
        if key != "additionalProperties" or value is False:
            yield str(key)
        if key in ("properties", "$defs"):
            for inner in value.values():
                yield from _keywords(inner)
        elif key not in ("propertyNames", "if"):
            yield from _keywords(value)


def _module(path: Path, src: Path) -> str:
    parts = path.relative_to(src).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _callables(trees: Iterable[ast.AST]) -> _Callables:
    known = _Callables()
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.FunctionDef):
            arguments = [*node.args.posonlyargs, *node.args.args]
            known.parameters[node.name] = [a.arg for a in arguments if a.arg not in ("self", "cls")]
            returned = getattr(node.returns, "id", "")
            if returned.endswith("Error"):
                known.makes[node.name] = returned
        elif isinstance(node, ast.ClassDef):
            targets = [item.target for item in node.body if isinstance(item, ast.AnnAssign)]
            fields = [target.id for target in targets if isinstance(target, ast.Name)]
            known.parameters[node.name] = ["what"] if node.name.endswith("Error") else fields
        elif isinstance(node, ast.Call):
            known.calls.setdefault(_name(node), []).append(node)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            target = node.targets[0]
            if isinstance(target, ast.Name) and target.id.isupper():
                known.constants[target.id] = node.value
    return known


def _name(call: ast.Call) -> str:
    return str(getattr(call.func, "id", getattr(call.func, "attr", "")))


class _Finder(ast.NodeVisitor):
    """Collects the uses of one module, keeping track of the function that it is in."""

    def __init__(self, module: str, known: _Callables) -> None:
        self._module, self._known = module, known
        self._found: list[_Use] = []
        self._function: ast.FunctionDef | None = None
        self._texts: dict[str, str] = {}

    def uses(self, tree: ast.AST) -> list[_Use]:
        self.visit(tree)
        return self._found

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        described = (ast.get_docstring(node) or "").partition("\n\n")[0]
        for item in node.body:
            target = item.targets[0] if isinstance(item, ast.Assign) else getattr(item, "target", None)
            if isinstance(target, ast.Name) and target.id == "code":
                self._add(getattr(item, "value", None), node.name, (described,), pattern=_CLASS_CODE)
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outer = self._function, self._texts
        self._function, self._texts = node, {}
        for part in ast.walk(node.returns) if node.returns is not None else ():
            if isinstance(part, ast.Subscript) and getattr(part.value, "id", "") == "Literal":
                for value in ast.walk(part.slice):
                    self._add(value, "VolumeError", ())
        self.generic_visit(node)
        self._function, self._texts = outer

    def visit_Assign(self, node: ast.Assign) -> None:
        # `what = f"…"` just before the call that uses it.
        if isinstance(node.targets[0], ast.Name):
            self._texts[node.targets[0].id] = _text(node.value)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = _name(node)
        given = next((keyword.value for keyword in node.keywords if keyword.arg == "code"), None)
        place = self._known.position(name, "code")
        if given is None and place is not None and place < len(node.args):
            given = node.args[place]
        if isinstance(given, ast.JoinedStr) and self._module not in COMPUTED:
            raise ValueError(f"{self._module}:{node.lineno}: a computed code; list it in COMPUTED")
        self._add(given, name, self._messages(node, name))
        self.generic_visit(node)

    def _messages(self, call: ast.Call, name: str) -> tuple[str, ...]:
        """What a call says to people: its argument `what`, followed to the callers of this function."""
        place = self._known.position(_ISSUE_MAKERS.get(name, name), "what") or 0
        argument = call.args[place] if place < len(call.args) else None
        if not isinstance(argument, ast.Name):
            return (_text(argument),)
        if argument.id in self._texts:
            return (self._texts[argument.id],)
        inside = self._function.name if self._function else ""
        outer = self._known.position(inside, argument.id)
        calls = self._known.calls.get(inside, []) if outer is not None else []
        return tuple(_text(c.args[outer]) for c in calls if outer is not None and outer < len(c.args))

    def _add(
        self, value: Any, maker: str, messages: tuple[str, ...], *, pattern: re.Pattern[str] = _CODE
    ) -> None:
        if isinstance(value, ast.Name | ast.Attribute):
            value = self._known.constants.get(getattr(value, "id", getattr(value, "attr", "")))
        if not isinstance(value, ast.Constant) or not isinstance(value.value, str):
            return
        if pattern.fullmatch(value.value):
            kind = _ISSUE_MAKERS.get(maker) or self._known.makes.get(maker, maker)
            # `Found` carries the reason why a prediction is missing or invalid; helpers collect issues.
            kind = {"Found": "result"}.get(kind, kind if kind[:1].isupper() or kind == "warning" else "error")
            self._found.append(_Use(value.value, kind, self._module, messages))


def _text(node: ast.AST | None) -> str:
    """The text of a constant or f-string, with `{…}` where a value goes; empty for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) if isinstance(part, ast.Constant) else "{…}" for part in node.values)
    if isinstance(node, ast.IfExp):
        return _text(node.body) or _text(node.orelse)
    return ""
