"""Writing a file whole or not at all.

Leaves to others: what is written (`_json_text` makes the text of JSON).
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from medomni.core._document import key_text, reason
from medomni.core.errors import WriteError

_HINTS = {
    errno.ENOSPC: "free some space on that disk",
    errno.EDQUOT: "free some space within the quota",
    errno.ENOENT: "make the folder first",
    errno.ENOTDIR: "one part of the path is a file, not a folder",
    errno.EACCES: "check who may write to that folder",
    errno.EROFS: "that disk is read-only",
    errno.ENAMETOOLONG: "use a shorter name",
}


def write_atomic(path: str | Path, data: bytes | str) -> None:
    """Write a file so that readers see the old bytes or all of the new ones.

    A link at `path` is replaced, never followed. An existing file's permissions are kept.

    Args:
        path: The file; its folder must exist.
        data: The bytes, or text that is written as UTF-8.

    Raises:
        WriteError: It could not be written; what was there before is untouched.
    """
    try:
        payload = data.encode("utf-8") if isinstance(data, str) else data
    except UnicodeEncodeError as error:
        raise _failed(path, "the text holds half of a surrogate pair, which UTF-8 cannot hold") from error
    replace_with(path, [payload])


def replace_with(path: str | Path, chunks: Iterable[bytes]) -> None:
    """`write_atomic` for bytes that come in pieces.

    Raises:
        WriteError: As `write_atomic`.
    """
    target = Path(path)
    # A short name of its own, so that a target whose name is as long as allowed can still be written.
    temporary = target.parent / f".{os.urandom(8).hex()}.tmp"
    try:
        mode = _mode_to_keep(target)
        # Made before anything can fail, so that the clean-up below never removes somebody else's file.
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                for chunk in chunks:
                    stream.write(chunk)
                stream.flush()
                if mode is not None:
                    temporary.chmod(mode)
                os.fsync(stream.fileno())
            temporary.replace(target)
        finally:
            # Also for KeyboardInterrupt. After a successful rename there is nothing to remove.
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
    except WriteError:
        raise
    except (OSError, ValueError) as error:
        hint = _HINTS.get(getattr(error, "errno", None) or 0, "")
        raise _failed(path, reason(error), hint) from error
    _sync_folder(target.parent)


def _mode_to_keep(target: Path) -> int | None:
    """The permissions of the file that is replaced.

    Raises:
        WriteError: A folder, device or pipe stands there: replacing `/dev/null` would be a disaster.
    """
    try:
        mode = target.stat().st_mode
    except OSError:
        # Not there, or a dangling link; where the folder is the trouble, opening in it says so.
        return None
    if not stat.S_ISREG(mode):
        raise _failed(target, "what stands there is not a regular file", "give another path")
    return None if target.is_symlink() else stat.S_IMODE(mode)


def _sync_folder(folder: Path) -> None:
    # The rename has happened; a file system that cannot sync a folder takes nothing back.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _failed(path: str | Path, why: str, hint: str = "") -> WriteError:
    shown = key_text(str(path))
    return WriteError(f"{shown} could not be written: {why}", where=shown, hint=hint)
