"""From what readers throw to typed errors: opening files, decoding damaged ones, missing extras.

Leaves to others: what is checked on purpose (the format modules raise `VolumeError` themselves).
"""

from __future__ import annotations

import gzip
import importlib
import stat
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from medomni.core.errors import MissingExtraError
from medotter_bench.errors import VolumeError

# What decoders raise on damaged bytes. Listed, so that an interrupt or a missing extra passes through.
DAMAGE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
_WRITE_AGAIN = "the file is damaged or incomplete; write or copy it again"


def imported(module: str, purpose: str, *, extra: str = "imaging") -> Any:
    """The optional package `module`, which `purpose` needs.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError.for_extra(extra, module.partition(".")[0], purpose) from error


@contextmanager
def decoding(what: str, *, also: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Turn what a decoder raises while it reads `what` into `VolumeError`, and keep its warnings quiet.

    Args:
        what: What is being read, as the subject of a sentence.
        also: Errors of the decoder's own that derive from `Exception` alone.

    Raises:
        VolumeError: `volume-truncated`, `volume-too-large`, or `volume-corrupt`.
    """
    damage: tuple[type[Exception], ...] = (*DAMAGE, *also)
    try:
        with warnings.catch_warnings():
            # A decoder's warnings are about files that the checks here accept or refuse anyway.
            warnings.simplefilter("ignore")
            yield
    except VolumeError:
        raise
    except EOFError as error:
        raise truncated(f"{what} ends too early") from error
    except MemoryError as error:
        raise VolumeError(
            f"{what} does not fit into memory",
            hint="score on a machine with more memory, or check the file's header",
            code="volume-too-large",
        ) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise corrupt(f"{what} is not a valid compressed stream: {_first_line(error)}") from error
    except damage as error:
        raise corrupt(f"{what} cannot be decoded: {_first_line(error)}") from error


def truncated(what: str) -> VolumeError:
    """The error for a file that holds less than its header says."""
    return VolumeError(what, hint=_WRITE_AGAIN, code="volume-truncated")


def corrupt(what: str) -> VolumeError:
    """The error for bytes that contradict their own checksum or format."""
    return VolumeError(what, hint=_WRITE_AGAIN, code="volume-corrupt")


def overlong(what: str) -> VolumeError:
    """The error for a file that holds more than its header says."""
    return VolumeError(
        what,
        hint="header and voxels do not belong together; write the file again",
        code="volume-overlong",
    )


def wrong_format(what: str, hint: str = "") -> VolumeError:
    """The error for a file of another kind than it should be."""
    return VolumeError(what, hint=hint, code="volume-format")


@contextmanager
def located(path: Path | str) -> Iterator[None]:
    """Put `path` into every `VolumeError` from within that does not say yet where it is."""
    try:
        yield
    except VolumeError as error:
        if not error.where:
            error.where = str(path)
        raise


@contextmanager
def opened(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """The plain file at `path`, open for reading, with its size in bytes.

    Raises:
        VolumeError: `volume-missing` or `volume-unreadable`.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise VolumeError("not a plain file", hint="give the path of a file", code="volume-unreadable")
        handle = path.open("rb")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise VolumeError(
            "there is no such file", hint="check the path and the data root", code="volume-missing"
        ) from error
    except OSError as error:
        raise VolumeError(
            f"the file cannot be opened: {error.strerror or type(error).__name__}",
            hint="check the permissions",
            code="volume-unreadable",
        ) from error
    except ValueError as error:  # a NUL in the name
        raise VolumeError(f"{error}", hint="check the path", code="volume-unreadable") from error
    with handle:
        yield handle, status.st_size


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:200] if text else type(error).__name__
