"""The error root of every package: what is wrong, where, and what to do next.

Leaves to others: collecting several problems at once (`issues`), and printing (the command lines).
"""

from __future__ import annotations

from typing import Any


class MedomniError(Exception):
    """Base of every error that this project raises on purpose.

    Args:
        what: One sentence saying what is wrong, with the offending value.
        where: File, line, JSON path or case that it concerns; empty if there is none.
        hint: What to do about it; empty if there is nothing to say.
        code: Stable identifier of the fault; the class's own `code` where absent.
    """

    code: str = "error"

    def __init__(self, what: str, *, where: str = "", hint: str = "", code: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        lines = [f"error[{self.code}]: {self.what}"]
        if self.where:
            lines.append(f"  {self.where}")
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors cross process borders; the default would call the class with `args` alone.
        state = {**self.__dict__}
        return (_rebuild, (type(self), self.what, state))


def _rebuild(cls: type[MedomniError], what: str, state: dict[str, Any]) -> MedomniError:
    error = cls.__new__(cls, what)
    Exception.__init__(error, what)
    error.__dict__.update(state)
    return error


class DocumentError(MedomniError, ValueError):
    """A file that people write (YAML, JSON) cannot be read as what it should be."""

    code = "document-invalid"


class DocumentNotFoundError(MedomniError, FileNotFoundError):
    """A file that must be there is not."""

    code = "file-not-found"


class UnsafePathError(MedomniError, ValueError):
    """A path from a manifest, archive or upload points outside its root, or is not a plain file."""

    code = "path-unsafe"


class MissingPathError(UnsafePathError, FileNotFoundError):
    """A path is safe, and there is nothing at it where a plain file must be."""

    code = "path-missing"

    def __new__(cls, *args: Any, **_named: Any) -> MissingPathError:
        """Make the error as an `OSError` is made."""
        # By the order of the bases this would be ValueError's, which cannot make an OSError (see `_rebuild`).
        return OSError.__new__(cls, *args)


class InvalidNameError(MedomniError, ValueError):
    """A name is not one that this project can use; `code` says of what."""

    code = "name-invalid"


class WorkspaceError(MedomniError, ValueError):
    """A folder cannot be used, or made, as a workspace; `code` says why."""

    code = "workspace-invalid"


class WorkspaceNotFoundError(MedomniError, FileNotFoundError):
    """No folder around here holds a `medomni.toml`."""

    code = "workspace-not-found"


class ConfigHashError(MedomniError, ValueError):
    """What should be hashed is not what such a hash covers; `code` says why."""

    code = "hash-input-invalid"


class ContractError(MedomniError, ValueError):
    """A contract is asked for that does not exist."""

    code = "contract-unknown"


class StatisticsError(MedomniError, ValueError):
    """A statistic is asked of values or settings for which it is not defined."""

    code = "statistics-invalid"


class SignatureError(MedomniError, ValueError):
    """A signature does not show what it should; `code` says why."""

    code = "signature-wrong"


class SigningKeyError(MedomniError, ValueError):
    """A key of this workspace, or of a keyring, cannot be used; `code` says why."""

    code = "key-unreadable"


class WriteError(MedomniError, OSError):
    """A result could not be written; what was there before is untouched."""

    code = "write-failed"


class ExecutionError(MedomniError, RuntimeError):
    """Work could not be carried out where it was sent; nothing is wrong with its input. `code` says why."""

    code = "execution-failed"


class SchedulerError(MedomniError, ConnectionError):
    """A cluster that somebody named cannot be used."""

    code = "scheduler-unreachable"


class JournalError(MedomniError, ValueError):
    """The journal of a run cannot be used; `code` says why."""

    code = "journal-invalid"


class MissingExtraError(MedomniError, ImportError):
    """An optional dependency is needed and not installed."""

    code = "extra-missing"

    @classmethod
    def for_extra(cls, extra: str, module: str, purpose: str) -> MissingExtraError:
        """The error for a `module` of `extra` that `purpose` needs."""
        return cls(
            f"{purpose} needs the package {module!r}, which is not installed",
            hint=f'pip install "medomni[{extra}]"',
        )
