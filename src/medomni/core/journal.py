"""What a run has finished, item by item, so that a killed run can go on where it stopped.

A text file: a header line with the key of the run, then one JSON line per item with its own checksum. Lines
are handed to the system at once (a killed process loses none) and to the disk about once a second. Leaves to
others: what an item's data are, and whether an item is still the same (callers put a digest into the data).
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from medomni.core._document import key_text, reason
from medomni.core.errors import JournalError, WriteError
from medomni.core.hashing import sha256_bytes

SCHEMA = "medomni/journal/1"
_START = b'{"schema":"' + SCHEMA.encode() + b'"'
_SYNC_SECONDS = 1.0


def journal_path(out: Path) -> Path:
    """`results.json` -> `results.json.journal`."""
    return out.with_name(out.name + ".journal")


class Journal:
    """One run's journal. Nothing is opened before `start`; `close` or a `with` block releases it.

    Args:
        path: The file, beside the run's output.
        resume: Whether to take over what an earlier run finished. Without it, that is dropped and said.
        say: Told in one sentence what is taken over or dropped.
    """

    def __init__(self, path: Path, *, resume: bool = False, say: Callable[[str], None] | None = None) -> None:
        self.path = path
        self.count = 0
        self._resume = resume
        self._say = say or (lambda sentence: None)
        self._file: BinaryIO | None = None
        self._synced = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self, key: Mapping[str, Any]) -> dict[str, Any]:
        """Lock the file and give what an earlier run with an equal `key` finished: item -> data.

        Args:
            key: Everything but the items themselves that decides the outcome of every item, as JSON.

        Raises:
            JournalError: `journal-in-use` by a running process; `journal-foreign`: the file is no journal.
            WriteError: It cannot be written.
        """
        existed = os.path.lexists(self.path)
        self._file = _opened(self.path)
        try:
            entries = self._begin(dict(key), existed=existed)
        except BaseException:
            self._file.close()
            self._file = None
            raise
        self.count = len(entries)
        return entries

    def append(self, item: str, data: Any) -> None:
        """Note that `item` is finished. Text, whole numbers, finite floats, lists and maps come back equal.

        Raises:
            WriteError: The line could not be written.
        """
        self._write(_line(item, data))
        self.count += 1

    def discard(self) -> None:
        """Remove the file: the run's output is written."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)
            self.close()

    def close(self) -> None:
        """Release the file. One without any item is removed, since there is nothing to go on from."""
        if self._file is None:
            return
        with contextlib.suppress(OSError):
            if self.count == 0:
                self.path.unlink(missing_ok=True)
            else:
                os.fsync(self._file.fileno())
        self._file.close()
        self._file = None

    def _begin(self, key: dict[str, Any], *, existed: bool) -> dict[str, Any]:
        file = self._open_file()
        content = file.read()
        first, newline, rest = content.partition(b"\n")
        header = _header(first) if newline else None
        if header is None and not (_START.startswith(first) or first.startswith(_START)):
            raise JournalError(
                f"{key_text(self.path.name)} is no journal, and stands where the journal of this run belongs",
                where=str(self.path),
                hint="move that file away, or give another --out",
                code="journal-foreign",
            )
        entries, damaged = _entries(rest.split(b"\n")) if header is not None else ({}, 0)
        differs = _difference(header, key) if header is not None else ""
        self._report(entries, existed=existed, differs=differs, damaged=damaged)
        if self._resume and header is not None and not differs:
            # A torn last line would swallow the next one.
            file.truncate(content.rfind(b"\n") + 1)
            file.seek(0, os.SEEK_END)
            return entries
        file.seek(0)
        file.truncate()
        self._write(_text({"schema": SCHEMA, "key": key}).encode() + b"\n")
        return {}

    def _report(self, entries: Mapping[str, Any], *, existed: bool, differs: str, damaged: int) -> None:
        name, count = self.path.name, len(entries)
        if not self._resume:
            if count:
                self._say(
                    f"{name} of an unfinished run with {count} finished items is replaced (no --resume)"
                )
        elif not existed:
            self._say(f"nothing to resume: there is no {name}")
        elif differs:
            self._say(f"{name} is of a run with another {differs}: its {count} items are done again")
        else:
            lost = f"; {damaged} damaged lines are done again" if damaged else ""
            self._say(f"resuming: {count} finished items in {name}{lost}")

    def _write(self, data: bytes) -> None:
        file = self._open_file()
        try:
            # One call, unbuffered: the line is with the system when this returns.
            written = os.write(file.fileno(), data)
            while written < len(data):
                written += os.write(file.fileno(), data[written:])
            now = time.monotonic()
            if now - self._synced >= _SYNC_SECONDS:
                os.fsync(file.fileno())
                self._synced = now
        except OSError as error:
            raise WriteError(
                f"the journal could not be written: {reason(error)}",
                where=str(self.path),
                hint="free some space; what is in it so far can be resumed",
            ) from error

    def _open_file(self) -> BinaryIO:
        if self._file is None:
            raise JournalError("the journal is not started", where=str(self.path), code="journal-closed")
        return self._file


def _line(item: str, data: Any) -> bytes:
    body = _text([item, data])
    check = sha256_bytes(body.encode())[:16]
    return f'{{"check":"{check}","entry":{body}}}\n'.encode()


def _text(value: Any) -> str:
    # Python writes the shortest text that gives the same float back, so numbers come back equal to the bit.
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def _header(line: bytes) -> dict[str, Any] | None:
    try:
        header = json.loads(line)
    except ValueError:
        return None
    if not isinstance(header, dict) or header.get("schema") != SCHEMA:
        return None
    key = header.get("key")
    return key if isinstance(key, dict) else None


def _entries(lines: list[bytes]) -> tuple[dict[str, Any], int]:
    """Items of the whole lines, the last one of each, and how many lines are damaged; the torn end is not."""
    entries, damaged = {}, 0
    for line in lines[:-1]:
        try:
            record = json.loads(line)
            item, data = record["entry"]
            good = record["check"] == sha256_bytes(_text([item, data]).encode())[:16]
        except (ValueError, KeyError, TypeError):
            good = False
        if good:
            entries[str(item)] = data
        else:
            damaged += 1
    return entries, damaged


def _difference(found: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    """The names of the parts of the key that differ."""
    ours: dict[str, Any] = json.loads(_text(expected))
    return ", ".join(
        name for name in sorted({*found, *ours}) if found.get(name, _START) != ours.get(name, _START)
    )


def _opened(path: Path) -> BinaryIO:
    """The file, made if need be, locked for this process."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    while True:
        try:
            descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o666)
        except OSError as error:
            raise WriteError(f"the journal cannot be opened: {reason(error)}", where=str(path)) from error
        file = os.fdopen(descriptor, "r+b", buffering=0)
        try:
            _lock(descriptor, path)
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise JournalError(
                    "the journal must be a plain file", where=str(path), code="journal-foreign"
                )
            # Between opening and locking, its owner may have removed it.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(found, path.lstat()):
                    return file
        except BaseException:
            file.close()
            raise
        file.close()


def _lock(descriptor: int, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # pragma: no cover - systems without it go unlocked
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # A file system without locks must not keep anybody from scoring.
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise JournalError(
                "another running process writes this journal",
                where=str(path),
                hint="wait for it, or give another --out",
                code="journal-in-use",
            ) from error
