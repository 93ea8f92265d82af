"""Finds and reads the records that boards are made of. What cannot be trusted or read is left out, and told.

Leaves to others: what a board makes of them (`board`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medomni.core import contracts
from medomni.core.errors import DocumentNotFoundError, MedomniError, SignatureError
from medomni.core.issues import Issue, IssuesError, warning
from medomni.core.signing import Keyring, verify_file

KINDS = ("score-record", "comparison-record", "suite-record", "run-record")
NOT_CHECKED, NOT_SIGNED, NOT_TRUSTED = "not checked", "not signed", "signer not in the keyring"
_SNIFFED_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Record:
    """One record, valid by its contract.

    Attributes:
        signature: Who signed it (`signed by …`), or why that is not known.
    """

    path: Path
    kind: str
    value: Mapping[str, Any]
    signature: str = NOT_CHECKED


@dataclass(slots=True)
class Records:
    """All records that were found, by kind, and what was left out."""

    scores: list[Record] = field(default_factory=list)
    comparisons: list[Record] = field(default_factory=list)
    suites: list[Record] = field(default_factory=list)
    runs: list[Record] = field(default_factory=list)
    left_out: list[Issue] = field(default_factory=list)

    def add(self, record: Record) -> None:
        """Put a record where its kind belongs."""
        place = {
            "score-record": self.scores,
            "comparison-record": self.comparisons,
            "suite-record": self.suites,
            "run-record": self.runs,
        }
        place[record.kind].append(record)


def read_records(places: Iterable[Path], *, keyring: Keyring | None = None) -> Records:
    """The records in files and folders, in the order of their paths.

    Files that are no records are passed over in folders. A record that is not valid, or whose signature is
    wrong, is left out with an issue. A second copy of the same bytes counts once.

    Args:
        places: Files and folders; folders are searched with everything below.
        keyring: The keys that the reader trusts; without it no signature is checked.

    Raises:
        DocumentNotFoundError: One of the places is not there.
    """
    found = Records()
    seen: set[bytes] = set()
    for path in _files(places):
        kind = kind_of(path)
        if kind is None:
            continue
        try:
            value = contracts.load(kind, path)
            signature = _signature(path, kind, keyring)
            data = path.read_bytes()
        except MedomniError as failure:
            found.left_out.append(_left_out(path, kind, failure))
            continue
        if data not in seen:
            seen.add(data)
            found.add(Record(path, kind, value, signature))
    return found


def kind_of(path: Path) -> str | None:
    """Which kind of record a file says it is, by its first bytes; None for every other file."""
    try:
        with path.open("rb") as stream:
            head = stream.read(_SNIFFED_BYTES)
    except OSError:
        return None
    return next((kind for kind in KINDS if f'"medomni/{kind}/'.encode() in head), None)


def _files(places: Iterable[Path]) -> Iterator[Path]:
    for place in places:
        if place.is_dir():
            # A link could lead anywhere; records are plain files.
            yield from sorted(p for p in place.rglob("*.json") if p.is_file() and not p.is_symlink())
        elif place.is_file():
            yield place
        else:
            raise DocumentNotFoundError(
                f"{place} is not there", where=str(place), hint="score a run first: medomni bench score RUN"
            )


def _signature(path: Path, kind: str, keyring: Keyring | None) -> str:
    """Who signed a record.

    Raises:
        SignatureError: Somebody of the keyring is said to have signed it, and did not.
    """
    if keyring is None or kind == "run-record":  # run records never leave their workspace
        return NOT_CHECKED
    try:
        found = verify_file(path, keyring, predicate_type=str(contracts.schema(kind)["$id"]))
    except SignatureError as failure:
        told = {"signature-missing": NOT_SIGNED, "signature-untrusted": NOT_TRUSTED}.get(failure.code)
        if told is None:
            raise
        return told
    return f"signed by {', '.join(found.signers)}"


def _left_out(path: Path, kind: str, failure: MedomniError) -> Issue:
    first = failure.issues[0].what if isinstance(failure, IssuesError) else failure.what
    what = f"{path.name} is no {kind} that counts: {first}"
    return warning("record-left-out", str(path), what, failure.hint or "remove it, or make it again")
