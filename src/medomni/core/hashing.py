"""SHA-256 of bytes, files and documents.

Leaves to others: what goes into a hash, and checking a digest against a record.

Source: FIPS 180-4 (SHA-256); RFC 8785 for the bytes of a document.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import Any

from medomni.core._document import key_text, reason
from medomni.core._json_text import canonical_json
from medomni.core.errors import DocumentError, DocumentNotFoundError

_CHUNK = 1024 * 1024


def sha256_bytes(data: bytes) -> str:
    """The SHA-256 of `data` as 64 lower-case hex digits.

    Source: FIPS 180-4.
    """
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: str | Path) -> str:
    """The SHA-256 of a regular file's bytes, read in pieces.

    Raises:
        DocumentNotFoundError: There is no such file.
        DocumentError: It cannot be read (`document-unreadable`), or its size changes while it is read
            (`document-changed`).

    Source: FIPS 180-4.
    """
    shown = key_text(str(path))
    digest = hashlib.sha256()
    try:
        # Checked before opening, which would wait for ever on a named pipe.
        regular = stat.S_ISREG(Path(path).stat().st_mode)
        if not regular:
            raise _unreadable(shown, "it is not a regular file")
        with Path(path).open("rb") as stream:
            before = os.fstat(stream.fileno()).st_size
            count = 0
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
                count += len(chunk)
            after = os.fstat(stream.fileno()).st_size
    except (FileNotFoundError, NotADirectoryError) as error:
        raise DocumentNotFoundError(f"{shown} does not exist", where=shown) from error
    except DocumentError:
        raise
    except (OSError, ValueError) as error:
        raise _unreadable(shown, reason(error)) from error
    if not before == count == after:
        raise DocumentError(
            f"{shown} changed while it was read: {before} bytes at first, {max(count, after)} later",
            where=shown,
            hint="hash it when nothing writes to it any more",
            code="document-changed",
        )
    return digest.hexdigest()


def canonical_digest(document: Any) -> str:
    """The SHA-256 of a document's canonical JSON; the order of its keys does not matter.

    Raises:
        DocumentError: `document-not-canonical`, as `files.canonical_json`.

    Source: RFC 8785; FIPS 180-4.
    """
    return sha256_bytes(canonical_json(document))


def _unreadable(shown: str, why: str) -> DocumentError:
    return DocumentError(f"{shown} cannot be read: {why}", where=shown, code="document-unreadable")
