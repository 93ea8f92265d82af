"""One problem found by a check. Checks collect issues and return all of them; operations raise.

Leaves to others: deciding what to check, and printing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

from medomni.core.errors import MedomniError


class Severity(StrEnum):
    """How much an issue matters: an error decides a number or a refusal, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Issue:
    """One problem: stable code, severity, where it is, what is wrong, what to do."""

    code: str
    severity: Severity
    where: str
    what: str
    hint: str = ""

    def __str__(self) -> str:
        text = f"{self.severity.value}[{self.code}]: {self.what}\n  {self.where}"
        return f"{text}\nhint: {self.hint}" if self.hint else text

    def as_dict(self) -> dict[str, str]:
        """The issue as plain data, for `--json`."""
        return {key: str(value) for key, value in asdict(self).items()}


def error(code: str, where: str, what: str, hint: str = "") -> Issue:
    """An issue that decides: the thing checked is wrong."""
    return Issue(code, Severity.ERROR, where, what, hint)


def warning(code: str, where: str, what: str, hint: str = "") -> Issue:
    """An issue that people should know of, and that changes no number."""
    return Issue(code, Severity.WARNING, where, what, hint)


def errors_of(issues: Iterable[Issue]) -> list[Issue]:
    """Only the issues that are errors, in their order."""
    return [issue for issue in issues if issue.severity is Severity.ERROR]


class IssuesError(MedomniError, ValueError):
    """Several problems at once; `issues` holds all of them."""

    code = "issues"

    def __init__(self, what: str, *, issues: Sequence[Issue], where: str = "", hint: str = "") -> None:
        super().__init__(what, where=where, hint=hint, code=issues[0].code if len(issues) == 1 else None)
        self.issues = list(issues)

    def __str__(self) -> str:
        if len(self.issues) == 1:
            return str(self.issues[0])
        listed = "\n".join(str(issue) for issue in self.issues)
        return f"{super().__str__()}\n{listed}"
