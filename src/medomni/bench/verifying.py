"""`medomni bench verify`: a record keeps its contract, and a key of the reader's keyring signed its bytes.

Leaves to others: signatures (`medomni.core.signing`), and whether the numbers are right: score the run again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medomni.bench.errors import BenchError
from medomni.bench.leaderboard.records import kind_of
from medomni.core import contracts
from medomni.core.errors import DocumentNotFoundError
from medomni.core.signing import Keyring, verify_file

_SIGNED = ("score-record", "comparison-record", "suite-record")


@dataclass(frozen=True, slots=True)
class Verified:
    """A record that was verified.

    Attributes:
        signers: Names of the keyring's keys that signed it.
    """

    kind: str
    value: Mapping[str, Any]
    signers: tuple[str, ...]


def verify_record(path: Path, keyring: Keyring) -> Verified:
    """Verify a record.

    Raises:
        DocumentNotFoundError: There is no such file.
        BenchError: `record-kind`: it is no record that is signed.
        DocumentError: It cannot be read.
        IssuesError: It breaks its contract.
        SignatureError: As `signing.verify_file`.
    """
    if not path.is_file():
        raise DocumentNotFoundError(f"there is no file {path}", where=str(path))
    kind = kind_of(path)
    if kind not in _SIGNED:
        what = "this is a run record, which stays in its workspace and is not signed"
        raise BenchError(
            what if kind == "run-record" else "this is no score, comparison or suite record",
            where=str(path),
            hint="medomni bench score RUN writes records that are signed",
            code="record-kind",
        )
    value = contracts.load(kind, path)
    found = verify_file(path, keyring, predicate_type=str(contracts.schema(kind)["$id"]))
    return Verified(kind, value, found.signers)
