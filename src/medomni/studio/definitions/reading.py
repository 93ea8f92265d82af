"""A definition file read and checked against its schema, its parts read without stopping at the first fault.

Leaves to others: what the parts mean.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from medomni.core import contracts
from medomni.core.errors import DocumentError
from medomni.core.files import Document, JsonPath, read_yaml
from medomni.core.issues import Issue, IssuesError, error
from medomni.studio.config_files import crlf_issues
from medomni.studio.errors import RecipeError, UnknownDefinitionError


@cache
def schema_text(kind: str) -> str:
    """The JSON Schema of a kind of file."""
    file = resources.files("medomni.studio.schemas") / f"{kind}.schema.json"
    return file.read_text(encoding="utf-8")


class Reading:
    """A file while it is read: its value, and the problems found so far."""

    def __init__(self, kind: str, path: Path) -> None:
        self.kind = kind
        self.path = path
        self.issues: list[Issue] = []
        self.document = self._document()
        if not self.issues:
            self.issues += contracts.check(kind, schema_text(kind), self.document)
        self.sound = not self.issues

    @property
    def value(self) -> Any:
        """The file's value."""
        return self.document.value

    def _document(self) -> Document:
        if not self.path.is_file():
            known = sorted(file.stem for file in self.path.parent.glob("*.yaml"))
            only = self.kind == self.path.stem
            raise UnknownDefinitionError(
                f"there is no file {self.path.name}"
                if only
                else f"there is no {self.kind} {self.path.stem!r}",
                where=str(self.path),
                hint=f"there are: {', '.join(known) or 'none'}",
            )
        try:
            data = self.path.read_bytes()
        except OSError as failure:
            raise DocumentError(
                f"{self.path} cannot be read: {failure.strerror}",
                where=str(self.path),
                code="document-unreadable",
            ) from failure
        self.issues += crlf_issues(str(self.path), data)
        return read_yaml(self.path)

    def tell(self, path: JsonPath, problem: RecipeError) -> None:
        """Keep a problem with the line of its part."""
        self.issues.append(error(problem.code, self.document.where(path), problem.what, problem.hint))

    def fault(self, path: JsonPath, code: str, what: str, hint: str = "") -> None:
        """Keep a problem that is found here."""
        self.issues.append(error(code, self.document.where(path), what, hint))

    def part[T](self, path: JsonPath, read: Callable[[], T]) -> T | None:
        """One part of the file; None, and a problem kept, where it cannot be read."""
        try:
            return read()
        except RecipeError as problem:
            self.tell(path, problem)
            return None

    def refuse(self) -> None:
        """End with all problems, if there are any.

        Raises:
            IssuesError: With every problem of the file.
        """
        if self.issues:
            raise IssuesError(
                f"{self.path} cannot be used: {len(self.issues)} problems",
                issues=self.issues,
                where=str(self.path),
            )

    def named(self, key: str, expected: str) -> None:
        """The name in the file must be the file's or folder's own."""
        if self.value.get(key) != expected:
            self.fault(
                (key,), f"{self.kind}-name", f"{key} is {self.value.get(key)!r}, and must be {expected!r}"
            )
