"""Paths that come from strangers: kept under a root, and copied as real files.

Leaves to others: archives, and who owns the root.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import unicodedata
from pathlib import Path

from medomni.core._document import key_text, reason
from medomni.core._write import replace_with
from medomni.core.errors import MissingPathError, UnsafePathError

_DRIVE = re.compile(r"[A-Za-z]:")
_LONGEST_PART = 255
_LONGEST_PATH = 4095
_CHUNK = 1024 * 1024


def resolve_under(root: str | Path, relative: str, *, plain_file: bool = False) -> Path:
    """The real path of `relative` under `root`, with every link on the way resolved.

    Args:
        root: The folder that must not be left. Trusted; it may itself be reached through links.
        relative: A path with `/` between its parts, from a manifest, archive or upload.
        plain_file: Demand that a regular file is there.

    Raises:
        UnsafePathError: With the code `path-empty`, `path-absolute`, `path-backslash`, `path-parent`,
            `path-control`, `path-encoding`, `path-too-long`, `path-outside`, `path-unreadable` or
            `path-not-file`.
        MissingPathError: `plain_file`, and nothing is there (`path-missing`).
    """
    check_relative(relative)
    real_root = os.path.realpath(root)
    joined = os.path.join(real_root, relative)  # noqa: PTH118 - Path would drop what is checked below
    if len(os.fsencode(joined)) > _LONGEST_PATH:
        raise _unsafe("path-too-long", relative, f"is longer than {_LONGEST_PATH} bytes under its root")
    path = Path(_real(joined, relative))
    if not path.is_relative_to(real_root):
        raise _unsafe("path-outside", relative, "leads out of its folder through a link")
    if plain_file:
        _check_plain(path, relative)
    return path


def copy_real(source: str | Path, target: str | Path) -> None:
    """Copy the bytes of a regular file to `target`, atomically.

    Only the last part of `source` is kept from being a link; resolve the rest with `resolve_under`.

    Raises:
        UnsafePathError: `source` is a link, a folder or a device (`path-not-file`), or cannot be read
            (`path-unreadable`).
        MissingPathError: `source` is not there.
        WriteError: `target` cannot be written; what was there before is untouched.
    """
    name = str(source)
    # Without O_NONBLOCK, opening a named pipe would wait for its writer for ever.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(source, flags)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _missing(name) from error
    except (OSError, ValueError) as error:
        if getattr(error, "errno", None) in (errno.ELOOP, errno.EMLINK):
            raise _unsafe("path-not-file", name, "is a link, and only real files are copied") from error
        raise _unsafe("path-unreadable", name, f"cannot be read: {reason(error)}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _unsafe("path-not-file", name, "is not a regular file")
    with os.fdopen(descriptor, "rb") as stream:
        replace_with(target, iter(lambda: stream.read(_CHUNK), b""))


def check_relative(relative: str) -> None:
    """Refuse what is wrong with a path as text, before anything is looked up: all but links and file kinds.

    Raises:
        UnsafePathError: As `resolve_under`, but for what needs the file system.
    """
    if not isinstance(relative, str):
        raise UnsafePathError(f"a path must be text, not {type(relative).__name__}")
    parts = relative.split("/")
    if relative.startswith(("/", "\\\\")) or _DRIVE.match(relative):
        raise _unsafe("path-absolute", relative, "is absolute, and must be relative to its folder")
    if "\\" in relative:
        raise _unsafe("path-backslash", relative, "holds a backslash; write / between the parts")
    if ".." in parts:
        raise _unsafe("path-parent", relative, "holds a part '..'")
    if not any(part not in ("", ".") for part in parts):
        raise _unsafe("path-empty", relative, "names nothing")
    categories = {unicodedata.category(letter) for letter in relative}
    if "Cc" in categories:
        raise _unsafe("path-control", relative, "holds a control character")
    if "Cs" in categories or not _encodable(relative):
        raise _unsafe("path-encoding", relative, "holds characters that no file name can have")
    if any(len(os.fsencode(part)) > _LONGEST_PART for part in parts):
        raise _unsafe("path-too-long", relative, f"holds a part of more than {_LONGEST_PART} bytes")


def _encodable(relative: str) -> bool:
    try:
        os.fsencode(relative)
    except UnicodeEncodeError:
        return False
    return True


def _real(joined: str, relative: str) -> str:
    try:
        return os.path.realpath(joined, strict=True)
    except (FileNotFoundError, NotADirectoryError):
        # What is not there yet cannot be a link; the part of the path that is there is still resolved.
        return os.path.realpath(joined)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _unsafe("path-outside", relative, "goes through links that lead in a circle") from error
        if error.errno == errno.ENAMETOOLONG:
            raise _unsafe("path-too-long", relative, "is too long for this file system") from error
        raise _unsafe("path-unreadable", relative, f"cannot be looked up: {reason(error)}") from error


def _check_plain(path: Path, relative: str) -> None:
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _missing(relative) from error
    except OSError as error:
        raise _unsafe("path-unreadable", relative, f"cannot be looked up: {reason(error)}") from error
    if not stat.S_ISREG(mode):
        raise _unsafe("path-not-file", relative, "is not a regular file")


def _unsafe(code: str, relative: str, what: str) -> UnsafePathError:
    shown = _shown(relative)
    return UnsafePathError(f"the path {shown} {what}", where=shown, code=code)


def _missing(relative: str) -> MissingPathError:
    shown = _shown(relative)
    return MissingPathError(f"there is no file {shown}", where=shown)


def _shown(relative: str) -> str:
    return key_text(relative[:200]) or '""'
