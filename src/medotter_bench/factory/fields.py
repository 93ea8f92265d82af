"""Strict reading of a mapping that people write: known keys only, right kinds, every problem collected.

Leaves to others: parsing YAML (`medomni.core.files`) and what the values mean (`definition`,
`dummy_spec`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import UnionType
from typing import Any

from medomni.core.files import Document
from medomni.core.issues import Issue, error

Path = tuple[str | int, ...]


@dataclass(slots=True)
class Findings:
    """The document that is read and the problems found in it so far."""

    document: Document
    issues: list[Issue] = field(default_factory=list)

    def add(self, code: str, path: Path, what: str, hint: str = "") -> None:
        """Collects one error at `path` of the document."""
        self.issues.append(error(code, self.document.where(path), what, hint))


class Fields:
    """One mapping of the document. Getters return a usable value and record what is wrong with it.

    Args:
        value: What stands at `path`; anything but a mapping is an issue.
        findings: Where issues go.
        path: Keys from the top of the document.
        known: Keys that may stand here; `None` where the keys are names that people choose.
    """

    def __init__(
        self, value: Any, findings: Findings, path: Path, known: Iterable[str] | None = None
    ) -> None:
        self.findings = findings
        self.path = path
        self.value: dict[Any, Any] = value if isinstance(value, dict) else {}
        if not isinstance(value, dict):
            self.problem("factory-type", f"{self._name()} must be a mapping, found {value!r:.60}")
        for key in self.value:
            self._check_key(key, None if known is None else list(known))

    def _name(self) -> str:
        return ".".join(str(part) for part in self.path) or "factory.yaml"

    def _check_key(self, key: Any, known: list[str] | None) -> None:
        if not isinstance(key, str):
            self.problem("factory-type", f"key {key!r} of {self._name()} must be text", hint="quote it")
        elif known is not None and key not in known:
            what = f"unknown key {key!r} in {self._name()}"
            self.problem("factory-unknown-key", what, key, hint=f"known: {', '.join(known)}")

    def problem(self, code: str, what: str, key: str | None = None, *, hint: str = "") -> None:
        """Records an error at `key`, or at the mapping itself."""
        self.findings.add(code, self.path if key is None else (*self.path, key), what, hint)

    def has(self, key: str) -> bool:
        """Whether the key stands here, even with null."""
        return key in self.value

    def _get(self, key: str, kind: type | UnionType, name: str, *, required: bool) -> Any:
        if self.value.get(key) is None:
            if required:
                self.problem("factory-required", f"{self._name()} lacks {key!r}")
            return None
        found = self.value[key]
        if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool):
            what = f"{key} of {self._name()} must be {name}, found {found!r:.60}"
            self.problem("factory-type", what, key, hint="quote it" if kind is str else "")
            return None
        return found

    def text(self, key: str, *, required: bool = True) -> str:
        """Non-empty text, or `""` where it is absent or wrong."""
        found = self._get(key, str, "text", required=required)
        if found is not None and not found.strip():
            self.problem("factory-type", f"{key} of {self._name()} is empty", key)
        return found or ""

    def integer(self, key: str, default: int, *, least: int = 0) -> int:
        """A whole number not below `least`, or the default."""
        found = self._get(key, int, "a whole number", required=False)
        if found is None:
            return default
        if found < least:
            self.problem(
                "factory-range", f"{key} of {self._name()} must be {least} or more, found {found}", key
            )
            return default
        return int(found)

    def flag(self, key: str, *, default: bool = False) -> bool:
        """True or false."""
        found = self._get(key, bool, "true or false", required=False)
        return default if found is None else bool(found)

    def choice(self, key: str, options: tuple[str, ...], default: str | None = None) -> str:
        """One of `options`; required where there is no default."""
        found = self.text(key, required=default is None)
        if found and found not in options:
            what = f"{key} of {self._name()} must be one of {', '.join(options)}, found {found!r}"
            self.problem("factory-choice", what, key)
            return default or options[0]
        return found or default or options[0]

    def items(self, key: str, kind: type | UnionType, name: str, *, required: bool = False) -> list[Any]:
        """A list whose entries are all of one kind; wrong entries are issues and left out."""
        found = self._get(key, list, "a list", required=required) or []
        kept = []
        for index, entry in enumerate(found):
            if isinstance(entry, kind) and not (isinstance(entry, bool) and kind is not bool):
                kept.append(entry)
            else:
                what = f"entry {index + 1} of {key} in {self._name()} must be {name}, found {entry!r:.60}"
                self.findings.add("factory-type", (*self.path, key, index), what)
        return kept

    def inner(self, key: str, known: Iterable[str] | None, *, required: bool = False) -> Fields | None:
        """The mapping at `key`, or None where it is absent."""
        if self.value.get(key) is None:
            if required:
                self.problem("factory-required", f"{self._name()} lacks {key!r}")
            return None
        return Fields(self.value[key], self.findings, (*self.path, key), known)

    def each(self, known: Iterable[str] | None) -> Iterator[tuple[str, Fields]]:
        """`(name, mapping)` for every entry of a mapping whose keys are names."""
        for key, value in self.value.items():
            if isinstance(key, str):
                yield key, Fields(value, self.findings, (*self.path, key), known)
