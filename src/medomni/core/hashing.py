"""SHA-256 of bytes, files and documents, and the two hashes that pin an evaluation: `cfg1` and `set1`.

A prefix names an algorithm. Code for an old prefix is never removed, so that published hashes stay checkable.

Leaves to others: which files a pair's hash covers (the builder's `config_files`), where they lie
(`workspace`), and checking a digest against a record.

Source: FIPS 180-4 (SHA-256); RFC 8785 for the bytes of a document; the byte streams of `cfg1` and `set1` are
this project's own and stand in their functions.
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medomni.core._document import key_text, reason
from medomni.core._json_text import canonical_json
from medomni.core._paths import check_relative, resolve_under
from medomni.core.errors import ConfigHashError, DocumentError, DocumentNotFoundError
from medomni.core.names import RELEASE_PATTERN, Pair, check_id

_CHUNK = 1024 * 1024
_BUILDER = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*-v[0-9]+")
_RELEASE = re.compile(RELEASE_PATTERN)
_STRAYS = (
    "*~", ".#*", "#*#", ".*.sw?", "*.bak", "*.orig", "*.rej", "*.tmp", "._*", ".DS_Store", "__MACOSX",
    "Thumbs.db", "desktop.ini", "__pycache__", ".directory", ".nfs*", ".fuse_hidden*",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """One file that a config hash covers.

    Attributes:
        path: POSIX path relative to the workspace's root.
        source: Where its bytes are read.
        variant: The arm's variant that is meant, on the file that defines the arm's variants; else None.
    """

    path: str
    source: Path
    variant: str | None = None

    @property
    def hashed_path(self) -> str:
        """The path as it enters the hash: `<path>#<variant>` for an arm's variant."""
        return self.path if self.variant is None else f"{self.path}#{self.variant}"


@dataclass(frozen=True, slots=True)
class HashedFile:
    """What entered a config hash of one file: its path with the variant, its bytes' number and digest."""

    path: str
    size: int
    sha256: str

    def as_dict(self) -> dict[str, Any]:
        """The row as manifests have it."""
        return {"path": self.path, "size": self.size, "sha256": self.sha256}


@dataclass(frozen=True, slots=True)
class ConfigHash:
    """A config hash with everything that went in, in the order in which it did."""

    value: str
    files: tuple[HashedFile, ...]
    builder: str
    dataset_release: str
    medomni_release: str


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
    digest = hashlib.sha256()
    for chunk in _steady_chunks(path):
        digest.update(chunk)
    return digest.hexdigest()


def _steady_chunks(path: str | Path) -> Iterator[bytes]:
    """The bytes of a regular file; at the end it is an error if their number was not the same all along."""
    shown = key_text(str(path))
    try:
        # Checked before opening, which would wait for ever on a named pipe.
        regular = stat.S_ISREG(Path(path).stat().st_mode)
        if not regular:
            raise _unreadable(shown, "it is not a regular file")
        with Path(path).open("rb") as stream:
            before = os.fstat(stream.fileno()).st_size
            count = 0
            while chunk := stream.read(_CHUNK):
                yield chunk
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


def canonical_digest(document: Any) -> str:
    """The SHA-256 of a document's canonical JSON; the order of its keys does not matter.

    Raises:
        DocumentError: `document-not-canonical`, as `files.canonical_json`.

    Source: RFC 8785; FIPS 180-4.
    """
    return sha256_bytes(canonical_json(document))


def cfg1(
    files: Iterable[ConfigFile], *, builder: str, dataset_release: str, medomni_release: str
) -> ConfigHash:
    """The config hash `cfg1:<64 hex digits>` of a pair under one arm or arm variant.

    SHA-256 over: for every file, in ascending order of its hashed path's UTF-8 bytes, the path, a zero byte,
    the number of its bytes as decimal ASCII, a zero byte, its bytes; then the three tokens, each followed by
    a zero byte. Bytes are taken as they are. No data goes in.

    Args:
        files: What the builder's `config_files` names, in any order.
        builder: Such as `medomni-v1`.
        dataset_release: Such as `mimic-iv/3.1`.
        medomni_release: The content release, such as `medomni/0.3.0`.

    Raises:
        ConfigHashError: No files, a path twice (`hash-path-twice`), a path that is not in its plainest form
            (`hash-path-not-plain`), or a token of another form (`hash-token-invalid`).
        UnsafePathError: A path is not relative, or leaves its folder.
        DocumentNotFoundError: A file is not there (any more).
        DocumentError: A file cannot be read, or its size changes while it is read (`document-changed`).

    Source: this project's own definition, as above; FIPS 180-4.
    """
    tokens = _tokens(builder, dataset_release, medomni_release)
    digest = hashlib.sha256()
    hashed = []
    for file in _in_order(files):
        data = b"".join(_steady_chunks(file.source))
        path = file.hashed_path
        digest.update(b"%s\0%d\0%s" % (path.encode("utf-8"), len(data), data))
        hashed.append(HashedFile(path, len(data), sha256_bytes(data)))
    for token in tokens:
        digest.update(token.encode("ascii") + b"\0")
    return ConfigHash(f"cfg1:{digest.hexdigest()}", tuple(hashed), *tokens)


def recorded_files(root: str | Path, paths: Iterable[str]) -> list[ConfigFile]:
    """The files of a recorded hash, to hash them again: read under `root`, named as the record names them.

    Args:
        root: A folder that holds the files by their paths, such as `_content/<pair>/config`.
        paths: Hashed paths of a build manifest, `<path>#<variant>` among them.

    Raises:
        UnsafePathError: A path leaves `root`, or no regular file is there.
    """
    found = []
    for recorded in paths:
        path, mark, variant = recorded.partition("#")
        found.append(ConfigFile(path, resolve_under(root, path, plain_file=True), variant if mark else None))
    return found


def task_set_hash(entries: Iterable[tuple[Pair | str, int]]) -> str:
    """The hash `set1:<64 hex digits>` of a task set's pairs and their versions, and of nothing else.

    SHA-256 over, for each entry in ascending order of the pair's UTF-8 bytes: the pair, a zero byte, N as
    decimal ASCII, a line feed. A pair is taken in its printed form, in which `t:default@c` is `t@c`.

    Raises:
        ConfigHashError: No entries, a pair twice (`hash-pair-twice`), or an N that is no whole number from 0
            (`hash-version-invalid`).
        InvalidNameError: A text that is no pair.

    Source: this project's own definition, as above; FIPS 180-4.
    """
    rows: dict[bytes, int] = {}
    for given, version in entries:
        pair = str(Pair.parse(given) if isinstance(given, str) else given)
        if isinstance(version, bool) or not isinstance(version, int) or version < 0:
            raise ConfigHashError(
                f"{version!r} is no version of a pair", where=pair, hint="N is a whole number from 0",
                code="hash-version-invalid",
            )  # fmt: skip
        if pair.encode("utf-8") in rows:
            raise ConfigHashError("a task set names this pair twice", where=pair, code="hash-pair-twice")
        rows[pair.encode("utf-8")] = version
    if not rows:
        raise ConfigHashError("a task set without entries has no hash", hint="add an entry to its tasks")
    digest = hashlib.sha256(b"".join(b"%s\0%d\n" % row for row in sorted(rows.items())))
    return f"set1:{digest.hexdigest()}"


def is_stray(name: str) -> bool:
    """Whether a file or folder of this name is what editors and desktops leave behind: never content.

    Source: the backup and lock names of Emacs, Vim, KDE, patch, macOS, Windows and network file systems.
    """
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in _STRAYS)


def _in_order(files: Iterable[ConfigFile]) -> list[ConfigFile]:
    found: dict[bytes, ConfigFile] = {}
    for file in files:
        check_relative(file.path)
        parts = file.path.split("/")
        if "#" in file.path or any(part in ("", ".") for part in parts):
            raise ConfigHashError(
                f"the path {key_text(file.path)} has not its plainest form",
                where=key_text(file.path),
                hint="a path in a config hash holds no '#', no empty part and no part '.'",
                code="hash-path-not-plain",
            )
        if file.variant is not None:
            check_id(file.variant, what="variant")
        key = file.hashed_path.encode("utf-8")
        if key in found:
            raise ConfigHashError(
                "a config hash names this file twice", where=file.hashed_path, code="hash-path-twice"
            )
        found[key] = file
    if not found:
        raise ConfigHashError("a config hash of no files says nothing", hint="name the files of the pair")
    return [found[key] for key in sorted(found)]


def _tokens(builder: str, dataset_release: str, medomni_release: str) -> tuple[str, str, str]:
    checks = (
        ("builder", builder, _BUILDER, "such as medomni-v1, without a release behind it"),
        ("dataset release", dataset_release, _RELEASE, "such as mimic-iv/3.1"),
        ("MedOmni release", medomni_release, _RELEASE, "such as medomni/0.3.0"),
    )
    for what, token, form, hint in checks:
        if not isinstance(token, str) or not form.fullmatch(token):
            raise ConfigHashError(
                f"{token!r} is no {what}",
                where=f"the {what} of a config hash",
                hint=hint,
                code="hash-token-invalid",
            )
    if not medomni_release.startswith("medomni/"):
        raise ConfigHashError(
            f"{medomni_release!r} is no MedOmni release", where="the MedOmni release of a config hash",
            hint="such as medomni/0.3.0", code="hash-token-invalid",
        )  # fmt: skip
    return builder, dataset_release, medomni_release


def _unreadable(shown: str, why: str) -> DocumentError:
    return DocumentError(f"{shown} cannot be read: {why}", where=shown, code="document-unreadable")
